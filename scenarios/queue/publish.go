// This file publishes a batch and collects its results. Files publish_items.go and
// lost_items.go belong to it.

package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// Publish publishes the items of a batch and calls done once for each result, in order of
// arrival and from one goroutine. It returns when all results have arrived. It fails
// early with the error of ctx or done, or if the queue is lost. Results passed to done
// stay valid, and the rest is not lost: publishing the batch again with the same name and
// version continues it, including results that arrived in the meantime. Waiting items are
// withdrawn unless the connection is lost.
func Publish(ctx context.Context, o Options, items []Item, done func(Result) error) (err error) {
	p, err := newPublisher(o, items)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return nil
	}
	o = p.o
	// Start the embedded server, if one is requested.
	var inside Server
	if o.URL == EmbeddedURL {
		if o.Workers == 0 && o.Listen == "" {
			return errors.New("queue: an embedded queue that no other process can reach needs workers in this process")
		}
		if o.Embed == nil {
			return ErrNoServer
		}
		address, token, err := parseListen(o.Listen)
		if err != nil {
			return err
		}
		s, err := o.Embed(address, cmp.Or(token, o.Token), o.Log)
		if err != nil {
			return err
		}
		defer func() {
			if e := s.Close(); e != nil {
				err = errors.Join(err, e)
			}
		}()
		inside = s
		if at := plainURL(s.URL()); at != "" {
			o.Log("the queue is at %s; start workers elsewhere with: sim worker nats://HOST%s", at, at[strings.LastIndex(at, ":"):])
		}
	} else if o.Listen != "" {
		return errors.New("queue: Listen is for an embedded server")
	}
	// Connect, start the workers of this process, and publish.
	if p.l, err = dial(ctx, o.Peer, inside); err != nil {
		return cmp.Or(ctx.Err(), err)
	}
	defer p.l.close()
	stopWorkers := p.startWorkers()
	defer stopWorkers()
	err = p.publish(done)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// publisher publishes one batch and collects its results.
type publisher struct {
	o       Options
	items   []Item
	address batchAddress
	l       *queueLink
	id      string // unique ID of this publisher

	work     jetstream.Stream   // items of all batches
	consumer jetstream.Consumer // consumer of the workers of this version
	results  jetstream.Stream   // results of this batch

	index map[string]int32 // index of each item, keyed by Item.Key
	state []itemState      // indexed by item
	// next is the index of the first item that was never published.
	next           int
	lost           []int32   // items to publish again
	numOutstanding int       // number of outstanding items
	numRemaining   int       // number of items without a delivered result
	lastProgress   time.Time // time of the last result, or of the start
	lastLostCheck  time.Time // time of the last search for lost items
	warnedNoWorker bool      // logged that no worker takes items
	// possiblyLost are items that findLost did not find on the queue. They are lost unless they
	// have a result.
	possiblyLost []int32
}

// newPublisher checks the options and the items, and returns a publisher that is not connected
// yet.
func newPublisher(o Options, items []Item) (*publisher, error) {
	o.Peer, o.MaxOutstanding = o.Peer.withDefaults(), cmp.Or(o.MaxOutstanding, 20000)
	if o.Name == "" {
		return nil, errors.New("queue: a batch needs a name")
	}
	if o.Workers > 0 && o.Run == nil {
		return nil, errors.New("queue: Workers need Run")
	}
	p := &publisher{
		o: o, items: items, address: batchAddressOf(o.Version, o.Name), id: nuid.Next(), index: make(map[string]int32, len(items)),
		state: make([]itemState, len(items)), numRemaining: len(items),
	}
	for i := range items {
		key := items[i].Key
		if err := checkKey(key); err != nil {
			return nil, err
		}
		if _, twice := p.index[key]; twice {
			return nil, fmt.Errorf("queue: the batch has two items of key %s", key)
		}
		p.index[key] = int32(i)
	}
	return p, nil
}

// startWorkers starts the workers of this process.
func (p *publisher) startWorkers() (stop func()) {
	if p.o.Workers == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(p.l.ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := work(ctx, WorkerOptions{Peer: p.o.Peer}, p.l.embedded, p.o.Run); err != nil {
			p.l.fail(err)
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// publish opens the streams and collects results until the batch is complete.
func (p *publisher) publish(done func(Result) error) (err error) {
	ctx := p.l.ctx
	if p.work, p.consumer, err = p.l.openWork(ctx); err != nil {
		return err
	}
	if p.l.embedded == nil || p.o.Listen != "" {
		off, err := p.announce(ctx)
		if err != nil {
			return err
		}
		defer off()
	}
	if p.results, err = p.l.openResults(ctx, p.address); err != nil {
		return err
	}
	// Workers notify the publisher with a copy of each stored result.
	woken := make(chan struct{}, 1)
	sub, err := p.l.nc.Subscribe(p.address.resultSubject("*"), func(*nats.Msg) { notify(woken) })
	if err != nil {
		return fmt.Errorf("%s: %w", p.l.address, err)
	}
	defer p.unsubscribe(sub)
	err = p.collect(ctx, woken, done)
	if p.l.embedded == nil {
		finished := p.numRemaining == 0 && err == nil
		p.cleanUp(finished)
	}
	return err
}

// collect delivers stored results. It publishes more items when it has nothing else to
// do, and before the workers run out of items. It reads the stream of results from one
// message to the next and waits at the end for a notification: a copy of the message with
// which a worker stores a result. Notifications may be lost, so it also looks every
// second.
func (p *publisher) collect(ctx context.Context, woken <-chan struct{}, done func(Result) error) error {
	retry := retryPolicy{l: p.l, operation: "reading results"}
	tick := time.NewTicker(p.o.checkInterval)
	defer tick.Stop()

	// sequence is the number of the next message to read. Messages before removed are removed
	// from the stream.
	sequence, removed, all := uint64(1), uint64(1), p.address.resultSubject("*")

	// wait is the time until the stream is read again without a notification. It begins small,
	// because a notification may arrive before the result is stored.
	const minWait, maxWait = time.Millisecond, time.Second
	wait := minWait
	p.lastProgress = time.Now()

	// started reports whether all results of an earlier publisher were read, so that their
	// items need not be published.
	started := false
	for p.numRemaining > 0 {
		// Keep the queue filled while results are read.
		if started && p.numOutstanding <= p.o.MaxOutstanding/2 {
			if _, err := p.publishSome(ctx, done); err != nil {
				return err
			}
		}
		// Deliver the next stored result.
		m, err := p.l.nextMessage(ctx, p.results, sequence, all)
		if err == nil {
			var r *Result
			if r, err = p.l.readResult(ctx, p.results, p.address, m); err == nil {
				if err := p.deliver(r, done); err != nil {
					return err
				}
				sequence, wait = m.Sequence+1, minWait
				retry.reset()
				if m.Header.Get(partsHeader) != "" {
					p.purgeResults(ctx, jetstream.WithPurgeSubject(p.address.partSubject(lastToken(m.Subject))))
				}
				continue
			}
		}

		// Wait after an error other than the end of the stream, then try again.
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !errors.Is(err, jetstream.ErrMsgNotFound) {
			if err := retry.wait(ctx, err); err != nil {
				return err
			}
			if isMissing(err) { // the server lost its store; lost items are published again
				if s, err := p.l.openResults(ctx, p.address); err == nil {
					sequence = min(sequence, s.CachedInfo().State.FirstSeq)
					removed = sequence
				}
			}
			continue
		}

		// All stored results are delivered: remove them, and publish more items.
		retry.reset()
		if sequence > removed {
			p.purgeResults(ctx, jetstream.WithPurgeSubject(all), jetstream.WithPurgeSequence(sequence))
			removed = sequence
		}
		started = true
		p.republishLost()
		if some, err := p.publishSome(ctx, done); err != nil {
			return err
		} else if some {
			continue
		}

		// Wait for a notification, or check the batch.
		timer := time.NewTimer(wait)
		select {
		case <-woken:
			wait = minWait
		case <-timer.C:
			wait = min(4*wait, maxWait)
		case <-tick.C:
			if err := p.checkIdle(ctx); err != nil && ctx.Err() == nil {
				p.o.Log("%s: the batch cannot be checked: %v; trying again", p.l.address, err)
			}
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return nil
}

// deliver passes a result to done, unless the item already has one.
func (p *publisher) deliver(r *Result, done func(Result) error) error {
	if r == nil {
		return nil
	}
	i, ok := p.index[r.Key]
	if !ok || p.state[i] == delivered {
		return nil
	}
	if p.state[i] == outstanding {
		p.numOutstanding--
	}
	p.state[i] = delivered
	p.numRemaining--
	p.lastProgress, p.warnedNoWorker = time.Now(), false
	return done(*r)
}

// purgeResults removes delivered results. If this fails, they are removed with the batch.
func (p *publisher) purgeResults(ctx context.Context, which ...jetstream.StreamPurgeOpt) {
	call, cancel := p.l.requestContext(ctx)
	defer cancel()
	if err := p.results.Purge(call, which...); err != nil && ctx.Err() == nil && !isMissing(err) {
		p.l.Log("%s: results that were handed over cannot be removed: %v", p.l.address, err)
	}
}

// notify sends to a channel of capacity 1 unless it is full.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// unsubscribe ends a subscription.
func (p *publisher) unsubscribe(sub *nats.Subscription) {
	if err := sub.Unsubscribe(); err != nil && p.l.nc.IsConnected() {
		p.o.Log("%s: %v", p.l.address, err)
	}
}

// announce verifies that this is the only publisher of the batch, because two would take
// each other's results. If two start at the same time, the one with the lower ID
// continues. off ends the answers to other publishers.
func (p *publisher) announce(ctx context.Context) (off func(), err error) {
	var mu sync.Mutex
	state := "begins"
	// Answer other publishers of the same batch: state is "begins" until this one is alone, then
	// "runs".
	sub, err := p.l.nc.Subscribe(p.address.presenceSubject(), func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		if err := m.Respond([]byte(state + " " + p.id + " " + processName())); err != nil {
			p.o.Log("%s: %v", p.l.address, err)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.l.address, err)
	}
	off = func() { p.unsubscribe(sub) }
	other, err := p.findOther(ctx)
	if err == nil && other != "" {
		err = fmt.Errorf("%s: batch %s is already being published, by %s", p.l.address, p.o.Name, other)
	}
	if err != nil {
		off()
		return nil, err
	}
	mu.Lock()
	state = "runs"
	mu.Unlock()
	return off, nil
}

// findOther returns the publisher of the batch that has precedence, or "". An answer consists
// of the state, the ID and the name of a publisher's process; see announce.
func (p *publisher) findOther(ctx context.Context) (string, error) {
	// Ask all publishers of the batch, including this one.
	inbox := p.l.nc.NewInbox()
	sub, err := p.l.nc.SubscribeSync(inbox)
	if err == nil {
		defer sub.Unsubscribe() //nolint:errcheck // the connection may be gone by now
		var noContent []byte
		err = p.l.nc.PublishRequest(p.address.presenceSubject(), inbox, noContent)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.l.address, err)
	}

	// Wait until the publisher's own answer arrives, which shows that answers arrive at all.
	// Then wait a little longer for the answers of others.
	const ownWait, otherWait = 2 * time.Second, 50 * time.Millisecond
	for wait := ownWait; ; {
		wctx, cancel := context.WithTimeout(ctx, wait)
		m, err := sub.NextMsgWithContext(wctx)
		cancel()
		if err != nil {
			if ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
			return "", nil
		}
		var state, id string
		if _, err := fmt.Sscan(string(m.Data), &state, &id); err != nil {
			continue
		}
		if id == p.id {
			wait = otherWait
		} else if state == "runs" || id < p.id {
			process := m.Data[min(len(m.Data), len(state)+1+len(id)+1):] // after two spaces
			return printableLine(string(process)), nil
		}
	}
}

// cleanUp withdraws waiting items and, if the batch is complete, removes it from the
// server. Correctness does not depend on it.
func (p *publisher) cleanUp(finished bool) {
	if !p.l.nc.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	err := p.work.Purge(ctx, jetstream.WithPurgeSubject(p.address.allItemSubjects()))
	if finished {
		if e := p.l.js.DeleteStream(ctx, p.address.streamName()); !errors.Is(e, jetstream.ErrStreamNotFound) {
			err = errors.Join(err, e)
		}
	}
	if err != nil && !isMissing(err) {
		p.o.Log("%s: the server still holds something of batch %s: %v", p.l.address, p.o.Name, err)
	}
}
