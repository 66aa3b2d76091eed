// This file handles the failures, repairs and planned maintenance of optical circuit
// switches. The switches of a pod connect the faces of its cubes, as many in each dimension as a
// face has links. A slice of whole cubes has links through every switch, so it needs paths
// around a switch that is down.

package fleets

import (
	"sim/policies/placement"
	"sim/workloads/fleet"
)

// switchDim returns the dimension, 0 to 2, whose links a switch of a pod connects.
func (c *Config) switchDim(number int) (dim int) {
	for number >= c.Pod.Cube.Face(dim) {
		number -= c.Pod.Cube.Face(dim)
		dim++
	}
	return dim
}

// allowedSlowdown returns the slowdown of a job in pod p, or 0 if the job may not
// run there. If a switch is down, a job of whole cubes may run only if it accepts paths
// around the switch. With the reaction "cheapest", these paths must also be expected to
// cost less than waiting.
func (s *simulation) allowedSlowdown(j *fleetJob, p int) float64 {
	down := s.pods[p].switchesDown()
	switch {
	case down == 0 || j.Shape.Cubes() == 0:
		return 1
	case s.config.OCS == ReactionWait || !j.AcceptsFaultRouting || down > 1:
		return 0
	}

	// Exactly one switch is down. Find its dimension.
	for dim, n := range s.pods[p].switchesOut {
		if n == 0 {
			continue
		}
		slowdown, err := s.config.RouteSlowdown(s.ctx, &j.Job, dim)
		if err != nil {
			s.slowdownErr = err
			return 0
		}
		if slowdown == 0 || s.config.OCS != ReactionCheapest || s.reroutingPays(j, p, slowdown) {
			return slowdown
		}
	}

	return 0
}

// reroutingPays reports whether a job is expected to lose no more time on paths
// around the failed switch of pod p than by waiting for its repair. The job keeps
// these paths until its end, or leaves them after the repair by a restart.
func (s *simulation) reroutingPays(j *fleetJob, p int, slowdown float64) bool {
	outage := s.residualOutage(p).Seconds()
	restart := (s.setupTime(j) + s.config.Times.Checkpoint).Seconds()
	lossUntilEnd := s.remainingWork(j).Seconds() * (slowdown - 1)
	lossUntilRepair := outage*(1-1/slowdown) + restart
	return min(lossUntilEnd, lossUntilRepair) <= outage
}

// residualOutage returns the expected remaining outage of the switch of pod p that
// failed last.
func (s *simulation) residualOutage(p int) fleet.Time {
	kind := fleet.Switch
	if s.pods[p].inMaintenance {
		kind = fleet.SwitchWork
	}
	return s.config.Rates[kind].Repair.Residual(s.now - s.pods[p].switchDownTime)
}

// Values of the argument isMaintenance of switchDown.
const (
	forMaintenance = true
	byFailure      = false
)

// switchDown takes a switch out of service. It stops the jobs of whole cubes in the pod,
// except jobs that change their paths without a restart. If the outage is planned, jobs
// write a checkpoint before they stop.
func (s *simulation) switchDown(pod, number int, isMaintenance bool) {
	p := &s.pods[pod]
	p.switchesOut[s.config.switchDim(number)]++
	p.switchDownTime, p.inMaintenance = s.now, isMaintenance
	for _, slot := range s.jobsOn(pod) {
		j := s.slots[slot]
		if j.Shape.Cubes() == 0 {
			continue
		}

		// Jobs that can change their paths continue.
		hasRun := j.phase == phaseRunning || j.phase == phaseLeaving
		if s.config.OCS == ReactionInPlace && hasRun {
			if slowdown := s.allowedSlowdown(j, pod); slowdown > 0 {
				if j.phase == phaseRunning {
					s.reroute(slot, slowdown)
				}
				continue
			}
		}
		if isMaintenance {
			s.evict(slot)
		} else {
			s.interrupt(slot)
		}
	}
}

// noSlowdown is the slowdown of a job on paths without faults.
const noSlowdown = 1

// reroute changes the paths of a running job without a restart.
func (s *simulation) reroute(slot int32, slowdown float64) {
	j := s.slots[slot]
	s.chargePhase(j, keepsAllWork)
	j.slowdown, j.rerouted = slowdown, slowdown > 1
	s.startRun(slot)
}

// startSwitchMaintenance starts the planned maintenance of part x, a switch. Parts are
// numbered pod by pod.
func (s *simulation) startSwitchMaintenance(x int) {
	id := s.partID(x)
	s.switchDown(id.Pod, id.Number, forMaintenance)
	s.setRepairEnd(x, immediately)
}

// switchUp returns a switch to service, and starts maintenance that waited for it.
//
// If all switches are up, jobs return to normal paths: without a restart, or by a
// restart if this is expected to save time.
func (s *simulation) switchUp(pod, number int) {
	p := &s.pods[pod]
	p.switchesOut[s.config.switchDim(number)]--
	s.queue.noteFreed(pod)
	if p.switchesDown() > 0 {
		return
	}

	// Maintenance that was waiting starts now.
	if len(p.pendingSwitches) > 0 {
		x := p.pendingSwitches[0]
		p.pendingSwitches = p.pendingSwitches[1:]
		s.startSwitchMaintenance(x)
		return
	}

	for _, slot := range s.jobsOn(pod) {
		j := s.slots[slot]
		if !j.rerouted {
			continue
		}
		restart := s.setupTime(j) + s.config.Times.Checkpoint
		switch {
		case s.config.OCS == ReactionInPlace && j.phase == phaseRunning:
			s.reroute(slot, noSlowdown)
		case s.config.OCS == ReactionInPlace && (j.phase == phaseSetup || j.phase == phaseTakeover):
			if j.phase == phaseTakeover {
				s.chargePhase(j, keepsAllWork) // the preceding run, with its slowdown
			}
			j.slowdown, j.rerouted = noSlowdown, false
		case s.config.OCS == ReactionCheapest && j.phase == phaseRunning:
			if saved := s.remainingWork(j).Seconds() * (j.slowdown - 1); saved <= restart.Seconds() {
				continue
			}
			s.increment(&s.counters.Migrations)
			s.checkpointAndLeave(slot, s.addClaim(j, pod, j.place))
		}
	}
}

// reshape changes the slice of a job to the shape with the same number of chips on which its
// step is shortest, if the placement chooses shapes. Work and estimate shrink accordingly.
func (s *simulation) reshape(j *fleetJob) {
	r, ok := s.policy.(placement.Reshaper)
	if !ok || j.Shape.Cubes() == 0 {
		return
	}

	// Compare with the requested slice, whose ratio is 1.
	best, minRatio := j.Shape, 1.0
	for _, shape := range r.Reshapes(j.Shape) {
		ratio, err := s.config.ShapeSlowdown(s.ctx, &j.Job, shape)
		if err != nil {
			s.slowdownErr = err
			return
		}
		if ratio < minRatio {
			best, minRatio = shape, ratio
		}
	}

	// Times stay at least one tick, so that every job takes time.
	rescale := func(t fleet.Time) fleet.Time {
		return max(fleet.Millisecond, fleet.FromSeconds(t.Seconds()*minRatio))
	}
	j.Shape, j.requestedRatio = best, 1/minRatio
	j.Work, j.Estimate = rescale(j.Work), rescale(j.Estimate)
}
