package pack

import (
	"fmt"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// shifts returns sequences of circulants for uniform demand, of 1 to most topologies, each the one before it and one
// topology more: offset by offset, the one that saves most hops, of equals the smallest. The first is 1, so that every
// GPU reaches all others.
func shifts(n, k, most int, relay bool, stop halt.When) []Sequence {
	// By distance: hops within the finished phases (the best of them), and within the present one; with relay, through
	// all of them, which commute.
	done, open, try, best := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	reset := func() {
		for i := range open {
			open[i] = int32(n)
		}
		open[0] = 0
	}
	reset()
	copy(done, open)
	var list []Sequence
	var topologies []scaleup.Topology
	for range most {
		offsets := make([]int, 0, k)
		for range k {
			least := int64(1) << 62
			pick := 0
			for s := 1; s < n && (pick == 0 || len(topologies)+len(offsets) > 0); s++ {
				stop.Check()
				copy(try, open)
				plan.Relax(try, s)
				sum := int64(0)
				for i, x := range try {
					sum += int64(min(x, done[i]))
				}
				if sum < least {
					least, pick = sum, s
					copy(best, try)
				}
			}
			offsets = append(offsets, pick)
			copy(open, best)
		}
		if !relay {
			for i, x := range open {
				done[i] = min(done[i], x)
			}
			reset()
		}
		topologies = append(topologies, scaleup.Circulant(n, offsets...))
		list = append(list, Sequence{Origin: fmt.Sprintf("%d circulants", len(topologies)), Topologies: topologies[:len(topologies):len(topologies)]})
	}
	return list
}
