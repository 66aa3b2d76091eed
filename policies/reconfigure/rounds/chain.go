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

// contractionChain builds the schedules of a base for 1, 2, .. topologies (Sec. 4.3 of "To
// Reconfigure or Not to Reconfigure"). Each further topology comes from the contraction of a longest
// round (contractLongestRound). With the new topology, all paths are also packed into rounds again,
// and the better schedule is kept.
type contractionChain struct {
	current *roundSchedule // schedule with the current number of topologies
	packers []*roundPacker // one per topology
	minHops []int32        // minimum hops over all topologies, indexed by class of flows
	work    int            // work of all searches so far, in the unit of maxTieWork
	stop    cancellation.Condition
}

// newContractionChain returns the chain that starts with the topology of base. Its first schedule
// packs all paths through this topology, or is base itself if base has rounds and takes no more
// slots.
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

// newRoundSchedule returns a schedule without rounds and paths for all flows of n GPUs. The topology
// is given by offsets, or by edges if offsets is nil. With offsets, only the flows from node 0 are
// listed, as representatives of their classes.
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
	latest := len(c.packers)
	var offsets []int32
	var edges scaleup.Topology
	if s.isCirculant() {
		offsets = s.offsets[latest]
	} else {
		edges = s.edges[latest]
	}
	p := newRoundPacker(s.n, offsets, edges, c.stop)
	c.packers = append(c.packers, p)

	for u := range c.minHops {
		if h := p.hopsTo(s.dst[u])[s.src[u]]; h >= 0 {
			c.minHops[u] = min(c.minHops[u], h)
		}
	}
}

// packAll returns a schedule that selects new paths and rounds for all flows (first fit; Sec. 4.2 of
// the paper). Flows with fewer hops come first. A flow gets one of its shortest paths over all
// topologies: in the first topology with an open round in which such a path is free, and there in
// the earliest such round. If there is no such topology, it opens a round of the first topology in
// which it has a shortest path.
func (c *contractionChain) packAll() *roundSchedule {
	// Start without rounds, and sort the classes of flows by hops.
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

		// Find the first topology with a free path in an open round; findRound stores the path.
		round, phase, firstPhase := -1, -1, -1 // round is an index in the packer of phase
		for i, p := range c.packers {
			if int(p.hopsTo(s.dst[u])[s.src[u]]) != h {
				continue
			}
			if firstPhase < 0 {
				firstPhase = i
			}
			if round = p.findRound(s.src[u], s.dst[u], h, path); round >= 0 {
				phase = i
				break
			}
		}
		if round < 0 {
			phase = firstPhase
			c.packers[phase].openRound(int32(len(s.rounds)))
			s.rounds = append(s.rounds, roundInfo{phase: int32(phase)})
			round = c.packers[phase].findRound(s.src[u], s.dst[u], h, path)
		}

		// Take the path in this round.
		packer := c.packers[phase]
		packer.reserve(round, path)
		s.hops[u], s.round[u] = int32(h), packer.roundNumber[round]
	}

	for _, p := range c.packers {
		c.work += p.work
		p.work = 0
	}
	// The loop over topologies takes time, too, even without a search.
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
			break // no further longest round
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
