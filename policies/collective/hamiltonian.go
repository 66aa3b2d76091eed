package collective

import (
	"context"
	"math/rand/v2"
	"slices"

	"sim/policies/graph"
)

// expandMultiRing sends equal parts of each block both ways round as many edge-disjoint rings over all ranks as are found:
// three on a torus of three dimensions, which then use all its links. If not all links are in such rings, two rings may
// share a link: a 2x2x2 torus has no three disjoint rings, but six that take each link twice.
func expandMultiRing(b *builder, j *subCall) error {
	m := b.newMesh(j)
	rings, limit := m.findRings(b.ctx, 1)
	if len(rings) < limit && b.ctx.Err() == nil {
		if shared, _ := m.findRings(b.ctx, 2); len(shared) > 2*len(rings) {
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
	return b.sendRings(j, rings)
}

// cycleCover is edge-disjoint sets of cycles, each of which passes every place of a mesh once (2-factors).
type cycleCover struct {
	n        int
	ends     [][2]int32 // by edge
	factor   []int32    // by edge: the factor that it is in, -1 for none
	incident [][]int32  // by place: its edges
	count    int

	visited []bool
	random  *rand.Rand
}

// findRings returns rings through all places over links that lead both ways, and the most that there may be by the number of
// links. Each link is in at most share rings. It divides the edges into sets
// of cycles (Petersen 1891: a regular graph of even degree has such a division), and joins cycles where two edges of one
// set and two of another, or of none, form a square whose edges they can exchange. Two places have a ring for each link
// that leads both ways, and one if no link joins them.
func (m *mesh) findRings(ctx context.Context, ringsPerLink int) (best [][]int32, limit int) {
	n := len(m.arcs[down])
	if n == 2 {
		limit = max(1, ringsPerLink*min(len(m.arcs[down][0]), len(m.arcs[up][0])))
		return slices.Repeat([][]int32{{0, 1}}, limit), limit
	}
	z := &cycleCover{n: n, incident: make([][]int32, n), visited: make([]bool, n), random: rand.New(rand.NewPCG(uint64(n), ringSeedStream))}
	back := map[[2]int32]int{} // links from the second to the first
	for u, arcs := range m.arcs[up] {
		for _, w := range arcs {
			back[[2]int32{int32(u), w.to}]++
		}
	}
	for u, arcs := range m.arcs[down] {
		for _, w := range arcs {
			if k := [2]int32{int32(u), w.to}; int(w.to) > u && back[k] > 0 {
				back[k]--
				for range ringsPerLink {
					id := int32(len(z.ends))
					z.ends = append(z.ends, k)
					z.incident[u], z.incident[w.to] = append(z.incident[u], id), append(z.incident[w.to], id)
				}
			}
		}
	}
	limit = len(z.incident[0]) / 2
	for _, edges := range z.incident {
		limit = min(limit, len(edges)/2)
	}
	if limit == 0 { // a place has no two links for a ring
		return nil, 0
	}
	for range maxDecompositions {
		z.decompose()
		z.mergeCycles(ctx)
		var rings [][]int32
		for c := range int32(z.count) {
			if ring := z.traceCycle(c, 0); len(ring) == n {
				rings = append(rings, ring)
			}
			clear(z.visited)
		}
		if len(rings) > len(best) {
			best = rings
		}
		if len(best) == limit || ctx.Err() != nil {
			break
		}
		for _, edges := range z.incident {
			z.random.Shuffle(len(edges), func(i, k int) { edges[i], edges[k] = edges[k], edges[i] })
		}
	}
	return best, limit
}

const (
	ringSeedStream    = 0x72696e6773000000 // "rings": names the random numbers of the search, beside the number of places
	maxDecompositions = 8                  // that are tried
	maxSwapsPerMember = 2000               // exchanges that are tried, for each place
	worseSwapShare    = 0.02               // share of those that make more cycles of fewer and are kept
)

// decompose directs the edges so that about as many leave each place as enter it, along closed trails, and takes perfect
// matchings of the places that edges leave with those that they enter, each a set of cycles, while there are any.
func (z *cycleCover) decompose() {
	z.factor, z.count = slices.Repeat([]int32{-1}, len(z.ends)), 0
	to := make([]int32, len(z.ends))
	for e := range to {
		to[e] = -1
	}
	next := make([]int, z.n)
	trail := func(u int32) {
		for next[u] < len(z.incident[u]) {
			e := z.incident[u][next[u]]
			next[u]++
			if to[e] < 0 {
				to[e] = z.otherEnd(e, u)
				u = to[e]
			}
		}
	}
	for u := range int32(z.n) { // trails from places of odd degree end at such places
		if len(z.incident[u])%2 == 1 {
			trail(u)
		}
	}
	for u := range int32(z.n) {
		for next[u] < len(z.incident[u]) {
			trail(u)
		}
	}
	for {
		match := graph.NewMatching(z.n)
		by := map[[2]int32]int32{}
		for e, v := range to {
			if z.factor[e] < 0 {
				u := z.otherEnd(int32(e), v)
				match.Admit(int(u), int(v))
				by[[2]int32{u, v}] = int32(e)
			}
		}
		if !match.Grow(nil) {
			return
		}
		for u, v := range match.To {
			z.factor[by[[2]int32{int32(u), v}]] = int32(z.count)
		}
		z.count++
	}
}

func (z *cycleCover) otherEnd(e, u int32) int32 { return z.ends[e][0] + z.ends[e][1] - u }

// traceCycle returns the cycle of a factor through a place, and marks its places as seen.
func (z *cycleCover) traceCycle(c, from int32) []int32 {
	ring, last := []int32{from}, int32(-1)
	for u := from; ; {
		z.visited[u] = true
		e := z.edgeAt(c, u, last)
		u, last = z.otherEnd(e, u), e
		if u == from {
			return ring
		}
		ring = append(ring, u)
	}
}

// edgeAt returns the first edge of a factor at a place, other than one.
func (z *cycleCover) edgeAt(c, u, excluded int32) int32 {
	for _, e := range z.incident[u] {
		if z.factor[e] == c && e != excluded {
			return e
		}
	}
	return -1
}

// countCycles returns the number of cycles of a factor, 0 of edges that are in none.
func (z *cycleCover) countCycles(c int32) int {
	if c < 0 {
		return 0
	}
	count := 0
	for u := range int32(z.n) {
		if !z.visited[u] {
			z.traceCycle(c, u)
			count++
		}
	}
	clear(z.visited)
	return count
}

// mergeCycles exchanges edges until every factor is one cycle, or long enough.
func (z *cycleCover) mergeCycles(ctx context.Context) {
	have := make([]int, z.count)
	sum := 0
	for c := range have {
		have[c] = z.countCycles(int32(c))
		sum += have[c]
	}
	for range maxSwapsPerMember * z.n {
		if sum == z.count || ctx.Err() != nil {
			return
		}
		square, ok := z.drawSquare()
		if !ok {
			continue
		}
		c, d := z.factor[square[0]], z.factor[square[1]]
		z.swap(square)
		cycles, other := z.countCycles(c), z.countCycles(d)
		more := cycles - have[c] + other
		if d >= 0 {
			more -= have[d]
		}
		if more > 0 && z.random.Float64() > worseSwapShare {
			z.swap(square)
			continue
		}
		if have[c] = cycles; d >= 0 {
			have[d] = other
		}
		sum += more
	}
}

// drawSquare draws four edges round a square, of which the first and third are in one factor, and the others both in another
// or in none.
func (z *cycleCover) drawSquare() (s [4]int32, ok bool) {
	e := int32(z.random.IntN(len(z.ends)))
	c := z.factor[e]
	if c < 0 {
		return s, false
	}
	u := z.ends[e][z.random.IntN(2)]
	v := z.otherEnd(e, u)
	f := z.incident[v][z.random.IntN(len(z.incident[v]))]
	d, w := z.factor[f], z.otherEnd(f, v)
	if d == c || w == u {
		return s, false
	}
	g := z.edgeAt(c, w, -1)
	if z.random.IntN(2) == 1 {
		g = z.edgeAt(c, w, g)
	}
	x := z.otherEnd(g, w)
	if x == u || x == v {
		return s, false
	}
	for _, h := range z.incident[x] {
		if z.factor[h] == d && z.otherEnd(h, x) == u {
			return [4]int32{e, f, g, h}, true
		}
	}
	return s, false
}

// swap swaps the factors of the edges of a square.
func (z *cycleCover) swap(s [4]int32) {
	c, d := z.factor[s[0]], z.factor[s[1]]
	z.factor[s[0]], z.factor[s[2]], z.factor[s[1]], z.factor[s[3]] = d, d, c, c
}
