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
	maxSchedulesPerCount      = 2
	maxPermutationsForSeveral = 12
	scoreMargin               = 0.05
	// With relaying, those of one topology whose hops exceed the least by near at most, and of up to small GPUs all,
	// are also scheduled with paths sought in the order of relaying, though none relays: of equal paths it finds others
	// first. Among more GPUs than many there are enough paths that it ends alike.
	bothOrdersMargin           = 0.01
	maxGPUsForBothOrders       = 32
	maxGPUsForBothOrdersIfNear = 128
	// imbalancePenalty is by what share n topologies that do not look at the demand take more slots than their hops tell, against
	// those that group demands of like sizes: most of it waste in phases of different loads. Measured at n = 64.
	imbalancePenalty = 0.1
)

// sequenceBuilder makes sequences for unequal demand, of each of the wanted numbers of topologies. It takes those that suit
// uniform demand (base, of any number of topologies, beside circulants of its own), relabels them, and with relay
// chooses some of their permutations anew where that saves hops (the paper builds on symmetry alone, Sec. 4.3; demand
// that differs much has none). With relay it grows large ones from small ones, by the permutations that save most hops:
// matchings that give the largest demands links of their own, so that at last all go straight. Of each number of topologies it
// returns the one with the least hops, and where another has at most some more, that too. Sequences of base in which
// some GPUs cannot reach others are left out.
type sequenceBuilder struct {
	problem   *plan.Problem
	base      []Sequence
	relay     bool
	sequences [][]scoredSequence // by number of topologies
	// isWanted numbers of topologies, and those whose sequences of base are there, relabelled.
	isWanted      []bool
	hasRelabelled []bool
	growth        *sequenceGrowth
	workers       int
	stop          halt.When
}

type scoredSequence struct {
	Sequence
	hops          int64   // of all chunks
	score         float64 // the least is best
	tryBothOrders bool    // to be scheduled by another order of paths too
}

// newSequenceBuilder checks what it is given.
func newSequenceBuilder(p *plan.Problem, spec SequenceSpec, relay bool) (*sequenceBuilder, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	for _, s := range spec.Base {
		if err := checkSequence(p, s); err != nil {
			return nil, err
		}
	}
	maxCount := 0
	for _, d := range spec.Counts {
		if d < 1 {
			return nil, fmt.Errorf("%w: a sequence of %d topologies; the initial one counts, so it takes 1", plan.ErrProblem, d)
		}
		maxCount = max(maxCount, d)
	}
	m := &sequenceBuilder{problem: p, base: spec.Base, relay: relay, sequences: make([][]scoredSequence, maxCount+1), isWanted: make([]bool, maxCount+1), hasRelabelled: make([]bool, maxCount+1)}
	for _, d := range spec.Counts {
		m.isWanted[d] = true
	}
	return m, nil
}

// build finds sequences of all numbers of topologies. Without relaying only those of one topology are grown.
func (m *sequenceBuilder) build() error {
	maxCount := len(m.sequences) - 1
	if m.relay {
		return m.buildUpTo(maxCount, m.base)
	}
	m.addRelabelled(2, maxCount, m.base)
	if maxCount == 0 || !m.isWanted[1] {
		return nil
	}
	return m.buildUpTo(1, m.base)
}

// buildUpTo goes on to sequences of up to most topologies, with relaying or of one, from those of base among others.
func (m *sequenceBuilder) buildUpTo(maxCount int, base []Sequence) error {
	m.addRelabelled(1, maxCount, base)
	if m.growth == nil {
		// A ring reaches all GPUs.
		ring, _, err := Sequence{Topologies: []scaleup.Topology{scaleup.Circulant(m.problem.GPUs, 1)}}.relabel(m.problem, m.relay, m.stop)
		if err != nil {
			return err
		}
		m.growth = newGrowth(m.problem, ring.Topologies, m.stop)
	}
	m.grow(maxCount)
	return nil
}

// selected returns the sequences that are worth a schedule.
func (m *sequenceBuilder) selected() (list []scoredSequence) {
	for d := range m.sequences {
		list = append(list, m.selectedOf(d)...)
	}
	return list
}

// selectedOf returns those of d topologies.
func (m *sequenceBuilder) selectedOf(d int) (list []scoredSequence) {
	equal := func(a, b scoredSequence) bool { return slices.EqualFunc(a.Topologies, b.Topologies, slices.Equal) }
	found := m.sequences[d]
	for j, s := range found {
		if (j == 0 || j < maxSchedulesPerCount && d*m.problem.Degree <= maxPermutationsForSeveral || j < 2*maxSchedulesPerCount && d == 1) && s.score <= (1+scoreMargin)*found[0].score &&
			!slices.ContainsFunc(found[:j], func(o scoredSequence) bool { return equal(s, o) }) {
			s.tryBothOrders = d == 1 && m.relay && (m.problem.GPUs <= maxGPUsForBothOrders || m.problem.GPUs <= maxGPUsForBothOrdersIfNear && s.score <= (1+bothOrdersMargin)*found[0].score)
			list = append(list, s)
		}
	}
	return list
}

// sortByScore orders the sequences of d topologies by hops.
func (m *sequenceBuilder) sortByScore(d int) {
	slices.SortStableFunc(m.sequences[d], func(a, b scoredSequence) int { return cmp.Compare(a.score, b.score) })
}

// addRelabelled adds sequences of base and its own, relabelled, of from least to most topologies where they are not there
// yet, and sorts them; those in which some GPUs cannot reach others it drops.
func (m *sequenceBuilder) addRelabelled(minCount, maxCount int, base []Sequence) {
	circulants := circulantSequences(m.problem.GPUs, m.problem.Degree, maxCount, m.relay, m.stop)
	if m.problem.Degree > 1 {
		circulants = append(circulants, Sequence{"generalised Kautz", []scaleup.Topology{scaleup.GeneralizedKautz(m.problem.GPUs, m.problem.Degree)}})
	}
	list := slices.DeleteFunc(slices.Concat(base, circulants), func(s Sequence) bool {
		d := len(s.Topologies)
		return d < minCount || d > maxCount || !m.isWanted[d] || m.hasRelabelled[d]
	})
	type result struct {
		s    Sequence
		hops int64
		err  error
	}
	results := make([]result, len(list))
	parallel(m.workers, len(list), m.stop, func(_ *scheduleWorker, i int) {
		r := &results[i]
		r.s, r.hops, r.err = list[i].relabel(m.problem, m.relay, m.stop)
	})
	for _, r := range results {
		if r.err == nil {
			m.add(r.s, r.hops, 1)
		}
	}
	for d := minCount; d <= maxCount; d++ {
		if !m.hasRelabelled[d] {
			m.hasRelabelled[d] = true
			m.sortByScore(d)
		}
	}
}

// add keeps a sequence; regular is the share of its topologies that do not look at the demand.
func (m *sequenceBuilder) add(s Sequence, hops int64, regularShare float64) {
	d := len(s.Topologies)
	if !m.isWanted[d] {
		return
	}
	directShare := min(1, float64(d*m.problem.Degree)/float64(m.problem.GPUs))
	m.sequences[d] = append(m.sequences[d], scoredSequence{Sequence: s, hops: hops, score: float64(hops) * (1 + imbalancePenalty*directShare*regularShare)})
}

// sequenceGrowth grows sequences with relaying from those of one topology less.
type sequenceGrowth struct {
	permutationSearch
	random *rand.Rand
	ring   [][][]int32
	grown  [][][]int32 // the best of next-1 topologies
	next   int
}

func newGrowth(p *plan.Problem, ring []scaleup.Topology, stop halt.When) *sequenceGrowth {
	g := &sequenceGrowth{permutationSearch: newPermutationSearch(p.GPUs, p.Degree, p.Chunks), random: rand.New(rand.NewPCG(p.Seed, exchangeStream)), next: 1}
	g.stop = stop
	g.ring, _ = splitPermutations(ring, p.GPUs, 1)
	g.reset(g.ring)
	return g
}

// canGrow says whether grow may get to so many topologies: each of those before, but for the first, takes 3 k choices of
// permutations.
func (m *sequenceBuilder) canGrow(d int) bool {
	n, k := m.problem.GPUs, m.problem.Degree
	return n <= maxMatrixGPUs && float64(d-2)*float64(3*k)*choiceWork(n) < maxGrowWork
}

// choiceWork is the additions that the choice of a permutation takes.
func choiceWork(n int) float64 { return 3 * float64(n) * float64(n) * float64(n) }

// grow renews the best sequences of up to most topologies, and grows others.
func (m *sequenceBuilder) grow(maxCount int) {
	n, k := m.problem.GPUs, m.problem.Degree
	if n > maxMatrixGPUs {
		return
	}
	g := m.growth
	finish := func(origin string, times int, sum, previous int64) {
		sum = g.reoptimise(times, sum)
		if d := len(g.phases); d*k > 1 && d*k <= maxExchangedPermutations {
			for i, phase := range g.phases {
				g.phases[i] = slices.Clone(phase)
				for j, to := range phase {
					g.phases[i][j] = slices.Clone(to)
				}
			}
			sum = g.exchange(min(maxExchanges, maxExchangeWork/(n*n*d*k)), g.random, sum)
		}
		if sum < previous {
			m.add(Sequence{origin, joinPermutations(g.phases)}, sum, 0)
		}
	}
	for ; g.next <= maxCount && g.work < maxGrowWork; g.next++ {
		d := g.next
		if len(m.sequences[d]) > 0 && d*k <= maxRenewedPermutations {
			s := m.sequences[d][0]
			if list, ok := splitPermutations(s.Topologies, n, k); ok {
				sum := g.reset(list)
				g.turn = 0
				finish(s.Origin+", links chosen anew", d*k, sum, sum)
			}
		}
		switch {
		case d == 1 && k > 1:
			g.reset(g.ring)
			g.turn = 0
			g.fill(0, k)
			finish("permutations that save most hops", 4*k, g.reset(g.phases), math.MaxInt64)
		case g.grown != nil:
			g.reset(slices.Insert(g.grown, len(g.grown)/2, nil))
			g.fill(len(g.grown)/2, k)
			finish("permutations that save most hops", 2*k, g.reset(g.phases), math.MaxInt64)
		}
		m.sortByScore(d)
		g.grown = g.phases
		if len(m.sequences[d]) > 0 {
			if list, ok := splitPermutations(m.sequences[d][0].Topologies, n, k); ok {
				g.grown = list
			}
		}
	}
}

const (
	// renewals: sequences of so many permutations at most are renewed; those grown are as good from about there on.
	maxRenewedPermutations = 24
	// maxExchangedPermutations is the most permutations in which destinations are exchanged one by one; exchanges how often at most,
	// and exchangeWork bounds that by the time it takes.
	maxExchangedPermutations = 8
	maxExchanges             = 2000
	maxExchangeWork          = 1 << 24
	// exchangeStream names the stream of random numbers.
	exchangeStream = 0x65786368616e6765
)

// maxGrowWork bounds the additions that the choice of permutations takes; large ones are left to the relabelled. Only tests
// change it.
var maxGrowWork = float64(1 << 32)
