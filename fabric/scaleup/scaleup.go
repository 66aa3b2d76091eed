// Package scaleup models a scale-up domain: n GPUs, each with one link to and one from each of k
// optical switches. The domain can form any directed graph of degree k, and another one after a
// reconfiguration delay (paper on reconfiguring during a collective, Sec. 2.1).
//
// Domain is the hardware. Topology is the graph that the switches form at some time;
// Domain.Network builds its engine.Network. policies/reconfigure chooses the topologies.
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
	// GPUs is n, at least 2. Switches is k, from 1 to n-1. Every GPU has k links out and k links in.
	GPUs, Switches int
	// Rate is the rate of one link in one direction.
	Rate units.Rate
	// Latency is the time of a hop in addition to the serialisation time.
	Latency engine.Time
	// Delay is R, the time for which a reconfiguration takes down all links of the switches
	// involved.
	Delay engine.Time
	// Independent means that each switch can reconfigure while the others carry traffic. Otherwise
	// all switches reconfigure together.
	Independent bool
}

// ErrDomain is wrapped by errors about invalid domains.
var ErrDomain = errors.New("scaleup: no such domain")

// Check returns ErrDomain if a size, rate or time is out of range.
func (d *Domain) Check() error {
	switch {
	case d.GPUs < 2:
		return fmt.Errorf("%w: %d GPUs; at least 2 exchange anything", ErrDomain, d.GPUs)
	case d.Switches < 1 || d.Switches >= d.GPUs:
		return fmt.Errorf("%w: %d switches for %d GPUs; 1..%d reach other GPUs",
			ErrDomain, d.Switches, d.GPUs, d.GPUs-1)
	case !(d.Rate > 0) || math.IsInf(float64(d.Rate), 1):
		return fmt.Errorf("%w: links of rate %v; it must be above 0 and finite", ErrDomain, d.Rate)
	case d.Latency < 0 || d.Delay < 0:
		return fmt.Errorf("%w: a latency or a reconfiguration delay below 0", ErrDomain)
	}
	return nil
}
