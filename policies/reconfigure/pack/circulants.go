package pack

import (
	"fmt"
	"math"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// circulantSequences returns sequences of circulants for uniform demand, of 1 to maxCount
// topologies. Each sequence extends the one before it by one topology. Its offsets are
// selected greedily: the one that saves most hops, and the smallest of several equal ones.
// The first offset is 1, so that each GPU reaches all others.
func circulantSequences(n, k, maxCount int, relay bool, stop cancellation.Condition) []Sequence {
	// Hops, indexed by distance.
	finished := make([]int32, n) // minimum over the finished phases
	current := make([]int32, n)  // within the current phase; with relay, through all phases
	trial := make([]int32, n)    // current with one more offset
	best := make([]int32, n)     // the trial with the lowest sum
	reset := func() {
		for i := range current {
			current[i] = int32(n)
		}
		current[0] = 0
	}

	reset()
	copy(finished, current)
	var list []Sequence
	var topologies []scaleup.Topology
	for range maxCount {
		offsets := make([]int, 0, k)
		for range k {
			// Pick the next offset. The very first one is 1: the loop ends after s = 1.
			lowest := int64(math.MaxInt64)
			pick := 0
			for s := 1; s < n && (pick == 0 || len(topologies)+len(offsets) > 0); s++ {
				stop.Check()
				copy(trial, current)
				plan.Relax(trial, s)
				sum := int64(0)
				for i, x := range trial {
					sum += int64(min(x, finished[i]))
				}
				if sum < lowest {
					lowest, pick = sum, s
					copy(best, trial)
				}
			}

			offsets = append(offsets, pick)
			copy(current, best)
		}

		if !relay {
			for i, x := range current {
				finished[i] = min(finished[i], x)
			}
			reset()
		}

		topologies = append(topologies, scaleup.Circulant(n, offsets...))
		list = append(list, Sequence{Origin: fmt.Sprintf("%d circulants", len(topologies)),
			Topologies: topologies[:len(topologies):len(topologies)]})
	}

	return list
}
