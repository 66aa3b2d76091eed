package study

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sim/scenarios/result"
)

const testTerm = 2 * time.Second

func join(t testing.TB, dir string, p *Plan, term time.Duration) *Store {
	t.Helper()
	s, err := Join(dir, p, []byte("x"), result.Manifest{Scenario: p.Sweep.Name, Digest: p.Sweep.Digest}, term)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kill leaves a store in the state of a killed process.
func (s *Store) kill() {
	s.journal.Close()
	close(s.leases.stop)
	s.leases.stopped.Wait()
}

// TestJoin: four workers, one killed while it runs, produce the results of a single worker.
// Only the killed worker's current cell is computed twice.
func TestJoin(t *testing.T) {
	p := plan(t, tiny)
	want := whole(t, t.TempDir(), p, LocalRunner(2))
	dir := t.TempDir()
	var computed, known, finishers, takenOver atomic.Int64
	victim := join(t, dir, p, testTerm)
	ctx, cancel := context.WithCancel(context.Background())
	st, err := Execute(ctx, p, victim, Options{Run: victim.Joined(1), Progress: func(done, _, _ int) {
		if done == 3 {
			cancel() // while a lease is held
		}
	}})
	if err == nil || st.Computed != 3 {
		t.Fatalf("%+v, %v", st, err)
	}
	if _, _, err := victim.leases.acquire("1", cancel); err != nil { // its current cell
		t.Fatal(err)
	}
	victim.kill()
	var wg sync.WaitGroup
	for range 3 {
		s := join(t, dir, p, testTerm)
		s.OnTakeover = func(cells []int, owner string) {
			if takenOver.Add(int64(len(cells))); owner != victim.leases.owner || cells[0] != 0 {
				t.Errorf("cells %v were taken over from %s, want those of %s", cells, owner, victim.leases.owner)
			}
		}
		wg.Go(func() {
			defer s.Close()
			st, err := Execute(context.Background(), p, s, Options{Run: s.Joined(2)})
			if err != nil || len(st.Failed) > 0 || st.Total != len(p.Sweep.Cells) || st.Known+st.Computed != st.Total {
				t.Errorf("%+v, %v", st, err)
			}
			computed.Add(int64(st.Computed))
			known.Add(int64(st.Known))
			if ours, err := s.AwaitFinish(context.Background()); err != nil {
				t.Error(err)
			} else if ours {
				finishers.Add(1)
				leaseFiles, err := filepath.Glob(filepath.Join(s.leases.dir, "[0-9]*"))
				if err != nil || len(leaseFiles) != len(p.Sweep.Cells)+1 { // the killed worker's last cell is stored twice
					t.Errorf("%d leases of %d cells: %v", len(leaseFiles), len(p.Sweep.Cells), leaseFiles)
				}
				if got := finish(t, p, s); !bytes.Equal(got, want) {
					t.Error("workers that joined made another sweep")
				}
				s.RemoveLeases()
			}
		})
	}
	wg.Wait()
	if takenOver.Load() != 1 {
		t.Errorf("%d cells were taken over, want 1", takenOver.Load())
	}
	if n := len(p.Sweep.Cells); computed.Load() != int64(n-3) || known.Load() != int64(3*n)-computed.Load() || finishers.Load() != 1 {
		t.Errorf("%d cells computed, %d of others, %d finishers", computed.Load(), known.Load(), finishers.Load())
	}
	if left, err := filepath.Glob(filepath.Join(dir, leasesPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if again := whole(t, dir, p, unusedRunner(t)); !bytes.Equal(again, want) {
		t.Error("a sweep after workers that joined differs")
	}
}

// TestAwaitFinish: while one worker writes the files of a sweep, another one waits. It returns
// when the files are complete, when its context ends, and if the leases cannot be read.
func TestAwaitFinish(t *testing.T) {
	p := plan(t, tiny, "seed=1")
	dir := t.TempDir()
	writer, waiter := join(t, dir, p, testTerm), join(t, dir, p, testTerm)
	defer writer.Close()
	defer waiter.Close()
	if ours, err := writer.AwaitFinish(t.Context()); !ours || err != nil {
		t.Fatalf("the first worker writes: %t, %v", ours, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 2*waiter.leases.pollInterval())
	defer cancel()
	if ours, err := waiter.AwaitFinish(short); ours || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second worker writes: %t, %v, want its context's end", ours, err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 10*testTerm)
	defer cancel()
	lease := writer.leases.path("finish", 0)
	if err := errors.Join(os.Rename(lease, lease+".away"), os.Mkdir(lease, 0o777)); err != nil {
		t.Fatal(err)
	}
	if ours, err := waiter.AwaitFinish(ctx); ours || err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("the second worker writes: %t, %v, want an error about %s", ours, err, dir)
	}

	time.AfterFunc(waiter.leases.pollInterval(), writer.RemoveLeases)
	if err := errors.Join(os.Remove(lease), os.Rename(lease+".away", lease)); err != nil {
		t.Fatal(err)
	}
	if ours, err := waiter.AwaitFinish(ctx); ours || err != nil {
		t.Errorf("the second worker writes what is written: %t, %v", ours, err)
	}
}

func testLeases(t testing.TB, dir string, p *Plan, term time.Duration) *leaseDirectory {
	t.Helper()
	l, err := openLeases(dir, p, term)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// tryFor acquires a lease within a time, else returns false.
func tryFor(l *leaseDirectory, name string, d time.Duration) bool {
	for begun := time.Now(); ; time.Sleep(l.pollInterval()) {
		if ours, _, err := l.acquire(name, func() {}); ours || err != nil || time.Since(begun) > d {
			return ours
		}
	}
}

// TestLeases: a held lease cannot be acquired, whatever its owner's clock shows. An
// expired one is acquired by exactly one worker, and its previous owner is notified.
func TestLeases(t *testing.T) {
	p := plan(t, tiny, "seed=1")
	dir := t.TempDir()
	const term = testTerm
	first := testLeases(t, dir, p, term)
	var lost atomic.Bool
	if ours, _, err := first.acquire("7", func() { lost.Store(true) }); !ours || err != nil {
		t.Fatal(ours, err)
	}
	var others [4]*leaseDirectory
	for i := range others {
		others[i] = testLeases(t, dir, p, term)
	}
	claimConcurrently := func(name string, d time.Duration) int {
		var owners atomic.Int64
		var wg sync.WaitGroup
		for _, l := range others {
			wg.Go(func() {
				if tryFor(l, name, d) {
					owners.Add(1)
				}
			})
		}
		wg.Wait()
		return int(owners.Load())
	}
	clock := func(year int) {
		when := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(first.path("7", 0), when, when); err != nil {
			t.Fatal(err)
		}
	}
	clock(1990)
	if n := claimConcurrently("7", 3*term/2); n != 0 {
		t.Fatalf("%d took over what is renewed", n)
	}
	for i := range 30 {
		if n := claimConcurrently(fmt.Sprint("free", i), 0); n != 1 {
			t.Fatalf("%d workers have one lease", n)
		}
	}
	first.mu.Lock() // its renewals hang
	clock(2090)
	if n := claimConcurrently("7", 5*term); n != 1 {
		t.Errorf("%d took over what is not renewed", n)
	}
	first.mu.Unlock()
	for begun := time.Now(); !lost.Load(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > 5*term {
			t.Fatal("the owner was not told")
		}
	}
	first.close()
	// A released lease is acquired immediately.
	giver := testLeases(t, dir, p, time.Hour)
	if ours, _, err := giver.acquire("8", nil); !ours || err != nil {
		t.Fatal(ours, err)
	}
	giver.close()
	if n := claimConcurrently("8", term); n != 1 {
		t.Errorf("%d took what was given back", n)
	}
	others[1].remove()
	if _, _, err := others[1].acquire("9", nil); err != errLeasesRemoved {
		t.Errorf("leases that are not there: %v", err)
	}
}

// TestJoinFailures: a cell that failed elsewhere is retried only by workers that begin
// later.
func TestJoinFailures(t *testing.T) {
	p := plan(t, tiny, "seed=1")
	dir := t.TempDir()
	other := testLeases(t, dir, p, testTerm)
	defer other.close()
	fail := func(name, why string) {
		if ours, _, err := other.acquire(name, func() {}); !ours || err != nil {
			t.Fatal(ours, err)
		}
		other.endLease(name, leaseNote{Failed: why})
	}
	fail("1", "of old")
	s := join(t, dir, p, testTerm)
	defer s.Close()
	first := true
	st, err := Execute(context.Background(), p, s, Options{Run: s.Joined(1), Progress: func(done, _, _ int) {
		if done == 1 && first {
			first = false
			fail("2", "elsewhere")
		}
	}})
	if err != nil || len(st.Failed) != 1 || st.Failed[0] != 1 || st.Computed != 5 || s.Failure(p.Sweep.Cells[1].Key) != "elsewhere" {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestJoinRemovedJournal: a worker without results may remove its journal after another
// worker has listed it. A dangling link is such a journal: listed, but absent.
func TestJoinRemovedJournal(t *testing.T) {
	dir := t.TempDir()
	s := join(t, dir, plan(t, tiny, "seed=1"), testTerm)
	defer s.Close()
	if err := os.Symlink("removed", filepath.Join(dir, "cells-removed.jsonl")); err != nil {
		t.Skip(err)
	}
	if err := s.readAll(dir); err != nil {
		t.Error(err)
	}
}

// TestJoinRefuses: workers of another sweep or version are rejected and change nothing.
func TestJoinRefuses(t *testing.T) {
	p, dir := plan(t, tiny), t.TempDir()
	s := join(t, dir, p, testTerm)
	defer s.Close()
	version, model, both := *p, *p, *p
	version.Sweep.Version, model.Sweep.Model = "0.0.1", p.Sweep.Model+1
	both.Sweep.Version = "0.0.2"
	for _, c := range []struct {
		p    *Plan
		want string
	}{
		{plan(t, tiny, "seed=1..4"), "another scenario"},
		{&version, "holds a sweep of sim " + result.Version},
		{&model, "use one build of sim everywhere"},
	} {
		_, err := Join(dir, c.p, nil, result.Manifest{}, testTerm)
		var place *result.PlaceError
		if !errors.As(err, &place) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	os.Remove(filepath.Join(dir, result.PlanFile)) // as before the first worker has written it
	if _, err := Join(dir, &both, nil, result.Manifest{Digest: p.Sweep.Digest}, testTerm); err == nil || !strings.Contains(err.Error(), "another version of sim have joined there") {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, leasesPrefix+"*")); len(left) != 1 {
		t.Errorf("directories of leases: %v", left)
	}
}
