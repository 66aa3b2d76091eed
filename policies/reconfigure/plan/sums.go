package plan

import (
	"slices"

	"sim/policies/collective"
	"sim/policies/reconfigure/halt"
)

// sums follows one shard through a plan. A cell of its holdings is a part of the shard.
type sums struct {
	plan     *Steps
	n, parts int
	sum      *collective.Holdings
	term     *collective.Holdings // the sums when the exchange began
	has      *collective.Holdings // in an exchange: whose terms a GPU has
	sent     []uint64             // the sums of what is on its way in the step
	want     collective.Contributions
	when     [2]int32 // phase and step reached
	stop     halt.When
}

func newSums(s *Steps, stop halt.When) *sums {
	z := &sums{plan: s, n: s.GPUs, parts: int(s.Parts), stop: stop}
	z.sum = collective.NewHoldings(z.n, z.parts)
	if slices.ContainsFunc(s.Phases, func(f Phase) bool { return f.Kind == Exchange }) {
		z.term, z.has = collective.NewHoldings(z.n, z.parts), collective.NewHoldings(z.n, z.parts)
	}
	return z
}

func (z *sums) shard(s int32, list []moved) error {
	z.sum.Reset()
	for part := range z.parts {
		z.sum.Begin(z.plan.Op, 0, z.n, part, int(s), int(s))
	}
	z.want = z.sum.Expected(0)
	at, open := 0, false
	for phase := range z.plan.Phases {
		f := &z.plan.Phases[phase]
		if f.Kind == Exchange && !open {
			z.begin()
		}
		next := int32(0) // step; a fold gives up what it does not send
		for at < len(list) && int(list[at].phase) == phase {
			end := at
			if f.Kind == Fold && list[at].step > next {
				z.sum.Clear()
			}
			next = list[at].step + 1
			z.when = [2]int32{list[at].phase, list[at].step}
			for end < len(list) && int(list[end].phase) == phase && list[end].step == list[at].step {
				end++
			}
			z.stop.Check()
			if err := z.step(s, f.Kind, list[at:end]); err != nil {
				return err
			}
			at = end
		}
		if f.Kind == Fold && int(next) < len(f.Longest) {
			z.sum.Clear()
		}
		if open = f.Open; f.Kind == Exchange && !open {
			z.when = [2]int32{int32(phase), int32(len(f.Longest))}
			if err := z.end(s, int32(phase)); err != nil {
				return err
			}
		}
	}
	z.when = [2]int32{int32(len(z.plan.Phases)), 0}
	if u, part, has, want := z.sum.Violation(); u >= 0 {
		return broken("GPU %d ends with %d of %d contributions to part %d of shard %d", u, has, want, part, s)
	}
	return nil
}

// step sends all pieces of a step, as they were when it began, and then delivers them.
func (z *sums) step(s int32, kind Kind, list []moved) error {
	z.sent = z.sent[:0]
	for i := range list {
		m := &list[i]
		for p := m.from; p < m.to; p++ {
			sum := z.sum.Contributions(int(m.fromGPU), int(p))
			switch {
			case kind == Exchange && !z.has.Contributions(int(m.fromGPU), int(p)).Has(int(m.origin)):
				return broken("%v: GPU %d does not have GPU %d's sum of part %d of shard %d when the step begins", m, m.fromGPU, m.origin, p, s)
			case kind == Gather && !slices.Equal(sum, z.want):
				return broken("%v: GPU %d has %d of %d contributions to part %d of shard %d when the step begins", m, m.fromGPU, sum.Count(), z.want.Count(), p, s)
			case (kind == Scatter || kind == Fold) && sum.Count() == 0:
				return broken("%v: GPU %d has sent away its sum of part %d of shard %d before, or now", m, m.fromGPU, p, s)
			}
			z.sent = append(z.sent, sum...)
			if kind == Scatter {
				clear(sum)
			}
		}
	}
	if kind == Fold {
		z.sum.Clear()
	}
	next := z.sent
	for i := range list {
		m := &list[i]
		for p := m.from; p < m.to; p++ {
			got := collective.Contributions(next[:len(z.want)])
			next = next[len(z.want):]
			sum := z.sum.Contributions(int(m.toGPU), int(p))
			switch kind {
			case Gather:
				copy(sum, got)
			case Scatter, Fold:
				if u := sum.Add(got); u >= 0 {
					return broken("%v: the contribution of GPU %d to part %d of shard %d is counted twice", m, u, p, s)
				}
			case Exchange:
				if !z.has.Contributions(int(m.toGPU), int(p)).Insert(int(m.origin)) {
					return broken("%v: GPU %d has GPU %d's sum of part %d of shard %d already: it is counted twice", m, m.toGPU, m.origin, p, s)
				}
			}
		}
	}
	return nil
}

// begin starts an exchange: everyone has its own term.
func (z *sums) begin() {
	z.term.Clear()
	z.has.Clear()
	for u := range z.n {
		for p := range z.parts {
			if sum := z.sum.Contributions(u, p); sum.Count() > 0 {
				z.term.Contributions(u, p).Add(sum)
				z.has.Contributions(u, p).Insert(u)
			}
		}
	}
}

// end adds up the terms of an exchange.
func (z *sums) end(s, phase int32) error {
	z.sum.Clear()
	for u := range z.n {
		for p := range z.parts {
			z.stop.Check()
			for o := range z.n {
				if !z.has.Contributions(u, p).Has(o) {
					continue
				}
				if twice := z.sum.Contributions(u, p).Add(z.term.Contributions(o, p)); twice >= 0 {
					return broken("phase %d: GPU %d counts the contribution of GPU %d to part %d of shard %d twice, once in the sum of GPU %d", phase, u, twice, p, s, o)
				}
			}
		}
	}
	return nil
}
