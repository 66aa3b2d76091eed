package packet

import (
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"sim/engine"
)

// window is a time in which parts are simulated one after the other, before all are again, to the bit as one loop would. A
// packet that leaves a part is kept, with its time, for the part that it goes to.
//
// Events of one time happen in the order in which they were set. So an event's place among those of its time is told
// by when it was set, and of equals by the place of the event that set it, its parent, and by whether that had set another
// one before. All times of a window are known when it begins, as they are multiples of the unit behind those of events
// that wait then: 40 at most. Hence an event's key: a bit for each time at which it or an ancestor of it was set, later ones
// above earlier ones; the rank of the ancestor that waited when the window began; and a bit for each of these times at
// which what was set was the second of its parent's, earlier ones above later ones. In the order of keys are events of one
// time in theirs. When a window ends, what waits is ranked by its keys.
//
// A greedy source may be set for the very time at which it is simulated. Such an event comes after all others of its time,
// and so does what it sets among all that is set then: there are two bits a time, of which that has the upper.
type window struct {
	begin, end engine.Time
	times      []engine.Time
	bit        [mostTimes]uint64 // by time: the lower in key.set
	bits       int               // of a time
	residues   []engine.Time     // of times by the unit; with latencies of all times so far, as packets on links have any of them
	phases     []engine.Time     // by which times are later than begin and multiples of the unit
	stepped    int               // how many of these partLink.steps are for
	agenda                       // what waits when it begins
	firings    []firing
	came       int64 // to parts so far, and
	followed   int64 // what was looked at to put it in order
	failed     int   // windows that were not worth it, and
	worth      int   // those in a row that were
	opened     int   // windows so far
}

// key says which place an event has among those of its time.
type key struct {
	set  uint64 // a bit for each time at which it or an ancestor was set in this window
	rest uint64 // the rank of the one that waited, above a bit for each of these times at which it was the second
}

// before returns 1 if a is before b, and 0 else.
func (a *key) before(b *key) uint64 {
	_, less := bits.Sub64(a.rest, b.rest, 0)
	_, less = bits.Sub64(a.set, b.set, less)
	return less
}

const (
	rankBits  = 24            // of key.rest
	keyTimes  = 64 - rankBits // times of a window at most
	timeBits  = 6
	mostTimes = 1 << timeBits // of which there are less
	linkBits  = 6
	mostLinks = 1 << linkBits // of a part
)

// run simulates the events up to a time, windows that are not worth it in one loop.
func (p *parts) run(until engine.Time) {
	if p.workers == nil {
		p.newWorkers()
	}
	p.enter()
	opened := p.opened
	for {
		begin, dense := p.open(until)
		if begin > until || begin == engine.Never {
			break
		}
		if p.tied() || p.tooLarge() { // rings have room that one loop does without
			p.leave()
			p.sim.parts = nil
			p.events(until, math.MaxInt)
			return
		}
		if !dense {
			p.leave()
			p.events(min(until-p.stretch(), begin)+p.stretch(), math.MaxInt)
			if p.failed++; p.full {
				return
			}
			p.worth = 0
			p.enter()
			continue
		}
		if p.worth++; p.worth == 64 {
			p.failed = 0
		}
		p.fires()
		p.simulate()
		if p.told() {
			p.gather()
			return
		}
	}
	if p.leave(); p.opened-opened < fewWindows && !p.o.divide { // the next look is as near
		p.sim.parts = nil
	}
}

// fewWindows is how many, between two looks at all links, are too few to take over packets for.
const fewWindows = 16

const (
	mostFollowed = 4 // of what came before for each that comes, and
	followedOnce = 1 << 14
)

// tied reports whether so much comes to links at once that putting it in order takes longer than one loop.
func (p *parts) tied() bool {
	for i := range p.workers {
		k := &p.workers[i]
		p.came += k.came
		p.followed += k.followed
		k.came, k.followed = 0, 0
	}
	return p.followed > mostFollowed*p.came+followedOnce && !p.o.divide
}

// stretch returns for how long one loop goes on: the longer the more often windows were not worth it.
func (p *parts) stretch() engine.Time {
	if p.o.divide {
		return min(3*p.least, engine.Never>>20)
	}
	return engine.Time(min(math.Ldexp(float64(p.least), 3+2*min(p.failed, 62)), float64(engine.Never>>2)))
}

// tooLarge reports whether packets take more memory than they may.
func (p *parts) tooLarge() bool {
	sum := int64(0)
	for i := range p.workers {
		sum += p.workers[i].grown
	}
	return sum > p.most*chunkBytes/2 // it is copied then
}

// gather takes up what the workers have counted.
func (p *parts) gather() {
	for i := range p.workers {
		k := &p.workers[i]
		p.s.add(&k.stats)
		k.stats = Stats{}
	}
}

// simulate simulates the parts in the window, level by level. A worker has the cache read its next part before it simulates
// this one. It begins with a share of a level that is its own in all windows, much of which its cache has yet, and goes on
// with what the others have left of theirs.
func (p *parts) simulate() {
	const line = 16 // numbers in a line of the cache
	levels, workers := len(p.levels)-1, len(p.workers)
	taken := make([]atomic.Int32, levels*workers*line) // by level and worker: so many of its share
	work := func(k *worker) {
		k.inject()
		p.barrier.wait(int(k.number - 1))
		for level := range levels {
			first, n := int(p.levels[level]), int(p.levels[level+1]-p.levels[level])
			me, helped := int(k.number-1), 0
			next := func() int32 {
				for ; helped < workers; helped++ { // itself first
					of := (me + helped) % workers
					from, end := n*of/workers, n*(of+1)/workers
					if i := from + int(taken[(level*workers+of)*line].Add(1)) - 1; i < end {
						return int32(first + i)
					}
				}
				return -1
			}
			for now := next(); now >= 0; {
				then := next()
				if then >= 0 {
					k.fetch(&p.part[then])
				}
				k.part(now)
				now = then
			}
			if level == levels-1 {
				k.agenda.sort()
			}
			p.barrier.wait(int(k.number - 1))
		}
	}
	var all sync.WaitGroup
	for i := range p.workers[1:] {
		all.Go(func() { work(&p.workers[1+i]) })
	}
	work(&p.workers[0])
	all.Wait()
}

// mostPhases is how many phases a window has at most.
const mostPhases = 16

// open begins the next window. It returns when, engine.Never of no event, and reports whether there is enough to do in it.
func (p *parts) open(until engine.Time) (engine.Time, bool) {
	p.begin, p.order = engine.Never, p.order[:0]
	if !p.late {
		p.residues = p.residues[:0]
	}
	for i := p.timed; int(i) < len(p.wait); i++ {
		if w := &p.wait[i]; w.at < engine.Never {
			p.begin = min(p.begin, w.at)
			p.residue(w.at)
			p.order = append(p.order, rankedKey{w.key, -1 - i})
		}
	}
	p.agenda.sort()
	for i := range p.workers {
		k := &p.workers[i]
		p.begin = min(p.begin, k.soon)
		p.merge(&k.agenda)
		for _, r := range k.rests {
			p.residue(r)
		}
		k.soon, k.rests, k.waited = engine.Never, k.rests[:0], -1
	}
	p.share()
	ranks := p.rank()
	if p.begin > until || p.begin == engine.Never || ranks >= 1<<rankBits || len(p.residues) > mostPhases {
		return p.begin, false
	}
	p.end = p.beforeNext(until)
	p.phases = p.phases[:0]
	for _, r := range p.residues {
		p.phases = append(p.phases, (r-p.begin%p.unit+p.unit)%p.unit)
	}
	slices.Sort(p.phases)
	if len(p.phases) != p.stepped {
		p.stepped = len(p.phases)
		for i := range p.links {
			l := &p.links[i]
			l.steps = int32(min(l.takes/p.unit, mostTimes)) * int32(p.stepped)
		}
	}
	p.bits = 1
	if p.timed > 0 {
		p.bits = 2
	}
	p.times = p.times[:0]
	for base := p.begin; ; base += p.unit {
		for _, d := range p.phases {
			if base+d >= p.end || len(p.times) == keyTimes || (len(p.times)+1)*p.bits > 64 {
				p.end = min(p.end, base+d)
				return p.begin, p.dense()
			}
			p.bit[len(p.times)] = 1 << (len(p.times) * p.bits)
			p.times = append(p.times, base+d)
		}
	}
}

// beforeNext returns the end of a window up to a time in which no source whose ranks are known has two events.
func (p *parts) beforeNext(until engine.Time) engine.Time {
	end := until
	for i := range p.wait[p.timed:] {
		w := &p.wait[int(p.timed)+i]
		if m := &p.injectors[w.source]; w.at < engine.Never && m.sent+1 < m.total {
			if later := m.every * float64(m.sent+1); later < float64(engine.Never-m.start)/2 {
				end = min(end, m.start+engine.Time(later)-1)
			}
		}
	}
	if end < engine.Never {
		end++
	}
	return end
}

// residue takes up what a time is beyond a multiple of the unit.
func (p *parts) residue(t engine.Time) {
	if r := t % p.unit; len(p.residues) <= mostPhases && !slices.Contains(p.residues, r) {
		p.residues = append(p.residues, r)
	}
}

// dense reports whether a window has enough to do: that it is as long as a packet takes, and how many links and sources
// have an event in it.
func (p *parts) dense() bool {
	if len(p.times) == 0 {
		return false
	}
	if p.opened++; p.o.divide { // both loops in turns
		return p.opened%4 != 0
	}
	due := int64(0)
	for _, e := range p.order {
		if p.when(e.id) < p.end {
			due += p.ranks(e.id)
		}
	}
	return p.end-p.begin >= p.least && due > int64(max(len(p.links), len(p.order))/8)
}

// when returns the time of an event that waits.
func (p *parts) when(id int32) engine.Time {
	if id >= 0 {
		return p.event[id]
	}
	return p.wait[-1-id].at
}

// index returns which time of the window one is.
func (p *parts) index(t engine.Time) int {
	d := t - p.begin
	if len(p.phases) == 1 {
		return int(d / p.unit)
	}
	i, _ := slices.BinarySearch(p.phases, d%p.unit)
	return int(d/p.unit)*len(p.phases) + i
}

// keyOf returns the key of an event.
func (p *parts) keyOf(id int32) *key {
	if id >= 0 {
		return &p.key[id]
	}
	return &p.wait[-1-id].key
}

// ranks returns how many ranks an event takes: one, and one for each packet that it injects where these are many.
func (p *parts) ranks(id int32) int64 {
	if id >= 0 || p.wait[-1-id].link >= 0 {
		return 1
	}
	m := &p.injectors[p.wait[-1-id].source]
	if m.order != Together || m.n == 1 {
		return 1
	}
	return 1 + int64(m.n)
}

// rank ranks what waits and returns how many ranks there are.
func (p *parts) rank() int64 {
	rank := int64(0)
	for i := range p.order {
		e := &p.order[i]
		*p.keyOf(e.id) = key{rest: uint64(rank) << keyTimes}
		rank += p.ranks(e.id)
	}
	return rank
}
