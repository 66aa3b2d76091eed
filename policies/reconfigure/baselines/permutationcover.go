package baselines

import (
	"math"

	"sim/policies/graph"
	"sim/policies/reconfigure/cancellation"
)

// coverPermutations splits the demand into the minimum number of permutations such that each flow
// is in one. This is the maximum number of GPUs that a GPU sends to or receives from: n-1 for a
// dense demand (König). Each is a perfect matching of as many of the largest remaining flows as
// possible, then of the next largest. balancePermutations then makes the flows of a permutation
// more equal.
func coverPermutations(n int, demand []int32, stop cancellation.Condition) []permutation {
	hasFlow := make([]int32, n*n)
	for i, c := range demand {
		if c > 0 {
			hasFlow[i] = 1
		}
	}

	// padSums adds idle circuits until every GPU sends and receives count circuits in total. A cell
	// may hold several idle circuits. remaining is the chunks of a flow that is not covered yet, 0 if
	// the cell has only idle circuits left, and -1 if it has no circuit left.
	idle, count := padSums(n, hasFlow)
	remaining := make([]int64, n*n)
	for i, c := range demand {
		remaining[i] = int64(c)
		if c == 0 && idle[i] == 0 {
			remaining[i] = -1
		}
	}

	// Each round makes one permutation: a perfect matching m of senders u to receivers m.To[u] over
	// the cells whose remaining flow is at least level. level falls until Grow finds the matching.
	var list []permutation
	for range count {
		m := graph.NewMatching(n)
		level := int64(math.MaxInt64)
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

// balancePermutations goes once through all pairs of permutations and reports whether it changed
// any. Two permutations are a union of cycles, which alternate between circuits of one, forwards,
// and of the other, backwards. The two halves of a cycle may be swapped. If the longer
// permutation always has the half with the longest flow, neither becomes longer.
func balancePermutations(n int, list []permutation, stop cancellation.Condition) (changed bool) {
	sender := make([]int32, n) // indexed by GPU: its sender in q
	visited := make([]bool, n)
	var swaps []int32 // a GPU of each cycle whose halves are to be swapped
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

			longest := int32(0)
			for s := range int32(n) {
				var a, b int32 // the longest flows of the cycle of s in p and in q
				for u := s; !visited[u]; u = sender[p.to[u]] {
					visited[u] = true
					a = max(a, p.chunks[u])
					b = max(b, q.chunks[u])
				}
				if b > a {
					swaps = append(swaps, s)
				}
				longest = max(longest, min(a, b))
			}

			if longest >= q.slots {
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

			q.slots, changed = longest, true
		}
	}

	return changed
}
