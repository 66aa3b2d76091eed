package pack

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"

	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// SequenceSpec is what sequences are made from: sequences for uniform demand, and the numbers of topologies wanted.
type SequenceSpec struct {
	Base   []Sequence
	Counts []int
}

// Plan makes sequences that suit an unequal demand and schedules them as Candidates does, and returns of those what
// plan.Frontier keeps, of equals perhaps another. Most others it never schedules: a bound on their slots tells that
// others are better. within is the start of plans whose chunks stay within a phase; with Options.Relay, across that of
// plans whose chunks may rest across reconfigurations, and plans of one topology are made from across alone. Errors:
// those of Sequences and Candidates.
func Plan(p *plan.Problem, within, across SequenceSpec, o Options) (_ []plan.Candidate, err error) {
	defer halt.Caught(&err)
	b, err := plan.NewBounder(p, o.Stop)
	if err != nil {
		return nil, err
	}
	r := newIncumbents(p, b, slices.Concat(within.Counts, across.Counts))
	for _, c := range o.Known {
		if c.Switches == nil && c.Fluid == 0 && c.Reconfigurations < len(r.minSlots) {
			r.record(c.Reconfigurations, c.Slots)
		}
	}
	if !o.Relay {
		list, err := r.scheduleAll(within, o)
		return plan.Frontier(list), err
	}
	relayed, err := r.scheduleAll(across, o)
	if err != nil {
		return nil, err
	}
	if within.Counts, err = r.openCounts(within.Counts); err != nil || within.Counts == nil {
		return plan.Frontier(relayed), err
	}
	o.Relay = false
	separate, err := r.scheduleAll(within, o)
	return plan.Frontier(append(separate, relayed...)), err
}

// incumbents is what any schedule must beat: the slots of those found so far, by number of topologies. nil is none.
type incumbents struct {
	problem  *plan.Problem
	bounder  *plan.Bounder
	minSlots []atomic.Int64
}

// errDominated says that no schedule of a sequence can be among those that plan.Frontier keeps.
var errDominated = errors.New("pack: others take fewer slots or topologies")

func newIncumbents(p *plan.Problem, b *plan.Bounder, counts []int) *incumbents {
	r := &incumbents{problem: p, bounder: b, minSlots: make([]atomic.Int64, slices.Max(append(counts, 0))+1)}
	for d := range r.minSlots {
		r.minSlots[d].Store(math.MaxInt64)
	}
	return r
}

// scheduleAll makes sequences and schedules them.
func (r *incumbents) scheduleAll(spec SequenceSpec, o Options) ([]plan.Candidate, error) {
	m, err := newSequenceBuilder(r.problem, spec, o.Relay)
	if err != nil {
		return nil, err
	}
	m.workers, m.stop = o.Workers, o.Stop
	if err := m.build(); err != nil {
		return nil, err
	}
	return candidates(r.problem, m.selected(), o, r)
}

// openCounts returns the numbers of topologies above 1 with which plans without relaying may still be better than those
// found.
func (r *incumbents) openCounts(counts []int) (list []int, err error) {
	for _, d := range counts {
		b, err := r.bounder.At(d)
		if err != nil {
			return nil, err
		}
		if d > 1 && !r.dominates(d, b.Forward) {
			list = append(list, d)
		}
	}
	return list, nil
}

// record tells of a schedule.
func (r *incumbents) record(d int, slots int64) {
	if r == nil {
		return
	}
	for {
		previous := r.minSlots[d].Load()
		if slots >= previous || r.minSlots[d].CompareAndSwap(previous, slots) {
			return
		}
	}
}

// dominates says that plan.Frontier drops every schedule of d topologies that takes at least so many slots: one of fewer
// topologies takes no more, or one of as many takes less. Of equals it keeps the first, whatever else is found before.
func (r *incumbents) dominates(d int, slots int64) bool {
	if r == nil {
		return false
	}
	for e := 1; e < d; e++ {
		if r.minSlots[e].Load() <= slots {
			return true
		}
	}
	return r.minSlots[d].Load() < slots
}

// bound is a lower bound on the slots of a sequence: all links carry the hops of all chunks at least.
func (r *incumbents) bound(s scoredSequence, relay bool) (int64, error) {
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
