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

// readStarts returns how often an item was begun without an end.
func (w *worker) readStarts(ctx context.Context, t *delivery) (n int, err error) {
	err = w.withStartCounts(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		e, err := kv.Get(ctx, t.startsKey())
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

// writeStarts keeps the count, or with 0 forgets it.
func (w *worker) writeStarts(ctx context.Context, t *delivery, n int) {
	err := w.withStartCounts(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		if n == 0 {
			return kv.Purge(ctx, t.startsKey())
		}
		_, err := kv.Put(ctx, t.startsKey(), strconv.AppendInt(nil, int64(n), 10))
		return err
	})
	w.logUncounted(err)
}

func (t *delivery) startsKey() string { return t.address.version + "." + t.address.batch + "." + t.key }

// withStartCounts does something with the bucket of counts, which it makes if it is missing.
func (w *worker) withStartCounts(ctx context.Context, do func(context.Context, jetstream.KeyValue) error) error {
	ctx, cancel := w.l.requestContext(ctx)
	defer cancel()
	kv, err := w.l.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: startsBucket, Description: "how often items of sim were begun", TTL: retention,
	})
	if err != nil {
		return err
	}
	return do(ctx, kv)
}

// logUncounted says once that the server does not keep count.
func (w *worker) logUncounted(err error) {
	if err != nil && w.l.nc.IsConnected() {
		w.uncountedOnce.Do(func() { w.o.Log("%s: how often items are begun cannot be counted: %v", w.l.address, err) })
	}
}
