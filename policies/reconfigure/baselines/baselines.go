// Package baselines plans an all-to-all as the methods do that the paper on reconfiguring during a collective compares
// with (Secs. 2.2, 5.1), and as two more that are the textbook's:
//
//   - on one topology throughout: StaticRing, Kautz and Circulant (DirectConnect), TopoOpt, MixNet;
//   - on a new one for every few permutations: Fast (Birkhoff-von Neumann), SpreadOut, Bruck.
//
// Where such a method leaves a choice open it is taken in the method's favour, and what its authors did is an option
// beside that. The package schedules no chunks on a given topology itself, which package pack does, and computes no
// fluid optimum, which package fluid does.
package baselines

import (
	"errors"
	"fmt"
	"slices"

	"sim/policies/reconfigure/halt"
)

// Options vary the planners. The zero value is the strongest.
type Options struct {
	// Schedule is how chunks cross a topology that stays; "" is Strongest, and of StaticRing Packed.
	Schedule Schedule
	// Model is how Fast uses several switches; "" is Together.
	Model Model
	// Stop is asked now and then; planning ends with halt.ErrHalted when it says so.
	Stop halt.When
}

// ErrOptions says that an option has no such value.
var ErrOptions = errors.New("baselines: no such option")

// optionValue returns v, or the first of the values for none. Error: ErrOptions where v is none of them.
func optionValue[T ~string](option string, v T, values ...T) (T, error) {
	if v == "" {
		return values[0], nil
	}
	if !slices.Contains(values, v) {
		return v, fmt.Errorf("%w: %s %q; it is one of %q", ErrOptions, option, v, values)
	}
	return v, nil
}
