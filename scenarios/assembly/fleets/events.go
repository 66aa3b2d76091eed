package fleets

import (
	"math/bits"
	"slices"

	"sim/policies/placement"
	"sim/workloads/fleet"
)

// jobEvent is the end of a phase of the job in a slot.
func (s *state) jobEvent(slot int32) error {
	j := s.slots[slot]
	switch j.phase {
	case settingUp:
		if j.unfit {
			s.count(&s.tally.Preflights)
			s.requeue(slot, false)
			s.find(j)
			return nil
		}
		s.goOn(slot)
	case moving:
		s.goOn(slot)
	case running:
		if j.latent {
			if s.find(j); !j.latent { // repaired meanwhile
				s.set(s.slotEvent(slot), j.since+j.run(&s.c.Times).length)
			}
			return nil
		}
		s.leavePhase(j, true)
		s.tally.done(s, j)
		s.release(slot, "done")
	case leaving, struck:
		s.requeue(slot, true)
	}
	return nil
}

// goOn starts or resumes the run of a job.
func (s *state) goOn(slot int32) {
	j := s.slots[slot]
	if j.phase != running {
		s.leavePhase(j, true)
	}
	j.phase, j.since = running, s.now
	s.rec.runs(s, j)
	s.tally.runs++
	if j.rerouted {
		s.tally.rerouted++
	}
	end := s.now + j.run(&s.c.Times).length
	if j.latent { // preflight missed it
		wait := fleet.Spread{Form: fleet.Exponential, Mean: fleet.Hour}.Draw(fleet.RandomStream(s.c.Seed, fleet.FirstFreeStream, uint64(j.Number)<<8|uint64(j.tries&0xff)))
		j.latent = s.now+wait < end
		end = min(end, s.now+wait)
	}
	s.set(s.slotEvent(slot), end)
}

// requeue takes a job off its cubes and queues it, first of its band if it was evicted or interrupted. A job that runs
// loses what no checkpoint holds.
func (s *state) requeue(slot int32, strange bool) {
	j := s.slots[slot]
	why := j.why()
	s.leavePhase(j, j.phase != running)
	s.release(slot, why)
	j.phase, j.waits, j.latent = queued, s.now, false
	j.strange = j.strange || strange
	if j.to != nil {
		j.phase = placed
		return
	}
	s.queue.add(j)
}

// leave has a job that runs write a checkpoint and go: to a place that is kept for it, or to the queue.
func (s *state) leave(slot int32, to *claim) {
	j := s.slots[slot]
	j.to = to
	s.save(slot, leaving, s.c.Times.Checkpoint)
}

// save stops a run, whose work is kept if the phase that comes now ends without a failure.
func (s *state) save(slot int32, next phase, takes fleet.Time) {
	j := s.slots[slot]
	s.stop(j)
	j.phase, j.stopped = next, s.now
	s.set(s.slotEvent(slot), s.now+takes)
}

// stop counts a job that no longer runs.
func (s *state) stop(j *job) {
	s.tally.runs--
	if j.rerouted {
		s.tally.rerouted--
	}
}

// leavePhase charges the phase that a job is in, up to now. Of a run, or of the one that ended before a last checkpoint
// or a move to a standby, all is kept, or what checkpoints hold.
func (s *state) leavePhase(j *job, all bool) {
	chips := j.Shape.Chips()
	switch j.phase {
	case settingUp:
		at := j.since
		for _, x := range []struct {
			use  Use
			for_ fleet.Time
		}{{Connecting, s.connecting(j, j.since)}, {Preflight, s.c.Times.Preflight}, {Session, s.c.Times.Session}} {
			end := min(s.now, at+x.for_)
			s.acc.charge(x.use, chips, at, end)
			at = end
		}
	case running:
		s.settle(j, s.now, all)
		s.stop(j)
	case leaving:
		s.settle(j, j.stopped, all)
		use := Checkpoint
		if !all {
			use = Rework
		}
		s.acc.charge(use, chips, j.stopped, s.now)
	case moving:
		s.settle(j, j.stopped, all)
		s.acc.charge(Detection, chips, j.stopped, s.now)
	case struck:
		s.acc.charge(Detection, chips, j.since, s.now)
	}
	j.since, j.stopped = s.now, s.now
}

// strike interrupts the job in a slot: it loses what no checkpoint holds, one that it writes among them, and leaves when
// that is detected.
func (s *state) strike(slot int32) {
	j := s.slots[slot]
	if j.phase == struck {
		return
	}
	s.leavePhase(j, false)
	s.tally.hits(s, j)
	s.rec.job(s, j, "interrupted")
	j.phase = struck
	s.set(s.slotEvent(slot), s.now+s.c.Times.Detect)
}

// partEvents is a failure of a part, or the end of its repair.
func (s *state) partEvents(x int) {
	p := &s.parts[x]
	pod := x / partsPod
	kind, number := kindOf(x % partsPod)
	if p.down {
		s.repaired(x, pod, kind, number)
		return
	}
	p.down = true
	p.count++
	s.count(&s.tally.Failures[kind])
	s.rec.event(s, kind, pod, number, "down")
	switch kind {
	case fleet.Machine:
		s.machineFails(x, pod, number)
	case fleet.Cable:
		cube := number / fleet.CubeLinks
		s.change(pod, cube, func(c *placement.Cube) { c.Unlinked++ })
		s.repair(x, kind)
		for _, slot := range slices.Clone(s.pods[pod].on[cube]) {
			if s.slots[slot].Shape.Cubes() > 0 {
				s.hit(slot, cube)
			}
		}
	case fleet.Switch:
		s.repair(x, kind)
		s.switchDown(pod, number, false)
	case fleet.SwitchWork:
		if p := &s.pods[pod]; s.c.Rolling && p.switchesDown() > 0 {
			p.due = append(p.due, x)
		} else {
			s.workOn(x)
		}
	case fleet.Cube:
		s.change(pod, number, func(c *placement.Cube) { c.Closed++ })
		s.pods[pod].closing[number] = true
		s.clear(pod, number)
	}
}

// machineFails takes a machine down with the jobs on it. Of an idle one it may go unseen.
func (s *state) machineFails(x, pod, number int) {
	cube, chips := number/fleet.CubeHosts, machineChips(number)
	c := &s.pods[pod].Cubes[cube]
	if c.Used&chips == 0 && fleet.HashUniform(s.c.Seed, uint64(x), s.parts[x].count) < s.c.Silent {
		s.pods[pod].bad[cube] |= chips
		return
	}
	s.takeDown(x, pod, number)
}

// takeDown takes a machine down that is known to be bad, strikes the jobs on it, and has it repaired.
func (s *state) takeDown(x, pod, number int) {
	cube, chips := number/fleet.CubeHosts, machineChips(number)
	s.pods[pod].bad[cube] &^= chips
	s.change(pod, cube, func(c *placement.Cube) { c.Down |= chips })
	s.repair(x, fleet.Machine)
	for _, slot := range slices.Clone(s.pods[pod].on[cube]) {
		if chipsOf(&s.slots[slot].at)&chips != 0 {
			s.hit(slot, cube)
		}
	}
}

// findBad returns a machine of a job's place that is bad, unseen, by its number in the pod, or -1.
func (s *state) findBad(j *job) int {
	for _, c := range j.at.Cubes {
		bad := s.pods[j.pod].bad[c] & chipsOf(&j.at)
		for m := 0; bad != 0; m++ {
			if machineChips(m)&bad != 0 {
				return int(c)*fleet.CubeHosts + m
			}
		}
	}
	return -1
}

// find takes down the bad machine that a job has come upon, or had.
func (s *state) find(j *job) {
	if m := s.findBad(j); m >= 0 {
		s.takeDown(j.pod*partsPod+m, j.pod, m)
		return
	}
	j.latent = false
}

// hit is what a failure in a cube does to a job there: a free cube takes over, or the job is interrupted.
func (s *state) hit(slot int32, cube int) {
	j := s.slots[slot]
	if (s.c.Machine == HotStandby || s.c.Machine == Cheapest && s.c.Times.Standby < s.c.Times.Detect+s.unsaved(j)+s.setup(j)) && j.phase == running && j.Shape.Cubes() > 0 && s.policy.Rewires() {
		if free := s.pods[j.pod].Free(); free != 0 {
			s.takeOver(slot, cube, free)
			return
		}
	}
	s.strike(slot)
}

// takeOver moves what a job has on a cube to a free one.
func (s *state) takeOver(slot int32, cube int, free uint64) {
	j := s.slots[slot]
	to := int8(bits.TrailingZeros64(free))
	s.count(&s.tally.Takeovers)
	i := slices.Index(j.at.Cubes, int8(cube))
	j.at.Cubes[i] = to
	p := &s.pods[j.pod]
	s.change(j.pod, cube, func(c *placement.Cube) { c.Used = 0 })
	s.change(j.pod, int(to), func(c *placement.Cube) { c.Used = ^uint64(0) })
	p.on[cube] = p.on[cube][:0]
	p.on[to] = append(p.on[to], slot)
	s.maintain(j.pod, cube)
	if made, err := wiring.Connect(p.Pod, j.Shape, j.at.Cubes); err == nil { // it was connected before
		s.tally.connected(s, j, made)
	}
	s.save(slot, moving, s.c.Times.Standby)
}

// clear makes the jobs on a cube leave that is to be maintained.
func (s *state) clear(pod, cube int) {
	if s.c.Maintenance == Drain {
		for _, slot := range slices.Clone(s.pods[pod].on[cube]) {
			s.evict(slot)
		}
	}
	s.maintain(pod, cube)
}

// evict has a job leave for maintenance: with a checkpoint if it runs, at once if it is set up or moves.
func (s *state) evict(slot int32) {
	switch s.slots[slot].phase {
	case running:
		s.count(&s.tally.Evictions)
		s.leave(slot, nil)
	case settingUp, moving:
		s.count(&s.tally.Evictions)
		s.requeue(slot, true)
	}
}

// maintain begins the maintenance of a cube that waits for it once no job is left there.
func (s *state) maintain(pod, cube int) {
	p := &s.pods[pod]
	if p.closing[cube] && len(p.on[cube]) == 0 {
		p.closing[cube] = false
		x := pod*partsPod + machines + cables + fleet.PodSwitches + cube
		s.mend(x, 0)
	}
}

// repaired brings a part back.
func (s *state) repaired(x, pod int, kind fleet.Part, number int) {
	s.parts[x].down = false
	s.count(&s.tally.Repairs[kind])
	s.rec.event(s, kind, pod, number, "up")
	switch kind {
	case fleet.Machine:
		s.change(pod, number/fleet.CubeHosts, func(c *placement.Cube) { c.Down &^= machineChips(number) })
	case fleet.Cable:
		s.change(pod, number/fleet.CubeLinks, func(c *placement.Cube) { c.Unlinked-- })
	case fleet.Switch, fleet.SwitchWork:
		s.switchUp(pod, number)
	case fleet.Cube:
		s.change(pod, number, func(c *placement.Cube) { c.Closed-- })
	}
	if kind != fleet.Cube && kind != fleet.SwitchWork && !s.parts[x].remote {
		s.nextRepair()
	}
	s.fails(x)
}

// crews repair, so many parts at once, but for what is repaired from afar.
type crews struct {
	most, busy int
	urgent     []int // switches that wait, where they come first
	others     []int
}

// repair has a part repaired, now or when a crew is free. An outage that a log tells lasts as long as in the log.
func (s *state) repair(x int, kind fleet.Part) {
	c := &s.crews
	switch {
	case s.parts[x].Log != nil:
		s.mend(x, 0)
	case s.parts[x].remote || c.most == 0 || c.busy < c.most:
		if !s.parts[x].remote {
			c.busy++
		}
		s.mend(x, s.c.Times.Detect)
	case kind == fleet.Switch && s.c.Order == SwitchesFirst:
		c.urgent = append(c.urgent, x)
	default:
		c.others = append(c.others, x)
	}
}

// nextRepair gives the crew that is free its next part: of switches first, if these come first (Sec. 3.6 of the paper).
func (s *state) nextRepair() {
	c := &s.crews
	c.busy--
	for _, list := range []*[]int{&c.urgent, &c.others} {
		if len(*list) > 0 {
			x := (*list)[0]
			*list = (*list)[1:]
			c.busy++
			s.mend(x, 0)
			return
		}
	}
}
