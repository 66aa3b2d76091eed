package baselines

import (
	"sim/fabric/scaleup"
	"sim/policies/graph"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// directPhase is the state of the switches between two reconfigurations in the plans of Fast and
// SpreadOut, in which every chunk takes one hop. Permutation i is set up on links[i] switches.
type directPhase struct {
	permutations []permutation
	links        []int32
}

// shareLinks divides k links among the loads. Each load gets one link. Each further link goes to
// the load with the longest time, load / links; of equal loads to the first. It returns the links
// of each load and the maximum time in slots. It requires 1 <= len(loads) <= k.
func shareLinks(loads []int32, k int) (links []int32, slots int32) {
	links = make([]int32, len(loads))
	takes := func(i int32) int32 { return ceilDiv(loads[i], links[i]) } // slots of load i
	h := graph.NewHeap(func(a, b int32) bool {
		return takes(a) > takes(b) || takes(a) == takes(b) && a < b
	})

	// The heap has the load that takes the longest on top.
	for i := range links {
		links[i] = 1
		h.Push(int32(i))
	}
	for range k - len(loads) {
		links[*h.First()]++
		h.Fix()
	}
	return links, takes(*h.First())
}

// ceilDiv returns a/b rounded up.
func ceilDiv(a, b int32) int32 { return (a + b - 1) / b }

// newDirectPhase returns a phase of permutations on k switches.
func newDirectPhase(list []permutation, k int) directPhase {
	loads := make([]int32, len(list))
	for i := range list {
		loads[i] = list[i].slots
	}
	links, _ := shareLinks(loads, k)
	return directPhase{permutations: list, links: links}
}

// circuit is a connection of a phase: its receiver, links and chunks.
type circuit struct{ to, links, chunks int32 }

// circuits appends the circuits of GPU u with chunks. Permutations that lead to the same GPU
// share their links.
func (f *directPhase) circuits(list []circuit, u int) []circuit {
next:
	for i := range f.permutations {
		p := &f.permutations[i]
		if p.chunks[u] == 0 {
			continue
		}
		// Another permutation may lead to the same GPU.
		for j := range list {
			if list[j].to == p.to[u] {
				list[j].links += f.links[i]
				list[j].chunks += p.chunks[u]
				continue next
			}
		}

		list = append(list, circuit{to: p.to[u], links: f.links[i], chunks: p.chunks[u]})
	}

	return list
}

// slots returns the slots of the phase.
func (f *directPhase) slots(n int) (slots int32) {
	var list []circuit
	for u := range n {
		list = f.circuits(list[:0], u)
		for _, c := range list {
			slots = max(slots, ceilDiv(c.chunks, c.links))
		}
	}

	return slots
}

// directCandidate returns the candidate with these phases.
func directCandidate(p *plan.Problem, origin string, phases []directPhase) plan.Candidate {
	c := plan.Candidate{Origin: origin, Reconfigurations: len(phases)}
	for i := range phases {
		c.Slots += int64(phases[i].slots(p.GPUs))
	}
	// All switches reconfigure together, so the plan is the same for all delays.
	c.Build = func(_ int64, stop cancellation.Condition) (_ *plan.Plan, err error) {
		defer cancellation.Recover(&err)
		n := p.GPUs
		out := newPlan(p)
		sent := make([]int32, n*n) // chunks of the pair u -> v sent in earlier phases, at u*n+v
		var list []circuit
		for i := range phases {
			var t scaleup.Topology
			for u := range n {
				stop.Check()
				list = phases[i].circuits(list[:0], u)
				for _, c := range list {
					for range c.links {
						t = append(t, scaleup.Edge{From: int32(u), To: c.to})
					}

					// Chunks of a pair are numbered in the order of phases. Each slot carries as
					// many as there are links.
					first := &sent[u*n+int(c.to)]
					for x := range c.chunks {
						out.Tx = append(out.Tx, plan.Tx{
							Phase: int32(i),
							Slot:  x / c.links,
							From:  int32(u),
							To:    c.to,
							Src:   int32(u),
							Dst:   c.to,
							Chunk: *first + x,
						})
					}

					*first += c.chunks
				}
			}

			out.Topologies = append(out.Topologies, t)
			out.Slots = append(out.Slots, phases[i].slots(n))
		}

		return out, nil
	}

	return c
}
