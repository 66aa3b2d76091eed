// Package plantest draws random plans that keep all rules, for tests of what checks, simulates and stores plans. It is
// no planner: its plans are poor.
package plantest

import (
	"pgregory.net/rapid"

	"sim/fabric/scaleup"
	"sim/internal/numbers"
	"sim/policies/reconfigure/plan"
)

// Regular draws a topology of k random permutations, with loops and double edges as they fall, in random order.
func Regular(t *rapid.T, n, k int) scaleup.Topology {
	gpus := numbers.Below(int32(n))
	var top scaleup.Topology
	for range k {
		for u, v := range rapid.Permutation(gpus).Draw(t, "permutation") {
			top = append(top, scaleup.Edge{From: int32(u), To: v})
		}
	}
	return rapid.Permutation(top).Draw(t, "edges")
}

// Draw draws a sealed plan of 2..7 GPUs. The last topology has a ring, so that all is delivered.
func Draw(t *rapid.T) *plan.Plan {
	n := rapid.IntRange(2, 7).Draw(t, "n")
	k := rapid.IntRange(1, min(3, n-1)).Draw(t, "k")
	p := &plan.Plan{Name: "drawn", GPUs: n, Degree: k, Relay: rapid.Bool().Draw(t, "relay"), Chunks: make([]int32, n*n)}
	d := rapid.IntRange(1, 3).Draw(t, "d")
	for range d - 1 {
		p.Topologies = append(p.Topologies, Regular(t, n, k))
	}
	p.Topologies = append(p.Topologies, append(Regular(t, n, k-1), scaleup.Circulant(n, 1)...))
	z := &drawer{t: t, p: p}
	for f := range p.Chunks {
		if f/n != f%n {
			p.Chunks[f] = int32(rapid.IntRange(0, 2).Draw(t, "chunks"))
		}
		for c := range p.Chunks[f] {
			z.route(int32(f/n), int32(f%n), c)
		}
	}
	for i := range p.Topologies {
		p.Slots = append(p.Slots, z.phase(int32(i)))
	}
	if err := p.Seal(); err != nil {
		t.Fatal(err)
	}
	return p
}

type drawer struct {
	t      *rapid.T
	p      *plan.Plan
	chunks []way
}

// way is a chunk's hops: edges of topologies.
type way struct {
	src, dst, chunk int32
	phase, edge     []int32
}

// route draws a way: a walk in random phases at first, then the shortest one in the last.
func (z *drawer) route(src, dst, chunk int32) {
	w := way{src: src, dst: dst, chunk: chunk}
	at := src
	last := int32(len(z.p.Topologies) - 1)
	for i := range last {
		begun := at
		trial := w
		for range rapid.IntRange(0, 2).Draw(z.t, "hops") {
			start, edges := z.p.Topologies[i].Outgoing(z.p.GPUs)
			if start[at] == start[at+1] || at == dst {
				break
			}
			e := rapid.SampledFrom(edges[start[at]:start[at+1]]).Draw(z.t, "edge")
			trial.phase, trial.edge = append(trial.phase, i), append(trial.edge, e)
			at = z.p.Topologies[i][e].To
		}
		if !z.p.Relay && at != dst { // it must not rest on its way
			at = begun
			continue
		}
		w = trial
	}
	for at != dst { // on the ring, whose edges are the last
		e := int32(len(z.p.Topologies[last])-z.p.GPUs) + at
		w.phase, w.edge = append(w.phase, last), append(w.edge, e)
		at = z.p.Topologies[last][e].To
	}
	z.chunks = append(z.chunks, w)
}

// phase sends what is to be sent in a phase, each link any chunk that waits, and returns the slots.
func (z *drawer) phase(i int32) int32 {
	for slot := int32(0); ; slot++ {
		used := make([]bool, len(z.p.Topologies[i]))
		busy := false
		order := numbers.Below(len(z.chunks))
		if len(order) > 1 {
			turn := rapid.IntRange(0, len(order)-1).Draw(z.t, "turn")
			order = append(order[turn:], order[:turn]...)
		}
		for _, c := range order {
			w := &z.chunks[c]
			if len(w.phase) == 0 || w.phase[0] != i {
				continue
			}
			busy = true
			if e := w.edge[0]; !used[e] {
				used[e] = true
				edge := z.p.Topologies[i][e]
				z.p.Tx = append(z.p.Tx, plan.Tx{Phase: i, Slot: slot, From: edge.From, To: edge.To, Src: w.src, Dst: w.dst, Chunk: w.chunk})
				w.phase, w.edge = w.phase[1:], w.edge[1:]
			}
		}
		if !busy {
			return slot
		}
	}
}
