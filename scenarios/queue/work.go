package queue

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Work takes items of o.Version of any batch from the queue, runs them with f and stores their results, until ctx ends
// or there was nothing to do for o.Idle; then it returns nil. When ctx ends, it waits for the calls of f, keeps what
// they finished and gives back the rest. An error says that the server cannot be reached or does not do its part.
func Work(ctx context.Context, o WorkerOptions, f Func) error {
	if o.URL == EmbeddedURL {
		return errors.New("queue: a worker needs the address of a server, such as nats://HOST:4222; embedded is for publishers")
	}
	return work(ctx, o.withDefaults(), nil, f)
}

// worker takes items and runs several at a time.
type worker struct {
	o WorkerOptions
	f Func
	l *link

	todo  chan *task    // received, not begun; never full
	freed chan struct{} // holds one value if fewer items are queued or running than before
	load  atomic.Int64  // items queued or running
	mean  atomic.Int64  // nanoseconds an item took, lately; 0: unknown
	alone sync.RWMutex  // an item under suspicion runs with the write lock
	saver *saver

	mu      sync.Mutex
	held    map[*task]struct{} // received and neither acknowledged nor given back
	back    []*task            // to be given back when deaf
	deaf    bool               // no request for items stands, and none will
	begunKV jetstream.KeyValue
	uncount sync.Once       // see uncounted
	told    map[string]bool // versions that were logged
}

// task is an item on its way through a worker.
type task struct {
	msg        jetstream.Msg
	place      place
	key        string
	deliveries uint64
	begun      int // of earlier times; 0 on the first delivery
}

// maxAhead is the most items that a worker has received and not begun, and aheadTime how long they may take it: enough
// to hide the way to the server, and short enough not to keep items from other workers.
const (
	maxAhead  = 512
	aheadTime = 100 * time.Millisecond
)

// newWorker connects a worker. inside is a server of this process, or nil.
func newWorker(ctx context.Context, o WorkerOptions, inside *Server, f Func) (*worker, error) {
	l, err := dial(ctx, dialOptions{o.URL, o.Credentials, o.Token, o.Version, o.AckWait, o.Reconnect, o.Log, inside})
	if err != nil {
		return nil, err
	}
	w := &worker{
		o: o, f: f, l: l, todo: make(chan *task, o.Workers+maxAhead), freed: make(chan struct{}, 1),
		held: map[*task]struct{}{}, told: map[string]bool{},
	}
	w.saver = newSaver(w)
	return w, nil
}

func work(ctx context.Context, o WorkerOptions, inside *Server, f Func) error {
	w, err := newWorker(ctx, o, inside, f)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	return w.work(ctx)
}

// work runs until stop ends. The link's own context ends with it.
func (w *worker) work(stop context.Context) error {
	defer w.l.close()
	ctx := w.l.ctx
	_, consumer, err := w.l.openWork(ctx)
	if err != nil {
		if stop.Err() != nil {
			return nil
		}
		return err
	}

	// Results are stored for some time after a stop, but not without a connection.
	late, cancelLate := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelLate()
	defer context.AfterFunc(ctx, func() {
		if stop.Err() == nil {
			cancelLate()
		}
	})()
	var runners, others sync.WaitGroup
	for range w.o.Workers {
		runners.Go(func() {
			for t := range w.todo {
				w.run(ctx, late, t)
			}
		})
	}
	var saveErr error
	others.Go(func() {
		if saveErr = w.saver.run(late); saveErr != nil {
			w.l.lose(saveErr)
		}
	})
	alive, cancelAlive := context.WithCancel(late)
	others.Go(func() { w.keepAlive(alive, consumer.CachedInfo().Config.AckWait) })

	if err = w.fetch(ctx, consumer); err != nil {
		w.l.lose(err)
	}
	w.giveAllBack()
	close(w.todo)
	runners.Wait()
	lastSave := time.AfterFunc(lastSaves, cancelLate)
	w.saver.end()
	<-w.saver.done
	lastSave.Stop()
	cancelAlive()
	others.Wait()
	switch {
	case stop.Err() != nil:
		return nil // as asked
	case err == nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		return saveErr
	}
	return err
}

// lastSaves is how long a worker that is to stop tries to store its results.
const lastSaves = 10 * time.Second

// fetch receives items until ctx ends, which is no error, or there is nothing to do for long.
func (w *worker) fetch(ctx context.Context, consumer jetstream.Consumer) error {
	trouble := trouble{l: w.l, doing: "taking items"}
	busy, looked := time.Now(), time.Now()
	for ctx.Err() == nil {
		n := w.room()
		if n <= 0 {
			busy = time.Now()
			select {
			case <-w.freed:
			case <-ctx.Done():
			}
			continue
		}
		got, err := w.receive(ctx, consumer, n)
		if got > 0 || w.load.Load() > 0 {
			busy = time.Now()
		}
		if err == nil {
			trouble.over()
		} else if ctx.Err() == nil {
			if err := trouble.pause(ctx, err); err != nil {
				return err
			}
			if _, c, err := w.l.openWork(ctx); err == nil {
				consumer = c
			}
			continue
		}
		if got > 0 {
			continue
		}
		if w.o.Idle > 0 && time.Since(busy) >= w.o.Idle {
			w.o.Log("nothing to do for %v", w.o.Idle)
			return nil
		}
		if time.Since(looked) >= w.o.noticed {
			looked = time.Now()
			w.lookAround(ctx)
		}
	}
	return nil
}

// room returns how many items to ask for.
func (w *worker) room() int {
	ahead := int64(0)
	if mean := w.mean.Load(); mean > 0 {
		ahead = min(maxAhead, int64(w.o.Workers)*int64(aheadTime)/mean)
	}
	n := int64(w.o.Workers) + ahead - w.load.Load()
	if n < ahead/2 { // few at a time would cost too much
		return 0
	}
	return int(n)
}

// receive asks for n items once. When ctx ends, the request still stands until the server has dropped it, so that no
// item is on its way to nobody.
func (w *worker) receive(ctx context.Context, consumer jetstream.Consumer, n int) (got int, err error) {
	poll := w.o.poll
	if w.o.Idle > 0 {
		poll = max(10*time.Millisecond, min(poll, w.o.Idle))
	}
	how := jetstream.FetchMaxWait(poll)
	if w.l.inside != nil { // which ends with its workers
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
			got++
			w.load.Add(1)
			w.take(ctx, m)
		case <-stop:
			if !w.l.nc.IsConnected() {
				return got, nil
			}
			stop = nil
		}
	}
}

// take puts a received item in line.
func (w *worker) take(ctx context.Context, m jetstream.Msg) {
	t := &task{msg: m}
	var ok bool
	t.place, t.key, ok = parseSubject(m.Subject())
	meta, err := m.Metadata()
	if !ok || err != nil {
		w.o.Log("%s: a message that is no item is thrown away: %s", w.l.where, line(m.Subject()))
		w.warn(m.Term())
		w.release()
		return
	}
	t.deliveries = meta.NumDelivered
	w.mu.Lock()
	w.held[t] = struct{}{}
	w.mu.Unlock()
	if ctx.Err() != nil {
		w.giveBack(t)
		w.release()
		return
	}
	w.todo <- t
}

// release says that an item is neither queued nor running any more.
func (w *worker) release() {
	w.load.Add(-1)
	select {
	case w.freed <- struct{}{}:
	default:
	}
}

// drop forgets an item: it is acknowledged, given back or not to be had.
func (w *worker) drop(t *task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, t)
}

// giveBack makes an item of a worker that stops go to another at once, or as soon as it cannot come back here.
func (w *worker) giveBack(t *task) {
	w.mu.Lock()
	if !w.deaf {
		w.back = append(w.back, t)
		w.mu.Unlock()
		return
	}
	delete(w.held, t)
	w.mu.Unlock()
	w.warn(t.msg.Nak())
}

// giveAllBack gives back what waited for the last request to be over.
func (w *worker) giveAllBack() {
	w.mu.Lock()
	back := w.back
	w.back, w.deaf = nil, true
	w.mu.Unlock()
	for _, t := range back {
		w.giveBack(t)
	}
}

// warn logs the error of a message that the server also does without: it then gives the item to somebody once more,
// which is harmless.
func (w *worker) warn(err error) {
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		w.o.Log("%s: %v", w.l.where, err)
	}
}

// keepAlive tells the server of every held item that it is still worked on.
func (w *worker) keepAlive(ctx context.Context, ackWait time.Duration) {
	for pause(ctx, max(ackWait/3, time.Millisecond)) {
		w.mu.Lock()
		held := make([]*task, 0, len(w.held))
		for t := range w.held {
			held = append(held, t)
		}
		w.mu.Unlock()
		for _, t := range held {
			if err := t.msg.InProgress(); err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
				w.warn(err)
				break
			}
		}
	}
}

// lookAround logs, once each, versions whose items wait for other workers.
func (w *worker) lookAround(ctx context.Context) {
	ctx, cancel := w.l.call(ctx)
	defer cancel()
	s, err := w.l.js.Stream(ctx, workStream)
	if err != nil {
		return // fetch meets the same trouble and says so
	}
	mine := consumerName(token(w.o.Version))
	list := s.ListConsumers(ctx)
	for c := range list.Info() {
		if c.Name == mine || c.NumPending+uint64(c.NumAckPending) == 0 || c.NumWaiting > 0 || w.told[c.Name] {
			continue
		}
		w.told[c.Name] = true
		w.o.Log("%s: %d items of version %s are left to workers of that version; this is %s",
			w.l.where, c.NumPending+uint64(c.NumAckPending), line(set(c.Config.Metadata["version"], c.Name)), w.o.Version)
	}
}
