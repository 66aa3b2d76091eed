package packet

import "unsafe"

// box is some of what comes to a part.
type box struct {
	what [32]coming
	n    int
	then *box
}

const boxBytes = int64(unsafe.Sizeof(box{}))

// boxes is what comes to a part, in order.
type boxes struct{ first, last *box }

// send puts something behind what comes to a part.
func (k *worker) send(to *boxes, c coming) {
	b := to.last
	if b == nil || b.n == len(b.what) {
		b = k.more(to)
	}
	b.what[b.n] = c
	b.n++
}

// more gives boxes one more.
func (k *worker) more(to *boxes) *box {
	var b *box
	if last := len(k.free) - 1; last >= 0 {
		if b, k.free = k.free[last], k.free[:last]; len(k.workers) > 1 { // perhaps another has read it last
			own(unsafe.Pointer(b), unsafe.Sizeof(*b))
		}
	} else {
		b = &box{}
		k.grown += boxBytes
	}
	if to.last == nil {
		to.first = b
	} else {
		to.last.then = b
	}
	to.last = b
	return b
}

// empty calls do with what is in boxes, and keeps them.
func (k *worker) empty(of *boxes, do func(what []coming)) {
	for b := of.first; b != nil; {
		do(b.what[:b.n])
		then := b.then
		b.n, b.then = 0, nil
		k.free = append(k.free, b)
		b = then
	}
	*of = boxes{}
}

// share gives all workers as many empty boxes, as those that fill them are others than those that empty them.
func (p *parts) share() {
	if len(p.workers) == 1 {
		return
	}
	p.boxes = p.boxes[:0]
	for i := range p.workers {
		p.boxes = append(p.boxes, p.workers[i].free...)
	}
	n := len(p.workers)
	for i := range p.workers {
		k := &p.workers[i]
		k.free = append(k.free[:0], p.boxes[len(p.boxes)*i/n:len(p.boxes)*(i+1)/n]...)
	}
}
