package plan

import (
	"fmt"
	"slices"

	"sim/fabric/scaleup"
	"sim/policies/collective"
	"sim/policies/reconfigure/cancellation"
)

// errBroken returns an ErrBroken with a formatted message.
func errBroken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBroken, fmt.Sprintf(format, args...))
}

// verifySteps verifies a plan in steps message by message. It returns an ErrBroken with the
// first message that breaks a rule. These are the rules:
//
//   - A phase that reuses a topology has the links of the phase before.
//   - Each link exists and carries one message per step, with at most the stated bytes.
//   - A GPU sends only data that it has when the step begins.
//   - No contribution is summed twice or lost. Only complete data is copied.
//   - At the end each GPU has the result of the operation, for each part of each shard.
func (p *Plan) verifySteps(stop cancellation.Condition) error {
	s := p.Steps
	if s.GPUs != p.GPUs || s.Degree != p.Degree || len(s.Phases) != len(p.Topologies) {
		return errBroken("%d phases of a collective of %d GPUs of degree %d", len(s.Phases), s.GPUs,
			s.Degree)
	}
	if s.Parts < 1 || int64(s.Parts) > s.Bytes/int64(p.GPUs) {
		return errBroken("%d parts a shard of %d B; want 1 to as many", s.Parts,
			s.Bytes/int64(p.GPUs))
	}

	c := &stepsChecker{plan: p, byShard: make([][]movedPiece, p.GPUs), stop: stop}
	for i := range s.Phases {
		if err := c.checkPhase(i); err != nil {
			return err
		}
	}

	// Follow each shard, and return the error of the earliest step.
	tracker := newShardTracker(s, stop)
	var first error
	firstTime := [2]int32{int32(len(s.Phases)), 0} // phase and step of the first error; initially after all steps
	for s := range c.byShard {
		if err := tracker.checkShard(int32(s), c.byShard[s]); err != nil &&
			(first == nil || slices.Compare(tracker.time[:], firstTime[:]) < 0) {
			first, firstTime = err, tracker.time
		}
	}

	return first
}

// movedPiece is a piece of a message, without its shard.
type movedPiece struct{ phase, step, fromGPU, toGPU, fromPart, toPart, origin int32 }

func (m *movedPiece) String() string {
	return (&Message{Phase: m.phase, Step: m.step, From: m.fromGPU, To: m.toGPU}).String()
}

// stepsChecker checks the links of each phase and collects the pieces that cross them.
type stepsChecker struct {
	plan     *Plan
	byShard  [][]movedPiece   // pieces of each shard, ordered by phase and step
	previous scaleup.Topology // topology of the previous phase, sorted
	stop     cancellation.Condition
}

// checkPhase checks the links of a phase and appends the pieces of its messages to byShard.
func (c *stepsChecker) checkPhase(i int) error {
	p, f := c.plan.Steps, &c.plan.Steps.Phases[i]
	n := int32(p.GPUs)
	if int(f.Kind) >= len(kindNames) || f.Kind != Gather && p.Op == collective.AllGather {
		return errBroken("phase %d of an %s is a %s", i, p.Op, f.Kind)
	}
	if f.Open && (f.Kind != Exchange || i+1 == len(p.Phases) || f.Kind != p.Phases[i+1].Kind) {
		return errBroken("phase %d is an open %s; want an exchange that continues in the next phase", i, f.Kind)
	}

	for s, b := range f.MaxMessageBytes {
		if b < 0 || b > p.Bytes*int64(n) {
			return errBroken("step %d of phase %d claims a message of %d B; all data is %d B", s, i, b,
				p.Bytes*int64(n))
		}
	}

	// Check the stated steps and links.
	if int(c.plan.Slots[i]) != len(f.MaxMessageBytes) {
		return errBroken("phase %d takes %d steps and has the lengths of %d", i, c.plan.Slots[i],
			len(f.MaxMessageBytes))
	}
	sorted := c.plan.Topologies[i].Sorted()
	if f.Reused && !slices.Equal(sorted, c.previous) {
		return errBroken("phase %d claims the topology of the one before, which has other links", i)
	}
	c.previous = sorted
	used := make([]int32, len(sorted)) // step + 1 in which the link was last used, 0 if never; indexed by link

	// Each message takes a link, has valid pieces, and at most the stated bytes.
	step := int32(0)
	for _, x := range f.Messages() {
		c.stop.Check()
		if int(x.Phase) != i || x.Step < step || int(x.Step) >= len(f.MaxMessageBytes) {
			return errBroken("%v: it comes in phase %d, after step %d of %d", &x, i, step,
				len(f.MaxMessageBytes))
		}
		step = x.Step

		// Take the first of the parallel links of its edge that is free in this step.
		edge := scaleup.Edge{From: x.From, To: x.To}
		first, _ := slices.BinarySearchFunc(sorted, edge, scaleup.Edge.Compare)
		link := first
		for link < len(sorted) && sorted[link] == edge && used[link] == x.Step+1 {
			link++
		}
		if link == len(sorted) || sorted[link] != edge {
			return errBroken("%v: there are %d such links, all taken in this step", &x, link-first)
		}
		used[link] = x.Step + 1

		for _, e := range x.Pieces {
			switch {
			case e.Shard < 0 || e.Shard >= n || e.From < 0 || e.From >= e.To || e.To > p.Parts:
				return errBroken("%v: parts %d..%d of shard %d; there are %d of %d shards", &x, e.From,
					e.To-1, e.Shard, p.Parts, n)
			case (f.Kind == Exchange) != (e.Origin >= 0) || e.Origin >= n:
				return errBroken("%v: shard %d with the sum of GPU %d in a phase to %s; want one of 0..%d in an exchange, else -1", &x, e.Shard, e.Origin, f.Kind, n-1)
			}

			c.byShard[e.Shard] = append(c.byShard[e.Shard],
				movedPiece{phase: x.Phase, step: x.Step, fromGPU: x.From, toGPU: x.To, fromPart: e.From, toPart: e.To, origin: e.Origin})
		}

		if bytes := p.Size(&x); bytes > f.MaxMessageBytes[x.Step] {
			return errBroken("%v: it is of %d B, the longest of the step is to be of %d B", &x, bytes,
				f.MaxMessageBytes[x.Step])
		}
	}

	return nil
}
