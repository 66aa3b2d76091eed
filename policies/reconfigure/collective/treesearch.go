package collective

import (
	"fmt"
	"math/rand/v2"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
)

// maxTreeGPUs limits the GPUs for which trees are searched. Each of n GPUs receives n shards, each
// along its own path, so each trial takes n^2 steps, a million at the limit.
const maxTreeGPUs = 1024

// treeSearch searches for graphs on which broadcasts from all GPUs take few steps and load the
// links evenly. A broadcastTrees value has the graphs, one per phase; treeBuilder (trees.go)
// computes the broadcasts on them.
type treeSearch struct {
	n, k    int // GPUs, and links out of and into each
	stop    cancellation.Condition
	builder *treeBuilder
	rng     *rand.Rand
	found   []*broadcastTrees // on any number of topologies
	visited []bool            // scratch of countReached
	queue   []int32           // scratch of countReached
}

// findTrees returns broadcast trees for n GPUs with k links: on one topology, and on several if
// this takes fewer steps. Per number of topologies and steps it keeps the trees with the lowest
// load.
func findTrees(n, k int, stop cancellation.Condition) []*broadcastTrees {
	if n > maxTreeGPUs || k < 2 || k > maxTreeDegree || k >= n-1 {
		return nil
	}
	f := &treeSearch{
		n:       n,
		k:       k,
		stop:    stop,
		builder: newTreeBuilder(n, k, int32(k)), // k parts per shard
		visited: make([]bool, n),
		rng:     rand.New(rand.NewPCG(uint64(n), uint64(k))),
	}
	f.builder.stop = stop

	// Trees on one topology: a generalised Kautz graph, and iterated line digraphs of small graphs. A
	// line digraph without iterations is the base itself, an affine graph.
	f.addStatic("kautz", graphOf(n, k, scaleup.GeneralizedKautz(n, k)).joinLoops())
	for _, lines := range f.lineDigraphs() {
		name := fmt.Sprintf("line digraph %d of %d", lines.iterations, n/power(k, lines.iterations))
		if lines.iterations == 0 {
			name = "affine"
		}
		f.addStatic(name, lines.graph)
	}

	// Trees on sequences of d topologies, if they take fewer steps than the trees found so far.
	// stepBounds[d-1] is a lower bound on the steps with d topologies.
	stepBounds := minSteps(n, k)
	steps := n // minimum number of steps so far
	for _, t := range f.found {
		steps = min(steps, t.steps())
	}

	// The last bound is for one topology per step: d equals the bound. The loop stops before it,
	// because windows on circulants (windowStage) are as good there.
	for d := 2; d < len(stepBounds) && stepBounds[d-1] < steps; d++ {
		for s := stepBounds[d-1]; s < steps; s++ {
			if f.searchSequences(d, s) {
				steps = s
			}
		}
	}

	return f.frontier()
}

// frontier returns the found trees on the frontier of topologies, steps and load.
func (f *treeSearch) frontier() []*broadcastTrees {
	return frontier(f.found, func(t *broadcastTrees) planCriteria {
		return planCriteria{phases: len(t.phases), steps: t.steps(), parts: int64(t.load)}
	})
}

// addStatic adds the trees on one topology g, which is nil if a construction failed. It adds
// nothing if they do not span g.
func (f *treeSearch) addStatic(name string, g *graph) {
	if g == nil {
		return
	}
	if steps, _ := f.builder.diameter(g); steps > 0 {
		t := &broadcastTrees{name: name, phases: []treePhase{{graph: g, steps: steps}}}
		t.computeLoad(f.builder)
		f.found = append(f.found, t)
	}
}

// diameter broadcasts the shards of all GPUs on g until every GPU has all of them. steps is the
// number of steps, which is the diameter of g. sum is the maximum number of shards that a GPU
// receives in a step, summed over the steps. Both are 0 if some shard cannot reach all GPUs.
func (z *treeBuilder) diameter(g *graph) (steps, sum int) {
	z.restart()
	z.setTopology(g)
	for steps = 1; ; steps++ {
		maxReceived := z.advance() // one step; z.missing then counts the shards that GPUs still lack
		if sum += maxReceived; maxReceived == 0 {
			return 0, 0
		}
		if z.missing == 0 {
			return steps, sum
		}
	}
}

// drawOffsets draws the k offsets of a random affine graph on n GPUs (see affine). The offsets
// are consecutive modulo n if isConsecutive is true, as in Kautz and de Bruijn graphs, and
// independent otherwise.
func (f *treeSearch) drawOffsets(n int, isConsecutive bool) []int32 {
	list := make([]int32, f.k)
	base := f.rng.IntN(n)
	for i := range list {
		if list[i] = int32((base + i) % n); !isConsecutive {
			list[i] = f.rng.Int32N(int32(n))
		}
	}
	return list
}
