package queue

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sim/scenarios/queue/embedded"
)

// inMemory returns an Item's Payload with fixed data.
func inMemory(b []byte) func() ([]byte, error) {
	return func() ([]byte, error) { return b, nil }
}

// numbered returns n different items.
func numbered(n int) []Item {
	items := make([]Item, n)
	for i := range items {
		items[i] = Item{Key: key(i), Payload: inMemory(payload(i))}
	}
	return items
}

func key(i int) string     { return fmt.Sprintf("%032x", i*i+7) }
func payload(i int) []byte { return fmt.Appendf(nil, "payload of item %d: %0200d", i, i) }

// echo is the Func of most tests.
func echo(_ context.Context, payload []byte) ([]byte, error) {
	return append([]byte("result of "), payload...), nil
}

// want returns the expected results of n items.
func want(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		data, _ := echo(context.Background(), payload(i))
		m[key(i)] = string(data)
	}
	return m
}

// resultLog collects the arguments of done.
type resultLog struct {
	t     *testing.T
	mu    sync.Mutex // lets the race detector see a done from two goroutines
	got   map[string]string
	after func(n int) error // called after each result; may be nil
}

func newResults(t *testing.T) *resultLog { return &resultLog{t: t, got: map[string]string{}} }

func (r *resultLog) done(res Result) error {
	if !r.mu.TryLock() {
		r.t.Error("done is called from two goroutines at a time")
		r.mu.Lock()
	}
	defer r.mu.Unlock()
	if _, twice := r.got[res.Key]; twice {
		r.t.Errorf("done is called twice for %s", res.Key)
	}
	r.got[res.Key] = string(res.Data)
	if res.Failed != "" {
		r.got[res.Key] = "failed: " + res.Failed
	}
	if r.after != nil {
		return r.after(len(r.got))
	}
	return nil
}

func (r *resultLog) check(want map[string]string) {
	r.t.Helper()
	if len(r.got) != len(want) {
		r.t.Errorf("%d results instead of %d", len(r.got), len(want))
	}
	if !maps.Equal(r.got, want) {
		for k, v := range want {
			if r.got[k] != v {
				r.t.Fatalf("item %s: %.100q instead of %.100q", k, r.got[k], v)
			}
		}
	}
}

// journal collects log messages and prints them if the test fails.
type journal struct {
	t     *testing.T
	mu    sync.Mutex
	lines []string
}

func (j *journal) log(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) count(part string) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range j.lines {
		if strings.Contains(l, part) {
			n++
		}
	}
	return n
}

// testServer is a server for tests. At the end of a test it verifies that no goroutines and
// temporary files remain.
type testServer struct {
	*testing.T
	s   *embedded.Server
	url string
	j   *journal
}

func newBed(t *testing.T) *testServer {
	clean(t)
	b := &testServer{T: t, j: &journal{t: t}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(strings.Join(b.j.lines, "\n"))
		}
	})
	var err error
	if b.s, err = embedded.Start("127.0.0.1:0", "", b.j.log); err != nil {
		t.Fatal(err)
	}
	b.url = b.s.URL()
	t.Cleanup(func() {
		if err := b.s.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// embed is embedded.Start.
func embed(address, token string, log func(string, ...any)) (Server, error) {
	return embedded.Start(address, token, log)
}

// clean fails the test if goroutines or stores remain at its end.
func clean(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	before := len(goroutines())
	t.Cleanup(func() {
		for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			left := goroutines()
			if len(left) <= before {
				break
			}
			if time.Since(begun) > 5*time.Second {
				t.Fatalf("%d goroutines instead of %d:\n%s", len(left), before, strings.Join(left, "\n\n"))
			}
		}
		if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

// goroutines returns all stacks except the stacks of nats.go that wait for a stopped server;
// these end a second later.
func goroutines() []string {
	stacks := make([]byte, 4<<20)
	all := strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n")
	return slices.DeleteFunc(all, func(s string) bool { return strings.Contains(s, "(*pullConsumer).fetch.func") })
}

func (b *testServer) options(name string) Options {
	return Options{Peer: Peer{URL: b.url, Version: "1", Log: b.j.log, checkInterval: 200 * time.Millisecond}, Name: name}
}

func (b *testServer) workerOptions() WorkerOptions {
	return WorkerOptions{Peer: Peer{URL: b.url, Version: "1", Workers: 2, Log: b.j.log, fetchWait: 100 * time.Millisecond}}
}

// work starts a worker and returns a function that stops it.
func (b *testServer) work(o WorkerOptions, f Func) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := Work(ctx, o, f); err != nil {
			b.Errorf("worker: %v", err)
		}
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	b.Cleanup(stop)
	return stop
}

// dying starts workers one after the other. f may cut the connection of a worker, which
// then loses its items as if it were killed.
func (b *testServer) dying(o WorkerOptions, lives int, f func(kill func(), payload []byte) ([]byte, error)) {
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(func() {
		cancel()
		<-ended
	})
	go func() {
		defer close(ended)
		for range lives {
			var w *worker
			w, err := newWorker(ctx, o, nil, func(ctx context.Context, payload []byte) ([]byte, error) {
				return f(func() {
					w.l.nc.Close()
					<-ctx.Done()
				}, payload)
			})
			if err != nil {
				if ctx.Err() == nil {
					b.Error(err)
				}
				return
			}
			if err := w.work(ctx); err == nil {
				return
			}
		}
	}()
}

// publish publishes items and fails the test on an error.
func (b *testServer) publish(o Options, items []Item) *resultLog {
	b.Helper()
	r := newResults(b.T)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := Publish(ctx, o, items, r.done); err != nil {
		b.Fatalf("after %d results: %v", len(r.got), err)
	}
	return r
}

// counter counts the calls for each payload.
type counter struct {
	mu   sync.Mutex
	runs map[string]int
}

func (c *counter) count(f Func) Func {
	return func(ctx context.Context, payload []byte) ([]byte, error) {
		c.mu.Lock()
		if c.runs == nil {
			c.runs = map[string]int{}
		}
		c.runs[string(payload)]++
		c.mu.Unlock()
		return f(ctx, payload)
	}
}

// twice lists payloads with more than one call.
func (c *counter) twice() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, n := range c.runs {
		if n > 1 {
			list = append(list, fmt.Sprintf("%.30s: %d times", p, n))
		}
	}
	return list
}

func (c *counter) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.runs)
}

// proxy forwards connections to a server until it is cut.
type proxy struct {
	t  *testing.T
	to string
	l  net.Listener
	wg sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	cut   bool
}

func newWire(t *testing.T, url string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &proxy{t: t, to: strings.TrimPrefix(url, "nats://"), l: l}
	w.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.pass(c)
		}
	})
	t.Cleanup(func() {
		l.Close()
		w.set(true)
		w.wg.Wait()
	})
	return w
}

func (w *proxy) url() string { return "nats://" + w.l.Addr().String() }

func (w *proxy) pass(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d, err := net.Dial("tcp", w.to)
	if err != nil || w.cut {
		c.Close()
		if err == nil {
			d.Close()
		}
		return
	}
	w.conns = append(w.conns, c, d)
	for _, pair := range [][2]net.Conn{{c, d}, {d, c}} {
		w.wg.Go(func() {
			io.Copy(pair[0], pair[1]) // until one is closed
			pair[0].Close()
		})
	}
}

// set cuts or restores the wire.
func (w *proxy) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	if cut {
		for _, c := range w.conns {
			c.Close()
		}
		w.conns = nil
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begun := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("after 20 s not yet: %s", what)
		}
	}
}

func TestMain(m *testing.M) {
	if url := os.Getenv("QUEUE_TEST_WORKER"); url != "" {
		workerProcess(url)
		return
	}
	os.Exit(m.Run())
}
