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
	machines = fleet.PodCubes * fleet.CubeHosts
	cables   = fleet.PodCubes * fleet.CubeLinks
	partsPod = machines + cables + 2*fleet.PodSwitches + fleet.PodCubes
	slotsPod = fleet.PodCubes * fleet.CubeChips // as many jobs can run
)

// wiring is the same in all simulations.
var wiring placement.Wiring

// state is a fleet in a simulation.
type state struct {
	c      *Config
	policy placement.Policy
	events *engine.Queue // the arrival, slots of jobs, parts
	now    fleet.Time
	source fleet.Source
	next   *job // that arrives
	pods   []pod
	slots  []*job
	spare  []int32 // slots without a job
	parts  []part
	queue  queue
	claims []*claim
	may    []leaver      // see leavers
	trial  placement.Pod // see podWithout
	err    error
	ctx    context.Context
	crews  crews
	acc    account
	tally  tally
	watch  *watch
	rec    *recorder
}

// pod is a pod with the jobs on it.
type pod struct {
	*placement.Pod
	out     [3]int     // switches that are down, by dimension
	since   fleet.Time // when the last that is went down
	planned bool       // that is for maintenance
	free    int        // cubes that slices of whole cubes can have, where counted
	counted bool
	due     []int                   // switches whose maintenance waits until none is down
	on      [fleet.PodCubes][]int32 // slots of jobs with chips of a cube
	bad     [fleet.PodCubes]uint64  // chips of machines that are bad, unseen
	closing [fleet.PodCubes]bool    // maintenance waits for the cube's jobs to leave
}

// part is something that fails.
type part struct {
	fleet.Failures
	down   bool
	repair fleet.Time // how long its next repair will take
	remote bool       // that takes no crew
	count  uint64     // failures so far
}

// kindOf returns the kind of a part by its place in its pod, and its number in the kind.
func kindOf(i int) (fleet.Part, int) {
	switch {
	case i < machines:
		return fleet.Machine, i
	case i < machines+cables:
		return fleet.Cable, i - machines
	case i < machines+cables+fleet.PodSwitches:
		return fleet.Switch, i - machines - cables
	}
	if i -= machines + cables + fleet.PodSwitches; i < fleet.PodCubes {
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

func newState(ctx context.Context, c *Config, policy placement.Policy) *state {
	s := &state{
		ctx: ctx, c: c, policy: policy, source: c.Jobs(), pods: make([]pod, c.Pods), slots: make([]*job, c.Pods*slotsPod),
		events: engine.NewQueue(1 + c.Pods*(slotsPod+partsPod)), parts: make([]part, c.Pods*partsPod),
		queue: newQueue(c.Pods), crews: crews{most: c.Crews}, acc: account{from: c.From, until: c.Until}, tally: newTally(), watch: newWatch(c, policy), rec: newRecorder(c.Record),
	}
	for i := len(s.slots) - 1; i >= 0; i-- {
		s.spare = append(s.spare, int32(i))
	}
	for p := range s.pods {
		s.pods[p].Pod = placement.NewPod()
		for i := range s.pods[p].Cubes {
			s.acc.count(&s.pods[p].Cubes[i], 1)
		}
		for i := range partsPod {
			kind, number := kindOf(i)
			campaign := kind == fleet.SwitchWork && c.Campaign > 0
			if c.Rates[kind].PerDay == 0 && !campaign {
				continue
			}
			x := &s.parts[p*partsPod+i]
			x.Failures = fleet.NewFailures(&c.Rates[kind], c.Seed, kind, c.Pods, p, number)
			if s.fails(p*partsPod + i) {
				s.isDown(p*partsPod+i, p, number)
			}
			if campaign && c.Campaign < c.Until {
				s.set(s.partEvent(p*partsPod+i), c.Campaign)
			}
		}
	}
	s.arrive()
	return s
}

// set sets the event of a slot or part, or, below 0, of the arrival.
func (s *state) set(id int, at fleet.Time) { s.events.Set(int32(id), engine.Time(at)) }
func (s *state) partEvent(x int) int       { return 1 + len(s.slots) + x }
func (s *state) slotEvent(slot int32) int  { return 1 + int(slot) }

// mend begins the repair of a part after some time.
func (s *state) mend(x int, after fleet.Time) { s.set(s.partEvent(x), s.now+after+s.parts[x].repair) }

// fails draws the next failure of a part that is up. It reports whether the part is down already, by a log of faults:
// an outage that began before the simulation, or while the part was under repair for another one.
func (s *state) fails(x int) (already bool) {
	p := &s.parts[x]
	var after fleet.Time
	after, p.repair, p.remote = p.Next(s.now)
	if at := s.now + after; at < s.c.Until {
		s.set(s.partEvent(x), at)
	}
	return after == 0
}

// isDown takes a machine down at the beginning, whose outage began before: it is no failure of the simulated time, and
// it has been detected.
func (s *state) isDown(x, pod, number int) {
	s.parts[x].down = true
	s.rec.event(s, fleet.Machine, pod, number, "down")
	s.change(pod, number/fleet.CubeHosts, func(c *placement.Cube) { c.Down |= machineChips(number) })
	s.repair(x, fleet.Machine)
}

// arrive sets the next arrival.
func (s *state) arrive() {
	j, ok := s.source.Next()
	if s.next = nil; !ok || j.Submit >= s.c.Until {
		return
	}
	s.next = &job{Job: j, slow: 1, gain: 1}
	s.set(0, max(s.now, j.Submit))
}

// run simulates until the end.
func (s *state) run() error {
	for n := 0; s.events.Len() > 0; n++ {
		if n&(1<<10-1) == 0 && s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		id, at := s.events.Pop()
		if fleet.Time(at) >= s.c.Until {
			break
		}
		s.now = fleet.Time(at)
		s.sample()
		s.advance()
		var err error
		switch i := int(id) - 1; {
		case i < 0:
			s.submit()
		case i < len(s.slots):
			err = s.jobEvent(int32(i))
		default:
			s.partEvents(i - len(s.slots))
		}
		if err == nil {
			err = s.schedule()
		}
		if err == nil {
			err = s.err
		}
		if err != nil {
			return err
		}
	}
	return s.finish()
}

// advance adds up the time since the last event.
func (s *state) advance() {
	s.acc.advance(s.now)
	s.watch.advance(s, s.tally.at)
	s.tally.advance(s)
}

// finish charges what is under way at the end.
func (s *state) finish() error {
	s.now = s.c.Until
	s.advance()
	for _, j := range s.slots {
		if j != nil {
			s.leavePhase(j, true)
		}
	}
	s.rec.finish(s)
	s.tally.end(s)
	return s.acc.check(s.c.chips())
}

// submit queues the job that arrives.
func (s *state) submit() {
	j := s.next
	j.waits = s.now
	s.reshape(j)
	j.interval = s.interval(j)
	if s.tally.submit(s, j) {
		s.queue.add(j)
	}
	s.arrive()
}

// change changes a cube and keeps count.
func (s *state) change(pod, cube int, of func(c *placement.Cube)) {
	c := &s.pods[pod].Cubes[cube]
	was := *c
	s.acc.count(c, -1)
	of(c)
	s.acc.count(c, 1)
	s.watch.stale = s.watch.stale || was.Down != c.Down || was.Unlinked != c.Unlinked || was.Closed != c.Closed
	s.rec.cube(s, pod, cube, &was, c)
	s.pods[pod].counted = false
	s.queue.touch(pod)
}

// take gives a job its place.
func (s *state) take(j *job, slot int32) {
	for _, c := range j.at.Cubes {
		s.change(j.pod, int(c), func(c *placement.Cube) { c.Used |= chipsOf(&j.at) })
		on := &s.pods[j.pod].on[c]
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
func (s *state) release(slot int32, why string) {
	j := s.slots[slot]
	s.rec.left(s, j, why)
	for _, c := range j.at.Cubes {
		s.change(j.pod, int(c), func(c *placement.Cube) { c.Used &^= chipsOf(&j.at) })
		on := &s.pods[j.pod].on[c]
		*on = slices.DeleteFunc(*on, func(x int32) bool { return x == slot })
		s.maintain(j.pod, int(c))
	}
	s.slots[slot] = nil
	s.spare = append(s.spare, slot)
	s.events.Remove(int32(s.slotEvent(slot)))
}

// whole returns how many cubes slices of whole cubes can have.
func (p *pod) whole() int {
	if !p.counted {
		p.free, p.counted = bits.OnesCount64(p.Free()), true
	}
	return p.free
}

// jobsOn lists the slots of the jobs of a pod, each once.
func (s *state) jobsOn(p int) (list []int32) {
	for c, on := range s.pods[p].on {
		for _, slot := range on {
			if int(s.slots[slot].at.Cubes[0]) == c {
				list = append(list, slot)
			}
		}
	}
	return list
}
