package pack

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

const (
	// Several sequences of one number of topologies are scheduled if they have at most
	// maxPermutationsForSeveral permutations and their score is within scoreMargin of the
	// lowest. The limit is maxSchedulesPerCount, and twice as many for one topology, where
	// the loads depend most on the sequence. With more permutations, the hops predict the
	// slots well enough.
	maxSchedulesPerCount      = 2
	maxPermutationsForSeveral = 12
	scoreMargin               = 0.05
	// With relaying, sequences of one topology are also scheduled with the path search of
	// relaying, although no chunk relays. Of equal paths it finds other ones first. This
	// applies to all sequences for up to maxGPUsForBothSearches GPUs. For up to
	// maxGPUsForBothSearchesIfNear GPUs it applies if the score is within bothSearchesMargin
	// of the lowest. With more GPUs there are enough paths that both searches give equal
	// results.
	bothSearchesMargin           = 0.01
	maxGPUsForBothSearches       = 32
	maxGPUsForBothSearchesIfNear = 128
	// imbalancePenalty is the share by which n topologies that ignore the demand take more
	// slots than their hops predict, compared with topologies that group demands of similar
	// size. Most of it is idle time in phases with different loads. It was measured at n =
	// 64.
	imbalancePenalty = 0.1
)

// sequenceBuilder builds sequences for unequal demand, for each of the wanted numbers of
// topologies, in three steps:
//
//   - It relabels sequences that suit uniform demand: the sequences of base, and
//     further circulants.
//   - With relaying, it replaces permutations of these sequences if this saves hops. The
//     paper uses symmetry only (Sec. 4.3), but very unequal demand has none.
//   - With relaying, it grows sequences from shorter ones by the permutations that save
//     most hops. These are matchings that give the largest demands links of their own,
//     until all chunks take one hop.
//
// For each number of topologies it selects the sequence with the lowest score, and others
// close to it. Sequences of base in which some GPUs cannot reach others are left out.
type sequenceBuilder struct {
	problem   *plan.Problem
	base      []Sequence
	relay     bool
	sequences [][]scoredSequence // indexed by number of topologies
	// Indexed by number of topologies: whether it is wanted, and whether its relabelled
	// sequences are built.
	isWanted      []bool
	hasRelabelled []bool
	growth        *sequenceGrowth
	workers       int
	stop          cancellation.Condition
}

// scoredSequence is a sequence with a prediction of its slots.
type scoredSequence struct {
	Sequence
	hops              int64   // hops of all chunks
	score             float64 // hops with the penalty of sequenceBuilder.add; lower is better
	triesBothSearches bool    // also schedule with the path search of relaying
}

// newSequenceBuilder checks the problem, the sequences of base, and that numbers of
// topologies are at least 1.
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
			return nil, fmt.Errorf("%w: a sequence of %d topologies; it needs at least 1, because the initial topology counts", plan.ErrProblem, d)
		}
		maxCount = max(maxCount, d)
	}

	m := &sequenceBuilder{problem: p, base: spec.Base, relay: relay,
		sequences: make([][]scoredSequence, maxCount+1), isWanted: make([]bool, maxCount+1),
		hasRelabelled: make([]bool, maxCount+1)}
	for _, d := range spec.Counts {
		m.isWanted[d] = true
	}
	return m, nil
}

// build builds sequences of all wanted numbers of topologies. Without relaying, only
// sequences of one topology are grown.
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

// buildUpTo builds sequences of up to maxCount topologies, relabelled and grown. base are
// sequences for uniform demand.
func (m *sequenceBuilder) buildUpTo(maxCount int, base []Sequence) error {
	m.addRelabelled(1, maxCount, base)
	if m.growth == nil {
		// A ring reaches all GPUs.
		ring, _, err := Sequence{Topologies: []scaleup.Topology{
			scaleup.Circulant(m.problem.GPUs, 1)}}.relabel(m.problem, m.relay, m.stop)
		if err != nil {
			return err
		}
		m.growth = newGrowth(m.problem, ring.Topologies, m.stop)
	}

	m.grow(maxCount)
	return nil
}

// selected returns the sequences to schedule.
func (m *sequenceBuilder) selected() (list []scoredSequence) {
	for d := range m.sequences {
		list = append(list, m.selectedOf(d)...)
	}
	return list
}

// selectedOf returns the sequences of d topologies to schedule.
func (m *sequenceBuilder) selectedOf(d int) (list []scoredSequence) {
	equal := func(a, b scoredSequence) bool {
		return slices.EqualFunc(a.Topologies, b.Topologies, slices.Equal)
	}
	found := m.sequences[d]
	for j, s := range found {
		if (j == 0 || j < maxSchedulesPerCount && d*m.problem.Degree <= maxPermutationsForSeveral ||
			j < 2*maxSchedulesPerCount && d == 1) && s.score <= (1+scoreMargin)*found[0].score &&
			!slices.ContainsFunc(found[:j], func(o scoredSequence) bool { return equal(s, o) }) {
			s.triesBothSearches = d == 1 && m.relay &&
				(m.problem.GPUs <= maxGPUsForBothSearches ||
					m.problem.GPUs <= maxGPUsForBothSearchesIfNear &&
						s.score <= (1+bothSearchesMargin)*found[0].score)
			list = append(list, s)
		}
	}

	return list
}

// sortByScore sorts the sequences of d topologies.
func (m *sequenceBuilder) sortByScore(d int) {
	slices.SortStableFunc(m.sequences[d], func(a, b scoredSequence) int {
		return cmp.Compare(a.score, b.score)
	})
}

// addRelabelled adds the relabelled sequences of base, and circulants and generalised Kautz
// graphs, with minCount to maxCount topologies, unless they have been added before. It
// leaves out sequences in which some GPUs cannot reach others.
func (m *sequenceBuilder) addRelabelled(minCount, maxCount int, base []Sequence) {
	circulants := circulantSequences(m.problem.GPUs, m.problem.Degree, maxCount, m.relay, m.stop)
	if m.problem.Degree > 1 {
		kautz := scaleup.GeneralizedKautz(m.problem.GPUs, m.problem.Degree)
		circulants = append(circulants, Sequence{Origin: "generalised Kautz",
			Topologies: []scaleup.Topology{kautz}})
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
			m.add(r.s, r.hops, allRegular)
		}
	}

	for d := minCount; d <= maxCount; d++ {
		if !m.hasRelabelled[d] {
			m.hasRelabelled[d] = true
			m.sortByScore(d)
		}
	}
}

// Values of the parameter regularShare of add.
const (
	allRegular  = 1.0
	noneRegular = 0.0
)

// add adds a sequence. regularShare is the share of its topologies that were chosen without
// regard to the demand. Its penalty grows with the share of pairs that could have a link of
// their own.
func (m *sequenceBuilder) add(s Sequence, hops int64, regularShare float64) {
	d := len(s.Topologies)
	if !m.isWanted[d] {
		return
	}
	directShare := min(1, float64(d*m.problem.Degree)/float64(m.problem.GPUs))
	m.sequences[d] = append(m.sequences[d], scoredSequence{Sequence: s, hops: hops,
		score: float64(hops) * (1 + imbalancePenalty*directShare*regularShare)})
}

// sequenceGrowth grows sequences with relaying from sequences with one topology fewer.
type sequenceGrowth struct {
	permutationSearch // optimises the current sequence phases; turn and work are its state
	random            *rand.Rand
	ring              [][][]int32 // initial sequence: phases, each of permutations
	grown             [][][]int32 // best sequence of next-1 topologies
	next              int         // number of topologies to be built next
}

// newGrowth returns the growth from a ring. ring has one topology of one permutation.
func newGrowth(p *plan.Problem, ring []scaleup.Topology, stop cancellation.Condition) *sequenceGrowth {
	g := &sequenceGrowth{permutationSearch: newPermutationSearch(p.GPUs, p.Degree, p.Chunks),
		random: rand.New(rand.NewPCG(p.Seed, exchangeStream)), next: 1}
	g.stop = stop
	const degree = 1
	g.ring, _ = splitPermutations(ring, p.GPUs, degree)
	g.reset(g.ring)
	return g
}

// canGrow reports whether grow may reach d topologies within maxGrowWork. Each number
// except the first takes 3 k choices of permutations.
func (m *sequenceBuilder) canGrow(d int) bool {
	n, k := m.problem.GPUs, m.problem.Degree
	return n <= maxMatrixGPUs && float64(d-2)*float64(3*k)*choiceWork(n) < maxGrowWork
}

// choiceWork is the number of additions to choose one permutation.
func choiceWork(n int) float64 { return 3 * float64(n) * float64(n) * float64(n) }

// grow reoptimises the best sequences of up to maxCount topologies, and grows others.
func (m *sequenceBuilder) grow(maxCount int) {
	n, k := m.problem.GPUs, m.problem.Degree
	if n > maxMatrixGPUs {
		return
	}
	g := m.growth

	// finish reoptimises the current sequence the given number of times, then exchanges
	// single destinations, and adds the sequence if its hops fell below previous.
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
			m.add(Sequence{Origin: origin, Topologies: joinPermutations(g.phases)}, sum, noneRegular)
		}
	}

	for ; g.next <= maxCount && g.work < maxGrowWork; g.next++ {
		// Reoptimise the best sequence of d topologies so far.
		d := g.next
		if len(m.sequences[d]) > 0 && d*k <= maxRenewedPermutations {
			s := m.sequences[d][0]
			if list, ok := splitPermutations(s.Topologies, n, k); ok {
				sum := g.reset(list)
				g.turn = 0
				finish(s.Origin+", links chosen anew", d*k, sum, sum)
			}
		}

		// Grow a sequence: add permutations to the ring, or a topology in the middle of the best
		// sequence of d-1 topologies.
		const isNew = math.MaxInt64 // as previous hops: add the sequence in any case
		switch {
		case d == 1 && k > 1:
			g.reset(g.ring)
			g.turn = 0
			const phase = 0
			g.fill(phase, k)
			finish("permutations that save most hops", 4*k, g.reset(g.phases), isNew)
		case g.grown != nil:
			middle := len(g.grown) / 2
			var newPhase [][]int32 // fill adds its permutations
			g.reset(slices.Insert(g.grown, middle, newPhase))
			g.fill(middle, k)
			finish("permutations that save most hops", 2*k, g.reset(g.phases), isNew)
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
	// maxRenewedPermutations limits the sequences of addRelabelled that are reoptimised.
	// Above about this number of permutations, grown sequences are as good.
	maxRenewedPermutations = 24
	// maxExchangedPermutations limits the sequences in which single destinations are
	// exchanged. maxExchanges limits the number of exchanges, and maxExchangeWork limits it
	// by the time that they take.
	maxExchangedPermutations = 8
	maxExchanges             = 2000
	maxExchangeWork          = 1 << 24
	// exchangeStream separates the random numbers of exchanges from others with the same seed:
	// "exchange" in ASCII.
	exchangeStream = 0x65786368616e6765
)

// maxGrowWork limits the additions to choose permutations (choiceWork each). Larger numbers of
// topologies have relabelled sequences only. It is a variable for tests.
var maxGrowWork = float64(1 << 32)
