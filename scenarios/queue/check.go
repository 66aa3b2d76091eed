package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// check looks after a batch of which nothing was heard for a while: whether anybody works on it, and whether items got
// lost.
func (p *publisher) check(ctx context.Context) error {
	quiet := time.Since(p.progress)
	if quiet < p.o.check {
		return nil
	}
	ctx, cancel := p.l.call(ctx)
	defer cancel()
	info, err := p.consumer.Info(ctx)
	if gone(err) || errors.Is(err, jetstream.ErrConsumerDoesNotExist) {
		_, _, err := p.l.openWork(ctx)
		return err
	}
	if err != nil {
		return err
	}
	if info.NumWaiting == 0 && info.NumAckPending == 0 && info.NumPending > 0 && !p.warned {
		p.warned = true
		p.o.Log("no worker of version %s is taking items; start: sim worker %s", p.o.Version, p.l.where)
	}
	if often := max(p.o.AckWait, p.o.check); quiet < often || time.Since(p.looked) < often {
		return nil
	}
	p.looked = time.Now()
	return p.findLost(ctx)
}

// findLost looks for items that are neither on the queue nor in the store. No order of events that is known leads
// there, but for a server that lost its store and somebody who removed things by hand. A worker stores a result before
// it takes the item off the queue; so what is not on the queue now, and has no result when all that are there are read
// afterwards, is nowhere.
func (p *publisher) findLost(ctx context.Context) error {
	if p.out == 0 {
		return nil
	}
	info, err := p.work.Info(ctx, jetstream.WithSubjectFilter(p.place.all()))
	if err != nil {
		return fmt.Errorf("the items on the queue cannot be listed: %w", err)
	}
	for i, s := range p.state {
		if s == isOut && info.State.Subjects[p.place.subject(p.items[i].Key)] == 0 {
			p.suspects = append(p.suspects, int32(i))
		}
	}
	return nil
}

// again publishes once more what has no result either.
func (p *publisher) again() {
	before := len(p.lost)
	for _, i := range p.suspects {
		if p.state[i] == isOut {
			p.state[i] = waits
			p.out--
			p.lost = append(p.lost, i)
		}
	}
	if n := len(p.lost) - before; n > 0 {
		p.o.Log("%d items of batch %s are not on the queue any more and have no result; they are published again", n, p.o.Name)
	}
	p.suspects = nil
}
