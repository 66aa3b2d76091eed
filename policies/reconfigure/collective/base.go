package collective

import "slices"

// lined is a graph as an iterated line digraph.
type lined struct {
	*graph
	times int
}

// lines returns iterated line digraphs on n GPUs: of the smallest base that has more than k GPUs, of the next one, and
// the one that is its own base.
func (f *forester) lines() []lined {
	var all []lined
	size, most := f.n, 0
	for size%f.k == 0 && size/f.k > f.k {
		size /= f.k
		most++
	}
	for times := most; times >= 0; times, size = times-1, size*f.k {
		if times > 0 && times < most-1 {
			continue
		}
		if g := f.base(size); g != nil {
			for range times {
				g = g.lineGraph()
			}
			all = append(all, lined{g, times})
		}
	}
	return all
}

// baseTrials is the most affine graphs that are tried as a base, baseWords how many words of sets that may touch.
const (
	baseTrials = 300
	baseWords  = 2e7
)

// base returns a graph of a small diameter, and of those one of balanced trees: a circulant, an affine graph, or what
// comes of one by swaps.
func (f *forester) base(n int) *graph {
	offsets := circulant(n, f.k, f.stop)
	if offsets == nil {
		offsets = make([]int32, f.k) // everyone has a link to everyone
		for i := range offsets {
			offsets[i] = int32(i%(n-1)) + 1
		}
	}
	z, words := newGrower(n, f.k, int32(f.k)), 0
	var best *graph
	depth, most, load := 0, 0, 0
	z.stop = f.stop
	try := func(g *graph) {
		f.stop.Check()
		d, sum := f.depth(z, g)
		words += n * f.k * z.words * (d + 1)
		if d == 0 || depth > 0 && (d > depth || d == depth && sum > most) {
			return
		}
		t := &trees{legs: []leg{{g, d}}}
		if l := t.fill(z); depth == 0 || d < depth || l < load {
			best, depth, most, load = g, d, sum, l
		}
	}
	try(affine(n, 1, offsets))
	for i := 0; i < baseTrials && words < baseWords; i++ {
		if g := affine(n, f.rng.IntN(n), f.offsets(n, i%2 == 0)); g != nil {
			try(g.unlooped())
		}
	}
	if best != nil && n <= mostClimbed && depth > minSteps(n, f.k)[0] {
		if g := f.climb(z, best, depth); g != nil {
			best = g
		}
	}
	return best
}

// mostClimbed is the most GPUs of a graph that is improved by swaps, climbWords bounds that, in words of sets touched.
const (
	mostClimbed = 64
	climbWords  = 4e6
)

// climb swaps where two links lead, as long as that leaves no more to reach one step before the last, until it leaves
// nothing; nil if it does not come to that.
func (f *forester) climb(z *grower, g *graph, depth int) *graph {
	g = &graph{g.n, g.k, slices.Clone(g.to)}
	least := g.n * g.n
	for words := 0; words < climbWords; words += g.n * g.k * z.words * depth {
		f.stop.Check()
		a, b := f.rng.IntN(len(g.to)), f.rng.IntN(len(g.to))
		if int(g.to[a]) == b/g.k || int(g.to[b]) == a/g.k {
			continue // it would lead back
		}
		g.to[a], g.to[b] = g.to[b], g.to[a]
		z.restart()
		z.up(g)
		for range depth - 1 {
			z.reach()
		}
		if z.lacks == 0 {
			return g
		}
		if z.lacks > least {
			g.to[a], g.to[b] = g.to[b], g.to[a]
		}
		least = min(least, z.lacks)
	}
	return nil
}
