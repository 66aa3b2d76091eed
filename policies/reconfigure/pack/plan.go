package pack

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"

	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// Start is what sequences are made from: sequences for uniform demand, and the numbers of topologies wanted.
type Start struct {
	Base   []Sequence
	Counts []int
}

// Plan makes sequences that suit an unequal demand and schedules them as Candidates does, and returns of those what
// plan.Frontier keeps, of equals perhaps another. Most others it never schedules: a bound on their slots tells that
// others are better. within is the start of plans whose chunks stay within a phase; with Options.Relay, across that of
// plans whose chunks may rest across reconfigurations, and plans of one topology are made from across alone. Errors:
// those of Sequences and Candidates.
func Plan(p *plan.Problem, within, across Start, o Options) (_ []plan.Candidate, err error) {
	defer halt.Caught(&err)
	b, err := plan.NewBounder(p, o.Stop)
	if err != nil {
		return nil, err
	}
	r := newRace(p, b, slices.Concat(within.Counts, across.Counts))
	for _, c := range o.Known {
		if c.Switches == nil && c.Fluid == 0 && c.Reconfigurations < len(r.least) {
			r.enter(c.Reconfigurations, c.Slots)
		}
	}
	if !o.Relay {
		list, err := r.plan(within, o)
		return plan.Frontier(list), err
	}
	relayed, err := r.plan(across, o)
	if err != nil {
		return nil, err
	}
	if within.Counts, err = r.open(within.Counts); err != nil || within.Counts == nil {
		return plan.Frontier(relayed), err
	}
	o.Relay = false
	separate, err := r.plan(within, o)
	return plan.Frontier(append(separate, relayed...)), err
}

// race is what any schedule must beat: the slots of those found so far, by number of topologies. nil is none.
type race struct {
	problem *plan.Problem
	bounder *plan.Bounder
	least   []atomic.Int64
}

// errLost says that no schedule of a sequence can be among those that plan.Frontier keeps.
var errLost = errors.New("pack: others take fewer slots or topologies")

func newRace(p *plan.Problem, b *plan.Bounder, counts []int) *race {
	r := &race{problem: p, bounder: b, least: make([]atomic.Int64, slices.Max(append(counts, 0))+1)}
	for d := range r.least {
		r.least[d].Store(math.MaxInt64)
	}
	return r
}

// plan makes sequences and schedules them.
func (r *race) plan(start Start, o Options) ([]plan.Candidate, error) {
	m, err := newMaker(r.problem, start, o.Relay)
	if err != nil {
		return nil, err
	}
	m.workers, m.stop = o.Workers, o.Stop
	if err := m.make(); err != nil {
		return nil, err
	}
	return candidates(r.problem, m.list(), o, r)
}

// open returns the numbers of topologies above 1 with which plans without relaying may still be better than those
// found.
func (r *race) open(counts []int) (list []int, err error) {
	for _, d := range counts {
		b, err := r.bounder.At(d)
		if err != nil {
			return nil, err
		}
		if d > 1 && !r.lost(d, b.Forward) {
			list = append(list, d)
		}
	}
	return list, nil
}

// enter tells of a schedule.
func (r *race) enter(d int, slots int64) {
	if r == nil {
		return
	}
	for {
		was := r.least[d].Load()
		if slots >= was || r.least[d].CompareAndSwap(was, slots) {
			return
		}
	}
}

// lost says that plan.Frontier drops every schedule of d topologies that takes at least so many slots: one of fewer
// topologies takes no more, or one of as many takes less. Of equals it keeps the first, whatever else is found before.
func (r *race) lost(d int, slots int64) bool {
	if r == nil {
		return false
	}
	for e := 1; e < d; e++ {
		if r.least[e].Load() <= slots {
			return true
		}
	}
	return r.least[d].Load() < slots
}

// bound is a lower bound on the slots of a sequence: all links carry the hops of all chunks at least.
func (r *race) bound(s made, relay bool) (int64, error) {
	b, err := r.bounder.At(len(s.Topologies))
	if err != nil {
		return 0, err
	}
	links := int64(r.problem.GPUs) * int64(r.problem.Degree)
	if relay {
		return max(b.Relay, (s.hops+links-1)/links), nil
	}
	return max(b.Forward, (s.hops+links-1)/links), nil
}
