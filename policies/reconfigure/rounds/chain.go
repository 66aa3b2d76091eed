package rounds

import (
	"slices"

	"sim/fabric/scaleup"
	"sim/internal/csr"
	"sim/internal/numbers"
	"sim/policies/reconfigure/halt"
)

// Limits on the work of one chain, in nodes times words of rounds that its searches for free ways visit: some 20 ns
// each. 64 GPUs of degree 2 stay below both. Larger domains try fewer longest rounds at large d, then pack nothing anew
// and contract alone, which finds smaller savings but never costs slots.
const (
	tieWork  = 8 << 20
	packWork = 100 << 20
	// ties is how many of several longest rounds are tried.
	ties = 8
)

// chain makes the schedules of a base topology at d = 1, 2, ..: by contraction, and packed anew (Sec. 4.3).
type chain struct {
	cur    *scheme
	phases []*phase
	// least[u] are the fewest hops of unit u in any topology.
	least []uint16
	work  int
	stop  halt.When
}

// newChain is the chain whose first topology is base's only phase. The base schedule is the better of base, if it has
// rounds, and a packing of its own.
func newChain(base *scheme, stop halt.When) *chain {
	c := &chain{cur: base, stop: stop, least: make([]uint16, len(base.src))}
	for u := range c.least {
		c.least[u] = unreached
	}
	c.addPhase()
	if s := c.pack(); len(base.rounds) == 0 || s.slots() < base.slots() {
		s.origin = base.origin
		if len(base.rounds) > 0 {
			s.origin += ", packed by length"
		}
		c.cur = s
	}
	return c
}

// units returns a scheme without rounds for the flows of n GPUs: offsets, where one is given, else edges.
func units(n, k int, offsets []int32, edges scaleup.Topology) *scheme {
	s := &scheme{n: n, k: k}
	if offsets != nil {
		s.offsets = [][]int32{offsets}
	} else {
		s.edges = []scaleup.Topology{edges}
	}
	for u := range int32(n) {
		for v := range int32(n) {
			if u != v && (offsets == nil || u == 0) {
				s.src, s.dst = append(s.src, u), append(s.dst, v)
			}
		}
	}
	s.round, s.hops = make([]int32, len(s.src)), make([]int32, len(s.src))
	return s
}

func (c *chain) addPhase() {
	s := c.cur
	var p *phase
	if s.circulant() {
		p = newPhase(s.n, s.offsets[len(c.phases)], nil, c.stop)
	} else {
		p = newPhase(s.n, nil, s.edges[len(c.phases)], c.stop)
	}
	c.phases = append(c.phases, p)
	for u := range c.least {
		c.least[u] = min(c.least[u], p.to(s.dst[u])[s.src[u]])
	}
}

// pack sorts all paths by hops and puts each into the earliest round in which one of its shortest paths is free, over
// all topologies that have it as short, opening rounds where it must (Sec. 4.2).
func (c *chain) pack() *scheme {
	s := *c.cur
	m := len(s.src)
	s.stride = 1
	for _, h := range c.least {
		s.stride = max(s.stride, int(h))
	}
	_, order := csr.Sort(numbers.Below(int32(m)), s.stride+1, func(u int32) int32 { return int32(c.least[u]) })
	s.round, s.hops, s.way, s.rounds = make([]int32, m), make([]int32, m), make([]int32, m*s.stride), nil
	for _, p := range c.phases {
		p.reset()
	}
	for _, u := range order {
		c.stop.Check()
		h := int(c.least[u])
		way := s.way[int(u)*s.stride : int(u)*s.stride+h]
		in, round := (*phase)(nil), -1
		phase := int32(0)
		for i, p := range c.phases {
			if int(p.to(s.dst[u])[s.src[u]]) != h {
				continue
			}
			if in == nil {
				in, phase = p, int32(i)
			}
			if round = p.fit(s.src[u], s.dst[u], h, way); round >= 0 {
				in = p
				break
			}
		}
		if round < 0 {
			in.open(int32(len(s.rounds)))
			s.rounds = append(s.rounds, span{phase: phase})
			round = in.fit(s.src[u], s.dst[u], h, way)
		}
		in.take(round, way)
		s.hops[u], s.round[u] = int32(h), in.number[round]
	}
	for _, p := range c.phases {
		c.work += p.work
		p.work = 0
	}
	c.work += m * len(c.phases) / 8
	s.measure()
	return &s
}

// next makes the schedule with one topology more: of the longest rounds the one whose contraction, as it is or packed
// anew, leaves the fewest slots, of equals the first. It returns false if all flows are one hop long already.
func (c *chain) next() bool {
	from, least := c.cur, slices.Clone(c.least)
	var best *chain
	for tie := range ties {
		if tie > 0 && c.work > tieWork {
			break
		}
		c.stop.Check()
		s := from.contract(tie)
		if s == nil {
			break
		}
		s.combine(c.stop)
		s.measure()
		try := &chain{cur: s, phases: slices.Clip(c.phases), least: slices.Clone(least), stop: c.stop}
		if c.work <= packWork {
			try.addPhase()
			if again := try.pack(); again.slots() < s.slots() {
				again.origin += ", packed anew"
				try.cur = again
			}
		}
		c.work += try.work
		if best == nil || try.cur.slots() < best.cur.slots() {
			best = try
		}
	}
	if best == nil {
		return false
	}
	best.work = c.work
	*c = *best
	return true
}
