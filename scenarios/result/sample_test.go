package result

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSample: the critical path, the first and the last task are selected, all tasks that overlap
// with a listed window are selected, and others are at most max.
func TestSample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "tasks")
		tasks := make([]TaskInterval, n)
		end := 0.0
		for i := range tasks {
			start := rapid.Float64Range(0, 100).Draw(t, "start")
			tasks[i] = TaskInterval{start, start + rapid.Float64Range(0, 5).Draw(t, "duration"), rapid.IntRange(0, 9).Draw(t, "critical") == 0}
			end = math.Max(end, tasks[i].End)
		}
		max := rapid.IntRange(1, n).Draw(t, "max")
		sample := Sample(n, max, func(i int) TaskInterval { return tasks[i] })
		selected, windows := sample.Selected, sample.Windows
		others := 0
		for i, s := range tasks {
			if selected[i] && !s.Critical {
				others++
			}
			if s.Critical && !selected[i] {
				t.Fatalf("task %d on the critical path is not selected", i)
			}
			overlaps := slices.ContainsFunc(windows, func(w [2]float64) bool { return s.Start < w[1]*end && s.End > w[0]*end })
			if overlaps && !selected[i] {
				t.Fatalf("task %d from %g to %g overlaps with the windows %v of %g but is not selected", i, s.Start, s.End, windows, end)
			}
		}
		if others > max {
			t.Fatalf("%d tasks that are not critical are selected, want at most %d", others, max)
		}
		if others == 0 && max > 0 && slices.ContainsFunc(tasks, func(k TaskInterval) bool { return !k.Critical }) {
			t.Fatalf("none of the tasks that are not critical is selected, want up to %d", max)
		}
		if max == n && sample.Stride == 0 && (len(windows) != 1 || windows[0] != [2]float64{0, 1}) {
			t.Fatalf("all tasks fit, but the windows are %v", windows)
		}
	})
}

// TestSampleShowsBothEnds: of 100,000 tasks in a row, a sample of 10,000 has the first and the last.
func TestSampleShowsBothEnds(t *testing.T) {
	const n = 100_000
	sample := Sample(n, n/10, func(i int) TaskInterval { return TaskInterval{float64(i), float64(i + 1), false} })
	selected, windows := sample.Selected, sample.Windows
	if !selected[0] || !selected[n-1] {
		t.Errorf("the first task is selected: %v, the last: %v, want both", selected[0], selected[n-1])
	}
	if len(windows) < 3 {
		t.Errorf("the windows are %v, want some between the ends too", windows)
	}
}

// TestCoarsened: a coarsened series has the integral, the beginning and the end of the original.
func TestCoarsened(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "steps")
		s := Series{TimeS: []float64{0}}
		for range n {
			s.TimeS = append(s.TimeS, s.TimeS[len(s.TimeS)-1]+float64(rapid.IntRange(0, 3).Draw(t, "width")))
			s.Value = append(s.Value, float64(rapid.IntRange(0, 9).Draw(t, "value")))
		}
		s.Value = append(s.Value, 0)
		max := rapid.IntRange(1, n).Draw(t, "max")
		got := s.coarsen(max)
		if a, b := integral(s), integral(got); math.Abs(a-b) > 1e-9*(1+a) {
			t.Fatalf("the integral is %g, want %g", b, a)
		}
		if len(got.TimeS) != len(got.Value) || !slices.IsSorted(got.TimeS) || len(got.TimeS) > max+1 {
			t.Fatalf("%d times and %d values for at most %d steps: %v", len(got.TimeS), len(got.Value), max, got.TimeS)
		}
		if got.TimeS[0] != s.TimeS[0] || got.TimeS[len(got.TimeS)-1] != s.TimeS[n] {
			t.Fatalf("the series runs from %g to %g, want %g to %g", got.TimeS[0], got.TimeS[len(got.TimeS)-1], s.TimeS[0], s.TimeS[n])
		}
	})
}

// integral returns the integral of a series over time.
func integral(s Series) (sum float64) {
	for i := range len(s.TimeS) - 1 {
		sum += s.Value[i] * (s.TimeS[i+1] - s.TimeS[i])
	}
	return sum
}

// TestWrittenIsReadable: sections that are too large for readers are sampled or left out
// when a run is written, and Omitted has a line for each.
func TestWrittenIsReadable(t *testing.T) {
	if testing.Short() {
		t.Skip("writes large files")
	}
	long := Series{Name: "link"}
	for i := range 900_000 {
		long.TimeS, long.Value = append(long.TimeS, float64(i)/1e6+1e-13), append(long.Value, math.Sqrt(float64(i)))
	}
	track := Track{Name: "stage 1"}
	for i := range 700_000 {
		track.Spans = append(track.Spans, Span{Kind: "forward", Label: "1", StartS: float64(i), EndS: float64(i + 1), Critical: i%100_000 == 7})
	}
	names := make([]string, 900_000)
	for i := range names {
		names[i] = fmt.Sprintf("transfer %d of a long name", i)
	}
	for name, enlarge := range map[string]func(d *Detail){
		"spans":   func(d *Detail) { d.Policies[0].Tracks = []Track{track} },
		"series":  func(d *Detail) { d.Policies[0].Demand = []Series{long, long} },
		"windows": func(d *Detail) { d.Windows = Windows{Task: names} },
	} {
		t.Run(name, func(t *testing.T) {
			run, dir := sample(), t.TempDir()+"/run"
			enlarge(&run.Detail)
			before := run.Detail.Policies
			keep(t, dir, run)
			got, err := Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Detail.Omitted) != 1 {
				t.Errorf("omitted is %q, want one line", got.Detail.Omitted)
			}
			switch name {
			case "spans":
				spans := got.Detail.Policies[0].Tracks[0].Spans
				if len(before[0].Tracks[0].Spans) != len(track.Spans) {
					t.Error("writing changed the caller's simulations")
				}
				critical := 0
				for _, s := range spans {
					if s.Critical {
						critical++
					}
				}
				if len(spans) < 100_000 || spans[len(spans)-1].EndS != 700_000 || critical != 7 {
					t.Errorf("%d spans of which %d are critical, the last ends at %g", len(spans), critical, spans[len(spans)-1].EndS)
				}
			case "series":
				if a, b := integral(long), integral(got.Detail.Policies[0].Demand[1]); math.Abs(a-b) > 1e-9*a {
					t.Errorf("the integral of a series is %g, want %g", b, a)
				}
			}
		})
	}
}
