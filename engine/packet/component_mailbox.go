package packet

import "unsafe"

// mailboxBlock is some of what comes to a part.
type mailboxBlock struct {
	events [32]arrivalEvent
	length int
	next   *mailboxBlock
}

const blockBytes = int64(unsafe.Sizeof(mailboxBlock{}))

// mailbox is what comes to a part, in order.
type mailbox struct{ first, last *mailboxBlock }

// send puts something behind what comes to a part.
func (k *componentWorker) send(to *mailbox, c arrivalEvent) {
	b := to.last
	if b == nil || b.length == len(b.events) {
		b = k.addBlock(to)
	}
	b.events[b.length] = c
	b.length++
}

// addBlock gives boxes one more.
func (k *componentWorker) addBlock(to *mailbox) *mailboxBlock {
	var b *mailboxBlock
	if last := len(k.freeBlocks) - 1; last >= 0 {
		if b, k.freeBlocks = k.freeBlocks[last], k.freeBlocks[:last]; len(k.workers) > 1 { // perhaps another has read it last
			prefetchForWrite(unsafe.Pointer(b), unsafe.Sizeof(*b))
		}
	} else {
		b = &mailboxBlock{}
		k.ringBytes += blockBytes
	}
	if to.last == nil {
		to.first = b
	} else {
		to.last.next = b
	}
	to.last = b
	return b
}

// drain calls do with what is in boxes, and keeps them.
func (k *componentWorker) drain(box *mailbox, visit func(events []arrivalEvent)) {
	for b := box.first; b != nil; {
		visit(b.events[:b.length])
		next := b.next
		b.length, b.next = 0, nil
		k.freeBlocks = append(k.freeBlocks, b)
		b = next
	}
	*box = mailbox{}
}

// shareBlocks gives all workers as many empty boxes, as those that fill them are others than those that empty them.
func (p *componentSim) shareBlocks() {
	if len(p.workers) == 1 {
		return
	}
	p.blockScratch = p.blockScratch[:0]
	for i := range p.workers {
		p.blockScratch = append(p.blockScratch, p.workers[i].freeBlocks...)
	}
	n := len(p.workers)
	for i := range p.workers {
		k := &p.workers[i]
		k.freeBlocks = append(k.freeBlocks[:0], p.blockScratch[len(p.blockScratch)*i/n:len(p.blockScratch)*(i+1)/n]...)
	}
}
