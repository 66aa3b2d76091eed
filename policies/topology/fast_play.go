package topology

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sim/engine"
)

// outcome is what is known of a topology: its makespan, or (never) that it is
// at least cutoff.
type outcome struct{ makespan, cutoff engine.Time }

// value fills in the makespans of a population, playing in parallel what has
// not been played before (ParallelEvalDES, Alg. 3, Line 2). What reaches
// cutoff counts as never. Neither the order nor the number of workers changes
// what comes out: all that is to be played is known before the first play.
func (s *fastSearch) value(population []individual, cutoff engine.Time) {
	var todo []individual
	pending := map[string]int{}
	keys := make([]string, len(population))
	for i := range population {
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

// play plays every topology of a list.
func (s *fastSearch) play(list []individual, cutoff engine.Time) {
	s.evaluations += int64(len(list))
	one := func(w *player, t *individual) {
		t.makespan = never
		if s.ctx.Err() != nil || s.late() {
			return
		}
		if c, ok := w.play(t.x, cutoff); ok {
			t.makespan = c
		}
	}
	workers := min(len(s.players), len(list))
	if workers < 2 {
		for i := range list {
			one(s.players[0], &list[i])
		}
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for _, w := range s.players[:workers] {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(list)); i = next.Add(1) - 1 {
				one(w, &list[i])
			}
		})
	}
	all.Wait()
}

// late reports whether the time limit has passed.
func (s *fastSearch) late() bool { return s.o.TimeLimit > 0 && time.Now().After(s.deadline) }

// over reports whether the search must end, and says why in the decision.
func (s *fastSearch) over() bool {
	switch {
	case s.stopped != "":
	case s.ctx.Err() != nil:
		s.stopped = "interrupted"
	case s.late():
		s.stopped = fmt.Sprintf("after the time limit of %v", s.o.TimeLimit)
	default:
		return false
	}
	return true
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
