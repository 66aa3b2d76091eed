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

// maxLevels limits the number of levels, to limit memory. If flows have more different numbers of
// chunks, these are rounded up to the next level.
const maxLevels = 256

// relabeller assigns GPUs to the nodes of a round schedule so that large flows share
// rounds, preferably short ones (Sec. 4.4 of "To Reconfigure or Not to Reconfigure"). It is a local
// search: it swaps the GPUs of two nodes, in a fixed order of pairs, and keeps each swap that saves
// slots.
//
// The slots depend on the maximum number of chunks in each group of flows (flowGroups). To update
// this maximum after a swap, the relabeller counts the flows of each group by level: the different
// numbers of chunks of a flow are levels 0, 1, .. in increasing order.
type relabeller struct {
	n           int             // number of GPUs
	chunks      []int32         // from GPU a to GPU b, indexed by a*n+b
	level       []int32         // level of chunks, indexed as chunks
	levelChunks []int64         // number of chunks, indexed by level
	label       []int32         // GPU, indexed by node
	exchanges   graph.Exchanges // order of swaps, continued from schedule to schedule

	// State for the current schedule.
	groups    *flowGroups
	flowCount []int32 // number of flows, indexed by group*len(levelChunks) + level
	topLevel  []int32 // maximum level of the flows, indexed by group
	topChunks []int64 // chunks of topLevel, indexed by group
	touched   []int32 // groups that the current swap changes
	isTouched []bool  // whether a group is in touched, indexed by group

	stop cancellation.Condition
}

// newRelabeller returns a relabeller for an n x n demand, without labels.
func newRelabeller(n int, chunks []int32) *relabeller {
	r := &relabeller{
		n:         n,
		chunks:    chunks,
		label:     numbers.Below(int32(n)),
		exchanges: graph.Exchanges{N: n},
	}

	// Every step-th number of chunks is a level, counted down from the maximum.
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
	minSlots := r.groups.slotsOf(r.topChunks)
	r.exchanges.Run(swaps, func(a, b int) bool {
		r.stop.Check()
		r.swap(a, b)
		if slots := r.groups.slotsOf(r.topChunks); slots < minSlots {
			minSlots = slots
			return true
		}
		r.swap(a, b) // undo
		return false
	})

	// With rounded levels, fewer slots by level may be more slots in fact.
	if g.slots(r.n, r.chunks, r.label) > unlabelled {
		copy(r.label, identity)
	}
	return slices.Clone(r.label)
}

// setGroups starts with the groups of a schedule: it counts the flows of each group by level.
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
	x, y := int(r.label[a]), int(r.label[b]) // the GPUs to be exchanged
	group, level := r.groups.groupOf, r.level

	// Exchange the flows between x or y and every other GPU z, in both directions.
	for j := range n {
		if j == a || j == b {
			continue
		}
		z := int(r.label[j])
		xz := level[x*n+z] // level of the flow from x to z
		yz := level[y*n+z]
		zx := level[z*n+x]
		zy := level[z*n+y]
		if xz != yz {
			r.moveFlow(group[a*n+j], xz, yz)
			r.moveFlow(group[b*n+j], yz, xz)
		}
		if zx != zy {
			r.moveFlow(group[j*n+a], zx, zy)
			r.moveFlow(group[j*n+b], zy, zx)
		}
	}

	// Exchange the flows between x and y.
	if xy, yx := level[x*n+y], level[y*n+x]; xy != yx {
		r.moveFlow(group[a*n+b], xy, yx)
		r.moveFlow(group[b*n+a], yx, xy)
	}
	r.label[a], r.label[b] = int32(y), int32(x)

	// Lower the top level of groups that have no flow of this level any more.
	for _, g := range r.touched {
		r.isTouched[g] = false
		row := r.flowCount[int(g)*len(r.levelChunks):]
		top := r.topLevel[g]
		for top > 0 && row[top] == 0 {
			top--
		}
		r.topLevel[g], r.topChunks[g] = top, r.levelChunks[top]
	}

	r.touched = r.touched[:0]
}

// moveFlow changes the level of one flow of group g.
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
