package pack

import (
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// fitSequence checks a problem and a sequence and returns the best schedule.
func fitSequence(p *plan.Problem, s Sequence, o Options) (_ *Schedule, err error) {
	defer cancellation.Recover(&err)
	if err := checkSequence(p, s); err != nil {
		return nil, err
	}
	return new(scheduleWorker).bestSchedule(p, s, o, nil)
}

// scheduleOnce is Scheduler.Schedule with a new scheduler. It also returns the slot of each
// crossing, indexed as w.Link.
func scheduleOnce(links int, w *Paths, order Order) (slots int, at []int32) {
	at = make([]int32, len(w.Link))
	return new(Scheduler).Schedule(links, w, order, at), at
}

// relabelSequence checks a problem and a sequence and relabels the sequence.
func relabelSequence(p *plan.Problem, s Sequence, relay bool) (Sequence, error) {
	if err := checkSequence(p, s); err != nil {
		return Sequence{}, err
	}
	r, _, err := s.relabel(p, relay, nil)
	return r, err
}

// Plan writes the schedule as a sealed plan.
func (r *Schedule) Plan(name string) (*plan.Plan, error) { return r.buildPlan(name, nil) }

// buildAllSequences returns the sequences that sequenceBuilder selects for the given
// numbers of topologies. nil stands for 1..(n-1)/k; with the last number all chunks can
// take one hop.
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

// Append appends a path. It does not change Rank.
func (w *Paths) Append(links ...int32) {
	if len(w.Start) == 0 {
		w.Start = append(w.Start, 0)
	}
	w.Link = append(w.Link, links...)
	w.Start = append(w.Start, int32(len(w.Link)))
}

// source returns the GPU at which a link starts.
func (net *timeNetwork) source(link int32) int32 {
	i := net.phase[link]
	return net.topology[i][link-net.base[i]].From
}

// allCounts returns the numbers of topologies up to the one with which all chunks can take
// one hop.
func allCounts(p *plan.Problem) (list []int) {
	for d := 1; d <= max(1, (p.GPUs-1)/p.Degree); d++ {
		list = append(list, d)
	}
	return list
}

// totalHops returns the sum of demand x hops.
func totalHops(demand, hops []int32) (sum int64) {
	for i, x := range demand {
		sum += int64(x) * int64(hops[i])
	}
	return sum
}
