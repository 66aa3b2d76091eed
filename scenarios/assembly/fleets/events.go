package fleets

import (
	"math/bits"
	"slices"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// endPhase is the end of a phase of the job in a slot.
func (s *simulation) endPhase(slot int32) error {
	j := s.slots[slot]
	switch j.phase {
	case phaseSetup:
		if j.failsPreflight {
			s.increment(&s.counters.PreflightFailures)
			s.requeue(slot, false)
			s.detectBadMachine(j)
			return nil
		}
		s.startRun(slot)
	case phaseTakeover:
		s.startRun(slot)
	case phaseRunning:
		if j.onBadMachine {
			if s.detectBadMachine(j); !j.onBadMachine { // repaired meanwhile
				s.setEvent(s.slotEventID(slot),
					j.phaseStart+j.remainingRun(&s.config.Times).length)
			}
			return nil
		}
		s.chargePhase(j, true)
		s.counters.countEnded(s, j)
		s.release(slot, "done")
	case phaseLeaving, phaseInterrupted:
		s.requeue(slot, true)
	}

	return nil
}

// startRun starts or resumes the run of a job.
func (s *simulation) startRun(slot int32) {
	j := s.slots[slot]
	if j.phase != phaseRunning {
		s.chargePhase(j, true)
	}
	j.phase, j.phaseStart = phaseRunning, s.now
	s.recorder.startRun(s, j)
	s.counters.runningJobs++
	if j.rerouted {
		s.counters.reroutedJobs++
	}
	end := s.now + j.remainingRun(&s.config.Times).length
	if j.onBadMachine { // preflight missed it
		wait := fleet.Spread{Form: fleet.Exponential,
			Mean: fleet.Hour}.Draw(fleet.RandomStream(s.config.Seed, fleet.FirstFreeStream,
			uint64(j.Number)<<8|uint64(j.attempts&0xff)))
		j.onBadMachine = s.now+wait < end
		end = min(end, s.now+wait)
	}
	s.setEvent(s.slotEventID(slot), end)
}

// requeue takes a job off its cubes and queues it, first of its band if it was evicted or interrupted. A job that runs
// loses what no checkpoint holds.
func (s *simulation) requeue(slot int32, strange bool) {
	j := s.slots[slot]
	why := j.departureReason()
	s.chargePhase(j, j.phase != phaseRunning)
	s.release(slot, why)
	j.phase, j.queuedAt, j.onBadMachine = phaseQueued, s.now, false
	j.returned = j.returned || strange
	if j.claim != nil {
		j.phase = phaseClaimed
		return
	}
	s.queue.add(j)
}

// checkpointAndLeave has a job that runs write a checkpoint and go: to a place that is kept for it, or to the queue.
func (s *simulation) checkpointAndLeave(slot int32, to *claim) {
	j := s.slots[slot]
	j.claim = to
	s.stopRun(slot, phaseLeaving, s.config.Times.Checkpoint)
}

// stopRun stops a run, whose work is kept if the phase that comes now ends without a failure.
func (s *simulation) stopRun(slot int32, next jobPhase, takes fleet.Time) {
	j := s.slots[slot]
	s.countStop(j)
	j.phase, j.runEnd = next, s.now
	s.setEvent(s.slotEventID(slot), s.now+takes)
}

// countStop counts a job that no longer runs.
func (s *simulation) countStop(j *fleetJob) {
	s.counters.runningJobs--
	if j.rerouted {
		s.counters.reroutedJobs--
	}
}

// chargePhase charges the phase that a job is in, up to now. Of a run, or of the one that ended before a last checkpoint
// or a move to a standby, all is kept, or what checkpoints hold.
func (s *simulation) chargePhase(j *fleetJob, all bool) {
	chips := j.Shape.Chips()
	switch j.phase {
	case phaseSetup:
		at := j.phaseStart
		for _, x := range []struct {
			use  TimeUse
			for_ fleet.Time
		}{{Connection, s.connectionTime(j, j.phaseStart)}, {Preflight, s.config.Times.Preflight}, {Session, s.config.Times.Session}} {
			end := min(s.now, at+x.for_)
			s.account.charge(x.use, chips, at, end)
			at = end
		}
	case phaseRunning:
		s.chargeRun(j, s.now, all)
		s.countStop(j)
	case phaseLeaving:
		s.chargeRun(j, j.runEnd, all)
		use := Checkpoint
		if !all {
			use = Rework
		}
		s.account.charge(use, chips, j.runEnd, s.now)
	case phaseTakeover:
		s.chargeRun(j, j.runEnd, all)
		s.account.charge(Detection, chips, j.runEnd, s.now)
	case phaseInterrupted:
		s.account.charge(Detection, chips, j.phaseStart, s.now)
	}

	j.phaseStart, j.runEnd = s.now, s.now
}

// interrupt interrupts the job in a slot: it loses what no checkpoint holds, one that it writes among them, and leaves when
// that is detected.
func (s *simulation) interrupt(slot int32) {
	j := s.slots[slot]
	if j.phase == phaseInterrupted {
		return
	}
	s.chargePhase(j, false)
	s.counters.countInterrupt(s, j)
	s.recorder.recordJob(s, j, "interrupted")
	j.phase = phaseInterrupted
	s.setEvent(s.slotEventID(slot), s.now+s.config.Times.Detect)
}

// failOrRepair is a failure of a part, or the end of its repair.
func (s *simulation) failOrRepair(x int) {
	p := &s.parts[x]
	pod := x / partsPerPod
	kind, number := partKind(x % partsPerPod)
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
		cube := number / fleet.CubeLinks
		s.changeCube(pod, cube, func(c *placement.Cube) { c.Unlinked++ })
		s.startRepair(x, kind)
		for _, slot := range slices.Clone(s.pods[pod].slotsOnCube[cube]) {
			if s.slots[slot].Shape.Cubes() > 0 {
				s.hitJob(slot, cube)
			}
		}
	case fleet.Switch:
		s.startRepair(x, kind)
		s.switchDown(pod, number, false)
	case fleet.SwitchWork:
		if p := &s.pods[pod]; s.config.Rolling && p.switchesDown() > 0 {
			p.dueSwitches = append(p.dueSwitches, x)
		} else {
			s.startSwitchMaintenance(x)
		}
	case fleet.Cube:
		s.changeCube(pod, number, func(c *placement.Cube) { c.Closed++ })
		s.pods[pod].closing[number] = true
		s.clearCube(pod, number)
	}
}

// failMachine takes a machine down with the jobs on it. Of an idle one it may go unseen.
func (s *simulation) failMachine(x, pod, number int) {
	cube, chips := number/fleet.CubeHosts, machineChips(number)
	c := &s.pods[pod].Cubes[cube]
	if c.Used&chips == 0 && fleet.HashUniform(s.config.Seed, uint64(x),
		s.parts[x].failures) < s.config.SilentShare {
		s.pods[pod].badChips[cube] |= chips
		return
	}
	s.takeMachineDown(x, pod, number)
}

// takeMachineDown takes a machine down that is known to be bad, strikes the jobs on it, and has it repaired.
func (s *simulation) takeMachineDown(x, pod, number int) {
	cube, chips := number/fleet.CubeHosts, machineChips(number)
	s.pods[pod].badChips[cube] &^= chips
	s.changeCube(pod, cube, func(c *placement.Cube) { c.Down |= chips })
	s.startRepair(x, fleet.Machine)
	for _, slot := range slices.Clone(s.pods[pod].slotsOnCube[cube]) {
		if chipsOf(&s.slots[slot].place)&chips != 0 {
			s.hitJob(slot, cube)
		}
	}
}

// findBadMachine returns a machine of a job's place that is bad, unseen, by its number in the pod, or -1.
func (s *simulation) findBadMachine(j *fleetJob) int {
	for _, c := range j.place.Cubes {
		bad := s.pods[j.pod].badChips[c] & chipsOf(&j.place)
		for m := 0; bad != 0; m++ {
			if machineChips(m)&bad != 0 {
				return int(c)*fleet.CubeHosts + m
			}
		}
	}
	return -1
}

// detectBadMachine takes down the bad machine that a job has come upon, or had.
func (s *simulation) detectBadMachine(j *fleetJob) {
	if m := s.findBadMachine(j); m >= 0 {
		s.takeMachineDown(j.pod*partsPerPod+m, j.pod, m)
		return
	}
	j.onBadMachine = false
}

// hitJob is what a failure in a cube does to a job there: a free cube takes over, or the job is interrupted.
func (s *simulation) hitJob(slot int32, cube int) {
	j := s.slots[slot]
	if (s.config.Machine == ReactionStandby ||
		s.config.Machine == ReactionCheapest && s.config.Times.Standby < s.config.Times.Detect+s.unsavedTime(j)+s.setupTime(j)) && j.phase == phaseRunning && j.Shape.Cubes() > 0 && s.policy.Rewires() {
		if free := s.pods[j.pod].Free(); free != 0 {
			s.moveToStandby(slot, cube, free)
			return
		}
	}
	s.interrupt(slot)
}

// moveToStandby moves what a job has on a cube to a free one.
func (s *simulation) moveToStandby(slot int32, cube int, free uint64) {
	j := s.slots[slot]
	to := int8(bits.TrailingZeros64(free))
	s.increment(&s.counters.Takeovers)
	i := slices.Index(j.place.Cubes, int8(cube))
	j.place.Cubes[i] = to
	p := &s.pods[j.pod]
	s.changeCube(j.pod, cube, func(c *placement.Cube) { c.Used = 0 })
	s.changeCube(j.pod, int(to), func(c *placement.Cube) { c.Used = ^uint64(0) })
	p.slotsOnCube[cube] = p.slotsOnCube[cube][:0]
	p.slotsOnCube[to] = append(p.slotsOnCube[to], slot)
	s.startMaintenanceIfEmpty(j.pod, cube)
	if made, err := wiring.Connect(p.Pod, j.Shape, j.place.Cubes); err == nil { // it was connected before
		s.counters.countConnections(s, j, made)
	}
	s.stopRun(slot, phaseTakeover, s.config.Times.Standby)
}

// clearCube makes the jobs on a cube leave that is to be maintained.
func (s *simulation) clearCube(pod, cube int) {
	if s.config.Maintenance == MaintenanceDrain {
		for _, slot := range slices.Clone(s.pods[pod].slotsOnCube[cube]) {
			s.evict(slot)
		}
	}
	s.startMaintenanceIfEmpty(pod, cube)
}

// evict has a job leave for maintenance: with a checkpoint if it runs, at once if it is set up or moves.
func (s *simulation) evict(slot int32) {
	switch s.slots[slot].phase {
	case phaseRunning:
		s.increment(&s.counters.Evictions)
		s.checkpointAndLeave(slot, nil)
	case phaseSetup, phaseTakeover:
		s.increment(&s.counters.Evictions)
		s.requeue(slot, true)
	}
}

// startMaintenanceIfEmpty begins the maintenance of a cube that waits for it once no job is left there.
func (s *simulation) startMaintenanceIfEmpty(pod, cube int) {
	p := &s.pods[pod]
	if p.closing[cube] && len(p.slotsOnCube[cube]) == 0 {
		p.closing[cube] = false
		x := pod*partsPerPod + machinesPerPod + cablesPerPod + fleet.PodSwitches + cube
		s.setRepairEnd(x, 0)
	}
}

// completeRepair brings a part back.
func (s *simulation) completeRepair(x, pod int, kind fleet.Part, number int) {
	s.parts[x].isDown = false
	s.increment(&s.counters.Repairs[kind])
	s.recorder.recordPart(s, kind, pod, number, "up")
	switch kind {
	case fleet.Machine:
		s.changeCube(pod, number/fleet.CubeHosts,
			func(c *placement.Cube) { c.Down &^= machineChips(number) })
	case fleet.Cable:
		s.changeCube(pod, number/fleet.CubeLinks, func(c *placement.Cube) { c.Unlinked-- })
	case fleet.Switch, fleet.SwitchWork:
		s.switchUp(pod, number)
	case fleet.Cube:
		s.changeCube(pod, number, func(c *placement.Cube) { c.Closed-- })
	}

	if kind != fleet.Cube && kind != fleet.SwitchWork && !s.parts[x].isRemote {
		s.startNextRepair()
	}
	s.drawFailure(x)
}

// repairCrews repair, so many parts at once, but for what is repaired from afar.
type repairCrews struct {
	limit, busy int
	urgent      []int // switches that wait, where they come first
	others      []int
}

// startRepair has a part repaired, now or when a crew is free. An outage that a log tells lasts as long as in the log.
func (s *simulation) startRepair(x int, kind fleet.Part) {
	c := &s.crews
	switch {
	case s.parts[x].Log != nil:
		s.setRepairEnd(x, 0)
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

// startNextRepair gives the crew that is free its next part: of switches first, if these come first (Sec. 3.6 of the paper).
func (s *simulation) startNextRepair() {
	c := &s.crews
	c.busy--
	for _, list := range []*[]int{&c.urgent, &c.others} {
		if len(*list) > 0 {
			x := (*list)[0]
			*list = (*list)[1:]
			c.busy++
			s.setRepairEnd(x, 0)
			return
		}
	}
}
