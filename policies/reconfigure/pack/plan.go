package pack

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"

	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// SequenceSpec describes the sequences to build.
type SequenceSpec struct {
	Base   []Sequence // sequences for uniform demand, from which others are derived
	Counts []int      // numbers of topologies of the sequences
}

// Plan builds sequences of topologies for an unequal demand, schedules them as Candidates
// does, and returns the plan.Frontier of the candidates. It does not schedule a sequence if a lower
// bound on its slots shows that another candidate is better.
//
// within specifies plans whose chunks stay within a phase. With Options.Relay, across
// specifies plans whose chunks may rest across reconfigurations, and plans of one topology
// are built from across only.
//
// Errors: see newSequenceBuilder and Candidates.
func Plan(p *plan.Problem, within, across SequenceSpec, o Options) (_ []plan.Candidate, err error) {
	defer cancellation.Recover(&err)
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

	// Schedule plans with relaying first. Their slots may exclude all plans without relaying for
	// some numbers of topologies.
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

// incumbentSet has the minimum number of slots of all candidates so far, for each number of
// topologies. The methods record and dominates accept a nil pointer, which has no candidates. An
// incumbentSet is safe for concurrent use.
type incumbentSet struct {
	problem  *plan.Problem
	bounder  *plan.Bounder
	minSlots []atomic.Int64 // indexed by number of topologies; math.MaxInt64 if there is no candidate
}

// errDominated is returned if no schedule of a sequence can be among the candidates that
// plan.Frontier keeps.
var errDominated = errors.New("pack: an incumbent has fewer slots or topologies")

// newIncumbents returns incumbents without candidates, for the given numbers of topologies.
func newIncumbents(p *plan.Problem, b *plan.Bounder, counts []int) *incumbentSet {
	r := &incumbentSet{
		problem:  p,
		bounder:  b,
		minSlots: make([]atomic.Int64, slices.Max(append(counts, 0))+1),
	}
	for d := range r.minSlots {
		r.minSlots[d].Store(math.MaxInt64)
	}
	return r
}

// scheduleAll builds the sequences of a specification and schedules them.
func (r *incumbentSet) scheduleAll(spec SequenceSpec, o Options) ([]plan.Candidate, error) {
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

// openCounts returns the numbers of topologies above 1 with which a plan without relaying
// may still be better than the incumbents.
func (r *incumbentSet) openCounts(counts []int) (list []int, err error) {
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

// record records a candidate of d topologies.
func (r *incumbentSet) record(d int, slots int64) {
	if r == nil {
		return
	}
	// Store the minimum. Repeat if another goroutine stores a value in between.
	for {
		previous := r.minSlots[d].Load()
		if slots >= previous || r.minSlots[d].CompareAndSwap(previous, slots) {
			return
		}
	}
}

// dominates reports whether plan.Frontier drops every candidate of d topologies with at least the
// given slots: if an incumbent has fewer topologies and at most these slots, or d topologies and
// fewer slots. An equal incumbent does not dominate, because plan.Frontier keeps the first of equal
// candidates.
func (r *incumbentSet) dominates(d int, slots int64) bool {
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

// bound returns a lower bound on the slots of a sequence: the bound of any topologies, and
// the hops of all chunks divided by the number of links.
func (r *incumbentSet) bound(s scoredSequence, relay bool) (int64, error) {
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
