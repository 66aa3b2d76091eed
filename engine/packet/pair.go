package packet

import (
	"math"
	"math/bits"
	"runtime"
	"sync"

	"sim/engine"
)

// pair simulates booked packets in two regions at once, and to the tick what one loop does.
//
// A packet takes at least window on any link, so what an event sets lies at least so long behind it, but for sources, which
// are set in their own region alone: the events of a window, from the earliest one on, depend on no other of the window
// elsewhere (conservative simulation; Chandy and Misra, 1979). Then the regions tell each other what they have done.
//
// Events of one time happen in the order in which they were set. So an event's place is that of the one that set it, its
// parent, among all events, and its number k among what that sets: seq = parent * most + k. Both regions merge the lists
// of what they have done, each of which is in order of (time, seq), so that each knows the places of its events among all;
// from these follow the seq of what they have set, and in that order it goes into the calendars. By induction over the
// windows, events of one time in one calendar are in the order in which one loop takes them, and so are packets on every
// link. Statistics are sums, least and greatest values.
type pair struct {
	side    []uint8 // by node: its region
	where   []uint8 // by injector: the regions of its flows, 1, 2, or 3 for both
	window  engine.Time
	most    int64 // above k
	regions [2]*region
	counted [2]int32
	barrier *barrier
}

// Where work is divided: it takes a few tenths of a second, windows have events enough that their ends do not matter, and
// regions are balanced and send each other few packets.
const (
	dividedHops   = 4e6
	dividedEvents = 1024
	leastSide     = 0.4
	mostCrossing  = 0.3
)

// divide has z simulate in two regions where that is quicker.
func (z *sim) divide(w *Work) {
	if z.o.Workers < 2 || z.on || !z.paths.steps || z.paths.sets[0].First != nil || z.windowOf != nil || z.job != nil {
		return
	}
	p := &pair{window: engine.Never, most: int64(len(z.flows)) + 4}
	least, largest := int32(math.MaxInt32), int64(0)
	packets, lasts := 0.0, 0.0
	for _, s := range w.Sources {
		if s.First == s.End {
			continue
		}
		least, largest = min(least, s.last()), max(largest, int64(s.Bytes))
		count, flows := float64(s.Count), float64(s.End-s.First)
		if s.Count == 0 {
			count = float64(s.Stop-s.Start) / s.Every
			if s.Order != Together {
				count /= flows
			}
		}
		packets += count * flows
		takes := s.Every * count
		if s.Order != Together {
			takes *= flows
		}
		lasts = max(lasts, float64(s.Start)+takes)
	}
	if until := float64(z.o.Until); until > 0 && lasts > until {
		packets, lasts = packets*until/lasts, until
	}
	for i := range z.links {
		takes, _ := serialise(z.paces[z.links[i].pace].perByte, uint64(least), 0)
		if z.n.Links[i].Rate > 0 {
			p.window = min(p.window, takes)
		}
	}
	if p.window < 1 || p.window == engine.Never {
		return
	}
	loads, flows := z.sampleLoads()
	each := packets / max(1, flows) // packets for each that was counted
	hops, crossing, share := p.halve(z, loads)
	for i, load := range loads {
		takes, _ := serialise(z.paces[z.links[i].pace].perByte, uint64(largest), 0)
		lasts = max(lasts, load*each*float64(takes))
	}
	switch {
	case share == 0: // all is in one region
		return
	case hops*each > math.MaxInt64/8/float64(p.most) || packets > math.MaxInt64/8/float64(p.most):
		return
	case z.o.divide:
	case runtime.GOMAXPROCS(0) < 2:
		return
	case hops*each < dividedHops || hops*each*float64(p.window) < dividedEvents*lasts || share < leastSide || crossing > mostCrossing*hops:
		return
	}
	if !p.locate(z) {
		return
	}
	z.pair = p
	for i := range p.regions {
		p.regions[i] = newRegion(z, p, uint8(i))
	}
	p.barrier = newBarrier(len(p.regions))
}

// sampled is how many flows are followed to tell what links carry.
const sampled = 1 << 18

// sampleLoads returns how often links are passed by some of the flows, and of how many.
func (z *sim) sampleLoads() (load []float64, flows float64) {
	load = make([]float64, len(z.links))
	every := max(1, len(z.flows)/sampled)
	for from := 0; from+every <= len(z.flows); from += every {
		f := from + int(mix(uint64(from))%uint64(every))
		at, route := z.flows[f].Src, z.paths.path(int32(f))
		for l := z.paths.next(at, route); l != arrived; l = z.paths.next(at, route) {
			load[l]++
			at = z.links[l].to
			route++
		}
		flows++
	}
	return load, flows
}

// halve gives every node its side: the first half of the load of the nodes in their order, or in the order in which links
// lead to them from the first, whichever sends less to the other side. It returns the load, that of links between the
// sides, and the lesser side's share.
func (p *pair) halve(z *sim, load []float64) (sum, crossing, share float64) {
	weight := make([]float64, z.n.Nodes)
	for i, l := range z.n.Links {
		weight[l.From] += load[i]
		sum += load[i]
	}
	crossing = math.Inf(1)
	for _, order := range [][]int32{z.inOrder(), z.byDistance()} {
		side, first := make([]uint8, len(order)), 0.0
		for _, node := range order {
			if first+weight[node]/2 < sum/2 {
				first += weight[node]
			} else {
				side[node] = 1
			}
		}
		over := 0.0
		for i, l := range z.n.Links {
			if side[l.From] != side[l.To] {
				over += load[i]
			}
		}
		if over < crossing {
			p.side, crossing, share = side, over, min(first, sum-first)/max(1, sum)
		}
	}
	return sum, crossing, share
}

// inOrder returns the nodes.
func (z *sim) inOrder() []int32 {
	all := make([]int32, z.n.Nodes)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// byDistance returns the nodes in the order in which links lead to them from the first, then from the first of those left.
func (z *sim) byDistance() []int32 {
	out := make([][]int32, z.n.Nodes)
	for _, l := range z.n.Links {
		out[l.From] = append(out[l.From], l.To)
	}
	seen, all := make([]bool, z.n.Nodes), make([]int32, 0, z.n.Nodes)
	for first := range z.n.Nodes {
		if seen[first] {
			continue
		}
		seen[first] = true
		all = append(all, first)
		for at := len(all) - 1; at < len(all); at++ {
			for _, to := range out[all[at]] {
				if !seen[to] {
					seen[to] = true
					all = append(all, to)
				}
			}
		}
	}
	return all
}

// locate finds the regions of injectors; it reports false where one that draws random numbers has flows from both.
func (p *pair) locate(z *sim) bool {
	p.where = make([]uint8, len(z.injectors))
	for i := range z.injectors {
		m := &z.injectors[i]
		if m.flows != nil { // which begin with one link, or none
			p.where[i] = 1 << p.side[z.flows[m.flows[0]].Src]
			continue
		}
		for _, f := range z.flows[m.first : m.first+m.n] {
			if p.where[i] |= 1 << p.side[f.Src]; p.where[i] == 3 {
				break
			}
		}
		if p.where[i] == 3 && m.rng != nil {
			return false
		}
	}
	return true
}

func newRegion(z *sim, p *pair, me uint8) *region {
	own := *z
	own.pair = nil
	if z.log != nil {
		own.watch, own.log = true, &[]arrival{}
	}
	own.injectors = append([]injector(nil), z.injectors...)
	own.calendar = newCalendar(int(z.base) + len(z.injectors))
	own.most = z.most / 2
	own.chunks = chunks{}
	own.chunks.grow()
	r := &region{sim: &own, of: p, me: me, base: int64(len(z.injectors)), hop: make([]int32, len(z.links))}
	own.region = r
	r.seq = make([]int64, int(z.base)+len(z.injectors))
	arriving := int32(0)
	for i, l := range z.n.Links {
		from, to := p.side[l.From], p.side[l.To]
		if from == me {
			own.home = int32(i)
		}
		switch {
		case from == to:
			r.hop[i] = inner
		case from == me:
			r.hop[i] = outward
		default:
			r.hop[i] = arriving
			arriving++
		}
	}
	r.arriving = make([]record, arriving)
	return r
}

// begin sets the first event of an injector.
func (p *pair) begin(z *sim, i int, at engine.Time) {
	for side, r := range p.regions {
		if p.where[i]&(1<<side) != 0 {
			r.seq[z.base+int32(i)] = int64(i) * p.most
			r.calendar.set(z.base+int32(i), at)
		}
	}
}

// run simulates the events up to a time.
func (p *pair) run(z *sim, until engine.Time) {
	begin := min(p.regions[0].calendar.soonest(), p.regions[1].calendar.soonest())
	var other sync.WaitGroup
	other.Go(func() { p.regions[1].run(begin, until) })
	p.regions[0].run(begin, until)
	other.Wait()
	for _, r := range p.regions {
		z.s.add(&r.s)
		r.s = Stats{}
		if z.log != nil {
			*z.log = append(*z.log, *r.log...)
			*r.log = nil
		}
		z.full, z.stopped = z.full || r.full, z.stopped || r.stopped
	}
}

// add adds what became of other packets.
func (s *Stats) add(o *Stats) {
	s.Injected += o.Injected
	s.Delivered += o.Delivered
	s.Dropped += o.Dropped
	for i, n := range o.DroppedBy {
		s.DroppedBy[i] += n
	}
	s.Bytes += o.Bytes
	s.End = max(s.End, o.End)
	s.MeasuredInjected += o.MeasuredInjected
	s.MeasuredDropped += o.MeasuredDropped
	s.MeasuredBytes += o.MeasuredBytes
	s.Delay.join(&o.Delay)
}

// join adds other delays.
func (d *Delay) join(o *Delay) {
	if o.Count == 0 {
		return
	}
	if d.Count == 0 || o.Min < d.Min {
		d.Min = o.Min
	}
	d.Max = max(d.Max, o.Max)
	d.Count += o.Count
	var carry uint64
	d.lo, carry = bits.Add64(d.lo, o.lo, 0)
	d.hi += o.hi + carry
	if more := len(o.classes) - len(d.classes); more > 0 {
		d.classes = append(d.classes, make([]int64, more)...)
	}
	for c, n := range o.classes {
		d.classes[c] += n
	}
}

// soonest returns the time of the earliest event, engine.Never of none.
func (a *calendar) soonest() engine.Time {
	t := engine.Never
	if len(a.heap) > 0 {
		t = a.heap[0].time
	}
	if c := a.first(); c >= 0 {
		t = min(t, a.runs[a.cells[c]].time)
	}
	return t
}
