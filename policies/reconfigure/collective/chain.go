package collective

import (
	"cmp"
	"slices"

	"sim/policies/reconfigure/cancellation"
)

// A chain of subgroups {0} = H_0 < H_1 < .. < H_m = Z_n gathers by stages. Before stage j, every GPU
// u has the shards of u+H_{j-1}. The stage is an all-gather among the cosets of H_{j-1} in H_j, which
// form a group Z_q. Each ordered factorisation of n is a chain, and n itself is a chain with one
// stage. The subgroup of order h consists of the multiples of n/h.

// chainStage is a stage in a chain, from the subgroup of order below to the one of order below*q.
type chainStage struct {
	*stage // the all-gather on Z_q: q, phases, and its costs steps and parts
	below  int
}

// planCriteria has the values by which plans are compared for all delays.
type planCriteria struct {
	phases, steps int
	parts         int64 // parts of shards on the most loaded link, summed over steps
}

// plus returns the sum of two costs.
func (c planCriteria) plus(d planCriteria) planCriteria {
	return planCriteria{phases: c.phases + d.phases, steps: c.steps + d.steps, parts: c.parts + d.parts}
}

// frontier returns the elements that no other one matches or beats in phases, steps and parts,
// sorted by phases and steps. Of equal elements it keeps the first.
func frontier[T any](all []T, costOf func(T) planCriteria) (result []T) {
	slices.SortStableFunc(all, func(a, b T) int {
		x, y := costOf(a), costOf(b)
		return cmp.Or(cmp.Compare(x.phases, y.phases), cmp.Compare(x.steps, y.steps),
			cmp.Compare(x.parts, y.parts))
	})
	for _, o := range all {
		c := costOf(o)
		if !slices.ContainsFunc(result, func(k T) bool {
			return costOf(k).steps <= c.steps && costOf(k).parts <= c.parts
		}) {
			result = append(result, o)
		}
	}

	return result
}

// chain is a chain of stages, as a linked list from the innermost stage to the outermost.
type chain struct {
	planCriteria            // of all stages
	stage        chainStage // the innermost stage
	rest         *chain     // the other stages; nil if the chain is empty and has no stage either
}

// total returns the cost of a chain.
func (c *chain) total() planCriteria { return c.planCriteria }

// stages returns the stages of a chain, the innermost first.
func (c *chain) stages() (list []chainStage) {
	for ; c.rest != nil; c = c.rest {
		list = append(list, c.stage)
	}
	return list
}

// chainTable computes and caches the frontiers of chains of a problem.
type chainTable struct {
	n        int
	divisors []int
	stages   map[int][]*stage // the frontier of all-gathers on Z_q, by divisor q of n
	cached   map[chainKey][]*chain
	stop     cancellation.Condition
}

// chainKey is a key of chainTable.cached: chains from the subgroup of order low to the one of order
// high.
type chainKey struct {
	low, high int
	data      chainData
}

// chainData is the kind of data that the stages of a chain send.
type chainData uint8

const (
	shardData  chainData = iota // all-gathers of shards
	vectorData                  // exchanges of whole vectors
)

// newChainTable computes the stages for all divisors of n.
func newChainTable(n, k int, parts int32, stop cancellation.Condition) *chainTable {
	t := &chainTable{
		n:      n,
		stages: map[int][]*stage{},
		cached: map[chainKey][]*chain{},
		stop:   stop,
	}

	bases := stampBases(k, n)
	for h := 1; h <= n; h++ {
		if n%h == 0 {
			t.divisors = append(t.divisors, h)
			if h > 1 {
				t.stages[h] = newStages(h, k, parts, bases, stop)
			}
		}
	}

	return t
}

// gatherChains returns the frontier of chains of all-gathers from the subgroup of order low to
// the whole group.
func (t *chainTable) gatherChains(low int) []*chain { return t.chains(low, t.n, shardData) }

// exchangeChains returns the frontier of chains of exchanges among the GPUs of each coset of the
// subgroup of order h. They exchange whole vectors of h shards; see chains.
func (t *chainTable) exchangeChains(h int) []*chain { return t.chains(1, h, vectorData) }

// chains returns the frontier of chains from the subgroup of order low to the one of order high.
// With vectorData, the chains are exchanges: they leave the GPUs of a coset with the sum of their
// vectors of high shards. In each stage, a GPU forwards whole vectors and then sums them. This is
// recursive doubling, with more than two vectors at a time if there are enough links (Thakur et
// al., "Optimization of collective communication operations in MPICH", 2005).
func (t *chainTable) chains(low, high int, data chainData) []*chain {
	if low == high {
		return []*chain{{}} // the empty chain
	}
	key := chainKey{low, high, data}
	if list, ok := t.cached[key]; ok {
		return list
	}

	// One shard in the costs of a stage stands for several shards of the problem.
	shards := int64(low)
	if data == vectorData {
		shards = int64(high)
	}

	var all []*chain
	for _, q := range t.divisors[1:] {
		if high/low%q != 0 {
			continue
		}
		t.stop.Check()
		for _, s := range t.stages[q] {
			cost := planCriteria{phases: len(s.phases), steps: s.steps, parts: shards * s.parts}
			for _, rest := range t.chains(low*q, high, data) {
				all = append(all, &chain{
					planCriteria: rest.plus(cost),
					stage:        chainStage{stage: s, below: low},
					rest:         rest,
				})
			}
		}
	}

	t.cached[key] = frontier(all, (*chain).total)
	return t.cached[key]
}
