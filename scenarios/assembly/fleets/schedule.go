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
func (s *simulation) schedule() error {
	if err := s.resolveClaims(); err != nil {
		return err
	}
	q := &s.queue
	defer func() { q.clock++ }() // what was taken frees nothing
	var ahead *reservation
	for s.config.Discipline != Backfill && ahead == nil {
		l := q.first()
		if l == nil || s.config.Discipline == FCFS && q.isBlocked(l) {
			return nil
		}
		started := false
		if !q.isBlocked(l) {
			var err error
			if started, _, err = s.tryJob(l, 0, nil); err != nil {
				return err
			}
		}
		switch {
		case started:
		case s.config.Discipline == FCFS:
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
func (s *simulation) backfill(ahead *reservation) error {
	list := s.candidates(ahead)
	for len(list) > 0 {
		l := list[0]
		list = list[1:]
		started, found, err := s.tryJob(l, l.next, ahead)
		switch {
		case err != nil:
			return err
		case started:
		case found == noSpace:
			continue
		default:
			l.next++
			for found == delaysReservation && l.next < len(l.jobs) && ahead.isOutlastedBy(s, l.jobs[l.next], 1) { // which would, too
				l.next++
			}
		}
		if l.next < len(l.jobs) {
			i, _ := slices.BinarySearchFunc(list, l, compareLines)
			list = slices.Insert(list, i, l)
		}
	}

	return nil
}

// compareLines orders lines by the jobs that are tried next.
func compareLines(a, b *classQueue) int { return compareJobs(a.jobs[a.next], b.jobs[b.next]) }

// candidates lists the lines whose jobs may fit since something was freed, in order.
func (s *simulation) candidates(ahead *reservation) []*classQueue {
	q := &s.queue
	q.tried = q.tried[:0]
	for _, l := range q.order {
		l.next = 0
		if ahead != nil && len(l.jobs) > 0 && l.jobs[0] == ahead.job {
			l.next = 1
		}
		if l.next == len(l.jobs) || q.isBlocked(l) {
			continue
		}
		if s.config.Preemption || s.config.Defragment || s.mayFit(l) {
			q.tried = append(q.tried, l)
		} else {
			l.triedAt = q.clock
		}
	}

	slices.SortFunc(q.tried, compareLines)
	return slices.Clone(q.tried)
}

// mayFit reports whether a pod has as many cubes as the jobs of a line want; it may be that they do not fit all the
// same.
func (s *simulation) mayFit(l *classQueue) bool {
	n := l.shape.Cubes()
	for _, p := range s.queue.freedPods {
		if s.queue.freedAt[p] <= l.triedAt {
			return false
		}
		if n == 0 || n <= s.pods[p].freeCubes() {
			return true
		}
	}
	return false
}

// tryJob starts job i of a line, or has others make room for it. It reports whether it did and, if not, why.
func (s *simulation) tryJob(
	l *classQueue, i int, ahead *reservation,
) (started bool, _ placeResult, _ error) {
	j := l.jobs[i]
	pods := s.queue.openPods(l)
	pod, at, slow, found := s.findPlace(j, pods, ahead)
	if found == placeFound {
		s.queue.remove(l, i)
		return true, placeFound, s.startJob(j, pod, at, slow)
	}

	if ahead == nil && (s.config.Preemption || s.config.Defragment) &&
		s.makeSpace(j, slices.Clone(pods)) {
		s.queue.remove(l, i)
		return true, found, s.resolveClaims() // it may be free at once
	}
	if found == noSpace {
		l.triedAt = s.queue.clock
	}
	return false, found, nil
}

// placeResult is what came of looking for a place for a job.
type placeResult int8

const (
	noSpace              placeResult = iota // for no job of its line
	delaysReservation                       // there is room, but this job would delay the one that is reserved for
	costsMoreThanWaiting                    // there is room, but routes round a switch would cost this job more than waiting
	placeFound
)

// findPlace finds a place for a job, in the first of the pods where it is least slowed down, and by how much it is.
func (s *simulation) findPlace(
	j *fleetJob, pods []int, ahead *reservation,
) (pod int, at placement.Place, slow float64, _ placeResult) {
	best := noSpace
	for _, p := range pods {
		here := s.allowedSlowdown(j, p)
		if here == 0 && s.config.OCS == ReactionCheapest && j.AcceptsFaultRouting &&
			s.pods[p].switchesDown() == 1 {
			best = max(best, costsMoreThanWaiting)
		}
		if here == 0 || best == placeFound && here >= slow ||
			j.Shape.Cubes() > s.pods[p].freeCubes() {
			continue
		}
		place, ok := s.policy.Place(s.pods[p].Pod, j.Shape)
		if !ok || !j.returned && s.usesReserve(s.pods[p].Pod, &place) {
			continue
		}
		if ahead != nil && ahead.isDelayedBy(s, j, p, place, here) {
			best = max(best, delaysReservation)
			continue
		}
		pod, at, slow, best = p, place, here, placeFound
		if here == 1 {
			break
		}
	}

	return pod, at, slow, best
}

// usesReserve reports whether a place would be on cubes that are held back.
func (s *simulation) usesReserve(p *placement.Pod, at *placement.Place) bool {
	if s.config.Reserve == 0 {
		return false
	}
	takes := 0
	for _, c := range at.Cubes {
		if p.Cubes[c].IsFree() {
			takes++
		}
	}
	return takes > 0 && bits.OnesCount64(p.Free())-takes < s.config.Reserve
}

// startJob places a job and sets it up.
func (s *simulation) startJob(j *fleetJob, p int, at placement.Place, slow float64) error {
	slot := s.freeSlots[len(s.freeSlots)-1]
	s.freeSlots = s.freeSlots[:len(s.freeSlots)-1]
	j.pod, j.place, j.slowdown = p, at, slow
	s.occupy(j, slot)
	s.counters.countPlaced(s, j)
	s.increment(&s.availability.starts)
	s.recorder.startAttempt(s, j)
	if j.Shape.Cubes() > 0 && s.policy.Rewires() {
		made, err := wiring.Connect(s.pods[p].Pod, j.Shape, at.Cubes)
		if err != nil {
			return err
		}
		s.counters.countConnections(s, j, made)
	}

	j.phase, j.phaseStart = phaseSetup, s.now
	bad := s.findBadMachine(j)
	j.onBadMachine, j.rerouted = bad >= 0, s.pods[p].switchesDown() > 0 && j.Shape.Cubes() > 0
	j.failsPreflight = j.onBadMachine && s.config.Times.Preflight > 0 &&
		fleet.HashUniform(s.config.Seed, uint64(j.Number),
			uint64(j.attempts)) >= s.config.MissedShare
	ready := s.readyTime(j, s.now)
	if j.failsPreflight {
		ready -= s.config.Times.Session
	}
	s.setEvent(s.slotEventID(slot), ready)
	j.attempts++
	return nil
}

// readyTime returns when a job that is placed at a moment begins to run.
func (s *simulation) readyTime(j *fleetJob, from fleet.Time) fleet.Time {
	return from + s.connectionTime(j,
		from) + s.config.Times.Preflight + s.config.Times.Session
}

// connectionTime returns how long a job that is placed at a moment waits for its links: until the pod manager looks, mirrors
// have moved and links are trained.
func (s *simulation) connectionTime(j *fleetJob, from fleet.Time) fleet.Time {
	if j.Shape.Cubes() == 0 || !s.policy.Rewires() {
		return 0
	}
	t := &s.config.Times
	wait := fleet.Time(0)
	if t.Poll > 0 {
		wait = (t.Poll - from%t.Poll) % t.Poll
	}
	return wait + t.Switch + t.LinkTraining
}

// checkpointInterval returns a job's time between checkpoints.
func (s *simulation) checkpointInterval(j *fleetJob) fleet.Time {
	t := &s.config.Times
	switch {
	case t.Interval > 0:
		return t.Interval
	case t.Checkpoint == 0:
		return fleet.Minute
	}
	return max(fleet.Second, fleet.DalyInterval(t.Checkpoint, s.meanTimeToInterruption(j)))
}

// meanTimeToInterruption returns the mean time until a failure hits a job.
func (s *simulation) meanTimeToInterruption(j *fleetJob) fleet.Time {
	if n := j.Shape.Cubes(); n > 0 {
		return s.config.Rates.MeanTimeToInterruption(n)
	}
	perDay := math.Ceil(float64(j.Shape.Chips())/fleet.MachineChips) * s.config.Rates[fleet.Machine].PerDay
	if perDay == 0 {
		return fleet.MaxTime
	}
	return fleet.FromSeconds(fleet.Day.Seconds() / perDay)
}

// departuresPerDay returns how often a day planned work has a job write a checkpoint and leave.
func (s *simulation) departuresPerDay(j *fleetJob) float64 {
	n := float64(j.Shape.Cubes())
	perDay := 0.0
	if n > 0 {
		perDay = fleet.PodSwitches * s.config.Rates[fleet.SwitchWork].PerDay
	}
	if s.config.Maintenance == MaintenanceDrain {
		perDay += max(1, n) * s.config.Rates[fleet.Cube].PerDay
	}
	return perDay
}

// reservation is for the first job that does not fit: when it will, by the estimates, and what of its pod is free then.
type reservation struct {
	job     *fleetJob
	pod     int
	start   fleet.Time     // Longest if it never will
	podThen *placement.Pod // as it is at that moment, or nil
}

// reserve makes a reservation: the jobs of each pod end as estimated, one after the other, until the job fits. The other
// jobs that end at that moment have ended, too (Mu'alem and Feitelson, "Utilization, predictability, workloads, and user
// runtime estimates in scheduling the IBM SP2 with backfilling", 2001, Sec. 3: shadow time and extra nodes).
func (s *simulation) reserve(j *fleetJob) *reservation {
	best := &reservation{job: j, start: fleet.MaxTime}
	for p := range s.pods {
		if s.allowedSlowdown(j, p) == 0 {
			continue
		}
		trial := *s.pods[p].Pod
		fits := false
		for _, r := range s.jobEnds(p) {
			if !fits && r.end >= best.start || fits && r.end > best.start {
				break
			}
			s.setUsed(&trial, &s.slots[r.slot].place, false)
			if fits || j.Shape.Cubes() > bits.OnesCount64(trial.Free()) {
				continue
			}
			if at, ok := s.policy.Place(&trial, j.Shape); ok &&
				(j.returned || !s.usesReserve(&trial, &at)) {
				best.pod, best.start, best.podThen, fits = p, r.end, &trial, true
			}
		}
	}

	return best
}

// jobEnd is a job by when it is estimated to end.
type jobEnd struct {
	slot int32
	end  fleet.Time
}

// jobEnds lists the jobs of a pod by when they are estimated to end.
func (s *simulation) jobEnds(p int) []jobEnd {
	var list []jobEnd
	for _, slot := range s.jobsOn(p) {
		list = append(list, jobEnd{slot, max(s.now, s.expectedEnd(s.slots[slot]))})
	}
	slices.SortFunc(list, func(a, b jobEnd) int { return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.slot, b.slot)) })
	return list
}

// expectedEnd returns when a job leaves its place by the user's estimate. It has passed if the job takes longer.
func (s *simulation) expectedEnd(j *fleetJob) fleet.Time {
	t := &s.config.Times
	switch j.phase {
	case phaseLeaving:
		return j.runEnd + t.Checkpoint
	case phaseInterrupted:
		return j.phaseStart + t.Detect
	case phaseSetup:
		return s.readyTime(j, j.phaseStart) + j.estimatedRun(t)
	case phaseTakeover:
		return j.runEnd + t.Standby + j.estimatedRun(t)
	}
	return j.phaseStart + j.estimatedRun(t)
}

// isOutlastedBy reports whether a job that starts now, so many times slowed down, is estimated to end after the moment that
// is reserved.
func (r *reservation) isOutlastedBy(s *simulation, j *fleetJob, slow float64) bool {
	x := *j
	x.slowdown = slow
	return s.readyTime(j, s.now)+x.estimatedRun(&s.config.Times) > r.start
}

// isDelayedBy reports whether a job in a place, so many times slowed down, would delay the one that is reserved for. If not
// it counts as there.
func (r *reservation) isDelayedBy(
	s *simulation, j *fleetJob, p int, at placement.Place, slow float64,
) bool {
	if r.podThen == nil || p != r.pod || !r.isOutlastedBy(s, j, slow) {
		return false
	}
	trial := *r.podThen
	s.setUsed(&trial, &at, true)
	place, ok := s.policy.Place(&trial, r.job.Shape)
	if !ok || !r.job.returned && s.usesReserve(&trial, &place) {
		return true
	}
	r.podThen = &trial
	return false
}
