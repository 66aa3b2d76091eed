// This file starts waiting jobs, in the order of the queue discipline, at places that the
// placement chooses.

package fleets

import (
	"cmp"
	"math"
	"slices"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// schedule starts the waiting jobs that the discipline allows. It is called after
// each event.
func (s *simulation) schedule() error {
	if err := s.resolveClaims(); err != nil {
		return err
	}
	q := &s.queue
	defer func() { q.clock++ }() // each call is one round

	// Under FCFS and EASY, start jobs from the front of the queue. EASY then makes
	// a reservation for the first job that does not fit.
	var first *reservation
	for s.config.Discipline != Backfill && first == nil {
		l := q.first()
		if l == nil || s.config.Discipline == FCFS && q.isBlocked(l) {
			return nil
		}

		started := false
		if !q.isBlocked(l) {
			var err error
			const firstJob = 0 // of the class
			var noReservation *reservation
			if started, _, err = s.tryJob(l, firstJob, noReservation); err != nil {
				return err
			}
		}
		switch {
		case started:
		case s.config.Discipline == FCFS:
			return nil
		default:
			first = s.reserve(l.jobs[0])
		}
	}

	return s.backfill(first)
}

// backfill tries all waiting jobs in order. first is a reservation for the first
// job, which is not tried again, or nil.
//
// The jobs of a class differ only in whether they would delay the reservation, and
// in the cost of paths around a failed switch. If one of them finds no space, none
// of its class does.
func (s *simulation) backfill(first *reservation) error {
	list := s.candidates(first) // ordered by the next job of each class
	for len(list) > 0 {
		l := list[0]
		list = list[1:]
		started, result, err := s.tryJob(l, l.next, first)
		switch {
		case err != nil:
			return err
		case started:
		case result == noSpace:
			continue
		default:
			l.next++

			// Skip the jobs that end after the reservation even without a
			// slowdown.
			for result == delaysReservation && l.next < len(l.jobs) &&
				first.isOutlastedBy(s, l.jobs[l.next], noSlowdown) {
				l.next++
			}
		}

		// Insert the class by its next job.
		if l.next < len(l.jobs) {
			i, _ := slices.BinarySearchFunc(list, l, compareClasses)
			list = slices.Insert(list, i, l)
		}
	}

	return nil
}

// compareClasses orders classes by the jobs that are tried next.
func compareClasses(a, b *classQueue) int {
	return compareJobs(a.jobs[a.next], b.jobs[b.next])
}

// candidates returns the classes whose jobs may fit, in order. Classes that found
// no space are skipped until a pod changes.
func (s *simulation) candidates(first *reservation) []*classQueue {
	q := &s.queue
	q.tried = q.tried[:0]
	for _, l := range q.order {
		l.next = 0 // skip the job with the reservation
		if first != nil && len(l.jobs) > 0 && l.jobs[0] == first.job {
			l.next = 1
		}
		if l.next == len(l.jobs) || q.isBlocked(l) {
			continue
		}

		// Jobs that can make space are tried even if too few cubes are free.
		if s.config.Preemption || s.config.Defragment || s.mayFit(l) {
			q.tried = append(q.tried, l)
		} else {
			l.triedAt = q.clock
		}
	}

	slices.SortFunc(q.tried, compareClasses)
	return slices.Clone(q.tried)
}

// mayFit reports whether a changed pod has as many free cubes as the jobs of a
// class need. They may still not fit.
func (s *simulation) mayFit(l *classQueue) bool {
	for _, p := range s.queue.freedPods {
		if s.queue.freedAt[p] <= l.triedAt {
			return false
		}

		if l.cubes <= s.pods[p].freeCubes() {
			return true
		}
	}
	return false
}

// tryJob starts job i of a class, or makes other jobs leave a place for it. It
// reports whether it did, and why not otherwise.
func (s *simulation) tryJob(
	l *classQueue, i int, first *reservation,
) (started bool, _ placeResult, _ error) {
	j := l.jobs[i]
	pods := s.queue.openPods(l)
	pod, place, slowdown, result := s.findPlace(j, pods, first)
	if result == placeFound {
		s.queue.remove(l, i)
		return true, placeFound, s.startJob(j, pod, place, slowdown)
	}

	// Space is not made while another job has a reservation.
	canMakeSpace := first == nil && (s.config.Preemption || s.config.Defragment)
	if canMakeSpace && s.makeSpace(j, slices.Clone(pods)) {
		s.queue.remove(l, i)
		return true, result, s.resolveClaims() // the place may be free immediately
	}
	if result == noSpace {
		l.triedAt = s.queue.clock
	}
	return false, result, nil
}

// placeResult is the result of the search for a place for a job. Larger values are
// closer to success.
type placeResult int8

// Results of the search for a place.
const (
	noSpace              placeResult = iota // no job of the class fits
	delaysReservation                       // there is space, but the job would delay the job with the reservation
	costsMoreThanWaiting                    // there is space, but only with costly paths around a failed switch
	placeFound
)

// findPlace finds a place for a job in the pod with the lowest slowdown, the first
// of equal ones. It also returns this slowdown.
func (s *simulation) findPlace(
	j *fleetJob, pods []int, first *reservation,
) (pod int, place placement.Place, slowdown float64, _ placeResult) {
	best := noSpace
	for _, p := range pods {
		podSlowdown := s.allowedSlowdown(j, p)
		if podSlowdown == 0 {
			mayReroute := s.config.OCS == ReactionCheapest && j.AcceptsFaultRouting
			if mayReroute && s.pods[p].switchesDown() == 1 {
				best = max(best, costsMoreThanWaiting)
			}
			continue
		}

		// Search only in pods that may be better, and may have enough cubes.
		if best == placeFound && podSlowdown >= slowdown ||
			j.Shape.Cubes() > s.pods[p].freeCubes() {
			continue
		}

		candidate, ok := s.policy.Place(s.pods[p].Pod, j.Shape)
		if !ok || !j.returned && s.usesReserve(s.pods[p].Pod, &candidate) {
			continue
		}

		if first != nil && !first.addUnlessDelayed(s, j, p, candidate, podSlowdown) {
			best = max(best, delaysReservation)
			continue
		}

		pod, place, slowdown, best = p, candidate, podSlowdown, placeFound
		if podSlowdown == 1 {
			break
		}
	}

	return pod, place, slowdown, best
}

// usesReserve reports whether a job at the place would use cubes of the reserve.
func (s *simulation) usesReserve(p *placement.Pod, place *placement.Place) bool {
	if s.config.Reserve == 0 {
		return false
	}
	used := 0
	for _, c := range place.Cubes {
		if p.Cubes[c].IsFree() {
			used++
		}
	}
	return used > 0 && freeCubes(p)-used < s.config.Reserve
}

// startJob places a job in pod p and starts its setup.
func (s *simulation) startJob(
	j *fleetJob, p int, place placement.Place, slowdown float64,
) error {
	slot := s.freeSlots[len(s.freeSlots)-1]
	s.freeSlots = s.freeSlots[:len(s.freeSlots)-1]
	j.pod, j.place, j.slowdown = p, place, slowdown
	s.occupy(j, slot)

	s.counters.countPlaced(s, j)
	s.increment(&s.availability.starts)
	s.recorder.startAttempt(s, j)

	// Connect the cubes of a slice by the optical switches.
	if j.Shape.Cubes() > 0 && s.policy.Rewires() {
		connections, err := wiring.Connect(s.pods[p].Pod, j.Shape, place.Cubes)
		if err != nil {
			return err
		}
		s.counters.countConnections(s, j, connections)
	}

	j.phase, j.phaseStart = phaseSetup, s.now
	j.rerouted = s.pods[p].switchesDown() > 0 && j.Shape.Cubes() > 0
	j.onBadMachine = s.findBadMachine(j) >= 0

	// A failed preflight ends before the session is set up.
	if j.failsPreflight = false; j.onBadMachine && s.config.Times.Preflight > 0 {
		random := fleet.HashUniform(s.config.Seed, uint64(j.Number), uint64(j.attempts))
		j.failsPreflight = random >= s.config.MissedShare
	}
	end := s.readyTime(j, s.now)
	if j.failsPreflight {
		end -= s.config.Times.Session
	}
	s.setEvent(s.slotEventID(slot), end)
	j.attempts++
	return nil
}

// readyTime returns the time when a job that is placed at time start begins to
// run.
func (s *simulation) readyTime(j *fleetJob, start fleet.Time) fleet.Time {
	t := &s.config.Times
	return start + s.connectionTime(j, start) + t.Preflight + t.Session
}

// connectionTime returns how long a job that is placed at time start waits for its
// links: until the next poll of the pod manager, then while mirrors move and links
// are trained.
func (s *simulation) connectionTime(j *fleetJob, start fleet.Time) fleet.Time {
	if j.Shape.Cubes() == 0 || !s.policy.Rewires() {
		return 0
	}
	t := &s.config.Times
	wait := fleet.Time(0)
	if t.Poll > 0 {
		wait = (t.Poll - start%t.Poll) % t.Poll
	}
	return wait + t.Switch + t.LinkTraining
}

// checkpointInterval returns the work of a job between two checkpoints.
func (s *simulation) checkpointInterval(j *fleetJob) fleet.Time {
	t := &s.config.Times
	switch {
	case t.Interval > 0:
		return t.Interval
	case t.Checkpoint == 0: // checkpoints cost nothing
		return fleet.Minute
	}
	return max(fleet.Second, fleet.DalyInterval(t.Checkpoint, s.meanTimeToInterruption(j)))
}

// meanTimeToInterruption returns the mean time between failures that hit a job.
func (s *simulation) meanTimeToInterruption(j *fleetJob) fleet.Time {
	if n := j.Shape.Cubes(); n > 0 {
		return s.config.Rates.MeanTimeToInterruption(&s.config.Pod, n)
	}

	// A job below a cube needs only its machines.
	jobMachines := math.Ceil(float64(j.Shape.Chips()) / float64(s.config.Pod.Host.Chips()))
	perDay := jobMachines * s.config.Rates[fleet.Machine].PerDay
	if perDay == 0 {
		return fleet.MaxTime
	}
	return fleet.FromSeconds(fleet.Day.Seconds() / perDay)
}

// departuresPerDay returns how many times per day planned maintenance makes a job
// write a checkpoint and leave, on average.
func (s *simulation) departuresPerDay(j *fleetJob) float64 {
	n := float64(j.Shape.Cubes())
	perDay := 0.0
	if n > 0 {
		perDay = float64(s.config.Pod.Cube.Switches()) * s.config.Rates[fleet.SwitchWork].PerDay
	}
	if s.config.Maintenance == MaintenanceDrain {
		perDay += max(1, n) * s.config.Rates[fleet.Cube].PerDay
	}
	return perDay
}

// reservation is the estimated start of the first job that does not fit.
type reservation struct {
	job     *fleetJob
	pod     int
	start   fleet.Time     // fleet.MaxTime if it never fits
	podThen *placement.Pod // estimated state of the pod at that time; nil if it never fits
}

// reserve makes a reservation for job j. In each pod, jobs are removed in the
// order of their estimated ends until j fits. Then all other jobs with the same
// end are removed as well. This follows the EASY scheduler (Mu'alem and Feitelson,
// "Utilization, predictability, workloads, and user runtime estimates in
// scheduling the IBM SP2 with backfilling", 2001, Sec. 3: shadow time and extra
// nodes).
func (s *simulation) reserve(j *fleetJob) *reservation {
	best := &reservation{job: j, start: fleet.MaxTime}
	for p := range s.pods {
		if s.allowedSlowdown(j, p) == 0 {
			continue
		}

		// Remove jobs in the order of their ends, until a pod cannot be better
		// than the best one.
		trial := s.pods[p].Trial()
		fits := false
		for _, end := range s.jobEnds(p) {
			if !fits && end.end >= best.start || fits && end.end > best.start {
				break
			}
			markFree(trial, &s.slots[end.slot].place)
			if fits || j.Shape.Cubes() > freeCubes(trial) {
				continue
			}
			place, ok := s.policy.Place(trial, j.Shape)
			if ok && (j.returned || !s.usesReserve(trial, &place)) {
				best.pod, best.start, best.podThen, fits = p, end.end, trial, true
			}
		}
	}

	return best
}

// jobEnd is the estimated end of a job.
type jobEnd struct {
	slot int32
	end  fleet.Time
}

// jobEnds returns the jobs of pod p, ordered by their estimated ends.
func (s *simulation) jobEnds(p int) []jobEnd {
	var list []jobEnd
	for _, slot := range s.jobsOn(p) {
		end := max(s.now, s.expectedEnd(s.slots[slot]))
		list = append(list, jobEnd{slot, end})
	}
	slices.SortFunc(list, func(a, b jobEnd) int {
		return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.slot, b.slot))
	})
	return list
}

// expectedEnd returns the time when a job leaves its place by the user's estimate.
// It is in the past if the job takes longer. Jobs that leave, or that were
// interrupted, end with their phase.
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

// isOutlastedBy reports whether a job that starts now with a slowdown is estimated
// to end after the reserved start.
func (r *reservation) isOutlastedBy(s *simulation, j *fleetJob, slowdown float64) bool {
	x := *j
	x.slowdown = slowdown
	return s.readyTime(j, s.now)+x.estimatedRun(&s.config.Times) > r.start
}

// addUnlessDelayed adds a job that starts at a place to podThen, unless this would
// delay the job with the reservation. It reports whether there is no delay. Jobs in
// other pods, or that end before the reserved start, are not added.
func (r *reservation) addUnlessDelayed(
	s *simulation, j *fleetJob, p int, at placement.Place, slowdown float64,
) bool {
	if r.podThen == nil || p != r.pod || !r.isOutlastedBy(s, j, slowdown) {
		return true
	}
	trial := r.podThen.Trial()
	markUsed(trial, &at)
	place, ok := s.policy.Place(trial, r.job.Shape)
	if !ok || !r.job.returned && s.usesReserve(trial, &place) {
		return false
	}
	r.podThen = trial
	return true
}
