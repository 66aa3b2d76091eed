package topology

import (
	"slices"

	"sim/engine"
)

// relation says which transfers of a link exclude each other: the restriction to them of the DAG's transitive closure
// (Alg. 2, Line 3), of which only pairs with windows that overlap are kept. Transfers are indexed by EST, so that of
// two related ones the first precedes the other.
type relation struct {
	row [][]uint64 // bit j-i-1 of row i: j waits for i
}

// precedes reports whether j waits for i, where i < j.
func (r *relation) precedes(i, j int32) bool {
	k := j - i - 1
	row := r.row[i]
	return int(k>>6) < len(row) && row[k>>6]>>(k&63)&1 != 0
}

// overlaps returns, by transfer of a link, how many of those after it start before it must have ended, and how many
// words rows for so many take.
func (c *concurrency) overlaps(tasks []int32) (rows []int, words int) {
	rows = make([]int, len(tasks))
	for i := range tasks {
		rows[i], _ = slices.BinarySearchFunc(tasks[i+1:], c.end[tasks[i]], func(id int32, t engine.Time) int {
			if c.start[id] < t {
				return -1
			}
			return 1
		})
		words += (rows[i] + 63) / 64
	}
	return rows, words
}

// relate computes the relation of the transfers of a link, by EST, each with as many after it as rows says.
//
// Where the paper squares a matrix, this pushes 64 transfers at a time through the DAG as the bits of a word, and only
// through the tasks whose EST lies between the first of them and the last that can overlap one of them. With windows
// that are short against the iteration that is linear in the graph.
func (c *concurrency) relate(tasks []int32, rows []int) *relation {
	n := len(tasks)
	r := &relation{row: make([][]uint64, n)}
	for i := range tasks {
		r.row[i] = make([]uint64, (rows[i]+63)/64)
	}
	for first := 0; first < n && c.ctx.Err() == nil; first += 64 {
		c.relateWord(tasks, first, r)
	}
	return r
}

// relateWord finds what the transfers first to first+63 precede.
func (c *concurrency) relateWord(tasks []int32, first int, r *relation) {
	stop := min(first+64, len(tasks))
	last := first
	for i := first; i < stop; i++ {
		last = max(last, min(i+64*len(r.row[i]), len(tasks)-1))
	}
	from, to := c.place[tasks[first]], c.place[tasks[last]]
	next := first // of tasks, by place
	for k := from; k <= to; k++ {
		v := c.order[k]
		m := uint64(0)
		for _, e := range c.p.Graph.In(v) {
			if c.place[e.From] >= from {
				m |= c.mask[e.From]
			}
		}
		if next <= last && tasks[next] == v {
			for i := first; i < min(stop, next); i++ {
				bit := next - i - 1
				if m>>(i-first)&1 != 0 && bit>>6 < len(r.row[i]) {
					r.row[i][bit>>6] |= 1 << (bit & 63)
				}
			}
			if next < stop {
				m |= 1 << (next - first)
			}
			next++
		}
		c.mask[v] = m
	}
}
