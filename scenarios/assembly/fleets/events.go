// This file handles the events of a simulation: the ends of the phases of jobs, and the
// failures and repairs of machines, links and cubes. switches.go handles switches.

package fleets

import (
	"slices"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// endPhase handles the end of the current phase of the job in a slot. Every job that has
// chips has a slot, an index in simulation.slots.
func (s *simulation) endPhase(slot int32) error {
	j := s.slots[slot]
	switch j.phase {
	case phaseSetup:
		// Preflight takes the machine down, and the job returns to the queue.
		if j.failsPreflight {
			s.increment(&s.counters.PreflightFailures)
			s.requeue(slot)
			s.detectBadMachine(j)
			return nil
		}
		s.startRun(slot)
	case phaseTakeover:
		s.startRun(slot)
	case phaseRunning:
		// The job fails because of a bad machine, unless the machine was repaired in
		// the meantime. In this case it continues to its end.
		if j.onBadMachine {
			s.detectBadMachine(j)
			if !j.onBadMachine {
				end := j.phaseStart + j.remainingRun(&s.config.Times).length
				s.setEvent(s.slotEventID(slot), end)
			}
			return nil
		}

		s.chargePhase(j, keepsAllWork)
		s.counters.countEnded(s, j)
		s.release(slot, "done")
	case phaseLeaving, phaseInterrupted:
		s.requeueReturned(slot)
	}

	return nil
}

// startRun starts or continues the run of the job in a slot.
func (s *simulation) startRun(slot int32) {
	j := s.slots[slot]
	if j.phase != phaseRunning {
		s.chargePhase(j, keepsAllWork)
	}

	j.phase, j.phaseStart = phaseRunning, s.now
	s.recorder.startRun(s, j)
	s.counters.runningJobs++
	if j.rerouted {
		s.counters.reroutedJobs++
	}

	// The run ends with its work, unless a failure stops it first.
	end := s.now + j.remainingRun(&s.config.Times).length
	if j.onBadMachine {
		// Preflight missed the machine. The job fails after an hour on average. Each
		// attempt of a job has its own random stream; the key holds the attempt in its
		// low 8 bits.
		key := uint64(j.Number)<<8 | uint64(j.attempts&0xff)
		random := fleet.RandomStream(s.config.Seed, fleet.FirstFreeStream, key)
		wait := fleet.Spread{Form: fleet.Exponential, Mean: fleet.Hour}.Draw(random)
		j.onBadMachine = s.now+wait < end
		end = min(end, s.now+wait)
	}
	s.setEvent(s.slotEventID(slot), end)
}

// requeueReturned is like requeue for a job that was evicted or interrupted. Such a job
// comes first in its band.
func (s *simulation) requeueReturned(slot int32) {
	s.slots[slot].returned = true
	s.requeue(slot)
}

// requeue takes a job from its cubes and returns it to the queue. A running job
// loses the work since its last checkpoint. A job with a claim waits for its claimed
// place instead.
func (s *simulation) requeue(slot int32) {
	j := s.slots[slot]
	reason := j.departureReason()
	s.chargePhase(j, j.phase != phaseRunning)
	s.release(slot, reason)

	j.phase, j.queuedAt, j.onBadMachine = phaseQueued, s.now, false
	if j.claim != nil {
		j.phase = phaseClaimed
		return
	}
	s.queue.add(j)
}

// checkpointAndRequeue makes a running job write a checkpoint and return to the queue.
func (s *simulation) checkpointAndRequeue(slot int32) { s.checkpointAndLeave(slot, nil) }

// checkpointAndLeave makes a running job write a checkpoint and leave: to a
// claimed place, or to the queue if to is nil.
func (s *simulation) checkpointAndLeave(slot int32, to *claim) {
	j := s.slots[slot]
	j.claim = to
	s.stopRun(slot, phaseLeaving, s.config.Times.Checkpoint)
}

// stopRun ends a run and starts the next phase, which takes a given time. The work
// of the run is kept if that phase ends without a failure.
func (s *simulation) stopRun(slot int32, next jobPhase, duration fleet.Time) {
	j := s.slots[slot]
	s.countStop(j)
	j.phase, j.runEnd = next, s.now
	s.setEvent(s.slotEventID(slot), s.now+duration)
}

// countStop removes a job from the counts of running jobs.
func (s *simulation) countStop(j *fleetJob) {
	s.counters.runningJobs--
	if j.rerouted {
		s.counters.reroutedJobs--
	}
}

// Values of the argument keepsAll of chargePhase.
const (
	keepsAllWork     = true
	losesUnsavedWork = false
)

// chargePhase charges the time of a job's current phase up to now. In phases that
// include a run, keepsAll determines whether the work since the last checkpoint is
// kept.
func (s *simulation) chargePhase(j *fleetJob, keepsAll bool) {
	chips := j.Shape.Chips()
	switch j.phase {
	case phaseSetup:
		// The parts of the setup follow each other, and the last one may be
		// incomplete.
		start := j.phaseStart
		for _, part := range []struct {
			use      TimeUse
			duration fleet.Time
		}{
			{Connection, s.connectionTime(j, j.phaseStart)},
			{Preflight, s.config.Times.Preflight},
			{Session, s.config.Times.Session},
		} {
			end := min(s.now, start+part.duration)
			s.account.charge(part.use, chips, start, end)
			start = end
		}
	case phaseRunning:
		s.chargeRun(j, s.now, keepsAll)
		s.countStop(j)
	case phaseLeaving:
		// A checkpoint that is not completed is lost.
		s.chargeRun(j, j.runEnd, keepsAll)
		use := Checkpoint
		if !keepsAll {
			use = Rework
		}
		s.account.charge(use, chips, j.runEnd, s.now)
	case phaseTakeover:
		s.chargeRun(j, j.runEnd, keepsAll)
		s.account.charge(Detection, chips, j.runEnd, s.now)
	case phaseInterrupted:
		s.account.charge(Detection, chips, j.phaseStart, s.now)
	}

	j.phaseStart, j.runEnd = s.now, s.now
}

// interrupt handles a failure that stops the job in a slot. The job loses all work
// since its last complete checkpoint, and leaves when the failure is detected.
func (s *simulation) interrupt(slot int32) {
	j := s.slots[slot]
	if j.phase == phaseInterrupted {
		return
	}
	s.chargePhase(j, losesUnsavedWork)
	s.counters.countInterrupt(s, j)
	s.recorder.recordJob(s, j, "interrupted")
	j.phase = phaseInterrupted
	s.setEvent(s.slotEventID(slot), s.now+s.config.Times.Detect)
}

// failOrRepair handles the event of part x: its failure, or the end of its repair. Parts
// are numbered pod by pod, and within a pod by kind: machines, cables, switches, the
// planned maintenance of cubes, and the planned maintenance of switches (partKind).
func (s *simulation) failOrRepair(x int) {
	p := &s.parts[x]
	id := s.partID(x)
	pod, kind, number := id.Pod, id.Kind, id.Number
	if p.isDown {
		s.completeRepair(x, pod, kind, number)
		return
	}

	p.isDown = true
	p.failures++
	s.increment(&s.counters.Failures[kind])
	s.recorder.recordPart(s, kind, pod, number, "down")
	switch kind {
	case fleet.Machine:
		s.failMachine(x, pod, number)
	case fleet.Cable:
		cube := number / s.config.Pod.LinksPerCube()
		s.changeCube(pod, cube, func(c *placement.Cube) { c.Unlinked++ })
		s.startRepair(x, kind)

		// Jobs below a cube use no links between cubes.
		for _, slot := range slices.Clone(s.pods[pod].slotsOnCube[cube]) {
			if s.slots[slot].Shape.Cubes() > 0 {
				s.hitJob(slot, cube)
			}
		}
	case fleet.Switch:
		s.startRepair(x, kind)
		s.switchDown(pod, number, byFailure)
	case fleet.SwitchWork:
		// With rolling maintenance, at most one switch of a pod is down.
		if p := &s.pods[pod]; s.config.Rolling && p.switchesDown() > 0 {
			p.pendingSwitches = append(p.pendingSwitches, x)
		} else {
			s.startSwitchMaintenance(x)
		}
	case fleet.Cube:
		// No job may be placed on the cube from now on.
		s.changeCube(pod, number, func(c *placement.Cube) { c.Closed++ })
		s.pods[pod].closing[number] = true
		s.clearCube(pod, number)
	}
}

// failMachine handles the failure of a machine. The failure of an idle machine may
// stay undetected.
func (s *simulation) failMachine(x, pod, number int) {
	cube, chips := s.machineChips(number)
	c := &s.pods[pod].Cubes[cube]
	random := fleet.HashUniform(s.config.Seed, uint64(x), s.parts[x].failures)
	if c.Used&chips == 0 && random < s.config.SilentShare {
		s.pods[pod].badChips[cube] |= chips
		return
	}
	s.takeMachineDown(x, pod, number)
}

// takeMachineDown takes a machine down whose failure is detected. It interrupts
// the jobs on the machine and starts its repair.
func (s *simulation) takeMachineDown(x, pod, number int) {
	cube, chips := s.machineChips(number)
	s.pods[pod].badChips[cube] &^= chips
	s.changeCube(pod, cube, func(c *placement.Cube) { c.Down |= chips })
	s.startRepair(x, fleet.Machine)
	for _, slot := range slices.Clone(s.pods[pod].slotsOnCube[cube]) {
		if s.pods[pod].Chips(&s.slots[slot].place)&chips != 0 {
			s.hitJob(slot, cube)
		}
	}
}

// findBadMachine returns a machine at a job's place with an undetected failure, by
// its number in the pod. It returns -1 if there is no such machine.
func (s *simulation) findBadMachine(j *fleetJob) int {
	for _, c := range j.place.Cubes {
		p := &s.pods[j.pod]
		bad := p.badChips[c] & p.Chips(&j.place)
		for m := 0; bad != 0; m++ {
			if p.Machine(m)&bad != 0 {
				return int(c)*s.config.Pod.HostsPerCube() + m
			}
		}
	}
	return -1
}

// detectBadMachine takes down the undetected machine at a job's place. If it was
// repaired in the meantime, the job is marked as healthy.
func (s *simulation) detectBadMachine(j *fleetJob) {
	if m := s.findBadMachine(j); m >= 0 {
		s.takeMachineDown(s.part(fleet.PartID{Kind: fleet.Machine, Pod: j.pod, Number: m}), j.pod, m)
		return
	}
	j.onBadMachine = false
}

// hitJob handles the failure of a machine or link under a job: a free cube takes
// over, or the job is interrupted.
func (s *simulation) hitJob(slot int32, cube int) {
	j := s.slots[slot]
	lostTime := s.config.Times.Detect + s.unsavedTime(j) + s.setupTime(j)
	isCheaper := s.config.Machine == ReactionCheapest && s.config.Times.Standby < lostTime
	wantsStandby := s.config.Machine == ReactionStandby || isCheaper
	canMove := j.phase == phaseRunning && j.Shape.Cubes() > 0 && s.policy.Rewires()
	if wantsStandby && canMove {
		free := s.pods[j.pod].Free()
		if to := free.First(); to < fleet.MaxCubes {
			s.moveToStandby(slot, cube, to)
			return
		}
	}
	s.interrupt(slot)
}

// moveToStandby moves a job's share of a failed cube to a free cube.
func (s *simulation) moveToStandby(slot int32, cube, to int) {
	j := s.slots[slot]
	s.increment(&s.counters.Takeovers)
	i := slices.Index(j.place.Cubes, int16(cube))
	j.place.Cubes[i] = int16(to)

	// Exchange the cubes.
	p := &s.pods[j.pod]
	s.changeCube(j.pod, cube, func(c *placement.Cube) { c.Used = 0 })
	s.changeCube(j.pod, to, func(c *placement.Cube) { c.Used = p.Chips(&j.place) })
	p.slotsOnCube[cube] = p.slotsOnCube[cube][:0]
	p.slotsOnCube[to] = append(p.slotsOnCube[to], slot)
	s.startMaintenanceIfEmpty(j.pod, cube)

	// The slice was connected before, so it can be connected with another cube.
	if connections, err := wiring.Connect(p.Pod, j.Shape, j.place.Cubes); err == nil {
		s.counters.countConnections(s, j, connections)
	}
	s.stopRun(slot, phaseTakeover, s.config.Times.Standby)
}

// clearCube makes jobs leave a cube whose maintenance is due. Unless jobs are
// drained, it waits for their ends.
func (s *simulation) clearCube(pod, cube int) {
	if s.config.Maintenance == MaintenanceDrain {
		for _, slot := range slices.Clone(s.pods[pod].slotsOnCube[cube]) {
			s.evict(slot)
		}
	}
	s.startMaintenanceIfEmpty(pod, cube)
}

// evict makes a job leave for maintenance. A running job writes a checkpoint
// first.
func (s *simulation) evict(slot int32) {
	switch s.slots[slot].phase { // jobs in other phases leave anyway
	case phaseRunning:
		s.increment(&s.counters.Evictions)
		s.checkpointAndRequeue(slot)
	case phaseSetup, phaseTakeover:
		s.increment(&s.counters.Evictions)
		s.requeueReturned(slot)
	}
}

// startMaintenanceIfEmpty starts the maintenance of a cube if it is due and no job
// is on the cube.
func (s *simulation) startMaintenanceIfEmpty(pod, cube int) {
	p := &s.pods[pod]
	if p.closing[cube] && len(p.slotsOnCube[cube]) == 0 {
		p.closing[cube] = false
		s.setRepairEnd(s.part(fleet.PartID{Kind: fleet.Cube, Pod: pod, Number: cube}), immediately)
	}
}

// completeRepair returns part x to service and draws its next failure.
func (s *simulation) completeRepair(x, pod int, kind fleet.Part, number int) {
	s.parts[x].isDown = false
	s.increment(&s.counters.Repairs[kind])
	s.recorder.recordPart(s, kind, pod, number, "up")
	switch kind {
	case fleet.Machine:
		cube, chips := s.machineChips(number)
		s.changeCube(pod, cube, func(c *placement.Cube) { c.Down &^= chips })
	case fleet.Cable:
		s.changeCube(pod, number/s.config.Pod.LinksPerCube(), func(c *placement.Cube) { c.Unlinked-- })
	case fleet.Switch, fleet.SwitchWork:
		s.switchUp(pod, number)
	case fleet.Cube:
		s.changeCube(pod, number, func(c *placement.Cube) { c.Closed-- })
	}

	// Repairs by a crew release the crew.
	wasMaintenance := kind == fleet.Cube || kind == fleet.SwitchWork
	if !wasMaintenance && !s.parts[x].isRemote {
		s.startNextRepair()
	}
	s.drawFailure(x)
}

// repairCrews are the crews that repair parts. Remote repairs need no crew.
type repairCrews struct {
	limit, busy int   // number of crews and of simultaneous repairs; limit 0 means no limit
	urgent      []int // waiting switches, if these are repaired first
	others      []int // other waiting parts
}

// startRepair starts the repair of part x, or queues it if no crew is free.
// Outages from a log have the duration of the log and need no crew.
func (s *simulation) startRepair(x int, kind fleet.Part) {
	c := &s.crews
	switch {
	case s.parts[x].Log != nil:
		s.setRepairEnd(x, immediately)

	case s.parts[x].isRemote || c.limit == 0 || c.busy < c.limit:
		if !s.parts[x].isRemote {
			c.busy++
		}
		s.setRepairEnd(x, s.config.Times.Detect)
	case kind == fleet.Switch && s.config.Order == RepairSwitchesFirst:
		c.urgent = append(c.urgent, x)
	default:
		c.others = append(c.others, x)
	}
}

// startNextRepair assigns a crew that has become free to the next part (TPU v4
// paper, Sec. 3.6).
func (s *simulation) startNextRepair() {
	c := &s.crews
	c.busy--

	for _, list := range []*[]int{&c.urgent, &c.others} {
		if len(*list) > 0 {
			x := (*list)[0]
			*list = (*list)[1:]
			c.busy++
			s.setRepairEnd(x, immediately)
			return
		}
	}
}
