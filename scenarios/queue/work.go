// This file takes items from the queue for a worker, and starts them.

package queue

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Work takes items of o.Version of any batch from the queue, runs them with f and stores
// their results. It returns nil when ctx ends, or after o.Idle without work. When ctx
// ends, it waits for running calls of f, stores finished results and returns other items
// to the queue. An error means that the server is not reachable or fails.
func Work(ctx context.Context, o WorkerOptions, f Func) error {
	if o.URL == EmbeddedURL {
		return errors.New("queue: a worker needs the address of a server, such as nats://HOST:4222; embedded is for publishers")
	}
	var noServer Server // in this process
	return work(ctx, o, noServer, f)
}

// worker takes items and runs several at a time.
type worker struct {
	o WorkerOptions
	f Func
	l *queueLink
	// slots has one value per item that may be taken in addition to running ones.
	slots chan struct{}
	// exclusive keeps items with many starts alone: they hold the write lock while they run,
	// other items the read lock.
	exclusive      sync.RWMutex
	uncountedOnce  sync.Once       // see logUncounted
	loggedVersions map[string]bool // logged versions of other items
	ackWait        time.Duration   // Peer.AckWait of the process that created the consumer
}

// delivery is an item delivered to a worker.
type delivery struct {
	msg        jetstream.Msg
	address    batchAddress
	key        string // Item.Key
	deliveries uint64 // number of deliveries, including this one
	// starts is the number of earlier starts without an end; 0 on the first delivery.
	starts int
}

// newWorker connects a worker and returns it. inside is a server of this process, or nil.
func newWorker(ctx context.Context, o WorkerOptions, inside Server, f Func) (*worker, error) {
	o.Peer, o.Workers = o.Peer.withDefaults(), cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	l, err := dial(ctx, o.Peer, inside)
	if err != nil {
		return nil, err
	}
	w := &worker{o: o, f: f, l: l, slots: make(chan struct{}, o.Workers), loggedVersions: map[string]bool{}}
	for range o.Workers {
		w.slots <- struct{}{}
	}
	return w, nil
}

// work runs a worker until ctx ends or it fails.
func work(ctx context.Context, o WorkerOptions, inside Server, f Func) error {
	w, err := newWorker(ctx, o, inside, f)
	if err == nil {
		err = w.work(ctx)
	}
	if ctx.Err() != nil {
		return nil // a normal stop
	}
	return err
}

// stopTimeout is the time for which a stopped worker tries to store results.
const stopTimeout = 10 * time.Second

// work runs until stop ends. The context of the link ends with it.
func (w *worker) work(stop context.Context) error {
	defer w.l.close()
	ctx := w.l.ctx
	_, consumer, err := w.l.openWork(ctx)
	if err != nil {
		return err
	}
	w.ackWait = consumer.CachedInfo().Config.AckWait

	// late outlives a stop, but not the connection, so that results can be stored.
	late, cancelLate := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelLate()
	defer context.AfterFunc(ctx, func() {
		if stop.Err() == nil {
			cancelLate()
		}
	})()
	var running sync.WaitGroup
	start := func(t *delivery) {
		running.Go(func() {
			w.runItem(ctx, late, t)
			w.slots <- struct{}{}
		})
	}
	if err = w.fetchLoop(ctx, consumer, start); err != nil {
		w.l.fail(err)
	}

	// Wait for the running items, whose results must be stored before stopTimeout.
	defer time.AfterFunc(stopTimeout, cancelLate).Stop()
	running.Wait()
	if err == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// fetchLoop receives as many items as may run and starts them. It returns when ctx ends,
// which is not an error, or after Idle without work.
func (w *worker) fetchLoop(ctx context.Context, consumer jetstream.Consumer, start func(*delivery)) error {
	retry := retryPolicy{l: w.l, operation: "taking items"}

	// busy is the last time with running items, looked the time of the last logOtherVersions.
	busy, looked := time.Now(), time.Now()
	for ctx.Err() == nil {
		// Take all free slots, at least one.
		n := 0
		select {
		case <-w.slots:
			n = 1 + len(w.slots)
		case <-ctx.Done():
			return nil
		}
		for range n - 1 {
			// Does not block: only this goroutine receives.
			<-w.slots
		}
		// Return the slots for which no item arrived.
		got, err := w.receive(ctx, consumer, n, start)
		for range n - got {
			w.slots <- struct{}{}
		}
		if got > 0 || len(w.slots) < w.o.Workers {
			busy = time.Now()
		}

		// After an error, wait and open the consumer again.
		switch {
		case err == nil:
			retry.reset()
		case ctx.Err() == nil:
			if err := retry.wait(ctx, err); err != nil {
				return err
			}
			if _, c, err := w.l.openWork(ctx); err == nil {
				consumer = c
			}
		}

		// Without items, end after the idle time, or look for items of other versions.
		switch {
		case got > 0 || err != nil:
		case w.o.Idle > 0 && time.Since(busy) >= w.o.Idle:
			w.o.Log("nothing to do for %v", w.o.Idle)
			return nil
		case time.Since(looked) >= w.o.versionCheckInterval:
			looked = time.Now()
			w.logOtherVersions(ctx)
		}
	}
	return nil
}

// receive requests n items once, starts the received ones and returns their number. After
// ctx ends, the request remains until the server has dropped it, so that no item is lost
// in transit. Items received then are started and so returned to the queue.
func (w *worker) receive(ctx context.Context, consumer jetstream.Consumer, n int, start func(*delivery)) (got int, err error) {
	// A worker that ends when idle must not wait longer than its idle time.
	const minPoll = 10 * time.Millisecond // shorter requests would load the server
	poll := w.o.fetchWait
	if w.o.Idle > 0 {
		poll = max(minPoll, min(poll, w.o.Idle))
	}
	how := jetstream.FetchMaxWait(poll)

	// An embedded server ends with its workers, so that its requests can end with ctx.
	if w.l.embedded != nil {
		c, cancel := context.WithTimeout(ctx, poll)
		defer cancel()
		how = jetstream.FetchContext(c)
	}
	batch, err := consumer.Fetch(n, how)
	if err != nil {
		return 0, err
	}

	// Start items until the request ends. If ctx ends, continue unless the connection is lost;
	// a nil channel is never ready.
	stop := ctx.Done()
	for {
		select {
		case m, ok := <-batch.Messages():
			if !ok {
				if err = batch.Error(); errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
					err = nil
				}
				return got, err
			}
			if t := w.deliveryOf(m); t != nil {
				got++
				start(t)
			}
		case <-stop:
			if !w.l.nc.IsConnected() {
				return got, nil
			}
			stop = nil
		}
	}
}

// deliveryOf parses a message. It returns nil and discards the message if it is not an
// item.
func (w *worker) deliveryOf(m jetstream.Msg) *delivery {
	place, key, ok := parseSubject(m.Subject())
	meta, err := m.Metadata()
	if !ok || err != nil {
		w.o.Log("%s: discarded a message that is not an item: %s", w.l.address, printableLine(m.Subject()))
		w.logError(m.Term())
		return nil
	}
	return &delivery{msg: m, address: place, key: key, deliveries: meta.NumDelivered}
}

// logOtherVersions logs, once each, versions whose items wait for other workers.
func (w *worker) logOtherVersions(ctx context.Context) {
	ctx, cancel := w.l.requestContext(ctx)
	defer cancel()
	s, err := w.l.js.Stream(ctx, workStream)
	if err != nil {
		// fetchLoop reports the same error.
		return
	}
	consumer := consumerName(subjectToken(w.o.Version))
	list := s.ListConsumers(ctx)
	for c := range list.Info() {
		if c.Name == consumer || c.NumPending+uint64(c.NumAckPending) == 0 || c.NumWaiting > 0 || w.loggedVersions[c.Name] {
			continue
		}
		w.loggedVersions[c.Name] = true
		w.o.Log("%s: %d items of version %s are left to workers of that version; this is %s",
			w.l.address, c.NumPending+uint64(c.NumAckPending), printableLine(cmp.Or(c.Config.Metadata["version"], c.Name)), w.o.Version)
	}
}
