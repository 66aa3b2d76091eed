package fleets

import (
	"math"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// phase is where a job is between its submission and its end.
type phase int8

const (
	queued phase = iota
	settingUp
	running
	moving  // a standby takes over
	leaving // a checkpoint before it is evicted
	placed  // its place is kept until others have left it
	struck  // hit by a failure that is not acted upon yet
)

// job is a job of the fleet.
type job struct {
	fleet.Job
	phase phase
	pod   int
	at    placement.Place
	done  fleet.Time // work that is kept
	since fleet.Time // when the phase began or, if it is leaving or moving, the run before it
	waits fleet.Time // when it was queued last
	// Of a run.
	slow     float64    // how much longer work takes
	interval fleet.Time // of work between checkpoints
	stopped  fleet.Time // when a run ended whose work counts once a last checkpoint or the standby's state is written
	rerouted bool       // on routes round a switch that is down
	latent   bool       // on a machine that is bad, unseen
	unfit    bool       // preflight will find it
	tries    int        // times that it was placed

	strange bool       // evicted or interrupted: it comes first of its band
	hit     bool       // interrupted by a failure
	gain    float64    // how many times as long its work would take on the slice that was asked for
	moved   fleet.Time // when it was last preempted or moved; 0 is never
	to      *claim     // where it goes next
}

// run is how a run of work goes: so many milliseconds of time, with a checkpoint after each interval.
type run struct {
	length     fleet.Time // without interruption
	checkpoint fleet.Time
	interval   fleet.Time
}

// run returns how the run of a job goes that is left.
func (j *job) run(t *Times) run {
	work := fleet.Time(math.Ceil(float64(j.Work-j.done) * j.slow))
	n := fleet.Time(0)
	if work > 0 {
		n = (work - 1) / j.interval // none at the end
	}
	length := work + n*t.Checkpoint
	if float64(n)*float64(t.Checkpoint) > float64(fleet.MaxTime) { // it never ends
		length = fleet.MaxTime
	}
	return run{length, t.Checkpoint, j.interval}
}

// estimated returns how long the run of a job that is left takes by the user's estimate of its work.
func (j *job) estimated(t *Times) fleet.Time {
	x := *j
	x.Work = max(x.Estimate, x.done)
	return x.run(t).length
}

// kept returns how much of a run's first span is whole intervals with their checkpoints.
func (r run) kept(span fleet.Time) fleet.Time {
	return span - span%(r.interval+r.checkpoint)
}

// split returns how much of a run's first span is running and how much writing checkpoints.
func (r run) split(span fleet.Time) (running, writing fleet.Time) {
	cycle := r.interval + r.checkpoint
	n, rest := span/cycle, span%cycle
	return n*r.interval + min(rest, r.interval), n*r.checkpoint + max(0, rest-r.interval)
}

// unsaved returns the time of a job's run that no checkpoint holds.
func (s *state) unsaved(j *job) fleet.Time {
	if j.phase != running {
		return 0
	}
	span := s.now - j.since
	return span - j.run(&s.c.Times).kept(span)
}

// setup returns about how long a job is set up for.
func (s *state) setup(j *job) fleet.Time {
	t := &s.c.Times
	if j.Shape.Cubes() == 0 || !s.policy.Rewires() {
		return t.Preflight + t.Session
	}
	return t.Poll + t.Switch + t.Train + t.Preflight + t.Session
}

// left returns the work of a job that is left, as it would be if it stopped now.
func (s *state) left(j *job) fleet.Time {
	work := j.Work - j.done
	end := s.now
	switch j.phase {
	case leaving, moving:
		end = j.stopped
		fallthrough
	case running:
		running, _ := j.run(&s.c.Times).split(end - j.since)
		work -= j.useful(running)
	}
	return max(0, work)
}

// useful returns how much work a time of running is, at the speed of the job.
func (j *job) useful(running fleet.Time) fleet.Time {
	return fleet.Time(float64(running) / j.slow)
}

// settle charges a run that ends at a moment, of which all or what checkpoints hold is kept.
func (s *state) settle(j *job, now fleet.Time, all bool) {
	r := j.run(&s.c.Times)
	span := now - j.since
	good := span
	if !all {
		good = r.kept(span)
	}
	// Of the part that is measured: what was done at its end less what at its beginning.
	lo := min(max(j.since, s.acc.from), now) - j.since
	hi := min(now, max(s.acc.until, j.since)) - j.since
	chips := int64(j.Shape.Chips())
	run1, write1 := r.split(min(hi, good))
	run0, write0 := r.split(min(lo, good))
	work := j.useful(run1) - j.useful(run0)
	if hi > lo {
		s.acc.of[Work] += chips * int64(work)
		s.acc.asked += float64(chips*int64(work)) * j.gain
		s.acc.of[Routing] += chips * int64(run1-run0-work)
		s.acc.of[Checkpoint] += chips * int64(write1-write0)
		s.acc.of[Rework] += chips * int64(max(0, hi-max(lo, good)))
	}
	running, _ := r.split(good)
	j.done = min(j.Work, j.done+j.useful(running))
}
