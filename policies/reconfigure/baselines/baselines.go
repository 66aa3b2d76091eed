// Package baselines plans all-to-alls by the methods with which the paper "To Reconfigure or Not
// to Reconfigure" compares (Secs. 2.2, 5.1), and by two textbook algorithms:
//
//   - on one topology throughout: StaticRing, Kautz and Circulant (DirectConnect), TopoOpt, MixNet;
//   - on a new topology for every few permutations: Fast (Birkhoff-von Neumann), SpreadOut, Bruck.
//
// Each planner takes a plan.Problem and returns candidates. If a method leaves a choice open, the
// package makes it in favour of the method. The choice of its authors is available as an option.
//
// Package pack schedules chunks on a given topology, and package graph computes fluid optima. The
// planners share the steps in staticschedules.go or directphases.go.
package baselines

import (
	"errors"
	"fmt"
	"slices"

	"sim/policies/reconfigure/cancellation"
)

// Options select variants of the planners. The zero value is the best variant.
type Options struct {
	// Schedule selects how chunks cross a topology that stays. "" means ScheduleStrongest, and
	// SchedulePacked for StaticRing.
	Schedule Schedule
	// Model selects how Fast uses several switches. "" means ModelTogether.
	Model Model
	// Stop is checked regularly; if it returns true, planning ends with cancellation.ErrCancelled.
	Stop cancellation.Condition
}

// ErrOptions is wrapped by errors about invalid values of options.
var ErrOptions = errors.New("baselines: no such option")

// optionValue returns v, or the first of the values if v is "". The error wraps ErrOptions if v
// is not one of them.
func optionValue[T ~string](option string, v T, values ...T) (T, error) {
	if v == "" {
		return values[0], nil
	}
	if !slices.Contains(values, v) {
		return v, fmt.Errorf("%w: %s %q; it is one of %q", ErrOptions, option, v, values)
	}
	return v, nil
}
