package pack

import (
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// fitSequence spreads the chunks of p over one sequence. Errors: those of the checks of p and of the topologies, ErrUnreachable
// where two GPUs that exchange chunks have no way, ErrBuffer where no schedule within Options.Buffer is found.
func fitSequence(p *plan.Problem, s Sequence, o Options) (_ *Schedule, err error) {
	defer halt.Caught(&err)
	if err := checkSequence(p, s); err != nil {
		return nil, err
	}
	return new(scheduleWorker).bestSchedule(p, s, o, nil)
}

// scheduleOnce schedules walks on a number of links, each link in the given order and never idle while a chunk waits for it. It
// returns the slots taken and the slot of every crossing, by index into w.Link. Links must be in 0..links-1.
func scheduleOnce(links int, w *Paths, order Order) (slots int, at []int32) {
	at = make([]int32, len(w.Link))
	return new(Scheduler).Schedule(links, w, order, at), at
}

// relabelSequence renames the GPUs of a sequence such that large demands have few hops (the paper, Sec. 4.4, does so by
// rounds). It is the quadratic assignment problem, sum over pairs of demand x hops, lowered by exchanging two GPUs
// while any exchange helps. Relay: hops through all topologies in turn, else within the best one. Errors: those of the
// checks of p and of the topologies, and ErrUnreachable where some GPUs cannot reach others.
func relabelSequence(p *plan.Problem, s Sequence, relay bool) (Sequence, error) {
	if err := checkSequence(p, s); err != nil {
		return Sequence{}, err
	}
	r, _, err := s.relabel(p, relay, nil)
	return r, err
}

// Plan writes the schedule out, sealed. Errors: those of Seal, which would be faults of this package.
func (r *Schedule) Plan(name string) (*plan.Plan, error) { return r.buildPlan(name, nil) }

// buildAllSequences makes sequences for unequal demand, of each of the given numbers of topologies (nil is 1..(n-1)/k: from
// there on all can go straight). It takes those that suit uniform demand (base, of any number of topologies, beside
// circulants of its own), relabels them, and with relay chooses some of their permutations anew where that saves hops
// (the paper builds on symmetry alone, Sec. 4.3; demand that differs much has none). From small ones it grows large
// ones, by the permutations that save most hops: matchings that give the largest demands links of their own, so that at
// last all go straight. Of each number of topologies it returns the one with the least hops, and where another has at
// most some more, that too. Relay as in Options. Errors: those of the checks of p and of base. Sequences of base in
// which some GPUs cannot reach others are left out.
func buildAllSequences(p *plan.Problem, base []Sequence, counts []int, relay bool) ([]Sequence, error) {
	if counts == nil {
		counts = allCounts(p)
	}
	m, err := newSequenceBuilder(p, SequenceSpec{base, counts}, relay)
	if err != nil {
		return nil, err
	}
	if err := m.build(); err != nil {
		return nil, err
	}
	var list []Sequence
	for _, s := range m.selected() {
		list = append(list, s.Sequence)
	}
	return list, nil
}

// Append appends a walk. Rank is the caller's.
func (w *Paths) Append(links ...int32) {
	if len(w.Start) == 0 {
		w.Start = append(w.Start, 0)
	}
	w.Link = append(w.Link, links...)
	w.Start = append(w.Start, int32(len(w.Link)))
}

func (net *timeNetwork) source(link int32) int32 {
	i := net.phase[link]
	return net.topology[i][link-net.base[i]].From
}

// allCounts counts topologies up to where all chunks can go straight.
func allCounts(p *plan.Problem) (list []int) {
	for d := 1; d <= max(1, (p.GPUs-1)/p.Degree); d++ {
		list = append(list, d)
	}
	return list
}

// totalHops is the sum of demand x hops.
func totalHops(demand, hops []int32) (sum int64) {
	for i, x := range demand {
		sum += int64(x) * int64(hops[i])
	}
	return sum
}
