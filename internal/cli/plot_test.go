package cli

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sim/scenarios"
	"sim/scenarios/result"
)

// TestReadWhere compares parsed values of --where with a table of valid and invalid texts.
func TestReadWhere(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  result.NameFilter // nil if an error is expected
	}{
		{[]string{"policy=a,b"}, result.NameFilter{"policy": {"a", "b"}}},
		{[]string{"policy=a", " policy = b "}, result.NameFilter{"policy": {"a", "b"}}},
		{[]string{"fabric.dims=[4, 4],[8, 8]", "seed=1"}, result.NameFilter{"fabric.dims": {"[4, 4]", "[8, 8]"}, "seed": {"1"}}},
		{[]string{"a==b"}, result.NameFilter{"a": {"=b"}}},
		{[]string{"policy"}, nil}, {[]string{"policy="}, nil}, {[]string{"=a"}, nil}, {[]string{""}, nil},
	} {
		got, err := readWhere(c.texts)
		if (err != nil) != (c.want == nil) {
			t.Errorf("%q: error %v", c.texts, err)
		}
		if diff := cmp.Diff(c.want, got); c.want != nil && diff != "" {
			t.Errorf("%q: (-want +got)\n%s", c.texts, diff)
		}
	}
}

// TestBesides: runs drawn side by side keep all metrics, times and labels, under distinct
// names.
func TestBesides(t *testing.T) {
	o := fakeOutcome()
	run := func(title string) *result.Run {
		d := o.Detail
		d.Title = title
		return &result.Run{Document: o.Document, Timings: o.Timings, Detail: d}
	}
	s, times, err := runsAsSweep([]*result.Run{run("t"), run("t"), run("t")}, []string{"runs/a/", "old/a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"runs/a", "old/a", "b"}; !slices.Equal(s.Axes[0].Labels, want) {
		t.Errorf("labels %q, want %q", s.Axes[0].Labels, want)
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if len(s.Cells) != 3*len(o.Document.Rows) || s.Title != "t" {
		t.Fatalf("%d cells, title %q", len(s.Cells), s.Title)
	}
	for i, c := range s.Cells {
		row := o.Document.Rows[i%len(o.Document.Rows)]
		if diff := cmp.Diff(row.Metrics, c.Metrics); diff != "" || c.Policy != row.Policy || c.At[0] != i/len(o.Document.Rows) {
			t.Errorf("cell %d: %+v\n%s", i, c, diff)
		}
		if times.Cells[c.Key] != o.Timings.Policies[c.Policy] {
			t.Errorf("cell %d has times %+v", i, times.Cells[c.Key])
		}
	}
	if s, _, err := runsAsSweep([]*result.Run{run("t"), run("u")}, []string{"a", "b"}); err != nil || s.Title != "" {
		t.Errorf("different runs have the title %q: %v", s.Title, err)
	}
	if _, _, err := runsAsSweep([]*result.Run{run("t"), run("t")}, []string{"a", "a/"}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("the same run twice: %v", err)
	}
	if _, _, err := runsAsSweep([]*result.Run{{}}, []string{"a"}); err == nil {
		t.Error("a run of nothing is drawn")
	}
}

// TestPlotOfTrueRun: sim plot draws the results of built-in scenarios.
func TestPlotOfTrueRun(t *testing.T) {
	c, stdout, stderr := newBufferedCommand()
	c.run = scenarios.Run
	dir := t.TempDir()
	if code := c.main(context.Background(), []string{"sim", "run", "gpt7b", "--no-plots", "--out", dir + "/run"}); code != exitOK {
		t.Fatal(stderr)
	}
	stdout.Reset()
	for _, args := range [][]string{nil, {"--y", "reference.makespan_s"}, {"--kind", "cdf", "--y", "ports"}, {"--x", "ports", "--y", "nct"}} {
		if code := c.main(context.Background(), append([]string{"sim", "plot", dir + "/run", "--format", "svg"}, args...)); code != exitOK {
			t.Errorf("%q: %s", args, stderr)
		}
	}
	if n := strings.Count(stdout.String(), "\n"); n < 8 {
		t.Errorf("only %d figures:\n%s", n, stdout)
	}
}

// TestArgumentValues: a command that takes one argument completes only one.
func TestArgumentValues(t *testing.T) {
	for _, c := range []struct {
		cmd    string
		before []string
		want   string // one of the values, or empty without values
	}{{"list", nil, "metrics"}, {"list", []string{"metrics"}, ""}, {"completion", nil, "bash"}, {"completion", []string{"bash"}, ""}, {"compare", []string{"a", "b"}, ""}} {
		got := argumentValues(c.cmd, c.before)
		if c.want == "" && len(got) > 0 || c.want != "" && !slices.Contains(got, c.want) {
			t.Errorf("after %s %v come %v, want %q", c.cmd, c.before, got, c.want)
		}
	}
}
