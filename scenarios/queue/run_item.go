// This file runs one item in a worker, from its delivery until its result is stored.

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

// runItem runs an item, stores its result and removes it from the queue. If ctx ends, it
// returns the item to the queue. late ends after ctx, so that a finished result can still be
// stored.
func (w *worker) runItem(ctx, late context.Context, t *delivery) {
	// Renew the delivery of the item at the server until this function returns.
	alive, done := context.WithCancel(late)
	defer done()
	go w.keepAlive(alive, t)
	// An item that was delivered before may have been started too often.
	var r *Result
	if t.deliveries > 1 && ctx.Err() == nil {
		r = w.checkStarts(ctx, t)
	}
	// Many starts without an end indicate a problem of this item or of one that ran at
	// the same time. Such an item runs exclusively: this identifies it, and no other item
	// is lost.
	if t.starts > w.o.Attempts/2 {
		w.exclusive.Lock()
		defer w.exclusive.Unlock()
	} else {
		w.exclusive.RLock()
		defer w.exclusive.RUnlock()
	}
	// Run the item, and count its start while it runs.
	if r == nil && ctx.Err() == nil {
		if t.starts > 0 {
			w.writeStarts(ctx, t, t.starts+1)
		}
		if r = w.itemResult(ctx, t); r == nil && t.starts > 0 && w.l.nc.IsConnected() {
			w.writeStarts(late, t, t.starts)
		}
	}
	if r == nil {
		w.logError(t.msg.Nak())
		return
	}
	w.store(late, t, r)
}

// checkStarts counts the starts of an item that was delivered before. It returns a
// failure if they exceed Attempts.
func (w *worker) checkStarts(ctx context.Context, t *delivery) *Result {
	n, err := w.readStarts(ctx, t)
	if w.logUncounted(err); err != nil {
		// Estimate the starts from the deliveries. Most deliveries end regularly, so at most
		// one in ten counts.
		n = max(1, int(t.deliveries)/10)
	}
	if t.starts = n; n < w.o.Attempts {
		return nil
	}
	return &Result{Key: t.key, Failed: fmt.Sprintf(
		"begun %d times and never finished: its workers died, or lost the queue for longer than it waits; the last worker to take it is %s", n, processName())}
}

// itemResult runs an item. It returns nil if ctx ended first.
func (w *worker) itemResult(ctx context.Context, t *delivery) *Result {
	data, err := w.callFunc(ctx, t)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		return failedResult(t.key, err.Error())
	case len(data) > MaxResult:
		return tooLargeResult(t.key)
	}
	return &Result{Key: t.key, Data: data}
}

// callFunc calls f and converts a panic into an error.
func (w *worker) callFunc(ctx context.Context, t *delivery) (data []byte, err error) {
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

// store stores a result and removes its item from the queue. The result is dropped if the
// batch has ended. If the server does not accept the result, the worker stops.
func (w *worker) store(ctx context.Context, t *delivery, r *Result) {
	retry := retryPolicy{l: w.l, operation: "storing results"}
	for {
		err := w.l.storeResult(ctx, t.address, r)
		if err == nil {
			break
		}
		if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrNoResponders) {
			if w.isBatchEnded(ctx, t.address) {
				w.o.Log("%s: dropped a result of batch %s, which has ended", w.l.address, t.address.batch)
				w.logError(t.msg.Term())
				return
			}
		}
		if err := retry.wait(ctx, err); err != nil {
			if ctx.Err() == nil {
				w.l.fail(err)
			}
			return
		}
	}
	w.logError(t.msg.Ack())
	if t.starts > 0 {
		w.writeStarts(ctx, t, 0)
	}
}

// isBatchEnded reports whether the batch has no stream for results.
func (w *worker) isBatchEnded(ctx context.Context, p batchAddress) bool {
	ctx, cancel := w.l.requestContext(ctx)
	defer cancel()
	_, err := w.l.js.Stream(ctx, p.streamName())
	return errors.Is(err, jetstream.ErrStreamNotFound)
}

// keepAlive reports to the server that an item is still running, three times in the time after
// which the server would give it to another worker.
func (w *worker) keepAlive(ctx context.Context, t *delivery) {
	for sleep(ctx, max(w.ackWait/3, time.Millisecond)) {
		if err := t.msg.InProgress(); !errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			w.logError(err)
		}
	}
}

// logError logs an error of a message that the server does not need: it then delivers the
// item again, which is harmless.
func (w *worker) logError(err error) {
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		w.o.Log("%s: %v", w.l.address, err)
	}
}

// printableLine converts text from another process into one printable line.
func printableLine(s string) string { return text.Line(s, maxLineBytes) }

// maxLineBytes is the maximum length of a line: about four lines of a terminal.
const maxLineBytes = 400
