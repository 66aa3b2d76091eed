package plan

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"sim/engine"
	"sim/policies/reconfigure/halt"
)

// Candidate is one plan that a planner could make, known by its cost before it is written out.
type Candidate struct {
	// Origin names the construction, for people.
	Origin string
	// Reconfigurations is d, the initial topology included (paper Sec. 2.1).
	Reconfigurations int
	// Slots is the sum of the slots, or steps, of all phases. 0 where Fluid is set.
	Slots int64
	// Steps, above 0, is the time of all steps, which are of different lengths.
	Steps engine.Time
	// Fluid, above 0, makes this an idealised schedule without a plan: its transmission time in slots, with rates
	// shared as fluid. FluidBound <= Fluid brackets the optimum on this topology from below.
	Fluid, FluidBound float64
	// Waits: a chunk may wait at a node on its way within a phase, so the round model does not bind. Relay: chunks rest
	// at intermediate GPUs across reconfigurations.
	Waits, Relay bool
	// Proved: of the plans that its construction could make, of as many topologies and relaying if it does, none takes
	// fewer slots. It says nothing of other constructions.
	Proved bool
	// DelaySlots, above 0, says that Slots count those in which switches on their own are down: the plan takes Slots in
	// all, for any delay of at most DelaySlots slots.
	DelaySlots int64
	// Switches, where each switch reconfigures on its own: what each one does. nil where all do at once.
	Switches []SwitchLoad
	// Build writes the plan out. nil for Fluid. For Switches it is given the delay in slots, rounded up; else that is
	// ignored. The plan need not be sealed. It fails with halt.ErrHalted when told to.
	Build func(delaySlots int64, stop halt.When) (*Plan, error)
}

// SwitchLoad is the work of a switch that reconfigures on its own: it is down Reconfigurations times and carries
// traffic for Slots slots.
type SwitchLoad struct {
	Reconfigurations int
	Slots            int64
}

// Cost is the closed alpha-beta cost of the candidate: d R + T x slots (paper Sec. 2.1), where T is the time of a slot
// and R the reconfiguration delay; with switches on their own it is that of the one that ends last, or as DelaySlots
// says.
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

// ErrNoCandidate says that a planner offers nothing.
var ErrNoCandidate = errors.New("plan: no candidate to choose from")

// Cost is what a candidate costs where one is chosen. It does not fall with slots or topologies.
type Cost func(*Candidate) engine.Time

// Never is the cost of a candidate that is not wanted.
const Never = engine.Time(math.MaxInt64)

// Best returns the candidate of the lowest cost, below Never; of equals the one with fewest reconfigurations, then the
// first. Error: ErrNoCandidate for none.
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

// Better says whether a costs less than b, which may be nil, or as much with fewer reconfigurations.
func Better(a, b *Candidate, cost Cost) bool {
	limit := Never
	if b != nil {
		limit = cost(b)
	}
	c := cost(a)
	return c < limit || c == limit && b != nil && a.Reconfigurations < b.Reconfigurations
}

// Frontier keeps of candidates that reconfigure all switches at once those that none beats in both reconfigurations and
// slots (fluid ones by their Fluid), by rising reconfigurations; of equals the first. Candidates with Switches are all
// kept, at the end.
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
