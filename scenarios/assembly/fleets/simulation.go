// This file holds the state of a simulation, and its event loop.

package fleets

import (
	"context"
	"slices"

	"sim/engine"
	"sim/fabric/torus"
	"sim/policies/placement"
	"sim/workloads/fleet"
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

	parts []partState // of all pods, pod after pod, ordered by kind (fleet.Part)
	// kindStart has the number of the first part of a kind in a pod, indexed by kind, and at the
	// end the number of parts of a pod.
	kindStart [fleet.NumParts + 1]int
	crews     repairCrews

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
	switchesOut     [3]int     // number of switches that are down, indexed by dimension
	switchDownTime  fleet.Time // time at which the last of these switches went down
	inMaintenance   bool       // the last of these switches is in planned maintenance
	freeCount       int        // cached number of free cubes; see freeCubes
	hasFreeCount    bool       // freeCount is valid
	pendingSwitches []int      // parts whose maintenance waits for other switches
	slotsOnCube     [][]int32  // slots of the jobs on each cube
	badChips        []uint64   // chips of machines with undetected failures, by cube
	closing         []bool     // maintenance waits for the jobs on the cube
}

// partState is a part that can fail, or the planned maintenance of a part.
type partState struct {
	fleet.Failures
	isDown   bool
	repair   fleet.Time // duration of the next repair
	isRemote bool       // the next repair needs no crew
	failures uint64     // number of failures so far
}

// partID identifies part x, by its index in parts. The kinds Cube and SwitchWork are
// planned maintenance.
func (s *simulation) partID(x int) fleet.PartID {
	perPod := s.kindStart[fleet.NumParts]
	kind, number := fleet.Part(0), x%perPod
	for number >= s.kindStart[kind+1] {
		kind++
	}
	return fleet.PartID{Kind: kind, Pod: x / perPod, Number: number - s.kindStart[kind]}
}

// part returns the index of a part in parts.
func (s *simulation) part(id fleet.PartID) int {
	return id.Pod*s.kindStart[fleet.NumParts] + s.kindStart[id.Kind] + id.Number
}

// partCounts returns the number of parts of a pod, indexed by kind.
func partCounts(p *torus.Pod) [fleet.NumParts]int {
	return [fleet.NumParts]int{
		fleet.Machine: p.Cubes * p.HostsPerCube(), fleet.Cable: p.Cubes * p.LinksPerCube(),
		fleet.Switch: p.Cube.Switches(), fleet.Cube: p.Cubes, fleet.SwitchWork: p.Cube.Switches(),
	}
}

// machineChips returns the cube of a machine of a pod, and its chips.
func (s *simulation) machineChips(machine int) (cube int, chips uint64) {
	perCube := s.config.Pod.HostsPerCube()
	return machine / perCube, s.pods[0].Machine(machine % perCube)
}

// newSimulation returns a simulation at time 0, with the first events of all parts
// and of the first job.
func newSimulation(ctx context.Context, c *Config, policy placement.Policy) *simulation {
	s := &simulation{
		ctx: ctx, config: c, policy: policy, source: c.Jobs(),
		pods:  make([]podState, c.Pods),
		slots: make([]*fleetJob, c.chips()), // one job per chip at most
		queue: newQueue(c.Pods), crews: repairCrews{limit: c.Crews},

		account:  chipAccount{cubeChips: int64(c.Pod.Cube.Chips()), from: c.Start, until: c.End},
		counters: newCounters(), availability: newAvailability(c, policy), recorder: newRecorder(c),
	}
	counts := partCounts(&c.Pod)
	for kind, n := range counts {
		s.kindStart[kind+1] = s.kindStart[kind] + n
	}
	s.parts = make([]partState, c.Pods*s.kindStart[fleet.NumParts])
	s.events = engine.NewQueue(1 + len(s.slots) + len(s.parts))

	for i := len(s.slots) - 1; i >= 0; i-- {
		s.freeSlots = append(s.freeSlots, int32(i))
	}

	// Parts without failures have no events.
	for p := range s.pods {
		n := c.Pod.Cubes
		s.pods[p] = podState{
			Pod:         placement.NewPod(&c.Pod),
			slotsOnCube: make([][]int32, n), badChips: make([]uint64, n), closing: make([]bool, n),
		}
		for i := range s.pods[p].Cubes {
			s.account.addCube(&s.pods[p].Cubes[i], toAdd)
		}
	}
	for x := range s.parts {
		id := s.partID(x)
		inCampaign := id.Kind == fleet.SwitchWork && c.CampaignStart > 0
		if c.Rates[id.Kind].PerDay == 0 && !inCampaign {
			continue
		}
		s.parts[x].Failures = fleet.NewFailures(&c.Rates[id.Kind], c.Seed, id, c.Pods, counts[fleet.Machine])
		if s.drawFailure(x) {
			s.startDown(x, id.Pod, id.Number)
		}
		if inCampaign && c.CampaignStart < c.End {
			s.setEvent(s.partEventID(x), c.CampaignStart)
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
	cube, chips := s.machineChips(number)
	s.changeCube(pod, cube, func(c *placement.Cube) { c.Down |= chips })
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
		s.changeCube(j.pod, int(c), func(c *placement.Cube) { c.Used |= s.pods[j.pod].Chips(&j.place) })
		slots := &s.pods[j.pod].slotsOnCube[c]
		*slots = append(*slots, slot)
	}
	s.slots[slot] = j
}

// release removes the job in a slot from its place.
func (s *simulation) release(slot int32, reason string) {
	j := s.slots[slot]
	s.recorder.endAttempt(s, j, reason)
	for _, c := range j.place.Cubes {
		s.changeCube(j.pod, int(c), func(c *placement.Cube) { c.Used &^= s.pods[j.pod].Chips(&j.place) })
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
		p.freeCount, p.hasFreeCount = freeCubes(p.Pod), true
	}
	return p.freeCount
}

// freeCubes returns the number of cubes of a pod that slices of whole cubes can use.
func freeCubes(p *placement.Pod) int {
	free := p.Free()
	return free.Len()
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
