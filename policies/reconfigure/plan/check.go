package plan

import (
	"errors"
	"fmt"

	"sim/policies/reconfigure/cancellation"
)

// ErrBroken is returned for a plan that breaks a rule of the network or does not meet the
// demand.
var ErrBroken = errors.New("plan: the plan breaks a rule")

func (t Tx) String() string {
	return fmt.Sprintf("chunk %d of %d->%d on %d->%d in slot %d of phase %d", t.Chunk, t.Src, t.Dst,
		t.From, t.To, t.Slot, t.Phase)
}

// Seal sorts the transmissions and computes Buffer. It returns the same errors as Check.
func (p *Plan) Seal() error { return p.SealWithStop(cancellation.Never) }

// SealWithStop is Seal, but polls stop and then fails with cancellation.ErrCancelled.
func (p *Plan) SealWithStop(stop cancellation.Condition) (err error) {
	defer cancellation.Recover(&err)
	const firstByte = 0 // of the keys
	sortTx(p.Tx, firstByte, stop)
	peak, err := p.verify(stop)
	if err != nil {
		return err
	}
	p.Buffer = peak
	return nil
}

// Check verifies a sealed plan, transmission by transmission or message by message. It
// returns an ErrBroken with the first one that breaks a rule. verifySteps has the rules of
// plans in steps. In slots, these are the rules:
//
//   - Each link exists and carries one chunk per slot.
//   - A chunk is at the GPU that sends it, moves once per slot, and rests across a
//     reconfiguration only with Relay.
//   - At the end each chunk is at its destination.
//   - Phases take at most the stated slots, and GPUs hold at most Buffer chunks in
//     transit.
//   - With Switches, each switch is down for at least DelaySlots slots before it changes.
func (p *Plan) Check() error {
	peak, err := p.verify(cancellation.Never)
	if err == nil && peak > p.Buffer {
		return fmt.Errorf("%w: a GPU holds %d chunks in transit between slots; the plan states %d",
			ErrBroken, peak, p.Buffer)
	}
	return err
}

// ChunkNumbers numbers the chunks: chunk c of flow f (= source * n + destination) has number
// first[f]+c. first has n*n+1 entries. It fails with ErrBroken if there are more than
// maxCounted chunks and more chunks than transmissions, so that some chunk does not move.
//
// maxCounted limits the memory for the chunks of an invalid plan: verify stores 12 bytes per
// chunk. With fewer chunks, verify finds a chunk that is not delivered and names it.
func (p *Plan) ChunkNumbers() (first []int32, err error) {
	const maxCounted = 1 << 24
	first = make([]int32, len(p.Chunks)+1)
	total := int64(0)
	for i, c := range p.Chunks {
		if total += int64(c); total > max(maxCounted, int64(len(p.Tx))) {
			return nil, fmt.Errorf("%w: more than %d chunks for %d transmissions", ErrBroken, total-1,
				len(p.Tx))
		}
		first[i+1] = int32(total)
	}

	return first, nil
}

// checkShape fails if the parts of a plan do not match each other or the switches. It
// ignores the transmissions.
func (p *Plan) checkShape() error {
	check := (&Problem{GPUs: p.GPUs, Degree: p.Degree, Chunks: p.Chunks}).Check
	if p.Steps != nil {
		check = p.Steps.Collective.Check
	}
	if err := check(); err != nil {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if len(p.Slots) != len(p.Topologies) {
		return fmt.Errorf("%w: slots of %d phases for %d topologies", ErrBroken, len(p.Slots),
			len(p.Topologies))
	}

	for i, s := range p.Slots {
		if s < 0 || s > MaxSlotsPerPhase {
			return fmt.Errorf("%w: phase %d takes %d slots; want 0 .. %d", ErrBroken, i, s,
				MaxSlotsPerPhase)
		}
	}

	for i, t := range p.Topologies {
		if err := t.Check(p.GPUs, p.Degree); err != nil {
			return fmt.Errorf("%w: topology %d: %w", ErrBroken, i, err)
		}
	}
	return p.checkSwitches()
}

// MaxSlotsPerPhase limits the slots of a phase. Scenarios reject longer plans, and a plan in a
// file with more slots is reported as broken.
const MaxSlotsPerPhase = 1 << 24

// verify checks all rules except Buffer, and returns the maximum number of chunks in
// transit at a GPU. It moves the chunks slot by slot: first it checks all transmissions of a
// slot, then it moves their chunks, because the transmissions of a slot are simultaneous.
func (p *Plan) verify(stop cancellation.Condition) (peak int32, err error) {
	if err := p.checkShape(); err != nil {
		return 0, err
	}
	if p.Steps != nil {
		return 0, p.verifySteps(stop)
	}
	first, err := p.ChunkNumbers()
	if err != nil {
		return 0, err
	}
	n := p.GPUs

	// Each chunk starts at its source. phaseOf and lastSlot are the time of its last move, -1 if it
	// has not moved.
	position := make([]int32, first[n*n])
	phaseOf := make([]int32, first[n*n])
	lastSlot := make([]int32, first[n*n])
	for f := range n * n {
		for c := first[f]; c < first[f+1]; c++ {
			position[c], phaseOf[c], lastSlot[c] = int32(f/n), -1, -1
		}
	}
	transit := make([]int32, n)    // chunks in transit at each GPU
	capacity := make([]int32, n*n) // links from u to v in the current phase, at u*n+v
	used := make([]int32, n*n)     // links used in the current slot, at u*n+v

	// One iteration per slot with transmissions, which are p.Tx[i:end].
	phase := int32(-1)
	for i := 0; i < len(p.Tx); {
		stop.Check()
		t := p.Tx[i]
		if i > 0 && (t.Phase < p.Tx[i-1].Phase ||
			t.Phase == p.Tx[i-1].Phase && t.Slot < p.Tx[i-1].Slot) {
			return 0, fmt.Errorf("%w: %v follows %v; a plan must be sealed first", ErrBroken, t,
				p.Tx[i-1])
		}
		if t.Phase < 0 || int(t.Phase) >= len(p.Topologies) || t.Slot < 0 ||
			t.Slot >= p.Slots[t.Phase] {
			return 0, fmt.Errorf("%w: %v: no such slot", ErrBroken, t)
		}

		// In a new phase, replace the links of the previous one.
		if t.Phase != phase {
			if phase >= 0 {
				for _, e := range p.Topologies[phase] {
					capacity[int(e.From)*n+int(e.To)] = 0
				}
			}
			phase = t.Phase
			for _, e := range p.Topologies[phase] {
				capacity[int(e.From)*n+int(e.To)]++
			}
		}

		// Check the transmissions of the slot.
		end := i
		for ; end < len(p.Tx) && p.Tx[end].Phase == t.Phase && p.Tx[end].Slot == t.Slot; end++ {
			t := p.Tx[end]
			if min(t.From, t.To, t.Src, t.Dst) < 0 || int(max(t.From, t.To, t.Src, t.Dst)) >= n {
				return 0, fmt.Errorf("%w: %v: a GPU outside 0..%d", ErrBroken, t, n-1)
			}
			flow := int(t.Src)*n + int(t.Dst)
			link := int(t.From)*n + int(t.To)
			if t.Chunk < 0 || t.Chunk >= p.Chunks[flow] {
				return 0, fmt.Errorf("%w: %v: the flow has %d chunks", ErrBroken, t, p.Chunks[flow])
			}
			if used[link]++; used[link] > capacity[link] {
				return 0, fmt.Errorf("%w: %v: %d chunks in one slot on a connection of %d links",
					ErrBroken, t, used[link], capacity[link])
			}

			c := first[flow] + t.Chunk
			switch {
			case lastSlot[c] == t.Slot && phaseOf[c] == t.Phase:
				return 0, fmt.Errorf("%w: %v: the chunk moves twice in one slot", ErrBroken, t)
			case position[c] != t.From:
				return 0, fmt.Errorf("%w: %v: the chunk is at GPU %d", ErrBroken, t, position[c])
			case phaseOf[c] >= 0 && phaseOf[c] != t.Phase && !p.Relay:
				return 0, fmt.Errorf("%w: %v: the chunk rested across a reconfiguration, which the plan does not allow", ErrBroken, t)
			}

			phaseOf[c], lastSlot[c] = t.Phase, t.Slot
		}

		// Move their chunks.
		for _, t := range p.Tx[i:end] {
			position[first[int(t.Src)*n+int(t.Dst)]+t.Chunk] = t.To
			used[int(t.From)*n+int(t.To)] = 0
			if t.From != t.Src {
				transit[t.From]--
			}
			if t.To != t.Dst {
				transit[t.To]++
			}
		}

		for _, t := range p.Tx[i:end] {
			peak = max(peak, transit[t.To])
		}
		i = end
	}

	// All chunks must have arrived.
	for f := range n * n {
		for c := first[f]; c < first[f+1]; c++ {
			if int(position[c]) != f%n {
				return 0, fmt.Errorf("%w: chunk %d of %d->%d ends at GPU %d", ErrBroken, c-first[f],
					f/n, f%n, position[c])
			}
		}
	}

	return peak, nil
}
