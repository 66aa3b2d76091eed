package pack

import (
	"math"
	"math/rand/v2"
	"slices"

	"sim/policies/graph"
	"sim/policies/reconfigure/cancellation"
)

// permutationSearch optimises a sequence of permutations for unequal demand if chunks may
// rest across reconfigurations. It is a coordinate descent: a permutation is replaced by
// the one that saves most hops, given all others. This choice is an assignment problem.
//
// A change of a phase is first evaluated (evaluate), and then accepted (accept) or undone by
// the caller.
type permutationSearch struct {
	n          int
	demand     []int32           // chunks from u to v at u*n+v
	demandInto []int32           // the transpose of demand
	weights    [2]*demandWeights // weights of demand and of demandInto, for savedHopsFast
	phases     [][][]int32       // phases[i][j][u] is the GPU to which permutation j of phase i connects u
	turn       int               // permutation that was reoptimised last, numbered over all phases
	assignment graph.Assignment
	work       float64 // approximate number of additions so far

	// before[i] has the hops through the phases before phase i, and trial[i] the same for the
	// sequence that is being evaluated. complete is the last one of trial after evaluate, and of
	// before after accept: the hops through all phases. transposed is its transpose.
	//
	// after[i] has the hops through the phases starting at phase i, transposed: row b has
	// the paths that start at b. It is valid for i >= afterFrom. rest is scratch: after[i]
	// with the phase before it.
	before, trial, after []hopMatrix
	complete             *hopMatrix
	transposed, rest     hopMatrix
	afterFrom            int
	extender             pathExtender
	gain                 []int64   // hops saved by a link from u to v, at u*n+v
	inverse              [][]int32 // scratch: inverses of the permutations of a phase
	stop                 cancellation.Condition
}

// newPermutationSearch returns a search for n GPUs and k permutations per phase.
func newPermutationSearch(n, k int, demand []int32) permutationSearch {
	r := permutationSearch{
		n:          n,
		demand:     demand,
		demandInto: make([]int32, n*n),
		gain:       make([]int64, n*n),
		inverse:    make([][]int32, k),
	}

	for i := range r.inverse {
		r.inverse[i] = make([]int32, n)
	}
	for i, x := range demand {
		r.demandInto[i%n*n+i/n] = x
	}
	r.weights = [2]*demandWeights{newWeights(n, demand), newWeights(n, r.demandInto)}
	return r
}

// reset sets the sequence. It returns the hops of all chunks, math.MaxInt64 if some chunks
// cannot arrive.
func (r *permutationSearch) reset(list [][][]int32) int64 {
	r.phases, r.afterFrom = list, len(list)+1
	for len(r.before) <= len(list) {
		r.before = append(r.before, hopMatrix{})
		r.trial = append(r.trial, hopMatrix{})
		r.after = append(r.after, hopMatrix{})
	}
	r.before[0].reset(r.n)

	// All phases have changed.
	const firstPhase = 0
	r.evaluate(firstPhase)
	r.accept(firstPhase)
	return r.complete.weightedHops(r.demandInto)
}

// evaluate computes the hops through all phases, after a change of the given phase.
func (r *permutationSearch) evaluate(phase int) {
	r.complete = &r.before[phase]
	for i := phase; i < len(r.phases); i++ {
		r.stop.Check()
		m := &r.trial[i+1]
		m.copyFrom(r.complete)
		r.extender.extend(m, r.phases[i])
		r.complete = m
	}
}

// accept commits the last evaluation.
func (r *permutationSearch) accept(phase int) {
	for i := phase + 1; i < len(r.before) && i <= len(r.phases); i++ {
		r.before[i], r.trial[i] = r.trial[i], r.before[i]
	}
	r.complete = &r.before[len(r.phases)]
	r.afterFrom = max(r.afterFrom, phase+1)
}

// acceptIfBetter evaluates a changed phase and accepts it if the hops of all chunks fall
// below sum, their current number. It returns the resulting number.
func (r *permutationSearch) acceptIfBetter(phase int, sum int64) (now int64, ok bool) {
	r.evaluate(phase)
	if sum == math.MaxInt64 {
		now = r.complete.weightedHops(r.demandInto)
	} else {
		now = r.complete.updateWeightedHops(&r.before[len(r.phases)], sum, r.demandInto)
	}
	if now >= sum {
		return sum, false
	}
	r.accept(phase)
	return now, true
}

// fill adds the best permutations to a phase until it has k.
func (r *permutationSearch) fill(phase, k int) {
	for len(r.phases[phase]) < k {
		r.evaluate(phase)
		r.phases[phase] = append(r.phases[phase], r.bestPermutation(phase))
	}
}

// reoptimise replaces permutations in turn, the given number of times, by the best one, if
// this saves hops. sum is the number of hops of all chunks. It returns their resulting
// number.
func (r *permutationSearch) reoptimise(times int, sum int64) int64 {
	k := len(r.phases[0])
	for range times {
		r.turn = (r.turn + 1) % (len(r.phases) * k)
		phase := r.turn / k
		old := r.phases[phase]
		r.phases[phase] = slices.Delete(slices.Clone(old), r.turn%k, r.turn%k+1)
		r.evaluate(phase)
		r.phases[phase] = append(r.phases[phase], r.bestPermutation(phase))
		var ok bool
		if sum, ok = r.acceptIfBetter(phase, sum); !ok {
			r.phases[phase] = old
		}
	}

	return sum
}

// exchange swaps the destinations of two random GPUs in a random permutation, the given
// number of times, and undoes swaps that do not save hops. sum is the number of hops of all
// chunks. It returns their resulting number.
func (r *permutationSearch) exchange(times int, random *rand.Rand, sum int64) int64 {
	for range times {
		phase := random.IntN(len(r.phases))
		to := r.phases[phase][random.IntN(len(r.phases[phase]))]
		u, v := random.IntN(r.n), random.IntN(r.n)
		to[u], to[v] = to[v], to[u]
		var ok bool
		if sum, ok = r.acceptIfBetter(phase, sum); !ok {
			to[u], to[v] = to[v], to[u]
		}
	}

	return sum
}

// prependHops prepends any number of hops over the permutations to all paths of m, which is
// transposed.
func (r *permutationSearch) prependHops(m *hopMatrix, list [][]int32) {
	for j, to := range list {
		for u, v := range to {
			r.inverse[j][v] = int32(u)
		}
	}
	r.extender.extend(m, r.inverse[:len(list)])
}

// pathsFrom returns the hops through the phases starting at the given phase, transposed.
func (r *permutationSearch) pathsFrom(phase int) *hopMatrix {
	if phase < r.afterFrom {
		last := &r.after[len(r.phases)]
		last.reset(r.n)
		for i := len(r.phases) - 1; i >= phase; i-- {
			r.after[i].copyFrom(last)
			last = &r.after[i]
			r.prependHops(last, r.phases[i])
		}
		r.afterFrom = phase
	}

	return &r.after[phase]
}

// bestPermutation returns the permutation that saves most hops if it is added to a phase.
// It counts the paths that start or end with one of its links. The phase and all after it
// must have been evaluated.
func (r *permutationSearch) bestPermutation(phase int) []int32 {
	n := r.n
	r.work += choiceWork(n)

	// before has the hops to a GPU up to this phase, rest the hops from a GPU from this phase on.
	before := &r.trial[phase+1]
	r.rest.copyFrom(r.pathsFrom(phase + 1))
	r.prependHops(&r.rest, r.phases[phase])
	r.transposed.transpose(r.complete)

	// savedHopsFast serves demands whose products with hop counts, whole or halved, fit its words.
	whole, halved := r.weights[0].fits(r.complete.maxHops())
	halved = halved && !whole && r.complete.logLaneBits == log16Bits

	// gain[u*n+b] is the number of hops that a link from u to b saves.
	for u := range n {
		r.stop.Check()
		gain := r.gain[u*n : u*n+n]
		need := r.demand[u*n : u*n+n]
		from := r.transposed.row(u)
		to := before.row(u)
		for b := range n {
			if b == u {
				gain[b] = -1 << 40 // below every sum of gains, so that no GPU is linked to itself
				continue
			}

			// The sum of two: for paths that end with the link, and for paths that start with it.
			// direct is the gain of the link's own flow, which is in both.
			direct := max(0, r.complete.hops(b, u)-1) * int64(need[b])
			if whole || halved {
				gain[b] = r.complete.savedHopsFast(from, r.rest.row(b), r.weights[0].row(u), halved) +
					r.complete.savedHopsFast(r.complete.row(b), to, r.weights[1].row(b),
						halved) - direct
				continue
			}

			gain[b] = r.complete.savedHops(from, r.rest.row(b), need) +
				r.complete.savedHops(r.complete.row(b), to, r.demandInto[b*n:b*n+n]) - direct
		}
	}

	to := make([]int32, n)
	r.assignment.Solve(n, n, r.gain, to, r.stop.Check)
	return to
}
