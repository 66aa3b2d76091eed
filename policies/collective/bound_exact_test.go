package collective

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"sim/engine"
)

// drawBoundProblem draws a call on a random network of up to six nodes. Some nodes may not be
// ranks, links have a few rates, and some are down.
func drawBoundProblem(rng *rand.Rand) *Problem {
	nodes := int32(2 + rng.IntN(5))
	n := &engine.Network{Nodes: nodes}
	latency := engine.Time(0)
	if rng.IntN(3) == 0 {
		latency = 20 * engine.Microsecond
	}
	join := func(a, b int32) {
		for range 2 {
			n.Links = append(n.Links, engine.Link{From: a, To: b, Rate: float64(1+rng.IntN(4)) * 1e9, Latency: latency * engine.Time(1+rng.IntN(3))})
			a, b = b, a
		}
	}
	for a := int32(1); a < nodes; a++ {
		join(a, rng.Int32N(a))
	}
	for range rng.IntN(6) {
		if a, b := rng.Int32N(nodes), rng.Int32N(nodes); a != b {
			join(a, b)
			n.Links[len(n.Links)-1].Rate *= float64(rng.IntN(2)) // the reverse link may be down
		}
	}
	p := &Problem{Network: n}
	for _, a := range rng.Perm(int(nodes)) {
		p.Group = append(p.Group, int32(a))
	}
	p.Group = p.Group[:2+rng.IntN(len(p.Group)-1)]
	size := len(p.Group)
	p.Kind, p.Bytes = Kind(rng.IntN(len(kindNames))), int64(size)*int64(1+rng.IntN(30_000))
	if rng.IntN(2) == 0 {
		for range size {
			p.Domain = append(p.Domain, 7+rng.IntN(2))
		}
	}
	if p.Kind == AllToAll && rng.IntN(2) == 0 {
		p.Bytes = 0
		for range size * size {
			p.Sizes = append(p.Sizes, rng.Int64N(4)*1000)
		}
	}
	p.Root = rng.IntN(size)
	p.Peer = (p.Root + 1 + rng.IntN(size-1)) % size
	return p
}

// referenceBound computes Problem.Bound by trying all sets of nodes, and for an all-reduce among
// all nodes all partitions.
func referenceBound(p *Problem) float64 {
	n, nodes := len(p.Group), int(p.Network.Nodes)
	rank := slices.Repeat([]int{-1}, nodes)
	for r, a := range p.Group {
		rank[a] = r
	}
	bytesOf := func(i, k int) float64 {
		switch {
		case i == k:
			return 0
		case p.Sizes != nil:
			return float64(p.Sizes[i*n+k])
		}
		return float64(p.Bytes)
	}
	// needs returns the bytes that must enter a set of nodes.
	bytes, block := float64(p.Bytes), float64(p.Bytes/int64(n))
	needs := func(inside func(node int) bool) float64 {
		in, out := 0, 0
		for _, a := range p.Group {
			if inside(int(a)) {
				in++
			} else {
				out++
			}
		}
		switch has := func(r int) bool { return inside(int(p.Group[r])) }; {
		case in == 0 || out == 0:
			return 0
		case p.Kind == AllReduce: // from rank 0 to another, or back
			return bytes
		case p.Kind == AllGather:
			return block * float64(out)
		case p.Kind == ReduceScatter:
			return block * float64(in)
		case p.Kind == Broadcast && !has(p.Root), p.Kind == Reduce && has(p.Root):
			return bytes
		case p.Kind == SendReceive && has(p.Peer) && !has(p.Root):
			return bytes
		}
		return 0
	}
	best := 0.0
	tighten := func(bits, rate float64) {
		if rate > 0 {
			best = max(best, bits/rate)
		}
	}
	if p.Kind != AllToAll {
		for set := 1; set < 1<<nodes-1; set++ {
			rate := 0.0
			for _, l := range p.Network.Links {
				if set>>l.To&1 == 1 && set>>l.From&1 == 0 {
					rate += l.Rate
				}
			}
			tighten(8*needs(func(a int) bool { return set>>a&1 == 1 }), rate)
		}
	}
	// The domain of each node. A node without a rank is in the domain of its neighbours if they share
	// one, otherwise in the first.
	domain := make([]int, nodes)
	numbers := map[int]int{}
	for r, d := range p.Domain {
		if _, ok := numbers[d]; !ok {
			numbers[d] = len(numbers)
		}
		domain[p.Group[r]] = numbers[d]
	}
	for a := range domain {
		near := map[int]bool{}
		for _, l := range p.Network.Links {
			for _, e := range [2][2]int32{{l.From, l.To}, {l.To, l.From}} {
				if l.Rate > 0 && int(e[0]) == a && rank[a] < 0 && rank[e[1]] >= 0 {
					near[domain[e[1]]] = true
				}
			}
		}
		for d := range near {
			if len(near) == 1 {
				domain[a] = d
			}
		}
	}
	crossing := func(part []int) (rate float64) {
		for _, l := range p.Network.Links {
			if part[l.From] != part[l.To] {
				rate += l.Rate
			}
		}
		return rate
	}
	switch {
	case p.Kind == AllReduce && n == nodes:
		// A sum crosses between the parts of any partition and comes back.
		part := make([]int, nodes)
		var try func(k, parts int)
		try = func(k, parts int) {
			if k == nodes {
				tighten(8*2*bytes*float64(parts-1), crossing(part))
				return
			}
			for q := range parts + 1 {
				part[k] = q
				try(k+1, max(parts, q+1))
			}
		}
		try(0, 0)
	case p.Kind == AllReduce:
		part := make([]int, nodes)
		out, in := 0.0, 0.0
		for a := range part {
			part[a] = max(0, rank[a])
		}
		for _, l := range p.Network.Links {
			if rank[l.From] >= 0 {
				out += l.Rate
			}
			if rank[l.To] >= 0 {
				in += l.Rate
			}
		}
		tighten(8*2*bytes*float64(n-1), crossing(part))
		tighten(8*2*bytes*float64(n-1), min(out, in))
		if len(numbers) > 1 {
			tighten(8*2*bytes*float64(len(numbers)-1), crossing(domain))
		}
	case p.Kind == AllToAll:
		side := func(in func(node int32) bool) {
			rates, sums := [2]float64{}, [2]float64{} // out and in
			for _, l := range p.Network.Links {
				if in(l.From) && !in(l.To) {
					rates[0] += l.Rate
				} else if in(l.To) && !in(l.From) {
					rates[1] += l.Rate
				}
			}
			for i, a := range p.Group {
				for k, b := range p.Group {
					if in(a) && !in(b) {
						sums[0] += bytesOf(i, k)
						sums[1] += bytesOf(k, i)
					}
				}
			}
			tighten(8*sums[0], rates[0])
			tighten(8*sums[1], rates[1])
		}
		for _, a := range p.Group {
			side(func(b int32) bool { return a == b })
		}
		for d := range numbers {
			if len(numbers) > 1 {
				side(func(b int32) bool { return domain[b] == numbers[d] })
			}
		}
	}
	far := func(length func(l engine.Link) float64) [][]float64 { // Floyd and Warshall
		dist := make([][]float64, nodes)
		for a := range dist {
			dist[a] = slices.Repeat([]float64{math.Inf(1)}, nodes)
			dist[a][a] = 0
		}
		for _, l := range p.Network.Links {
			if l.Rate > 0 {
				dist[l.From][l.To] = min(dist[l.From][l.To], length(l))
			}
		}
		for k := range dist {
			for a := range dist {
				for b := range dist {
					dist[a][b] = min(dist[a][b], dist[a][k]+dist[k][b])
				}
			}
		}
		return dist
	}
	hops, late := far(func(engine.Link) float64 { return 1 }), far(func(l engine.Link) float64 { return l.Latency.Seconds() })
	sum, all := 0.0, 0.0
	for _, l := range p.Network.Links {
		all += l.Rate
	}
	for i, a := range p.Group {
		for k, b := range p.Group {
			if p.Kind == AllToAll {
				sum += bytesOf(i, k) * hops[a][b]
			}
			needed := map[Kind]bool{
				AllReduce: true, ReduceScatter: true, AllGather: true, AllToAll: bytesOf(i, k) > 0,
				Broadcast: i == p.Root, Reduce: k == p.Root, SendReceive: i == p.Root && k == p.Peer,
			}[p.Kind]
			if i != k && needed {
				best = max(best, late[a][b])
			}
		}
	}
	tighten(8*sum, all)
	return best
}

// TestBoundIsExact: the bound of a call on a small network equals the highest bound over all sets
// of nodes, all partitions and all pairs of ranks, tried one by one.
func TestBoundIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 111))
	by := map[string]int{}
	for range 3000 {
		p := drawBoundProblem(rng)
		got, err := p.Bound(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if want := referenceBound(p); math.Abs(got.Seconds-want) > 1e-6*want {
			t.Fatalf("%s of %d bytes among %v of %d nodes, domains %v: bound %g (%s), want %g: %+v", p.Kind, p.Bytes, p.Group, p.Network.Nodes, p.Domain, got.Seconds, got.Reason, want, p.Network.Links)
		}
		by[got.Reason]++
	}
	for _, binds := range []string{"the latency of links", "the links of a node", "the links of the ranks", "all links, by hops", "the links between 2 domains", "the links of a domain"} {
		if by[binds] == 0 {
			t.Errorf("%q binds no call: %v", binds, by)
		}
	}
}
