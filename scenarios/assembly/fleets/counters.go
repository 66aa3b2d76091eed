// This file counts the events of a simulation for its metrics.

package fleets

import (
	"slices"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// Counts are the numbers of events in the measured time.
type Counts struct {
	Submitted         int                 // submitted jobs
	Rejected          int                 // submitted jobs that do not fit an empty pod with a free reserve
	FirstRejected     fleet.Job           // the first of them; zero without any
	Ended             int                 // jobs that ended
	Interrupted       int                 // jobs with at least one interruption by a failure
	Interrupts        int                 // interruptions by failures
	Evictions         int                 // departures of jobs for maintenance
	Preemptions       int                 // departures of jobs for jobs of a higher band
	Migrations        int                 // moves of jobs that make space, or return to paths without detours
	PreflightFailures int                 // starts that preflight stopped
	Takeovers         int                 // standby cubes that replaced a cube of a running job
	Links             int                 // cross-connects of the slices that were set up
	Connections       int                 // the part of Links that was not connected already
	Failures          [fleet.NumParts]int // indexed by kind of part
	Repairs           [fleet.NumParts]int // indexed by kind of part
	// Waits are the times from submission to the first placement, or to the end,
	// of the jobs that fit an empty pod; sorted.
	Waits []fleet.Time
	// Turnaround is the mean time in seconds from submission to the end of the
	// job, or to the end of the measured time. It includes the jobs that were
	// submitted in the measured time and fit an empty pod.
	Turnaround float64
}

// counters are the counts of a running simulation, with the state from which they are
// computed. Counts and integrals cover the measured time only. The state also covers the
// time before.
type counters struct {
	Counts
	lastTime fleet.Time // time of the last event

	fitsEmptyPod  map[fleet.Shape]bool // whether a slice fits; caches results of the placement
	waiting       map[*fleetJob]bool   // jobs that were not placed yet
	unfinished    map[*fleetJob]bool   // placeable jobs that have not ended
	placeableJobs int                  // submitted jobs that fit an empty pod
	turnaroundSum int64                // sum of the turnaround times of ended jobs, in milliseconds

	runningJobs   int   // jobs that run at present
	reroutedJobs  int   // running jobs on paths around a failed switch
	runTime       int64 // integral of runningJobs, in job-milliseconds
	reroutedTime  int64 // integral of reroutedJobs, in job-milliseconds
	tolerableTime int64 // time with at most one failed switch, in pod-milliseconds

	nextSample              fleet.Time // day of the next sample of free slices
	samples                 int
	slicesFit, maxSlicesFit int // sums over samples; see sampleFreeSlices
}

// newCounters returns counters at the start of a simulation.
func newCounters() counters {
	return counters{
		fitsEmptyPod: map[fleet.Shape]bool{},
		waiting:      map[*fleetJob]bool{}, unfinished: map[*fleetJob]bool{},
	}
}

// isMeasured reports whether the measured time has begun.
func (s *simulation) isMeasured() bool { return s.now >= s.config.Start }

// increment increments a counter if the measured time has begun.
func (s *simulation) increment(n *int) {
	if s.isMeasured() {
		*n++
	}
}

// countSubmitted counts a submitted job. It reports whether the job may wait, that
// is, whether it fits an empty pod and leaves the reserve free. Other jobs could never start.
func (t *counters) countSubmitted(s *simulation, j *fleetJob) bool {
	fits, ok := t.fitsEmptyPod[j.Shape]
	if !ok {
		empty := placement.NewPod(&s.config.Pod)
		place, placed := s.policy.Place(empty, j.Shape)
		fits = placed && !s.usesReserve(empty, &place)
		t.fitsEmptyPod[j.Shape] = fits
	}

	if s.isMeasured() {
		t.Submitted++
		if fits {
			t.waiting[j], t.unfinished[j] = true, true
			t.placeableJobs++
		} else {
			if t.Rejected == 0 {
				t.FirstRejected = j.Job
			}
			t.Rejected++
		}
	}

	return fits
}

// countPlaced records the waiting time of a job that is placed for the first time.
func (t *counters) countPlaced(s *simulation, j *fleetJob) {
	if t.waiting[j] {
		t.Waits = append(t.Waits, s.now-j.Submit)
		delete(t.waiting, j)
	}
}

// countConnections counts the cross-connects of a slice that is set up: one per cube and
// switch. connections is the number of them that were not connected already.
func (t *counters) countConnections(s *simulation, j *fleetJob, connections int) {
	if s.isMeasured() {
		t.Links += s.config.Pod.Cube.Switches() * j.Shape.Cubes()
		t.Connections += connections
	}
}

// countInterrupt counts the interruption of a job by a failure.
func (t *counters) countInterrupt(s *simulation, j *fleetJob) {
	s.increment(&t.Interrupts)
	if s.isMeasured() && !j.interrupted {
		j.interrupted = true
		t.Interrupted++
	}
}

// countEnded counts a job that ended.
func (t *counters) countEnded(s *simulation, j *fleetJob) {
	s.increment(&t.Ended)
	if t.unfinished[j] {
		t.turnaroundSum += int64(s.now - j.Submit)
		delete(t.unfinished, j)
	}
}

// advance adds the time since the last event to the integrals.
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

// finish adds the times of the jobs that are waiting or running at the end of the
// simulation.
func (t *counters) finish(s *simulation) {
	for j := range t.waiting {
		t.Waits = append(t.Waits, s.config.End-j.Submit)
	}
	slices.Sort(t.Waits) // also makes the result independent of the order of the map
	for j := range t.unfinished {
		t.turnaroundSum += int64(s.config.End - j.Submit)
	}
	if t.placeableJobs > 0 {
		t.Turnaround = float64(t.turnaroundSum) / float64(t.placeableJobs) / 1000
	}
}
