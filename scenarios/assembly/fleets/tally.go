package fleets

import (
	"math/bits"
	"slices"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

func trailing(m uint64) int { return bits.TrailingZeros64(m) }

// tally counts what happens in the time that is measured.
type tally struct {
	c            *Config
	empty        map[fleet.Shape]bool // whether a slice fits a pod that is empty
	submitted    int
	refused      int
	ended        int
	interrupted  int // jobs that a failure hit
	interrupts   int
	evictions    int
	preemptions  int
	migrations   int
	preflights   int
	takeovers    int
	asked        int
	connections  int
	failures     [fleet.Parts]int
	repairs      [fleet.Parts]int
	waits        []fleet.Time // of jobs submitted in the time that is measured, until they were first placed
	waiting      map[*job]bool
	runs         int // jobs that run, and those on routes round a fault
	rerouted     int
	runTime      int64 // job-milliseconds
	reroutedTime int64
	day          fleet.Time // that is sampled next
	samples      int
	fits, room   int // more slices of 8 cubes, by the placement and by any without switches
	turnaround   float64
	lasted       int64 // of jobs that ended, ms
	open         map[*job]bool
	counted      int
	within       int64 // pod-milliseconds with at most one switch down
	at           fleet.Time
}

func newTally(c *Config) tally {
	return tally{c: c, empty: map[fleet.Shape]bool{}, waiting: map[*job]bool{}, open: map[*job]bool{}}
}

func (t *tally) measured(s *state) bool { return s.now >= t.c.From }

// submit counts a job that arrives, and reports whether it may wait: whether it fits a pod that is empty.
func (t *tally) submit(s *state, j *job) bool {
	fits, ok := t.empty[j.Shape]
	if !ok {
		_, fits = s.policy.Place(placement.NewPod(), j.Shape)
		t.empty[j.Shape] = fits
	}
	if t.measured(s) {
		t.submitted++
		if fits {
			t.waiting[j], t.open[j] = true, true
			t.counted++
		} else {
			t.refused++
		}
	}
	return fits
}

// placed counts a job that leaves the queue.
func (t *tally) placed(s *state, j *job) {
	if t.waiting[j] {
		t.waits = append(t.waits, s.now-j.Submit)
		delete(t.waiting, j)
	}
}

// connected counts the connections of a slice, and those of them that were made.
func (t *tally) connected(s *state, j *job, made int) {
	if t.measured(s) {
		t.asked += fleet.PodSwitches * j.Shape.Cubes()
		t.connections += made
	}
}

// hits counts a job that a failure interrupts.
func (t *tally) hits(s *state, j *job) {
	if !t.measured(s) {
		return
	}
	t.interrupts++
	if !j.hit {
		j.hit = true
		t.interrupted++
	}
}

// add counts one if it is in the time that is measured.
func (t *tally) add(s *state, n *int) {
	if t.measured(s) {
		*n++
	}
}

func (t *tally) evicted(s *state)              { t.add(s, &t.evictions) }
func (t *tally) preempted(s *state)            { t.add(s, &t.preemptions) }
func (t *tally) migrated(s *state)             { t.add(s, &t.migrations) }
func (t *tally) tookOver(s *state)             { t.add(s, &t.takeovers) }
func (t *tally) unfit(s *state)                { t.add(s, &t.preflights) }
func (t *tally) failed(s *state, k fleet.Part) { t.add(s, &t.failures[k]) }

func (t *tally) fixed(s *state, k fleet.Part) { t.add(s, &t.repairs[k]) }

// done counts a job that ends.
func (t *tally) done(s *state, j *job) {
	t.add(s, &t.ended)
	if t.open[j] {
		t.lasted += int64(s.now - j.Submit)
		delete(t.open, j)
	}
}

// mean returns the mean of a count over what was sampled.
func (t *tally) mean(n int) float64 { return float64(n) / float64(max(1, t.samples*t.c.Pods)) }

// advance adds up the time since the last event.
func (t *tally) advance(s *state) {
	span := int64(max(0, s.now-max(t.at, t.c.From)))
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
		t.waits = append(t.waits, t.c.Until-j.Submit)
	}
	slices.Sort(t.waits)
	for j := range t.open {
		t.lasted += int64(t.c.Until - j.Submit)
	}
	if t.counted > 0 {
		t.turnaround = float64(t.lasted) / float64(t.counted) / 1000
	}
}
