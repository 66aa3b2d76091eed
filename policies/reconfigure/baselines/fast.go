package baselines

import (
	"slices"

	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// Model selects how Fast uses k switches. With one switch all models are equal.
type Model string

const (
	// ModelTogether has up to k permutations at a time, of about the same length. A permutation
	// may use several switches. It is the default, and no other model is better.
	ModelTogether Model = "together"
	// ModelStriped has one permutation at a time on all k switches, which share the chunks of
	// each circuit.
	ModelStriped Model = "striped"
	// ModelOneSwitch has one permutation at a time on one switch; the others are idle.
	ModelOneSwitch Model = "one"
)

// Fast splits the demand into permutations and sends every chunk directly to its destination (Lei
// et al., 2025, as described in the paper, Sec. 5.1). Candidates use one of two splits. The split
// of Birkhoff and von Neumann takes the minimum slots on one switch, but more permutations for
// less equal demands. The cover has the minimum number of permutations, but every flow waits for
// the longest of its permutation. ModelTogether has several groupings of each. Errors:
// plan.ErrProblem, ErrOptions.
func Fast(p *plan.Problem, o Options) (_ []plan.Candidate, err error) {
	defer cancellation.Recover(&err)
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
		make   func(int, []int32, cancellation.Condition) []permutation
	}{{"Birkhoff-von Neumann", decomposeBirkhoff}, {"cover by permutations", coverPermutations}} {
		permutations := split.make(p.GPUs, p.Chunks, o.Stop)
		switch model {
		case ModelOneSwitch:
			const usedSwitches = 1
			list = append(list, directCandidate(p, split.origin, singlePhases(permutations, usedSwitches)))
		case ModelStriped:
			list = append(list, directCandidate(p, split.origin+", striped",
				singlePhases(permutations, p.Degree)))
		default:
			for _, phases := range groupPermutations(permutations, p.Degree, o.Stop) {
				list = append(list, directCandidate(p, split.origin+", together", phases))
			}
		}
	}

	return plan.Frontier(list), nil
}

// singlePhases returns a phase on k switches for each permutation.
func singlePhases(list []permutation, k int) []directPhase {
	phases := make([]directPhase, len(list))
	for i := range list {
		phases[i] = newDirectPhase(list[i:i+1], k)
	}
	return phases
}

// groupPermutations returns the groupings of permutations into phases of at most k that are best
// for some reconfiguration delay. Permutations are sorted by falling length, and neighbours form
// a phase. This is optimal for two switches: exchanging permutations of two phases until they are
// neighbours does not increase the sum of slots. For more switches, it may be slightly worse if a
// permutation has several links.
func groupPermutations(list []permutation, k int, stop cancellation.Condition) [][]directPhase {
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

	// cost[i*k+g-1] is the slots of the phase of g permutations from i on.
	cost := make([]int32, n*k)
	for i := range n {
		for g := 1; g <= min(k, n-i); g++ {
			_, cost[i*k+g-1] = shareLinks(loads[i:i+g], k)
		}
	}

	// Only corners of the convex hull of (phases, slots) can be optimal. A search with a price
	// per phase finds one. The price at which two of them cost the same finds a corner between
	// them, if one exists.
	type corner struct {
		sizes []int32
		slots int64
	}

	cheapest := func(phases, slots int64) corner { // minimises phases * number of phases + slots * total slots
		stop.Check()
		minCost := make([]int64, n+1)
		size := make([]int32, n)
		for i := n - 1; i >= 0; i-- {
			for g := 1; g <= min(k, n-i); g++ {
				c := phases + slots*int64(cost[i*k+g-1]) + minCost[i+g]
				if g == 1 || c <= minCost[i] {
					minCost[i], size[i] = c, int32(g)
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
		more := int64(len(maxPhases.sizes) - len(minPhases.sizes))
		fewer := minPhases.slots - maxPhases.slots
		if more <= 1 || fewer <= 1 {
			return
		}

		// At a price of fewer / more slots per phase, both cost the same.
		c := cheapest(fewer, more)
		if fewer*int64(len(c.sizes))+more*c.slots >= fewer*int64(len(minPhases.sizes))+more*minPhases.slots {
			return
		}
		between(minPhases, c)
		corners = append(corners, c)
		between(c, maxPhases)
	}

	// The extremes: a phase costs as much as all slots, or almost nothing.
	total := int64(1)
	for _, l := range loads {
		total += int64(l)
	}
	minPhases := cheapest(total, 1)
	maxPhases := cheapest(1, int64(n)+1)
	corners = append(corners, minPhases)
	between(minPhases, maxPhases)
	corners = append(corners, maxPhases)

	// Form the phases of each corner.
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
