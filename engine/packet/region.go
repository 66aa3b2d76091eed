package packet

import (
	"slices"

	"sim/engine"
)

// region simulates the links out of some of the nodes. A link that leads to a node of the other region is an event of both:
// here the packet leaves its queue, there it arrives.
type region struct {
	*sim // with a calendar, packets, sources and statistics of its own
	of   *pair
	me   uint8
	base int64       // events of both regions in all windows before
	end  engine.Time // of the window
	seq  []int64     // by id: the place of its event; see pair
	hop  []int32     // by link: inner, outward, or the place in arriving of what comes over it
	k    int32       // of what is set next by the event that is simulated
	both bool        // that is of a source with flows from both regions

	arriving []record
	done     [2]windowDone // of the window, and of the one before, which the other region reads
	now      *windowDone
	sets     []later
	rank     [2][]int32 // by region and event of the window: its place among those of both
}

const (
	inner   = -1
	outward = -2
)

// windowDone is what a region has simulated in a window.
type windowDone struct {
	times   []timeOf
	seq     []int64 // by event: its place, or, where this window has set it, -1 - its parent * pair.most - its number
	sends   []send
	soonest engine.Time // event that is set for later
	end     bool        // the run must end
}

// timeOf says which event is the first of a time.
type timeOf struct {
	time engine.Time
	from int32
}

// later is an event that is set for a later window: the k-th that its parent sets, of the events of the window.
type later struct {
	at        engine.Time
	id        int32
	parent, k int32
}

// send is a packet that will arrive in the other region.
type send struct {
	later
	record
}

// set sets an event.
func (r *region) set(id int32, at engine.Time) {
	parent := int32(len(r.now.seq) - 1)
	k := r.k
	r.k++
	if at < r.end {
		r.seq[id] = -1 - int64(parent)*r.of.most - int64(k)
		r.calendar.set(id, at)
		return
	}
	r.now.soonest = min(r.now.soonest, at)
	r.sets = append(r.sets, later{at, id, parent, k})
	if int(id) < len(r.hop) && r.hop[id] == outward {
		r.now.sends = append(r.now.sends, send{later{at, id, parent, k}, *r.chunks.first(&r.links[id].queue)})
	}
}

// mine reports whether the event that is simulated injects packets of a flow here, and numbers what they set.
func (r *region) mine(flow int32) bool {
	if r.both && r.of.side[r.flows[flow].Src] != r.me {
		return false
	}
	r.k = 1 + flow
	return true
}

// simulate simulates the events before the end of the window.
func (r *region) simulate() {
	z := r.sim
	var room [atOnce]int32
	var coming [atOnce]*record
	for {
		ids, now, ok := z.calendar.takeSome(room[:], r.end-1)
		if !ok {
			return
		}
		z.s.End = now
		if n := len(r.now.times); n == 0 || r.now.times[n-1].time != now {
			r.now.times = append(r.now.times, timeOf{now, int32(len(r.now.seq))})
		}
		r.foresee(ids, &coming)
		for i, id := range ids {
			r.now.seq = append(r.now.seq, r.seq[id])
			r.k = 0
			if id < z.base {
				r.forward(id, coming[uint(i)%atOnce], now)
			} else if r.both = r.of.where[id-z.base] == 3; !z.full {
				z.fire(id-z.base, now)
			}
		}
		if z.full {
			return
		}
	}
}

// foresee is sim.foresee: packets from the other region are in arriving, and those for it go nowhere here.
func (r *region) foresee(ids []int32, coming *[atOnce]*record) {
	z := r.sim
	for i, id := range ids {
		p := &coming[uint(i)%atOnce]
		switch {
		case id >= z.base:
			*p = z.touch(id - z.base)
		case r.hop[id] >= 0:
			*p = &r.arriving[r.hop[id]]
		case r.hop[id] == inner:
			*p = z.chunks.first(&z.links[id].queue)
		default:
			*p = &noPacket
		}
	}
	if len(z.paths.step) > 0 {
		z.fetch(coming[:len(ids)])
	}
}

// forward is sim.forward.
func (r *region) forward(id int32, p *record, now engine.Time) {
	z := r.sim
	if r.hop[id] < 0 {
		l := &z.links[id]
		if z.chunks.drop(&l.queue); l.queue.length > 0 {
			r.set(id, z.chunks.first(&l.queue).at)
		}
	}
	switch r.k = 1; p.hold {
	case nowhere: // it arrives in the other region
	case arrived:
		z.deliver(p, now)
	default:
		z.book(p.hold, p, p.route, now)
	}
}

// run simulates the events up to a time, the first of them at begin.
func (r *region) run(begin, until engine.Time) {
	for turn := 0; begin <= until; turn++ {
		r.end = min(begin+r.of.window-1, until) + 1
		r.now = &r.done[turn%2]
		*r.now = windowDone{times: r.now.times[:0], seq: r.now.seq[:0], sends: r.now.sends[:0], soonest: engine.Never}
		r.sets = r.sets[:0]
		r.simulate()
		r.now.soonest = min(r.now.soonest, r.calendar.soonest())
		if r.me == 0 {
			r.told()
		}
		r.now.end = r.full || r.stopped
		r.of.barrier.wait(int(r.me))
		here, there := r.now, &r.of.regions[1-r.me].done[turn%2]
		if here.end || there.end {
			return
		}
		r.number(here, there)
		r.insert(there.sends)
		begin = min(here.soonest, there.soonest)
		if begin == engine.Never {
			return
		}
	}
}

// number finds the places of the events of a window among those of both regions.
func (r *region) number(here, there *windowDone) {
	a, b := here, there
	if r.me == 1 {
		a, b = there, here
	}
	r.rank[0] = slices.Grow(r.rank[0][:0], len(a.seq))[:len(a.seq)]
	r.rank[1] = slices.Grow(r.rank[1][:0], len(b.seq))[:len(b.seq)]
	n := int32(0)
	for i, j := 0, 0; i < len(a.times) || j < len(b.times); {
		at, bt := a.time(i), b.time(j)
		t := min(at, bt)
		var x, xEnd, y, yEnd int32
		if at == t {
			x, xEnd = a.of(i)
			i++
		}
		if bt == t {
			y, yEnd = b.of(j)
			j++
		}
		n = r.merge(a.seq, b.seq, x, xEnd, y, yEnd, n)
	}
	r.of.counted[r.me] = n
}

// time returns the i-th time of a window, engine.Never behind the last.
func (w *windowDone) time(i int) engine.Time {
	if i == len(w.times) {
		return engine.Never
	}
	return w.times[i].time
}

// of returns the events of the i-th time.
func (w *windowDone) of(i int) (from, end int32) {
	if i+1 < len(w.times) {
		return w.times[i].from, w.times[i+1].from
	}
	return w.times[i].from, int32(len(w.seq))
}

// merge numbers the events of one time from n on and returns the next number. An event of both regions has one.
func (r *region) merge(a, b []int64, x, xEnd, y, yEnd, n int32) int32 {
	for x < xEnd && y < yEnd {
		p, q := a[x], b[y]
		if p < 0 {
			p = r.place(0, p)
		}
		if q < 0 {
			q = r.place(1, q)
		}
		if p <= q {
			r.rank[0][x] = n
			x++
		}
		if q <= p {
			r.rank[1][y] = n
			y++
		}
		n++
	}
	for ; x < xEnd; x++ {
		r.rank[0][x] = n
		n++
	}
	for ; y < yEnd; y++ {
		r.rank[1][y] = n
		n++
	}
	return n
}

// place returns the place of an event that a region has set in this window.
func (r *region) place(side int, code int64) int64 {
	parent, k := (-1-code)/r.of.most, (-1-code)%r.of.most
	return (r.base+int64(r.rank[side][parent]))*r.of.most + k
}

// insert puts what both regions have set for here into the calendar, in the order in which one calendar would have it.
func (r *region) insert(sends []send) {
	mine, other := r.rank[r.me], r.rank[1-r.me]
	i := 0
	for _, s := range sends {
		at := (r.base+int64(other[s.parent]))*r.of.most + int64(s.k)
		for ; i < len(r.sets); i++ {
			l := &r.sets[i]
			seq := (r.base+int64(mine[l.parent]))*r.of.most + int64(l.k)
			if seq > at {
				break
			}
			r.seq[l.id] = seq
			r.calendar.set(l.id, l.at)
		}
		r.seq[s.id] = at
		r.arriving[r.hop[s.id]] = s.record
		r.calendar.set(s.id, s.later.at)
	}
	for ; i < len(r.sets); i++ {
		l := &r.sets[i]
		r.seq[l.id] = (r.base+int64(mine[l.parent]))*r.of.most + int64(l.k)
		r.calendar.set(l.id, l.at)
	}
	r.base += int64(r.of.counted[r.me])
}
