package baselines

import (
	"math"
	"slices"

	"sim/policies/graph"
	"sim/policies/reconfigure/cancellation"
)

// permutation is a set of circuits, one out of and into each GPU, with the chunks on them.
type permutation struct {
	to     []int32 // indexed by GPU u: the GPU that u sends to; u itself if it is idle
	chunks []int32 // indexed by GPU u: chunks from u to to[u]
	slots  int32   // maximum number of chunks on a circuit, which is its duration on one switch
}

// decomposeBirkhoff splits the demand into permutations whose total slots equal the maximum sum
// of a row or column. This is the minimum for one switch (Birkhoff and von Neumann; paper Sec.
// 5.1 on FAST).
//
// The matrix is first padded to equal sums with chunks that are never sent. Each permutation is a
// perfect matching whose smallest cell is as large as possible, and has as many chunks as this
// cell. This greedy choice yields few permutations.
func decomposeBirkhoff(n int, demand []int32, stop cancellation.Condition) []permutation {
	padding, sum := padSums(n, demand)
	remaining := make([]int64, n*n)
	for i, c := range demand {
		remaining[i] = int64(c) + padding[i]
	}

	// A padded cell sends its real chunks first.
	realChunks := slices.Clone(demand)

	// m matches senders u to receivers m.To[u] over the admitted cells, whose remaining chunks are at
	// least level. Grow reports whether it is perfect. If not, cells with fewer chunks are admitted.
	m := graph.NewMatching(n)
	level := int64(math.MaxInt64)
	var list []permutation
	for sum > 0 {
		stop.Check()
		for !m.Grow(stop.Check) {
			level = admitNextLevel(m, remaining, level)
		}
		weight := sum
		for u, v := range m.To {
			weight = min(weight, remaining[u*n+int(v)])
		}

		p := permutation{to: make([]int32, n), chunks: make([]int32, n)}
		for u := range n {
			v := int(m.To[u])
			cell := u*n + v
			p.set(u, v, int32(min(weight, int64(realChunks[cell]))))
			realChunks[cell] -= p.chunks[u]
			if remaining[cell] -= weight; remaining[cell] < level {
				m.RemoveCell(u, v)
			}
		}

		sum -= weight
		if p.slots > 0 {
			list = append(list, p)
		}
	}

	return list
}

// admitNextLevel adds the cells with the highest content below level to the matching's graph, and
// returns this content. If the remaining matrix has equal sums and the cells from level on have
// no perfect matching, such cells exist (König).
func admitNextLevel(m *graph.Matching, remaining []int64, level int64) int64 {
	n, next := len(m.To), int64(-1)
	for _, x := range remaining {
		if x < level {
			next = max(next, x)
		}
	}
	for i, x := range remaining {
		if x == next {
			m.AddCell(i/n, i%n)
		}
	}
	return next
}

// set sets the circuit of GPU u to v with the given chunks.
func (p *permutation) set(u, v int, chunks int32) {
	p.to[u], p.chunks[u] = int32(v), chunks
	if u == v {
		p.chunks[u] = 0
	}
	p.slots = max(p.slots, p.chunks[u])
}

// padSums returns the padding that increases all sums of rows and columns to the largest one, and
// this sum. Padding goes to the diagonal first, which stands for an idle GPU.
func padSums(n int, demand []int32) (padding []int64, sum int64) {
	rows := make([]int64, n)
	columns := make([]int64, n)
	for i, c := range demand {
		rows[i/n] += int64(c)
		columns[i%n] += int64(c)
	}
	sum = max(slices.Max(rows), slices.Max(columns))
	padding = make([]int64, n*n)
	fill := func(u, v int) {
		x := min(sum-rows[u], sum-columns[v])
		padding[u*n+v] += x
		rows[u] += x
		columns[v] += x
	}

	for u := range n {
		fill(u, u)
	}
	for u, v := 0, 0; u < n && v < n; {
		fill(u, v)
		if rows[u] == sum {
			u++
		} else {
			v++
		}
	}

	return padding, sum
}
