package collective

import (
	"context"
	"math/rand/v2"
	"slices"

	"sim/policies/graph"
)

// multiRing sends equal parts of each block both ways round as many edge-disjoint rings over all ranks as are found:
// three on a torus of three dimensions, which then use all its links. If not all links are in such rings, two rings may
// share a link: a 2x2x2 torus has no three disjoint rings, but six that take each link twice.
func multiRing(b *builder, j *job) error {
	m := b.mesh(j)
	rings, most := m.rings(b.ctx, 1)
	if len(rings) < most && b.ctx.Err() == nil {
		if shared, _ := m.rings(b.ctx, 2); len(shared) > 2*len(rings) {
			rings = shared
		}
	}
	if len(rings) == 0 && b.ctx.Err() == nil {
		return unserved(j, "ranks that links among them join into a ring")
	}
	if len(j.ranks) > 2 { // a ring of two is its own reverse
		for _, r := range slices.Clone(rings) {
			rings = append(rings, reversed(r))
		}
	}
	return b.rings(j, rings)
}

// factors is edge-disjoint sets of cycles, each of which passes every place of a mesh once (2-factors).
type factors struct {
	n     int
	ends  [][2]int32 // by edge
	color []int32    // by edge: the factor that it is in, -1 for none
	at    [][]int32  // by place: its edges
	count int

	seen   []bool
	random *rand.Rand
}

// rings returns rings through all places over links that lead both ways, and the most that there may be by the number of
// links. Each link is in at most share rings. It divides the edges into sets
// of cycles (Petersen 1891: a regular graph of even degree has such a division), and joins cycles where two edges of one
// set and two of another, or of none, form a square whose edges they can exchange. Two places have a ring for each link
// that leads both ways, and one if no link joins them.
func (m *mesh) rings(ctx context.Context, share int) (best [][]int32, most int) {
	n := len(m.way[down])
	if n == 2 {
		most = max(1, share*min(len(m.way[down][0]), len(m.way[up][0])))
		return slices.Repeat([][]int32{{0, 1}}, most), most
	}
	z := &factors{n: n, at: make([][]int32, n), seen: make([]bool, n), random: rand.New(rand.NewPCG(uint64(n), ringStream))}
	back := map[[2]int32]int{} // links from the second to the first
	for u, arcs := range m.way[up] {
		for _, w := range arcs {
			back[[2]int32{int32(u), w.to}]++
		}
	}
	for u, arcs := range m.way[down] {
		for _, w := range arcs {
			if k := [2]int32{int32(u), w.to}; int(w.to) > u && back[k] > 0 {
				back[k]--
				for range share {
					id := int32(len(z.ends))
					z.ends = append(z.ends, k)
					z.at[u], z.at[w.to] = append(z.at[u], id), append(z.at[w.to], id)
				}
			}
		}
	}
	most = len(z.at[0]) / 2
	for _, edges := range z.at {
		most = min(most, len(edges)/2)
	}
	if most == 0 { // a place has no two links for a ring
		return nil, 0
	}
	for range ringDivisions {
		z.divide()
		z.join(ctx)
		var rings [][]int32
		for c := range int32(z.count) {
			if ring := z.cycle(c, 0); len(ring) == n {
				rings = append(rings, ring)
			}
			clear(z.seen)
		}
		if len(rings) > len(best) {
			best = rings
		}
		if len(best) == most || ctx.Err() != nil {
			break
		}
		for _, edges := range z.at {
			z.random.Shuffle(len(edges), func(i, k int) { edges[i], edges[k] = edges[k], edges[i] })
		}
	}
	return best, most
}

const (
	ringStream    = 0x72696e6773000000 // "rings": names the random numbers of the search, beside the number of places
	ringDivisions = 8                  // that are tried
	ringTrials    = 2000               // exchanges that are tried, for each place
	ringWorse     = 0.02               // share of those that make more cycles of fewer and are kept
)

// divide directs the edges so that about as many leave each place as enter it, along closed trails, and takes perfect
// matchings of the places that edges leave with those that they enter, each a set of cycles, while there are any.
func (z *factors) divide() {
	z.color, z.count = slices.Repeat([]int32{-1}, len(z.ends)), 0
	to := make([]int32, len(z.ends))
	for e := range to {
		to[e] = -1
	}
	next := make([]int, z.n)
	trail := func(u int32) {
		for next[u] < len(z.at[u]) {
			e := z.at[u][next[u]]
			next[u]++
			if to[e] < 0 {
				to[e] = z.other(e, u)
				u = to[e]
			}
		}
	}
	for u := range int32(z.n) { // trails from places of odd degree end at such places
		if len(z.at[u])%2 == 1 {
			trail(u)
		}
	}
	for u := range int32(z.n) {
		for next[u] < len(z.at[u]) {
			trail(u)
		}
	}
	for {
		match := graph.NewMatching(z.n)
		by := map[[2]int32]int32{}
		for e, v := range to {
			if z.color[e] < 0 {
				u := z.other(int32(e), v)
				match.AddCell(int(u), int(v))
				by[[2]int32{u, v}] = int32(e)
			}
		}
		if !match.Grow(nil) {
			return
		}
		for u, v := range match.To {
			z.color[by[[2]int32{int32(u), v}]] = int32(z.count)
		}
		z.count++
	}
}

func (z *factors) other(e, u int32) int32 { return z.ends[e][0] + z.ends[e][1] - u }

// cycle returns the cycle of a factor through a place, and marks its places as seen.
func (z *factors) cycle(c, from int32) []int32 {
	ring, last := []int32{from}, int32(-1)
	for u := from; ; {
		z.seen[u] = true
		e := z.edge(c, u, last)
		u, last = z.other(e, u), e
		if u == from {
			return ring
		}
		ring = append(ring, u)
	}
}

// edge returns the first edge of a factor at a place, other than one.
func (z *factors) edge(c, u, not int32) int32 {
	for _, e := range z.at[u] {
		if z.color[e] == c && e != not {
			return e
		}
	}
	return -1
}

// cycles returns the number of cycles of a factor, 0 of edges that are in none.
func (z *factors) cycles(c int32) int {
	if c < 0 {
		return 0
	}
	count := 0
	for u := range int32(z.n) {
		if !z.seen[u] {
			z.cycle(c, u)
			count++
		}
	}
	clear(z.seen)
	return count
}

// join exchanges edges until every factor is one cycle, or long enough.
func (z *factors) join(ctx context.Context) {
	have := make([]int, z.count)
	sum := 0
	for c := range have {
		have[c] = z.cycles(int32(c))
		sum += have[c]
	}
	for range ringTrials * z.n {
		if sum == z.count || ctx.Err() != nil {
			return
		}
		square, ok := z.square()
		if !ok {
			continue
		}
		c, d := z.color[square[0]], z.color[square[1]]
		z.exchange(square)
		of, other := z.cycles(c), z.cycles(d)
		more := of - have[c] + other
		if d >= 0 {
			more -= have[d]
		}
		if more > 0 && z.random.Float64() > ringWorse {
			z.exchange(square)
			continue
		}
		if have[c] = of; d >= 0 {
			have[d] = other
		}
		sum += more
	}
}

// square draws four edges round a square, of which the first and third are in one factor, and the others both in another
// or in none.
func (z *factors) square() (s [4]int32, ok bool) {
	e := int32(z.random.IntN(len(z.ends)))
	c := z.color[e]
	if c < 0 {
		return s, false
	}
	u := z.ends[e][z.random.IntN(2)]
	v := z.other(e, u)
	f := z.at[v][z.random.IntN(len(z.at[v]))]
	d, w := z.color[f], z.other(f, v)
	if d == c || w == u {
		return s, false
	}
	g := z.edge(c, w, -1)
	if z.random.IntN(2) == 1 {
		g = z.edge(c, w, g)
	}
	x := z.other(g, w)
	if x == u || x == v {
		return s, false
	}
	for _, h := range z.at[x] {
		if z.color[h] == d && z.other(h, x) == u {
			return [4]int32{e, f, g, h}, true
		}
	}
	return s, false
}

// exchange swaps the factors of the edges of a square.
func (z *factors) exchange(s [4]int32) {
	c, d := z.color[s[0]], z.color[s[1]]
	z.color[s[0]], z.color[s[2]], z.color[s[1]], z.color[s[3]] = d, d, c, c
}
