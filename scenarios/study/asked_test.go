package study

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sim/scenarios/result"
)

// TestAsked: a metric that no cell has ends a sweep when there is a cell of every
// policy, and not before; one that some cell has, or may come to have, does not.
func TestAsked(t *testing.T) {
	p := plan(t, tiny)
	n := len(p.Sweep.Cells)
	for _, c := range []struct {
		name  string
		fails bool
	}{
		{"nct", false}, {"solve_s", false}, {"reference.makespan_s", false}, {"ports/makespan_s", false}, {"replay_nct_p95", false}, {"dropped_link_down", false},
		{"nctt", true}, {"reference.nctt", true}, {"nct/portz", true}, {"nct/", true},
	} {
		s := open(t, t.TempDir(), p, Shard{})
		asked := []Asked{{"plot a", "makespan_s"}, {"plot b", c.name}}
		st, err := Execute(context.Background(), p, s, Options{Run: Local(1), Asked: asked})
		var unknown *UnknownMetric
		if !c.fails {
			if err != nil || st.Computed != n {
				t.Errorf("%s: %v after %d of %d", c.name, err, st.Computed, n)
			}
			continue
		}
		if !errors.As(err, &unknown) || unknown.Asked != asked[1] || !slices.Contains(unknown.Known, "nct") || unknown.Cells != st.Computed {
			t.Fatalf("%s: %v", c.name, err)
		}
		policies := map[string]bool{}
		for i := range p.Sweep.Cells {
			if s.Has(p.Sweep.Cells[i].Key) {
				policies[p.Sweep.Cells[i].Policy] = true
			}
		}
		if len(policies) != 3 || st.Computed != 3 {
			t.Errorf("%s: ended after %d cells, of %v", c.name, st.Computed, policies)
		}
		// what is there is known again, and nothing is computed
		if _, err = Execute(context.Background(), p, s, Options{Run: refuse(t), Asked: asked}); !errors.As(err, &unknown) || unknown.Cells != 3 {
			t.Errorf("%s: again %v", c.name, err)
		}
		if st, err = Execute(context.Background(), p, s, Options{Run: Local(1)}); err != nil || st.Computed != n-3 {
			t.Errorf("%s: the rest: %v", c.name, err)
		}
	}
}

// TestAskedOfStored: cells that are stored are judged when all of them are seen, and
// names near to what they have, or cells to come may have, are told.
func TestAskedOfStored(t *testing.T) {
	p := plan(t, tiny)
	s := open(t, t.TempDir(), p, Shard{})
	last := len(p.Sweep.Cells) - 1
	if _, err := Execute(context.Background(), p, s, Options{Run: func(_ context.Context, p *Plan, todo []int, done func(int, *Record) error) error {
		for _, i := range todo {
			r := &Record{Key: p.Sweep.Cells[i].Key, Reference: map[string]float64{"depth_m": 1}, Metrics: map[string]float64{"nct": 1}}
			if i == last {
				r.Metrics["oddity"] = 2
			}
			if err := done(i, r); err != nil {
				return err
			}
		}
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	for name, near := range map[string]string{"oddity": "", "odity": "oddity", "makespn_s": "makespan_s", "reference.dpth_m": "reference.depth_m"} {
		_, err := Execute(context.Background(), p, s, Options{Run: refuse(t), Asked: []Asked{{"x", name}}})
		var unknown *UnknownMetric
		switch {
		case near == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case near != "" && (!errors.As(err, &unknown) || unknown.Cells != last+1 || !slices.Contains(unknown.Near, near)):
			t.Errorf("%s: %v of %+v; want %s", name, err, unknown, near)
		}
	}
}

// TestAskedOfShard: only policies of the shard are waited for.
func TestAskedOfShard(t *testing.T) {
	p := plan(t, tiny)
	shard := Shard{Index: 1, Count: len(p.Sweep.Cells)}
	var unknown *UnknownMetric
	if _, err := Execute(context.Background(), p, open(t, t.TempDir(), p, shard), Options{Run: Local(1), Shard: shard, Asked: []Asked{{"x", "nctt"}}}); !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
}

// TestNamed: all metrics that are stored are known by name, and what is near to one
// is not.
func TestNamed(t *testing.T) {
	files, err := filepath.Glob("../baselines/*.bench")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	a := &asker{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if words := strings.Fields(line); len(words) > 1 && words[0] == "Unit" && !a.may(words[1]) {
				t.Errorf("%s: %s is not known", file, words[1])
			}
		}
	}
	for _, name := range []string{"nctt", "makespan", "ns/op", ""} {
		if a.may(name) {
			t.Errorf("%q is known", name)
		}
	}
}

// TestAskedBy: what figures show is asked for, not what they are sorted by.
func TestAskedBy(t *testing.T) {
	got := AskedBy([]result.Plot{
		{Name: "l", Kind: "lines", X: "seed", Y: "nct", Also: []string{"gap"}, Below: "ports"}, {Name: "h", Kind: "heatmap", X: "a", Y: "b", Z: "nct"},
		{Name: "s", Kind: "scatter", X: "ports", Y: "nct/ports"}, {Name: "t", Kind: "twists", Z: "mean_delay_s"},
	})
	want := []Asked{{"plot l", "nct"}, {"plot l", "gap"}, {"plot l", "ports"}, {"plot h", "nct"}, {"plot s", "nct/ports"}, {"plot s", "ports"}, {"plot t", "mean_delay_s"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
