package baselines

import (
	"slices"

	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// Model says how Fast uses k switches. With one switch they are the same.
type Model string

const (
	// ModelTogether holds up to k permutations at once, of about the same length; a permutation may have several switches.
	// It is the default, and no other model does better.
	ModelTogether Model = "together"
	// ModelStriped holds one permutation at a time on all k switches, each circuit's chunks dealt out over them.
	ModelStriped Model = "striped"
	// ModelOneSwitch holds one permutation at a time on one switch; the others do nothing.
	ModelOneSwitch Model = "one"
)

// Fast splits the demand into permutations, and every chunk goes straight to its destination (Lei et al., 2025, in the
// reading of the paper, Sec. 5.1). Candidates have one of two splits: that of Birkhoff and von Neumann, which takes the
// fewest slots on one switch and the more permutations the more unequal the demand, and a cover by the fewest
// permutations, in which every flow waits for the longest. Together has several groupings of each. Errors:
// plan.ErrProblem, ErrOptions.
func Fast(p *plan.Problem, o Options) (_ []plan.Candidate, err error) {
	defer halt.Caught(&err)
	if err := p.Check(); err != nil {
		return nil, err
	}
	model, err := optionValue("model", o.Model, ModelTogether, ModelStriped, ModelOneSwitch)
	if err != nil {
		return nil, err
	}
	var list []plan.Candidate
	for _, split := range []struct {
		origin string
		make   func(int, []int32, halt.When) []permutation
	}{{"Birkhoff-von Neumann", decomposeBirkhoff}, {"cover by permutations", coverPermutations}} {
		permutations := split.make(p.GPUs, p.Chunks, o.Stop)
		switch model {
		case ModelOneSwitch:
			list = append(list, directCandidate(p, split.origin, singlePhases(permutations, 1)))
		case ModelStriped:
			list = append(list, directCandidate(p, split.origin+", striped", singlePhases(permutations, p.Degree)))
		default:
			for _, phases := range groupPermutations(permutations, p.Degree, o.Stop) {
				list = append(list, directCandidate(p, split.origin+", together", phases))
			}
		}
	}
	return plan.Frontier(list), nil
}

// singlePhases gives each permutation a phase on k switches.
func singlePhases(list []permutation, k int) []directPhase {
	phases := make([]directPhase, len(list))
	for i := range list {
		phases[i] = newDirectPhase(list[i:i+1], k)
	}
	return phases
}

// groupPermutations returns the groupings of permutations into phases of at most k that are best for some reconfiguration delay.
// In the order of falling length neighbours go together, which loses nothing on two switches: to exchange permutations
// between two phases until they are neighbours makes neither sum of slots larger. On more it may lose a little where
// one has several links.
func groupPermutations(list []permutation, k int, stop halt.When) [][]directPhase {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b permutation) int { return int(b.slots - a.slots) })
	n := len(list)
	loads := make([]int32, n)
	for i := range list {
		loads[i] = list[i].slots
	}
	if k == 1 || n == 0 {
		return [][]directPhase{singlePhases(list, 1)}
	}
	// cost[i*k+g-1] is that of the phase of g permutations from i on.
	cost := make([]int32, n*k)
	for i := range n {
		for g := 1; g <= min(k, n-i); g++ {
			_, cost[i*k+g-1] = shareLinks(loads[i:i+g], k)
		}
	}
	// Only corners of the convex hull of (phases, slots) are ever best. Each search with a price of a phase finds one;
	// between two of them the price at which they cost the same finds the next, if there is one.
	type corner struct {
		sizes []int32
		slots int64
	}
	cheapest := func(phases, slots int64) corner { // least phases x F + slots x G for a price of F / G
		stop.Check()
		least := make([]int64, n+1)
		size := make([]int32, n)
		for i := n - 1; i >= 0; i-- {
			for g := 1; g <= min(k, n-i); g++ {
				c := phases + slots*int64(cost[i*k+g-1]) + least[i+g]
				if g == 1 || c <= least[i] {
					least[i], size[i] = c, int32(g)
				}
			}
		}
		var c corner
		for i := 0; i < n; i += int(size[i]) {
			c.sizes = append(c.sizes, size[i])
			c.slots += int64(cost[i*k+int(size[i])-1])
		}
		return c
	}
	var corners []corner
	var between func(minPhases, maxPhases corner)
	between = func(minPhases, maxPhases corner) {
		more, fewer := int64(len(maxPhases.sizes)-len(minPhases.sizes)), minPhases.slots-maxPhases.slots
		if more <= 1 || fewer <= 1 {
			return
		}
		// At fewer / more slots a phase both cost the same.
		c := cheapest(fewer, more)
		if fewer*int64(len(c.sizes))+more*c.slots >= fewer*int64(len(minPhases.sizes))+more*minPhases.slots {
			return
		}
		between(minPhases, c)
		corners = append(corners, c)
		between(c, maxPhases)
	}
	// A phase at the price of all slots, and nearly free.
	total := int64(1)
	for _, l := range loads {
		total += int64(l)
	}
	minPhases, maxPhases := cheapest(total, 1), cheapest(1, int64(n)+1)
	corners = append(corners, minPhases)
	between(minPhases, maxPhases)
	corners = append(corners, maxPhases)
	var all [][]directPhase
	for _, c := range corners {
		var phases []directPhase
		i := 0
		for _, g := range c.sizes {
			phases = append(phases, newDirectPhase(list[i:i+int(g)], k))
			i += int(g)
		}
		all = append(all, phases)
	}
	return all
}
