// Package plantest draws random plans that keep all rules, for tests of code that checks,
// simulates and stores plans. It is not a planner: its plans are poor.
package plantest

import (
	"pgregory.net/rapid"

	"sim/fabric/scaleup"
	"sim/internal/numbers"
	"sim/policies/reconfigure/plan"
)

// DrawRegular draws a topology of k random permutations, in random order. It may have loops
// and parallel edges.
func DrawRegular(t *rapid.T, n, k int) scaleup.Topology {
	gpus := numbers.Below(int32(n))
	var top scaleup.Topology
	for range k {
		for u, v := range rapid.Permutation(gpus).Draw(t, "permutation") {
			top = append(top, scaleup.Edge{From: int32(u), To: v})
		}
	}

	return rapid.Permutation(top).Draw(t, "edges")
}

// Draw draws a sealed plan for 2..7 GPUs. The last topology contains a ring, so that all
// chunks can be delivered.
func Draw(t *rapid.T) *plan.Plan {
	n := rapid.IntRange(2, 7).Draw(t, "n")
	k := rapid.IntRange(1, min(3, n-1)).Draw(t, "k")
	p := &plan.Plan{
		Name:   "drawn",
		GPUs:   n,
		Degree: k,
		Relay:  rapid.Bool().Draw(t, "relay"),
		Chunks: make([]int32, n*n),
	}

	// All topologies except the last are random.
	d := rapid.IntRange(1, 3).Draw(t, "d")
	for range d - 1 {
		p.Topologies = append(p.Topologies, DrawRegular(t, n, k))
	}
	p.Topologies = append(p.Topologies,
		append(DrawRegular(t, n, k-1), scaleup.Circulant(n, 1)...))

	// Draw up to two chunks per pair, and a path for each.
	z := &planDrawer{t: t, plan: p}
	for f := range p.Chunks {
		if f/n != f%n {
			p.Chunks[f] = int32(rapid.IntRange(0, 2).Draw(t, "chunks"))
		}
		for c := range p.Chunks[f] {
			z.drawPath(int32(f/n), int32(f%n), c)
		}
	}

	// Send the chunks phase by phase. Seal verifies that the plan keeps all rules.
	for i := range p.Topologies {
		p.Slots = append(p.Slots, z.sendPhase(int32(i)))
	}
	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}

	return p
}

// planDrawer draws the paths of all chunks and then the slots of each phase.
type planDrawer struct {
	t      *rapid.T
	plan   *plan.Plan
	chunks []chunkPath
}

// chunkPath has the remaining hops of a chunk, as edges of the topologies.
type chunkPath struct {
	src, dst, chunk int32
	phase, edge     []int32
}

// drawPath draws a path: random hops in all phases except the last, then hops along the ring in
// the last.
func (z *planDrawer) drawPath(src, dst, chunk int32) {
	w := chunkPath{src: src, dst: dst, chunk: chunk}
	position := src
	last := int32(len(z.plan.Topologies) - 1)
	for i := range last {
		// trial is the path with the hops of this phase, which may have to be dropped.
		phaseStart := position
		trial := w
		for range rapid.IntRange(0, 2).Draw(z.t, "hops") {
			// Take a random link out of the current GPU, unless the chunk has arrived.
			start, edges := z.plan.Topologies[i].Outgoing(z.plan.GPUs)
			if start[position] == start[position+1] || position == dst {
				break
			}
			e := rapid.SampledFrom(edges[start[position]:start[position+1]]).Draw(z.t, "edge")
			trial.phase = append(trial.phase, i)
			trial.edge = append(trial.edge, e)
			position = z.plan.Topologies[i][e].To
		}

		if !z.plan.Relay && position != dst { // without relaying it must not rest before its destination
			position = phaseStart
			continue
		}

		w = trial
	}

	for position != dst { // on the ring, whose edges are the last ones
		e := int32(len(z.plan.Topologies[last])-z.plan.GPUs) + position
		w.phase = append(w.phase, last)
		w.edge = append(w.edge, e)
		position = z.plan.Topologies[last][e].To
	}

	z.chunks = append(z.chunks, w)
}

// sendPhase sends the chunks with hops in a phase and returns its slots. Each link sends a
// random one of its waiting chunks.
func (z *planDrawer) sendPhase(i int32) int32 {
	for slot := int32(0); ; slot++ {
		used := make([]bool, len(z.plan.Topologies[i]))
		busy := false

		// Rotate the order of chunks, so that links do not prefer the first one.
		order := numbers.Below(len(z.chunks))
		if len(order) > 1 {
			turn := rapid.IntRange(0, len(order)-1).Draw(z.t, "turn")
			order = append(order[turn:], order[:turn]...)
		}

		for _, c := range order {
			// Skip chunks without a hop in this phase.
			w := &z.chunks[c]
			if len(w.phase) == 0 || w.phase[0] != i {
				continue
			}
			busy = true

			// A link carries one chunk per slot.
			if e := w.edge[0]; !used[e] {
				used[e] = true
				edge := z.plan.Topologies[i][e]
				z.plan.Tx = append(z.plan.Tx, plan.Tx{
					Phase: i,
					Slot:  slot,
					From:  edge.From,
					To:    edge.To,
					Src:   w.src,
					Dst:   w.dst,
					Chunk: w.chunk,
				})

				w.phase = w.phase[1:]
				w.edge = w.edge[1:]
			}
		}

		if !busy {
			return slot
		}
	}
}
