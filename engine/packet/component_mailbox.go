package packet

// This file implements the mailboxes of componentSim. A packet that leaves a component
// becomes an event in a mailbox of the component that it enters. Each worker has one
// mailbox per component, so that no two workers write to the same mailbox. A component is
// simulated after all components that send to it. The worker that simulates it then drains
// its mailboxes.

import "unsafe"

// mailbox is a queue of events from one worker to one component, stored as a list of
// blocks.
type mailbox struct{ first, last *mailboxBlock } // nil if it is empty

// mailboxBlock is one block of a mailbox. Its events fill a kilobyte. Each mailbox in use
// has at least one block, and there is a mailbox per worker and component, so larger
// blocks would waste memory.
type mailboxBlock struct {
	events [32]arrivalEvent
	length int           // events[:length] is in use
	next   *mailboxBlock // nil at the end
}

// blockBytes is the memory of a block.
const blockBytes = int64(unsafe.Sizeof(mailboxBlock{}))

// send appends an event to a mailbox. k is the worker that sends it, which has a list of
// unused blocks (freeBlocks).
func (k *componentWorker) send(to *mailbox, c arrivalEvent) {
	b := to.last
	if b == nil || b.length == len(b.events) {
		b = k.addBlock(to)
	}
	b.events[b.length] = c
	b.length++
}

// addBlock appends an empty block to a mailbox and returns it.
func (k *componentWorker) addBlock(to *mailbox) *mailboxBlock {
	var b *mailboxBlock
	if last := len(k.freeBlocks) - 1; last >= 0 {
		b, k.freeBlocks = k.freeBlocks[last], k.freeBlocks[:last]
		if len(k.workers) > 1 {
			// The block may be in the cache of another worker, which has used it last.
			prefetchForWrite(unsafe.Pointer(b), unsafe.Sizeof(*b))
		}
	} else {
		b = &mailboxBlock{}
		k.memoryBytes += blockBytes
	}

	if to.last == nil {
		to.first = b
	} else {
		to.last.next = b
	}
	to.last = b
	return b
}

// drain calls visit with the events of each block of a mailbox, empties the mailbox, and
// keeps the blocks for reuse.
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

// shareBlocks distributes the free blocks evenly among the workers. Otherwise they would
// accumulate at the workers that receive more than they send.
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
