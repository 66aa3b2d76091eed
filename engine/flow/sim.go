package flow

import (
	"context"
	"math"
	"slices"

	"sim/engine"
)

// state is what a run changes and a fork keeps.
type state struct {
	queue *engine.Queue // ids: task, then task+tasks (levels cross), then changes
	now   engine.Time

	ready []engine.Time // latest end of a predecessor plus lag; the start once started
	left  []int32       // predecessors that have not ended
	phase []uint8
	rem   []float64     // bits left at since
	rate  []float64     // bits a tick
	since []engine.Time // when rem was brought up to date

	next, prev []int32 // active uses of a resource as linked lists
	head       []int32
	active     []int32 // their number

	dirty     []int32 // resources whose active set or capacity changed
	dirtyMark []bool
	ended     int
	events    int64
	makespan  engine.Time

	contest *engine.Contest // nil if the graph has no contention
}

func newState(m *model) state {
	n, r := m.tasks, m.resources
	return state{
		queue: engine.NewQueue(2*n + len(m.net.Changes)),
		ready: make([]engine.Time, n), left: make([]int32, n), phase: make([]uint8, n),
		rem: make([]float64, n), rate: make([]float64, n), since: make([]engine.Time, n),
		next: make([]int32, len(m.useRes)), prev: make([]int32, len(m.useRes)),
		head: make([]int32, r), active: make([]int32, r), dirtyMark: make([]bool, r),
		contest: m.graph.NewContest(),
	}
}

// copyFrom makes s equal to t, which must be of the same model.
func (s *state) copyFrom(t *state) {
	s.queue.CopyFrom(t.queue)
	s.now, s.ended, s.events, s.makespan = t.now, t.ended, t.events, t.makespan
	copy(s.ready, t.ready)
	copy(s.left, t.left)
	copy(s.phase, t.phase)
	copy(s.rem, t.rem)
	copy(s.rate, t.rate)
	copy(s.since, t.since)
	copy(s.next, t.next)
	copy(s.prev, t.prev)
	copy(s.head, t.head)
	copy(s.active, t.active)
	copy(s.dirtyMark, t.dirtyMark)
	s.dirty = append(s.dirty[:0], t.dirty...)
	if s.contest != nil {
		s.contest.CopyFrom(t.contest)
	}
}

// sim simulates a graph. It is reused: nothing is allocated once its arrays have grown.
type sim struct {
	*model
	state
	service Service
	rates   []float64 // capacity of each resource now, bits a tick
	initial []float64 // and at the start of a run

	stack  []int32
	cutoff engine.Time

	path  paths     // full rates, heads, tails; tails are needed by priorities and cut-offs
	known []float64 // tails that priorities go by instead; nil but for SetTails
	comp  component
	kept  kept
	hold  []bool // by task: stop before it starts; nil but while forking
	held  bool
	log   *rateLog // nil unless a trace is wanted
	ends  []engine.Time

	peak   []float64 // by link: its Peak, bits a tick; nil of none
	stages *stages   // nil but for Stage
	staged bool      // in a run in stages

	ctx     context.Context
	work    int   // since ctx was last asked
	total   int64 // before that
	stopped bool
}

const (
	waiting uint8 = iota
	running
	done
	competing // ready, and waits for the contention
)

func newSim(m *model, s Service) *sim {
	z := &sim{
		model: m, state: newState(m), service: s, ctx: context.Background(),
		rates: make([]float64, m.resources), initial: make([]float64, m.resources),
	}
	for i := range int32(m.resources) {
		z.initial[i] = m.net.Rate(i) * perTick
	}
	for l := range m.net.Links {
		if peak := m.net.Links[l].Peak; peak > 0 {
			if z.peak == nil {
				z.peak = make([]float64, m.resources)
			}
			z.peak[l] = peak * perTick
		}
	}
	z.path.init(m)
	z.comp.init(m)
	return z
}

// simulate runs the graph to its end. It returns false when the makespan provably reaches cutoff, or when nothing can
// proceed (then ended < tasks and now < cutoff), or the context has ended.
func (z *sim) simulate(cutoff engine.Time) bool {
	return z.begin(cutoff) && z.proceed()
}

// begin makes what waits for nothing ready.
func (z *sim) begin(cutoff engine.Time) bool {
	z.reset(cutoff)
	if z.stopped = z.ctx.Err() != nil; z.stopped {
		return false
	}
	for i := range z.tasks {
		if z.need[i] == 0 {
			z.enable(int32(i))
		}
	}
	return z.settle()
}

// proceed runs from the state that z is in. Where hold names transfers it stops before the first of them starts, with
// held set.
func (z *sim) proceed() bool {
	for z.queue.Len() > 0 {
		t := z.queue.Top()
		if t >= z.cutoff && z.ended < z.tasks {
			return false
		}
		z.now = t
		for z.queue.Top() == t || z.resolve() {
			if z.interrupted(1) {
				return false
			}
			id, _ := z.queue.Pop()
			switch {
			case int(id) >= 2*z.tasks:
				c := z.change(id)
				if c.Link == noLink {
					z.stages.reached = true
					continue
				}
				z.rates[c.Link] = c.Rate * perTick
				z.touch(c.Link)
			case int(id) >= z.tasks:
				z.touchTask(id - int32(z.tasks))
			case z.fixed[id] >= 0:
				if !z.compete(id) {
					return false
				}
			case z.phase[id] == waiting:
				if z.hold != nil && z.hold[id] {
					z.queue.Set(id, t)
					z.held = true
					return true
				}
				z.start(id)
			case !z.finish(id):
				return false
			}
			if len(z.stack) > 0 && !z.settle() {
				return false
			}
		}
		if z.ended == z.tasks {
			break
		}
		if z.staged && z.stages.reached {
			return true
		}
		if len(z.dirty) > 0 {
			z.share()
		}
	}
	return z.ended == z.tasks
}

func (z *sim) reset(cutoff engine.Time) {
	z.queue.Reset()
	copy(z.rates, z.initial)
	copy(z.left, z.need)
	clear(z.ready)
	clear(z.phase)
	for r := range z.head {
		z.head[r] = -1
		z.active[r] = 0
	}
	for _, r := range z.dirty {
		z.dirtyMark[r] = false
	}
	z.dirty, z.stack = z.dirty[:0], z.stack[:0]
	z.kept.valid = false
	z.now, z.ended, z.events, z.makespan, z.cutoff = 0, 0, 0, 0, cutoff
	if z.contest != nil {
		z.contest.Reset()
	}
	if z.log != nil {
		z.log.reset()
	}
	for i, c := range z.net.Changes {
		z.queue.Set(int32(2*z.tasks+i), c.At)
	}
	z.work += z.tasks
	z.path.fullRates(z)
	if z.service == LevelPriority || z.service == TailPriority || cutoff != engine.Never || z.hold != nil {
		z.path.computeTails(z.model)
		z.work += len(z.outTo)
	}
}

// enable is called when the last predecessor of id has ended.
func (z *sim) enable(id int32) {
	if z.fixed[id] >= 0 && (z.contest == nil || !z.contest.Involves(id)) {
		z.stack = append(z.stack, id)
		return
	}
	z.queue.Set(id, z.ready[id])
}

// compete handles an event of a task of the contention: it becomes ready or ends. It returns false as release does.
func (z *sim) compete(id int32) bool {
	switch {
	case z.phase[id] == running:
		return z.endCompeting(id)
	case z.contest.Decides(id):
		z.phase[id] = competing
		z.contest.Arrive(id)
	default:
		z.run(id)
	}
	return true
}

// run starts a task of the contention.
func (z *sim) run(id int32) {
	z.phase[id], z.ready[id] = running, z.now
	z.queue.Set(id, z.now+z.fixed[id])
}

// endCompeting ends a task of the contention, and the requests that end with it. It returns false as release does.
func (z *sim) endCompeting(id int32) bool {
	ok := z.release(id, z.now)
	z.contest.Ended(id, func(request int32) {
		z.ready[request] = z.now
		ok = ok && z.endCompeting(request)
	})
	return ok
}

// resolve starts what the contention grants now, and reports whether it has granted anything.
func (z *sim) resolve() bool {
	if z.contest == nil || !z.contest.Pending() {
		return false
	}
	granted := z.contest.Resolve()
	for _, id := range granted {
		z.run(id)
	}
	return z.queue.Top() == z.now
}

// settle ends the tasks on the stack that use no resource, and whatever they release. Their ends may lie in the future:
// nothing can change them.
func (z *sim) settle() bool {
	for len(z.stack) > 0 {
		if z.interrupted(1) {
			return false
		}
		id := z.stack[len(z.stack)-1]
		z.stack = z.stack[:len(z.stack)-1]
		if !z.release(id, z.ready[id]+z.fixed[id]) {
			return false
		}
	}
	return true
}

// release records the end of id and enables its successors. It returns false when a successor proves that the makespan
// reaches the cut-off.
func (z *sim) release(id int32, end engine.Time) bool {
	z.phase[id] = done
	z.ended++
	if z.ends != nil {
		z.ends[id] = end
	}
	z.makespan = max(z.makespan, end)
	if end >= z.cutoff {
		return false
	}
	first, last := z.outStart[id], z.outStart[id+1]
	lags := z.outLag[first:last]
	for k, to := range z.outTo[first:last] {
		if at := end + lags[k]; at > z.ready[to] {
			z.ready[to] = at
		}
		if z.left[to]--; z.left[to] == 0 {
			if z.cutoff != engine.Never && z.ready[to]+engine.Time(z.path.span[to]-0.5) >= z.cutoff {
				return false
			}
			z.enable(to)
		}
	}
	return true
}

func (z *sim) start(id int32) {
	z.events++
	z.phase[id] = running
	z.rem[id] = z.bits[id]
	z.rate[id] = 0
	z.since[id] = z.now
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		r := z.useRes[u]
		z.prev[u], z.next[u] = -1, z.head[r]
		if z.head[r] >= 0 {
			z.prev[z.head[r]] = u
		}
		z.head[r] = u
		z.active[r]++
		z.touch(r)
	}
}

// finish ends a transfer; false as for release.
func (z *sim) finish(id int32) bool {
	z.events++
	for u := z.useStart[id]; u < z.useStart[id+1]; u++ {
		r := z.useRes[u]
		if p := z.prev[u]; p >= 0 {
			z.next[p] = z.next[u]
		} else {
			z.head[r] = z.next[u]
		}
		if n := z.next[u]; n >= 0 {
			z.prev[n] = z.prev[u]
		}
		if z.active[r]--; z.active[r] > 0 {
			z.touch(r)
		} else if z.kept.valid {
			z.kept.forget(r)
		}
	}
	if z.log != nil {
		z.log.add(id, z.now, 0)
	}
	if z.staged {
		z.stages.count(id)
	}
	z.queue.Remove(id + int32(z.tasks))
	return z.release(id, z.now)
}

func (z *sim) touch(r int32) {
	if !z.dirtyMark[r] {
		z.dirtyMark[r] = true
		z.dirty = append(z.dirty, r)
	}
}

func (z *sim) touchTask(id int32) {
	if z.phase[id] == running {
		z.touch(z.useRes[z.useStart[id]])
	}
}

// setRate moves id to a new rate and its completion to where that leads.
func (z *sim) setRate(id int32, rate float64) {
	if rate == z.rate[id] && z.queue.Has(id) {
		return
	}
	z.advance(id)
	z.rate[id] = rate
	if z.log != nil {
		z.log.add(id, z.now, rate/perTick)
	}
	if rate <= 0 {
		if z.rem[id] < z.path.full[id] && z.down(id) {
			z.queue.Set(id, z.now)
			return
		}
		z.queue.Remove(id)
		return
	}
	z.queue.Set(id, z.now+ticks(z.rem[id]/rate))
}

// down reports whether a resource of id has no capacity now. What rounding to ticks has left of a transfer when it goes
// down does not wait until it is back.
func (z *sim) down(id int32) bool {
	return slices.ContainsFunc(z.useRes[z.useStart[id]:z.useStart[id+1]], func(r int32) bool { return z.rates[r] == 0 })
}

// advance brings the bits left of id up to now.
func (z *sim) advance(id int32) {
	if z.since[id] != z.now {
		z.rem[id] = max(0, z.rem[id]-z.rate[id]*float64(z.now-z.since[id]))
		z.since[id] = z.now
	}
}

// slack absorbs the rounding of a division that would be whole in exact arithmetic, so that it is not rounded up by a
// tick.
const slack = 1e-6

// ticks rounds a span up to whole ticks.
func ticks(t float64) engine.Time {
	if t >= math.MaxInt64/4 {
		return math.MaxInt64 / 4
	}
	return engine.Time(math.Ceil(t - slack))
}
