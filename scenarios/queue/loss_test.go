package queue

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sim/scenarios/queue/embedded"
)

// TestReconnect: a lost connection is restored, for the publisher and for workers.
func TestReconnect(t *testing.T) {
	b := newBed(t)
	const n = 100
	wire := newWire(t, b.url)
	var cuts atomic.Int32
	o, po := b.workerOptions(), b.options("n")
	o.URL, po.URL = wire.url(), wire.url()
	o.AckWait, po.AckWait = time.Second, time.Second
	b.work(o, func(ctx context.Context, payload []byte) ([]byte, error) {
		if bytes.HasPrefix(payload, payload9) && cuts.Add(1) == 1 {
			wire.set(true)
			time.AfterFunc(100*time.Millisecond, func() { wire.set(false) })
		}
		return echo(ctx, payload)
	})
	b.publish(po, numbered(n)).check(want(n))
	if b.j.count("connected again") == 0 {
		t.Errorf("no connection was lost: %q", b.j.lines)
	}
}

func TestLostWorker(t *testing.T) {
	b := newBed(t)
	wire := newWire(t, b.url)
	o := b.workerOptions()
	o.URL, o.Reconnect = wire.url(), 200*time.Millisecond
	time.AfterFunc(100*time.Millisecond, func() { wire.set(true) })
	err := Work(context.Background(), o, echo)
	if err == nil || !strings.Contains(err.Error(), "did not come back within 200ms") {
		t.Errorf("it ended with %v", err)
	}
}

// TestServerLosesItsStore: a server that lost its store receives the items again.
func TestServerLosesItsStore(t *testing.T) {
	b := newBed(t)
	const n = 40
	o, po := b.workerOptions(), b.options("n")
	po.AckWait = 300 * time.Millisecond
	o.AckWait = po.AckWait
	gate := make(chan struct{})
	b.work(o, func(ctx context.Context, payload []byte) ([]byte, error) {
		if bytes.HasPrefix(payload, payload9) {
			<-gate
		}
		return echo(ctx, payload)
	})
	r := newResults(t)
	half := make(chan struct{})
	r.after = func(got int) error {
		if got == 5 {
			close(half)
		}
		return nil
	}
	ended := make(chan error)
	go func() { ended <- Publish(context.Background(), po, numbered(n), r.done) }()
	<-half
	address := strings.TrimPrefix(b.url, "nats://")
	if err := b.s.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.s, err = embedded.Start(address, "", nil); err != nil {
		t.Fatal(err)
	}
	close(gate)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	r.check(want(n))
}

// TestItemsRemoved: items that were removed manually are found and published again.
func TestItemsRemoved(t *testing.T) {
	b := newBed(t)
	po := b.options("n")
	po.AckWait = 200 * time.Millisecond
	ended := make(chan *resultLog)
	go func() { ended <- b.publish(po, numbered(50)) }()
	l, _ := b.store("other")
	var removed uint64
	eventually(t, "items are there to be removed", func() bool {
		s, err := l.js.Stream(context.Background(), workStream)
		if err != nil || s.CachedInfo().State.Msgs < 50 {
			return false
		}
		removed = s.CachedInfo().State.Msgs
		return s.Purge(context.Background()) == nil
	})
	eventually(t, "it is noticed", func() bool { return b.j.count("they are published again") == 1 })
	b.work(b.workerOptions(), echo)
	at := time.Now()
	(<-ended).check(want(50))
	if d := time.Since(at); d > 10*time.Second {
		t.Errorf("then it took %v", d)
	}
	if removed != 50 {
		t.Errorf("%d items were removed", removed)
	}
}
