package trace

import (
	"container/heap"
	"slices"

	"sim/internal/csr"
)

// indexHeap is a min-heap of operation indices.
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

// topologicalOrder returns the operations of a rank in an order in which each follows its
// predecessors; otherwise their order is kept. position maps old to new indices. It fails
// on a cycle (Kahn's algorithm with a heap).
func topologicalOrder(ops []Op) (out []Op, position []int32, err error) {
	position = make([]int32, len(ops))
	inOrder := true

	// Keep the order if it is already topological.
	for i := range ops {
		position[i] = int32(i)
		for _, a := range ops[i].After {
			inOrder = inOrder && a < int32(i)
		}
	}

	if inOrder {
		return ops, position, nil
	}

	// Count the unsatisfied predecessors of each operation.
	waiting := make([]int, len(ops))
	successors := make([][]int32, len(ops))
	var ready indexHeap
	for i := range ops {
		if waiting[i] = len(ops[i].After); waiting[i] == 0 {
			ready = append(ready, int32(i))
		}
		for _, a := range ops[i].After {
			successors[a] = append(successors[a], int32(i))
		}
	}

	for i := range position {
		position[i] = -1
	}
	out = make([]Op, 0, len(ops))

	// Repeatedly take the first ready operation.
	for len(ready) > 0 { // ready starts sorted, which is a valid heap
		i := heap.Pop(&ready).(int32)
		position[i] = int32(len(out))
		out = append(out, ops[i])
		for _, n := range successors[i] {
			if waiting[n]--; waiting[n] == 0 {
				heap.Push(&ready, n)
			}
		}
	}

	if len(out) < len(ops) {
		i := slices.Index(position, -1)
		return nil, nil, invalid("dependencies without a cycle",
			"operation %d (%.40q) waits for itself, through others", i, ops[i].Name)
	}

	for i := range out {
		for k, a := range out[i].After {
			out[i].After[k] = position[a]
		}
	}
	return out, position, nil
}

// maxContradictionWork bounds the work of dropContradictions in its first phase, in
// visited operations and dependencies. Beyond it, dependencies are dropped in file order.
const maxContradictionWork = 50_000_000

// dropContradictions removes control dependencies so that control and data dependencies
// together have no cycle, and returns how many it removed. control[i] lists the
// operations that operation i waits for. Data dependencies (Op.After) must have no cycle.
//
// A control dependency of i on c contradicts the data if c depends on the data of i,
// directly or through others. These are removed first. In the remaining cycles, the
// operations are executed in dependency order. When none is ready, the first one in the
// file whose data dependencies are satisfied drops its unsatisfied control dependencies.
func dropContradictions(ops []Op, control [][]int32) (dropped int) {
	component := cyclicComponents(ops, control)
	if component == nil {
		return 0
	}

	// drop removes the control dependencies of operation i for which contradicts is true.
	drop := func(i int32, contradicts func(c int32) bool) {
		before := len(control[i])
		control[i] = slices.DeleteFunc(control[i], contradicts)
		dropped += before - len(control[i])
	}

	// Control dependencies that contradict data, by operation.
	contradicting := make([][]int32, len(ops))

	// Operations of the same cycle that wait for this one by control.
	waiting := make([][]int32, len(ops))

	for i := range ops {
		for _, c := range control[i] {
			if component[c] == component[i] {
				waiting[c] = append(waiting[c], int32(i))
			}
		}
	}

	// Search the data dependencies of each such operation for the operations that wait
	// for it.
	mark, work := make([]int32, len(ops)), 0
	for c := range int32(len(ops)) {
		if len(waiting[c]) == 0 {
			continue
		}
		stack := []int32{c} // depth-first over the data dependencies of c
		for len(stack) > 0 && work < maxContradictionWork {
			op := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			work += 1 + len(ops[op].After)
			for _, a := range ops[op].After {
				if component[a] == component[c] && mark[a] != c+1 {
					mark[a] = c + 1
					stack = append(stack, a)
				}
			}
		}

		for _, n := range waiting[c] {
			if mark[n] == c+1 {
				contradicting[n] = append(contradicting[n], c)
			}
		}
	}

	for i, list := range contradicting { // list is sorted
		if len(list) > 0 {
			drop(int32(i), func(c int32) bool { _, found := slices.BinarySearch(list, c); return found })
		}
	}
	if component = cyclicComponents(ops, control); component == nil {
		return dropped
	}

	// Execute the remaining operations, and drop dependencies when none is ready.
	unfinished := make([]int, len(ops)) // unsatisfied dependencies
	fixed := make([]int, len(ops))      // unsatisfied dependencies that may not be dropped
	successors := make([][]int32, len(ops))
	for i := range ops {
		unfinished[i] = len(ops[i].After) + len(control[i])
		for _, a := range ops[i].After {
			fixed[i]++
			successors[a] = append(successors[a], ^int32(i))
		}
		for _, c := range control[i] {
			if component[c] == component[i] {
				successors[c] = append(successors[c], int32(i))
			} else {
				fixed[i]++

				// Not in a cycle: treated like data, and not dropped.
				successors[c] = append(successors[c], ^int32(i))
			}
		}
	}

	var ready, stuck indexHeap // stuck may also contain finished operations

	// advance queues an operation that is ready, or whose remaining dependencies may all
	// be dropped.
	advance := func(i int32) {
		if unfinished[i] == 0 {
			heap.Push(&ready, i)
		} else if fixed[i] == 0 && unfinished[i] > 0 {
			heap.Push(&stuck, i)
		}
	}

	for i := range ops {
		advance(int32(i))
	}
	done := make([]bool, len(ops))
	for {
		// Execute all ready operations.
		for len(ready) > 0 {
			i := heap.Pop(&ready).(int32)
			done[i] = true
			for _, n := range successors[i] {
				if n < 0 {
					n = ^n
					fixed[n]--
				}
				unfinished[n]--
				advance(n)
			}
		}

		// Nothing is ready: the first stuck operation drops its unsatisfied dependencies.
		for len(stuck) > 0 && len(ready) == 0 {
			if i := heap.Pop(&stuck).(int32); unfinished[i] > 0 {
				drop(i, func(c int32) bool { return !done[c] })
				unfinished[i] = 0
				heap.Push(&ready, i)
			}
		}

		if len(ready) == 0 {
			return dropped
		}
	}
}

// cyclicComponents returns the strongly connected component of each operation under data
// and control dependencies, or nil if there is no cycle. A cycle lies within one
// component.
func cyclicComponents(ops []Op, control [][]int32) []int32 {
	start := make([]int32, 1, len(ops)+1)
	to := []int32(nil)
	for i := range ops {
		to = append(append(to, ops[i].After...), control[i]...)
		start = append(start, int32(len(to)))
	}
	component, n := csr.Components(start, to, func(int32) bool { return true })
	if n == len(ops) {
		return nil
	}
	return component
}

// note increments the count of the note with the given text and adds bytes to it.
func (j *Job) note(what string, bytes int64) {
	i := slices.IndexFunc(j.Notes, func(n Note) bool { return n.Text == what })
	if i < 0 {
		i = len(j.Notes)
		j.Notes = append(j.Notes, Note{Text: what})
	}
	j.Notes[i].Count++
	j.Notes[i].Bytes += bytes
}
