package topology

import (
	"strconv"
	"sync"
	"sync/atomic"

	"sim/engine"
	"sim/engine/flow"
)

// memoEntry is what is known of a topology: its makespan, or (never) that it is at least cutoff.
type memoEntry struct{ makespan, cutoff engine.Time }

// evaluate fills in the makespans of a population, simulating in parallel what has not been simulated before
// (ParallelEvalDES, Alg. 3, Line 2). What reaches cutoff counts as never. Neither the order nor the number of workers
// changes what comes out: all that is to be simulated is known before the first simulation.
func (s *fastSearch) evaluate(population []individual, cutoff engine.Time) {
	var unknown []individual
	pending := map[string]int{}
	keys := make([]string, len(population))
	for i := range population {
		population[i].makespan = never
		if i&(1<<8-1) == 0 && s.interrupted() { // nothing is simulated any more
			return
		}
		keys[i] = topologyKey(population[i].circuits)
		if o, ok := s.memo[keys[i]]; ok && (o.makespan != never || o.cutoff >= cutoff) {
			continue
		}
		if _, ok := pending[keys[i]]; !ok {
			pending[keys[i]] = len(unknown)
			unknown = append(unknown, population[i])
		}
	}
	s.simulate(unknown, cutoff)
	for i := range unknown {
		if unknown[i].makespan != never {
			s.simulated = append(s.simulated, unknown[i])
		}
	}
	for i := range population {
		if k, ok := pending[keys[i]]; ok {
			s.memo[keys[i]] = memoEntry{unknown[k].makespan, cutoff}
		}
		if c := s.memo[keys[i]].makespan; c < cutoff {
			population[i].makespan = c
		}
	}
}

// simulate simulates every topology of a list. Those that differ only in bundles that nothing waits for are simulated
// from a common beginning, where the service does not look ahead.
func (s *fastSearch) simulate(list []individual, cutoff engine.Time) {
	s.charge(s.p, int64(len(list)))
	groups := s.groups(list)
	var claimed atomic.Int64
	work := func(w *circuitEvaluator) {
		for g := claimed.Add(1) - 1; g < int64(len(groups)); g = claimed.Add(1) - 1 {
			s.simulateGroup(w, groups[g], cutoff)
		}
	}
	var all sync.WaitGroup
	for _, w := range s.evaluators[1:max(1, min(len(s.evaluators), len(groups)))] {
		all.Go(func() { work(w) })
	}
	work(s.evaluators[0])
	all.Wait()
}

// groups splits a list into groups with the same circuits in the bundles that others wait for.
func (s *fastSearch) groups(list []individual) [][]*individual {
	var groups [][]*individual
	at := map[string]int{}
	x := s.p.ones()
	for i := range list {
		k := strconv.Itoa(i)
		if supportsFork(s.service) {
			for e, in := range s.isInner {
				if in {
					x[e] = list[i].circuits[e]
				}
			}
			k = topologyKey(x)
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

// supportsFork reports whether simulations under a service may go on from a common beginning: it does not look ahead.
func supportsFork(service flow.Service) bool { return service == flow.MaxMin }

// simulateGroup simulates the topologies of a group.
func (s *fastSearch) simulateGroup(w *circuitEvaluator, group []*individual, cutoff engine.Time) {
	end := w.Makespan
	if len(group) > 1 {
		full := s.p.ones()
		for _, t := range group {
			for e := range full {
				full[e] = max(full[e], t.circuits[e])
			}
		}
		w.provision(full)
		w.Fork(s.outerLinks, cutoff)
		end = w.Resume
	}
	for _, t := range group {
		if s.interrupted() {
			continue
		}
		w.provision(t.circuits)
		if c, ok := end(cutoff); ok {
			t.makespan = c
		}
	}
}
