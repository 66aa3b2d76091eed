package collective

import (
	"cmp"
	"slices"

	"sim/policies/reconfigure/halt"
)

// A chain of subgroups {0} = H_0 < H_1 < .. < H_m = Z_n gathers by stages: before stage j every GPU u has the shards of
// u+H_{j-1}, and the stage is an all-gather among the cosets of H_{j-1} in H_j, which are a Z_q. So ordered
// factorisations of n are chains, and n itself a chain of one. (H of order h is the multiples of n/h.)

// lift is a stage in a chain: from the subgroup of order below to that of order below*q.
type lift struct {
	*stage
	below int
}

// option is a plan's cost, and how to make it: what lies behind it is a list.
type option struct {
	phases, steps int
	parts         int64 // of a shard, on the fullest link, summed over steps
	lift          lift
	rest          *option
}

// table holds the frontiers of a Problem.
type table struct {
	n, k     int
	parts    int32
	divisors []int
	stages   map[int][]*stage  // by divisor
	outer    map[int][]*option // by divisor h: from the subgroup of order h to Z_n, the inner stage first
	whole    map[int][]*option // by divisor h: exchanges up to order h, of vectors of h shards
}

func newTable(n, k int, parts int32, stop halt.When) *table {
	t := &table{n: n, k: k, parts: parts, stages: map[int][]*stage{}, outer: map[int][]*option{}, whole: map[int][]*option{}}
	bases := stampBases(k, n)
	for h := 1; h <= n; h++ {
		if n%h == 0 {
			t.divisors = append(t.divisors, h)
			if h > 1 {
				t.stages[h] = stages(h, k, parts, bases, stop)
			}
		}
	}
	t.outer[n] = []*option{{}}
	for _, h := range slices.Backward(t.divisors[:len(t.divisors)-1]) {
		var all []*option
		for _, q := range t.divisors[1:] {
			if t.n/h%q != 0 {
				continue
			}
			stop.Check()
			for _, s := range t.stages[q] {
				for _, rest := range t.outer[h*q] {
					all = append(all, &option{rest.phases + len(s.courses), rest.steps + s.steps, rest.parts + int64(h)*s.parts, lift{s, h}, rest})
				}
			}
		}
		t.outer[h] = frontier(all)
	}
	return t
}

// exchange returns the exchanges that leave the GPUs of a coset of the subgroup of order h with the sum of vectors of h
// shards, outer stage first: in each stage a GPU passes on whole vectors and then sums them (recursive doubling, with
// more than two at a time where links allow; Thakur et al., "Optimization of collective communication operations in
// MPICH", 2005).
func (t *table) exchange(h int) []*option {
	if h == 1 {
		return []*option{{}}
	}
	if list, ok := t.whole[h]; ok {
		return list
	}
	// upTo[g]: exchanges up to the subgroup of order g.
	upTo := map[int][]*option{1: {{}}}
	for _, g := range t.divisors[1:] {
		if h%g != 0 {
			continue
		}
		var all []*option
		for _, q := range t.divisors[1:] {
			if g%q != 0 {
				continue
			}
			for _, s := range t.stages[q] {
				for _, rest := range upTo[g/q] {
					all = append(all, &option{rest.phases + len(s.courses), rest.steps + s.steps, rest.parts + int64(h)*s.parts, lift{s, g / q}, rest})
				}
			}
		}
		upTo[g] = frontier(all)
	}
	t.whole[h] = upTo[h]
	return upTo[h]
}

// frontier keeps the options that no other beats in phases, steps and parts alike, by rising phases and steps; of equal
// ones the first.
func frontier(all []*option) []*option {
	slices.SortStableFunc(all, func(a, b *option) int {
		return cmp.Or(cmp.Compare(a.phases, b.phases), cmp.Compare(a.steps, b.steps), cmp.Compare(a.parts, b.parts))
	})
	return undominated(all, func(a, b *option) bool { return a.steps <= b.steps && a.parts <= b.parts })
}

// undominated keeps of a list that is sorted by phases, and then by steps, what nothing before it dominates.
func undominated[T any](list []T, dominates func(a, b T) bool) []T {
	var kept []T
	for _, o := range list {
		if !slices.ContainsFunc(kept, func(k T) bool { return dominates(k, o) }) {
			kept = append(kept, o)
		}
	}
	return kept
}

// lifts returns the stages of an option in its order.
func (o *option) lifts() []lift {
	var list []lift
	for ; o.rest != nil; o = o.rest {
		list = append(list, o.lift)
	}
	return list
}
