package fleets

import (
	"sim/policies/placement"
	"sim/workloads/fleet"
)

// dimOf returns the dimension of a switch of a pod.
func dimOf(number int) int { return number / (fleet.PodSwitches / 3) }

// allowed returns how much slower a job would run in a pod, 0 if it may not: of whole cubes while a switch is down those
// that have opted in, and where it is expected to pay, if that is asked.
func (s *state) allowed(j *job, p int) float64 {
	down := s.pods[p].switchesDown()
	switch {
	case down == 0 || j.Shape.Cubes() == 0:
		return 1
	case s.c.OCS == Wait || !j.AcceptsFaultRouting || down > 1:
		return 0
	}
	for dim, n := range s.pods[p].out {
		if n == 0 {
			continue
		}
		slow, err := s.c.SlowedBy(s.ctx, &j.Job, dim)
		if err != nil {
			s.err = err
			return 0
		}
		if slow == 0 || s.c.OCS != Cheapest || s.pays(j, p, slow) {
			return slow
		}
	}
	return 0
}

// pays reports whether a job is expected to lose no more on routes round the switch of a pod that is down than by
// waiting until it is up: it keeps to the routes to its end, or leaves them then.
func (s *state) pays(j *job, p int, slow float64) bool {
	out := s.residual(p).Seconds()
	keeps := s.left(j).Seconds() * (slow - 1)
	leaves := out*(1-1/slow) + (s.setup(j) + s.c.Times.Checkpoint).Seconds()
	return min(keeps, leaves) <= out
}

// residual returns how long the switch of a pod that went down last is expected to be.
func (s *state) residual(p int) fleet.Time {
	kind := fleet.Switch
	if s.pods[p].planned {
		kind = fleet.SwitchWork
	}
	return s.c.Rates[kind].Repair.Residual(s.now - s.pods[p].since)
}

// switchDown is what a switch that goes down does to the slices of its pod, each of which has links through it. Jobs
// know of planned maintenance and write a checkpoint.
func (s *state) switchDown(pod, number int, planned bool) {
	p := &s.pods[pod]
	p.out[dimOf(number)]++
	p.since, p.planned = s.now, planned
	for _, slot := range s.jobsOn(pod) {
		j := s.slots[slot]
		if j.Shape.Cubes() == 0 {
			continue
		}
		if s.c.OCS == InPlace && (j.phase == running || j.phase == leaving) {
			if slow := s.allowed(j, pod); slow > 0 {
				if j.phase == running {
					s.reroute(slot, slow)
				}
				continue
			}
		}
		if planned {
			s.evict(slot)
		} else {
			s.strike(slot)
		}
	}
}

// reroute changes the routes of a job that runs.
func (s *state) reroute(slot int32, slow float64) {
	j := s.slots[slot]
	s.leavePhase(j, true)
	j.slow, j.rerouted = slow, slow > 1
	s.goOn(slot)
}

// workOn begins the planned maintenance of a switch.
func (s *state) workOn(x int) {
	_, number := kindOf(x % partsPod)
	s.switchDown(x/partsPod, number, true)
	s.mend(x, 0)
}

// switchUp brings a switch back, and begins the maintenance that waited for it. Jobs return to usual routes in place or,
// where it is expected to pay, by a restart.
func (s *state) switchUp(pod, number int) {
	p := &s.pods[pod]
	p.out[dimOf(number)]--
	s.queue.touch(pod)
	if p.switchesDown() > 0 {
		return
	}
	if len(p.due) > 0 {
		x := p.due[0]
		p.due = p.due[1:]
		s.workOn(x)
		return
	}
	for _, slot := range s.jobsOn(pod) {
		j := s.slots[slot]
		if !j.rerouted {
			continue
		}
		again := s.setup(j) + s.c.Times.Checkpoint
		switch {
		case s.c.OCS == InPlace && j.phase == running:
			s.reroute(slot, 1)
		case s.c.OCS == InPlace && (j.phase == settingUp || j.phase == moving):
			if j.phase == moving {
				s.leavePhase(j, true) // its run was at the old speed
			}
			j.slow, j.rerouted = 1, false
		case s.c.OCS == Cheapest && j.phase == running && s.left(j).Seconds()*(j.slow-1) > again.Seconds():
			s.count(&s.tally.Migrations)
			s.leave(slot, s.claim(j, pod, j.at))
		}
	}
}

// reshape gives a job the slice of as many chips on which its step is shortest, if the placement chooses slices.
func (s *state) reshape(j *job) {
	r, ok := s.policy.(placement.Reshaper)
	if !ok || j.Shape.Cubes() == 0 {
		return
	}
	best, least := j.Shape, 1.0
	for _, shape := range r.Reshapes(j.Shape) {
		longer, err := s.c.Reshaped(s.ctx, &j.Job, shape)
		if err != nil {
			s.err = err
			return
		}
		if longer < least {
			best, least = shape, longer
		}
	}
	work := func(t fleet.Time) fleet.Time { return max(fleet.Millisecond, fleet.FromSeconds(t.Seconds()*least)) }
	j.Shape, j.Work, j.Estimate, j.gain = best, work(j.Work), work(j.Estimate), 1/least
}
