package fleets

import (
	"context"
	"math/bits"
	"slices"

	"sim/engine"
	"sim/policies/placement"
	"sim/workloads/fleet"
)

// Parts of a pod by number, in the order of their events.
const (
	machinesPerPod = fleet.PodCubes * fleet.CubeHosts
	cablesPerPod   = fleet.PodCubes * fleet.CubeLinks
	partsPerPod    = machinesPerPod + cablesPerPod + 2*fleet.PodSwitches + fleet.PodCubes
	slotsPerPod    = fleet.PodCubes * fleet.CubeChips // as many jobs can run
)

// wiring is the same in all simulations.
var wiring placement.Wiring

// simulation is a fleet in a simulation.
type simulation struct {
	config       *Config
	policy       placement.Policy
	events       *engine.Queue // the arrival, slots of jobs, parts
	now          fleet.Time
	source       fleet.Source
	nextJob      *fleetJob // that arrives
	pods         []podState
	slots        []*fleetJob
	freeSlots    []int32 // slots without a job
	parts        []partState
	queue        jobQueue
	claims       []*claim
	departures   []departure   // see leavers
	trialPod     placement.Pod // see podWithout
	slowdownErr  error
	ctx          context.Context
	crews        repairCrews
	account      chipAccount
	counters     counters
	availability *availability
	recorder     *recorder
}

// podState is a pod with the jobs on it.
type podState struct {
	*placement.Pod
	switchesOut    [3]int     // switches that are down, by dimension
	switchDownTime fleet.Time // when the last that is went down
	isPlanned      bool       // that is for maintenance
	freeCount      int        // cubes that slices of whole cubes can have, where counted
	hasFreeCount   bool
	dueSwitches    []int                   // switches whose maintenance waits until none is down
	slotsOnCube    [fleet.PodCubes][]int32 // slots of jobs with chips of a cube
	badChips       [fleet.PodCubes]uint64  // chips of machines that are bad, unseen
	closing        [fleet.PodCubes]bool    // maintenance waits for the cube's jobs to leave
}

// partState is something that fails.
type partState struct {
	fleet.Failures
	isDown   bool
	repair   fleet.Time // how long its next repair will take
	isRemote bool       // that takes no crew
	failures uint64     // failures so far
}

// partKind returns the kind of a part by its place in its pod, and its number in the kind.
func partKind(i int) (fleet.Part, int) {
	switch {
	case i < machinesPerPod:
		return fleet.Machine, i
	case i < machinesPerPod+cablesPerPod:
		return fleet.Cable, i - machinesPerPod
	case i < machinesPerPod+cablesPerPod+fleet.PodSwitches:
		return fleet.Switch, i - machinesPerPod - cablesPerPod
	}
	if i -= machinesPerPod + cablesPerPod + fleet.PodSwitches; i < fleet.PodCubes {
		return fleet.Cube, i
	}
	return fleet.SwitchWork, i - fleet.PodCubes
}

// machineChips returns the chips of a machine in its cube: 2 x 2 x 1 of them.
func machineChips(machine int) uint64 {
	x, y, z := machine%fleet.CubeHosts/8*2, machine%fleet.CubeHosts/4%2*2, machine%4
	at := x*16 + y*4 + z
	return 1<<at | 1<<(at+4) | 1<<(at+16) | 1<<(at+20)
}

func newSimulation(ctx context.Context, c *Config, policy placement.Policy) *simulation {
	s := &simulation{
		ctx: ctx, config: c, policy: policy, source: c.Jobs(), pods: make([]podState, c.Pods),
		slots:  make([]*fleetJob, c.Pods*slotsPerPod),
		events: engine.NewQueue(1 + c.Pods*(slotsPerPod+partsPerPod)),
		parts:  make([]partState, c.Pods*partsPerPod),
		queue:  newQueue(c.Pods), crews: repairCrews{limit: c.Crews},
		account: chipAccount{from: c.Start, until: c.End}, counters: newCounters(),
		availability: newAvailability(c, policy), recorder: newRecorder(c.Record),
	}

	for i := len(s.slots) - 1; i >= 0; i-- {
		s.freeSlots = append(s.freeSlots, int32(i))
	}
	for p := range s.pods {
		s.pods[p].Pod = placement.NewPod()
		for i := range s.pods[p].Cubes {
			s.account.addCube(&s.pods[p].Cubes[i], 1)
		}
		for i := range partsPerPod {
			kind, number := partKind(i)
			campaign := kind == fleet.SwitchWork && c.CampaignStart > 0
			if c.Rates[kind].PerDay == 0 && !campaign {
				continue
			}
			x := &s.parts[p*partsPerPod+i]
			x.Failures = fleet.NewFailures(&c.Rates[kind], c.Seed, kind, c.Pods, p, number)
			if s.drawFailure(p*partsPerPod + i) {
				s.startDown(p*partsPerPod+i, p, number)
			}
			if campaign && c.CampaignStart < c.End {
				s.setEvent(s.partEventID(p*partsPerPod+i), c.CampaignStart)
			}
		}
	}

	s.drawArrival()
	return s
}

// setEvent sets the event of a slot or part, or, below 0, of the arrival.
func (s *simulation) setEvent(id int, at fleet.Time) { s.events.Set(int32(id), engine.Time(at)) }
func (s *simulation) partEventID(x int) int          { return 1 + len(s.slots) + x }
func (s *simulation) slotEventID(slot int32) int     { return 1 + int(slot) }

// setRepairEnd begins the repair of a part after some time.
func (s *simulation) setRepairEnd(x int, after fleet.Time) {
	s.setEvent(s.partEventID(x), s.now+after+s.parts[x].repair)
}

// drawFailure draws the next failure of a part that is up. It reports whether the part is down already, by a log of faults:
// an outage that began before the simulation, or while the part was under repair for another one.
func (s *simulation) drawFailure(x int) (already bool) {
	p := &s.parts[x]
	var after fleet.Time
	after, p.repair, p.isRemote = p.Next(s.now)
	if at := s.now + after; at < s.config.End {
		s.setEvent(s.partEventID(x), at)
	}
	return after == 0
}

// startDown takes a machine down at the beginning, whose outage began before: it is no failure of the simulated time, and
// it has been detected.
func (s *simulation) startDown(x, pod, number int) {
	s.parts[x].isDown = true
	s.recorder.recordPart(s, fleet.Machine, pod, number, "down")
	s.changeCube(pod, number/fleet.CubeHosts,
		func(c *placement.Cube) { c.Down |= machineChips(number) })
	s.startRepair(x, fleet.Machine)
}

// drawArrival sets the next arrival.
func (s *simulation) drawArrival() {
	j, ok := s.source.Next()
	if s.nextJob = nil; !ok || j.Submit >= s.config.End {
		return
	}
	s.nextJob = &fleetJob{Job: j, slowdown: 1, requestedRatio: 1}
	s.setEvent(0, max(s.now, j.Submit))
}

// run simulates until the end.
func (s *simulation) run() error {
	for n := 0; s.events.Len() > 0; n++ {
		if n&(1<<10-1) == 0 && s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		id, at := s.events.Pop()
		if fleet.Time(at) >= s.config.End {
			break
		}
		s.now = fleet.Time(at)
		s.sampleFreeSlices()
		s.advance()
		var err error
		switch i := int(id) - 1; {
		case i < 0:
			s.submit()
		case i < len(s.slots):
			err = s.endPhase(int32(i))
		default:
			s.failOrRepair(i - len(s.slots))
		}
		if err == nil {
			err = s.schedule()
		}
		if err == nil {
			err = s.slowdownErr
		}
		if err != nil {
			return err
		}
	}

	return s.finish()
}

// advance adds up the time since the last event.
func (s *simulation) advance() {
	s.account.advance(s.now)
	s.availability.advance(s, s.counters.lastTime)
	s.counters.advance(s)
}

// finish charges what is under way at the end.
func (s *simulation) finish() error {
	s.now = s.config.End
	s.advance()
	for _, j := range s.slots {
		if j != nil {
			s.chargePhase(j, true)
		}
	}
	s.recorder.finish(s)
	s.counters.finish(s)
	return s.account.check(s.config.chips())
}

// submit queues the job that arrives.
func (s *simulation) submit() {
	j := s.nextJob
	j.queuedAt = s.now
	s.reshape(j)
	j.interval = s.checkpointInterval(j)
	if s.counters.countSubmitted(s, j) {
		s.queue.add(j)
	}
	s.drawArrival()
}

// changeCube changes a cube and keeps count.
func (s *simulation) changeCube(pod, cube int, of func(c *placement.Cube)) {
	c := &s.pods[pod].Cubes[cube]
	was := *c
	s.account.addCube(c, -1)
	of(c)
	s.account.addCube(c, 1)
	s.availability.isStale = s.availability.isStale || was.Down != c.Down ||
		was.Unlinked != c.Unlinked || was.Closed != c.Closed
	s.recorder.recordCube(s, pod, cube, &was, c)
	s.pods[pod].hasFreeCount = false
	s.queue.noteFreed(pod)
}

// occupy gives a job its place.
func (s *simulation) occupy(j *fleetJob, slot int32) {
	for _, c := range j.place.Cubes {
		s.changeCube(j.pod, int(c), func(c *placement.Cube) { c.Used |= chipsOf(&j.place) })
		on := &s.pods[j.pod].slotsOnCube[c]
		*on = append(*on, slot)
	}
	s.slots[slot] = j
}

// chipsOf returns the chips of each cube of a place.
func chipsOf(at *placement.Place) uint64 {
	if at.Chips != 0 {
		return at.Chips
	}
	return ^uint64(0)
}

// release takes a job off its place.
func (s *simulation) release(slot int32, why string) {
	j := s.slots[slot]
	s.recorder.endAttempt(s, j, why)
	for _, c := range j.place.Cubes {
		s.changeCube(j.pod, int(c), func(c *placement.Cube) { c.Used &^= chipsOf(&j.place) })
		on := &s.pods[j.pod].slotsOnCube[c]
		*on = slices.DeleteFunc(*on, func(x int32) bool { return x == slot })
		s.startMaintenanceIfEmpty(j.pod, int(c))
	}
	s.slots[slot] = nil
	s.freeSlots = append(s.freeSlots, slot)
	s.events.Remove(int32(s.slotEventID(slot)))
}

// freeCubes returns how many cubes slices of whole cubes can have.
func (p *podState) freeCubes() int {
	if !p.hasFreeCount {
		p.freeCount, p.hasFreeCount = bits.OnesCount64(p.Free()), true
	}
	return p.freeCount
}

// jobsOn lists the slots of the jobs of a pod, each once.
func (s *simulation) jobsOn(p int) (list []int32) {
	for c, on := range s.pods[p].slotsOnCube {
		for _, slot := range on {
			if int(s.slots[slot].place.Cubes[0]) == c {
				list = append(list, slot)
			}
		}
	}
	return list
}
