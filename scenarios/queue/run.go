package queue

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"sim/internal/text"
)

// run does an item and hands its result to the saver. late outlives ctx.
func (w *worker) run(ctx, late context.Context, t *task) {
	defer w.release()
	if ctx.Err() != nil {
		w.giveBack(t)
		return
	}
	if t.deliveries > 1 && !w.suspect(ctx, late, t) {
		return
	}
	// After many beginnings without an end something is wrong with the item, or with one that was running beside it: by
	// itself it shows, and with nothing beside it that can be lost.
	if t.begun > w.o.Attempts/2 {
		w.alone.Lock()
		defer w.alone.Unlock()
		w.saver.wait(late)
		defer w.saver.wait(late)
	} else {
		w.alone.RLock()
		defer w.alone.RUnlock()
	}
	if ctx.Err() != nil {
		w.giveBack(t)
		return
	}
	if t.begun > 0 {
		w.uncounted(w.setBegun(ctx, t, t.begun+1))
	}
	begun := time.Now()
	data, err := w.call(ctx, t)
	if err != nil && ctx.Err() != nil {
		w.stopped(late, t)
		return
	}
	w.took(time.Since(begun))
	r := &Result{Key: t.key, Data: data}
	switch {
	case err != nil:
		r = failure(t.key, err.Error(), false)
	case len(data) > MaxResult:
		r = tooLarge(t.key)
	}
	w.saver.add(late, saved{t, r})
}

// suspect looks at an item that was delivered before, and reports whether to run it. If it was begun too often, it has
// failed.
func (w *worker) suspect(ctx, late context.Context, t *task) bool {
	n, err := w.begun(ctx, t)
	if ctx.Err() != nil {
		w.giveBack(t)
		return false
	}
	if w.uncounted(err); err != nil { // a part of its deliveries must do
		n = max(1, int(t.deliveries)/10)
	}
	t.begun = n
	if n < w.o.Attempts {
		return true
	}
	w.saver.add(late, saved{t, &Result{Key: t.key, Failed: fmt.Sprintf(
		"begun %d times and never finished: its workers died, or lost the queue for longer than it waits; the last worker to take it is %s", n, here())}})
	return false
}

// stopped gives back an item that was not finished because the worker stops.
func (w *worker) stopped(late context.Context, t *task) {
	if t.begun > 0 && w.l.nc.IsConnected() {
		w.uncounted(w.setBegun(late, t, t.begun))
	}
	w.giveBack(t)
}

// uncounted says once that the server does not keep count.
func (w *worker) uncounted(err error) {
	if err != nil && w.l.nc.IsConnected() {
		w.uncount.Do(func() { w.o.Log("%s: how often items are begun cannot be counted: %v", w.l.where, err) })
	}
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

// took keeps the mean duration of the last few items.
func (w *worker) took(d time.Duration) {
	d = max(d, time.Microsecond)
	if old := w.mean.Load(); old > 0 {
		d = (7*time.Duration(old) + d) / 8
	}
	w.mean.Store(int64(d)) // of two at a time one counts: it is a guess anyway
}

// failure is the result of an item that has none. Whoever wrote why, it is one printable line.
func failure(key, why string, always bool) *Result {
	return &Result{Key: key, Failed: set(line(why), "it failed without a word"), Always: always}
}

// line makes one printable line of a text that comes from elsewhere.
func line(s string) string { return text.Line(s, mostLine) }

// mostLine is the most bytes of a line.
const mostLine = 400
