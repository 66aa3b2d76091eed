package collective

import (
	"fmt"
	"math/rand/v2"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/halt"
)

// maxTreeGPUs is the most GPUs for which trees are made: every one has n shards to come by, each on its own way.
const maxTreeGPUs = 1024

// findTrees returns trees for n GPUs with k links: on one topology, and on more where that takes fewer steps; of as many
// topologies and steps the best few.
func findTrees(n, k int, stop halt.When) []*broadcastTrees {
	if n > maxTreeGPUs || k < 2 || k > maxTreeDegree || k >= n-1 {
		return nil
	}
	f := &treeSearch{n: n, k: k, stop: stop, grower: newTreeGrower(n, k, int32(k)), visited: make([]bool, n), rng: rand.New(rand.NewPCG(uint64(n), uint64(k)))}
	f.grower.stop = stop
	f.addStatic("kautz", graphOf(n, k, scaleup.GeneralizedKautz(n, k)).joinLoops())
	least := minSteps(n, k)
	for _, lines := range f.lineDigraphs() {
		name := fmt.Sprintf("line digraph %d of %d", lines.iterations, n/power(k, lines.iterations))
		if lines.iterations == 0 {
			name = "affine"
		}
		f.addStatic(name, lines.graph)
	}
	steps := n
	for _, t := range f.found {
		steps = min(steps, t.steps())
	}
	for d := 2; d < len(least) && least[d-1] < steps; d++ { // with as many topologies as steps windows do
		for s := least[d-1]; s < steps; s++ {
			if f.searchSequences(d, s) {
				steps = s
			}
		}
	}
	return f.frontier()
}

// frontier is found without those that others beat in topologies, steps and load.
func (f *treeSearch) frontier() []*broadcastTrees {
	return frontier(f.found, func(t *broadcastTrees) cost { return cost{len(t.phases), t.steps(), int64(t.load)} })
}

// treeSearch looks for trees.
type treeSearch struct {
	n, k    int
	stop    halt.When
	grower  *treeGrower
	rng     *rand.Rand
	found   []*broadcastTrees
	visited []bool // for reached
	queue   []int32
}

// addStatic adds the trees on one topology, if they span it.
func (f *treeSearch) addStatic(name string, g *graph) {
	if g == nil {
		return
	}
	if steps, _ := f.diameter(f.grower, g); steps > 0 {
		t := &broadcastTrees{name: name, phases: []treePhase{{g, steps}}}
		t.computeLoad(f.grower)
		f.found = append(f.found, t)
	}
}

// diameter is the diameter of a graph, 0 of one that is not connected, and the most shards that a GPU gets in a step,
// summed over steps.
func (f *treeSearch) diameter(z *treeGrower, g *graph) (steps, sum int) {
	z.restart()
	z.setTopology(g)
	for steps = 1; ; steps++ {
		maxReceived := z.advance()
		if sum += maxReceived; maxReceived == 0 {
			return 0, 0
		}
		if z.missing == 0 {
			return steps, sum
		}
	}
}

// drawOffsets draws k offsets mod n, or as many in a row from a drawn one.
func (f *treeSearch) drawOffsets(n int, row bool) []int32 {
	list := make([]int32, f.k)
	base := f.rng.IntN(n)
	for i := range list {
		if list[i] = int32((base + i) % n); !row {
			list[i] = f.rng.Int32N(int32(n))
		}
	}
	return list
}
