package packet

// This file chooses the links of packets under a transport. With paths of messages, the route of
// a packet is the index of its step. With next hops (engine.Paths.Spread), the route is an entropy:
// a node hashes it, with the node and the destination, to one of the links of shortest paths.

import (
	"slices"

	"sim/engine"
	"sim/internal/random"
)

// routeTable looks up the links of shortest paths. A node often has the same links to many
// destinations, so that its row has numbers of sets of links. The rows of all switches of a fat tree
// with 1,024 hosts then take less than a megabyte.
type routeTable struct {
	paths     *pathTable
	nodes     []nodeRoutes
	hasChoice bool // some message may take several paths
	scratch   []int32
}

// nodeRoutes has the links of shortest paths from a node.
type nodeRoutes struct {
	set  []uint16  // indexed by destination; nil until used
	sets [][]int32 // links of each set
}

// init prepares the table of a run.
func (r *routeTable) init(z *sim) {
	r.paths = &z.paths
	r.hasChoice = z.paths.spread != nil || z.paths.sets[0].First != nil
	r.nodes = make([]nodeRoutes, z.network.Nodes)
}

// of returns the links of shortest paths from a node to dst.
func (r *routeTable) of(node, dst int32) []int32 {
	n := &r.nodes[node]
	if n.set == nil {
		r.fill(node)
	}
	return n.sets[n.set[dst]]
}

// fill computes the sets of a node. The first one is empty.
func (r *routeTable) fill(node int32) {
	n, spread := &r.nodes[node], r.paths.spread
	n.set, n.sets = make([]uint16, len(r.nodes)), [][]int32{nil}
	for dst, hops := range spread.Hops {
		if hops == nil || hops[node] == engine.NoPath || hops[node] == 0 {
			continue
		}
		links := r.scratch[:0]
		for port := int(node) * spread.Degree; port < (int(node)+1)*spread.Degree; port++ {
			to := spread.To[port]
			if spread.Link[port] >= 0 && hops[to] == hops[node]-1 && (spread.Weight == nil || spread.Weight[dst][to] > 0) {
				links = append(links, spread.Link[port])
			}
		}
		r.scratch = links
		// Consecutive destinations often have the same set.
		k := 0
		if dst > 0 && slices.Equal(n.sets[n.set[dst-1]], links) {
			k = int(n.set[dst-1])
		} else if k = slices.IndexFunc(n.sets, func(s []int32) bool { return slices.Equal(s, links) }); k < 0 {
			k = len(n.sets)
			n.sets = append(n.sets, slices.Clone(links))
		}
		n.set[dst] = uint16(k)
	}
}

// nextLink returns the link that a packet takes from a node, which is not its first, or -1.
func (t *transportState) nextLink(node int32, p *transportPacket) int32 {
	ends := t.ends[p.flow]
	dst := ends.Dst
	if p.size&isFeedback != 0 {
		dst = ends.Src
	} else if t.z.paths.usesSteps {
		y := &t.z.paths
		p.route++
		if s := y.steps[p.route]; s != engine.Arrived {
			return y.linkByPort[int(node)*y.degree+s.Port()]
		}
		return -1
	}
	return t.choose(node, dst, p.route, p.size&isFeedback != 0)
}

// choose returns the link from a node to dst for a packet with the given entropy.
func (t *transportState) choose(node, dst, entropy int32, isFeedback bool) int32 {
	links := t.routes.of(node, dst)
	switch {
	case len(links) == 0:
		return -1
	case len(links) == 1:
		return links[0]
	case t.balance == adaptiveBalance && !isFeedback:
		return t.shortestQueue(links)
	}
	h := random.Mix(uint64(uint32(entropy))<<32 | uint64(uint32(node)))
	return links[(h>>32)*uint64(len(links))>>32]
}

// shortestQueue returns the link that is free first, among equal ones a random one.
func (t *transportState) shortestQueue(links []int32) int32 {
	best, ties := links[0], uint32(1)
	for _, l := range links[1:] {
		switch a, b := t.waiting(l), t.waiting(best); {
		case a < b:
			best, ties = l, 1
		case a == b:
			if ties++; t.rng.Uint32N(ties) == 0 {
				best = l
			}
		}
	}
	return best
}

// waiting returns the bytes before a link. A link that is paused or down is the last choice.
func (t *transportState) waiting(link int32) int64 {
	v := &t.links[link]
	bytes := v.queueBytes(t.calendar.now)
	if v.isPaused || v.isDown {
		bytes += 1 << 40
	}
	return bytes
}

// firstLink chooses the route of the next packet of a message and returns its first link, or -1.
func (t *transportState) firstLink(i int32, m *message) int32 {
	y := &t.z.paths
	if y.usesSteps {
		m.route = t.pathOf(i, m)
		s := y.steps[m.route]
		return y.linkByPort[int(t.ends[i].Src)*y.degree+s.Port()]
	}
	m.drawn = t.entropyOf(m)
	m.route = m.drawn
	const isFeedback = false
	return t.choose(t.ends[i].Src, t.ends[i].Dst, m.route, isFeedback)
}

// entropyOf returns the entropy of the next packet of a message.
func (t *transportState) entropyOf(m *message) int32 {
	switch t.balance {
	case sprayBalance:
		return int32(m.entropy + t.rng.Uint32N(uint32(t.options.Entropies)))
	case repsBalance:
		if k := len(m.recycled); k > 0 {
			e := m.recycled[0]
			m.recycled = m.recycled[:copy(m.recycled, m.recycled[1:])]
			return e
		}
		return int32(m.entropy + t.rng.Uint32N(uint32(t.options.Entropies)))
	}
	return int32(m.entropy)
}

// maxRecycled is the number of entropies that a sender keeps for balance reps (Bonato et al.
// 2024).
const maxRecycled = 8

// recycle keeps the entropy of a packet whose acknowledgement was not marked.
func (t *transportState) recycle(m *message, entropy int32) {
	if len(m.recycled) == maxRecycled {
		m.recycled = m.recycled[:copy(m.recycled, m.recycled[1:])]
	}
	m.recycled = append(m.recycled, entropy)
}

// pathOf returns the first step of the path of the next packet of a message. A message keeps one
// path unless packets are sprayed.
func (t *transportState) pathOf(i int32, m *message) int32 {
	y := &t.z.paths
	set := &y.sets[y.current]
	class := set.ClassOf(i)
	first, end := set.Of(class)
	if end-first == 1 {
		return set.firstStep + int32(set.Start[first])
	}
	m.drawn = t.entropyOf(m)
	draw := float64(random.Mix(uint64(uint32(m.drawn)))>>11) / (1 << 53)
	path := first
	if set.cumulativeShares == nil {
		path += int32(draw * float64(end-first))
	} else {
		draw *= set.cumulativeShares[end-1]
		for path < end-1 && draw >= set.cumulativeShares[path] {
			path++
		}
	}
	return set.firstStep + int32(set.Start[path])
}

// measurePath sets the round-trip time, the delay of feedback and the rate of a message by one of
// its paths. All its paths are assumed to have the same length and rates.
func (t *transportState) measurePath(i int32) {
	m := &t.messages[i]
	m.baseRTT, m.returnDelay, m.lineRate, m.latency, m.perByte = 0, 0, 0, 0, 0
	p := transportPacket{flow: i}
	link := t.firstLink(i, m)
	p.route = m.route
	n := t.z.network
	for link >= 0 {
		l := &n.Links[link]
		rate := l.Rate
		if rate == 0 {
			rate = l.Peak
		}
		perByte := 8 * float64(engine.Second) / max(rate, minRate)
		m.latency += l.Latency
		m.perByte += perByte
		m.returnDelay += l.Latency + engine.Time(float64(t.options.AckBytes)*perByte)
		if m.lineRate == 0 || 1/perByte < m.lineRate {
			m.lineRate = 1 / perByte
		}
		if l.To == t.ends[i].Dst {
			break
		}
		link = t.nextLink(l.To, &p)
	}
	m.baseRTT = m.latency + engine.Time(m.perByte*float64(t.packetBytes)) + m.returnDelay
	m.product = m.lineRate * float64(m.baseRTT)
}
