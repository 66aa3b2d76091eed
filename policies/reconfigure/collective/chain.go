package collective

import (
	"cmp"
	"slices"

	"sim/policies/reconfigure/halt"
)

// A chain of subgroups {0} = H_0 < H_1 < .. < H_m = Z_n gathers by stages: before stage j every GPU u has the shards of
// u+H_{j-1}, and the stage is an all-gather among the cosets of H_{j-1} in H_j, which are a Z_q. So ordered
// factorisations of n are chains, and n itself a chain of one. (H of order h is the multiples of n/h.)

// chainStage is a stage in a chain: from the subgroup of order below to that of order below*q.
type chainStage struct {
	*stage
	below int
}

// cost is what plans are compared by, whatever the delay.
type cost struct {
	phases, steps int
	parts         int64 // of a shard, on the fullest link, summed over steps
}

func (c cost) plus(d cost) cost {
	return cost{c.phases + d.phases, c.steps + d.steps, c.parts + d.parts}
}

// frontier keeps what no other beats in phases, steps and parts alike, by rising phases and steps; of equal ones the
// first.
func frontier[T any](all []T, costOf func(T) cost) (kept []T) {
	slices.SortStableFunc(all, func(a, b T) int {
		x, y := costOf(a), costOf(b)
		return cmp.Or(cmp.Compare(x.phases, y.phases), cmp.Compare(x.steps, y.steps), cmp.Compare(x.parts, y.parts))
	})
	for _, o := range all {
		c := costOf(o)
		if !slices.ContainsFunc(kept, func(k T) bool { return costOf(k).steps <= c.steps && costOf(k).parts <= c.parts }) {
			kept = append(kept, o)
		}
	}
	return kept
}

// chain is a chain's cost and its stages, the inner one first; rest is nil where it ends.
type chain struct {
	cost
	stage chainStage
	rest  *chain
}

func (c *chain) total() cost { return c.cost }

// stages returns the stages.
func (c *chain) stages() (list []chainStage) {
	for ; c.rest != nil; c = c.rest {
		list = append(list, c.stage)
	}
	return list
}

// chainTable holds the frontiers of a Problem.
type chainTable struct {
	n        int
	divisors []int
	stages   map[int][]*stage // by divisor
	cached   map[subgroupPair][]*chain
	stop     halt.When
}

// subgroupPair is between two subgroups; with vectors, whole vectors are passed on.
type subgroupPair struct {
	low, high int
	vectors   bool
}

func newChainTable(n, k int, parts int32, stop halt.When) *chainTable {
	t := &chainTable{n: n, stages: map[int][]*stage{}, cached: map[subgroupPair][]*chain{}, stop: stop}
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

// chains returns the chains from the subgroup of order low to that of order high. With vectors they are exchanges, which
// leave the GPUs of a coset with the sum of vectors of high shards: in each stage a GPU passes on whole vectors and then
// sums them (recursive doubling, with more than two at a time where links allow; Thakur et al., "Optimization of
// collective communication operations in MPICH", 2005).
func (t *chainTable) chains(low, high int, vectors bool) []*chain {
	if low == high {
		return []*chain{{}}
	}
	key := subgroupPair{low, high, vectors}
	if list, ok := t.cached[key]; ok {
		return list
	}
	shards := int64(low) // that a GPU passes on for each of the stage
	if vectors {
		shards = int64(high)
	}
	var all []*chain
	for _, q := range t.divisors[1:] {
		if high/low%q != 0 {
			continue
		}
		t.stop.Check()
		for _, s := range t.stages[q] {
			for _, rest := range t.chains(low*q, high, vectors) {
				all = append(all, &chain{rest.plus(cost{len(s.phases), s.steps, shards * s.parts}), chainStage{s, low}, rest})
			}
		}
	}
	t.cached[key] = frontier(all, (*chain).total)
	return t.cached[key]
}
