package rounds

import (
	"slices"

	"sim/internal/numbers"
	"sim/policies/graph"
	"sim/policies/reconfigure/cancellation"
)

// maxSwapWork limits the work of relabelling for one base, over all numbers of topologies.
// The unit is one flow that a swap moves between groups, about 5 ns. The work is divided
// evenly among the schedules, so that the result depends only on the problem.
const maxSwapWork = 200 << 20

// maxLevels limits the number of different chunk counts that the search distinguishes. If
// there are more, counts are rounded up to a level.
const maxLevels = 256

// relabeller assigns GPUs to the nodes of a round schedule so that large flows share
// rounds, preferably short ones (Sec. 4.4). It is a local search: it swaps pairs of GPUs in
// a fixed order and keeps each swap that saves slots.
type relabeller struct {
	n      int
	chunks []int32
	// level[a*n+b] is the level of the number of chunks from GPU a to b. levelChunks has
	// the chunks of each level.
	level       []int32
	levelChunks []int64
	label       []int32         // GPU, indexed by node
	exchanges   graph.Exchanges // order of swaps, continued from schedule to schedule

	groups    *flowGroups
	flowCount []int32 // number of flows, indexed by group and level
	topLevel  []int32 // highest level, indexed by group
	topChunks []int64 // chunks of topLevel, indexed by group
	touched   []int32 // groups that the current swap changes
	isTouched []bool  // indexed by group
	stop      cancellation.Condition
}

// newRelabeller returns a relabeller for an n x n demand, without labels.
func newRelabeller(n int, chunks []int32) *relabeller {
	r := &relabeller{
		n:         n,
		chunks:    chunks,
		label:     numbers.Below(int32(n)),
		exchanges: graph.Exchanges{N: n},
	}

	values := slices.Clone(chunks)
	slices.Sort(values)
	values = slices.Compact(values)
	step := (len(values) + maxLevels - 1) / maxLevels
	for i := range values {
		if (len(values)-1-i)%step == 0 {
			r.levelChunks = append(r.levelChunks, int64(values[i]))
		}
	}
	r.level = make([]int32, n*n)
	for i, c := range chunks {
		level, _ := slices.BinarySearch(r.levelChunks, int64(c))
		r.level[i] = int32(level)
	}
	return r
}

// improve relabels a schedule by at most the given number of attempted swaps. It starts
// from the labels of the last call or from the identity, whichever takes fewer slots. It
// returns labels (label[node] = GPU) that take no more slots than the identity.
func (r *relabeller) improve(g *flowGroups, swaps int) []int32 {
	identity := numbers.Below(int32(r.n))
	unlabelled := g.slots(r.n, r.chunks, identity)
	if g.slots(r.n, r.chunks, r.label) >= unlabelled {
		copy(r.label, identity)
	}
	r.setGroups(g)
	cost := r.groups.slotsOf(r.topChunks)
	r.exchanges.Run(swaps, func(a, b int) bool {
		r.stop.Check()
		r.swap(a, b)
		if c := r.groups.slotsOf(r.topChunks); c < cost {
			cost = c
			return true
		}
		r.swap(a, b)
		return false
	})

	if g.slots(r.n, r.chunks, r.label) > unlabelled {
		copy(r.label, identity)
	}
	return slices.Clone(r.label)
}

// setGroups counts the flows of each group by level.
func (r *relabeller) setGroups(g *flowGroups) {
	r.groups = g
	r.flowCount = make([]int32, len(g.hops)*len(r.levelChunks))
	r.topLevel = make([]int32, len(g.hops))
	r.topChunks = make([]int64, len(g.hops))
	r.isTouched = make([]bool, len(g.hops))
	for i := range r.n {
		for j := range r.n {
			if group := g.groupOf[i*r.n+j]; group >= 0 {
				l := r.level[int(r.label[i])*r.n+int(r.label[j])]
				r.flowCount[int(group)*len(r.levelChunks)+int(l)]++
				r.topLevel[group] = max(r.topLevel[group], l)
				r.topChunks[group] = r.levelChunks[r.topLevel[group]]
			}
		}
	}
}

// swap exchanges the GPUs of two nodes. It is its own inverse.
func (r *relabeller) swap(a, b int) {
	n := r.n
	x, y := int(r.label[a]), int(r.label[b])
	of, level := r.groups.groupOf, r.level
	for j := range n {
		if j == a || j == b {
			continue
		}
		z := int(r.label[j])
		xz := level[x*n+z]
		yz := level[y*n+z]
		zx := level[z*n+x]
		zy := level[z*n+y]
		if xz != yz {
			r.moveFlow(of[a*n+j], xz, yz)
			r.moveFlow(of[b*n+j], yz, xz)
		}
		if zx != zy {
			r.moveFlow(of[j*n+a], zx, zy)
			r.moveFlow(of[j*n+b], zy, zx)
		}
	}

	if xy, yx := level[x*n+y], level[y*n+x]; xy != yx {
		r.moveFlow(of[a*n+b], xy, yx)
		r.moveFlow(of[b*n+a], yx, xy)
	}
	r.label[a], r.label[b] = int32(y), int32(x)
	for _, g := range r.touched {
		r.isTouched[g] = false
		row := r.flowCount[int(g)*len(r.levelChunks):]
		t := r.topLevel[g]
		for t > 0 && row[t] == 0 {
			t--
		}
		r.topLevel[g], r.topChunks[g] = t, r.levelChunks[t]
	}

	r.touched = r.touched[:0]
}

// moveFlow moves one flow of a group from a level to another.
func (r *relabeller) moveFlow(g, from, to int32) {
	row := r.flowCount[int(g)*len(r.levelChunks):]
	row[from]--
	row[to]++
	if to > r.topLevel[g] {
		r.topLevel[g] = to
	}
	if !r.isTouched[g] {
		r.isTouched[g] = true
		r.touched = append(r.touched, g)
	}
}
