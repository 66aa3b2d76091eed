package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sim/internal/text"
)

// run does an item, stores its result and takes it off the queue, or gives it back where ctx ends. late outlives ctx.
func (w *worker) run(ctx, late context.Context, t *task) {
	alive, done := context.WithCancel(late)
	defer done()
	go w.keepAlive(alive, t)
	var r *Result
	if t.deliveries > 1 && ctx.Err() == nil {
		r = w.suspect(ctx, t)
	}
	// After many beginnings without an end something is wrong with the item, or with one that was running beside it: by
	// itself it shows, and with nothing beside it that can be lost.
	if t.begun > w.o.Attempts/2 {
		w.alone.Lock()
		defer w.alone.Unlock()
	} else {
		w.alone.RLock()
		defer w.alone.RUnlock()
	}
	if r == nil && ctx.Err() == nil {
		if t.begun > 0 {
			w.setBegun(ctx, t, t.begun+1)
		}
		if r = w.result(ctx, t); r == nil && t.begun > 0 && w.l.nc.IsConnected() {
			w.setBegun(late, t, t.begun)
		}
	}
	if r == nil {
		w.warn(t.msg.Nak())
		return
	}
	w.store(late, t, r)
}

// suspect looks at an item that was delivered before. If it was begun too often, it has failed.
func (w *worker) suspect(ctx context.Context, t *task) *Result {
	n, err := w.begun(ctx, t)
	if w.uncounted(err); err != nil { // a part of its deliveries must do
		n = max(1, int(t.deliveries)/10)
	}
	if t.begun = n; n < w.o.Attempts {
		return nil
	}
	return &Result{Key: t.key, Failed: fmt.Sprintf(
		"begun %d times and never finished: its workers died, or lost the queue for longer than it waits; the last worker to take it is %s", n, here())}
}

// result is what comes of an item, nil where ctx ended before it came to an end.
func (w *worker) result(ctx context.Context, t *task) *Result {
	data, err := w.call(ctx, t)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		return failure(t.key, err.Error(), false)
	case len(data) > MaxResult:
		return tooLarge(t.key)
	}
	return &Result{Key: t.key, Data: data}
}

// call is f, of which a panic is an error.
func (w *worker) call(ctx context.Context, t *task) (data []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.o.Log("item %s: panic: %v", t.key, p)
			for l := range strings.Lines(string(debug.Stack())) {
				w.o.Log("%s", strings.TrimRight(l, "\n"))
			}
			data, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	return w.f(ctx, t.msg.Data())
}

// store stores a result, and then takes its item off the queue. Of a batch that has ended the result is dropped. Where
// the server does not take it, the worker is at its end.
func (w *worker) store(ctx context.Context, t *task, r *Result) {
	trouble := trouble{l: w.l, doing: "storing results"}
	for {
		err := w.l.put(ctx, t.place, r)
		if err == nil {
			break
		}
		if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) {
			if w.unwanted(ctx, t.place) {
				w.o.Log("%s: 1 results of batch %s are not wanted any more", w.l.where, t.place.batch)
				w.warn(t.msg.Term())
				return
			}
		}
		if err := trouble.pause(ctx, err); err != nil {
			if ctx.Err() == nil {
				w.l.lose(err)
			}
			return
		}
	}
	w.warn(t.msg.Ack())
	if t.begun > 0 {
		w.setBegun(ctx, t, 0)
	}
}

// unwanted reports whether a batch has no stream for its results.
func (w *worker) unwanted(ctx context.Context, p place) bool {
	ctx, cancel := w.l.call(ctx)
	defer cancel()
	_, err := w.l.js.Stream(ctx, p.stream())
	return errors.Is(err, jetstream.ErrStreamNotFound)
}

// keepAlive tells the server that an item is still worked on.
func (w *worker) keepAlive(ctx context.Context, t *task) {
	for pause(ctx, max(w.ackWait/3, time.Millisecond)) {
		if err := t.msg.InProgress(); !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			w.warn(err)
		}
	}
}

// warn logs the error of a message that the server also does without: it then gives the item to somebody once more,
// which is harmless.
func (w *worker) warn(err error) {
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		w.o.Log("%s: %v", w.l.where, err)
	}
}

// line makes one printable line of a text that comes from elsewhere.
func line(s string) string { return text.Line(s, mostLine) }

// mostLine is the most bytes of a line.
const mostLine = 400
