package routing

import (
	"cmp"
	"context"
	"math"
	"slices"

	"sim/engine"
)

// drawMinHopPath draws one of a pair's paths with the minimum number of hops.
func (x *makespanSearch) drawMinHopPath(pair int32) int32 {
	c := x.assignment.candidates

	// Reservoir sampling among the paths with the minimum number of hops so far: the n-th one replaces the
	// selected one with probability 1/n.
	path, hops, n := c.first[pair], math.MaxInt, 0
	for k := c.first[pair]; k >= 0; k = c.next[k] {
		switch h := len(c.pathOrbits(k)); {
		case h < hops:
			path, hops, n = k, h, 1
		case h == hops:
			if n++; x.assignment.rng.IntN(n) == 0 {
				path = k
			}
		}
	}

	return path
}

// perturb moves one pair of the critical path, or one that shares a link with it, to a random
// other path. It returns false if no pair has one.
func (x *makespanSearch) perturb() bool {
	all := x.criticalPairs()
	x.assignment.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, i := range all {
		if others := x.alternatives(i, math.MaxInt); len(others) > 0 {
			old := x.assignment.path[i]
			if x.setPath(i, others[x.assignment.rng.IntN(len(others))]); x.r.isSafe(x.choice) {
				return true
			}
			x.setPath(i, old)
		}
	}
	return false
}

// maxAlternatives is the number of other paths of a pair that improve tries.
const maxAlternatives = 6

// improve makes the first move that helps, and returns false if no move helps.
func (x *makespanSearch) improve(ctx context.Context) (bool, error) {
	s := x.assignment
	for _, i := range x.criticalPairs() {
		for _, k := range x.alternatives(i, maxAlternatives) {
			if err := ctx.Err(); err != nil || s.budget <= 0 {
				return false, err
			}

			// Try the path, and undo the move unless the simulated end improves and the choice
			// stays free of deadlock.
			old := s.path[i]
			x.setPath(i, k)
			result, trace, err := x.simulate(ctx)
			if err != nil {
				return false, err
			}
			if result.isBetter(x.current) && x.r.isSafe(x.choice) {
				x.current, x.trace = result, trace
				return true, nil
			}
			x.setPath(i, old)
		}
	}

	return false, nil
}

// setPath moves a pair to another path.
func (x *makespanSearch) setPath(pair, path int32) {
	s := x.assignment

	// The loads of the search change with the path.
	s.addLoad(pair, s.path[pair], -1)
	s.path[pair] = path
	s.addLoad(pair, path, 1)
}

// criticalPairs returns the pairs whose transfers on the critical path are slowed down by others,
// by falling delay. Each is followed by the pairs that share links with it.
func (x *makespanSearch) criticalPairs() []int32 {
	s, g, n := x.assignment, x.r.problem.Graph, x.r.problem.Network

	// Pairs of delayed transfers on the critical path.
	delay := make([]float64, len(s.path))
	var slow []int32

	// Delay: the duration of a transfer minus its duration alone on its path.
	for _, id := range x.trace.CriticalPath(g) {
		k := x.pair[id]
		if k < 0 {
			continue
		}
		rate := math.Inf(1)
		for _, o := range s.candidates.pathOrbits(s.path[k]) {
			rate = min(rate, n.Links[x.link[o]].Rate)
		}
		excess := float64(x.trace.End[id]-x.trace.Start[id]) - float64(g.Tasks[id].Bytes)*8/rate*float64(engine.Second)
		if excess > 1 {
			if delay[k] == 0 {
				slow = append(slow, k)
			}
			delay[k] += excess
		}
	}

	slices.SortStableFunc(slow, func(a, b int32) int { return cmp.Compare(delay[b], delay[a]) })

	// Append the pairs that share links with them.
	pairsOn := make([][]int32, len(s.load)) // pairs over an orbit
	for i, k := range s.path {
		for _, o := range s.candidates.pathOrbits(k) {
			pairsOn[o] = append(pairsOn[o], int32(i))
		}
	}

	// List each pair once: a slow pair, then the pairs on its links.
	var all []int32
	listed := make([]bool, len(s.path))
	list := func(k int32) {
		if !listed[k] {
			listed[k] = true
			all = append(all, k)
		}
	}

	for _, k := range slow {
		list(k)
		for _, o := range s.candidates.pathOrbits(s.path[k]) {
			for _, i := range pairsOn[o] {
				list(i)
			}
		}
	}

	return all
}

// alternatives returns at most limit other paths of a pair that respect the neighbours' cap, by
// rising load of their links.
func (x *makespanSearch) alternatives(pair int32, limit int) []int32 {
	s := x.assignment
	old := s.path[pair]
	s.addLoad(pair, old, -1)

	// The other paths, with the sum of the loads of their links.
	type other struct {
		path int32
		cost float64
	}
	var all []other
	for k := s.candidates.first[pair]; k >= 0; k = s.candidates.next[k] {
		if k == old {
			continue
		}
		o := other{path: k}
		exceedsCap := false
		for _, l := range s.candidates.pathOrbits(k) {
			o.cost += s.in.demand[pair] + s.load[l]
			exceedsCap = exceedsCap || s.in.isNeighbour[pair] && s.neighbourCap > 0 && s.neighbourLoad[l] >= float64(s.neighbourCap)
		}
		if !exceedsCap {
			all = append(all, o)
		}
	}

	s.addLoad(pair, old, 1)
	slices.SortStableFunc(all, func(a, b other) int { return cmp.Compare(a.cost, b.cost) })
	var out []int32
	for _, o := range all[:min(limit, len(all))] {
		out = append(out, o.path)
	}
	return out
}
