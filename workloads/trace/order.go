package trace

import (
	"container/heap"
	"slices"

	"sim/internal/csr"
)

// indexHeap is a heap of operations by index.
type indexHeap []int32

func (h indexHeap) Len() int           { return len(h) }
func (h indexHeap) Less(i, k int) bool { return h[i] < h[k] }
func (h indexHeap) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *indexHeap) Push(x any)        { *h = append(*h, x.(int32)) }
func (h *indexHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// topologicalOrder puts operations of a rank into an order in which each comes after what it waits for, else as they are, and returns
// by operation its new index. It fails on a cycle.
func topologicalOrder(ops []Op) (out []Op, at []int32, err error) {
	at = make([]int32, len(ops))
	inOrder := true
	for i := range ops {
		at[i] = int32(i)
		for _, a := range ops[i].After {
			inOrder = inOrder && a < int32(i)
		}
	}
	if inOrder {
		return ops, at, nil
	}
	need, next := make([]int, len(ops)), make([][]int32, len(ops))
	var ready indexHeap
	for i := range ops {
		if need[i] = len(ops[i].After); need[i] == 0 {
			ready = append(ready, int32(i))
		}
		for _, a := range ops[i].After {
			next[a] = append(next[a], int32(i))
		}
	}
	for i := range at {
		at[i] = -1
	}
	out = make([]Op, 0, len(ops))
	for len(ready) > 0 { // sorted, so a heap
		i := heap.Pop(&ready).(int32)
		at[i] = int32(len(out))
		out = append(out, ops[i])
		for _, n := range next[i] {
			if need[n]--; need[n] == 0 {
				heap.Push(&ready, n)
			}
		}
	}
	if len(out) < len(ops) {
		i := slices.Index(at, -1)
		return nil, nil, invalid("dependencies without a cycle", "operation %d (%.40q) waits for itself, through others", i, ops[i].Name)
	}
	for i := range out {
		for k, a := range out[i].After {
			out[i].After[k] = at[a]
		}
	}
	return out, at, nil
}

// maxContradictionWork bounds the search of dropContradictions for single dependencies that contradict data, in nodes and
// dependencies visited. Beyond it, dependencies are dropped in the order of the file.
const maxContradictionWork = 50_000_000

// dropContradictions removes control dependencies so that these and the data dependencies in After have no cycle, if the
// latter have none, and returns how many. control lists by operation the operations that it waits for. A control
// dependency on an operation that itself depends on data of the waiting one, through others, contradicts the data and goes
// first. Of cycles that remain, the first operation in the file whose data are there drops what it still waits for.
func dropContradictions(ops []Op, control [][]int32) (dropped int) {
	of := cyclicComponents(ops, control)
	if of == nil {
		return 0
	}
	drop := func(i int32, contradicts func(c int32) bool) {
		before := len(control[i])
		control[i] = slices.DeleteFunc(control[i], contradicts)
		dropped += before - len(control[i])
	}
	wrong := make([][]int32, len(ops))   // by operation: control dependencies that contradict data
	waiting := make([][]int32, len(ops)) // by operation of a cycle: those that wait for its control
	for i := range ops {
		for _, c := range control[i] {
			if of[c] == of[i] {
				waiting[c] = append(waiting[c], int32(i))
			}
		}
	}
	mark, work := make([]int32, len(ops)), 0
	for c := range int32(len(ops)) {
		if len(waiting[c]) == 0 {
			continue
		}
		stack := []int32{c} // over the data that c depends on
		for len(stack) > 0 && work < maxContradictionWork {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			work += 1 + len(ops[at].After)
			for _, a := range ops[at].After {
				if of[a] == of[c] && mark[a] != c+1 {
					mark[a] = c + 1
					stack = append(stack, a)
				}
			}
		}
		for _, n := range waiting[c] {
			if mark[n] == c+1 {
				wrong[n] = append(wrong[n], c)
			}
		}
	}
	for i, list := range wrong { // in ascending order
		if len(list) > 0 {
			drop(int32(i), func(c int32) bool { _, found := slices.BinarySearch(list, c); return found })
		}
	}
	if of = cyclicComponents(ops, control); of == nil {
		return dropped
	}
	need := make([]int, len(ops))    // open dependencies
	outside := make([]int, len(ops)) // of these, on data and on operations of other components
	next := make([][]int32, len(ops))
	for i := range ops {
		need[i] = len(ops[i].After) + len(control[i])
		for _, a := range ops[i].After {
			outside[i]++
			next[a] = append(next[a], ^int32(i))
		}
		for _, c := range control[i] {
			if of[c] == of[i] {
				next[c] = append(next[c], int32(i))
			} else {
				outside[i]++
				next[c] = append(next[c], ^int32(i)) // as data, which are not dropped
			}
		}
	}
	var ready, stuck indexHeap // stuck may hold what is done
	advance := func(i int32) {
		if need[i] == 0 {
			heap.Push(&ready, i)
		} else if outside[i] == 0 && need[i] > 0 {
			heap.Push(&stuck, i)
		}
	}
	for i := range ops {
		advance(int32(i))
	}
	done := make([]bool, len(ops))
	for {
		for len(ready) > 0 {
			i := heap.Pop(&ready).(int32)
			done[i] = true
			for _, n := range next[i] {
				if n < 0 {
					n = ^n
					outside[n]--
				}
				need[n]--
				advance(n)
			}
		}
		for len(stuck) > 0 && len(ready) == 0 {
			if i := heap.Pop(&stuck).(int32); need[i] > 0 {
				drop(i, func(c int32) bool { return !done[c] })
				need[i] = 0
				heap.Push(&ready, i)
			}
		}
		if len(ready) == 0 {
			return dropped
		}
	}
}

// cyclicComponents returns by operation the number of its strongly connected component under data and control dependencies, nil if
// there is no cycle.
func cyclicComponents(ops []Op, control [][]int32) []int32 {
	start, to := make([]int32, 1, len(ops)+1), []int32(nil)
	for i := range ops {
		to = append(append(to, ops[i].After...), control[i]...)
		start = append(start, int32(len(to)))
	}
	of, n := csr.Components(start, to, func(int32) bool { return true })
	if n == len(ops) {
		return nil
	}
	return of
}

// note adds one to the note of that text.
func (j *Job) note(what string, bytes int64) {
	i := slices.IndexFunc(j.Notes, func(n Note) bool { return n.Text == what })
	if i < 0 {
		i, j.Notes = len(j.Notes), append(j.Notes, Note{Text: what})
	}
	j.Notes[i].Count++
	j.Notes[i].Bytes += bytes
}
