package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/scenarios"
	"sim/scenarios/result"
)

const tiny = `
name = "tiny"
base = "gpt7b"
workload.microbatches = 2
policy.allocators = ["prop-alloc", "delta-fast", "delta-joint"]
[policy.delta-fast]
stall_generations = 5
[sweep]
"fabric.port_bandwidth" = ["200Gbps", "400Gbps"]
seed = "1..3"
`

func plan(t testing.TB, text string, set ...string) *Plan {
	t.Helper()
	st, err := scenarios.ParseStudy("tiny.toml", []byte(text), set)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(context.Background(), st)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func open(t testing.TB, dir string, p *Plan) *Store {
	t.Helper()
	s, err := Open(dir, p, []byte("x"), result.Manifest{Scenario: p.Sweep.Name, Digest: p.Sweep.Digest}, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// whole runs p in dir and returns sweep.json.
func whole(t testing.TB, dir string, p *Plan, run Runner) []byte {
	t.Helper()
	s := open(t, dir, p)
	defer s.Close()
	st, err := Execute(context.Background(), p, s, Options{Run: run})
	if err != nil || len(st.Failed) > 0 {
		t.Fatalf("%+v, %v", st, err)
	}
	return finish(t, p, s)
}

func finish(t testing.TB, p *Plan, s *Store) []byte {
	t.Helper()
	doc, times := p.Fill(s)
	if err := s.Finish(doc, times); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(s.Dir, result.SweepFile))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// unusedRunner is a Runner for sweeps without missing cells.
func unusedRunner(t testing.TB) Runner {
	return func(_ context.Context, _ *Plan, todo []int, _ func(int, *Record) error) error {
		t.Errorf("%d cells were computed again", len(todo))
		return nil
	}
}

func TestCells(t *testing.T) {
	p := plan(t, tiny)
	if len(p.Sweep.Cells) != 2*3*3 {
		t.Fatalf("%d cells", len(p.Sweep.Cells))
	}
	if got, want := p.Name(10), "delta-fast fabric.port_bandwidth=400Gbps seed=1"; got != want {
		t.Errorf("cell 10 is %s, want %s", got, want)
	}
	keys := map[string]bool{}
	for _, c := range p.Sweep.Cells {
		keys[c.Key] = true
	}
	if len(keys) != len(p.Sweep.Cells) {
		t.Errorf("%d keys for %d cells", len(keys), len(p.Sweep.Cells))
	}
}

// TestCellsAreRuns: a cell's result equals the row of the scenario run by itself.
func TestCellsAreRuns(t *testing.T) {
	p := plan(t, tiny)
	var doc result.Sweep
	if err := json.Unmarshal(whole(t, t.TempDir(), p, LocalRunner(2)), &doc); err != nil {
		t.Fatal(err)
	}
	for v := range p.Study.Variants() {
		s, err := p.Study.Variant(v)
		if err != nil {
			t.Fatal(err)
		}
		o, err := scenarios.Run(context.Background(), s, scenarios.RunOptions{Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		for k, row := range o.Document.Rows {
			c := doc.Cells[v*len(o.Document.Rows)+k]
			got, _ := json.Marshal([]any{c.Policy, c.Metrics, c.Labels, c.Reference, c.Seed})
			want, _ := json.Marshal([]any{row.Policy, row.Metrics, row.Labels, o.Document.Reference, o.Document.Seed})
			if !bytes.Equal(got, want) {
				t.Errorf("cell\n%s\nrun\n%s", got, want)
			}
		}
	}
}

// A sweep interrupted after seven cells and continued equals an uninterrupted one;
// finished cells are not computed again.
func stopped(t *testing.T, p *Plan, want []byte) {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir, p)
	ctx, cancel := context.WithCancel(context.Background())
	st, err := Execute(ctx, p, s, Options{Run: LocalRunner(2), Progress: func(done, _, _ int) {
		if done == 7 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || st.Computed < 7 || st.Computed > 9 {
		t.Fatalf("%+v, %v", st, err)
	}
	s.Close()
	n := 0
	got := whole(t, dir, p, func(ctx context.Context, p *Plan, todo []int, done func(int, *Record) error) error {
		n = len(todo)
		return LocalRunner(2)(ctx, p, todo, done)
	})
	if n != len(p.Sweep.Cells)-st.Computed || !bytes.Equal(got, want) {
		t.Errorf("%d cells were computed after a stop at %d; the result is the same: %v", n, st.Computed, bytes.Equal(got, want))
	}
}

// fleets returns a study of fleets of pods.
const fleets = `
name = "fleets"
base = "fleet-10d"
workload.days = 3
[sweep]
"workload.load" = [0.5, 0.8]
seed = "1..3"
`

// TestFleetsStop: an interrupted sweep of fleets keeps its finished cells, and the number
// of workers does not change the result.
func TestFleetsStop(t *testing.T) {
	p := plan(t, fleets)
	want := whole(t, t.TempDir(), p, LocalRunner(1))
	stopped(t, p, want)
	if got := whole(t, t.TempDir(), p, LocalRunner(4)); !bytes.Equal(got, want) {
		t.Error("4 workers changed the result")
	}
}

// TestSameBytes: the result is byte-identical for any number of workers, after an
// interruption, and through a queue.
func TestSameBytes(t *testing.T) {
	p := plan(t, tiny)
	want := whole(t, t.TempDir(), p, LocalRunner(1))
	t.Run("workers", func(t *testing.T) {
		if got := whole(t, t.TempDir(), p, LocalRunner(4)); !bytes.Equal(got, want) {
			t.Error("4 workers changed the result")
		}
	})
	t.Run("again", func(t *testing.T) {
		dir := t.TempDir()
		whole(t, dir, p, LocalRunner(2))
		if got := whole(t, dir, p, unusedRunner(t)); !bytes.Equal(got, want) {
			t.Error("a second run changed the result")
		}
	})
	t.Run("stopped", func(t *testing.T) { stopped(t, p, want) })
	t.Run("tasks", func(t *testing.T) {
		got := whole(t, t.TempDir(), p, func(ctx context.Context, p *Plan, todo []int, done func(int, *Record) error) error {
			for _, i := range todo {
				task, err := p.Task(i)
				if err != nil {
					return err
				}
				data, err := RunTask(ctx, task)
				if err != nil {
					return err
				}
				r, err := ReadRecord(data)
				if err != nil {
					return err
				}
				if err := done(i, r); err != nil {
					return err
				}
			}
			return nil
		})
		if !bytes.Equal(got, want) {
			t.Error("the way over a queue changed the result")
		}
	})
}

// TestDamage: whatever damages the journal, each record read from it is correct, and
// damaged cells are computed again.
func TestDamage(t *testing.T) {
	p := plan(t, tiny, "policy.allocators=[\"prop-alloc\"]")
	dir := t.TempDir()
	want := whole(t, dir, p, LocalRunner(2))
	journal := filepath.Join(dir, "cells.jsonl")
	sound, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		data := slices.Clone(sound)
		if rapid.Bool().Draw(r, "cut") {
			data = data[:rapid.IntRange(0, len(data)).Draw(r, "length")]
		}
		for range rapid.IntRange(0, 3).Draw(r, "flips") {
			if len(data) > 0 {
				data[rapid.IntRange(0, len(data)-1).Draw(r, "at")] ^= byte(rapid.IntRange(1, 255).Draw(r, "bits"))
			}
		}
		if err := os.WriteFile(journal, data, 0o666); err != nil {
			r.Fatal(err)
		}
		s := open(t, dir, p)
		known := len(s.records)
		if lost := len(p.Sweep.Cells) - known; lost > 0 && len(data) == len(sound) && len(s.Warnings) == 0 {
			r.Errorf("%d cells were lost without a word", lost)
		}
		s.Close()
		if got := whole(t, dir, p, LocalRunner(1)); !bytes.Equal(got, want) {
			r.Error("damage reached the result")
		}
	})
}

// TestFailure: a failed cell is reported and tried again; the others are kept.
func TestFailure(t *testing.T) {
	p := plan(t, tiny)
	dir := t.TempDir()
	s := open(t, dir, p)
	bad := p.Sweep.Cells[4].Key
	st, err := Execute(context.Background(), p, s, Options{Run: func(ctx context.Context, p *Plan, todo []int, done func(int, *Record) error) error {
		return LocalRunner(2)(ctx, p, todo, func(i int, r *Record) error {
			if r.Key == bad {
				r = &Record{Key: bad, Failed: "no luck", InvalidInput: true}
			}
			return done(i, r)
		})
	}})
	if err != nil || !slices.Equal(st.Failed, []int{4}) || st.Unusable != 1 {
		t.Fatalf("%+v, %v", st, err)
	}
	doc, _ := p.Fill(s)
	if doc.Cells[4].Failed != "no luck" || doc.Cells[4].Metrics != nil || doc.Cells[5].Metrics == nil {
		t.Errorf("%+v", doc.Cells[4])
	}
	s.Close()
	n := 0
	whole(t, dir, p, func(ctx context.Context, p *Plan, todo []int, done func(int, *Record) error) error {
		n = len(todo)
		return LocalRunner(2)(ctx, p, todo, done)
	})
	if n != 1 {
		t.Errorf("%d cells were computed after one had failed", n)
	}
}

// TestAdopt: a study that was extended computes only the new cells.
func TestAdopt(t *testing.T) {
	small, large := plan(t, tiny, "seed=1,2"), plan(t, tiny, "seed=2,3")
	old, dir := t.TempDir(), t.TempDir()
	whole(t, old, small, LocalRunner(2))
	s := open(t, dir, large)
	n, err := s.Adopt(large, []string{old, dir, t.TempDir()})
	if err != nil || n != 6 {
		t.Fatalf("%d cells taken over, %v", n, err)
	}
	s.Close()
	if got, want := whole(t, dir, large, LocalRunner(2)), whole(t, t.TempDir(), large, LocalRunner(2)); !bytes.Equal(got, want) {
		t.Error("cells that were taken over differ")
	}
}

// TestPlaces: unsuitable directories are rejected and unchanged.
func TestPlaces(t *testing.T) {
	p := plan(t, tiny)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ at, want string }{
		{file, "is a file"},
		{dir, "holds no sweep"},
		{filepath.Join(file, "x"), "cannot be written"},
	} {
		_, err := Open(c.at, p, nil, result.Manifest{}, false)
		var place *result.PlaceError
		if !errors.As(err, &place) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.at, err)
		}
	}
	busy := filepath.Join(dir, "busy")
	open(t, busy, p)
	if _, err := Open(busy, p, nil, result.Manifest{}, false); err == nil || !strings.Contains(err.Error(), "another sweep is being written there") {
		t.Errorf("two sweeps in one directory: %v", err)
	}
}

// BenchmarkCells: benchmark of reading, planning and storing a cell without computing it.
func BenchmarkCells(b *testing.B) {
	for b.Loop() {
		p := plan(b, `
base = "gpt7b"
workload.microbatches = 1
policy.allocators = ["prop-alloc"]
[sweep]
seed = "1..1000"
`)
		s := open(b, b.TempDir(), p)
		if _, err := Execute(context.Background(), p, s, Options{Run: LocalRunner(1)}); err != nil {
			b.Fatal(err)
		}
		finish(b, p, s)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/cell")
}

// TestFullDisk: a full disk ends the sweep with the stored cells; the journal stays
// valid.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no /dev/full: ", err)
	}
	p := plan(t, tiny)
	s := open(t, t.TempDir(), p)
	n := 0
	_, err = Execute(context.Background(), p, s, Options{Run: LocalRunner(1), Progress: func(done, _, _ int) {
		if n = done; n == 3 {
			s.journal.Close()
			s.journal = full
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "no space left on device; 3 finished cells are kept, the same command goes on from there") {
		t.Errorf("after %d cells: %v", n, err)
	}
}
