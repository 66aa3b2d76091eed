package topology

import (
	"strconv"
	"sync"
	"sync/atomic"

	"sim/engine"
	"sim/engine/flow"
)

// memoEntry is the known result for a topology: its makespan, or never if the makespan is
// at least cutoff.
type memoEntry struct{ makespan, cutoff engine.Time }

// evaluate sets the makespans of a population (ParallelEvalDES, Alg. 3, Line 2).
// Topologies that have not been simulated are simulated in parallel. A makespan of at
// least cutoff counts as never. The result depends neither on the order nor on the number
// of workers, because the set of simulations is fixed before the first one starts.
func (s *fastSearch) evaluate(population []individual, cutoff engine.Time) {
	// Collect the topologies whose makespan is unknown, each once.
	var unknown []individual
	pending := map[string]int{}
	keys := make([]string, len(population))
	for i := range population {
		population[i].makespan = never
		const individualsPerCheck = 1 << 8
		if i%individualsPerCheck == 0 && s.interrupted() { // the context is cancelled: simulate no more
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

	// Simulate them, and store the results in the memo and in the population.
	s.simulate(unknown, cutoff)
	for i := range unknown {
		if unknown[i].makespan != never {
			s.simulated = append(s.simulated, unknown[i])
		}
	}

	for i := range population {
		if k, ok := pending[keys[i]]; ok {
			s.memo[keys[i]] = memoEntry{makespan: unknown[k].makespan, cutoff: cutoff}
		}
		if c := s.memo[keys[i]].makespan; c < cutoff {
			population[i].makespan = c
		}
	}
}

// simulate simulates a list of topologies in parallel. Topologies that differ only in
// outer bundles share the simulation of their common prefix if the service permits it.
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

// groups divides a list into groups with equal circuits in the inner bundles. If the
// service does not support forks, every topology is a group.
func (s *fastSearch) groups(list []individual) [][]*individual {
	var groups [][]*individual
	groupOf := map[string]int{}
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
		g, ok := groupOf[k]
		if !ok {
			g = len(groups)
			groupOf[k] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], &list[i])
	}

	return groups
}

// supportsFork reports whether a simulation under the service can be resumed with other
// circuits: its rates must not depend on later transfers.
func supportsFork(service flow.Service) bool { return service == flow.MaxMin }

// simulateGroup simulates the topologies of a group, from a common prefix if there are
// several. The prefix ends at the first transfer on an outer link, so the rates of those
// links do not affect it.
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
