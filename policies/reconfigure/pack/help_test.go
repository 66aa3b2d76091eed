package pack

import (
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// Fit spreads the chunks of p over one sequence. Errors: those of the checks of p and of the topologies, ErrUnreachable
// where two GPUs that exchange chunks have no way, ErrBuffer where no schedule within Options.Buffer is found.
func Fit(p *plan.Problem, s Sequence, o Options) (_ *Schedule, err error) {
	defer halt.Caught(&err)
	if err := check(p, s); err != nil {
		return nil, err
	}
	return new(worker).fit(p, s, o, nil)
}

// Play schedules walks on a number of links, each link in the given order and never idle while a chunk waits for it. It
// returns the slots taken and the slot of every crossing, by index into w.Link. Links must be in 0..links-1.
func Play(links int, w *Walks, order Order) (slots int, at []int32) {
	at = make([]int32, len(w.Link))
	return new(Player).Play(links, w, order, at), at
}

// Relabel renames the GPUs of a sequence such that large demands have few hops (the paper, Sec. 4.4, does so by
// rounds). It is the quadratic assignment problem, sum over pairs of demand x hops, lowered by exchanging two GPUs
// while any exchange helps. Relay: hops through all topologies in turn, else within the best one. Errors: those of the
// checks of p and of the topologies, and ErrUnreachable where some GPUs cannot reach others.
func Relabel(p *plan.Problem, s Sequence, relay bool) (Sequence, error) {
	if err := check(p, s); err != nil {
		return Sequence{}, err
	}
	r, _, err := s.relabelled(p, relay, nil)
	return r, err
}

// Plan writes the schedule out, sealed. Errors: those of Seal, which would be faults of this package.
func (r *Schedule) Plan(name string) (*plan.Plan, error) { return r.plan(name, nil) }

// Sequences makes sequences for unequal demand, of each of the given numbers of topologies (nil is 1..(n-1)/k: from
// there on all can go straight). It takes those that suit uniform demand (base, of any number of topologies, beside
// circulants of its own), relabels them, and with relay chooses some of their permutations anew where that saves hops
// (the paper builds on symmetry alone, Sec. 4.3; demand that differs much has none). From small ones it grows large
// ones, by the permutations that save most hops: matchings that give the largest demands links of their own, so that at
// last all go straight. Of each number of topologies it returns the one with the least hops, and where another has at
// most some more, that too. Relay as in Options. Errors: those of the checks of p and of base. Sequences of base in
// which some GPUs cannot reach others are left out.
func Sequences(p *plan.Problem, base []Sequence, counts []int, relay bool) ([]Sequence, error) {
	if counts == nil {
		counts = all(p)
	}
	m, err := newMaker(p, Start{base, counts}, relay)
	if err != nil {
		return nil, err
	}
	if err := m.make(); err != nil {
		return nil, err
	}
	var list []Sequence
	for _, s := range m.list() {
		list = append(list, s.Sequence)
	}
	return list, nil
}

// Add appends a walk. Rank is the caller's.
func (w *Walks) Add(links ...int32) {
	if len(w.Start) == 0 {
		w.Start = append(w.Start, 0)
	}
	w.Link = append(w.Link, links...)
	w.Start = append(w.Start, int32(len(w.Link)))
}

func (net *network) from(link int32) int32 {
	i := net.phase[link]
	return net.topology[i][link-net.base[i]].From
}

// all counts topologies up to where all chunks can go straight.
func all(p *plan.Problem) (list []int) {
	for d := 1; d <= max(1, (p.GPUs-1)/p.Degree); d++ {
		list = append(list, d)
	}
	return list
}

// work is the sum of demand x hops.
func work(need, hops []int32) (sum int64) {
	for i, x := range need {
		sum += int64(x) * int64(hops[i])
	}
	return sum
}
