package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"sim/scenarios/queue/embedded"
)

// TestKilledWorker: a worker that dies during an item loses nothing.
func TestKilledWorker(t *testing.T) {
	b := newBed(t)
	const n = 200
	o := b.workerOptions()
	o.AckWait = 500 * time.Millisecond
	slow := func(ctx context.Context, payload []byte) ([]byte, error) {
		sleep(ctx, time.Millisecond)
		return echo(ctx, payload)
	}
	var killed atomic.Bool
	b.dying(o, 1, func(kill func(), payload []byte) ([]byte, error) {
		if killed.CompareAndSwap(false, true) {
			kill()
		}
		return echo(context.Background(), payload)
	})
	eventually(t, "the worker to be killed is there", func() bool { return b.waiting() > 0 })
	ended := make(chan *resultLog)
	po := b.options("n")
	go func() { ended <- b.publish(po, numbered(n)) }()
	eventually(t, "the first worker dies", killed.Load)
	b.work(o, slow)
	b.work(o, slow)
	r := <-ended
	r.check(want(n))
}

// waiting returns the number of workers of version 1 that wait for items.
func (b *testServer) waiting() int {
	l, _ := b.store("waiting")
	defer l.close()
	_, c, err := l.openWork(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return c.CachedInfo().NumWaiting
}

// TestCrashLoop: an item that kills every worker is reported; items that ran at the same
// time are not.
func TestCrashLoop(t *testing.T) {
	b := newBed(t)
	const n = 30
	o := b.workerOptions()
	o.AckWait, o.Attempts, o.Workers = 150*time.Millisecond, 4, 4
	var deaths atomic.Int32
	b.dying(o, 20, func(kill func(), payload []byte) ([]byte, error) {
		if bytes.HasPrefix(payload, payload9) {
			deaths.Add(1)
			kill()
			return nil, errors.New("dead")
		}
		time.Sleep(20 * time.Millisecond)
		return echo(context.Background(), payload)
	})
	o2 := b.options("n")
	o2.AckWait = o.AckWait
	r := b.publish(o2, numbered(n))
	w := want(n)
	w[key(9)] = "failed: begun 4 times and never finished: its workers died, or lost the queue for longer than it waits; the last worker to take it is " + processName()
	r.check(w)
	if deaths.Load() != 4 {
		t.Errorf("%d workers died", deaths.Load())
	}
}

// TestStoppedWorkers: a stopped worker returns its item immediately and stores finished
// results; orderly stops do not count as starts.
func TestStoppedWorkers(t *testing.T) {
	b := newBed(t)
	begun := make(chan struct{}, 100)
	var patient atomic.Bool
	f := func(ctx context.Context, payload []byte) ([]byte, error) {
		if bytes.HasPrefix(payload, payload9) && !patient.Load() {
			begun <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return echo(ctx, payload)
	}
	ended := make(chan *resultLog)
	go func() { ended <- b.publish(b.options("n"), numbered(12)) }()
	o := b.workerOptions()
	o.Attempts = 2
	at := time.Now()
	for range 5 {
		stop := b.work(o, f)
		<-begun
		stop()
	}
	patient.Store(true)
	b.work(o, f)
	(<-ended).check(want(12))
	if d := time.Since(at); d > 15*time.Second { // AckWait is 30 s
		t.Errorf("it took %v", d)
	}
}

// TestStopKeepsWhatIsFinished: a result that is ready when the worker is stopped is
// stored.
func TestStopKeepsWhatIsFinished(t *testing.T) {
	b := newBed(t)
	var runs counter
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan *resultLog)
	go func() { ended <- b.publish(b.options("n"), numbered(8)) }()
	o := b.workerOptions()
	o.Workers = 8
	var all sync.WaitGroup
	all.Add(8)
	err := Work(ctx, o, runs.count(func(ctx context.Context, payload []byte) ([]byte, error) {
		all.Done()
		all.Wait()
		cancel()
		return echo(ctx, payload)
	}))
	if err != nil {
		t.Error(err)
	}
	(<-ended).check(want(8))
	if len(runs.twice()) > 0 {
		t.Error(runs.twice())
	}
}

// TestLongItem: an item that takes longer than AckWait runs once.
func TestLongItem(t *testing.T) {
	b := newBed(t)
	o := b.workerOptions()
	o.AckWait = 500 * time.Millisecond
	var runs counter
	f := runs.count(func(ctx context.Context, payload []byte) ([]byte, error) {
		sleep(ctx, 1100*time.Millisecond)
		return echo(ctx, payload)
	})
	b.work(o, f)
	b.work(o, f)
	po := b.options("n")
	po.AckWait = o.AckWait
	b.publish(po, numbered(3)).check(want(3))
	if len(runs.twice()) > 0 {
		t.Error(runs.twice())
	}
}

// TestSlowItemsAreShared: short items are fetched in groups, but a worker does not
// reserve long ones: a later worker gets its share.
func TestSlowItemsAreShared(t *testing.T) {
	b := newBed(t)
	var counts [2]atomic.Int32
	worker := func(i int) {
		o := b.workerOptions()
		o.Workers = 1
		b.work(o, func(ctx context.Context, payload []byte) ([]byte, error) {
			counts[i].Add(1)
			sleep(ctx, 120*time.Millisecond)
			return echo(ctx, payload)
		})
	}
	ended := make(chan *resultLog)
	go func() { ended <- b.publish(b.options("n"), numbered(8)) }()
	worker(0)
	eventually(t, "the first worker is at its second item", func() bool { return counts[0].Load() == 2 })
	worker(1)
	(<-ended).check(want(8))
	if counts[1].Load() < 2 {
		t.Errorf("the first worker had %d items, the other %d", counts[0].Load(), counts[1].Load())
	}
}

func TestIdle(t *testing.T) {
	b := newBed(t)
	o := b.workerOptions()
	o.Idle = 50 * time.Millisecond
	begun := time.Now()
	if err := Work(context.Background(), o, echo); err != nil || time.Since(begun) > 5*time.Second {
		t.Errorf("an idle worker ended after %v with %v", time.Since(begun), err)
	}
}

// TestVersions: workers ignore items of other versions, and both sides log it.
func TestVersions(t *testing.T) {
	b := newBed(t)
	o := b.workerOptions()
	o.Version, o.versionCheckInterval = "2", time.Millisecond
	var wrong atomic.Int32
	b.work(o, func(ctx context.Context, payload []byte) ([]byte, error) {
		wrong.Add(1)
		return echo(ctx, payload)
	})
	ended := make(chan *resultLog)
	go func() { ended <- b.publish(b.options("n"), numbered(10)) }()
	eventually(t, "the publisher and the worker tell", func() bool {
		return b.j.count("no worker of version 1 is taking items; start: sim worker "+b.url) > 0 &&
			b.j.count("10 items of version 1 are left to workers of that version; this is 2") > 0
	})
	time.Sleep(300 * time.Millisecond)
	b.work(b.workerOptions(), echo)
	(<-ended).check(want(10))
	if wrong.Load() > 0 {
		t.Errorf("the wrong worker took %d items", wrong.Load())
	}
	if n := b.j.count("version"); n != 2 {
		t.Errorf("it was said %d times: %q", n, b.j.lines)
	}
}

// TestUnwanted: items of an ended batch are removed from the queue and their results
// dropped.
func TestUnwanted(t *testing.T) {
	b := newBed(t)
	l, _ := b.store("other")
	ctx := context.Background()
	s, _, err := l.openWork(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.js.Publish(ctx, batchAddressOf("1", "ended").itemSubject("k"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	b.work(b.workerOptions(), echo)
	eventually(t, "the item is gone", func() bool {
		info, err := s.Info(ctx)
		return err == nil && info.State.Msgs == 0
	})
	if b.j.count("dropped a result of batch ended-") != 1 {
		t.Errorf("what was said: %q", b.j.lines)
	}
}

// TestRights: the permissions in docs/queue.md are sufficient in all situations.
func TestRights(t *testing.T) {
	clean(t)
	allow := &server.SubjectPermission{Allow: []string{"sim.>", "$KV.sim-begun.>", "$JS.API.>", "$JS.ACK.SIM_WORK.>", "_INBOX.>"}}
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(),
		Users: []*server.User{{Username: "u", Password: "secret", Permissions: &server.Permissions{Publish: allow, Subscribe: allow}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(5 * time.Second) {
		t.Fatal("no server")
	}
	b := &testServer{T: t, j: &journal{t: t}, url: "nats://u:secret@" + s.Addr().String()}
	o, po := b.workerOptions(), b.options("n")
	o.AckWait, po.AckWait = 200*time.Millisecond, 200*time.Millisecond
	var deaths atomic.Int32
	b.dying(o, 3, func(kill func(), payload []byte) ([]byte, error) {
		if bytes.HasPrefix(payload, payload9) && deaths.Add(1) <= 2 {
			kill()
		}
		return echo(context.Background(), payload)
	})
	b.publish(po, numbered(30)).check(want(30))
	for _, line := range b.j.lines {
		if strings.Contains(line, "ermission") || strings.Contains(line, "secret") || strings.Contains(line, "counted") {
			t.Error(line)
		}
	}
}

func TestNoServer(t *testing.T) {
	clean(t)
	o := WorkerOptions{Peer: Peer{URL: "nats://user:secret@" + freeAddress(t), Version: "1"}}
	err := Work(context.Background(), o, echo)
	if want := plainURL(o.URL) + ": no server answers; start one with: nats-server -js"; err == nil || err.Error() != want {
		t.Errorf("%v instead of %s", err, want)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	defer func(old time.Duration) { connectTimeout = old }(connectTimeout)
	connectTimeout = 200 * time.Millisecond
	begun := time.Now()
	o.URL = "nats://" + l.Addr().String()
	err = Work(context.Background(), o, echo)
	if want := o.URL + ": no server answers within 200ms; start one with: nats-server -js"; err == nil || err.Error() != want {
		t.Errorf("%v instead of %s", err, want)
	}
	if d := time.Since(begun); d > 3*time.Second {
		t.Errorf("that took %v", d)
	}

	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(5 * time.Second) {
		t.Fatal("no server")
	}
	o.URL = s.ClientURL()
	err = Work(context.Background(), o, echo)
	if want := o.URL + ": the server runs without JetStream; start it with: nats-server -js"; err == nil || err.Error() != want {
		t.Errorf("%v instead of %s", err, want)
	}

	_, err = embedded.Start(s.Addr().String(), "", nil)
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("a port that is taken: %v", err)
	}
}

// freeAddress returns an address on which no process listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestKilledProcesses: killed worker processes lose no items.
func TestKilledProcesses(t *testing.T) {
	b := newBed(t)
	const n = 40
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "QUEUE_TEST_WORKER="+b.url)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	kill := func(cmd *exec.Cmd) {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Error("a killed worker ended well")
		}
	}
	workers := []*exec.Cmd{start(), start()}
	po := b.options("n")
	po.AckWait = 500 * time.Millisecond
	r := newResults(t)
	r.after = func(got int) error {
		if got%10 == 5 && got < 30 {
			i := got / 10 % 2
			kill(workers[i])
			workers[i] = start()
		}
		return nil
	}
	if err := Publish(context.Background(), po, numbered(n), r.done); err != nil {
		t.Fatal(err)
	}
	r.check(want(n))
	for _, w := range workers {
		kill(w)
	}
}

// workerProcess is a worker in a process of its own.
func workerProcess(url string) {
	o := WorkerOptions{Peer: Peer{URL: url, Version: "1", Workers: 2, AckWait: 500 * time.Millisecond}}
	err := Work(context.Background(), o, func(ctx context.Context, payload []byte) ([]byte, error) {
		sleep(ctx, 10*time.Millisecond)
		return echo(ctx, payload)
	})
	fmt.Fprintln(os.Stderr, "worker:", err)
	os.Exit(1)
}
