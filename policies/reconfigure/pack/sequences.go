package pack

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

const (
	// Of few permutations, kept sequences are worth a schedule if their hops exceed the least by margin at most (twice
	// as many of one topology, where loads depend most on it); of more, hops foretell slots well enough.
	kept   = 2
	few    = 12
	margin = 0.05
	// With relaying, those of one topology whose hops exceed the least by near at most, and of up to small GPUs all,
	// are also scheduled with paths sought in the order of relaying, though none relays: of equal paths it finds others
	// first. Among more GPUs than many there are enough paths that it ends alike.
	near  = 0.01
	small = 32
	many  = 128
	// unlike is by what share n topologies that do not look at the demand take more slots than their hops tell, against
	// those that group demands of like sizes: most of it waste in phases of different loads. Measured at n = 64.
	unlike = 0.1
)

// maker makes sequences for unequal demand, of each of the wanted numbers of topologies. It takes those that suit
// uniform demand (base, of any number of topologies, beside circulants of its own), relabels them, and with relay
// chooses some of their permutations anew where that saves hops (the paper builds on symmetry alone, Sec. 4.3; demand
// that differs much has none). With relay it grows large ones from small ones, by the permutations that save most hops:
// matchings that give the largest demands links of their own, so that at last all go straight. Of each number of topologies it
// returns the one with the least hops, and where another has at most some more, that too. Sequences of base in which
// some GPUs cannot reach others are left out.
type maker struct {
	p     *plan.Problem
	base  []Sequence
	relay bool
	found [][]made // by number of topologies
	// wanted numbers of topologies, and those whose sequences of base are there, relabelled.
	wanted  []bool
	based   []bool
	growth  *growth
	workers int
	stop    halt.When
}

type made struct {
	Sequence
	hops  int64   // of all chunks
	score float64 // the least is best
	again bool    // to be scheduled by another order of paths too
}

// newMaker checks what it is given.
func newMaker(p *plan.Problem, start Start, relay bool) (*maker, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	for _, s := range start.Base {
		if err := check(p, s); err != nil {
			return nil, err
		}
	}
	most := 0
	for _, d := range start.Counts {
		if d < 1 {
			return nil, fmt.Errorf("%w: a sequence of %d topologies; the initial one counts, so it takes 1", plan.ErrProblem, d)
		}
		most = max(most, d)
	}
	m := &maker{p: p, base: start.Base, relay: relay, found: make([][]made, most+1), wanted: make([]bool, most+1), based: make([]bool, most+1)}
	for _, d := range start.Counts {
		m.wanted[d] = true
	}
	return m, nil
}

// make finds sequences of all numbers of topologies. Without relaying only those of one topology are grown.
func (m *maker) make() error {
	most := len(m.found) - 1
	if m.relay {
		return m.extend(most, m.base)
	}
	m.relabelled(2, most, m.base)
	if most == 0 || !m.wanted[1] {
		return nil
	}
	return m.extend(1, m.base)
}

// extend goes on to sequences of up to most topologies, with relaying or of one, from those of base among others.
func (m *maker) extend(most int, base []Sequence) error {
	m.relabelled(1, most, base)
	if m.growth == nil {
		// A ring reaches all GPUs.
		ring, _, err := Sequence{Topologies: []scaleup.Topology{scaleup.Circulant(m.p.GPUs, 1)}}.relabelled(m.p, m.relay, m.stop)
		if err != nil {
			return err
		}
		m.growth = newGrowth(m.p, ring.Topologies, m.stop)
	}
	m.grow(most)
	return nil
}

// list returns the sequences that are worth a schedule.
func (m *maker) list() (list []made) {
	for d := range m.found {
		list = append(list, m.of(d)...)
	}
	return list
}

// of returns those of d topologies.
func (m *maker) of(d int) (list []made) {
	same := func(a, b made) bool { return slices.EqualFunc(a.Topologies, b.Topologies, slices.Equal) }
	found := m.found[d]
	for j, s := range found {
		if (j == 0 || j < kept && d*m.p.Degree <= few || j < 2*kept && d == 1) && s.score <= (1+margin)*found[0].score &&
			!slices.ContainsFunc(found[:j], func(o made) bool { return same(s, o) }) {
			s.again = d == 1 && m.relay && (m.p.GPUs <= small || m.p.GPUs <= many && s.score <= (1+near)*found[0].score)
			list = append(list, s)
		}
	}
	return list
}

// sort orders the sequences of d topologies by hops.
func (m *maker) sort(d int) {
	slices.SortStableFunc(m.found[d], func(a, b made) int { return cmp.Compare(a.score, b.score) })
}

// relabelled adds sequences of base and its own, relabelled, of from least to most topologies where they are not there
// yet, and sorts them; those in which some GPUs cannot reach others it drops.
func (m *maker) relabelled(least, most int, base []Sequence) {
	own := shifts(m.p.GPUs, m.p.Degree, most, m.relay, m.stop)
	if m.p.Degree > 1 {
		own = append(own, Sequence{"generalised Kautz", []scaleup.Topology{scaleup.GeneralizedKautz(m.p.GPUs, m.p.Degree)}})
	}
	list := slices.DeleteFunc(slices.Concat(base, own), func(s Sequence) bool {
		d := len(s.Topologies)
		return d < least || d > most || !m.wanted[d] || m.based[d]
	})
	type result struct {
		s    Sequence
		hops int64
		err  error
	}
	done := make([]result, len(list))
	parallel(m.workers, len(list), m.stop, func(_ *worker, i int) {
		r := &done[i]
		r.s, r.hops, r.err = list[i].relabelled(m.p, m.relay, m.stop)
	})
	for _, r := range done {
		if r.err == nil {
			m.add(r.s, r.hops, 1)
		}
	}
	for d := least; d <= most; d++ {
		if !m.based[d] {
			m.based[d] = true
			m.sort(d)
		}
	}
}

// add keeps a sequence; regular is the share of its topologies that do not look at the demand.
func (m *maker) add(s Sequence, hops int64, regular float64) {
	d := len(s.Topologies)
	if !m.wanted[d] {
		return
	}
	far := min(1, float64(d*m.p.Degree)/float64(m.p.GPUs))
	m.found[d] = append(m.found[d], made{Sequence: s, hops: hops, score: float64(hops) * (1 + unlike*far*regular)})
}

// growth grows sequences with relaying from those of one topology less.
type growth struct {
	relayed
	random *rand.Rand
	ring   [][][]int32
	grown  [][][]int32 // the best of next-1 topologies
	next   int
}

func newGrowth(p *plan.Problem, ring []scaleup.Topology, stop halt.When) *growth {
	g := &growth{relayed: newRelayed(p.GPUs, p.Degree, p.Chunks), random: rand.New(rand.NewPCG(p.Seed, exchanging)), next: 1}
	g.stop = stop
	g.ring, _ = permutations(ring, p.GPUs, 1)
	g.set(g.ring)
	return g
}

// grows says whether grow may get to so many topologies: each of those before, but for the first, takes 3 k choices of
// permutations.
func (m *maker) grows(d int) bool {
	n, k := m.p.GPUs, m.p.Degree
	return n <= mostPacked && float64(d-2)*float64(3*k)*choice(n) < growWork
}

// choice is the additions that the choice of a permutation takes.
func choice(n int) float64 { return 3 * float64(n) * float64(n) * float64(n) }

// grow renews the best sequences of up to most topologies, and grows others.
func (m *maker) grow(most int) {
	n, k := m.p.GPUs, m.p.Degree
	if n > mostPacked {
		return
	}
	g := m.growth
	finish := func(origin string, times int, sum, was int64) {
		sum = g.renew(times, sum)
		if d := len(g.list); d*k > 1 && d*k <= exchanged {
			for i, phase := range g.list {
				g.list[i] = slices.Clone(phase)
				for j, to := range phase {
					g.list[i][j] = slices.Clone(to)
				}
			}
			sum = g.exchange(min(exchanges, exchangeWork/(n*n*d*k)), g.random, sum)
		}
		if sum < was {
			m.add(Sequence{origin, joined(g.list)}, sum, 0)
		}
	}
	for ; g.next <= most && g.work < growWork; g.next++ {
		d := g.next
		if len(m.found[d]) > 0 && d*k <= renewals {
			s := m.found[d][0]
			if list, ok := permutations(s.Topologies, n, k); ok {
				sum := g.set(list)
				g.turn = 0
				finish(s.Origin+", links chosen anew", d*k, sum, sum)
			}
		}
		switch {
		case d == 1 && k > 1:
			g.set(g.ring)
			g.turn = 0
			g.fill(0, k)
			finish("permutations that save most hops", 4*k, g.set(g.list), math.MaxInt64)
		case g.grown != nil:
			g.set(slices.Insert(g.grown, len(g.grown)/2, nil))
			g.fill(len(g.grown)/2, k)
			finish("permutations that save most hops", 2*k, g.set(g.list), math.MaxInt64)
		}
		m.sort(d)
		g.grown = g.list
		if len(m.found[d]) > 0 {
			if list, ok := permutations(m.found[d][0].Topologies, n, k); ok {
				g.grown = list
			}
		}
	}
}

const (
	// renewals: sequences of so many permutations at most are renewed; those grown are as good from about there on.
	renewals = 24
	// exchanged is the most permutations in which destinations are exchanged one by one; exchanges how often at most,
	// and exchangeWork bounds that by the time it takes.
	exchanged    = 8
	exchanges    = 2000
	exchangeWork = 1 << 24
	// exchanging names the stream of random numbers.
	exchanging = 0x65786368616e6765
)

// growWork bounds the additions that the choice of permutations takes; large ones are left to the relabelled. Only tests
// change it.
var growWork = float64(1 << 32)
