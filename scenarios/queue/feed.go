package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// feeder puts items on the queue, not more than Options.Ahead at a time.
type feeder struct {
	p      *publisher
	failed chan Result // items that cannot be published

	mu    sync.Mutex
	state []itemState
	next  int           // items before it were taken
	again []int32       // items to be published once more
	out   int           // items that are out
	room  chan struct{} // holds one value if there may be something to publish
}

type itemState uint8

const (
	waits    itemState = iota // is not published
	goes                      // is being published
	isOut                     // is on the queue, runs, or has a result
	finished                  // was handed over
)

// A feed publishes so many items, or so many bytes, before it waits for all to be there.
const (
	feedItems = 512
	feedBytes = 8 << 20
)

// sendTimeout is how long the server may take to say that it has a message.
const sendTimeout = callTimeout

func newFeeder(p *publisher) *feeder {
	return &feeder{p: p, failed: make(chan Result), state: make([]itemState, len(p.items)), room: make(chan struct{}, 1)}
}

// finish notes that an item has its result, and reports whether it is the first.
func (f *feeder) finish(i int32) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state[i] == finished {
		return false
	}
	if f.state[i] != waits {
		f.out--
	}
	f.state[i] = finished
	signal(f.room)
	return true
}

// signal puts a value into a channel that holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// outside lists the items that are on the queue, or were.
func (f *feeder) outside() (list []int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, s := range f.state {
		if s == isOut {
			list = append(list, int32(i))
		}
	}
	return list
}

// repeat has items published once more that are neither on the queue nor in the store. It returns how many there are.
func (f *feeder) repeat(items []int32) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range items {
		if f.state[i] == isOut {
			f.state[i] = waits
			f.out--
			f.again = append(f.again, i)
			n++
		}
	}
	signal(f.room)
	return n
}

// take returns the next item, or none if there is none or no room for it.
func (f *feeder) take() (i int32, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.out < f.p.o.Ahead {
		switch {
		case len(f.again) > 0:
			i, f.again = f.again[0], f.again[1:]
		case f.next < len(f.state):
			i = int32(f.next)
			f.next++
		default:
			return 0, false
		}
		if f.state[i] == waits {
			f.state[i] = goes
			f.out++
			return i, true
		}
	}
	return 0, false
}

// arrived notes that the queue has an item.
func (f *feeder) arrived(i int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state[i] == goes {
		f.state[i] = isOut
	}
}

// feed publishes until ctx ends. It runs once, in a goroutine of its own.
func (f *feeder) feed(ctx context.Context) error {
	for ctx.Err() == nil {
		var flight []sent
		for bytes := 0; len(flight) < feedItems && bytes < feedBytes; {
			i, ok := f.take()
			if !ok {
				break
			}
			m, err := f.message(i)
			if err != nil {
				select {
				case f.failed <- *failure(f.p.items[i].Key, err.Error(), true):
				case <-ctx.Done():
					return nil
				}
				continue
			}
			flight = append(flight, sent{item: i, msg: m})
			bytes += len(m.Data)
		}
		if len(flight) == 0 {
			select {
			case <-f.room:
			case <-ctx.Done():
			}
		} else if err := f.send(ctx, flight); err != nil {
			return err
		}
	}
	return nil
}

// message makes the message of an item.
func (f *feeder) message(i int32) (*nats.Msg, error) {
	it := &f.p.items[i]
	data, err := it.Payload()
	if err != nil {
		return nil, err
	}
	m := &nats.Msg{Subject: f.p.place.subject(it.Key), Data: data}
	if limit := f.p.l.nc.MaxPayload(); int64(m.Size()) > limit {
		return nil, fmt.Errorf("the item takes %d bytes, of which the server takes %d at most; raise its max_payload", m.Size(), limit)
	}
	return m, nil
}

// sent is an item on its way to the queue.
type sent struct {
	item int32
	msg  *nats.Msg
	ack  jetstream.PubAckFuture
}

// send publishes messages and waits until all are there. It tries again what fails: an item that is there already is
// refused.
func (f *feeder) send(ctx context.Context, flight []sent) error {
	trouble := trouble{l: f.p.l, doing: "publishing items"}
	// What is under way is waited for also when ctx ends, so that it can be taken back.
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, cancel) })()
	for {
		var err error
		for i := range flight {
			if flight[i].ack, err = f.p.l.js.PublishMsgAsync(flight[i].msg); err != nil {
				break
			}
		}
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
				if e == nil || there(e) {
					f.arrived(s.item)
					continue
				}
				err, s.ack = e, nil
			}
			rest = append(rest, s)
		}
		if flight = rest; len(flight) == 0 {
			return nil
		}
		if err := trouble.pause(ctx, err); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if gone(err) {
			if _, _, err := f.p.l.openWork(ctx); err != nil && ctx.Err() == nil {
				f.p.o.Log("%v", err)
			}
		}
	}
}

// there reports whether an error means that the item was on the queue already.
func there(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && strings.Contains(api.Description, "maximum messages per subject")
}
