// Package play plays a plan of a collective: in the closed alpha-beta cost, packet by packet in step with the slots, packet
// by packet as fast as queues let it, and as fluid.
//
// A plan says all there is to do, so the package decides nothing: plans are made in the sibling packages, and time is the
// engines'.
package play

import (
	"context"
	"errors"
	"fmt"

	"sim/engine"
	"sim/engine/packet"
	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
)

// ErrPlay says that a plan cannot be played on a domain.
var ErrPlay = errors.New("play: this plan cannot be played")

// ErrContention says that a transmission does not end with its slot: it is wrapped by the error of Synchronised that names
// the link, the slot and the chunks.
var ErrContention = errors.New("play: contention")

// Phase is when the transmissions of a phase began and ended.
type Phase struct{ Start, End engine.Time }

// Result is a play of a plan.
type Result struct {
	// Completion is when the last phase ends, reconfigurations included.
	Completion engine.Time
	Phases     []Phase
	// LargestQueue is the most chunks in transit that waited before one link at once, without the one being sent and those
	// that had not left their GPU of the phase. Hops are transmissions of chunks. Both are 0 for fluid.
	LargestQueue int32
	Hops         int64
}

// Closed is the closed cost of a plan, d R + T x slots (paper Sec. 2.1), where T is the time of a slot. With switches on
// their own, whose darkness takes slots, it is T x slots. Error: ErrPlay where the plan does not fit the domain.
func Closed(d *scaleup.Domain, p *plan.Plan, chunk int64) (engine.Time, error) {
	slot, err := fits(d, p, chunk)
	if err != nil {
		return 0, err
	}
	if p.Switches != nil {
		return engine.Time(p.TotalSlots()) * slot, nil
	}
	return engine.Time(len(p.Topologies))*d.Delay + engine.Time(p.TotalSlots())*slot, nil
}

// fits returns the time of a slot, or fails where the plan is for another domain or takes longer than engine.Time holds.
func fits(d *scaleup.Domain, p *plan.Plan, chunk int64) (engine.Time, error) {
	if err := d.Check(); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrPlay, err)
	}
	if err := (&plan.Problem{GPUs: p.GPUs, Degree: p.Degree, Chunks: p.Chunks}).Check(); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrPlay, err)
	}
	if chunk < 1 {
		return 0, fmt.Errorf("%w: chunks of %d B; want at least 1 B", ErrPlay, chunk)
	}
	slot := d.Slot(chunk)
	total := float64(len(p.Topologies))*float64(d.Delay) + float64(p.TotalSlots())*float64(slot)
	switch {
	case p.GPUs != d.GPUs || p.Degree > d.Switches:
		return 0, fmt.Errorf("%w: it is for %d GPUs of degree %d, the domain has %d and %d switches", ErrPlay, p.GPUs, p.Degree, d.GPUs, d.Switches)
	case len(p.Slots) != len(p.Topologies):
		return 0, fmt.Errorf("%w: %d counts of slots for %d topologies", ErrPlay, len(p.Slots), len(p.Topologies))
	case !(total < float64(engine.Never)/2):
		return 0, fmt.Errorf("%w: it takes %g s, longer than simulated time", ErrPlay, total/float64(engine.Second))
	case p.Switches != nil && len(p.Switches) != len(p.Topologies):
		return 0, fmt.Errorf("%w: switches of %d topologies, of which there are %d", ErrPlay, len(p.Switches), len(p.Topologies))
	case p.Switches != nil && engine.Time(p.DelaySlots)*slot < d.Delay:
		return 0, fmt.Errorf("%w: its switches are dark for %d slots of %v, less than the %v that a reconfiguration takes", ErrPlay, p.DelaySlots, slot, d.Delay)
	}
	return slot, nil
}

// options are those of a packet play that ends with its context.
func options(ctx context.Context) packet.Options {
	return packet.Options{Stop: func() bool { return ctx.Err() != nil }}
}

// timeline places phases one after the other, each taking what run says. All switches at once reconfigure for R before
// each phase; those on their own are dark for R from the end of the phase in which they were lit last, or the beginning.
func timeline(ctx context.Context, d *scaleup.Domain, p *plan.Plan, run func(phase int) (engine.Time, error)) (*Result, error) {
	r := &Result{Phases: make([]Phase, len(p.Topologies))}
	var lit []plan.Lighting
	if p.Switches != nil {
		lit = p.Lightings()
	}
	for i := range p.Topologies {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		start := r.Completion
		if p.Switches == nil {
			start += d.Delay
		}
		for ; len(lit) > 0 && int(lit[0].Phase) == i; lit = lit[1:] {
			dark := engine.Time(0)
			if lit[0].Dark > 0 {
				dark = r.Phases[lit[0].Dark-1].End
			}
			start = max(start, dark+d.Delay)
		}
		takes, err := run(i)
		if err != nil {
			if ctx.Err() != nil && errors.Is(err, packet.ErrStopped) {
				err = ctx.Err()
			}
			return nil, err
		}
		r.Completion = start + takes
		r.Phases[i] = Phase{start, r.Completion}
	}
	return r, nil
}
