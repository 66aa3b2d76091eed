package plan

import (
	"math/bits"
	"slices"

	"sim/policies/collective"
	"sim/policies/reconfigure/halt"
)

// sums follows one shard through a plan, with sets of contributions as bits.
type sums struct {
	plan     *Steps
	n, parts int
	words    int
	sum      []uint64 // by GPU and part: whose contributions its sum has
	term     []uint64 // the sums when the exchange began
	has      []uint64 // by GPU and part: whose terms it has in an exchange
	sent     []uint64 // by part that is on its way in the step
	want     []uint64
	when     [2]int32 // phase and step reached
	stop     halt.When
}

func newSums(s *Steps, stop halt.When) *sums {
	z := &sums{plan: s, n: s.GPUs, parts: int(s.Parts), words: (s.GPUs + 63) / 64, stop: stop}
	z.sum, z.want = make([]uint64, z.n*z.parts*z.words), make([]uint64, z.words)
	if slices.ContainsFunc(s.Phases, func(f Phase) bool { return f.Kind == Exchange }) {
		z.term, z.has = make([]uint64, len(z.sum)), make([]uint64, len(z.sum))
	}
	return z
}

// set returns the set of a GPU and part.
func (z *sums) set(of []uint64, gpu int32, part int32) []uint64 {
	at := (int(gpu)*z.parts + int(part)) * z.words
	return of[at : at+z.words]
}

func (z *sums) shard(s int32, list []moved) error {
	gathers := z.plan.Op == collective.AllGather
	clear(z.sum)
	clear(z.want)
	for u := range int32(z.n) {
		if gathers && u != s {
			continue
		}
		z.want[u/64] |= 1 << (u % 64)
		for p := range int32(z.parts) {
			z.set(z.sum, u, p)[u/64] |= 1 << (u % 64)
		}
	}
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
				clear(z.sum)
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
			clear(z.sum)
		}
		if open = f.Open; f.Kind == Exchange && !open {
			z.when = [2]int32{int32(phase), int32(len(f.Longest))}
			if err := z.end(s, int32(phase)); err != nil {
				return err
			}
		}
	}
	z.when = [2]int32{int32(len(z.plan.Phases)), 0}
	for u := range int32(z.n) {
		if z.plan.Op == collective.ReduceScatter && u != s {
			continue
		}
		for p := range int32(z.parts) {
			if got := z.set(z.sum, u, p); !slices.Equal(got, z.want) {
				return broken("GPU %d ends with %d of %d contributions to part %d of shard %d", u, count(got), count(z.want), p, s)
			}
		}
	}
	return nil
}

// step sends all pieces of a step, as they were when it began, and then delivers them.
func (z *sums) step(s int32, kind Kind, list []moved) error {
	z.sent = z.sent[:0]
	for i := range list {
		m := &list[i]
		for p := m.from; p < m.to; p++ {
			sum := z.set(z.sum, m.fromGPU, p)
			switch {
			case kind == Exchange && !holds(z.set(z.has, m.fromGPU, p), m.origin):
				return broken("%v: GPU %d does not have GPU %d's sum of part %d of shard %d when the step begins", m, m.fromGPU, m.origin, p, s)
			case kind == Gather && !slices.Equal(sum, z.want):
				return broken("%v: GPU %d has %d of %d contributions to part %d of shard %d when the step begins", m, m.fromGPU, count(sum), count(z.want), p, s)
			case (kind == Scatter || kind == Fold) && count(sum) == 0:
				return broken("%v: GPU %d has sent away its sum of part %d of shard %d before, or now", m, m.fromGPU, p, s)
			}
			z.sent = append(z.sent, sum...)
			if kind == Scatter {
				clear(sum)
			}
		}
	}
	if kind == Fold {
		clear(z.sum)
	}
	next := z.sent
	for i := range list {
		m := &list[i]
		for p := m.from; p < m.to; p++ {
			got := next[:z.words]
			next = next[z.words:]
			sum := z.set(z.sum, m.toGPU, p)
			switch kind {
			case Gather:
				copy(sum, got)
			case Scatter, Fold:
				if u := add(sum, got); u >= 0 {
					return broken("%v: the contribution of GPU %d to part %d of shard %d is counted twice", m, u, p, s)
				}
			case Exchange:
				has := z.set(z.has, m.toGPU, p)
				if holds(has, m.origin) {
					return broken("%v: GPU %d has GPU %d's sum of part %d of shard %d already: it is counted twice", m, m.toGPU, m.origin, p, s)
				}
				has[m.origin/64] |= 1 << (m.origin % 64)
			}
		}
	}
	return nil
}

// begin starts an exchange: everyone has its own term.
func (z *sums) begin() {
	copy(z.term, z.sum)
	clear(z.has)
	for u := range int32(z.n) {
		for p := range int32(z.parts) {
			if count(z.set(z.sum, u, p)) > 0 {
				z.set(z.has, u, p)[u/64] |= 1 << (u % 64)
			}
		}
	}
}

// end adds up the terms of an exchange.
func (z *sums) end(s, phase int32) error {
	for u := range int32(z.n) {
		for p := range int32(z.parts) {
			sum := z.set(z.sum, u, p)
			clear(sum)
			z.stop.Check()
			for o := range int32(z.n) {
				if !holds(z.set(z.has, u, p), o) {
					continue
				}
				if twice := add(sum, z.set(z.term, o, p)); twice >= 0 {
					return broken("phase %d: GPU %d counts the contribution of GPU %d to part %d of shard %d twice, once in the sum of GPU %d", phase, u, twice, p, s, o)
				}
			}
		}
	}
	return nil
}

func holds(set []uint64, u int32) bool { return set[u/64]>>(u%64)&1 > 0 }

func count(set []uint64) int {
	n := 0
	for _, w := range set {
		n += bits.OnesCount64(w)
	}
	return n
}

// add adds a set to a sum; it returns the first that is in both, else -1.
func add(sum, set []uint64) int {
	for i, w := range set {
		if both := sum[i] & w; both != 0 {
			return i*64 + bits.TrailingZeros64(both)
		}
		sum[i] |= w
	}
	return -1
}
