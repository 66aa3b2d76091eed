package collective

import "slices"

// lineDigraph is the line digraph of a base graph, iterated several times.
type lineDigraph struct {
	*graph
	iterations int
}

// lineDigraphs returns up to three iterated line digraphs on n GPUs: from the smallest base with
// more than k GPUs, from the next larger base, and a base with n GPUs itself.
func (f *treeSearch) lineDigraphs() []lineDigraph {
	var all []lineDigraph

	// Each iteration multiplies the number of GPUs by the degree k. Divide as long as the base
	// keeps more than k GPUs.
	size, maxIterations := f.n, 0
	for size%f.k == 0 && size/f.k > f.k {
		size /= f.k
		maxIterations++
	}
	for iterations := maxIterations; iterations >= 0; iterations, size = iterations-1, size*f.k {
		if iterations > 0 && iterations < maxIterations-1 {
			continue
		}
		if g := f.baseGraph(size); g != nil {
			for range iterations {
				g = g.lineGraph()
			}
			all = append(all, lineDigraph{graph: g, iterations: iterations})
		}
	}

	return all
}

// maxBaseTrials limits the affine graphs that baseGraph tries, and maxBaseWords its time, counted in
// 64-bit words of the treeBuilder's shard sets that it reads. It ends at either limit, with the best
// graph so far.
const (
	maxBaseTrials = 300
	maxBaseWords  = 2e7
)

// baseGraph returns a graph of n GPUs with a small diameter, and among these one with evenly
// loaded trees. It tries a circulant and random affine graphs, and improves the best by swaps.
func (f *treeSearch) baseGraph(n int) *graph {
	offsets := searchCirculant(n, f.k, f.stop)
	if offsets == nil {
		offsets = make([]int32, f.k) // each GPU has a link to each other one
		for i := range offsets {
			offsets[i] = int32(i%(n-1)) + 1
		}
	}

	// try keeps a graph if its diameter, then its received shards, then its load are lower. z
	// broadcasts the shards of all GPUs on a graph to compute these values.
	parts := int32(f.k) // per shard, as computeLoad requires
	z := newTreeBuilder(n, f.k, parts)
	z.stop = f.stop
	words := 0
	var best *graph
	depth, maxReceived, load := 0, 0, 0 // values of best; depth is 0 if best is nil
	try := func(g *graph) {
		f.stop.Check()
		d, sum := z.diameter(g)
		words += n * f.k * z.words * (d + 1)
		if d == 0 || depth > 0 && (d > depth || d == depth && sum > maxReceived) {
			return
		}

		t := &broadcastTrees{phases: []treePhase{{graph: g, steps: d}}}
		if l := t.computeLoad(z); depth == 0 || d < depth || l < load {
			best = g
			depth = d
			maxReceived = sum
			load = l
		}
	}

	// Try the circulant first, then affine graphs with random factors, until the budget of work
	// is used up.
	const circulantFactor = 1 // u -> 1*u + offset
	try(affine(n, circulantFactor, offsets))
	for i := 0; i < maxBaseTrials && words < maxBaseWords; i++ {
		isConsecutive := i%2 == 0
		if g := affine(n, f.rng.IntN(n), f.drawOffsets(n, isConsecutive)); g != nil {
			try(g.joinLoops())
		}
	}

	// The diameter of one topology is at least the first element of minSteps.
	if best != nil && n <= maxSwapGPUs && depth > minSteps(n, f.k)[0] {
		if g := f.swapLinks(z, best, depth); g != nil {
			best = g
		}
	}
	return best
}

// maxSwapGPUs limits the GPUs of a graph that is improved by swaps: up to 64, the shard set of a GPU
// is one 64-bit word. maxSwapWords limits the time of swapLinks, counted in words that it reads;
// beyond it the graph stays as it is.
const (
	maxSwapGPUs  = 64
	maxSwapWords = 4e6
)

// swapLinks repeatedly swaps the heads of two random links. It keeps a swap unless it increases
// the number of shards that GPUs still lack one step before the diameter. It returns the graph if
// this number reaches 0, so that the diameter is lower, and otherwise nil.
func (f *treeSearch) swapLinks(z *treeBuilder, g *graph, depth int) *graph {
	g = &graph{n: g.n, k: g.k, to: slices.Clone(g.to)}
	minMissing := g.n * g.n
	for words := 0; words < maxSwapWords; words += g.n * g.k * z.words * depth {
		f.stop.Check()
		a := f.rng.IntN(len(g.to))
		b := f.rng.IntN(len(g.to))
		if int(g.to[a]) == b/g.k || int(g.to[b]) == a/g.k {
			continue // the link would be a loop
		}
		g.to[a], g.to[b] = g.to[b], g.to[a]

		// Count the shards that GPUs lack one step before the diameter.
		z.restart()
		z.setTopology(g)
		for range depth - 1 {
			z.advance()
		}
		if z.missing == 0 {
			return g
		}

		// Undo a swap that makes this worse. Equal values are accepted, so that the search can
		// leave plateaus.
		if z.missing > minMissing {
			g.to[a], g.to[b] = g.to[b], g.to[a]
		}
		minMissing = min(minMissing, z.missing)
	}

	return nil
}
