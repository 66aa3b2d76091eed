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
func (w *worker) begun(ctx context.Context, t *task) (n int, err error) {
	err = w.count(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		e, err := kv.Get(ctx, t.begunKey())
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		if err == nil {
			n, _ = strconv.Atoi(string(e.Value())) // nobody else writes there; a wrong count must not stop the item
		}
		return err
	})
	return max(n, 1), err
}

// setBegun keeps the count, or with 0 forgets it.
func (w *worker) setBegun(ctx context.Context, t *task, n int) {
	err := w.count(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		if n == 0 {
			return kv.Purge(ctx, t.begunKey())
		}
		_, err := kv.Put(ctx, t.begunKey(), strconv.AppendInt(nil, int64(n), 10))
		return err
	})
	w.uncounted(err)
}

func (t *task) begunKey() string { return t.place.version + "." + t.place.batch + "." + t.key }

// count does something with the bucket of counts, which it makes if it is missing.
func (w *worker) count(ctx context.Context, do func(context.Context, jetstream.KeyValue) error) error {
	ctx, cancel := w.l.call(ctx)
	defer cancel()
	kv, err := w.l.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: begunBucket, Description: "how often items of sim were begun", TTL: keepFor,
	})
	if err != nil {
		return err
	}
	return do(ctx, kv)
}

// uncounted says once that the server does not keep count.
func (w *worker) uncounted(err error) {
	if err != nil && w.l.nc.IsConnected() {
		w.uncount.Do(func() { w.o.Log("%s: how often items are begun cannot be counted: %v", w.l.where, err) })
	}
}
