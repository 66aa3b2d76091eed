package plan

import (
	"slices"

	"sim/policies/collective"
	"sim/policies/reconfigure/cancellation"
)

// shardTracker follows one shard at a time through a plan in steps. verifySteps calls checkShard
// for each shard. For each GPU and each part of the shard, the tracker stores which GPUs have
// contributed to the GPU's sum (a set of contributions).
type shardTracker struct {
	plan      *Steps
	n, parts  int
	holdings  *collective.Holdings     // contributions in the current sum, by GPU and part
	terms     *collective.Holdings     // sums when the exchange began
	termsHeld *collective.Holdings     // in an exchange: the GPUs whose terms a GPU has
	payload   []uint64                 // contributions of the pieces sent in the current step
	complete  collective.Contributions // contributions of the complete result
	time      [2]int32                 // phase and step reached
	stop      cancellation.Condition
}

// newShardTracker returns a tracker for the shards of a plan.
func newShardTracker(s *Steps, stop cancellation.Condition) *shardTracker {
	z := &shardTracker{plan: s, n: s.GPUs, parts: int(s.Parts), stop: stop}
	z.holdings = collective.NewHoldings(z.n, z.parts)
	if slices.ContainsFunc(s.Phases, func(f Phase) bool { return f.Kind == Exchange }) {
		z.terms, z.termsHeld = collective.NewHoldings(z.n, z.parts), collective.NewHoldings(z.n,
			z.parts)
	}
	return z
}

// checkShard verifies shard s, given its pieces by phase and step.
func (z *shardTracker) checkShard(s int32, list []movedPiece) error {
	// Begin sets the contributions of each of the n GPUs before and after the operation.
	const firstGPU, firstPart = 0, 0
	z.holdings.Reset()
	for part := range z.parts {
		z.holdings.Begin(z.plan.Op, firstGPU, z.n, part, int(s), int(s))
	}
	z.complete = z.holdings.Expected(firstPart)

	// Go through the phases, and in each through the steps with pieces, list[at:end].
	at, open := 0, false
	for phase := range z.plan.Phases {
		f := &z.plan.Phases[phase]
		if f.Kind == Exchange && !open {
			z.startExchange()
		}
		// In a step of a fold, GPUs lose the data that they do not send. A step without pieces
		// therefore clears all.
		next := int32(0) // step after the last one with pieces
		for at < len(list) && int(list[at].phase) == phase {
			end := at
			if f.Kind == Fold && list[at].step > next {
				z.holdings.Clear()
			}
			next = list[at].step + 1
			z.time = [2]int32{list[at].phase, list[at].step}
			for end < len(list) && int(list[end].phase) == phase &&
				list[end].step == list[at].step {
				end++
			}
			z.stop.Check()
			if err := z.checkStep(s, f.Kind, list[at:end]); err != nil {
				return err
			}
			at = end
		}

		if f.Kind == Fold && int(next) < len(f.MaxMessageBytes) {
			z.holdings.Clear()
		}
		if open = f.Open; f.Kind == Exchange && !open {
			z.time = [2]int32{int32(phase), int32(len(f.MaxMessageBytes))}
			if err := z.endExchange(s, int32(phase)); err != nil {
				return err
			}
		}
	}

	z.time = [2]int32{int32(len(z.plan.Phases)), 0}
	if u, part, has, want := z.holdings.Violation(); u >= 0 {
		return errBroken("GPU %d ends with %d of %d contributions to part %d of shard %d", u, has, want,
			part, s)
	}
	return nil
}

// checkStep reads all pieces of a step before it delivers any of them, because messages of
// a step are simultaneous.
func (z *shardTracker) checkStep(s int32, kind Kind, list []movedPiece) error {
	// Send: check each piece and append its contributions to payload.
	z.payload = z.payload[:0]
	for i := range list {
		m := &list[i]
		for p := m.fromPart; p < m.toPart; p++ {
			sum := z.holdings.Contributions(int(m.fromGPU), int(p))
			switch {
			case kind == Exchange && !z.termsHeld.Contributions(int(m.fromGPU),
				int(p)).Has(int(m.origin)):
				return errBroken("%v: GPU %d does not have GPU %d's sum of part %d of shard %d when the step begins", m, m.fromGPU, m.origin, p, s)
			case kind == Gather && !slices.Equal(sum, z.complete):
				return errBroken("%v: GPU %d has %d of %d contributions to part %d of shard %d when the step begins", m, m.fromGPU, sum.Count(), z.complete.Count(), p, s)
			case (kind == Scatter || kind == Fold) && sum.Count() == 0:
				return errBroken("%v: GPU %d has sent away its sum of part %d of shard %d before, or now",
					m, m.fromGPU, p, s)
			}

			z.payload = append(z.payload, sum...)
			if kind == Scatter {
				clear(sum)
			}
		}
	}

	if kind == Fold { // senders keep nothing
		z.holdings.Clear()
	}

	// Receive: add the contributions to the sums of the receivers.
	next := z.payload
	for i := range list {
		m := &list[i]
		for p := m.fromPart; p < m.toPart; p++ {
			got := collective.Contributions(next[:len(z.complete)])
			next = next[len(z.complete):]
			sum := z.holdings.Contributions(int(m.toGPU), int(p))
			switch kind {
			case Gather:
				copy(sum, got)
			case Scatter, Fold:
				if u := sum.Add(got); u >= 0 {
					return errBroken("%v: the contribution of GPU %d to part %d of shard %d is counted twice", m, u, p, s)
				}
			case Exchange:
				if !z.termsHeld.Contributions(int(m.toGPU), int(p)).Insert(int(m.origin)) {
					return errBroken("%v: GPU %d has GPU %d's sum of part %d of shard %d already: it is counted twice", m, m.toGPU, m.origin, p, s)
				}
			}
		}
	}

	return nil
}

// startExchange starts an exchange: each GPU has its own term.
func (z *shardTracker) startExchange() {
	z.terms.Clear()
	z.termsHeld.Clear()
	for u := range z.n {
		for p := range z.parts {
			if sum := z.holdings.Contributions(u, p); sum.Count() > 0 {
				z.terms.Contributions(u, p).Add(sum)
				z.termsHeld.Contributions(u, p).Insert(u)
			}
		}
	}
}

// endExchange adds up the terms of an exchange at each GPU.
func (z *shardTracker) endExchange(s, phase int32) error {
	z.holdings.Clear()
	for u := range z.n {
		for p := range z.parts {
			z.stop.Check()
			for o := range z.n {
				if !z.termsHeld.Contributions(u, p).Has(o) {
					continue
				}
				if twice := z.holdings.Contributions(u, p).Add(z.terms.Contributions(o,
					p)); twice >= 0 {
					return errBroken("phase %d: GPU %d counts the contribution of GPU %d to part %d of shard %d twice, once in the sum of GPU %d", phase, u, twice, p, s, o)
				}
			}
		}
	}

	return nil
}
