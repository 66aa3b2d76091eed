// This file counts the starts of an item, because an item that kills its workers must not be
// retried forever. The number of deliveries does not measure this: a worker may stop
// regularly, or die because of another item. Therefore, from the second delivery on, the
// server stores how often an item was started while it runs. A worker that stops regularly
// takes its own start back. The first delivery counts as one start although it is not stored.

package queue

import (
	"context"
	"errors"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"
)

// readStarts returns how often an item was started and not finished.
func (w *worker) readStarts(ctx context.Context, t *delivery) (n int, err error) {
	err = w.withStartCounts(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		e, err := kv.Get(ctx, t.startsKey())
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil
		}
		if err == nil {
			// Only workers write here; an invalid count must not stop the item.
			n, _ = strconv.Atoi(string(e.Value()))
		}
		return err
	})
	return max(n, 1), err
}

// writeStarts stores the number of starts, or removes it if n is 0.
func (w *worker) writeStarts(ctx context.Context, t *delivery, n int) {
	err := w.withStartCounts(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		if n == 0 {
			return kv.Purge(ctx, t.startsKey())
		}
		_, err := kv.Put(ctx, t.startsKey(), []byte(strconv.Itoa(n)))
		return err
	})
	w.logUncounted(err)
}

// startsKey returns the key of the count in the bucket.
func (t *delivery) startsKey() string { return t.address.version + "." + t.address.batch + "." + t.key }

// withStartCounts calls do with the bucket of counts, which is created if it is missing.
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

// logUncounted logs once that the server does not store counts.
func (w *worker) logUncounted(err error) {
	if err != nil && w.l.nc.IsConnected() {
		w.uncountedOnce.Do(func() { w.o.Log("%s: how often items are begun cannot be counted: %v", w.l.address, err) })
	}
}
