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

// Work takes items of o.Version of any batch from the queue, runs them with f and stores their results, until ctx ends
// or there was nothing to do for o.Idle; then it returns nil. When ctx ends, it waits for the calls of f, keeps what
// they finished and gives back the rest. An error says that the server cannot be reached or does not do its part.
func Work(ctx context.Context, o WorkerOptions, f Func) error {
	if o.URL == EmbeddedURL {
		return errors.New("queue: a worker needs the address of a server, such as nats://HOST:4222; embedded is for publishers")
	}
	return work(ctx, o, nil, f)
}

// worker takes items and runs several at a time.
type worker struct {
	o              WorkerOptions
	f              Func
	l              *link
	slots          chan struct{}   // a value for each item that may be taken beside those that run
	exclusive      sync.RWMutex    // an item under suspicion runs with the write lock
	uncountedOnce  sync.Once       // see uncounted
	loggedVersions map[string]bool // versions that were logged
	ackWait        time.Duration   // as the server has it
}

// delivery is an item on its way through a worker.
type delivery struct {
	msg        jetstream.Msg
	address    batchAddress
	key        string
	deliveries uint64
	starts     int // of earlier times; 0 on the first delivery
}

// newWorker connects a worker. inside is a server of this process, or nil.
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

func work(ctx context.Context, o WorkerOptions, inside Server, f Func) error {
	w, err := newWorker(ctx, o, inside, f)
	if err == nil {
		err = w.work(ctx)
	}
	if ctx.Err() != nil {
		return nil // as asked
	}
	return err
}

// stopTimeout is how long a worker that is to stop tries to store its results.
const stopTimeout = 10 * time.Second

// work runs until stop ends. The link's own context ends with it.
func (w *worker) work(stop context.Context) error {
	defer w.l.close()
	ctx := w.l.ctx
	_, consumer, err := w.l.openWork(ctx)
	if err != nil {
		return err
	}
	w.ackWait = consumer.CachedInfo().Config.AckWait

	// Results are stored for some time after a stop, but not without a connection.
	late, cancelLate := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelLate()
	defer context.AfterFunc(ctx, func() {
		if stop.Err() == nil {
			cancelLate()
		}
	})()
	var running sync.WaitGroup
	if err = w.fetchLoop(ctx, consumer, func(t *delivery) { running.Go(func() { w.runItem(ctx, late, t); w.slots <- struct{}{} }) }); err != nil {
		w.l.fail(err)
	}
	defer time.AfterFunc(stopTimeout, cancelLate).Stop()
	running.Wait()
	if err == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// fetchLoop receives as many items as may run, and starts them, until ctx ends, which is no error, or there is nothing to
// do for long.
func (w *worker) fetchLoop(ctx context.Context, consumer jetstream.Consumer, start func(*delivery)) error {
	retry := retryPolicy{l: w.l, operation: "taking items"}
	busy, looked := time.Now(), time.Now()
	for ctx.Err() == nil {
		n := 0
		select {
		case <-w.slots:
			n = 1 + len(w.slots)
		case <-ctx.Done():
			return nil
		}
		for range n - 1 {
			<-w.slots // which only this goroutine takes from
		}
		got, err := w.receive(ctx, consumer, n, start)
		for range n - got {
			w.slots <- struct{}{}
		}
		if got > 0 || len(w.slots) < w.o.Workers {
			busy = time.Now()
		}
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

// receive asks for n items once, starts those that come and says how many that are. When ctx ends, the request still
// stands until the server has dropped it, so that no item is on its way to nobody: what comes is started, and so given
// back.
func (w *worker) receive(ctx context.Context, consumer jetstream.Consumer, n int, start func(*delivery)) (got int, err error) {
	poll := w.o.fetchWait
	if w.o.Idle > 0 {
		poll = max(10*time.Millisecond, min(poll, w.o.Idle))
	}
	how := jetstream.FetchMaxWait(poll)
	if w.l.embedded != nil { // which ends with its workers
		c, cancel := context.WithTimeout(ctx, poll)
		defer cancel()
		how = jetstream.FetchContext(c)
	}
	batch, err := consumer.Fetch(n, how)
	if err != nil {
		return 0, err
	}
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

// deliveryOf is what a message asks for; nil, and the message thrown away, where it is no item.
func (w *worker) deliveryOf(m jetstream.Msg) *delivery {
	place, key, ok := parseSubject(m.Subject())
	meta, err := m.Metadata()
	if !ok || err != nil {
		w.o.Log("%s: a message that is no item is thrown away: %s", w.l.address, printableLine(m.Subject()))
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
		return // fetch meets the same trouble and says so
	}
	mine := consumerName(subjectToken(w.o.Version))
	list := s.ListConsumers(ctx)
	for c := range list.Info() {
		if c.Name == mine || c.NumPending+uint64(c.NumAckPending) == 0 || c.NumWaiting > 0 || w.loggedVersions[c.Name] {
			continue
		}
		w.loggedVersions[c.Name] = true
		w.o.Log("%s: %d items of version %s are left to workers of that version; this is %s",
			w.l.address, c.NumPending+uint64(c.NumAckPending), printableLine(cmp.Or(c.Config.Metadata["version"], c.Name)), w.o.Version)
	}
}
