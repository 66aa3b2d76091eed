package circulant

import (
	"math/rand/v2"

	"sim/policies/reconfigure/cancellation"
)

// loadBalancer assigns the chunks of each offset to paths so that all phases together take
// few slots. The slots of a phase are the load of its most loaded generator. The generators
// of phase p are p*k .. p*k+k-1.
//
// A trial move is tryMove, followed by commitMove or undoMove. newLoadBalancer, descend and
// search make such moves.
type loadBalancer struct {
	*pathTable // the paths to choose from: gen and count from pathStart[q] on are the hops of path q
	k          int
	phaseOf    []int32 // phase, indexed by generator
	pathChunks []int32 // chunks, indexed by path
	load       []int64 // hops, indexed by generator
	peak       []int64 // largest load, indexed by phase
	// imbalance is k x the sum of squares of the loads - the square of their sum, indexed by
	// phase. It is 0 if all k loads of the phase are equal.
	imbalance []int64
	slots     int64 // sum of peak
	// totalImbalance is the sum of imbalance, the tie-break between equal slots.
	totalImbalance int64

	stop cancellation.Condition
	// stamp is the last generation in which a move touched the phase, indexed by phase.
	stamp      []int32
	generation int32   // number of the current move
	touched    []int32 // phases that the current move touches
}

// noPath is the path that new chunks come from in a move.
const noPath = -1

// newEmptyBalancer returns a balancer without chunks.
func newEmptyBalancer(w *pathTable, k int) *loadBalancer {
	phases := w.generators / k
	b := &loadBalancer{
		pathTable:  w,
		k:          k,
		phaseOf:    make([]int32, w.generators),
		pathChunks: make([]int32, len(w.hops)),
		load:       make([]int64, w.generators),
		peak:       make([]int64, phases),
		imbalance:  make([]int64, phases),
		stamp:      make([]int32, phases),
	}

	for g := range b.phaseOf {
		b.phaseOf[g] = int32(g / k)
	}
	return b
}

// newLoadBalancer returns a balancer with all chunks, assigned greedily offset by offset.
// load is an initial load of each generator, or nil.
func newLoadBalancer(w *pathTable, k int, chunks int32, load []int64) *loadBalancer {
	b := newEmptyBalancer(w, k)
	copy(b.load, load)
	for p := range b.peak {
		b.peak[p], b.imbalance[p] = b.phaseLoad(int32(p))
		b.slots += b.peak[p]
		b.totalImbalance += b.imbalance[p]
	}

	// The chunks of an offset are assigned in four blocks, each to the path that costs least.
	block := max(1, chunks/4)
	for o := 1; o < w.n; o++ {
		for remaining := chunks; remaining > 0; remaining -= block {
			part := min(block, remaining)
			best := int32(-1)
			minCost := int64(0)
			minSpread := int64(0)
			for q := w.start[o]; q < w.start[o+1]; q++ {
				moreSlots, moreSpread := b.tryMove(noPath, q, part)
				b.undoMove(noPath, q, part)

				// The hops count too. Otherwise longer paths would be free below the peak
				// of a phase.
				cost := moreSlots*int64(k) + int64(w.hops[q])*int64(part)
				if best < 0 || cost < minCost || cost == minCost && moreSpread < minSpread {
					best, minCost, minSpread = q, cost, moreSpread
				}
			}

			b.tryMove(noPath, best, part)
			b.commitMove()
			b.pathChunks[best] += part
		}
	}

	return b
}

// phaseLoad computes the peak and the imbalance of a phase from its loads.
func (b *loadBalancer) phaseLoad(p int32) (peak, uneven int64) {
	var sum, squares int64
	for _, l := range b.load[int(p)*b.k : int(p+1)*b.k] {
		peak = max(peak, l)
		sum += l
		squares += l * l
	}
	return peak, int64(b.k)*squares - sum*sum
}

// addLoad adds the hops of part chunks on path q to the loads of its generators. q may be
// noPath.
func (b *loadBalancer) addLoad(q, part int32) {
	if q < 0 {
		return
	}
	from, to := b.pathStart[q], b.pathStart[q+1]
	count := b.count[from:to]
	for i, g := range b.gen[from:to] {
		b.load[g] += int64(count[i]) * int64(part)
	}
}

// touchPhases adds the phases of path q to touched. q may be noPath.
func (b *loadBalancer) touchPhases(q int32) {
	if q < 0 {
		return
	}
	for _, g := range b.gen[b.pathStart[q]:b.pathStart[q+1]] {
		if p := b.phaseOf[g]; b.stamp[p] != b.generation {
			b.stamp[p] = b.generation
			b.touched = append(b.touched, p)
		}
	}
}

// tryMove moves the load of part chunks from path q to path r and returns the changes of
// slots and totalImbalance. q is noPath for new chunks. commitMove or undoMove must follow.
func (b *loadBalancer) tryMove(q, r, part int32) (slots, spread int64) {
	b.generation++
	b.touched = b.touched[:0]
	b.addLoad(q, -part)
	b.addLoad(r, part)
	b.touchPhases(q)
	b.touchPhases(r)
	for _, p := range b.touched {
		peak, uneven := b.phaseLoad(p)
		slots += peak - b.peak[p]
		spread += uneven - b.imbalance[p]
	}
	return slots, spread
}

// undoMove reverts tryMove with the same arguments.
func (b *loadBalancer) undoMove(q, r, part int32) {
	b.addLoad(q, part)
	b.addLoad(r, -part)
}

// commitMove makes the last tryMove permanent.
func (b *loadBalancer) commitMove() {
	for _, p := range b.touched {
		peak, uneven := b.phaseLoad(p)
		b.slots += peak - b.peak[p]
		b.totalImbalance += uneven - b.imbalance[p]
		b.peak[p], b.imbalance[p] = peak, uneven
	}
}

// descend moves chunks between paths while this saves slots, or reduces the imbalance at
// equal slots.
func (b *loadBalancer) descend() {
	for better := true; better; {
		better = false
		for o := 1; o < b.n; o++ {
			b.stop.Check()
			from, to := b.start[o], b.start[o+1]
			if to-from < 2 {
				continue
			}
			for q := from; q < to; q++ {
				for r := from; r < to && b.pathChunks[q] > 0; r++ {
					if q == r {
						continue
					}
					for _, part := range [2]int32{b.pathChunks[q], 1} {
						slots, spread := b.tryMove(q, r, part)
						if slots < 0 || slots == 0 && spread < 0 {
							b.commitMove()
							b.pathChunks[q] -= part
							b.pathChunks[r] += part
							better = true
							break
						}

						b.undoMove(q, r, part)
						if part == 1 {
							break
						}
					}
				}
			}
		}
	}
}

// search is an iterated local search: it descends, and again after each of a number of
// random perturbations, and reverts perturbations that make the result worse. It ends early
// if the slots reach minSlots.
func (b *loadBalancer) search(perturbations int, minSlots int64, random *rand.Rand) {
	b.descend()
	var choices []int32 // offsets with several paths
	for o := 1; o < b.n; o++ {
		if b.start[o+1]-b.start[o] > 1 {
			choices = append(choices, int32(o))
		}
	}
	if len(choices) == 0 {
		return
	}
	pathChunks := make([]int32, len(b.pathChunks))
	load := make([]int64, len(b.load))
	for ; perturbations > 0 && b.slots > minSlots; perturbations-- {
		// Save the state, and move chunks of one to three random offsets to random paths.
		copy(pathChunks, b.pathChunks)
		copy(load, b.load)
		slots, spread := b.slots, b.totalImbalance
		for range 1 + random.IntN(3) {
			o := choices[random.IntN(len(choices))]
			span := int(b.start[o+1] - b.start[o])
			q := b.start[o] + int32(random.IntN(span))
			r := b.start[o] + int32(random.IntN(span))
			if b.pathChunks[q] == 0 || q == r {
				continue
			}
			part := 1 + int32(random.IntN(int(b.pathChunks[q])))
			b.tryMove(q, r, part)
			b.commitMove()
			b.pathChunks[q] -= part
			b.pathChunks[r] += part
		}

		// Descend, and restore the saved state if it was better.
		b.descend()
		if b.slots > slots || b.slots == slots && b.totalImbalance > spread {
			copy(b.pathChunks, pathChunks)
			copy(b.load, load)
			b.slots = slots
			b.totalImbalance = spread
			for p := range b.peak {
				b.peak[p], b.imbalance[p] = b.phaseLoad(int32(p))
			}
		}
	}
}
