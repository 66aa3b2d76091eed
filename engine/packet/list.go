package packet

import "unsafe"

// list is a growable list for the items of one window of lpSim (lp.go). Its memory comes
// from a pool and is reused by later windows.
type list[T any] struct {
	items  []T
	length int32 // items[:length] is in use
	pool   *pool[T]
}

// pool holds the memory of lists that have been reset.
type pool[T any] struct {
	free     [][]T
	capacity int // items in free and in all lists of the pool
}

// memoryBytes returns the memory of the pool and its lists.
func (p *pool[T]) memoryBytes() int64 {
	var item T
	return int64(p.capacity) * int64(unsafe.Sizeof(item))
}

// add appends an item and returns its index and address. The item is not cleared.
func (l *list[T]) add() (int32, *T) {
	if int(l.length) == len(l.items) {
		l.grow()
	}
	l.length++
	return l.length - 1, &l.items[l.length-1]
}

// grow increases the capacity. An empty list takes a slice of the pool if there is one.
func (l *list[T]) grow() {
	p := l.pool
	if k := len(p.free) - 1; l.length == 0 && k >= 0 {
		l.items, p.free = p.free[k], p.free[:k]
		return
	}
	const minItems = 64 // capacity of a new list
	p.capacity -= cap(l.items)
	l.items = append(l.items, make([]T, max(minItems, len(l.items)))...)
	l.items = l.items[:cap(l.items)]
	p.capacity += cap(l.items)
}

// elements returns the items of the list.
func (l *list[T]) elements() []T { return l.items[:l.length] }

// reset empties the list and returns its memory to the pool.
func (l *list[T]) reset() {
	if len(l.items) > 0 {
		l.pool.free = append(l.pool.free, l.items)
	}
	l.items, l.length = nil, 0
}
