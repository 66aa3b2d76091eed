package baselines

import (
	"math"

	"sim/policies/graph"
	"sim/policies/reconfigure/halt"
)

// coverPermutations splits the demand into as few permutations as there can be, each flow in one: as many as the most GPUs that one
// sends to or receives from (n-1 for a dense demand; König). Each is a perfect matching of as many of the largest flows
// left as can be, then of the next largest; exchanges make them more alike within.
func coverPermutations(n int, demand []int32, stop halt.When) []permutation {
	hasFlow := make([]int32, n*n)
	for i, c := range demand {
		if c > 0 {
			hasFlow[i] = 1
		}
	}
	// Cells without a flow are padded with turns in which nothing is sent, some with several.
	idle, count := padSums(n, hasFlow)
	remaining := make([]int64, n*n)
	for i, c := range demand {
		remaining[i] = int64(c)
		if c == 0 && idle[i] == 0 {
			remaining[i] = -1
		}
	}
	var list []permutation
	for range count {
		m, level := graph.NewMatching(n), int64(math.MaxInt64)
		for !m.Grow(stop.Check) {
			level = admitNextLevel(m, remaining, level)
		}
		p := permutation{to: make([]int32, n), chunks: make([]int32, n)}
		for u, v := range m.To {
			cell := u*n + int(v)
			p.set(u, int(v), int32(remaining[cell]))
			if remaining[cell] == 0 {
				idle[cell]--
			}
			if remaining[cell] = 0; idle[cell] == 0 {
				remaining[cell] = -1
			}
		}
		if p.slots > 0 {
			list = append(list, p)
		}
	}
	for balancePermutations(n, list, stop) {
	}
	return list
}

// balancePermutations goes once through all pairs of permutations and says whether any changed. Two of them are a union of cycles
// that go along a circuit of one and back along a circuit of the other; each cycle's circuits may change sides. With
// the side that has the longest flow of a cycle always on the permutation that is longer, neither gets longer.
func balancePermutations(n int, list []permutation, stop halt.When) (changed bool) {
	sender := make([]int32, n) // to each GPU in q
	visited := make([]bool, n)
	var swaps []int32
	for i := range list {
		stop.Check()
		for j := i + 1; j < len(list); j++ {
			p, q := &list[i], &list[j]
			if p.slots < q.slots {
				p, q = q, p
			}
			for u, v := range q.to {
				sender[v] = int32(u)
			}
			clear(visited)
			swaps = swaps[:0]
			rest := int32(0)
			for s := range int32(n) {
				var a, b int32 // the longest flows of the cycle of s
				for u := s; !visited[u]; u = sender[p.to[u]] {
					visited[u] = true
					a, b = max(a, p.chunks[u]), max(b, q.chunks[u])
				}
				if b > a {
					swaps = append(swaps, s)
				}
				rest = max(rest, min(a, b))
			}
			if rest >= q.slots {
				continue
			}
			for _, s := range swaps {
				for u, unfinished := s, true; unfinished; unfinished = u != s {
					next := sender[p.to[u]]
					p.to[u], q.to[u] = q.to[u], p.to[u]
					p.chunks[u], q.chunks[u] = q.chunks[u], p.chunks[u]
					u = next
				}
			}
			q.slots, changed = rest, true
		}
	}
	return changed
}
