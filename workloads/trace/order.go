package trace

import (
	"container/heap"
	"slices"
)

// indexes is a heap of operations by index.
type indexes []int32

func (h indexes) Len() int           { return len(h) }
func (h indexes) Less(i, k int) bool { return h[i] < h[k] }
func (h indexes) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }
func (h *indexes) Push(x any)        { *h = append(*h, x.(int32)) }
func (h *indexes) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// ordered puts operations of a rank into an order in which each comes after what it waits for, else as they are, and returns
// by operation its new index. It fails on a cycle.
func ordered(ops []Op) (out []Op, at []int32, err error) {
	need, next := make([]int, len(ops)), make([][]int32, len(ops))
	var ready indexes
	for i := range ops {
		if need[i] = len(ops[i].After); need[i] == 0 {
			ready = append(ready, int32(i))
		}
		for _, a := range ops[i].After {
			next[a] = append(next[a], int32(i))
		}
	}
	at = slices.Repeat([]int32{-1}, len(ops))
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
		return nil, nil, wrong("dependencies without a cycle", "operation %d (%.40q) waits for itself, through others", i, ops[i].Name)
	}
	for i := range out {
		for k, a := range out[i].After {
			out[i].After[k] = at[a]
		}
	}
	return out, at, nil
}

// note adds one to the note of that text.
func (j *Job) note(what string, bytes int64) {
	i := slices.IndexFunc(j.Notes, func(n Note) bool { return n.What == what })
	if i < 0 {
		i, j.Notes = len(j.Notes), append(j.Notes, Note{What: what})
	}
	j.Notes[i].Count++
	j.Notes[i].Bytes += bytes
}
