// This file sends the items of a batch to the server, up to a limit of outstanding
// items.

package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// itemState is the progress of an item at the publisher.
type itemState uint8

const (
	unpublished itemState = iota // not yet on the queue
	outstanding                  // on the queue, running, or with a stored result
	delivered                    // passed to the caller
)

// Limits of the items, and of their bytes, that are published before waiting for
// acknowledgements. They bound the memory; larger values are not faster.
const (
	feedItems = 512
	feedBytes = 8 << 20
)

// sendTimeout is the maximum time for the acknowledgement of a message.
const sendTimeout = callTimeout

// nextItem returns the next item to publish. ok is false if all items were published, or if
// Options.MaxOutstanding items are outstanding.
func (p *publisher) nextItem() (i int32, ok bool) {
	for p.numOutstanding < p.o.MaxOutstanding {
		switch {
		case len(p.lost) > 0:
			i, p.lost = p.lost[0], p.lost[1:]
		case p.next < len(p.state):
			i = int32(p.next)
			p.next++
		default:
			return 0, false
		}
		if p.state[i] == unpublished {
			p.state[i] = outstanding
			p.numOutstanding++
			return i, true
		}
	}
	return 0, false
}

// publishSome publishes some items, with at most Options.MaxOutstanding outstanding. Items without
// a message are delivered as failed. It reports whether there were any items.
func (p *publisher) publishSome(ctx context.Context, done func(Result) error) (some bool, err error) {
	// Collect messages up to the limits, then send them together.
	var flight []pendingPublish
	for bytes := 0; len(flight) < feedItems && bytes < feedBytes; {
		i, ok := p.nextItem()
		if !ok {
			break
		}
		some = true
		m, err := p.itemMessage(i)
		if err != nil {
			failed := failedResult(p.items[i].Key, err.Error())
			failed.Permanent = true
			if err := p.deliver(failed, done); err != nil {
				return true, err
			}
			continue
		}
		flight = append(flight, pendingPublish{msg: m})
		bytes += len(m.Data)
	}
	return some, p.send(ctx, flight)
}

// itemMessage returns the message of an item.
func (p *publisher) itemMessage(i int32) (*nats.Msg, error) {
	it := &p.items[i]
	data, err := it.Payload()
	if err != nil {
		return nil, err
	}
	m := &nats.Msg{Subject: p.address.itemSubject(it.Key), Data: data}
	if limit := p.l.nc.MaxPayload(); int64(m.Size()) > limit {
		return nil, fmt.Errorf("the item takes %d bytes, of which the server takes %d at most; raise its max_payload", m.Size(), limit)
	}
	return m, nil
}

// pendingPublish is a published item without acknowledgement.
type pendingPublish struct {
	msg *nats.Msg
	ack jetstream.PubAckFuture
}

// send publishes messages, waits for the acknowledgements and retries failures. The
// stream rejects duplicates of items that are already there.
func (p *publisher) send(ctx context.Context, flight []pendingPublish) error {
	retry := retryPolicy{l: p.l, operation: "publishing items"}
	// Pending messages are awaited for a second after ctx ends, so that they can be withdrawn.
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, cancel) })()
	for len(flight) > 0 {
		var err error
		for i := range flight {
			if flight[i].ack, err = p.l.js.PublishMsgAsync(flight[i].msg); err != nil {
				break
			}
		}
		// Wait for the acknowledgements. Messages that failed are sent again.
		rest := flight[:0]
		for _, s := range flight {
			if s.ack != nil {
				var e error
				select {
				case <-s.ack.Ok():
				case e = <-s.ack.Err():
				case <-late.Done():
					return nil
				}
				if e == nil || isDuplicate(e) {
					continue
				}
				err, s.ack = e, nil
			}
			rest = append(rest, s)
		}
		if flight = rest; len(flight) == 0 {
			return nil
		}
		if err := retry.wait(ctx, err); err != nil {
			return err
		}
		if isMissing(err) {
			if _, _, err := p.l.openWork(ctx); err != nil && ctx.Err() == nil {
				p.o.Log("%v", err)
			}
		}
	}
	return nil
}

// isDuplicate reports whether an error means that the item was already on the queue.
func isDuplicate(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && strings.Contains(api.Description, "maximum messages per subject")
}
