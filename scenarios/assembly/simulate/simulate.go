// Package simulate runs plans of collectives on the simulation engines. A plan can
// be simulated in three modes:
//
//   - Synchronised: packet by packet, in step with the slots or steps of the plan;
//   - Free: packet by packet, as soon as links and queues allow;
//   - Fluid: at level flow, with rates that share links.
//
// The package makes no decisions: planners make plans (policies/reconfigure), and
// the engines compute times. A plan in slots is read phase by phase (planReader)
// and simulated phase by phase. A plan in steps is one task graph (messageGraph).
// R is the reconfiguration delay of the domain.
package simulate

import (
	"context"
	"errors"
	"fmt"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
)

// ErrSimulate reports that a plan cannot be simulated on a domain.
var ErrSimulate = errors.New("simulate: this plan cannot be simulated")

// ErrContention reports that a transmission does not end with its slot. The error
// of Synchronised that wraps it names the link, the slot and the chunks.
var ErrContention = errors.New("simulate: contention")

// Phase is the time of the transmissions of a phase.
type Phase struct{ Start, End engine.Time }

// Result is the result of the simulation of a plan.
type Result struct {
	// Completion is the end of the last phase, including reconfigurations.
	Completion engine.Time
	Phases     []Phase
	// LargestQueue is the maximum number of chunks that waited for one link. It
	// excludes the chunk that is being sent, and chunks that have not left their
	// GPU in the phase. Hops is the number of transmissions of chunks. Both are 0
	// for Fluid.
	LargestQueue int32
	Hops         int64
}

// checkPlan returns the duration of a slot. It fails if the plan is for another
// domain, or takes longer than engine.Time can represent.
func checkPlan(d *scaleup.Domain, p *plan.Plan, chunk int64) (engine.Time, error) {
	if err := d.Check(); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrSimulate, err)
	}
	problem := &plan.Problem{GPUs: p.GPUs, Degree: p.Degree, Chunks: p.Chunks}
	if err := problem.Check(); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrSimulate, err)
	}
	if chunk < 1 {
		return 0, fmt.Errorf("%w: chunks of %d B; want at least 1 B", ErrSimulate, chunk)
	}

	// The duration is at most the sum of all slots and reconfigurations.
	slot := d.Slot(chunk)
	total := float64(len(p.Topologies))*float64(d.Delay) + float64(p.TotalSlots())*float64(slot)
	switch {
	case p.GPUs != d.GPUs || p.Degree > d.Switches:
		return 0, fmt.Errorf("%w: it is for %d GPUs of degree %d, the domain has %d and %d switches",
			ErrSimulate, p.GPUs, p.Degree, d.GPUs, d.Switches)
	case len(p.Slots) != len(p.Topologies):
		return 0, fmt.Errorf("%w: %d counts of slots for %d topologies",
			ErrSimulate, len(p.Slots), len(p.Topologies))
	case !(total < float64(engine.Never)/2): // also if total is not a number
		return 0, fmt.Errorf("%w: it takes %g s, longer than simulated time",
			ErrSimulate, total/float64(engine.Second))
	case p.Switches != nil && len(p.Switches) != len(p.Topologies):
		return 0, fmt.Errorf("%w: switches of %d topologies, of which there are %d",
			ErrSimulate, len(p.Switches), len(p.Topologies))
	case p.Switches != nil && engine.Time(p.DelaySlots)*slot < d.Delay:
		return 0, fmt.Errorf("%w: its switches are dark for %d slots of %v, less than the %v that a reconfiguration takes",
			ErrSimulate, p.DelaySlots, slot, d.Delay)
	}

	return slot, nil
}

// maxPacket is the maximum size of a packet in package packet, in bytes.
const maxPacket = 1 << 28

// A phaseFunc simulates one phase of a plan on its network and returns the
// duration.
type phaseFunc func(u *planReader, n *engine.Network, s *planPhase) (engine.Time, error)

// simulatePhases simulates the phases of a plan one after the other.
func simulatePhases(
	ctx context.Context, d *scaleup.Domain, p *plan.Plan, chunk int64, run phaseFunc,
) (*Result, error) {
	if _, err := checkPlan(d, p, chunk); err != nil {
		return nil, err
	}

	u, err := newPlanReader(p)
	if err != nil {
		return nil, err
	}

	r, err := placePhases(ctx, d, p, func(i int) (engine.Time, error) {
		// The network has the circuits of this phase only.
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

// placePhases computes the times of the phases, which follow each other. run
// returns the duration of a phase.
//
// If all switches reconfigure together, they do so for R before each phase. An
// independent switch is down for R from the end of the last phase that used its
// previous circuits, or from time 0.
func placePhases(
	ctx context.Context, d *scaleup.Domain, p *plan.Plan,
	run func(phase int) (engine.Time, error),
) (*Result, error) {
	r := &Result{Phases: make([]Phase, len(p.Topologies))}
	var setups []plan.SwitchSetup // ordered by phase
	if p.Switches != nil {
		setups = p.SwitchSetups()
	}

	for i := range p.Topologies {
		if err := ctx.Err(); err != nil {
			return nil, err
		}

		start := r.Completion
		if p.Switches == nil {
			start += d.Delay
		}

		// The phase starts when the last of its switches is set up.
		for ; len(setups) > 0 && int(setups[0].Phase) == i; setups = setups[1:] {
			downFrom := engine.Time(0)
			if first := setups[0].DownFrom; first > 0 {
				downFrom = r.Phases[first-1].End
			}
			start = max(start, downFrom+d.Delay)
		}

		duration, err := run(i)
		if err != nil {
			return nil, err
		}

		r.Completion = start + duration
		r.Phases[i] = Phase{start, r.Completion}
	}

	return r, nil
}
