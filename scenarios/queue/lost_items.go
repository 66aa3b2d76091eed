// This file finds the items of a batch that a server has lost, and publishes them
// again.

package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// checkIdle checks a batch that has had no new results for a while. It warns if no worker takes
// items, and looks for lost items from time to time. If the server lost its streams, it creates
// them again.
func (p *publisher) checkIdle(ctx context.Context) error {
	quiet := time.Since(p.lastProgress)
	if quiet < p.o.checkInterval {
		return nil
	}
	ctx, cancel := p.l.requestContext(ctx)
	defer cancel()
	info, err := p.consumer.Info(ctx)
	if isMissing(err) || errors.Is(err, jetstream.ErrConsumerDoesNotExist) {
		_, _, err := p.l.openWork(ctx)
		return err
	}
	if err != nil {
		return err
	}
	// No worker waits for items or runs one, although items are on the queue.
	if info.NumWaiting == 0 && info.NumAckPending == 0 && info.NumPending > 0 && !p.warnedNoWorker {
		p.warnedNoWorker = true
		p.o.Log("no worker of version %s is taking items; start: sim worker %s", p.o.Version, p.l.address)
	}
	interval := max(p.o.AckWait, p.o.checkInterval) // between checks for lost items
	if quiet < interval || time.Since(p.lastLostCheck) < interval {
		return nil
	}
	p.lastLostCheck = time.Now()
	return p.findLost(ctx)
}

// findLost looks for items that are neither on the queue nor in the stream of results.
// This happens only if a server lost its store or items were removed manually. A worker
// stores a result before it removes the item from the queue. So an item that is not on
// the queue now, and has no result after all stored results were read, is lost.
func (p *publisher) findLost(ctx context.Context) error {
	if p.numOutstanding == 0 {
		return nil
	}
	info, err := p.work.Info(ctx, jetstream.WithSubjectFilter(p.address.allItemSubjects()))
	if err != nil {
		return fmt.Errorf("the items on the queue cannot be listed: %w", err)
	}
	for i, s := range p.state {
		if s == outstanding && info.State.Subjects[p.address.itemSubject(p.items[i].Key)] == 0 {
			p.possiblyLost = append(p.possiblyLost, int32(i))
		}
	}
	return nil
}

// republishLost publishes the items again that findLost found and that still have no result. All
// stored results must have been read in the meantime.
func (p *publisher) republishLost() {
	before := len(p.lost)
	for _, i := range p.possiblyLost {
		if p.state[i] == outstanding {
			p.state[i] = unpublished
			p.numOutstanding--
			p.lost = append(p.lost, i)
		}
	}
	if n := len(p.lost) - before; n > 0 {
		p.o.Log("%d items of batch %s are not on the queue any more and have no result; they are published again", n, p.o.Name)
	}
	p.possiblyLost = nil
}
