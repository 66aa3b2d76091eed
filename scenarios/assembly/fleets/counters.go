package fleets

import (
	"slices"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// Counts are what happens to a fleet in the time that is measured.
type Counts struct {
	Submitted         int // jobs
	Rejected          int // of these, such that no empty pod has room for them
	Ended             int
	Interrupted       int // jobs that a failure hit at least once
	Interrupts        int
	Evictions         int // for maintenance
	Preemptions       int // for jobs of higher bands
	Migrations        int // moved, so that others fit or to leave routes round a switch
	PreflightFailures int // failed
	Takeovers         int
	Links             int // connections of the slices that were set up
	Connections       int // of these, those that were not there already
	Failures          [fleet.NumParts]int
	Repairs           [fleet.NumParts]int
	Waits             []fleet.Time // of jobs that could be placed, from submission until they first were or the end, sorted
	// Turnaround is the mean time from submission to the end, of jobs submitted in the time that is measured which
	// could be placed, or to the end of that, in s.
	Turnaround float64
}

// counters counts what happens in the time that is measured.
type counters struct {
	Counts
	fitsEmptyPod            map[fleet.Shape]bool // whether a slice fits a pod that is empty
	waiting                 map[*fleetJob]bool
	runningJobs             int // jobs that run, and those on routes round a fault
	reroutedJobs            int
	runTime                 int64 // job-milliseconds
	reroutedTime            int64
	nextSample              fleet.Time // that is sampled next
	samples                 int
	slicesFit, maxSlicesFit int   // more slices of 8 cubes, by the placement and by any without switches
	turnaroundSum           int64 // of jobs that ended, ms
	unfinished              map[*fleetJob]bool
	placeableJobs           int
	tolerableTime           int64 // pod-milliseconds with at most one switch down
	lastTime                fleet.Time
}

func newCounters() counters {
	return counters{fitsEmptyPod: map[fleet.Shape]bool{}, waiting: map[*fleetJob]bool{},
		unfinished: map[*fleetJob]bool{}}
}

// isMeasured reports whether the time that is measured has begun.
func (s *simulation) isMeasured() bool { return s.now >= s.config.Start }

// increment counts one if it is in the time that is measured.
func (s *simulation) increment(n *int) {
	if s.isMeasured() {
		*n++
	}
}

// countSubmitted counts a job that arrives, and reports whether it may wait: whether it fits a pod that is empty.
func (t *counters) countSubmitted(s *simulation, j *fleetJob) bool {
	fits, ok := t.fitsEmptyPod[j.Shape]
	if !ok {
		_, fits = s.policy.Place(placement.NewPod(), j.Shape)
		t.fitsEmptyPod[j.Shape] = fits
	}

	if s.isMeasured() {
		t.Submitted++
		if fits {
			t.waiting[j], t.unfinished[j] = true, true
			t.placeableJobs++
		} else {
			t.Rejected++
		}
	}

	return fits
}

// countPlaced counts a job that leaves the queue.
func (t *counters) countPlaced(s *simulation, j *fleetJob) {
	if t.waiting[j] {
		t.Waits = append(t.Waits, s.now-j.Submit)
		delete(t.waiting, j)
	}
}

// countConnections counts the connections of a slice, and those of them that were made.
func (t *counters) countConnections(s *simulation, j *fleetJob, made int) {
	if s.isMeasured() {
		t.Links += fleet.PodSwitches * j.Shape.Cubes()
		t.Connections += made
	}
}

// countInterrupt counts a job that a failure interrupts.
func (t *counters) countInterrupt(s *simulation, j *fleetJob) {
	s.increment(&t.Interrupts)
	if s.isMeasured() && !j.interrupted {
		j.interrupted = true
		t.Interrupted++
	}
}

// countEnded counts a job that ends.
func (t *counters) countEnded(s *simulation, j *fleetJob) {
	s.increment(&t.Ended)
	if t.unfinished[j] {
		t.turnaroundSum += int64(s.now - j.Submit)
		delete(t.unfinished, j)
	}
}

// advance adds up the time since the last event.
func (t *counters) advance(s *simulation) {
	span := int64(max(0, s.now-max(t.lastTime, s.config.Start)))
	t.lastTime = s.now
	if span == 0 {
		return
	}
	t.runTime += span * int64(t.runningJobs)
	t.reroutedTime += span * int64(t.reroutedJobs)
	for p := range s.pods {
		if s.pods[p].switchesDown() <= 1 {
			t.tolerableTime += span
		}
	}
}

// finish counts what is still waiting.
func (t *counters) finish(s *simulation) {
	for j := range t.waiting {
		t.Waits = append(t.Waits, s.config.End-j.Submit)
	}
	slices.Sort(t.Waits)
	for j := range t.unfinished {
		t.turnaroundSum += int64(s.config.End - j.Submit)
	}
	if t.placeableJobs > 0 {
		t.Turnaround = float64(t.turnaroundSum) / float64(t.placeableJobs) / 1000
	}
}
