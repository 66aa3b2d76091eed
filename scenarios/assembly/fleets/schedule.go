package fleets

import (
	"cmp"
	"math"
	"slices"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// schedule tries the jobs that wait.
func (s *state) schedule() error {
	s.queue.unblock()
	var ahead *reservation
	if l := s.queue.first(true); l != nil && l.blocked && s.c.Discipline != Backfill {
		if s.c.Discipline == FCFS || s.queue.first(false) == nil {
			return nil
		}
		ahead = s.reserve(l.jobs[0])
	}
	for {
		l := s.queue.first(false)
		if l == nil {
			break
		}
		j := l.jobs[0]
		pod, at, slow, ok := s.fit(j, ahead)
		if ok {
			s.queue.pop(l)
			if err := s.start(j, pod, at, slow); err != nil {
				return err
			}
			continue
		}
		l.blocked = true
		if s.c.Discipline == FCFS {
			break
		}
		if s.c.Discipline == EASY && ahead == nil {
			ahead = s.reserve(j)
		}
	}
	s.queue.freed = false // what was taken frees nothing
	return nil
}

// fit finds a place for a job, the first pod that has one, and how much slower it will be there.
func (s *state) fit(j *job, ahead *reservation) (pod int, at placement.Place, slow float64, ok bool) {
	for p := range s.pods {
		slow := s.allowed(j, p)
		if slow == 0 {
			continue
		}
		at, ok := s.policy.Place(s.pods[p].Pod, j.Shape)
		if !ok || !j.strange && s.spares(p, &at) || ahead != nil && ahead.delayed(s, j, p, at) {
			continue
		}
		return p, at, slow, true
	}
	return 0, placement.Place{}, 0, false
}

// spares reports whether a place would be on cubes that are held back.
func (s *state) spares(p int, at *placement.Place) bool {
	if s.c.Reserve == 0 {
		return false
	}
	takes := 0
	for _, c := range at.Cubes {
		if s.pods[p].Cubes[c].Whole() {
			takes++
		}
	}
	return takes > 0 && s.pods[p].whole()-takes < s.c.Reserve
}

// allowed returns how much slower a job would run in a pod, 0 if it may not: of whole cubes while switches are down
// those that have opted in, if there are routes round them.
func (s *state) allowed(j *job, p int) float64 {
	out := s.pods[p].out
	switch {
	case out == 0 || j.Shape.Cubes() == 0:
		return 1
	case s.c.OCS == Wait || !j.Routes:
		return 0
	}
	return s.c.Slowdown(j.Shape, out)
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
		made, err := s.wiring.Connect(s.pods[p].Pod, j.Shape, at.Cubes)
		if err != nil {
			return err
		}
		s.tally.connected(s, j, made)
	}
	j.interval = s.interval(j)
	j.phase, j.since = settingUp, s.now
	bad := s.findBad(j)
	j.latent, j.rerouted = bad >= 0, s.pods[p].out > 0 && j.Shape.Cubes() > 0
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
	rates := s.c.Rates
	rates[fleet.Machine].PerDay += rates[fleet.Cube].PerDay / fleet.CubeHosts // maintenance interrupts, too
	m := rates.Interruption(j.Shape.Cubes())
	if j.Shape.Cubes() == 0 {
		perDay := math.Ceil(float64(j.Shape.Chips())/fleet.MachineChip)*rates[fleet.Machine].PerDay + rates[fleet.Cube].PerDay
		if m = fleet.Longest; perDay > 0 {
			m = fleet.FromSeconds(fleet.Day.Seconds() / perDay)
		}
	}
	return max(fleet.Second, fleet.Daly(t.Checkpoint, m))
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
	for slot, j := range s.slots {
		if j != nil && j.pod == p {
			left := fleet.Time(float64(max(0, j.Estimate-j.done)) * j.slow)
			if j.phase == running {
				left -= s.now - j.since
			}
			list = append(list, ends{int32(slot), s.now + max(0, left)})
		}
	}
	slices.SortFunc(list, func(a, b ends) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.slot, b.slot)) })
	return list
}

// delayed reports whether a job in a place would delay the one that is reserved for. If not it counts as there.
func (r *reservation) delayed(s *state, j *job, p int, at placement.Place) bool {
	t := &s.c.Times
	end := s.now + t.Poll + t.Switch + t.Train + t.Preflight + t.Session + j.Estimate - j.done
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
