package fleets

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// schedule tries the jobs that wait.
func (s *state) schedule() error {
	if err := s.settleClaims(); err != nil {
		return err
	}
	q := &s.queue
	defer func() { q.clock++ }() // what was taken frees nothing
	var ahead *reservation
	for s.c.Discipline != Backfill && ahead == nil {
		l := q.first()
		if l == nil || s.c.Discipline == FCFS && q.blocked(l) {
			return nil
		}
		started := false
		if !q.blocked(l) {
			var err error
			if started, _, err = s.try(l, 0, nil); err != nil {
				return err
			}
		}
		switch {
		case started:
		case s.c.Discipline == FCFS:
			return nil
		default:
			ahead = s.reserve(l.jobs[0])
		}
	}
	return s.backfill(ahead)
}

// backfill tries every job that waits, in order. Jobs of a line differ in what they would delay and in what routes
// round a switch cost them; if one does not fit for want of room, none of its line does. ahead is nil or a reservation
// for the first job, which is not tried.
func (s *state) backfill(ahead *reservation) error {
	list := s.candidates(ahead)
	for len(list) > 0 {
		l := list[0]
		list = list[1:]
		started, found, err := s.try(l, l.next, ahead)
		switch {
		case err != nil:
			return err
		case started:
		case found == noRoom:
			continue
		default:
			l.next++
			for found == delays && l.next < len(l.jobs) && ahead.outlasted(s, l.jobs[l.next], 1) { // which would, too
				l.next++
			}
		}
		if l.next < len(l.jobs) {
			i, _ := slices.BinarySearchFunc(list, l, inOrder)
			list = slices.Insert(list, i, l)
		}
	}
	return nil
}

// inOrder orders lines by the jobs that are tried next.
func inOrder(a, b *line) int { return before(a.jobs[a.next], b.jobs[b.next]) }

// candidates lists the lines whose jobs may fit since something was freed, in order.
func (s *state) candidates(ahead *reservation) []*line {
	q := &s.queue
	q.tried = q.tried[:0]
	for _, l := range q.order {
		l.next = 0
		if ahead != nil && len(l.jobs) > 0 && l.jobs[0] == ahead.job {
			l.next = 1
		}
		if l.next == len(l.jobs) || q.blocked(l) {
			continue
		}
		if s.c.Preemption || s.c.Defragment || s.mayFit(l) {
			q.tried = append(q.tried, l)
		} else {
			l.seen = q.clock
		}
	}
	slices.SortFunc(q.tried, inOrder)
	return slices.Clone(q.tried)
}

// mayFit reports whether a pod has as many cubes as the jobs of a line want; it may be that they do not fit all the
// same.
func (s *state) mayFit(l *line) bool {
	n := l.shape.Cubes()
	for _, p := range s.queue.fresh {
		if s.queue.since[p] <= l.seen {
			return false
		}
		if n == 0 || n <= s.pods[p].whole() {
			return true
		}
	}
	return false
}

// try starts job i of a line, or has others make room for it. It reports whether it did and, if not, why.
func (s *state) try(l *line, i int, ahead *reservation) (started bool, _ found, _ error) {
	j := l.jobs[i]
	pods := s.queue.pods(l)
	pod, at, slow, found := s.fit(j, pods, ahead)
	if found == fits {
		s.queue.remove(l, i)
		return true, fits, s.start(j, pod, at, slow)
	}
	if ahead == nil && (s.c.Preemption || s.c.Defragment) && s.makeRoom(j, slices.Clone(pods)) {
		s.queue.remove(l, i)
		return true, found, s.settleClaims() // it may be free at once
	}
	if found == noRoom {
		l.seen = s.queue.clock
	}
	return false, found, nil
}

// found is what came of looking for a place for a job.
type found int8

const (
	noRoom found = iota // for no job of its line
	delays              // there is room, but this job would delay the one that is reserved for
	costly              // there is room, but routes round a switch would cost this job more than waiting
	fits
)

// fit finds a place for a job, in the first of the pods where it is least slowed down, and by how much it is.
func (s *state) fit(j *job, pods []int, ahead *reservation) (pod int, at placement.Place, slow float64, _ found) {
	best := noRoom
	for _, p := range pods {
		here := s.allowed(j, p)
		if here == 0 && s.c.OCS == Cheapest && j.AcceptsFaultRouting && s.pods[p].switchesDown() == 1 {
			best = max(best, costly)
		}
		if here == 0 || best == fits && here >= slow || j.Shape.Cubes() > s.pods[p].whole() {
			continue
		}
		place, ok := s.policy.Place(s.pods[p].Pod, j.Shape)
		if !ok || !j.strange && s.spares(s.pods[p].Pod, &place) {
			continue
		}
		if ahead != nil && ahead.delayed(s, j, p, place, here) {
			best = max(best, delays)
			continue
		}
		pod, at, slow, best = p, place, here, fits
		if here == 1 {
			break
		}
	}
	return pod, at, slow, best
}

// spares reports whether a place would be on cubes that are held back.
func (s *state) spares(p *placement.Pod, at *placement.Place) bool {
	if s.c.Reserve == 0 {
		return false
	}
	takes := 0
	for _, c := range at.Cubes {
		if p.Cubes[c].IsFree() {
			takes++
		}
	}
	return takes > 0 && bits.OnesCount64(p.Free())-takes < s.c.Reserve
}

// start places a job and sets it up.
func (s *state) start(j *job, p int, at placement.Place, slow float64) error {
	slot := s.spare[len(s.spare)-1]
	s.spare = s.spare[:len(s.spare)-1]
	j.pod, j.at, j.slow = p, at, slow
	s.take(j, slot)
	s.tally.placed(s, j)
	s.count(&s.watch.starts)
	s.rec.placed(s, j)
	if j.Shape.Cubes() > 0 && s.policy.Rewires() {
		made, err := wiring.Connect(s.pods[p].Pod, j.Shape, at.Cubes)
		if err != nil {
			return err
		}
		s.tally.connected(s, j, made)
	}
	j.phase, j.since = settingUp, s.now
	bad := s.findBad(j)
	j.latent, j.rerouted = bad >= 0, s.pods[p].switchesDown() > 0 && j.Shape.Cubes() > 0
	j.unfit = j.latent && s.c.Times.Preflight > 0 && fleet.HashUniform(s.c.Seed, uint64(j.Number), uint64(j.tries)) >= s.c.Missed
	ready := s.ready(j, s.now)
	if j.unfit {
		ready -= s.c.Times.Session
	}
	s.set(s.slotEvent(slot), ready)
	j.tries++
	return nil
}

// ready returns when a job that is placed at a moment begins to run.
func (s *state) ready(j *job, from fleet.Time) fleet.Time {
	return from + s.connecting(j, from) + s.c.Times.Preflight + s.c.Times.Session
}

// connecting returns how long a job that is placed at a moment waits for its links: until the pod manager looks, mirrors
// have moved and links are trained.
func (s *state) connecting(j *job, from fleet.Time) fleet.Time {
	if j.Shape.Cubes() == 0 || !s.policy.Rewires() {
		return 0
	}
	t := &s.c.Times
	wait := fleet.Time(0)
	if t.Poll > 0 {
		wait = (t.Poll - from%t.Poll) % t.Poll
	}
	return wait + t.Switch + t.Train
}

// interval returns a job's time between checkpoints.
func (s *state) interval(j *job) fleet.Time {
	t := &s.c.Times
	switch {
	case t.Interval > 0:
		return t.Interval
	case t.Checkpoint == 0:
		return fleet.Minute
	}
	return max(fleet.Second, fleet.DalyInterval(t.Checkpoint, s.interruption(j)))
}

// interruption returns the mean time until a failure hits a job.
func (s *state) interruption(j *job) fleet.Time {
	if n := j.Shape.Cubes(); n > 0 {
		return s.c.Rates.MeanTimeToInterruption(n)
	}
	perDay := math.Ceil(float64(j.Shape.Chips())/fleet.MachineChips) * s.c.Rates[fleet.Machine].PerDay
	if perDay == 0 {
		return fleet.MaxTime
	}
	return fleet.FromSeconds(fleet.Day.Seconds() / perDay)
}

// maintenance returns how often a day planned work has a job write a checkpoint and leave.
func (s *state) maintenance(j *job) float64 {
	n := float64(j.Shape.Cubes())
	perDay := 0.0
	if n > 0 {
		perDay = fleet.PodSwitches * s.c.Rates[fleet.SwitchWork].PerDay
	}
	if s.c.Maintenance == Drain {
		perDay += max(1, n) * s.c.Rates[fleet.Cube].PerDay
	}
	return perDay
}

// reservation is for the first job that does not fit: when it will, by the estimates, and what of its pod is free then.
type reservation struct {
	job *job
	pod int
	at  fleet.Time     // Longest if it never will
	by  *placement.Pod // as it is at that moment, or nil
}

// reserve makes a reservation: the jobs of each pod end as estimated, one after the other, until the job fits. The other
// jobs that end at that moment have ended, too (Mu'alem and Feitelson, "Utilization, predictability, workloads, and user
// runtime estimates in scheduling the IBM SP2 with backfilling", 2001, Sec. 3: shadow time and extra nodes).
func (s *state) reserve(j *job) *reservation {
	best := &reservation{job: j, at: fleet.MaxTime}
	for p := range s.pods {
		if s.allowed(j, p) == 0 {
			continue
		}
		trial := *s.pods[p].Pod
		fits := false
		for _, r := range s.ending(p) {
			if !fits && r.at >= best.at || fits && r.at > best.at {
				break
			}
			s.mark(&trial, &s.slots[r.slot].at, false)
			if fits || j.Shape.Cubes() > bits.OnesCount64(trial.Free()) {
				continue
			}
			if at, ok := s.policy.Place(&trial, j.Shape); ok && (j.strange || !s.spares(&trial, &at)) {
				best.pod, best.at, best.by, fits = p, r.at, &trial, true
			}
		}
	}
	return best
}

// ends is a job by when it is estimated to end.
type ends struct {
	slot int32
	at   fleet.Time
}

// ending lists the jobs of a pod by when they are estimated to end.
func (s *state) ending(p int) []ends {
	var list []ends
	for _, slot := range s.jobsOn(p) {
		list = append(list, ends{slot, max(s.now, s.expectedEnd(s.slots[slot]))})
	}
	slices.SortFunc(list, func(a, b ends) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.slot, b.slot)) })
	return list
}

// expectedEnd returns when a job leaves its place by the user's estimate. It has passed if the job takes longer.
func (s *state) expectedEnd(j *job) fleet.Time {
	t := &s.c.Times
	switch j.phase {
	case leaving:
		return j.stopped + t.Checkpoint
	case struck:
		return j.since + t.Detect
	case settingUp:
		return s.ready(j, j.since) + j.estimated(t)
	case moving:
		return j.stopped + t.Standby + j.estimated(t)
	}
	return j.since + j.estimated(t)
}

// outlasted reports whether a job that starts now, so many times slowed down, is estimated to end after the moment that
// is reserved.
func (r *reservation) outlasted(s *state, j *job, slow float64) bool {
	x := *j
	x.slow = slow
	return s.ready(j, s.now)+x.estimated(&s.c.Times) > r.at
}

// delayed reports whether a job in a place, so many times slowed down, would delay the one that is reserved for. If not
// it counts as there.
func (r *reservation) delayed(s *state, j *job, p int, at placement.Place, slow float64) bool {
	if r.by == nil || p != r.pod || !r.outlasted(s, j, slow) {
		return false
	}
	trial := *r.by
	s.mark(&trial, &at, true)
	place, ok := s.policy.Place(&trial, r.job.Shape)
	if !ok || !r.job.strange && s.spares(&trial, &place) {
		return true
	}
	r.by = &trial
	return false
}
