package queue

import (
	"context"
	"errors"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
)

// An item that kills its workers must not go round for ever. How often the queue delivered it is no measure: a worker
// may be stopped in good order, or die of another item. So from its second delivery on, how often an item was begun is
// kept on the server while it runs; a worker that stops in good order takes its own beginning back. The first, which
// nobody wrote down, counts.

// begun returns how often an item was begun without an end.
func (w *worker) begun(ctx context.Context, t *task) (int, error) {
	ctx, cancel := w.l.call(ctx)
	defer cancel()
	kv, err := w.begunStore(ctx)
	if err != nil {
		return 0, err
	}
	e, err := kv.Get(ctx, t.begunKey())
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 1, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(string(e.Value()))
	if err != nil || n < 1 {
		return 1, nil // nobody else writes there; a wrong count must not stop the item
	}
	return n, nil
}

// setBegun keeps the count, or with 0 forgets it.
func (w *worker) setBegun(ctx context.Context, t *task, n int) error {
	ctx, cancel := w.l.call(ctx)
	defer cancel()
	kv, err := w.begunStore(ctx)
	if err != nil {
		return err
	}
	if n == 0 {
		err = kv.Purge(ctx, t.begunKey())
	} else {
		_, err = kv.Put(ctx, t.begunKey(), strconv.AppendInt(nil, int64(n), 10))
	}
	if gone(err) { // the server lost its store: make it again next time
		w.mu.Lock()
		w.begunKV = nil
		w.mu.Unlock()
	}
	return err
}

func (t *task) begunKey() string { return t.place.version + "." + t.place.batch + "." + t.key }

func (w *worker) begunStore(ctx context.Context) (jetstream.KeyValue, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begunKV != nil {
		return w.begunKV, nil
	}
	kv, err := w.l.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: begunBucket, Description: "how often items of sim were begun", TTL: keepFor,
	})
	if err == nil {
		w.begunKV = kv
	}
	return kv, err
}
