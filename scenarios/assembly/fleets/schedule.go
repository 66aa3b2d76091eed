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
	if s.c.Discipline != Backfill {
		for {
			l := q.first()
			if l == nil || s.c.Discipline == FCFS && q.blocked(l) {
				return nil
			}
			if q.blocked(l) {
				ahead = s.reserve(l.jobs[0])
				break
			}
			started, err := s.try(l, nil)
			if err != nil {
				return err
			}
			if !started && s.c.Discipline == FCFS {
				return nil
			}
		}
	}
	list := s.candidates()
	for len(list) > 0 {
		l := list[0]
		started, err := s.try(l, ahead)
		if err != nil {
			return err
		}
		list = list[1:]
		if started && len(l.jobs) > 0 {
			i, _ := slices.BinarySearchFunc(list, l, inOrder)
			list = slices.Insert(list, i, l)
		}
	}
	return nil
}

// inOrder orders lines by their first jobs.
func inOrder(a, b *line) int { return before(a.jobs[0], b.jobs[0]) }

// candidates lists the lines whose jobs may fit since something was freed, in order.
func (s *state) candidates() []*line {
	q := &s.queue
	q.tried = q.tried[:0]
	for _, l := range q.order {
		if len(l.jobs) == 0 || q.blocked(l) {
			continue
		}
		if s.c.Preempt || s.c.Defragment || s.mayFit(l) {
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

// try starts the first job of a line, or has others make room for it; it reports whether it did.
func (s *state) try(l *line, ahead *reservation) (bool, error) {
	j := l.jobs[0]
	pods := s.queue.pods(l)
	if pod, at, slow, ok := s.fit(j, pods, ahead); ok {
		s.queue.pop(l)
		return true, s.start(j, pod, at, slow)
	}
	if ahead == nil && (s.c.Preempt || s.c.Defragment) && s.makeRoom(j, slices.Clone(pods)) {
		s.queue.pop(l)
		return true, s.settleClaims() // it may be free at once
	}
	l.seen = s.queue.clock
	return false, nil
}

// fit finds a place for a job, in the first of the pods where it is least slowed down, and by how much it is.
func (s *state) fit(j *job, pods []int, ahead *reservation) (pod int, at placement.Place, slow float64, ok bool) {
	for _, p := range pods {
		here := s.allowed(j, p)
		if here == 0 || ok && here >= slow || j.Shape.Cubes() > s.pods[p].whole() {
			continue
		}
		place, fits := s.policy.Place(s.pods[p].Pod, j.Shape)
		if !fits || !j.strange && s.spares(s.pods[p].Pod, &place) || ahead != nil && ahead.delayed(s, j, p, place) {
			continue
		}
		pod, at, slow, ok = p, place, here, true
		if here == 1 {
			break
		}
	}
	return pod, at, slow, ok
}

// spares reports whether a place would be on cubes that are held back.
func (s *state) spares(p *placement.Pod, at *placement.Place) bool {
	if s.c.Reserve == 0 {
		return false
	}
	takes := 0
	for _, c := range at.Cubes {
		if p.Cubes[c].Whole() {
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
	s.watch.started(s)
	s.rec.placed(s, j)
	if j.Shape.Cubes() > 0 && s.policy.Rewires() {
		made, err := wiring.Connect(s.pods[p].Pod, j.Shape, at.Cubes)
		if err != nil {
			return err
		}
		s.tally.connected(s, j, made)
	}
	j.interval = s.interval(j)
	j.phase, j.since = settingUp, s.now
	bad := s.findBad(j)
	j.latent, j.rerouted = bad >= 0, s.pods[p].switchesDown() > 0 && j.Shape.Cubes() > 0
	j.unfit = j.latent && s.c.Times.Preflight > 0 && fleet.Chance(s.c.Seed, uint64(j.Number), uint64(j.tries)) >= s.c.Missed
	ready := s.now + s.connecting(j) + s.c.Times.Preflight
	if !j.unfit {
		ready += s.c.Times.Session
	}
	s.set(s.slotEvent(slot), ready)
	j.tries++
	return nil
}

// connecting returns how long a job waits for its links: until the pod manager looks, mirrors have moved and links are
// trained.
func (s *state) connecting(j *job) fleet.Time {
	if j.Shape.Cubes() == 0 || !s.policy.Rewires() {
		return 0
	}
	t := &s.c.Times
	wait := fleet.Time(0)
	if t.Poll > 0 {
		wait = (t.Poll - j.since%t.Poll) % t.Poll
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
	return max(fleet.Second, fleet.Daly(t.Checkpoint, s.interruption(j)))
}

// interruption returns the mean time until a failure hits a job.
func (s *state) interruption(j *job) fleet.Time {
	if n := j.Shape.Cubes(); n > 0 {
		return s.c.Rates.Interruption(n)
	}
	perDay := math.Ceil(float64(j.Shape.Chips())/fleet.MachineChip) * s.c.Rates[fleet.Machine].PerDay
	if perDay == 0 {
		return fleet.Longest
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

// reservation is when, by the estimates, the first job that does not fit will, and what of its pod is free then.
type reservation struct {
	job *job
	pod int
	at  fleet.Time
	by  *placement.Pod
}

// reserve finds it: the jobs of each pod end as estimated, one after the other, until the job fits.
func (s *state) reserve(j *job) *reservation {
	best := &reservation{job: j, at: fleet.Longest}
	for p := range s.pods {
		if s.allowed(j, p) == 0 {
			continue
		}
		trial := *s.pods[p].Pod
		for _, r := range s.ending(p) {
			if r.at >= best.at {
				break
			}
			other := s.slots[r.slot]
			for _, c := range other.at.Cubes {
				trial.Cubes[c].Used &^= chipsOf(&other.at)
			}
			if _, ok := s.policy.Place(&trial, j.Shape); ok {
				copied := trial
				best = &reservation{j, p, r.at, &copied}
				break
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
		j := s.slots[slot]
		left := fleet.Time(float64(max(0, j.Estimate-j.done)) * j.slow)
		switch j.phase {
		case running:
			left -= s.now - j.since
		case leaving:
			left = s.c.Times.Checkpoint - (s.now - j.since)
		}
		list = append(list, ends{slot, s.now + max(0, left)})
	}
	slices.SortFunc(list, func(a, b ends) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.slot, b.slot)) })
	return list
}

// delayed reports whether a job in a place would delay the one that is reserved for. If not it counts as there.
func (r *reservation) delayed(s *state, j *job, p int, at placement.Place) bool {
	end := s.now + s.setup(j) + j.Estimate - j.done
	if r.by == nil || p != r.pod || end <= r.at {
		return false
	}
	trial := *r.by
	for _, c := range at.Cubes {
		trial.Cubes[c].Used |= chipsOf(&at)
	}
	if _, ok := s.policy.Place(&trial, r.job.Shape); !ok {
		return true
	}
	r.by = &trial
	return false
}
