package graph

// Heap is a binary heap. It calls a function for each comparison, so it does not suit the most
// frequent operations. If neither of two items is before the other, their order depends on all
// earlier operations; before should be a total order.
type Heap[T any] struct {
	before func(a, b T) bool // reports whether a precedes b
	items  []T
}

// NewHeap returns an empty heap in the order of before.
func NewHeap[T any](before func(a, b T) bool) *Heap[T] {
	return &Heap[T]{before: before}
}

// Len returns the number of items.
func (h *Heap[T]) Len() int { return len(h.items) }

// Clear removes all items.
func (h *Heap[T]) Clear() {
	clear(h.items)
	h.items = h.items[:0]
}

// Push adds an item.
func (h *Heap[T]) Push(x T) {
	h.items = append(h.items, x)
	i := len(h.items) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !h.before(x, h.items[up]) {
			break
		}
		h.items[i] = h.items[up]
		i = up
	}

	h.items[i] = x
}

// First returns the first item. After a change to it, Fix must be called. The heap must not be
// empty.
func (h *Heap[T]) First() *T { return &h.items[0] }

// Pop removes and returns the first item. The heap must not be empty.
func (h *Heap[T]) Pop() T {
	first, last := h.items[0], len(h.items)-1
	h.items[0] = h.items[last]
	clear(h.items[last:])
	if h.items = h.items[:last]; last > 0 {
		h.Fix()
	}
	return first
}

// Fix restores the order after a change to the first item.
func (h *Heap[T]) Fix() {
	x, i := h.items[0], 0
	for {
		c := 2*i + 1
		if c >= len(h.items) {
			break
		}
		if c+1 < len(h.items) && h.before(h.items[c+1], h.items[c]) {
			c++
		}
		if !h.before(h.items[c], x) {
			break
		}
		h.items[i] = h.items[c]
		i = c
	}

	h.items[i] = x
}
