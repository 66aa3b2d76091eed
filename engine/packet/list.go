package packet

import "unsafe"

// list is things that come in a window.
type list[T any] struct {
	all  []T
	n    int32 // so many are used
	pool *pool[T]
}

// pool is room of windows that are over.
type pool[T any] struct {
	spare [][]T
	made  int // things that there is room for, in use or not
}

// bytes is the memory of its room.
func (p *pool[T]) bytes() int64 {
	var one T
	return int64(p.made) * int64(unsafe.Sizeof(one))
}

// add returns the place of one more.
func (l *list[T]) add() (int32, *T) {
	if int(l.n) == len(l.all) {
		l.grow()
	}
	l.n++
	return l.n - 1, &l.all[l.n-1]
}

// grow makes room for more, that of a window that is over if there is one.
func (l *list[T]) grow() {
	p := l.pool
	if k := len(p.spare) - 1; l.n == 0 && k >= 0 {
		l.all, p.spare = p.spare[k], p.spare[:k]
		return
	}
	p.made -= cap(l.all)
	l.all = append(l.all, make([]T, max(64, len(l.all)))...)
	l.all = l.all[:cap(l.all)]
	p.made += cap(l.all)
}

// used returns what it has.
func (l *list[T]) used() []T { return l.all[:l.n] }

// renew gives its room back.
func (l *list[T]) renew() {
	if len(l.all) > 0 {
		l.pool.spare = append(l.pool.spare, l.all)
	}
	l.all, l.n = nil, 0
}
