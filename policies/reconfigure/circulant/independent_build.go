package circulant

import (
	"fmt"
	"math"
	"slices"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// activeInterval is the interval start <= slot < end, counted from the start of the plan,
// in which a generator is active on its switch.
type activeInterval struct{ generator, start, end int }

// build writes the plan for a delay in slots.
func (e *epochSchedule) build(name string, k int, delay int64, stop cancellation.Condition) (*plan.Plan, error) {
	if delay < 0 {
		return nil, fmt.Errorf("circulant: a reconfiguration delay of %d slots; it must be at least 0",
			delay)
	}

	// Place the epochs of each switch one after another, each after a delay.
	active := make([][]activeInterval, k) // indexed by switch
	var end, hops int64
	ends := make([]int64, k)
	for g, x := range e.slots {
		if x > 0 {
			j := e.switchOf[g]
			from := ends[j] + delay
			ends[j] = from + x
			active[j] = append(active[j], activeInterval{generator: g, start: int(from), end: int(ends[j])})
			end = max(end, ends[j])
			hops += x
		}
	}

	if end > math.MaxInt32 || hops*int64(e.n) > math.MaxInt32 {
		return nil, fmt.Errorf("circulant: a plan with %d slots and %d transmissions cannot be written; at most %d of each are possible", end, hops*int64(e.n), math.MaxInt32)
	}

	// Assign slots to the hops of the chunks of one source.
	chunks := e.sourceChunks()
	slots, err := e.assignSlots(chunks, active, int(end), stop)
	if err != nil {
		return nil, err
	}
	p := e.newPlan(name)
	p.Degree = k
	p.DelaySlots = int32(delay)
	p.Tx = make([]plan.Tx, 0, hops*int64(e.n))

	// A switch does not change after its last epoch.
	breaks := []int{0, int(end)}
	for _, list := range active {
		for i, x := range list {
			breaks = append(breaks, x.start)
			if i+1 < len(list) {
				breaks = append(breaks, x.end)
			}
		}
	}

	// A topology lasts until some switch starts or ends an epoch.
	slices.Sort(breaks)
	breaks = slices.Compact(breaks)
	position := make([]int, len(chunks)) // present offset of each chunk
	for phase, from := range breaks[:len(breaks)-1] {
		// List the switches that are up in the phase, with their offsets.
		var offsets []int
		var on []int32
		shift := make([]int, k)
		for j, list := range active {
			for i, x := range list {
				isLast := i+1 == len(list)
				if x.start <= from && (from < x.end || isLast) {
					shift[j] = e.phases[x.generator][0]
					offsets = append(offsets, shift[j])
					on = append(on, int32(j))
				}
			}
		}

		p.Topologies = append(p.Topologies, scaleup.Circulant(e.n, offsets...))

		// In the order of edges of scaleup.Circulant.
		p.Switches = append(p.Switches, slices.Repeat(on, e.n))
		p.Slots = append(p.Slots, int32(breaks[phase+1]-from))

		// By symmetry, each GPU sends the same chunk relative to itself, so a transmission is
		// stored for all rotations.
		for t := from; t < breaks[phase+1]; t++ {
			stop.Check()
			for j := range active {
				if i := slots[j][t]; i >= 0 {
					to := (position[i] + shift[j]) % e.n
					p.Tx = e.appendRotations(p.Tx, int32(phase), int32(t-from), position[i], to, chunks[i])
					position[i] = to
				}
			}
		}
	}

	return p, nil
}

// assignSlots assigns a slot to each hop. The result has the chunk that a switch carries,
// indexed by switch and slot; -1 if the switch carries none. The hops of a chunk in an
// epoch get consecutive slots at first. Collisions, where two switches carry the same
// chunk, are then resolved by exchanges of slots.
func (e *epochSchedule) assignSlots(
	chunks []sourceChunk,
	active [][]activeInterval,
	end int,
	stop cancellation.Condition,
) ([][]int32, error) {
	// hopsOf[g] has the chunks of generator g (index in chunks), with their hops over it.
	type part struct{ chunk, hops int32 }
	hopsOf := make([][]part, len(e.phases))
	for i, j := range chunks {
		for w := e.paths.pathStart[j.path]; w < e.paths.pathStart[j.path+1]; w++ {
			hopsOf[e.paths.gen[w]] = append(hopsOf[e.paths.gen[w]],
				part{chunk: int32(i), hops: e.paths.count[w]})
		}
	}

	// Give the hops of each chunk over a generator consecutive slots.
	slots := make([][]int32, len(active))
	for j, list := range active {
		slots[j] = slices.Repeat([]int32{-1}, end)
		for _, x := range list {
			t := x.start
			for _, p := range hopsOf[x.generator] {
				for range p.hops {
					slots[j][t] = p.chunk
					t++
				}
			}
		}
	}

	// busy reports whether a switch other than j carries chunk i in slot t.
	busy := func(i int32, t, j int) bool {
		for o := range slots {
			if o != j && slots[o][t] == i {
				return true
			}
		}
		return false
	}

	// Resolve the collision of chunk i on switch j in slot t.
	for j, list := range active {
		for _, x := range list {
			for t := x.start; t < x.end; t++ {
				i := slots[j][t]

				// Nothing to do unless another switch carries the chunk, too.
				if !busy(i, t, j) {
					continue
				}
				stop.Check()

				// Find a slot of the epoch to exchange with, so that neither chunk collides
				// afterwards.
				other := x.start
				for other < x.end {
					o := slots[j][other]
					if o != i && !busy(i, other, j) && !busy(o, t, j) {
						break
					}
					other++
				}

				if other == x.end {
					return nil, fmt.Errorf("circulant: two switches carry a chunk to offset %d in slot %d",
						chunks[i].offset, t)
				}
				slots[j][t], slots[j][other] = slots[j][other], i
			}
		}
	}

	return slots, nil
}
