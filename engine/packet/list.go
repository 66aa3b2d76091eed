package packet

import "unsafe"

// list is things that come in a window.
type list[T any] struct {
	items  []T
	length int32 // so many are used
	pool   *pool[T]
}

// pool is room of windows that are over.
type pool[T any] struct {
	free     [][]T
	capacity int // things that there is room for, in use or not
}

// memoryBytes is the memory of its room.
func (p *pool[T]) memoryBytes() int64 {
	var item T
	return int64(p.capacity) * int64(unsafe.Sizeof(item))
}

// add returns the place of one more.
func (l *list[T]) add() (int32, *T) {
	if int(l.length) == len(l.items) {
		l.grow()
	}
	l.length++
	return l.length - 1, &l.items[l.length-1]
}

// grow makes room for more, that of a window that is over if there is one.
func (l *list[T]) grow() {
	p := l.pool
	if k := len(p.free) - 1; l.length == 0 && k >= 0 {
		l.items, p.free = p.free[k], p.free[:k]
		return
	}
	p.capacity -= cap(l.items)
	l.items = append(l.items, make([]T, max(64, len(l.items)))...)
	l.items = l.items[:cap(l.items)]
	p.capacity += cap(l.items)
}

// elements returns what it has.
func (l *list[T]) elements() []T { return l.items[:l.length] }

// reset gives its room back.
func (l *list[T]) reset() {
	if len(l.items) > 0 {
		l.pool.free = append(l.pool.free, l.items)
	}
	l.items, l.length = nil, 0
}
