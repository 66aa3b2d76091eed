package collective

import (
	"fmt"
	"slices"

	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// fold is an all-reduce on one generalised de Bruijn graph, u -> radix*u + a mod n for 0 <= a <
// radix, with n = last * radix^(digits-1) GPUs and 1 < last <= radix. Exactly one path with
// `digits` links leads from any GPU to any other. In each step a GPU sends its sum to all
// successors and replaces it by the sum of what arrives. After `digits` steps it has the sum of
// all GPUs, with one vector per link and step. This is recursive doubling on a single topology:
// the graph contains a wrapped butterfly (Leighton, "Introduction to Parallel Algorithms and
// Architectures", 1992, Sec. 3.3). If last < radix, each GPU receives in the last step only from
// `last` predecessors, whose sums together are complete.
//
// With halvings > 0, which requires last = radix, the vector is scattered for this number of
// steps, then summed, and gathered for the same number of steps. The last digits of a GPU name
// its piece while scattering, and each hop moves them up by one digit.
type fold struct {
	n, radix, last, digits int
	halvings               int
	// isKautz selects the Kautz graph u -> -radix*u-a mod n for a = 1..radix, with n =
	// radix^digits + radix^(digits-1). A single path leads from any GPU to any GPU, with `digits`
	// links or one less. The last step is therefore an exchange, in which GPUs keep their own
	// partial sum.
	isKautz bool
}

// newFolds returns the folds of n GPUs with k links.
func newFolds(n, k int) []*fold {
	var all []*fold
	for radix := 2; radix <= k; radix++ {
		// Kautz graphs.
		for digits := 2; power(radix, digits)+power(radix, digits-1) <= n; digits++ {
			if power(radix, digits)+power(radix, digits-1) == n {
				all = append(all, &fold{n: n, radix: radix, digits: digits, isKautz: true})
			}
		}

		// De Bruijn graphs: n = last * radix^(digits-1).
		last, digits := n, 1
		for last > radix && last%radix == 0 {
			last /= radix
			digits++
		}
		if last > radix || last == 1 || digits == 1 {
			continue
		}

		// Halvings require n = radix^digits.
		for halvings := range digits {
			if halvings == 0 || last == radix {
				all = append(all, &fold{
					n:        n,
					radix:    radix,
					last:     last,
					digits:   digits,
					halvings: halvings,
				})
			}
		}
	}

	return all
}

// graph returns the topology of the fold.
func (f *fold) graph() *graph {
	g := &graph{n: f.n, k: f.radix, to: make([]int32, f.n*f.radix)}
	for l := range g.to {
		g.to[l] = int32(f.next(l/f.radix, l%f.radix))
	}
	return g
}

// next returns the GPU that link a of GPU u leads to.
func (f *fold) next(u, a int) int {
	if f.isKautz {
		return f.n - 1 - (f.radix*u+a)%f.n
	}
	return (f.radix*u + a) % f.n
}

// steps returns the number of steps of a phase of a kind.
func (f *fold) steps(kind plan.Kind) int {
	last := 0
	if f.isKautz {
		last = 1
	}
	switch kind {
	case plan.Fold:
		return f.digits - f.halvings - last
	case plan.Exchange:
		return last
	}

	return f.halvings
}

// emitSteps implements messageSource: it calls emit with the pieces of each step.
func (f *fold) emitSteps(parts int32, stop cancellation.Condition, emit func(phase, step int, list []linkPieces)) {
	for phase, kind := range f.phaseKinds() {
		list := make([][]linkPieces, f.steps(kind))
		switch kind {
		case plan.Scatter:
			for s := range list {
				list[s] = f.scatterStep(s)
			}
		case plan.Fold, plan.Exchange:
			f.sumSteps(list)
		case plan.Gather:
			f.gatherSteps(list)
		}

		// All pieces are whole. In an exchange, each GPU sends its own partial sum.
		for s := range list {
			stop.Check()
			for i := range list[s] {
				c := &list[s][i]
				if c.to = parts; kind == plan.Exchange {
					c.shard = c.link / int32(f.radix)
					c.count = 1
				}
			}

			emit(phase, s, list[s])
		}
	}
}

// phaseKinds returns the kinds of the phases, in order.
func (f *fold) phaseKinds() []plan.Kind {
	list := []plan.Kind{plan.Scatter, plan.Fold, plan.Exchange, plan.Gather}
	return slices.DeleteFunc(list, func(kind plan.Kind) bool { return f.steps(kind) == 0 })
}

// pieceOnLink returns the pieces on link a of GPU u if it sends one of several equal pieces of
// the vector.
func (f *fold) pieceOnLink(u, a, piece, pieces int) linkPieces {
	size := f.n / pieces
	return linkPieces{link: int32(u*f.radix + a), shard: int32(piece * size), count: int32(size)}
}

// scatterStep returns the messages of scatter step s. After s steps a GPU has the piece, of
// radix^s, that its last s digits name. The piece that the GPU itself keeps is not sent, since
// all GPUs with the same piece sum it.
func (f *fold) scatterStep(s int) (list []linkPieces) {
	pieces := power(f.radix, s)
	for u := range f.n {
		for a := range f.radix {
			if piece := u%pieces*f.radix + a; piece != u%(pieces*f.radix) {
				list = append(list, f.pieceOnLink(u, a, piece, pieces*f.radix))
			}
		}
	}

	return list
}

// sumSteps computes the messages of the steps that sum. After s steps the piece is named by the
// digits before the last s. The function goes from the last step backwards, so that messages to
// GPUs that send nothing later can be left out.
func (f *fold) sumSteps(list [][]linkPieces) {
	pieces := power(f.radix, f.halvings)
	block := power(f.radix, f.digits-1)

	// wants are the GPUs that need a sum after the step: all, or the senders of the next step.
	// sends are the GPUs that send in the step.
	wants := make([]bool, f.n)
	sends := make([]bool, f.n)
	for v := range wants {
		wants[v] = true
	}

	for s := len(list) - 1; s >= 0; s-- {
		clear(sends)
		for u := range f.n {
			for a := range f.radix {
				v := f.next(u, a)

				// Before the last step, u has the sum of the GPUs congruent to u/block mod last.
				// Of the predecessors of v with this sum, the first sends it.
				first := wants[v]
				if !f.isKautz && s == len(list)-1 {
					for w := v / f.radix; w < u; w += f.n / f.radix {
						first = first && w/block != u/block
					}
				}
				if first {
					sends[u] = true
					list[s] = append(list[s],
						f.pieceOnLink(u, a, u/power(f.radix, s)%pieces, pieces))
				}
			}
		}

		wants, sends = sends, wants
	}
}

// gatherSteps computes the messages of the gather steps. After s steps, a GPU has all pieces
// whose last halvings-s digits equal its first digits. Pieces that it already has are not sent.
func (f *fold) gatherSteps(list [][]linkPieces) {
	// has[u*pieces+piece] reports whether GPU u has a piece. At first it has the piece that its
	// first digits name.
	pieces := power(f.radix, f.halvings)
	has := make([]bool, f.n*pieces)
	for u := range f.n {
		has[u*pieces+u/(f.n/pieces)] = true
	}
	for s := range list {
		// GPU u has the pieces i*ends + u/(n/ends): any first digits i, and the first digits of u as
		// the last ones.
		choices := power(f.radix, s)
		ends := power(f.radix, f.halvings-s)
		for u := range f.n {
			for a := range f.radix {
				v := f.next(u, a)
				for i := range choices {
					if piece := i*ends + u/(f.n/ends); !has[v*pieces+piece] {
						list[s] = append(list[s], f.pieceOnLink(u, a, piece, pieces))
					}
				}
			}
		}

		for _, c := range list[s] {
			has[f.next(int(c.link)/f.radix, int(c.link)%f.radix)*pieces+int(c.shard)/(f.n/pieces)] = true
		}
	}
}

// newPlan returns the plan of f.
func (f *fold) newPlan(p *Problem) *Plan {
	pl := &Plan{Problem: *p, Parts: 1, Name: fmt.Sprintf("fold de-bruijn %d^%d", f.radix, f.digits)}
	if f.last < f.radix {
		pl.Name = fmt.Sprintf("fold de-bruijn %d*%d^%d", f.last, f.radix, f.digits-1)
	}
	if f.isKautz {
		pl.Name = fmt.Sprintf("fold kautz %d^%d+%d^%d", f.radix, f.digits, f.radix, f.digits-1)
	}
	if f.halvings > 0 {
		pl.Name += fmt.Sprintf(", %d halved", f.halvings)
	}
	g := f.graph()
	var phases []treePhase
	for _, kind := range f.phaseKinds() {
		phases = append(phases, treePhase{graph: g, steps: f.steps(kind)})
	}
	pl.Phases = pl.newPhases(f.phaseKinds(), phases, f, inOrder)
	for i := range pl.Phases {
		pl.Phases[i].Reused = i > 0
	}
	return pl
}
