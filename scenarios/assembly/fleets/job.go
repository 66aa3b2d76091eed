package fleets

import (
	"math"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// jobPhase is where a job is between its submission and its end.
type jobPhase int8

const (
	phaseQueued jobPhase = iota
	phaseSetup
	phaseRunning
	phaseTakeover    // a standby takes over
	phaseLeaving     // a checkpoint before it is evicted
	phaseClaimed     // its place is kept until others have left it
	phaseInterrupted // hit by a failure that is not acted upon yet
)

// fleetJob is a job of the fleet.
type fleetJob struct {
	fleet.Job
	phase      jobPhase
	pod        int
	place      placement.Place
	doneWork   fleet.Time // work that is kept
	phaseStart fleet.Time // when the phase began or, if it is leaving or moving, the run before it
	queuedAt   fleet.Time // when it was queued last
	// Of a run.
	slowdown       float64    // how much longer work takes
	interval       fleet.Time // of work between checkpoints
	runEnd         fleet.Time // when a run ended whose work counts once a last checkpoint or the standby's state is written
	rerouted       bool       // on routes round a switch that is down
	onBadMachine   bool       // on a machine that is bad, unseen
	failsPreflight bool       // preflight will find it
	attempts       int        // times that it was placed

	returned       bool       // evicted or interrupted: it comes first of its band
	interrupted    bool       // interrupted by a failure
	requestedRatio float64    // how many times as long its work would take on the slice that was asked for
	lastMove       fleet.Time // when it was last preempted or moved; 0 is never
	claim          *claim     // where it goes next
}

// runSchedule is how a run of work goes: so many milliseconds of time, with a checkpoint after each interval.
type runSchedule struct {
	length     fleet.Time // without interruption
	checkpoint fleet.Time
	interval   fleet.Time
}

// remainingRun returns how the run of a job goes that is left.
func (j *fleetJob) remainingRun(t *Times) runSchedule {
	work := fleet.Time(math.Ceil(float64(j.Work-j.doneWork) * j.slowdown))
	n := fleet.Time(0)
	if work > 0 {
		n = (work - 1) / j.interval // none at the end
	}
	length := work + n*t.Checkpoint
	if float64(n)*float64(t.Checkpoint) > float64(fleet.MaxTime) { // it never ends
		length = fleet.MaxTime
	}
	return runSchedule{length, t.Checkpoint, j.interval}
}

// estimatedRun returns how long the run of a job that is left takes by the user's estimate of its work.
func (j *fleetJob) estimatedRun(t *Times) fleet.Time {
	x := *j
	x.Work = max(x.Estimate, x.doneWork)
	return x.remainingRun(t).length
}

// checkpointed returns how much of a run's first span is whole intervals with their checkpoints.
func (r runSchedule) checkpointed(span fleet.Time) fleet.Time {
	return span - span%(r.interval+r.checkpoint)
}

// split returns how much of a run's first span is running and how much writing checkpoints.
func (r runSchedule) split(span fleet.Time) (running, writing fleet.Time) {
	cycle := r.interval + r.checkpoint
	n, rest := span/cycle, span%cycle
	return n*r.interval + min(rest, r.interval), n*r.checkpoint + max(0, rest-r.interval)
}

// unsavedTime returns the time of a job's run that no checkpoint holds.
func (s *simulation) unsavedTime(j *fleetJob) fleet.Time {
	if j.phase != phaseRunning {
		return 0
	}
	span := s.now - j.phaseStart
	return span - j.remainingRun(&s.config.Times).checkpointed(span)
}

// setupTime returns about how long a job is set up for.
func (s *simulation) setupTime(j *fleetJob) fleet.Time {
	t := &s.config.Times
	if j.Shape.Cubes() == 0 || !s.policy.Rewires() {
		return t.Preflight + t.Session
	}
	return t.Poll + t.Switch + t.LinkTraining + t.Preflight + t.Session
}

// remainingWork returns the work of a job that is left, as it would be if it stopped now.
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

// workIn returns how much work a time of running is, at the speed of the job.
func (j *fleetJob) workIn(running fleet.Time) fleet.Time {
	return fleet.Time(float64(running) / j.slowdown)
}

// chargeRun charges a run that ends at a moment, of which all or what checkpoints hold is kept.
func (s *simulation) chargeRun(j *fleetJob, now fleet.Time, all bool) {
	r := j.remainingRun(&s.config.Times)
	span := now - j.phaseStart
	good := span
	if !all {
		good = r.checkpointed(span)
	}

	// Of the part that is measured: what was done at its end less what at its beginning.
	lo := min(max(j.phaseStart, s.account.from), now) - j.phaseStart
	hi := min(now, max(s.account.until, j.phaseStart)) - j.phaseStart
	chips := int64(j.Shape.Chips())
	run1, write1 := r.split(min(hi, good))
	run0, write0 := r.split(min(lo, good))
	work := j.workIn(run1) - j.workIn(run0)
	if hi > lo {
		s.account.byUse[Work] += chips * int64(work)
		s.account.requestedWork += float64(chips*int64(work)) * j.requestedRatio
		s.account.byUse[Routing] += chips * int64(run1-run0-work)
		s.account.byUse[Checkpoint] += chips * int64(write1-write0)
		s.account.byUse[Rework] += chips * int64(max(0, hi-max(lo, good)))
	}

	running, _ := r.split(good)
	j.doneWork = min(j.Work, j.doneWork+j.workIn(running))
}
