package trace

import (
	"container/heap"
	"slices"

	"sim/internal/csr"
)

// This file orders the operations of a rank by their dependencies, and removes
// dependencies that make an order impossible.

// indexHeap is a min-heap of operation indices (container/heap).
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
	// Keep the order if it is already topological.
	position = make([]int32, len(ops))
	inOrder := true
	for i := range ops {
		position[i] = int32(i)
		for _, a := range ops[i].After {
			inOrder = inOrder && a < int32(i)
		}
	}

	if inOrder {
		return ops, position, nil
	}

	// Count the unsatisfied predecessors of each operation, and list its successors.
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

	// Repeatedly take the first ready operation. Operations on a cycle keep position -1.
	for i := range position {
		position[i] = -1
	}
	out = make([]Op, 0, len(ops))
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

	// Renumber the dependencies.
	for i := range out {
		for k, a := range out[i].After {
			out[i].After[k] = position[a]
		}
	}
	return out, position, nil
}

// maxContradictionWork bounds the work of dropContradictions in its first phase, in
// visited operations and dependencies. They take about a second. Beyond it, dependencies
// are dropped in file order.
const maxContradictionWork = 50_000_000

// controlDependencies are the control dependencies of the operations of a rank, from which
// dropContradictions removes some. Entry i lists the operations that operation i waits
// for.
type controlDependencies [][]int32

// drop removes the dependencies of operation i on each operation for which contradicts is
// true, and returns their number.
func (d controlDependencies) drop(i int32, contradicts func(c int32) bool) int {
	before := len(d[i])
	d[i] = slices.DeleteFunc(d[i], contradicts)
	return before - len(d[i])
}

// dropContradictions removes control dependencies so that control and data dependencies
// together have no cycle, and returns how many it removed. Data dependencies (Op.After)
// must have no cycle.
//
// A control dependency of i on c contradicts the data if c depends on the data of i,
// directly or through others. These are removed first (dropContradictingData). In the
// remaining cycles, dependencies are removed in file order (breakCycles).
func dropContradictions(ops []Op, control controlDependencies) (dropped int) {
	if component := cyclicComponents(ops, control); component != nil {
		dropped = dropContradictingData(ops, control, component)
	}
	if component := cyclicComponents(ops, control); component != nil {
		dropped += breakCycles(ops, control, component)
	}
	return dropped
}

// dropContradictingData removes the control dependencies that contradict the data, and
// returns their number. component is indexed by operation; see cyclicComponents.
func dropContradictingData(ops []Op, control controlDependencies, component []int32) (dropped int) {
	// Operations of the same cycle that wait for this one by control, by operation.
	waiting := make([][]int32, len(ops))
	for i := range ops {
		for _, c := range control[i] {
			if component[c] == component[i] {
				waiting[c] = append(waiting[c], int32(i))
			}
		}
	}

	// Search the data dependencies of each such operation c for the operations that wait
	// for it. mark is c+1 for the operations that the search from c has reached.
	contradicting := make([][]int32, len(ops)) // control dependencies that contradict data, by operation
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
			dropped += control.drop(int32(i), func(c int32) bool { _, found := slices.BinarySearch(list, c); return found })
		}
	}
	return dropped
}

// dependent is an operation that waits for another one.
type dependent struct {
	op      int32
	isFixed bool // the dependency may not be dropped
}

// breakCycles executes the operations in the order of their dependencies. When none is
// ready, the first one in the file whose data dependencies are satisfied drops its
// unsatisfied control dependencies. breakCycles returns the number of dropped
// dependencies.
//
// Only control dependencies within a component can close a cycle. All others are fixed,
// which means that they are not dropped.
func breakCycles(ops []Op, control controlDependencies, component []int32) (dropped int) {
	numUnsatisfied := make([]int, len(ops)) // unsatisfied dependencies, by operation
	numFixed := make([]int, len(ops))       // fixed ones among them, by operation
	dependents := make([][]dependent, len(ops))
	for i := range ops {
		add := func(predecessor int32, isFixed bool) {
			dependents[predecessor] = append(dependents[predecessor], dependent{op: int32(i), isFixed: isFixed})
			if numUnsatisfied[i]++; isFixed {
				numFixed[i]++
			}
		}
		for _, a := range ops[i].After {
			const isFixed = true
			add(a, isFixed)
		}
		for _, c := range control[i] {
			isFixed := component[c] != component[i]
			add(c, isFixed)
		}
	}

	// advance queues an operation that is ready, or whose remaining dependencies may all
	// be dropped.
	var ready, stuck indexHeap // stuck may also contain finished operations
	advance := func(i int32) {
		if numUnsatisfied[i] == 0 {
			heap.Push(&ready, i)
		} else if numFixed[i] == 0 && numUnsatisfied[i] > 0 {
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
			for _, d := range dependents[i] {
				if d.isFixed {
					numFixed[d.op]--
				}
				numUnsatisfied[d.op]--
				advance(d.op)
			}
		}

		// Nothing is ready: the first stuck operation drops its unsatisfied dependencies.
		for len(stuck) > 0 && len(ready) == 0 {
			if i := heap.Pop(&stuck).(int32); numUnsatisfied[i] > 0 {
				dropped += control.drop(i, func(c int32) bool { return !done[c] })
				numUnsatisfied[i] = 0
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
func cyclicComponents(ops []Op, control controlDependencies) []int32 {
	start := make([]int32, 1, len(ops)+1)
	to := []int32(nil)
	for i := range ops {
		to = append(append(to, ops[i].After...), control[i]...)
		start = append(start, int32(len(to)))
	}
	allArcs := func(int32) bool { return true }
	component, n := csr.Components(start, to, allArcs)
	if n == len(ops) { // each operation is a component of its own
		return nil
	}
	return component
}
