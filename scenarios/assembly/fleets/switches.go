package fleets

import (
	"sim/policies/placement"
	"sim/workloads/fleet"
)

// switchDim returns the dimension of a switch of a pod.
func switchDim(number int) int { return number / (fleet.PodSwitches / 3) }

// allowedSlowdown returns how much slower a job would run in a pod, 0 if it may not: of whole cubes while a switch is down those
// that have opted in, and where it is expected to pay, if that is asked.
func (s *simulation) allowedSlowdown(j *fleetJob, p int) float64 {
	down := s.pods[p].switchesDown()
	switch {
	case down == 0 || j.Shape.Cubes() == 0:
		return 1
	case s.config.OCS == ReactionWait || !j.AcceptsFaultRouting || down > 1:
		return 0
	}

	for dim, n := range s.pods[p].switchesOut {
		if n == 0 {
			continue
		}
		slow, err := s.config.RouteSlowdown(s.ctx, &j.Job, dim)
		if err != nil {
			s.slowdownErr = err
			return 0
		}
		if slow == 0 || s.config.OCS != ReactionCheapest || s.reroutingPays(j, p, slow) {
			return slow
		}
	}

	return 0
}

// reroutingPays reports whether a job is expected to lose no more on routes round the switch of a pod that is down than by
// waiting until it is up: it keeps to the routes to its end, or leaves them then.
func (s *simulation) reroutingPays(j *fleetJob, p int, slow float64) bool {
	out := s.residualOutage(p).Seconds()
	keeps := s.remainingWork(j).Seconds() * (slow - 1)
	leaves := out*(1-1/slow) + (s.setupTime(j) + s.config.Times.Checkpoint).Seconds()
	return min(keeps, leaves) <= out
}

// residualOutage returns how long the switch of a pod that went down last is expected to be.
func (s *simulation) residualOutage(p int) fleet.Time {
	kind := fleet.Switch
	if s.pods[p].isPlanned {
		kind = fleet.SwitchWork
	}
	return s.config.Rates[kind].Repair.Residual(s.now - s.pods[p].switchDownTime)
}

// switchDown is what a switch that goes down does to the slices of its pod, each of which has links through it. Jobs
// know of planned maintenance and write a checkpoint.
func (s *simulation) switchDown(pod, number int, planned bool) {
	p := &s.pods[pod]
	p.switchesOut[switchDim(number)]++
	p.switchDownTime, p.isPlanned = s.now, planned
	for _, slot := range s.jobsOn(pod) {
		j := s.slots[slot]
		if j.Shape.Cubes() == 0 {
			continue
		}
		if s.config.OCS == ReactionInPlace &&
			(j.phase == phaseRunning || j.phase == phaseLeaving) {
			if slow := s.allowedSlowdown(j, pod); slow > 0 {
				if j.phase == phaseRunning {
					s.reroute(slot, slow)
				}
				continue
			}
		}
		if planned {
			s.evict(slot)
		} else {
			s.interrupt(slot)
		}
	}
}

// reroute changes the routes of a job that runs.
func (s *simulation) reroute(slot int32, slow float64) {
	j := s.slots[slot]
	s.chargePhase(j, true)
	j.slowdown, j.rerouted = slow, slow > 1
	s.startRun(slot)
}

// startSwitchMaintenance begins the planned maintenance of a switch.
func (s *simulation) startSwitchMaintenance(x int) {
	_, number := partKind(x % partsPerPod)
	s.switchDown(x/partsPerPod, number, true)
	s.setRepairEnd(x, 0)
}

// switchUp brings a switch back, and begins the maintenance that waited for it. Jobs return to usual routes in place or,
// where it is expected to pay, by a restart.
func (s *simulation) switchUp(pod, number int) {
	p := &s.pods[pod]
	p.switchesOut[switchDim(number)]--
	s.queue.noteFreed(pod)
	if p.switchesDown() > 0 {
		return
	}
	if len(p.dueSwitches) > 0 {
		x := p.dueSwitches[0]
		p.dueSwitches = p.dueSwitches[1:]
		s.startSwitchMaintenance(x)
		return
	}

	for _, slot := range s.jobsOn(pod) {
		j := s.slots[slot]
		if !j.rerouted {
			continue
		}
		again := s.setupTime(j) + s.config.Times.Checkpoint
		switch {
		case s.config.OCS == ReactionInPlace && j.phase == phaseRunning:
			s.reroute(slot, 1)
		case s.config.OCS == ReactionInPlace && (j.phase == phaseSetup || j.phase == phaseTakeover):
			if j.phase == phaseTakeover {
				s.chargePhase(j, true) // its run was at the old speed
			}
			j.slowdown, j.rerouted = 1, false
		case s.config.OCS == ReactionCheapest && j.phase == phaseRunning && s.remainingWork(j).Seconds()*(j.slowdown-1) > again.Seconds():
			s.increment(&s.counters.Migrations)
			s.checkpointAndLeave(slot, s.addClaim(j, pod, j.place))
		}
	}
}

// reshape gives a job the slice of as many chips on which its step is shortest, if the placement chooses slices.
func (s *simulation) reshape(j *fleetJob) {
	r, ok := s.policy.(placement.Reshaper)
	if !ok || j.Shape.Cubes() == 0 {
		return
	}
	best, least := j.Shape, 1.0
	for _, shape := range r.Reshapes(j.Shape) {
		longer, err := s.config.ShapeSlowdown(s.ctx, &j.Job, shape)
		if err != nil {
			s.slowdownErr = err
			return
		}
		if longer < least {
			best, least = shape, longer
		}
	}

	work := func(t fleet.Time) fleet.Time { return max(fleet.Millisecond, fleet.FromSeconds(t.Seconds()*least)) }
	j.Shape, j.Work, j.Estimate, j.requestedRatio = best, work(j.Work),
		work(j.Estimate), 1/least
}
