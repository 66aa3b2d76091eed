package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sim/scenarios/queue/embedded"
)

var payload9 = []byte("payload of item 9:")

// TestFailures: a failing item is reported and does not affect others.
func TestFailures(t *testing.T) {
	b := newBed(t)
	b.work(b.workerOptions(), func(ctx context.Context, payload []byte) ([]byte, error) {
		switch {
		case bytes.HasPrefix(payload, []byte("payload of item 3:")):
			return nil, errors.New("three\nis bad")
		case bytes.HasPrefix(payload, []byte("payload of item 4:")):
			panic("four")
		case bytes.HasPrefix(payload, []byte("payload of item 5:")):
			return nil, errors.New("")
		}
		return echo(ctx, payload)
	})
	items := numbered(20)
	items[6].Payload = func() ([]byte, error) { return nil, errors.New("no payload") }
	items[7].Payload = inMemory(make([]byte, embedded.MaxPayload+1))
	r := b.publish(b.options("n"), items)
	w := want(20)
	w[key(3)] = "failed: three; is bad"
	w[key(4)] = "failed: panic: four"
	w[key(5)] = "failed: it failed without a word"
	w[key(6)] = "failed: no payload"
	w[key(7)] = r.got[key(7)]
	r.check(w)
	if !strings.HasPrefix(w[key(7)], "failed: the item takes 8388") {
		t.Errorf("an item that is too large gives %.200q", w[key(7)])
	}
}

// TestSizes: large items and results are transferred, also in several parts; so is an
// empty batch.
func TestSizes(t *testing.T) {
	b := newBed(t)
	b.work(b.workerOptions(), func(_ context.Context, payload []byte) ([]byte, error) { return bytes.Repeat(payload, 5), nil })
	items := []Item{{"empty", inMemory(nil)}, {"small", inMemory([]byte("x"))}, {"large", inMemory(bytes.Repeat([]byte("0123456789"), 100_000))}}
	r := b.publish(b.options("n"), items)
	r.check(map[string]string{"empty": "", "small": "xxxxx", "large": strings.Repeat("0123456789", 500_000)})
}

// TestResultsAreThere: items with a stored result are not run again. Duplicate results
// and results of unknown items are ignored.
func TestResultsAreThere(t *testing.T) {
	b := newBed(t)
	l, s := b.store("n")
	ctx, p := context.Background(), batchAddressOf("1", "n")
	for _, i := range []int{1, 2, 1, 2, 3, 77, 1} {
		if err := l.storeResult(ctx, p, &Result{Key: key(i), Data: fmt.Append(nil, "result of ", string(payload(i)))}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.js.Publish(ctx, p.resultSubject("rubbish"), []byte("rubbish")); err != nil {
		t.Fatal(err)
	}
	var runs counter
	stop := b.work(b.workerOptions(), runs.count(echo))
	b.publish(b.options("n"), numbered(10)).check(want(10))
	stop()
	if runs.total() != 7 || len(runs.twice()) > 0 {
		t.Errorf("%d items were run instead of 7; twice: %q", runs.total(), runs.twice())
	}
	if b.j.count("cannot be read") != 1 {
		t.Errorf("nothing was said of what is no result: %q", b.j.lines)
	}
	if _, err := s.Info(context.Background()); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the store of a finished batch is still there: %v", err)
	}
}

// store creates the stream of a batch's results.
func (b *testServer) store(name string) (*queueLink, jetstream.Stream) {
	b.Helper()
	l, err := dial(context.Background(), Peer{URL: b.url, Version: "1", AckWait: time.Second, Reconnect: time.Second, Log: b.j.log}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(l.close)
	s, err := l.openResults(context.Background(), batchAddressOf("1", name))
	if err != nil {
		b.Fatal(err)
	}
	return l, s
}

// TestStore: results are read as they were stored, in one or many parts; a result with a
// missing part is ignored.
func TestStore(t *testing.T) {
	b := newBed(t)
	l, s := b.store("n")
	ctx, p := context.Background(), batchAddressOf("1", "n")
	last := func() *jetstream.RawStreamMsg {
		m, err := s.GetLastMsgForSubject(ctx, p.resultSubject("*"))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, size := range []int{0, 1, partBytes / 4 * 3, partBytes, 20*partBytes + 7} {
		in := &Result{Key: "k", Data: bytes.Repeat([]byte("0123456789abcde"), size/15+1)[:size]}
		if err := l.storeResult(ctx, p, in); err != nil {
			t.Fatal(err)
		}
		if out, err := l.readResult(ctx, s, p, last()); err != nil || out == nil || out.Key != "k" || !bytes.Equal(out.Data, in.Data) {
			t.Errorf("%d bytes are read as %v, %v", size, out, err)
		}
	}
	m := last()
	part, err := l.nextMessage(ctx, s, 1, p.partSubject(lastToken(m.Subject)))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteMsg(ctx, part.Sequence); err != nil {
		t.Fatal(err)
	}
	if out, err := l.readResult(ctx, s, p, m); out != nil || err != nil {
		t.Errorf("without a part it is read as %v, %v", out, err)
	}
}

// TestCollect: delivered results are removed, and none is lost without notifications;
// results that are not delivered stay.
func TestCollect(t *testing.T) {
	b := newBed(t)
	l, s := b.store("n")
	p, err := newPublisher(b.options("n"), numbered(2))
	if err != nil {
		t.Fatal(err)
	}
	p.l, p.results = l, s
	p.work, p.consumer, err = l.openWork(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	got := make(chan string)
	ended := make(chan error)
	go func() {
		ended <- p.collect(ctx, nil, func(r Result) error {
			got <- r.Key
			return nil
		})
	}()
	time.Sleep(100 * time.Millisecond) // let it fall asleep
	if err := l.storeResult(ctx, p.address, &Result{Key: key(0), Data: make([]byte, 2*partBytes)}); err != nil {
		t.Fatal(err)
	}
	if k := <-got; k != key(0) {
		t.Fatalf("collected %s", k)
	}
	left := func() uint64 {
		info, err := s.Info(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return info.State.Msgs
	}
	eventually(t, "it is gone", func() bool { return left() == 0 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := l.storeResult(context.Background(), p.address, &Result{Key: key(1)}); err != nil || left() != 1 {
		t.Errorf("%d messages are left, %v", left(), err)
	}
}

// TestKilledPublisher: a killed publisher leaves its items and results for its successor.
func TestKilledPublisher(t *testing.T) {
	b := newBed(t)
	const n = 60
	wire := newWire(t, b.url)
	var gate atomic.Bool // lets workers continue
	var runs counter
	b.work(b.workerOptions(), runs.count(func(ctx context.Context, payload []byte) ([]byte, error) {
		for runs.total() > n/2 && !gate.Load() && sleep(ctx, time.Millisecond) {
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return echo(ctx, payload)
	}))
	o := b.options("n")
	o.URL, o.Reconnect = wire.url(), 200*time.Millisecond
	l, _ := b.store("other")
	first := newResults(t)
	first.after = func(got int) error {
		if got == 10 {
			eventually(t, "all are published", func() bool {
				s, err := l.js.Stream(context.Background(), workStream)
				return err == nil && s.CachedInfo().State.LastSeq == n
			})
			wire.set(true)
		}
		return nil
	}
	err := Publish(context.Background(), o, numbered(n), first.done)
	if err == nil || !strings.Contains(err.Error(), "the connection was lost and did not come back within 200ms") {
		t.Fatalf("the first publisher ended with %v after %d results", err, len(first.got))
	}
	var rest []Item
	for _, it := range numbered(n) {
		if _, ok := first.got[it.Key]; !ok {
			rest = append(rest, it)
		}
	}
	ended := make(chan *resultLog)
	go func() { ended <- b.publish(b.options("n"), rest) }()
	time.Sleep(200 * time.Millisecond) // let it meet items that still wait
	gate.Store(true)
	second := <-ended
	for k, v := range first.got {
		second.got[k] = v
	}
	second.check(want(n))
	if twice := runs.twice(); len(twice) > 0 {
		t.Errorf("run twice: %q", twice)
	}
}

// TestItemsWaitAlready: items that an earlier publisher left on the queue are not
// duplicated.
func TestItemsWaitAlready(t *testing.T) {
	b := newBed(t)
	const n = 1500
	l, _ := b.store("n")
	for range 2 {
		p, err := newPublisher(b.options("n"), numbered(n))
		if err != nil {
			t.Fatal(err)
		}
		p.l = l
		ctx := context.Background()
		if _, _, err := l.openWork(ctx); err != nil {
			t.Fatal(err)
		}
		for p.numOutstanding < n {
			if _, err := p.publishSome(ctx, nil); err != nil {
				t.Fatal(err)
			}
		}
		s, err := l.js.Stream(context.Background(), workStream)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.CachedInfo().State.Msgs; got != n {
			t.Errorf("%d items are on the queue", got)
		}
	}
}

// TestCancel: waiting items of an interrupted batch are withdrawn, and it can be
// continued.
func TestCancel(t *testing.T) {
	b := newBed(t)
	stop := b.work(b.workerOptions(), func(ctx context.Context, payload []byte) ([]byte, error) {
		if bytes.HasPrefix(payload, payload9) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return echo(ctx, payload)
	})
	ctx, cancel := context.WithCancel(context.Background())
	r := newResults(t)
	var cancelled time.Time
	r.after = func(got int) error {
		if got == 5 {
			cancel()
			cancelled = time.Now()
		}
		return nil
	}
	if err := Publish(ctx, b.options("n"), numbered(2000), r.done); !errors.Is(err, context.Canceled) {
		t.Fatalf("it ended with %v", err)
	}
	if d := time.Since(cancelled); d > 2*time.Second {
		t.Errorf("it ended after %v", d)
	}
	l, _ := b.store("n")
	s, err := l.js.Stream(context.Background(), workStream)
	if err != nil {
		t.Fatal(err)
	}
	if n := s.CachedInfo().State.Msgs; n > 0 {
		t.Errorf("%d items are still on the queue", n)
	}
	stop()
	b.work(b.workerOptions(), echo)
	again := b.publish(b.options("n"), numbered(100))
	for k, v := range r.got { // handed over, and perhaps removed, before
		if _, ok := want(100)[k]; ok {
			again.got[k] = v
		}
	}
	again.check(want(100))
}

// TestTwoBatches: batches with the same keys do not affect each other; a batch has only
// one publisher at a time.
func TestTwoBatches(t *testing.T) {
	b := newBed(t)
	gate := make(chan struct{})
	b.work(b.workerOptions(), func(ctx context.Context, payload []byte) ([]byte, error) {
		<-gate
		return echo(ctx, payload)
	})
	type end struct {
		r   *resultLog
		err error
	}
	ends := map[string]chan end{}
	for _, name := range []string{"a", "b"} {
		ends[name] = make(chan end, 1)
		items := numbered(300)
		for i := range items {
			items[i].Payload = inMemory(append([]byte(name), payload(i)...))
		}
		go func() {
			r := newResults(t)
			err := Publish(context.Background(), b.options(name), items, r.done)
			ends[name] <- end{r, err}
		}()
	}
	l, _ := b.store("c")
	eventually(t, "both are on the queue", func() bool {
		s, err := l.js.Stream(context.Background(), workStream)
		return err == nil && s.CachedInfo().State.Msgs == 600
	})
	err := Publish(context.Background(), b.options("a"), numbered(1), newResults(t).done)
	if err == nil || !strings.Contains(err.Error(), "batch a is already being published, by "+processName()) {
		t.Errorf("a second publisher of a batch: %v", err)
	}
	close(gate)
	for name, c := range ends {
		e := <-c
		if e.err != nil {
			t.Fatal(e.err)
		}
		w := map[string]string{}
		for i := range 300 {
			w[key(i)] = "result of " + name + string(payload(i))
		}
		e.r.check(w)
	}
}

// TestMaxOutstanding: the number of published items without a result is limited. The queue may
// contain more, because an item stays there until its acknowledgement arrives.
func TestOutstanding(t *testing.T) {
	const maxOutstanding = 20
	b := newBed(t)
	l, _ := b.store("other")
	outstanding := 0
	b.work(b.workerOptions(), echo)
	o := b.options("n")
	o.MaxOutstanding = maxOutstanding
	r := newResults(t)
	r.after = func(got int) error {
		s, err := l.js.Stream(context.Background(), workStream)
		if err == nil {
			outstanding = max(outstanding, int(s.CachedInfo().State.LastSeq)-got)
		}
		return err
	}
	if err := Publish(context.Background(), o, numbered(300), r.done); err != nil {
		t.Fatal(err)
	}
	r.check(want(300))
	if outstanding == 0 || outstanding > maxOutstanding {
		t.Errorf("%d items were published and without result at a time", outstanding)
	}
}

func TestBadBatches(t *testing.T) {
	clean(t)
	good := Options{Peer: Peer{URL: "nats://127.0.0.1:1", Version: "1"}, Name: "n"}
	for want, change := range map[string]func(*Options, *[]Item){
		"two items of key":              func(_ *Options, is *[]Item) { *is = append(*is, (*is)[0]) },
		`"a.b" is no key`:               func(_ *Options, is *[]Item) { (*is)[0].Key = "a.b" },
		"needs a name":                  func(o *Options, _ *[]Item) { o.Name = "" },
		"version is needed":             func(o *Options, _ *[]Item) { o.Version = "" },
		"Workers need Run":              func(o *Options, _ *[]Item) { o.Workers = 1 },
		"needs workers in this process": func(o *Options, _ *[]Item) { o.URL = EmbeddedURL },
		"for an embedded server":        func(o *Options, _ *[]Item) { o.Listen = ":0" },
		"write nats://HOST:4222":        func(o *Options, _ *[]Item) { o.URL = "pulsar" },
		"or tls://HOST:4222":            func(o *Options, _ *[]Item) { o.URL = "http://u:secret@h:1" },
		"is no address to listen":       func(o *Options, _ *[]Item) { o.URL, o.Embed, o.Listen = EmbeddedURL, embed, "4222" },
		"token before @ must be":        func(o *Options, _ *[]Item) { o.URL, o.Embed, o.Listen = EmbeddedURL, embed, "a:b@:4222" },
		"no server answers; start":      func(*Options, *[]Item) {},
	} {
		o, items := good, numbered(3)
		change(&o, &items)
		err := Publish(context.Background(), o, items, newResults(t).done)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("instead of an error with %q: %v", want, err)
		}
	}
	if err := Publish(context.Background(), good, nil, nil); err != nil {
		t.Errorf("a batch of nothing: %v", err)
	}
	t.Setenv("TMPDIR", "/dev/null/x")
	good.URL, good.Embed, good.Listen = EmbeddedURL, embed, ":0"
	if err := Publish(context.Background(), good, numbered(3), nil); err == nil || !strings.Contains(err.Error(), "no place for the embedded") {
		t.Errorf("an embedded server without a temporary directory: %v", err)
	}
}
