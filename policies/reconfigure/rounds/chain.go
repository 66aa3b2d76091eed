package rounds

import (
	"math"
	"slices"

	"sim/fabric/scaleup"
	"sim/internal/csr"
	"sim/internal/numbers"
	"sim/policies/reconfigure/cancellation"
)

// maxTieWork and maxPackWork limit the work of one contraction chain. The unit is one word
// of rounds at one GPU in the search for free paths, about 20 ns. 64 GPUs of degree 2 stay
// below both limits. Beyond maxTieWork, only one of several longest rounds is tried. Beyond
// maxPackWork, paths are not packed again. Contraction alone saves less, but it never costs
// slots.
const (
	maxTieWork  = 8 << 20
	maxPackWork = 100 << 20
	// maxTies limits how many of several longest rounds are tried.
	maxTies = 8
)

// contractionChain builds the schedules of a base for 1, 2, .. topologies, by contraction
// and by packing paths again (Sec. 4.3).
type contractionChain struct {
	current *roundSchedule // schedule with the current number of topologies
	packers []*roundPacker // one per topology
	// minHops has the minimum hops in any topology, indexed by class of flows.
	minHops []int32
	work    int // of all searches so far, see maxTieWork
	stop    cancellation.Condition
}

// newContractionChain returns the chain that starts with the only phase of base. Its first
// schedule is the better of base, if it has rounds, and of its own packing.
func newContractionChain(base *roundSchedule, stop cancellation.Condition) *contractionChain {
	c := &contractionChain{current: base, stop: stop,
		minHops: slices.Repeat([]int32{math.MaxInt32}, len(base.src))}
	c.addPacker()
	if s := c.packAll(); len(base.rounds) == 0 || s.slots() < base.slots() {
		s.origin = base.origin
		if len(base.rounds) > 0 {
			s.origin += ", packed by length"
		}
		c.current = s
	}

	return c
}

// newRoundSchedule returns a schedule without rounds for all flows of n GPUs. The topology
// is given by offsets, or by edges if offsets is nil.
func newRoundSchedule(n, k int, offsets []int32, edges scaleup.Topology) *roundSchedule {
	s := &roundSchedule{n: n, k: k}
	if offsets != nil {
		s.offsets = [][]int32{offsets}
	} else {
		s.edges = []scaleup.Topology{edges}
	}
	for u := range int32(n) {
		for v := range int32(n) {
			if u != v && (offsets == nil || u == 0) {
				s.src = append(s.src, u)
				s.dst = append(s.dst, v)
			}
		}
	}

	s.round = make([]int32, len(s.src))
	s.hops = make([]int32, len(s.src))
	return s
}

// addPacker adds the packer of the latest topology and updates minHops.
func (c *contractionChain) addPacker() {
	s := c.current
	var p *roundPacker
	if s.isCirculant() {
		p = newRoundPacker(s.n, s.offsets[len(c.packers)], nil, c.stop)
	} else {
		p = newRoundPacker(s.n, nil, s.edges[len(c.packers)], c.stop)
	}
	c.packers = append(c.packers, p)

	for u := range c.minHops {
		if h := p.hopsTo(s.dst[u])[s.src[u]]; h >= 0 {
			c.minHops[u] = min(c.minHops[u], h)
		}
	}
}

// packAll sorts all paths by hops and assigns each to the earliest round in which one of
// its shortest paths is free, over all topologies with this number of hops. It opens a
// round if no round is free (Sec. 4.2).
func (c *contractionChain) packAll() *roundSchedule {
	s := *c.current
	m := len(s.src)
	s.stride = int(max(1, slices.Max(c.minHops)))
	_, order := csr.Sort(numbers.Below(int32(m)), s.stride+1, func(u int32) int32 {
		return c.minHops[u]
	})
	s.round = make([]int32, m)
	s.hops = make([]int32, m)
	s.paths = make([]int32, m*s.stride)
	s.rounds = nil
	for _, p := range c.packers {
		p.reset()
	}

	for _, u := range order {
		c.stop.Check()
		h := int(c.minHops[u])
		path := s.paths[int(u)*s.stride : int(u)*s.stride+h]
		packer, round := (*roundPacker)(nil), -1
		phase := int32(0)
		for i, p := range c.packers {
			if int(p.hopsTo(s.dst[u])[s.src[u]]) != h {
				continue
			}
			if packer == nil {
				packer, phase = p, int32(i)
			}
			if round = p.findRound(s.src[u], s.dst[u], h, path); round >= 0 {
				packer = p
				break
			}
		}

		if round < 0 {
			packer.openRound(int32(len(s.rounds)))
			s.rounds = append(s.rounds, roundInfo{phase: phase})
			round = packer.findRound(s.src[u], s.dst[u], h, path)
		}
		packer.reserve(round, path)
		s.hops[u], s.round[u] = int32(h), packer.roundNumber[round]
	}

	for _, p := range c.packers {
		c.work += p.work
		p.work = 0
	}
	c.work += m * len(c.packers) / 8
	s.normaliseRounds()
	return &s
}

// addTopology extends the schedule by one topology. It contracts each of the longest
// rounds, optionally packs all paths again, and keeps the schedule with the lowest number
// of slots, the first of equals. It returns false if all flows take one hop already.
func (c *contractionChain) addTopology() bool {
	current := c.current
	minHops := slices.Clone(c.minHops)
	var best *contractionChain
	for tie := range maxTies {
		if tie > 0 && c.work > maxTieWork {
			break
		}
		c.stop.Check()
		s := current.contractLongestRound(tie)
		if s == nil {
			break
		}
		s.mergeRounds(c.stop)
		s.normaliseRounds()
		trial := &contractionChain{current: s, packers: slices.Clip(c.packers),
			minHops: slices.Clone(minHops), stop: c.stop}

		if c.work <= maxPackWork {
			trial.addPacker()
			if repacked := trial.packAll(); repacked.slots() < s.slots() {
				repacked.origin += ", packed anew"
				trial.current = repacked
			}
		}

		c.work += trial.work
		if best == nil || trial.current.slots() < best.current.slots() {
			best = trial
		}
	}

	if best == nil {
		return false
	}
	best.work = c.work
	*c = *best
	return true
}
