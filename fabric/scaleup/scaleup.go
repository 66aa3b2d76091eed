// Package scaleup models a scale-up domain: n GPUs, each with one link to and one from each of k optical switches, so
// that the domain forms any directed graph of degree k and forms another after a reconfiguration delay (paper on
// reconfiguring during a collective, Sec. 2.1).
//
// It says which graphs the switches can form and builds the engine's network of one. Which graphs to form, and when, is
// decided in policies/reconfigure.
package scaleup

import (
	"errors"
	"fmt"
	"math"

	"sim/engine"
	"sim/engine/units"
)

// Domain is the hardware of one scale-up domain.
type Domain struct {
	// GPUs is n, at least 2. Switches is k, at least 1 and less than n: every GPU has k links out and k in.
	GPUs, Switches int
	// Rate is that of one link in one direction.
	Rate units.Rate
	// Latency is what a hop takes besides serialising.
	Latency engine.Time
	// Delay is R: how long a reconfiguration keeps the links of the switches that take part in it down.
	Delay engine.Time
	// Independent lets each switch reconfigure on its own while the others carry traffic; else all do at once.
	Independent bool
}

// ErrDomain says that a Domain cannot be.
var ErrDomain = errors.New("scaleup: no such domain")

// Check returns an ErrDomain for sizes, rates or times out of range.
func (d *Domain) Check() error {
	switch {
	case d.GPUs < 2:
		return fmt.Errorf("%w: %d GPUs; at least 2 exchange anything", ErrDomain, d.GPUs)
	case d.Switches < 1 || d.Switches >= d.GPUs:
		return fmt.Errorf("%w: %d switches for %d GPUs; 1..%d reach other GPUs", ErrDomain, d.Switches, d.GPUs, d.GPUs-1)
	case !(d.Rate > 0) || math.IsInf(float64(d.Rate), 1):
		return fmt.Errorf("%w: links of rate %v; it must be above 0 and finite", ErrDomain, d.Rate)
	case d.Latency < 0 || d.Delay < 0:
		return fmt.Errorf("%w: a latency or a reconfiguration delay below 0", ErrDomain)
	}
	return nil
}
