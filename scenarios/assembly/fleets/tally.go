package fleets

import (
	"slices"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// Counts are what happens to a fleet in the time that is measured.
type Counts struct {
	Submitted   int // jobs
	Refused     int // of these, such that no empty pod has room for them
	Ended       int
	Interrupted int // jobs that a failure hit at least once
	Interrupts  int
	Evictions   int // for maintenance
	Preemptions int // for jobs of higher bands
	Migrations  int // moved, so that others fit or to leave routes round a switch
	Preflights  int // failed
	Takeovers   int
	Links       int // connections of the slices that were set up
	Connections int // of these, those that were not there already
	Failures    [fleet.NumParts]int
	Repairs     [fleet.NumParts]int
	Waits       []fleet.Time // of jobs that could be placed, from submission until they first were or the end, sorted
	// Turnaround is the mean time from submission to the end, of jobs submitted in the time that is measured which
	// could be placed, or to the end of that, in s.
	Turnaround float64
}

// tally counts what happens in the time that is measured.
type tally struct {
	Counts
	empty        map[fleet.Shape]bool // whether a slice fits a pod that is empty
	waiting      map[*job]bool
	runs         int // jobs that run, and those on routes round a fault
	rerouted     int
	runTime      int64 // job-milliseconds
	reroutedTime int64
	day          fleet.Time // that is sampled next
	samples      int
	fits, room   int   // more slices of 8 cubes, by the placement and by any without switches
	lasted       int64 // of jobs that ended, ms
	open         map[*job]bool
	counted      int
	within       int64 // pod-milliseconds with at most one switch down
	at           fleet.Time
}

func newTally() tally {
	return tally{empty: map[fleet.Shape]bool{}, waiting: map[*job]bool{}, open: map[*job]bool{}}
}

// measured reports whether the time that is measured has begun.
func (s *state) measured() bool { return s.now >= s.c.From }

// count counts one if it is in the time that is measured.
func (s *state) count(n *int) {
	if s.measured() {
		*n++
	}
}

// submit counts a job that arrives, and reports whether it may wait: whether it fits a pod that is empty.
func (t *tally) submit(s *state, j *job) bool {
	fits, ok := t.empty[j.Shape]
	if !ok {
		_, fits = s.policy.Place(placement.NewPod(), j.Shape)
		t.empty[j.Shape] = fits
	}
	if s.measured() {
		t.Submitted++
		if fits {
			t.waiting[j], t.open[j] = true, true
			t.counted++
		} else {
			t.Refused++
		}
	}
	return fits
}

// placed counts a job that leaves the queue.
func (t *tally) placed(s *state, j *job) {
	if t.waiting[j] {
		t.Waits = append(t.Waits, s.now-j.Submit)
		delete(t.waiting, j)
	}
}

// connected counts the connections of a slice, and those of them that were made.
func (t *tally) connected(s *state, j *job, made int) {
	if s.measured() {
		t.Links += fleet.PodSwitches * j.Shape.Cubes()
		t.Connections += made
	}
}

// hits counts a job that a failure interrupts.
func (t *tally) hits(s *state, j *job) {
	s.count(&t.Interrupts)
	if s.measured() && !j.hit {
		j.hit = true
		t.Interrupted++
	}
}

// done counts a job that ends.
func (t *tally) done(s *state, j *job) {
	s.count(&t.Ended)
	if t.open[j] {
		t.lasted += int64(s.now - j.Submit)
		delete(t.open, j)
	}
}

// advance adds up the time since the last event.
func (t *tally) advance(s *state) {
	span := int64(max(0, s.now-max(t.at, s.c.From)))
	t.at = s.now
	if span == 0 {
		return
	}
	t.runTime += span * int64(t.runs)
	t.reroutedTime += span * int64(t.rerouted)
	for p := range s.pods {
		if s.pods[p].switchesDown() <= 1 {
			t.within += span
		}
	}
}

// end counts what is still waiting.
func (t *tally) end(s *state) {
	for j := range t.waiting {
		t.Waits = append(t.Waits, s.c.Until-j.Submit)
	}
	slices.Sort(t.Waits)
	for j := range t.open {
		t.lasted += int64(s.c.Until - j.Submit)
	}
	if t.counted > 0 {
		t.Turnaround = float64(t.lasted) / float64(t.counted) / 1000
	}
}
