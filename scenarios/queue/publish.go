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

// Publish has the items of a batch run and calls done once for each, in the order in which results arrive and from one
// goroutine, until all are there. It ends early with ctx's error, with done's, or with one that says that the queue is
// lost; what done was called for is then done, and the rest is not lost: published again under the same name and
// version, the batch goes on where it was, with the results that came meanwhile. Items that wait are withdrawn unless
// the connection is lost.
func Publish(ctx context.Context, o Options, items []Item, done func(Result) error) (err error) {
	p, err := newPublisher(o, items)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return nil
	}
	o = p.o
	var inside Server
	if o.URL == EmbeddedURL {
		if o.Workers == 0 && o.Listen == "" {
			return errors.New("queue: an embedded queue that nobody can reach needs workers of its own")
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

// publisher brings a batch to its end.
type publisher struct {
	o       Options
	items   []Item
	address batchAddress
	l       *link
	id      string // of this publisher, no other.s

	work     jetstream.Stream
	consumer jetstream.Consumer
	results  jetstream.Stream

	index          map[string]int32 // of items, by key
	state          []itemState      // of items
	next           int              // items before it were taken
	lost           []int32          // items to be published once more
	numOutstanding int              // items that are out
	numRemaining   int              // items without result
	lastProgress   time.Time        // when a result came, or the batch began
	lastLostCheck  time.Time        // when lost items were looked for
	warnedNoWorker bool             // that nobody works
	possiblyLost   []int32          // items that are lost if they have no result
}

func newPublisher(o Options, items []Item) (*publisher, error) {
	o.Peer, o.Ahead = o.Peer.withDefaults(), cmp.Or(o.Ahead, 20000)
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

// publish opens what the batch needs, and feeds and collects until all is there.
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
	woken := make(chan struct{}, 1)
	sub, err := p.l.nc.Subscribe(p.address.resultSubject("*"), func(*nats.Msg) { notify(woken) })
	if err != nil {
		return fmt.Errorf("%s: %w", p.l.address, err)
	}
	defer p.unsubscribe(sub)
	err = p.collect(ctx, woken, done)
	if p.l.embedded == nil {
		p.cleanUp(p.numRemaining == 0 && err == nil)
	}
	return err
}

// collect hands over results as they are stored, and feeds items when those that were there are: while it has nothing
// else to do, and before the workers run out of them. It goes along the stream of results from each to the next, and
// where there is none waits for a notification: the message with which a worker stores the next one. Notifications may
// be lost; every second it looks anyway.
func (p *publisher) collect(ctx context.Context, woken <-chan struct{}, done func(Result) error) error {
	const idle = time.Second
	retry := retryPolicy{l: p.l, operation: "reading results"}
	tick := time.NewTicker(p.o.checkInterval)
	defer tick.Stop()
	at, removed, all := uint64(1), uint64(1), p.address.resultSubject("*")
	wait := time.Millisecond // a notification may be a little early
	p.lastProgress = time.Now()
	begun := false
	for p.numRemaining > 0 {
		if begun && p.numOutstanding <= p.o.Ahead/2 {
			if _, err := p.publishSome(ctx, done); err != nil {
				return err
			}
		}
		m, err := p.l.nextMessage(ctx, p.results, at, all)
		if err == nil {
			var r *Result
			if r, err = p.l.readResult(ctx, p.results, p.address, m); err == nil {
				if err := p.deliver(r, done); err != nil {
					return err
				}
				at, wait = m.Sequence+1, time.Millisecond
				retry.reset()
				if m.Header.Get(partsHeader) != "" {
					p.purgeResults(ctx, jetstream.WithPurgeSubject(p.address.partSubject(lastToken(m.Subject))))
				}
				continue
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !errors.Is(err, jetstream.ErrMsgNotFound) {
			if err := retry.wait(ctx, err); err != nil {
				return err
			}
			if isMissing(err) { // a server that lost its store; items that are lost with it are published again
				if s, err := p.l.openResults(ctx, p.address); err == nil {
					at = min(at, s.CachedInfo().State.FirstSeq)
					removed = at
				}
			}
			continue
		}
		retry.reset()
		if at > removed {
			p.purgeResults(ctx, jetstream.WithPurgeSubject(all), jetstream.WithPurgeSequence(at))
			removed = at
		}
		begun = true
		p.republishLost()
		if some, err := p.publishSome(ctx, done); err != nil {
			return err
		} else if some {
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-woken:
			wait = time.Millisecond
		case <-timer.C:
			wait = min(4*wait, idle)
		case <-tick.C:
			if err := p.checkIdle(ctx); err != nil && ctx.Err() == nil {
				p.o.Log("%s: the batch cannot be looked after: %v; trying again", p.l.address, err)
			}
		case <-ctx.Done():
		}
		timer.Stop()
	}
	return nil
}

// deliver hands over a result, the first of its item only.
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

// purgeResults removes results that were handed over. What stays goes with the batch.
func (p *publisher) purgeResults(ctx context.Context, which ...jetstream.StreamPurgeOpt) {
	call, cancel := p.l.requestContext(ctx)
	defer cancel()
	if err := p.results.Purge(call, which...); err != nil && ctx.Err() == nil && !isMissing(err) {
		p.l.Log("%s: results that were handed over cannot be removed: %v", p.l.address, err)
	}
}

// notify puts a value into a channel that holds one.
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

// announce makes sure that this is the batch's only publisher: two would take each other's results. Of two that begin
// at a time, the one of the lower id goes on.
func (p *publisher) announce(ctx context.Context) (off func(), err error) {
	var mu sync.Mutex
	state := "begins"
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

// findOther asks which publisher of the batch has precedence; "" if none has.
func (p *publisher) findOther(ctx context.Context) (string, error) {
	inbox := p.l.nc.NewInbox()
	sub, err := p.l.nc.SubscribeSync(inbox)
	if err == nil {
		defer sub.Unsubscribe() //nolint:errcheck // the connection may be gone by now
		err = p.l.nc.PublishRequest(p.address.presenceSubject(), inbox, nil)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.l.address, err)
	}
	for wait := 2 * time.Second; ; { // for the answer of this one; then a little longer
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
			wait = 50 * time.Millisecond
		} else if state == "runs" || id < p.id {
			return printableLine(string(m.Data[min(len(m.Data), len(state)+1+len(id)+1):])), nil
		}
	}
}

// cleanUp takes back what still waits and, if the batch is finished, removes what it had on the server. Nothing depends on
// its success.
func (p *publisher) cleanUp(finished bool) {
	if !p.l.nc.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
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
