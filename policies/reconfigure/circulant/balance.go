package circulant

import (
	"math/rand/v2"

	"sim/policies/reconfigure/halt"
)

// balancer spreads the chunks of every offset over ways such that phases, whose slots are the load of their most loaded
// generator, take few slots in all. Generators p*k .. p*k+k-1 are those of phase p.
type balancer struct {
	*ways
	k      int
	of     []int32 // by generator: its phase
	taken  []int32 // chunks by way
	load   []int64 // hops by generator
	peak   []int64 // by phase: its largest load
	uneven []int64 // by phase: k x the sum of squares of loads - the square of their sum
	slots  int64   // sum of peak
	spread int64   // sum of uneven, which breaks ties

	stop  halt.When
	stamp []int32 // by phase: the move that saw it last
	move  int32
	seen  []int32
}

// emptyBalancer starts without chunks.
func emptyBalancer(w *ways, k int) *balancer {
	phases := w.generators / k
	b := &balancer{ways: w, k: k, of: make([]int32, w.generators), taken: make([]int32, len(w.hops)), load: make([]int64, w.generators),
		peak: make([]int64, phases), uneven: make([]int64, phases), stamp: make([]int32, phases)}
	for g := range b.of {
		b.of[g] = int32(g / k)
	}
	return b
}

// newBalancer is emptyBalancer with all chunks where they fit best beside a load on the generators (nil for none), taken
// one offset after the other.
func newBalancer(w *ways, k int, chunks int32, load []int64) *balancer {
	b := emptyBalancer(w, k)
	copy(b.load, load)
	for p := range b.peak {
		b.peak[p], b.uneven[p] = b.phase(int32(p))
		b.slots += b.peak[p]
		b.spread += b.uneven[p]
	}
	block := max(1, chunks/4)
	for o := 1; o < w.n; o++ {
		for left := chunks; left > 0; left -= block {
			part := min(block, left)
			best, slots, spread := int32(-1), int64(0), int64(0)
			for q := w.start[o]; q < w.start[o+1]; q++ {
				ds, dv := b.shift(-1, q, part)
				b.undo(-1, q, part)
				// The hops themselves count too, or longer paths would hide in the lee of the peak.
				ds = ds*int64(k) + int64(w.hops[q])*int64(part)
				if best < 0 || ds < slots || ds == slots && dv < spread {
					best, slots, spread = q, ds, dv
				}
			}
			b.shift(-1, best, part)
			b.settle()
			b.taken[best] += part
		}
	}
	return b
}

// phase returns the peak and unevenness of a phase from its loads.
func (b *balancer) phase(p int32) (peak, uneven int64) {
	var sum, squares int64
	for _, l := range b.load[int(p)*b.k : int(p+1)*b.k] {
		peak = max(peak, l)
		sum += l
		squares += l * l
	}
	return peak, int64(b.k)*squares - sum*sum
}

// add puts the hops of part chunks of way q on the generators.
func (b *balancer) add(q, part int32) {
	if q < 0 {
		return
	}
	from, to := b.first[q], b.first[q+1]
	count := b.count[from:to]
	for i, g := range b.gen[from:to] {
		b.load[g] += int64(count[i]) * int64(part)
	}
}

// see notes the phases of way q.
func (b *balancer) see(q int32) {
	if q < 0 {
		return
	}
	for _, g := range b.gen[b.first[q]:b.first[q+1]] {
		if p := b.of[g]; b.stamp[p] != b.move {
			b.stamp[p] = b.move
			b.seen = append(b.seen, p)
		}
	}
}

// shift moves the load of part chunks from way q (-1 for none) to way r and returns by how much slots and spread would
// change. settle or undo must follow.
func (b *balancer) shift(q, r, part int32) (slots, spread int64) {
	b.move++
	b.seen = b.seen[:0]
	b.add(q, -part)
	b.add(r, part)
	b.see(q)
	b.see(r)
	for _, p := range b.seen {
		peak, uneven := b.phase(p)
		slots += peak - b.peak[p]
		spread += uneven - b.uneven[p]
	}
	return slots, spread
}

func (b *balancer) undo(q, r, part int32) {
	b.add(q, part)
	b.add(r, -part)
}

// settle accepts the shift before it.
func (b *balancer) settle() {
	for _, p := range b.seen {
		peak, uneven := b.phase(p)
		b.slots += peak - b.peak[p]
		b.spread += uneven - b.uneven[p]
		b.peak[p], b.uneven[p] = peak, uneven
	}
}

// descend moves chunks between ways while that saves slots, or evens loads at the same slots.
func (b *balancer) descend() {
	for better := true; better; {
		better = false
		for o := 1; o < b.n; o++ {
			b.stop.Check()
			from, to := b.start[o], b.start[o+1]
			if to-from < 2 {
				continue
			}
			for q := from; q < to; q++ {
				for r := from; r < to && b.taken[q] > 0; r++ {
					if q == r {
						continue
					}
					for _, part := range [2]int32{b.taken[q], 1} {
						slots, spread := b.shift(q, r, part)
						if slots < 0 || slots == 0 && spread < 0 {
							b.settle()
							b.taken[q] -= part
							b.taken[r] += part
							better = true
							break
						}
						b.undo(q, r, part)
						if part == 1 {
							break
						}
					}
				}
			}
		}
	}
}

// search descends, and again after each of a number of random moves, of which it keeps those that do no harm. It ends
// early at so few slots as least.
func (b *balancer) search(kicks int, least int64, random *rand.Rand) {
	b.descend()
	var open []int32 // offsets with a choice
	for o := 1; o < b.n; o++ {
		if b.start[o+1]-b.start[o] > 1 {
			open = append(open, int32(o))
		}
	}
	if len(open) == 0 {
		return
	}
	taken, load := make([]int32, len(b.taken)), make([]int64, len(b.load))
	for ; kicks > 0 && b.slots > least; kicks-- {
		copy(taken, b.taken)
		copy(load, b.load)
		slots, spread := b.slots, b.spread
		for range 1 + random.IntN(3) {
			o := open[random.IntN(len(open))]
			span := int(b.start[o+1] - b.start[o])
			q, r := b.start[o]+int32(random.IntN(span)), b.start[o]+int32(random.IntN(span))
			if b.taken[q] == 0 || q == r {
				continue
			}
			part := 1 + int32(random.IntN(int(b.taken[q])))
			b.shift(q, r, part)
			b.settle()
			b.taken[q] -= part
			b.taken[r] += part
		}
		b.descend()
		if b.slots > slots || b.slots == slots && b.spread > spread {
			copy(b.taken, taken)
			copy(b.load, load)
			b.slots, b.spread = slots, spread
			for p := range b.peak {
				b.peak[p], b.uneven[p] = b.phase(int32(p))
			}
		}
	}
}
