package topology

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"sim/engine"
	"sim/engine/flow"
)

// outcome is what is known of a topology: its makespan, or (never) that it is at least cutoff.
type outcome struct{ makespan, cutoff engine.Time }

// value fills in the makespans of a population, simulating in parallel what has not been simulated before
// (ParallelEvalDES, Alg. 3, Line 2). What reaches cutoff counts as never. Neither the order nor the number of workers
// changes what comes out: all that is to be simulated is known before the first simulation.
func (s *fastSearch) value(population []individual, cutoff engine.Time) {
	var todo []individual
	pending := map[string]int{}
	keys := make([]string, len(population))
	for i := range population {
		if i&(1<<8-1) == 0 && s.cut() { // nothing is simulated any more
			for k := range population {
				population[k].makespan = never
			}
			return
		}
		keys[i] = key(population[i].x)
		if o, ok := s.memo[keys[i]]; ok && (o.makespan != never || o.cutoff >= cutoff) {
			continue
		}
		if _, ok := pending[keys[i]]; !ok {
			pending[keys[i]] = len(todo)
			todo = append(todo, population[i])
		}
	}
	s.play(todo, cutoff)
	for i := range todo {
		if todo[i].makespan != never {
			s.played = append(s.played, todo[i])
		}
	}
	for i := range population {
		if k, ok := pending[keys[i]]; ok {
			s.memo[keys[i]] = outcome{todo[k].makespan, cutoff}
		}
		if c := s.memo[keys[i]].makespan; c < cutoff {
			population[i].makespan = c
		} else {
			population[i].makespan = never
		}
	}
}

// play simulates every topology of a list. Those that differ only in bundles that nothing waits for are simulated from
// a common beginning, where the service does not look ahead.
func (s *fastSearch) play(list []individual, cutoff engine.Time) {
	s.evaluations += int64(len(list))
	groups := s.alike(list)
	work := func(w *player, next func() int) {
		for g := next(); g < len(groups); g = next() {
			s.playGroup(w, groups[g], cutoff)
		}
	}
	var claimed atomic.Int64
	claim := func() int { return int(claimed.Add(1)) - 1 }
	var all sync.WaitGroup
	for _, w := range s.players[1:max(1, min(len(s.players), len(groups)))] {
		all.Go(func() { work(w, claim) })
	}
	work(s.players[0], claim)
	all.Wait()
}

// alike splits a list into groups with the same circuits in the bundles that others wait for.
func (s *fastSearch) alike(list []individual) [][]*individual {
	var groups [][]*individual
	at := map[string]int{}
	x := s.p.ones()
	for i := range list {
		k := strconv.Itoa(i)
		if s.service == flow.MaxMin || s.service == flow.Weighted {
			copyWhere(x, list[i].x, s.inner)
			k = key(x)
		}
		g, ok := at[k]
		if !ok {
			g = len(groups)
			at[k] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], &list[i])
	}
	return groups
}

// playGroup simulates the topologies of a group.
func (s *fastSearch) playGroup(w *player, group []*individual, cutoff engine.Time) {
	if len(group) > 1 {
		full := slices.Clone(group[0].x)
		for _, t := range group {
			for e := range full {
				full[e] = max(full[e], t.x[e])
			}
		}
		w.light(full)
		w.Fork(s.outer, cutoff)
	}
	for _, t := range group {
		t.makespan = never
		if s.cut() {
			continue
		}
		w.light(t.x)
		c, ok := engine.Time(0), false
		if len(group) > 1 {
			c, ok = w.Resume(cutoff)
		} else {
			c, ok = w.Makespan(cutoff)
		}
		if ok {
			t.makespan = c
		}
	}
}

// copyWhere copies from src to dst where mask holds.
func copyWhere(dst, src []int, mask []bool) {
	for i, m := range mask {
		if m {
			dst[i] = src[i]
		}
	}
}

// cut reports whether simulations are pointless, as the search has been cut short.
func (s *fastSearch) cut() bool {
	return s.ctx.Err() != nil || !s.o.deadline.IsZero() && time.Now().After(s.o.deadline)
}

// interrupted reports whether the search has been cut short, and says why in the decision.
func (s *fastSearch) interrupted() bool {
	if !s.cut() {
		return false
	}
	s.stopped = fmt.Sprintf("after the time limit of %v", s.o.TimeLimit)
	if s.ctx.Err() != nil {
		s.stopped = "interrupted"
	}
	return true
}

// over reports whether the search for a shorter makespan must end.
func (s *fastSearch) over() bool {
	if s.stopped == "" && s.generations >= s.o.MaxGenerations {
		s.stopped = fmt.Sprintf("after %d generations", s.generations)
	}
	if most := s.o.evaluations; s.stopped == "" && most > 0 && s.evaluations*s.p.cost() >= most {
		s.stopped = fmt.Sprintf("after %d evaluations", s.evaluations)
	}
	return s.stopped != "" || s.interrupted()
}

// rank orders a population, fittest first.
func (s *fastSearch) rank(population []individual) {
	slices.SortStableFunc(population, func(a, b individual) int { return s.compare(&a, &b) })
}

// keep takes t as the best if it is fitter.
func (s *fastSearch) keep(t *individual) {
	if t.makespan != never && s.compare(t, &s.best) < 0 {
		s.best = *t
	}
}
