// Package simulate runs plans of collectives on the engines: packet by packet in step with the slots or steps, packet
// by packet as fast as queues let it, and as fluid.
//
// A plan says all there is to do, so the package decides nothing: plans are made in policies/reconfigure, and time is
// the engines'.
package simulate

import (
	"context"
	"errors"
	"fmt"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
)

// ErrSimulate says that a plan cannot be simulated on a domain.
var ErrSimulate = errors.New("simulate: this plan cannot be simulated")

// ErrContention says that a transmission does not end with its slot: it is wrapped by the error of Synchronised that
// names the link, the slot and the chunks.
var ErrContention = errors.New("simulate: contention")

// Phase is when the transmissions of a phase began and ended.
type Phase struct{ Start, End engine.Time }

// Result is a simulation of a plan.
type Result struct {
	// Completion is when the last phase ends, reconfigurations included.
	Completion engine.Time
	Phases     []Phase
	// LargestQueue is the most chunks in transit that waited before one link at once, without the one being sent and
	// those that had not left their GPU of the phase. Hops are transmissions of chunks. Both are 0 for fluid.
	LargestQueue int32
	Hops         int64
}

// checkPlan returns the time of a slot, or fails where the plan is for another domain or takes longer than engine.Time
// holds.
func checkPlan(d *scaleup.Domain, p *plan.Plan, chunk int64) (engine.Time, error) {
	if err := d.Check(); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrSimulate, err)
	}
	if err := (&plan.Problem{GPUs: p.GPUs, Degree: p.Degree,
		Chunks: p.Chunks}).Check(); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrSimulate, err)
	}
	if chunk < 1 {
		return 0, fmt.Errorf("%w: chunks of %d B; want at least 1 B", ErrSimulate, chunk)
	}
	slot := d.Slot(chunk)
	total := float64(len(p.Topologies))*float64(d.Delay) + float64(p.TotalSlots())*float64(slot)
	switch {
	case p.GPUs != d.GPUs || p.Degree > d.Switches:
		return 0, fmt.Errorf("%w: it is for %d GPUs of degree %d, the domain has %d and %d switches", ErrSimulate, p.GPUs, p.Degree, d.GPUs, d.Switches)
	case len(p.Slots) != len(p.Topologies):
		return 0, fmt.Errorf("%w: %d counts of slots for %d topologies", ErrSimulate,
			len(p.Slots),
			len(p.Topologies))
	case !(total < float64(engine.Never)/2):
		return 0, fmt.Errorf("%w: it takes %g s, longer than simulated time", ErrSimulate,
			total/float64(engine.Second))
	case p.Switches != nil && len(p.Switches) != len(p.Topologies):
		return 0, fmt.Errorf("%w: switches of %d topologies, of which there are %d",
			ErrSimulate,
			len(p.Switches), len(p.Topologies))
	case p.Switches != nil && engine.Time(p.DelaySlots)*slot < d.Delay:
		return 0, fmt.Errorf("%w: its switches are dark for %d slots of %v, less than the %v that a reconfiguration takes", ErrSimulate, p.DelaySlots, slot, d.Delay)
	}

	return slot, nil
}

// maxPacket is the largest packet of engine/packet.
const maxPacket = 1 << 28

// simulatePhases runs the phases of a plan one by one on their networks and places them on the timeline.
func simulatePhases(
	ctx context.Context, d *scaleup.Domain, p *plan.Plan, chunk int64,
	run func(u *planReader, n *engine.Network, s *planPhase) (engine.Time, error),
) (*Result, error) {
	if _, err := checkPlan(d, p, chunk); err != nil {
		return nil, err
	}
	u, err := newPlanReader(p)
	if err != nil {
		return nil, err
	}
	r, err := placePhases(ctx, d, p, func(i int) (engine.Time, error) {
		network, err := d.Network(p.Topologies[i])
		if err != nil {
			return 0, fmt.Errorf("%w: topology %d: %w", ErrSimulate, i, err)
		}
		s, err := u.readPhase(i)
		if err != nil {
			return 0, err
		}
		return run(u, network, s)
	})

	if err != nil {
		return nil, err
	}
	return r, u.checkDelivered()
}

// placePhases places phases one after the other, each taking what run says. All switches at once reconfigure for R before
// each phase; those on their own are down for R from the end of the phase in which they were up last, or the beginning.
func placePhases(
	ctx context.Context, d *scaleup.Domain, p *plan.Plan,
	run func(phase int) (engine.Time, error),
) (*Result, error) {
	r := &Result{Phases: make([]Phase, len(p.Topologies))}
	var lit []plan.SwitchSetup
	if p.Switches != nil {
		lit = p.SwitchSetups()
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
			if lit[0].DownFrom > 0 {
				dark = r.Phases[lit[0].DownFrom-1].End
			}
			start = max(start, dark+d.Delay)
		}
		takes, err := run(i)
		if err != nil {
			return nil, err
		}
		r.Completion = start + takes
		r.Phases[i] = Phase{start, r.Completion}
	}

	return r, nil
}
