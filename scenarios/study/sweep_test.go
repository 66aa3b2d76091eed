package study

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

func open(t testing.TB, dir string, p *Plan, shard Shard) *Store {
	t.Helper()
	s, err := Open(dir, p, []byte("x"), result.Manifest{Scenario: p.Sweep.Name, Digest: p.Sweep.Digest}, shard, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// whole runs p in dir and returns sweep.json.
func whole(t testing.TB, dir string, p *Plan, run Runner) []byte {
	t.Helper()
	s := open(t, dir, p, Shard{})
	defer s.Close()
	st, err := Execute(context.Background(), p, s, Options{Run: run})
	if err != nil || st.Missing > 0 || len(st.Failed) > 0 {
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

// refuse is a Runner for sweeps in which nothing is left to compute.
func refuse(t testing.TB) Runner {
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

// A cell's result is the row of the scenario run by itself.
func TestCellsAreRuns(t *testing.T) {
	p := plan(t, tiny)
	var doc result.Sweep
	if err := json.Unmarshal(whole(t, t.TempDir(), p, Local(2)), &doc); err != nil {
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

// stopped holds a sweep that is interrupted after seven cells, and goes on, to what it gives at once: the cells that were
// finished are not computed again.
func stopped(t *testing.T, p *Plan, want []byte) {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir, p, Shard{})
	ctx, cancel := context.WithCancel(context.Background())
	st, err := Execute(ctx, p, s, Options{Run: Local(2), Progress: func(done, _, _ int) {
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
		return Local(2)(ctx, p, todo, done)
	})
	if n != len(p.Sweep.Cells)-st.Computed || !bytes.Equal(got, want) {
		t.Errorf("%d cells were computed after a stop at %d; the result is the same: %v", n, st.Computed, bytes.Equal(got, want))
	}
}

// fleets is a study of fleets of pods.
const fleets = `
name = "fleets"
base = "fleet-10d"
workload.days = 3
[sweep]
"workload.load" = [0.5, 0.8]
seed = "1..3"
`

// TestFleetsStop: a sweep of fleets that is interrupted keeps the cells that it finished, and the number of workers changes
// no byte.
func TestFleetsStop(t *testing.T) {
	p := plan(t, fleets)
	want := whole(t, t.TempDir(), p, Local(1))
	stopped(t, p, want)
	if got := whole(t, t.TempDir(), p, Local(4)); !bytes.Equal(got, want) {
		t.Error("4 workers changed the result")
	}
}

// Neither the number of workers, nor the way of shards, nor a stop in between, nor the way over a queue changes a byte.
func TestSameBytes(t *testing.T) {
	p := plan(t, tiny)
	want := whole(t, t.TempDir(), p, Local(1))
	t.Run("workers", func(t *testing.T) {
		if got := whole(t, t.TempDir(), p, Local(4)); !bytes.Equal(got, want) {
			t.Error("4 workers changed the result")
		}
	})
	t.Run("again", func(t *testing.T) {
		dir := t.TempDir()
		whole(t, dir, p, Local(2))
		if got := whole(t, dir, p, refuse(t)); !bytes.Equal(got, want) {
			t.Error("a second run changed the result")
		}
	})
	t.Run("stopped", func(t *testing.T) { stopped(t, p, want) })
	t.Run("shards", func(t *testing.T) {
		shared, apart := t.TempDir(), []string{t.TempDir(), t.TempDir(), t.TempDir()}
		for i := range 3 {
			for _, dir := range []string{shared, apart[i]} {
				part := share(t, p, i, 3)
				s := open(t, dir, p, part)
				st, err := Execute(context.Background(), p, s, Options{Run: Local(2), Shard: part})
				if err != nil || st.Total != 6 || dir == apart[i] && st.Missing != 12 {
					t.Fatalf("%+v, %v", st, err)
				}
				s.Close()
			}
			if i < 2 {
				if _, _, _, _, err := Merge([]string{shared}); !errors.Is(err, ErrMissing) {
					t.Errorf("parts were merged before all were there: %v", err)
				}
			}
		}
		for _, dirs := range [][]string{{shared}, apart, {apart[2], apart[0], apart[1]}} {
			s, doc, times, _, err := Merge(dirs)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Finish(doc, times); err != nil {
				t.Fatal(err)
			}
			s.Close()
			got, err := os.ReadFile(filepath.Join(dirs[0], result.SweepFile))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("merged shards differ: %v", err)
			}
			if again := whole(t, dirs[0], p, refuse(t)); !bytes.Equal(again, want) {
				t.Error("a sweep after a merge differs")
			}
		}
	})
	t.Run("tasks", func(t *testing.T) {
		got := whole(t, t.TempDir(), p, func(ctx context.Context, p *Plan, todo []int, done func(int, *Record) error) error {
			for _, i := range todo {
				task, err := p.Task(i)
				if err != nil {
					return err
				}
				data, err := Do(ctx, task)
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

// Whatever happens to the journal's bytes, what is read from it is right, and what is damaged is computed again.
func TestDamage(t *testing.T) {
	p := plan(t, tiny, "policy.allocators=[\"prop-alloc\"]")
	dir := t.TempDir()
	want := whole(t, dir, p, Local(2))
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
		s := open(t, dir, p, Shard{})
		known := len(s.records)
		if lost := len(p.Sweep.Cells) - known; lost > 0 && len(data) == len(sound) && len(s.Warnings) == 0 {
			r.Errorf("%d cells were lost without a word", lost)
		}
		s.Close()
		if got := whole(t, dir, p, Local(1)); !bytes.Equal(got, want) {
			r.Error("damage reached the result")
		}
	})
}

// A cell that fails is told of and tried again; the others are kept.
func TestFailure(t *testing.T) {
	p := plan(t, tiny)
	dir := t.TempDir()
	s := open(t, dir, p, Shard{})
	bad := p.Sweep.Cells[4].Key
	st, err := Execute(context.Background(), p, s, Options{Run: func(ctx context.Context, p *Plan, todo []int, done func(int, *Record) error) error {
		return Local(2)(ctx, p, todo, func(i int, r *Record) error {
			if r.Key == bad {
				r = &Record{Key: bad, Failed: "no luck", Input: true}
			}
			return done(i, r)
		})
	}})
	if err != nil || !slices.Equal(st.Failed, []int{4}) || st.Unusable != 1 || st.Missing != 0 {
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
		return Local(2)(ctx, p, todo, done)
	})
	if n != 1 {
		t.Errorf("%d cells were computed after one had failed", n)
	}
}

// A study that grew computes only what is new.
func TestAdopt(t *testing.T) {
	small, large := plan(t, tiny, "seed=1,2"), plan(t, tiny, "seed=2,3")
	old, dir := t.TempDir(), t.TempDir()
	whole(t, old, small, Local(2))
	s := open(t, dir, large, Shard{})
	n, err := s.Adopt(large, []string{old, dir, t.TempDir()})
	if err != nil || n != 6 {
		t.Fatalf("%d cells taken over, %v", n, err)
	}
	s.Close()
	if got, want := whole(t, dir, large, Local(2)), whole(t, t.TempDir(), large, Local(2)); !bytes.Equal(got, want) {
		t.Error("cells that were taken over differ")
	}
}

// Places that cannot serve are refused, and nothing of them is touched.
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
		_, err := Open(c.at, p, nil, result.Manifest{}, Shard{}, false)
		var place *result.PlaceError
		if !errors.As(err, &place) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.at, err)
		}
	}
	busy := filepath.Join(dir, "busy")
	open(t, busy, p, Shard{})
	if _, err := Open(busy, p, nil, result.Manifest{}, Shard{}, false); err == nil || !strings.Contains(err.Error(), "another sweep is being written there") {
		t.Errorf("two sweeps in one directory: %v", err)
	}
	open(t, busy, p, Shard{Index: 1, Count: 2}) // parts do not mind each other
}

func TestParseShard(t *testing.T) {
	for _, c := range []struct {
		text string
		env  map[string]string
		want string
		err  string
	}{
		{"", nil, "", ""},
		{"2/4", nil, "2/4", ""},
		{"1/1", map[string]string{"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "4"}, "", ""},
		{"", map[string]string{"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_ARRAY_TASK_MIN": "0"}, "4/4", ""},
		{"", map[string]string{"SLURM_ARRAY_TASK_ID": "5", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_STEP": "2"}, "3/3", ""},
		{"/8", map[string]string{"JOB_COMPLETION_INDEX": "0"}, "1/8", ""},
		{"", map[string]string{"JOB_COMPLETION_INDEX": "0"}, "", "write --shard /N"},
		{"1/1", map[string]string{"JOB_COMPLETION_INDEX": "x"}, "", ""},
		{"7/8", map[string]string{"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_COUNT": "2", "SLURM_ARRAY_TASK_MIN": "3"}, "7/8", ""},
		{"", map[string]string{"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_COUNT": "1", "SLURM_ARRAY_TASK_MIN": "1"}, "", ""},
		{"", map[string]string{"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": "7", "SLURM_ARRAY_TASK_STEP": "1"}, "", "has gaps"},
		{"/3", map[string]string{"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": "7", "SLURM_ARRAY_TASK_STEP": "1"}, "", "has gaps"},
		{"", map[string]string{"SLURM_ARRAY_TASK_ID": "5", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": "5", "SLURM_ARRAY_TASK_STEP": "2"}, "3/3", ""},
		{"/8", nil, "", "write --shard 1/8"},
		{"/2", map[string]string{"JOB_COMPLETION_INDEX": "2"}, "", "says that this is part 3"},
		{"5/4", nil, "", "I from 1 to N"},
		{"0/4", nil, "", "I from 1 to N"},
		{"4", nil, "", "wants I/N"},
		{"1/0", nil, "", "wants I/N"},
		{"", map[string]string{"SLURM_ARRAY_TASK_ID": "x"}, "", "which is no number"},
	} {
		s, _, err := ParseShard(c.text, func(name string) string { return c.env[name] })
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q with %v: %v, want %s", c.text, c.env, err, c.err)
			}
			continue
		}
		if err != nil || s.String() != c.want {
			t.Errorf("%q with %v: %q, %v, want %q", c.text, c.env, s, err, c.want)
		}
	}
}

func share(t testing.TB, p *Plan, i, n int) Shard {
	t.Helper()
	s, err := p.Share(context.Background(), Shard{Index: i, Count: n})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Shards part the cells: each is in one, with those that its decision serves, and of no policy has one shard more to do
// than another by more than its largest cell.
func TestShardsPart(t *testing.T) {
	plans := []*Plan{
		plan(t, tiny, "workload.microbatches=2,8,4,64,3", "seed=1..2"), // deals out sizes
		plan(t, `
[workload]
kind = "all-to-all"
packet = "1000B"
[fabric]
kind = "torus"
dims = [4, 4, 4]
failed_ocs = ["x0"]
[policy]
routers = ["wild-first", "ecmp"]
[sweep]
"workload.message" = ["1KB", "100KB", "70KB", "1MB"]
"workload.step.share" = [0.1, 0.2]
`),
	}
	for _, p := range plans {
		sizes, err := p.sizes(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= 9; n++ {
			owner := make([]int, len(p.Sweep.Cells))
			parts := make([]Shard, n)
			for k := range parts {
				parts[k] = share(t, p, k, n)
			}
			least, most := map[string]int64{}, map[string]int64{}
			largest := map[string]int64{}
			for k, part := range parts {
				sum := map[string]int64{}
				counted := map[string]bool{}
				for i := range p.Sweep.Cells {
					policy := p.Sweep.Cells[i].Policy
					largest[policy] = max(largest[policy], sizes.of(p.Variant[i]))
					if !part.Has(i) {
						continue
					}
					owner[i] += k + 1
					if d := fmt.Sprint(p.Decides[i], policy); !counted[d] {
						counted[d] = true
						sum[policy] += sizes.of(p.Variant[i])
					}
				}
				for policy := range largest {
					if k == 0 {
						least[policy] = sum[policy]
					}
					least[policy], most[policy] = min(least[policy], sum[policy]), max(most[policy], sum[policy])
				}
			}
			for i := range owner {
				if owner[i] < 1 || owner[i] > n || !parts[owner[i]-1].Has(i) {
					t.Fatalf("cell %d is in not one of %d shards", i, n)
				}
				for k := range i {
					if p.Decides[i] == p.Decides[k] && p.Sweep.Cells[i].Policy == p.Sweep.Cells[k].Policy && owner[i] != owner[k] {
						t.Fatalf("cells %d and %d have one decision and are in two of %d shards", k, i, n)
					}
				}
			}
			for policy := range largest {
				if most[policy]-least[policy] > largest[policy] {
					t.Errorf("%s: shards of %d to %d, the largest cell %d", policy, least[policy], most[policy], largest[policy])
				}
			}
		}
	}
}

// What reading, planning and keeping a cell costs beside computing it.
func BenchmarkCells(b *testing.B) {
	for b.Loop() {
		p := plan(b, `
base = "gpt7b"
workload.microbatches = 1
policy.allocators = ["prop-alloc"]
[sweep]
seed = "1..1000"
`)
		s := open(b, b.TempDir(), p, Shard{})
		if _, err := Execute(context.Background(), p, s, Options{Run: Local(1)}); err != nil {
			b.Fatal(err)
		}
		finish(b, p, s)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/cell")
}

// A full disk ends the sweep with what is kept; the journal stays sound.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no /dev/full: ", err)
	}
	p := plan(t, tiny)
	s := open(t, t.TempDir(), p, Shard{})
	n := 0
	_, err = Execute(context.Background(), p, s, Options{Run: Local(1), Progress: func(done, _, _ int) {
		if n = done; n == 3 {
			s.journal.Close()
			s.journal = full
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "no space left on device; 3 finished cells are kept, the same command goes on from there") {
		t.Errorf("after %d cells: %v", n, err)
	}
}
