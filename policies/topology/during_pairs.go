package topology

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"sim/engine"
	"sim/internal/random"
)

const (
	// maxPairWork limits the work of enumerating the sequences of two topologies, as
	// flow.Evaluator.Work counts it: about a second of one processor, as most are refuted by bounds.
	// Larger jobs are searched by seeds and random changes alone.
	maxPairWork = 175_000_000
	// maxPolishWork limits the work of one local search, likewise.
	maxPolishWork = 700_000
	// maxPolished is the number of sequences of two topologies that are improved further.
	maxPolished = 6
	// maxListedTopologies limits the topologies that are listed, of which those that are full may be few.
	maxListedTopologies = 20_000

	// maxAnnealedWork limits the jobs that are annealed, by the work of simulating one iteration: there,
	// an annealing takes a tenth of a second.
	maxAnnealedWork = 2_000
	// annealShare is the evaluations of one annealing per evaluation of the whole search otherwise.
	annealShare = 4
	// coldest is the mean increase that annealing accepts at its end, relative to the iteration without
	// changes.
	coldest = 0.0002
)

// listTopologies returns all topologies that fit the ports and have no circuit beyond the useful
// ones, given by bundle; bundles may have no circuit. It returns nil if they are more than most.
func (b *budget) listTopologies(useful []int, most int) [][]int {
	var all [][]int
	x, free := make([]int, len(useful)), slices.Clone(b.Ports)
	var place func(e int) bool
	place = func(e int) bool {
		if e == len(x) {
			all = append(all, slices.Clone(x))
			return len(all) <= most
		}
		n := min(useful[e], b.fits(free, e))
		for x[e] = n; x[e] >= 0; x[e]-- {
			b.take(free, e, x[e])
			more := place(e + 1)
			b.take(free, e, -x[e])
			if !more {
				return false
			}
		}
		return true
	}
	if !place(0) {
		return nil
	}
	return all
}

// full reports whether no useful circuit can be added to a topology.
func (b *budget) full(x, useful []int) bool {
	free := b.room(x)
	for e := range x {
		if x[e] < useful[e] && b.fits(free, e) > 0 {
			return false
		}
	}
	return true
}

// hottest are the mean increases that annealing accepts at its beginning, likewise. Gains differ from job
// to job: starts take them in turn.
var hottest = [...]float64{0.02, 0.004}

// moments lists the ends of all numbers of transfers of each bundle.
func (s *duringSearch) moments() (all []Step) {
	for e, n := range s.total {
		for k := range n {
			all = append(all, Step{Bundle: e, Count: k + 1})
		}
	}
	return all
}

// twoTopologies returns the topologies of which all sequences of two can be simulated: all topologies if
// these are few enough, and else those to which no circuit can be added, and none if even these are too
// many. Full restricts it to the latter.
func (s *duringSearch) twoTopologies(full bool) [][]int {
	if !s.small() {
		return nil
	}
	all := s.p.listTopologies(s.high, maxListedTopologies)
	moments := 0
	for _, n := range s.total {
		moments += n
	}
	few := func() bool {
		return float64(len(all))*float64(len(all)-1)*float64(moments*(moments+1))*float64(s.iteration) <= maxPairWork
	}
	if !full && few() {
		return all
	}
	if all = slices.DeleteFunc(all, func(x []int) bool { return !s.p.full(x, s.high) }); few() {
		return all
	}
	return nil
}

// candidate is a sequence and the time of its iteration.
type candidate struct {
	q     *Sequence
	value engine.Time
}

// small reports whether a job is so small that sequences are annealed.
func (s *duringSearch) small() bool { return s.iteration <= maxAnnealedWork }

// refine improves the search of small jobs: by annealing and local search from several sequences, and by
// simulating all sequences of two topologies, if these can be enumerated. Its evaluations do not count
// against the budget.
func (s *duringSearch) refine() {
	if !s.small() || s.found() {
		return
	}
	top := candidate{s.best, s.value}
	starts := s.fullPairs()
	if s.best != nil {
		starts = append(starts, candidate{s.best, s.value})
	}
	starts = append(starts, s.beginnings()...)
	for i, c := range starts {
		s.best, s.value = c.q, c.value
		s.anneal(hottest[i%len(hottest)], random.Stream(s.o.Seed, fmt.Sprint("anneal ", i)))
		s.polish(maxPolishWork)
		if s.value < top.value {
			top = candidate{s.best, s.value}
		}
	}
	s.best, s.value = top.q, top.value
	all := s.twoTopologies(false)
	if len(all) == len(s.twoTopologies(true)) { // fullPairs has looked at them
		return
	}
	s.eachPair(all, func() engine.Time { return min(s.value, s.static.Makespan) }, func(q *Sequence) bool {
		s.consider(q)
		return !s.found()
	})
}

// fullPairs returns the best few sequences of two topologies that use all ports which are of use, the
// best first; none if these cannot be enumerated.
func (s *duringSearch) fullPairs() (best []candidate) {
	limit := func() engine.Time {
		if len(best) < maxPolished {
			return s.static.Makespan
		}
		return best[len(best)-1].value
	}
	s.eachPair(s.twoTopologies(true), limit, func(q *Sequence) bool {
		s.evaluations++
		c, ok := s.repeating(q, limit())
		if !ok || c >= limit() || slices.ContainsFunc(best, func(o candidate) bool { return o.value == c }) {
			return true
		}
		if len(best) == maxPolished {
			best = best[:maxPolished-1]
		}
		i, _ := slices.BinarySearchFunc(best, c, func(o candidate, c engine.Time) int { return cmp.Compare(o.value, c) })
		best = slices.Insert(best, i, candidate{q, c})
		return true
	})
	return best
}

// beginnings returns the sequences that a search begins with at any delay: the best of the seeds, and the
// topology that stays.
func (s *duringSearch) beginnings() []candidate {
	before, spent := candidate{s.best, s.value}, s.meter
	s.best, s.value = nil, never
	s.restart()
	s.seed()
	q, value := s.unmoved()
	all := []candidate{{q, value}}
	if s.best != nil {
		all = append(all, candidate{s.best, s.value})
	}
	s.best, s.value = before.q, before.value
	s.effort, s.began = spent.effort, spent.began+s.w.Work()-s.meter.began
	return all
}

// anneal improves the best sequence by simulated annealing: random changes of a current sequence,
// which may become slower by an exponentially distributed time. The mean of that time, relative to the
// iteration without changes, falls from hot to coldest.
func (s *duringSearch) anneal(hot float64, rng *rand.Rand) {
	q, value := s.best, s.value
	steps := annealShare * float64(s.o.Moving.MaxEvaluations)
	for n := 0.0; n < steps && !s.found() && s.ctx.Err() == nil; n++ {
		mean := hot * math.Pow(coldest/hot, n/steps)
		limit := value + engine.Time(mean*float64(s.static.Makespan)*rng.ExpFloat64())
		o := q.clone()
		for range 1 + rng.IntN(3) {
			s.vary(o, rng)
		}
		if o.tidy(); len(o.Steps) == 0 || !s.allowed(o) {
			continue
		}
		s.evaluations++
		c, ok := s.repeating(o, limit+1)
		if !ok || c > limit {
			continue
		}
		q, value = o, c
		s.keep(q, c)
	}
}

// polish improves the best sequence by single changes, and by pairs of another moment and another
// topology, until none helps or the work is done.
func (s *duringSearch) polish(work int64) {
	began := s.w.Work()
	for again := true; again; {
		again = false
		visit := func(q *Sequence) bool {
			if s.w.Work()-began > work || s.ctx.Err() != nil {
				return false
			}
			q.last()
			if q.tidy(); len(q.Steps) == 0 || !s.allowed(q) {
				return true
			}
			again = s.consider(q)
			return !again
		}
		q := s.best
		if !s.exchanged(q, visit) || !s.moved(q, visit) {
			continue
		}
		s.moved(q, func(o *Sequence) bool { return visit(o.clone()) && s.exchanged(o, visit) })
		again = again && !s.found()
	}
}

// moved visits the sequences that differ from q in the moment of one step, or lack it. It returns false
// if visit did.
func (s *duringSearch) moved(q *Sequence, visit func(q *Sequence) bool) bool {
	moments := append(s.moments(), Step{Bundle: AtEnd})
	for k := range q.Steps {
		for _, m := range moments {
			o := q.clone()
			o.Steps[k].Bundle, o.Steps[k].Count = m.Bundle, m.Count
			if !visit(o) {
				return false
			}
		}
		if len(q.Steps) > 2 {
			o := q.clone()
			if o.drop(k); !visit(o) {
				return false
			}
		}
	}
	return true
}

// exchanged visits the sequences in which one topology of q has a circuit of a bundle more or less,
// alone or against one of another bundle; and those with one step more, to such a topology. It returns
// false if visit did.
func (s *duringSearch) exchanged(q *Sequence, visit func(q *Sequence) bool) bool {
	moments := s.moments()
	for k := range q.Steps {
		if !s.exchanges(q.Steps[k].Circuits, func(x []int) bool {
			o := q.clone()
			o.Steps[k].Circuits = x
			if k == len(q.Steps)-1 {
				o.First = slices.Clone(x)
			}
			if !visit(o) {
				return false
			}
			for _, m := range moments {
				o := q.clone()
				m.Circuits = slices.Clone(x)
				o.Steps = slices.Insert(o.Steps, k, m)
				if !visit(o) {
					return false
				}
			}
			return true
		}) {
			return false
		}
	}
	return true
}

// exchanges visits the topologies with one circuit of a bundle more or less than x, alone or against one
// of another bundle. It returns false if visit did.
func (s *duringSearch) exchanges(x []int, visit func(x []int) bool) bool {
	for e := range x {
		for _, d := range []int{1, -1} {
			for o := range x {
				y := slices.Clone(x)
				y[e] += d
				if o != e {
					y[o] -= d
				}
				if y[e] < 0 || y[o] < 0 || y[e] > s.high[e] || y[o] > s.high[o] || s.p.overrun(y) {
					continue
				}
				if !visit(y) {
					return false
				}
			}
		}
	}
	return true
}

// eachPair visits the sequences of two topologies with a change when any number of transfers of a
// bundle has ended, and the change back at any other moment. It leaves out those that take no less than
// a limit, as one topology with the circuits of both would. It ends when visit returns false.
func (s *duringSearch) eachPair(all [][]int, limit func() engine.Time, visit func(q *Sequence) bool) {
	if s.o.Moving.Changes == 1 {
		return
	}
	moments := s.moments()
	both := make([]int, len(s.high))
	for _, first := range all {
		for _, second := range all {
			for e := range both {
				both[e] = max(first[e], second[e])
			}
			s.evaluations++
			if slices.Equal(first, second) || s.w.bound(both) >= limit() {
				continue
			}
			for _, there := range moments {
				there.Circuits = second
				for k := range len(moments) + 1 {
					back := Step{Bundle: AtEnd}
					if k > 0 {
						back = moments[k-1]
					}
					if back.Bundle == there.Bundle && back.Count <= there.Count {
						continue
					}
					back.Circuits = first
					if s.ctx.Err() != nil || !visit(&Sequence{First: first, Steps: []Step{there, back}}) {
						return
					}
				}
			}
		}
	}
}
