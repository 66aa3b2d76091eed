// This file holds the state of a simulation, and its event loop.

package fleets

import (
	"context"
	"math/bits"
	"slices"

	"sim/engine"
	"sim/policies/placement"
	"sim/workloads/fleet"
)

// Numbers of parts and jobs per pod. Parts are ordered as in partKind.
const (
	machinesPerPod = fleet.PodCubes * fleet.CubeHosts
	cablesPerPod   = fleet.PodCubes * fleet.CubeLinks
	partsPerPod    = machinesPerPod + cablesPerPod + 2*fleet.PodSwitches + fleet.PodCubes
	slotsPerPod    = fleet.PodCubes * fleet.CubeChips // maximum number of jobs of a pod: one per chip
)

// wiring is the wiring between cubes and switches. It is the same in all pods.
var wiring placement.Wiring

// simulation is the state of a simulated fleet. Its events are the next arrival of
// a job, the ends of job phases, and the failures and repairs of parts. After each
// event, the waiting jobs are scheduled.
type simulation struct {
	ctx    context.Context
	config *Config
	policy placement.Policy
	events *engine.Queue // ids by time: 0 is the arrival, then slots, then parts
	now    fleet.Time

	source  fleet.Source // source of jobs
	nextJob *fleetJob    // the next job to arrive; nil after the last one
	queue   jobQueue     // waiting jobs

	pods      []podState
	slots     []*fleetJob // placed jobs; nil for free slots
	freeSlots []int32     // indices of free slots
	claims    []*claim    // in the order of their creation

	parts []partState // of all pods, pod after pod
	crews repairCrews

	account      chipAccount
	counters     counters
	availability *availability
	recorder     *recorder

	departures  []departure   // reused by departureCandidates
	trialPod    placement.Pod // reused by podWithout
	slowdownErr error         // error of Config.RouteSlowdown or ShapeSlowdown
}

// podState is a pod with the jobs on it. A job occupies one slot, and is listed
// for each of its cubes.
type podState struct {
	*placement.Pod
	switchesOut     [3]int                  // number of switches that are down, indexed by dimension
	switchDownTime  fleet.Time              // time at which the last of these switches went down
	inMaintenance   bool                    // the last of these switches is in planned maintenance
	freeCount       int                     // cached number of free cubes; see freeCubes
	hasFreeCount    bool                    // freeCount is valid
	pendingSwitches []int                   // parts whose maintenance waits for other switches
	slotsOnCube     [fleet.PodCubes][]int32 // slots of the jobs on each cube
	badChips        [fleet.PodCubes]uint64  // chips of machines with undetected failures, by cube
	closing         [fleet.PodCubes]bool    // maintenance waits for the jobs on the cube
}

// partState is a part that can fail, or the planned maintenance of a part.
type partState struct {
	fleet.Failures
	isDown   bool
	repair   fleet.Time // duration of the next repair
	isRemote bool       // the next repair needs no crew
	failures uint64     // number of failures so far
}

// partKind returns the kind of part i of a pod, and its number among the parts of
// this kind. The kinds Cube and SwitchWork are planned maintenance.
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

// machineChips returns the bit set of a machine's chips in its cube. The chip at (x, y, z)
// has bit 16x + 4y + z. The chips of a machine form a block of 2 x 2 x 1. Machine 0, for
// example, has the bits 0, 4, 16 and 20.
func machineChips(machine int) uint64 {
	inCube := machine % fleet.CubeHosts // 8 machines per two planes of x, 4 per two rows of y
	x, y, z := inCube/8*2, inCube/4%2*2, inCube%4
	first := 16*x + 4*y + z
	return 1<<first | 1<<(first+4) | 1<<(first+16) | 1<<(first+20)
}

// newSimulation returns a simulation at time 0, with the first events of all parts
// and of the first job.
func newSimulation(ctx context.Context, c *Config, policy placement.Policy) *simulation {
	s := &simulation{
		ctx: ctx, config: c, policy: policy, source: c.Jobs(),
		pods:   make([]podState, c.Pods),
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

	// Parts without failures have no events.
	for p := range s.pods {
		s.pods[p].Pod = placement.NewPod()
		for i := range s.pods[p].Cubes {
			s.account.addCube(&s.pods[p].Cubes[i], toAdd)
		}
		for i := range partsPerPod {
			kind, number := partKind(i)
			inCampaign := kind == fleet.SwitchWork && c.CampaignStart > 0
			if c.Rates[kind].PerDay == 0 && !inCampaign {
				continue
			}
			x := &s.parts[p*partsPerPod+i]
			x.Failures = fleet.NewFailures(&c.Rates[kind], c.Seed, kind, c.Pods, p, number)
			if s.drawFailure(p*partsPerPod + i) {
				s.startDown(p*partsPerPod+i, p, number)
			}
			if inCampaign && c.CampaignStart < c.End {
				s.setEvent(s.partEventID(p*partsPerPod+i), c.CampaignStart)
			}
		}
	}

	s.drawArrival()
	return s
}

// setEvent sets the time of an event.
func (s *simulation) setEvent(id int, at fleet.Time) { s.events.Set(int32(id), engine.Time(at)) }

// arrivalEventID is the event of the arrival of the next job.
const arrivalEventID = 0

// partEventID returns the event of part x.
func (s *simulation) partEventID(x int) int { return 1 + len(s.slots) + x }

// slotEventID returns the event of a slot.
func (s *simulation) slotEventID(slot int32) int { return 1 + int(slot) }

// immediately is a delay of setRepairEnd.
const immediately = 0

// setRepairEnd sets the end of the repair of part x, which starts after a delay.
func (s *simulation) setRepairEnd(x int, delay fleet.Time) {
	s.setEvent(s.partEventID(x), s.now+delay+s.parts[x].repair)
}

// drawFailure draws the next failure of part x. It reports whether the part is
// down already. This happens with a log of faults, if an outage began before the
// simulation, or during the repair of another fault.
func (s *simulation) drawFailure(x int) (isDown bool) {
	p := &s.parts[x]
	var after fleet.Time
	after, p.repair, p.isRemote = p.Next(s.now)
	if at := s.now + after; at < s.config.End {
		s.setEvent(s.partEventID(x), at)
	}
	return after == 0
}

// startDown takes a machine down whose outage began before the simulation. It is
// not counted as a failure, and it is detected.
func (s *simulation) startDown(x, pod, number int) {
	s.parts[x].isDown = true
	s.recorder.recordPart(s, fleet.Machine, pod, number, "down")
	s.changeCube(pod, number/fleet.CubeHosts,
		func(c *placement.Cube) { c.Down |= machineChips(number) })
	s.startRepair(x, fleet.Machine)
}

// drawArrival takes the next job from the source and sets its arrival. Jobs are
// ordered by the time of submission.
func (s *simulation) drawArrival() {
	j, ok := s.source.Next()
	if s.nextJob = nil; !ok || j.Submit >= s.config.End {
		return
	}
	s.nextJob = &fleetJob{Job: j, slowdown: 1, requestedRatio: 1}
	s.setEvent(arrivalEventID, max(s.now, j.Submit))
}

// run simulates until the end of the measured time.
func (s *simulation) run() error {
	report := engine.Progress(s.ctx)
	for n := 0; s.events.Len() > 0; n++ {
		const checkEvery = 1024 // events between checks of ctx
		if n%checkEvery == 0 {
			if s.ctx.Err() != nil {
				return s.ctx.Err()
			}
			if report != nil {
				report(float64(s.now) / float64(s.config.End))
			}
		}
		id, at := s.events.Pop()
		if fleet.Time(at) >= s.config.End {
			break
		}

		// Integrals refer to the state before the event.
		s.now = fleet.Time(at)
		s.sampleFreeSlices()
		s.advance()

		var err error
		switch i := int(id) - 1; {
		case i < 0: // arrivalEventID
			s.submit()
		case i < len(s.slots):
			err = s.endPhase(int32(i))
		default:
			s.failOrRepair(i - len(s.slots))
		}

		// Every event may have freed places or changed the queue.
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

// advance adds the time since the last event to all integrals.
func (s *simulation) advance() {
	s.account.advance(s.now)
	s.availability.advance(s, s.counters.lastTime)
	s.counters.advance(s)
}

// finish charges the current phases of all jobs at the end, and checks the
// account.
func (s *simulation) finish() error {
	s.now = s.config.End
	s.advance()
	for _, j := range s.slots {
		if j != nil {
			s.chargePhase(j, keepsAllWork)
		}
	}
	s.recorder.finish(s)
	s.counters.finish(s)
	return s.account.check(s.config.chips())
}

// submit adds the arriving job to the queue, unless it does not fit an empty pod.
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

// changeCube applies a change to a cube, and updates everything that depends on
// it.
func (s *simulation) changeCube(pod, cube int, change func(c *placement.Cube)) {
	c := &s.pods[pod].Cubes[cube]
	before := *c
	s.account.addCube(c, toRemove)
	change(c)
	s.account.addCube(c, toAdd)

	if before.Down != c.Down || before.Unlinked != c.Unlinked || before.Closed != c.Closed {
		s.availability.isStale = true
	}

	s.recorder.recordCube(s, pod, cube, &before, c)
	s.pods[pod].hasFreeCount = false
	s.queue.noteFreed(pod)
}

// occupy puts a job into a slot and on the chips of its place.
func (s *simulation) occupy(j *fleetJob, slot int32) {
	for _, c := range j.place.Cubes {
		s.changeCube(j.pod, int(c), func(c *placement.Cube) { c.Used |= chipsOf(&j.place) })
		slots := &s.pods[j.pod].slotsOnCube[c]
		*slots = append(*slots, slot)
	}
	s.slots[slot] = j
}

// chipsOf returns the bit set of a place's chips in each of its cubes. Places of
// whole cubes use all chips.
func chipsOf(place *placement.Place) uint64 {
	if place.Chips != 0 {
		return place.Chips
	}
	return ^uint64(0)
}

// release removes the job in a slot from its place.
func (s *simulation) release(slot int32, reason string) {
	j := s.slots[slot]
	s.recorder.endAttempt(s, j, reason)
	for _, c := range j.place.Cubes {
		s.changeCube(j.pod, int(c), func(c *placement.Cube) { c.Used &^= chipsOf(&j.place) })
		slots := &s.pods[j.pod].slotsOnCube[c]
		*slots = slices.DeleteFunc(*slots, func(x int32) bool { return x == slot })
		s.startMaintenanceIfEmpty(j.pod, int(c))
	}

	s.slots[slot] = nil
	s.freeSlots = append(s.freeSlots, slot)
	s.events.Remove(int32(s.slotEventID(slot)))
}

// freeCubes returns the number of cubes that slices of whole cubes can use.
func (p *podState) freeCubes() int {
	if !p.hasFreeCount {
		p.freeCount, p.hasFreeCount = bits.OnesCount64(p.Free()), true
	}
	return p.freeCount
}

// jobsOn returns the slots of the jobs in pod p, each once.
func (s *simulation) jobsOn(p int) (list []int32) {
	for c, slots := range s.pods[p].slotsOnCube {
		for _, slot := range slots {
			if int(s.slots[slot].place.Cubes[0]) == c { // at its first cube
				list = append(list, slot)
			}
		}
	}
	return list
}
