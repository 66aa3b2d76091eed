package plan

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"sim/engine"
	"sim/policies/reconfigure/cancellation"
)

// Candidate is a plan that a planner can make. Planners return candidates instead of plans,
// because the cost of a candidate is known before Build computes its transmissions.
type Candidate struct {
	// Origin names the construction in results.
	Origin string
	// Reconfigurations is d, the number of topologies including the first (Sec. 2.1 of the
	// paper).
	Reconfigurations int
	// Slots is the sum of the slots, or steps, of all phases. It is 0 if Fluid is set.
	Slots int64
	// Steps, if positive, is the time of all steps of a plan in steps, which have different
	// lengths.
	Steps engine.Time
	// Fluid, if positive, is the transmission time in slots of an idealised schedule
	// without a plan, whose rates are shared as in a fluid. FluidBound <= Fluid is a lower
	// bound of the optimum on this topology.
	Fluid, FluidBound float64
	// Waits: a chunk may wait at a GPU within a phase, so the round model does not apply.
	// Relay: chunks rest at intermediate GPUs across reconfigurations.
	Waits, Relay bool
	// Proved: no plan of this construction with as many topologies takes fewer slots,
	// compared with plans that relay only if this one does. Other constructions may be
	// better.
	Proved bool
	// DelaySlots, if positive, means that Slots include the slots in which independent
	// switches are down. The plan then takes Slots for any delay of at most DelaySlots
	// slots.
	DelaySlots int64
	// Switches is the work of each switch if switches reconfigure independently, else nil.
	Switches []SwitchLoad
	// Build writes the plan. It is nil if Fluid is set. With Switches, delaySlots is the
	// delay in slots, rounded up; otherwise it is ignored. The plan need not be sealed.
	// Build polls stop and then fails with cancellation.ErrCancelled.
	Build func(delaySlots int64, stop cancellation.Condition) (*Plan, error)
}

// SwitchLoad is the work of an independent switch: it is down Reconfigurations times and
// carries traffic for Slots slots.
type SwitchLoad struct {
	Reconfigurations int
	Slots            int64
}

// Cost returns the completion time in the alpha-beta model: d R + T x slots (Sec. 2.1 of
// the paper), where T is the time of a slot and R the reconfiguration delay. With
// independent switches it is the time of the last switch, unless DelaySlots is set.
func (c *Candidate) Cost(delay, slot engine.Time) engine.Time {
	if c.Fluid > 0 {
		return engine.Time(c.Reconfigurations)*delay + engine.Time(c.Fluid*float64(slot)+0.5)
	}
	if c.Steps > 0 {
		return engine.Time(c.Reconfigurations)*delay + c.Steps
	}
	if c.DelaySlots > 0 {
		return engine.Time(c.Slots) * slot
	}
	if c.Switches == nil {
		return engine.Time(c.Reconfigurations)*delay + engine.Time(c.Slots)*slot
	}
	var last engine.Time
	for _, s := range c.Switches {
		last = max(last, engine.Time(s.Reconfigurations)*delay+engine.Time(s.Slots)*slot)
	}
	return last
}

// ErrNoCandidate is returned if a planner has no candidate.
var ErrNoCandidate = errors.New("plan: no candidate")

// Cost is the cost of a candidate for a selection. It must not decrease with slots or
// topologies.
type Cost func(*Candidate) engine.Time

// Never is the cost of a candidate that must not be selected.
const Never = engine.Time(math.MaxInt64)

// Best returns the candidate with the lowest cost, which must be below Never. Of equal
// candidates it returns the one with the smallest number of reconfigurations, then the
// first. The error is ErrNoCandidate if no candidate costs less than Never.
func Best(list []Candidate, cost Cost) (*Candidate, error) {
	var best *Candidate
	for i := range list {
		if Better(&list[i], best, cost) {
			best = &list[i]
		}
	}
	if best == nil {
		return nil, ErrNoCandidate
	}
	return best, nil
}

// Better reports whether a costs less than b, or the same with fewer reconfigurations. b
// may be nil, which stands for the cost Never.
func Better(a, b *Candidate, cost Cost) bool {
	limit := Never
	if b != nil {
		limit = cost(b)
	}
	c := cost(a)
	return c < limit || c == limit && b != nil && a.Reconfigurations < b.Reconfigurations
}

// Frontier returns the candidates that no other one beats in both reconfigurations and
// slots (Fluid for fluid ones), ordered by reconfigurations. Of equal candidates it keeps
// the first. Candidates with Switches are all kept, at the end.
func Frontier(list []Candidate) []Candidate {
	work := func(c *Candidate) float64 {
		if c.Fluid > 0 {
			return c.Fluid
		}
		return float64(c.Slots)
	}

	var synchronised, independent []Candidate
	for _, c := range list {
		if c.Switches != nil {
			independent = append(independent, c)
		} else {
			synchronised = append(synchronised, c)
		}
	}

	slices.SortStableFunc(synchronised, func(a, b Candidate) int {
		if o := cmp.Compare(a.Reconfigurations, b.Reconfigurations); o != 0 {
			return o
		}
		return cmp.Compare(work(&a), work(&b))
	})

	result := synchronised[:0]
	for _, c := range synchronised {
		if len(result) == 0 || work(&c) < work(&result[len(result)-1]) {
			result = append(result, c)
		}
	}
	return append(result, independent...)
}
