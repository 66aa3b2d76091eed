package collective

import (
	"fmt"
	"math/rand/v2"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/halt"
)

// mostTreeGPUs is the most GPUs for which trees are made: every one has n shards to come by, each on its own way.
const mostTreeGPUs = 1024

// forests returns trees for n GPUs with k links: on one topology, and on more where that takes fewer steps; of as many
// topologies and steps the best few.
func forests(n, k int, stop halt.When) []*trees {
	if n > mostTreeGPUs || k < 2 || k > mostTreeDegree || k >= n-1 {
		return nil
	}
	f := &forester{n: n, k: k, stop: stop, z: newGrower(n, k, int32(k)), seen: make([]bool, n), rng: rand.New(rand.NewPCG(uint64(n), uint64(k)))}
	f.z.stop = stop
	f.static("kautz", graphOf(n, k, scaleup.GeneralizedKautz(n, k)).unlooped())
	least := minSteps(n, k)
	for _, lines := range f.lines() {
		name := fmt.Sprintf("line digraph %d of %d", lines.times, n/power(k, lines.times))
		if lines.times == 0 {
			name = "affine"
		}
		f.static(name, lines.graph)
	}
	steps := n
	for _, t := range f.found {
		steps = min(steps, t.steps())
	}
	for d := 2; d < len(least) && least[d-1] < steps; d++ { // with as many topologies as steps windows do
		for s := least[d-1]; s < steps; s++ {
			if f.search(d, s) {
				steps = s
			}
		}
	}
	return f.kept()
}

// kept is found without those that others beat in topologies, steps and load.
func (f *forester) kept() []*trees {
	return frontier(f.found, func(t *trees) cost { return cost{len(t.legs), t.steps(), int64(t.load)} })
}

// forester looks for trees.
type forester struct {
	n, k  int
	stop  halt.When
	z     *grower
	rng   *rand.Rand
	found []*trees
	seen  []bool // for reached
	met   []int32
}

// static adds the trees on one topology, if they span it.
func (f *forester) static(name string, g *graph) {
	if g == nil {
		return
	}
	if steps, _ := f.depth(f.z, g); steps > 0 {
		t := &trees{name: name, legs: []leg{{g, steps}}}
		t.fill(f.z)
		f.found = append(f.found, t)
	}
}

// depth is the diameter of a graph, 0 of one that is not connected, and the most shards that a GPU gets in a step,
// summed over steps.
func (f *forester) depth(z *grower, g *graph) (steps, sum int) {
	z.restart()
	z.up(g)
	for steps = 1; ; steps++ {
		most := z.reach()
		if sum += most; most == 0 {
			return 0, 0
		}
		if z.lacks == 0 {
			return steps, sum
		}
	}
}

// offsets draws k offsets mod n, or as many in a row from a drawn one.
func (f *forester) offsets(n int, row bool) []int32 {
	list := make([]int32, f.k)
	base := f.rng.IntN(n)
	for i := range list {
		if list[i] = int32((base + i) % n); !row {
			list[i] = f.rng.Int32N(int32(n))
		}
	}
	return list
}
