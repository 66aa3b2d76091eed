// This file defines the state of a job in a simulation, and the arithmetic of its runs. A run
// is the time from the start of work until the job ends, leaves or is interrupted. It
// alternates between intervals of work and checkpoints.

package fleets

import (
	"math"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// jobPhase is the state of a job between its submission and its end. A job can go through
// the phases several times.
type jobPhase int8

// Phases of a job.
const (
	phaseQueued      jobPhase = iota
	phaseSetup                // connecting, preflight and session
	phaseRunning              // working and writing checkpoints
	phaseTakeover             // a standby cube takes over
	phaseLeaving              // writing a checkpoint before an eviction or a move
	phaseClaimed              // waiting until other jobs have left its claimed place
	phaseInterrupted          // a failure hit the job and is not detected yet
)

// fleetJob is a job in a simulation. Its work is measured in time on its slice
// without faults.
type fleetJob struct {
	fleet.Job
	phase    jobPhase
	pod      int             // index of the pod of place
	place    placement.Place // chips that the job uses
	doneWork fleet.Time      // work that is not lost any more
	queuedAt fleet.Time      // time of the last entry into the queue
	// phaseStart is the start of the phase. In phaseLeaving and phaseTakeover it
	// is the start of the preceding run, and runEnd is the end of this run.
	phaseStart, runEnd fleet.Time

	// Properties of the current run.

	slowdown       float64    // duration of work, relative to its duration on paths without faults
	interval       fleet.Time // work between checkpoints
	rerouted       bool       // uses paths around a failed switch
	onBadMachine   bool       // a machine has an undetected failure
	failsPreflight bool       // preflight will detect that failure
	attempts       int        // number of placements so far

	// Properties of all runs.

	returned       bool       // was evicted or interrupted, and so comes first in its band
	interrupted    bool       // was interrupted by a failure
	requestedRatio float64    // duration of work on the requested slice, relative to its duration on the actual slice
	lastMove       fleet.Time // time of the last preemption or move; 0 means never
	claim          *claim     // reserved place; nil without a reservation
}

// runSchedule describes a run without interruptions: intervals of work, each
// followed by a checkpoint except the last.
type runSchedule struct {
	length     fleet.Time // total duration
	checkpoint fleet.Time // duration of a checkpoint
	interval   fleet.Time // work between checkpoints
}

// remainingRun returns the schedule of the remaining work of a job.
func (j *fleetJob) remainingRun(t *Times) runSchedule {
	work := fleet.Time(math.Ceil(float64(j.Work-j.doneWork) * j.slowdown))
	checkpoints := fleet.Time(0)
	if work > 0 {
		checkpoints = (work - 1) / j.interval // no checkpoint after the last interval
	}
	length := work + checkpoints*t.Checkpoint
	if float64(checkpoints)*float64(t.Checkpoint) > float64(fleet.MaxTime) { // may have overflowed
		length = fleet.MaxTime
	}
	return runSchedule{length, t.Checkpoint, j.interval}
}

// estimatedRun returns the duration of the remaining run by the user's estimate of
// the work.
func (j *fleetJob) estimatedRun(t *Times) fleet.Time {
	x := *j
	x.Work = max(x.Estimate, x.doneWork)
	return x.remainingRun(t).length
}

// checkpointed returns the time of the run that its last complete checkpoint covers, if the
// run has lasted for span.
func (r runSchedule) checkpointed(span fleet.Time) fleet.Time {
	return span - span%(r.interval+r.checkpoint)
}

// split divides the first span of a run into the times of work and of writing checkpoints.
func (r runSchedule) split(span fleet.Time) (running, writing fleet.Time) {
	cycle := r.interval + r.checkpoint
	n, rest := span/cycle, span%cycle
	return n*r.interval + min(rest, r.interval), n*r.checkpoint + max(0, rest-r.interval)
}

// unsavedTime returns the time of a job's run since its last checkpoint.
func (s *simulation) unsavedTime(j *fleetJob) fleet.Time {
	if j.phase != phaseRunning {
		return 0
	}
	span := s.now - j.phaseStart
	return span - j.remainingRun(&s.config.Times).checkpointed(span)
}

// setupTime returns an upper bound on the time to set up a job.
func (s *simulation) setupTime(j *fleetJob) fleet.Time {
	t := &s.config.Times
	if j.Shape.Cubes() == 0 || !s.policy.Rewires() {
		return t.Preflight + t.Session
	}
	return t.Poll + t.Switch + t.LinkTraining + t.Preflight + t.Session
}

// remainingWork returns the work that remains if the job stops now with a
// checkpoint.
func (s *simulation) remainingWork(j *fleetJob) fleet.Time {
	work := j.Work - j.doneWork
	end := s.now
	switch j.phase {
	case phaseLeaving, phaseTakeover:
		end = j.runEnd
		fallthrough
	case phaseRunning:
		running, _ := j.remainingRun(&s.config.Times).split(end - j.phaseStart)
		work -= j.workIn(running)
	}
	return max(0, work)
}

// workIn returns the work that the job does in a time of running. Work is measured in time
// on paths without faults.
func (j *fleetJob) workIn(running fleet.Time) fleet.Time {
	return fleet.Time(float64(running) / j.slowdown)
}

// chargeRun charges a run that ends at time end, and adds its work to the job.
// keepsAll determines whether the work since the last checkpoint is kept.
func (s *simulation) chargeRun(j *fleetJob, end fleet.Time, keepsAll bool) {
	r := j.remainingRun(&s.config.Times)
	span := end - j.phaseStart
	saved := span // part of the span that is not lost
	if !keepsAll {
		saved = r.checkpointed(span)
	}

	// Only the part of the run within the measured time is charged. It is between first and
	// last, relative to the start of the run. Its charge is the difference between the
	// charges up to last and up to first.
	first := min(max(j.phaseStart, s.account.from), end) - j.phaseStart
	last := min(end, max(s.account.until, j.phaseStart)) - j.phaseStart
	if last > first {
		runToLast, writeToLast := r.split(min(last, saved))
		runToFirst, writeToFirst := r.split(min(first, saved))
		work := j.workIn(runToLast) - j.workIn(runToFirst)

		chips := int64(j.Shape.Chips())
		s.account.byUse[Work] += chips * int64(work)
		s.account.requestedWork += float64(chips*int64(work)) * j.requestedRatio
		for k := range s.account.batchWork {
			from := min(max(s.account.batchStart(k)-j.phaseStart, first), last)
			to := min(max(s.account.batchStart(k+1)-j.phaseStart, first), last)
			if from < to {
				runTo, _ := r.split(min(to, saved))
				runFrom, _ := r.split(min(from, saved))
				part := chips * int64(j.workIn(runTo)-j.workIn(runFrom))
				s.account.batchWork[k] += float64(part) * j.requestedRatio
			}
		}
		s.account.byUse[Routing] += chips * int64(runToLast-runToFirst-work)
		s.account.byUse[Checkpoint] += chips * int64(writeToLast-writeToFirst)
		s.account.byUse[Rework] += chips * int64(max(0, last-max(first, saved)))
	}

	running, _ := r.split(saved)
	j.doneWork = min(j.Work, j.doneWork+j.workIn(running))
}
