package collective

import (
	"cmp"
	"slices"

	"sim/workloads/collective"
)

// recipe is a plan's stages: those by which the data is scattered and summed, from the outer to the inner; those that
// exchange whole vectors, from the inner to the outer; those that gather, from the inner to the outer.
type recipe struct {
	scatter, exchange, gather []lift
	phases, steps             int
	parts                     int64
}

// recipes returns those of an operation that no other beats in phases, steps and parts alike.
//
// A reduce-scatter is an all-gather with its time and its links reversed and sums in the place of copies, on the mirror
// image, so that it has the same topologies as the all-gather, last first (Chan et al., "Collective communication:
// theory, practice, and experience", 2007). An all-reduce scatters down to the subgroup of order h and gathers from
// there; for h = 1 the topology of the first gather is that of the last scatter, and for h > 1 the GPUs of each coset
// exchange in between. It gathers by the stages by which it scatters: with others on one side the cost would be the
// mean of doing as on either side on both.
func (t *table) recipes(op collective.Op) []*recipe {
	var all []*recipe
	switch op {
	case collective.AllGather:
		for _, o := range t.outer[1] {
			all = append(all, &recipe{gather: o.lifts(), phases: o.phases, steps: o.steps, parts: o.parts})
		}
		return all
	case collective.ReduceScatter:
		for _, o := range t.outer[1] {
			all = append(all, &recipe{scatter: backwards(o.lifts()), phases: o.phases, steps: o.steps, parts: o.parts})
		}
		return all
	}
	for _, q := range t.divisors[1:] {
		for _, s := range t.stages[q] {
			inner := &option{2*len(s.courses) - 1, 2 * s.steps, 2 * s.parts, lift{s, 1}, nil}
			all = t.around(all, q, inner, true)
		}
		for _, o := range t.exchange(q) {
			all = t.around(all, q, o, false)
		}
	}
	slices.SortStableFunc(all, func(a, b *recipe) int {
		return cmp.Or(cmp.Compare(a.phases, b.phases), cmp.Compare(a.steps, b.steps), cmp.Compare(a.parts, b.parts))
	})
	return undominated(all, func(a, b *recipe) bool { return a.steps <= b.steps && a.parts <= b.parts })
}

// around appends what comes of an all-reduce on cosets of order h with what scatters before it and gathers after it.
func (t *table) around(all []*recipe, h int, inner *option, turn bool) []*recipe {
	for _, o := range t.outer[h] {
		r := &recipe{phases: inner.phases + 2*o.phases, steps: inner.steps + 2*o.steps, parts: inner.parts + 2*o.parts}
		r.gather = o.lifts()
		r.scatter = backwards(r.gather)
		if turn {
			r.scatter, r.gather = append(r.scatter, inner.lift), append([]lift{inner.lift}, r.gather...)
		} else {
			r.exchange = backwards(inner.lifts())
		}
		all = append(all, r)
	}
	return all
}

func backwards(list []lift) []lift {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}
