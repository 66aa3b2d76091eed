package cli

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/scenarios"
	"sim/scenarios/result"
	"sim/scenarios/study"
)

// TestArrange inserts flags at random positions among the files: flagsFirst returns the same
// arguments for every position.
func TestArrange(t *testing.T) {
	c, _, _ := newBufferedCommand()
	app := c.app()
	flags := [][]string{{"--json"}, {"--out", "dir"}, {"--out=dir"}, {"-j", "2"}, {"-j2"}, {"--set", "a=[1, 2]"}, {"--set=a=-1"}, {"-set", "b.c=x"}}
	rapid.Check(t, func(t *rapid.T) {
		chosen := rapid.SliceOfN(rapid.SampledFrom(flags), 0, 5).Draw(t, "flags")
		files := rapid.SliceOfN(rapid.SampledFrom([]string{"a.toml", "b.toml", "-", "c d"}), 0, 4).Draw(t, "files")
		args := []string{"sim", "run"}
		f, p := 0, 0
		for f < len(chosen) || p < len(files) {
			if p == len(files) || f < len(chosen) && rapid.Bool().Draw(t, "flag next") {
				args = append(args, chosen[f]...)
				f++
			} else {
				args = append(args, files[p])
				p++
			}
		}
		first := append([]string{"sim", "run"}, slices.Concat(chosen...)...)
		got, err := flagsFirst(app, args)
		if err != nil {
			t.Fatal(err)
		}
		want, err := flagsFirst(app, append(first, files...))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q became %q, want %q", args, got, want)
		}
		if n := len(files); n > 0 && !slices.Equal(got[len(got)-n:], files) {
			t.Errorf("%q became %q, which does not end in the files", args, got)
		}
	})
}

// TestArrangeAnything: flagsFirst does not panic on arbitrary words.
func TestArrangeAnything(t *testing.T) {
	c, _, _ := newBufferedCommand()
	app := c.app()
	word := rapid.OneOf(rapid.SampledFrom([]string{"run", "list", "-", "--", "---", "-j", "--out", "--=", "-=", "help", ""}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(word, 0, 6).Draw(t, "args")
		flagsFirst(app, append([]string{"sim"}, args...))
		complete(app, args)
	})
}

// TestReport compares the exit code of each kind of error with a table.
func TestReport(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want int
	}{
		{context.Background(), nil, 0},
		{context.Background(), errors.New("broken"), 1},
		{context.Background(), context.Canceled, 1}, // the context of the command was not cancelled
		{context.Background(), usagef("no"), 2},
		{context.Background(), &result.PlaceError{Path: "a", Why: "b"}, 2},
		{context.Background(), scenarios.Diagnostics{{File: "a", Problem: "b"}}, 2},
		{context.Background(), errorList{errors.New("a"), usagef("b")}, 2},
		{cancelled, errorList{errors.New("a"), context.Canceled}, 130},
	} {
		cmd, stdout, stderr := newBufferedCommand()
		if got := cmd.reportError(c.ctx, c.err); got != c.want {
			t.Errorf("%v gave exit code %d, want %d", c.err, got, c.want)
		}
		if stdout.Len() > 0 || strings.Count(stderr.String(), "\n") == 0 != (c.err == nil) {
			t.Errorf("%v printed %q and %q", c.err, stdout, stderr)
		}
	}
}

// ansiSequence matches a control sequence of a terminal.
var ansiSequence = regexp.MustCompile(`\x1b\[[0-9;]*[A-Za-z]`)

// TestProgressBar: the bar is drawn on a terminal and erased at the end.
func TestProgressBar(t *testing.T) {
	c, _, stderr := newBufferedCommand()
	c.isTerminal = func(io.Writer) bool { return true }
	p, update, _ := c.startRunProgress("tiny")
	update("delta-joint", 3, 7)
	time.Sleep(barDelay + 300*time.Millisecond)
	p.stop()
	if got := stderr.String(); !strings.Contains(got, "tiny: delta-joint") || !strings.HasSuffix(got, "\x1b[A\x1b[K") {
		t.Errorf("the bar was %q", got)
	}

	// The bar is never longer than a line, because only one line is erased.
	const columns = 60
	c, _, stderr = newBufferedCommand()
	c.isTerminal = func(io.Writer) bool { return true }
	c.terminalWidth = func(io.Writer) int { return columns }
	p, update, _ = c.startRunProgress(strings.Repeat("long", 20))
	update("delta-joint", 3, 7)
	time.Sleep(barDelay + 300*time.Millisecond)
	p.stop()
	for line := range strings.SplitSeq(ansiSequence.ReplaceAllString(stderr.String(), ""), "\n") {
		if n := utf8.RuneCountInString(line); n > columns {
			t.Errorf("a line of the bar has %d characters, want at most %d: %q", n, columns, line)
		}
	}
	if !strings.Contains(stderr.String(), "longlong") {
		t.Errorf("the bar was %q", stderr.String())
	}

	c, _, stderr = newBufferedCommand()
	c.isTerminal = func(io.Writer) bool { return true }
	p, _, _ = c.startRunProgress("short")
	p.stop()
	if stderr.Len() > 0 {
		t.Errorf("a short run drew %q", stderr)
	}
}

// TestPolicyProgress: the progress line of a run contains the completed share of the current
// policy's search and its remaining time at constant speed. Both start again with the next search.
func TestPolicyProgress(t *testing.T) {
	c, _, _ := newBufferedCommand()
	now := time.Unix(1000, 0)
	c.now = func() time.Time { return now }
	m, update, share := c.startRunProgress("tiny")
	defer m.stop()
	line := func(want string) {
		t.Helper()
		if got := m.current().line; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	line("tiny after 0 s")
	now = now.Add(5 * time.Second)
	update("route-optimised", 1, 2)
	line("tiny: route-optimised, 1 of 2 rows done, after 5 s")
	now = now.Add(10 * time.Second)
	share(0.25)
	line("tiny: route-optimised, 1 of 2 rows done, 25 % of the next, about 30 s to go, after 15 s")
	now = now.Add(10 * time.Second)
	share(0.8)
	line("tiny: route-optimised, 1 of 2 rows done, 80 % of the next, about 5.0 s to go, after 25 s")
	if got, want := m.current().message, "tiny: route-optimised, 1 of 2 rows (80 %, about 5.0 s to go)"; got != want {
		t.Errorf("the bar has %q, want %q", got, want)
	}
	share(0.001)
	line("tiny: route-optimised, 1 of 2 rows done, after 25 s")
	now = now.Add(10 * time.Second)
	share(0.5)
	line("tiny: route-optimised, 1 of 2 rows done, 50 % of the next, about 10 s to go, after 35 s")
	update("dor", 2, 2)
	line("tiny: dor, 2 of 2 rows done, after 35 s")

	// Each row that follows takes as long as the rows before.
	update("a", 0, 3)
	now = now.Add(15 * time.Second)
	share(0.75)
	line("tiny: a, 0 of 3 rows done, 75 % of the next, about 45 s to go, after 50 s")
}

// TestSweepProgress: the progress line of a sweep predicts the remaining time from the start. The
// prediction falls with the running time and is renewed after finished cells; a sweep that exceeds
// it reports by how much.
func TestSweepProgress(t *testing.T) {
	c, _, _ := newBufferedCommand()
	now := time.Unix(1000, 0)
	c.now = func() time.Time { return now }
	forecast := study.Forecast{Missing: 4, Seconds: 80, Rough: true}
	m, update := c.startSweepProgress("tiny", 2, func() (*study.Forecast, error) { return &forecast, nil })
	defer m.stop()
	line := func(after time.Duration, want string) {
		t.Helper()
		now = now.Add(after)
		if got := m.current().line; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	update(0, 4, 0)
	line(0, "tiny: 0 of 4 cells, about 40 s to go")
	line(10*time.Second, "tiny: 0 of 4 cells, about 30 s to go")
	line(35*time.Second, "tiny: 0 of 4 cells, 5.0 s later than predicted")
	forecast.Missing, forecast.Seconds = 3, 66
	now = now.Add(5 * time.Second)
	update(1, 4, 0)
	line(0, "tiny: 1 of 4 cells, 0.02 a second, up to 33 s to go")
	line(10*time.Second, "tiny: 1 of 4 cells, 0.0167 a second, up to 23 s to go")
}
