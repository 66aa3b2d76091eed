package collective

import (
	"context"
	"math/rand/v2"
	"slices"

	"sim/policies/graph"
)

// expandMultiRing sends equal parts of each block in both directions around as many edge-disjoint
// rings over all ranks as it finds. On a three-dimensional torus these are three, which use all
// links. If some links are in no ring, two rings may share a link: a 2x2x2 torus has no three
// disjoint rings, but six that use each link twice.
func expandMultiRing(b *builder, j *subCall) error {
	// Search for disjoint rings, and if some are missing, for rings that share links in pairs.
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

// cycleCover is a set of edge-disjoint 2-factors of a mesh. A 2-factor is a set of cycles that
// together pass every member once.
type cycleCover struct {
	n        int        // number of members
	ends     [][2]int32 // the two members of an edge, indexed by edge
	factor   []int32    // the 2-factor of an edge, indexed by edge; -1 outside all
	incident [][]int32  // edges of a member, indexed by member
	count    int        // number of 2-factors

	visited []bool // scratch of traceCycle: members of the cycles so far
	rng     *rand.Rand
}

// findRings searches for rings that pass all members over links in both directions, with each
// link in at most ringsPerLink rings. It returns the rings, and an upper bound on their number
// from the links per member.
//
// The edges are divided into 2-factors (Petersen 1891: a regular graph of even degree has such a
// division). Then cycles are joined: two opposite edges of a square in one factor are exchanged
// with the other two, in another factor or in none. Two members have a ring for each link in both
// directions, and one if no link joins them.
func (m *mesh) findRings(ctx context.Context, ringsPerLink int) (best [][]int32, limit int) {
	// Two members have a ring per pair of links.
	n := len(m.arcs[down])
	if n == 2 {
		limit = max(1, ringsPerLink*min(len(m.arcs[down][0]), len(m.arcs[up][0])))
		return slices.Repeat([][]int32{{0, 1}}, limit), limit
	}
	z := &cycleCover{
		n:        n,
		incident: make([][]int32, n),
		visited:  make([]bool, n),
		rng:      rand.New(rand.NewPCG(uint64(n), ringSeedStream)),
	}

	// An edge is a pair of links in both directions, ringsPerLink times.
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
					z.incident[u], z.incident[w.to] = append(z.incident[u],
						id), append(z.incident[w.to], id)
				}
			}
		}
	}

	// A ring uses two edges at each member.
	limit = len(z.incident[0]) / 2
	for _, edges := range z.incident {
		limit = min(limit, len(edges)/2)
	}
	if limit == 0 { // some member has fewer than two links
		return nil, 0
	}

	// Decompose the edges and join cycles, several times with another order of edges.
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
			z.rng.Shuffle(len(edges), func(i, k int) { edges[i], edges[k] = edges[k], edges[i] })
		}
	}

	return best, limit
}

// Parameters of findRings. The limits end the search on meshes where the rings do not exist, or are
// hard to find.
const (
	// ringSeedStream is "rings" in ASCII: the random stream of the search. The number of members is
	// its seed.
	ringSeedStream    = 0x72696e6773000000
	maxDecompositions = 8    // attempts with shuffled edges
	maxSwapsPerMember = 2000 // squares drawn per member in an attempt
	// worseSwapShare is the share of swaps that increase the number of cycles but are kept.
	// They lead out of local optima.
	worseSwapShare = 0.02
)

// decompose divides the edges into 2-factors. It directs the edges along closed trails, so that
// about the same number leave and enter each member. A perfect matching of members with their
// successors is then a 2-factor. Matchings are removed while they exist.
func (z *cycleCover) decompose() {
	// to is the end of each directed edge, or -1.
	z.factor = slices.Repeat([]int32{-1}, len(z.ends))
	z.count = 0
	to := make([]int32, len(z.ends))
	for e := range to {
		to[e] = -1
	}

	// Direct the edges along trails. Each member continues with its next edge.
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

	// A trail from a member of odd degree ends at another one. The other trails are closed.
	for u := range int32(z.n) {
		if len(z.incident[u])%2 == 1 {
			trail(u)
		}
	}
	for u := range int32(z.n) {
		for next[u] < len(z.incident[u]) {
			trail(u)
		}
	}

	// Remove 2-factors until no perfect matching of members with successors is left. nil means no
	// check of the context.
	for {
		match := graph.NewMatching(z.n)
		edgeOf := map[[2]int32]int32{}
		for e, v := range to {
			if z.factor[e] < 0 {
				u := z.otherEnd(int32(e), v)
				match.AddCell(int(u), int(v))
				edgeOf[[2]int32{u, v}] = int32(e)
			}
		}

		if !match.Grow(nil) {
			return
		}
		for u, v := range match.To {
			z.factor[edgeOf[[2]int32{int32(u), v}]] = int32(z.count)
		}
		z.count++
	}
}

// otherEnd returns the end of edge e that is not u.
func (z *cycleCover) otherEnd(e, u int32) int32 {
	return z.ends[e][0] + z.ends[e][1] - u
}

// traceCycle returns the cycle of factor c through a member, and marks its members as visited.
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

// edgeAt returns the first edge of factor c at member u, except an excluded one, or -1.
func (z *cycleCover) edgeAt(c, u, excluded int32) int32 {
	for _, e := range z.incident[u] {
		if z.factor[e] == c && e != excluded {
			return e
		}
	}
	return -1
}

// countCycles returns the number of cycles of a factor, or 0 for edges outside all factors.
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

// mergeCycles swaps the edges of random squares until every factor is a single cycle, or the
// trials are used up.
func (z *cycleCover) mergeCycles(ctx context.Context) {
	// have is the number of cycles of each factor, sum of all.
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

		// Swap the edges of a square. Usually swap back if this increases the number of cycles.
		square, ok := z.drawSquare()
		if !ok {
			continue
		}
		c := z.factor[square[0]]
		d := z.factor[square[1]] // -1 if these edges are in no factor
		z.swap(square)
		cycles := z.countCycles(c)
		other := z.countCycles(d)
		increase := cycles - have[c] + other
		if d >= 0 {
			increase -= have[d]
		}
		if increase > 0 && z.rng.Float64() > worseSwapShare {
			z.swap(square)
			continue
		}
		if have[c] = cycles; d >= 0 {
			have[d] = other
		}
		sum += increase
	}
}

// drawSquare draws four edges of a square. The first and third are in one factor, the others both
// in another or both in none.
func (z *cycleCover) drawSquare() (s [4]int32, ok bool) {
	// The square is u, v, w, x. Draw its first edge e, in factor c, with ends u and v.
	e := int32(z.rng.IntN(len(z.ends)))
	c := z.factor[e]
	if c < 0 {
		return s, false
	}
	u := z.ends[e][z.rng.IntN(2)]
	v := z.otherEnd(e, u)

	// Draw its second edge f, in another factor d or in none, from v to w.
	f := z.incident[v][z.rng.IntN(len(z.incident[v]))]
	d, w := z.factor[f], z.otherEnd(f, v)
	if d == c || w == u {
		return s, false
	}

	// Draw its third edge g, one of two in factor c, from w to x.
	g := z.edgeAt(c, w, -1)
	if z.rng.IntN(2) == 1 {
		g = z.edgeAt(c, w, g)
	}
	x := z.otherEnd(g, w)
	if x == u || x == v {
		return s, false
	}

	// The fourth edge h closes the square, if it is in d too.
	for _, h := range z.incident[x] {
		if z.factor[h] == d && z.otherEnd(h, x) == u {
			return [4]int32{e, f, g, h}, true
		}
	}
	return s, false
}

// swap exchanges the factors of the edges of a square.
func (z *cycleCover) swap(s [4]int32) {
	c, d := z.factor[s[0]], z.factor[s[1]]
	z.factor[s[0]], z.factor[s[2]], z.factor[s[1]], z.factor[s[3]] = d, d, c, c
}
