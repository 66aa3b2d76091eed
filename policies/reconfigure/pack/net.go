package pack

import (
	"slices"

	"sim/fabric/scaleup"
)

// network is a sequence of topologies expanded in time: link base[i]+e is edge e of topology i, and a chunk that
// crosses it may next cross a link out of the same GPU of phase i or, if it may rest across reconfigurations, of a
// later one.
type network struct {
	n, phases int
	topology  []scaleup.Topology
	base      []int32 // one more than phases
	to, phase []int32 // by link
	// start, out: the links out of GPU u in phase i are out[start[i*n+u]:start[i*n+u+1]], without loops.
	start []int32
	out   []outgoing
}

type outgoing struct{ to, link int32 }

func newNetwork(topologies []scaleup.Topology, n int) *network {
	d := len(topologies)
	net := &network{n: n, phases: d, topology: topologies, base: make([]int32, d+1), start: make([]int32, 1, d*n+1)}
	for i, t := range topologies {
		base := net.base[i]
		net.base[i+1] = base + int32(len(t))
		for _, e := range t {
			net.to, net.phase = append(net.to, e.To), append(net.phase, int32(i))
		}
		start, edge := t.Outgoing(n)
		first := int32(len(net.out))
		for _, e := range edge {
			net.out = append(net.out, outgoing{t[e].To, base + e})
		}
		for _, s := range start[1:] {
			net.start = append(net.start, first+s)
		}
	}
	return net
}

// tree finds the cheapest paths from one GPU to all others. Its memory is reused.
type tree struct {
	// cost and end, by GPU: what the cheapest path costs (far where there is none) and its last step.
	cost []float64
	end  []int32
	// A step crosses link[s] after step before[s]; -1 begins.
	link, before []int32

	best    []float64
	last    []int32
	queue   []int32
	waiting []bool
	priced  []priced // net.out
}

type priced struct {
	price    float64
	to, link int32
}

const far = 1e300

// set is given the price of every link (above 0).
func (t *tree) set(net *network, price []float64) {
	t.priced = sized(t.priced, len(net.out))
	for i, o := range net.out {
		t.priced[i] = priced{price[o.link], o.to, o.link}
	}
}

// grow finds the paths from src at the prices set: with relay through all phases in turn, else within the one phase
// where a way is cheapest, of equals the first.
func (t *tree) grow(net *network, src int32, relay bool) {
	n := net.n
	t.cost, t.end = sized(t.cost, n), sized(t.end, n)
	t.best, t.last, t.waiting = sized(t.best, n), sized(t.last, n), zeroed(t.waiting, n)
	t.link, t.before = t.link[:0], t.before[:0]
	for v := range n {
		t.cost[v], t.end[v] = far, -1
	}
	t.cost[src] = 0
	if relay {
		copy(t.best, t.cost)
		copy(t.last, t.end)
	}
	for i := range net.phases {
		t.queue = t.queue[:0]
		if relay { // all once, in order
			for u := range int32(n) {
				t.queue = append(t.queue, u)
				t.waiting[u] = true
			}
		} else {
			for v := range n {
				t.best[v], t.last[v] = far, -1
			}
			t.best[src] = 0
			t.queue = append(t.queue, src)
			t.waiting[src] = true
		}
		t.follow(net.start[i*n : (i+1)*n+1])
		if !relay {
			for v := range n {
				if t.best[v] < t.cost[v] {
					t.cost[v], t.end[v] = t.best[v], t.last[v]
				}
			}
		}
	}
	if relay {
		t.best, t.cost = t.cost, t.best
		t.last, t.end = t.end, t.last
	}
}

// follow follows the links of a phase out of the GPUs in the queue, and out of all that these better.
func (t *tree) follow(start []int32) {
	best, last, waiting := t.best[:len(start)-1], t.last[:len(start)-1], t.waiting[:len(start)-1]
	queue, link, before := t.queue, t.link, t.before
	for j := 0; j < len(queue); j++ {
		u := queue[j]
		waiting[u] = false
		cost, from := best[u], last[u]
		for _, o := range t.priced[start[u]:start[u+1]] {
			v := o.to
			if c := cost + o.price; c < best[v] {
				best[v], last[v] = c, int32(len(link))
				link, before = append(link, o.link), append(before, from)
				if !waiting[v] {
					waiting[v] = true
					queue = append(queue, v)
				}
			}
		}
	}
	t.queue, t.link, t.before = queue, link, before
}

// way appends the links of the way to v.
func (t *tree) way(links []int32, v int) []int32 {
	begin := len(links)
	for s := t.end[v]; s >= 0; s = t.before[s] {
		links = append(links, t.link[s])
	}
	slices.Reverse(links[begin:])
	return links
}
