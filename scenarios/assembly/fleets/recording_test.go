package fleets

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sim/workloads/fleet"
)

// TestRecording checks the records of a simulation. Recording does not change the
// outcome. No cube belongs to two slices at a time. Completed jobs have done their
// work. Files have a row for each attempt and each event.
func TestRecording(t *testing.T) {
	c := paperPod(0.8)
	c.Start, c.End = 0, 30*fleet.Day
	unrecorded := simulate(t, c, "reconfigurable")
	c.Record = true
	o := simulate(t, c, "reconfigurable")
	if unrecorded.TimeByUse != o.TimeByUse || fmt.Sprint(unrecorded.Waits) != fmt.Sprint(o.Waits) {
		t.Error("got another outcome with recording")
	}

	// Check the times and the work of each attempt.
	type span struct{ from, until fleet.Time }
	var cubes [podCubes][]span
	ends := map[string]int{}
	for _, a := range o.recorder.attempts {
		ends[a.end]++
		if a.queued > a.placedAt || a.runStart >= 0 &&
			(a.runStart < a.placedAt || a.leftAt < a.runStart) || a.leftAt < a.placedAt {
			t.Fatalf("got times in the wrong order: %+v", a)
		}
		if a.end == "done" && a.doneWork != a.work || a.doneWork > a.work || a.doneWork < 0 {
			t.Errorf("attempt %s with %v of %v saved, want all work if done, else a part",
				a.end, a.doneWork, a.work)
		}
		if a.shape.Cubes() > 0 {
			for _, x := range a.cubes {
				cubes[x] = append(cubes[x], span{a.placedAt, a.leftAt})
			}
		}
	}

	// No cube belongs to two slices at a time.
	for i := range cubes {
		slices.SortFunc(cubes[i], func(a, b span) int { return int(a.from - b.from) })
		for k := 1; k < len(cubes[i]); k++ {
			if cubes[i][k].from < cubes[i][k-1].until {
				t.Fatalf("cube %d belongs to two slices at %v", i, cubes[i][k].from)
			}
		}
	}

	if ends["done"] != o.Ended || ends["interrupted"] == 0 || ends["evicted"] == 0 ||
		len(ends) > 5 {
		t.Errorf("got ends %v, want %d done, and some interrupted and evicted", ends, o.Ended)
	}

	// In samples of free cubes, any cubes form a slice if the placement is
	// reconfigurable.
	fragmented := false
	for _, name := range []string{"reconfigurable", "static-first-fit"} {
		samples := simulate(t, c, name).recorder.freeSamples
		for _, l := range samples {
			fragmented = fragmented || l.Largest < l.Free
			if l.Largest < 1 || l.Largest > l.Free ||
				name == "reconfigurable" && l.Largest < l.Free {
				t.Errorf("%s: at %g s the largest slice has %d of %d free cubes, want all if "+
					"reconfigurable", name, l.AtS, l.Largest, l.Free)
			}
		}

		if maxSamples := shownDays * 4; len(samples) == 0 || len(samples) > maxSamples {
			t.Errorf("%s: got %d samples of free cubes, want 1 to %d", name,
				len(samples), maxSamples)
		}
	}

	if !fragmented {
		t.Error("got no fragmentation of a static pod, want some")
	}

	// Every failure of a machine is an event.
	down := 0
	for _, e := range o.recorder.events {
		if e.part == "machine" && e.what == "down" {
			down++
		}
	}

	if down != o.Failures[fleet.Machine] {
		t.Errorf("got %d events of machines that go down, want %d failures",
			down, o.Failures[fleet.Machine])
	}

	files := o.recorder.files("p")
	for i, n := range []int{len(o.recorder.attempts), len(o.recorder.events)} {
		if got := strings.Count(string(files[i].Data), "\n"); got != n+1 {
			t.Errorf("%s: got %d lines, want %d", files[i].Name, got, n+1)
		}
	}

	// Spans of jobs of whole cubes do not overlap in the figure.
	for i, track := range o.recorder.cubeTracks(c) {
		for k := 1; k < len(track.Spans); k++ {
			if x := track.Spans; x[k].Kind != "part of a cube" &&
				x[k-1].Kind != "part of a cube" &&
				x[k].StartS < x[k-1].EndS-1e-6 && x[k].Kind != "maintenance" && x[k-1].Kind != "maintenance" && x[k].Kind != "down" && x[k-1].Kind != "down" {
				t.Errorf("spans of cube %d overlap: %v, %v", i, x[k-1], x[k])
			}
		}
	}
}
