package pack

import (
	"slices"

	"sim/fabric/scaleup"
)

// This file finds cheapest paths through a sequence of topologies. The sequence is expanded in time
// (Ford and Fulkerson, "Constructing Maximal Dynamic Flows from Static Flows", 1958): each edge of
// each topology is a link of its own.

// timeNetwork is a sequence of topologies, one per phase, expanded in time. Link base[i]+e is edge
// e of topology i. After a link, a chunk may cross another link of the same phase that starts at the
// GPU reached. If chunks may rest across reconfigurations, it may also cross such a link of a later
// phase.
type timeNetwork struct {
	n, phases int                // numbers of GPUs and phases
	topology  []scaleup.Topology // indexed by phase
	base      []int32            // first link of each phase, followed by the number of links
	to, phase []int32            // end and phase, indexed by link
	// out[start[i*n+u]:start[i*n+u+1]] are the links out of GPU u in phase i, except loops.
	start []int32
	out   []outgoingLink
}

// outgoingLink is a link of a known GPU.
type outgoingLink struct {
	to   int32 // GPU at the end
	link int32 // index in timeNetwork
}

// newTimeNetwork expands the topologies in time.
func newTimeNetwork(topologies []scaleup.Topology, n int) *timeNetwork {
	d := len(topologies)
	net := &timeNetwork{n: n, phases: d, topology: topologies, base: make([]int32, d+1),
		start: make([]int32, 1, d*n+1)}
	for i, t := range topologies {
		base := net.base[i]
		net.base[i+1] = base + int32(len(t))
		for _, e := range t {
			net.to = append(net.to, e.To)
			net.phase = append(net.phase, int32(i))
		}
		start, edge := t.Outgoing(n)
		first := int32(len(net.out))
		for _, e := range edge {
			net.out = append(net.out, outgoingLink{to: t[e].To, link: base + e})
		}
		for _, s := range start[1:] {
			net.start = append(net.start, first+s)
		}
	}

	return net
}

// pathTree finds the cheapest paths from one GPU to all others. The cost of a path is the sum of the
// prices of its links. The memory of a pathTree is reused.
type pathTree struct {
	// The cheapest path to each GPU, indexed by GPU.
	cost     []float64 // infinite if there is no path
	lastStep []int32   // index of its last step; -1 if it has no links

	// A step s of a path crosses link stepLink[s] after step stepBefore[s], which is -1 for the
	// first step. Steps that a cheaper path has replaced remain in the list.
	stepLink, stepBefore []int32

	// Scratch for the current phase.
	best     []float64    // cost of the cheapest path so far, indexed by GPU
	last     []int32      // its last step
	queue    []int32      // GPUs whose links are still to be relaxed, in order
	isQueued []bool       // indexed by GPU
	priced   []pricedLink // the links of timeNetwork.out with their prices
}

// pricedLink is an outgoing link with its price.
type pricedLink struct {
	price    float64
	to, link int32
}

// infinite is the cost if there is no path. It is finite, so that sums with it remain
// comparable.
const infinite = 1e300

// setPrices sets the price of each link. Prices must be positive.
func (t *pathTree) setPrices(net *timeNetwork, price []float64) {
	t.priced = resize(t.priced, len(net.out))
	for i, o := range net.out {
		t.priced[i] = pricedLink{price: price[o.link], to: o.to, link: o.link}
	}
}

// grow finds the cheapest paths from src at the current prices. Without relay, a path stays within
// one phase: the phase in which it is cheapest, the first one if several are equal. With relay, a
// path may use all phases in their order: each phase extends the cheapest paths of the phases
// before it.
func (t *pathTree) grow(net *timeNetwork, src int32, relay bool) {
	n := net.n
	t.cost, t.lastStep = resize(t.cost, n), resize(t.lastStep, n)
	t.best, t.last, t.isQueued = resize(t.best, n), resize(t.last, n), resizeZero(t.isQueued, n)
	t.stepLink = t.stepLink[:0]
	t.stepBefore = t.stepBefore[:0]
	for v := range n {
		t.cost[v], t.lastStep[v] = infinite, -1
	}
	t.cost[src] = 0
	if relay {
		copy(t.best, t.cost)
		copy(t.last, t.lastStep)
	}

	for i := range net.phases {
		t.queue = t.queue[:0]
		if relay {
			// Paths may enter the phase at every GPU. The order of the queue decides which of
			// several cheapest paths is found first.
			for u := range int32(n) {
				t.queue = append(t.queue, u)
				t.isQueued[u] = true
			}
		} else {
			// Paths start at src in each phase.
			for v := range n {
				t.best[v], t.last[v] = infinite, -1
			}
			t.best[src] = 0
			t.queue = append(t.queue, src)
			t.isQueued[src] = true
		}

		t.relax(net.start[i*n : (i+1)*n+1])
		if !relay {
			for v := range n {
				if t.best[v] < t.cost[v] {
					t.cost[v], t.lastStep[v] = t.best[v], t.last[v]
				}
			}
		}
	}

	if relay { // the paths after the last phase are the result
		t.best, t.cost = t.cost, t.best
		t.last, t.lastStep = t.lastStep, t.last
	}
}

// relax relaxes the links of a phase that start at the GPUs in the queue: it replaces the path to the
// end of a link if the path over this link is cheaper. It repeats this for each GPU whose cost
// decreases (Bellman and Ford's algorithm with a queue). start is the part of timeNetwork.start for
// the phase. Local slices of equal length save bounds checks.
func (t *pathTree) relax(start []int32) {
	best := t.best[:len(start)-1]
	last := t.last[:len(start)-1]
	waiting := t.isQueued[:len(start)-1]
	queue := t.queue
	link := t.stepLink
	before := t.stepBefore
	for j := 0; j < len(queue); j++ {
		u := queue[j]
		waiting[u] = false
		cost, from := best[u], last[u]
		for _, o := range t.priced[start[u]:start[u+1]] {
			v := o.to
			if c := cost + o.price; c < best[v] {
				best[v], last[v] = c, int32(len(link))
				link = append(link, o.link)
				before = append(before, from)
				if !waiting[v] {
					waiting[v] = true
					queue = append(queue, v)
				}
			}
		}
	}

	t.queue = queue
	t.stepLink = link
	t.stepBefore = before
}

// appendPath appends the links of the cheapest path to GPU v.
func (t *pathTree) appendPath(links []int32, v int) []int32 {
	start := len(links)
	for s := t.lastStep[v]; s >= 0; s = t.stepBefore[s] {
		links = append(links, t.stepLink[s])
	}
	slices.Reverse(links[start:])
	return links
}
