package collective

import (
	"cmp"
	"fmt"
)

// Hierarchical are the options of the algorithm "hierarchical".
type Hierarchical struct {
	Domain int    `key:"domain" doc:"ranks per domain, in order, if the fabric has no domains" default:"8" min:"1" max:"1048576" when:"undivided"`
	Inner  string `key:"inner" doc:"algorithm inside domains; \"\" means ring, and direct for all-to-alls" default:"" choices:"@partial-collectives" unset:""`
	Outer  string `key:"outer" doc:"algorithm across domains; \"\" means ring, and direct for all-to-alls" default:"" choices:"@partial-collectives" unset:""`
}

// expandHierarchical divides a call into calls inside domains and calls across them. All domains
// have the same size. A call across domains joins the ranks with the same index in each.
func expandHierarchical(b *builder, j *subCall) error {
	domains, err := b.domainMembers(j)
	if err != nil {
		return err
	}

	// d domains of size ranks each.
	d, size := len(domains), len(domains[0])

	// inside returns the call among the members of domain g; across returns the call among the
	// members with index i in their domains.
	inside := func(kind Kind, g int) *subCall {
		return &subCall{kind: kind, ranks: selectRanks(j.ranks, domains[g])}
	}
	across := func(kind Kind, i int) *subCall {
		peers := make([]int32, d)
		for g := range peers {
			peers[g] = j.ranks[domains[g][i]]
		}
		return &subCall{kind: kind, ranks: peers}
	}

	// inner and outer expand a call inside a domain, and a call across domains.
	inner := func(x *subCall) error { return b.expandNested(b.options.Hierarchical.Inner, x) }
	outer := func(x *subCall) error { return b.expandNested(b.options.Hierarchical.Outer, x) }

	switch j.kind {
	case AllReduce:
		// Reduce-scatter inside, all-reduce of each piece across, all-gather inside.
		pieces := j.data.pieces(size)
		return cmp.Or(
			forEach(d, func(g int) error {
				x := inside(ReduceScatter, g)
				x.blocks = pieces
				return inner(x)
			}),
			forEach(size, func(i int) error {
				x := across(AllReduce, i)
				x.data = pieces[i]
				return outer(x)
			}),
			forEach(d, func(g int) error {
				x := inside(AllGather, g)
				x.blocks = pieces
				return inner(x)
			}))

	case ReduceScatter, AllGather:
		// To scatter, domains work first on the data for all ranks with one index; to gather,
		// last. peers are these data: the blocks of the ranks in all domains, by index in a domain.
		peers := make([]data, size)
		for i := range peers {
			var parts []data
			for g := range domains {
				parts = append(parts, j.blocks[domains[g][i]])
			}
			peers[i] = join(parts...)
		}

		// in makes the calls inside domains, out the calls across them.
		in := func() error {
			return forEach(d, func(g int) error {
				x := inside(j.kind, g)
				x.blocks = peers
				return inner(x)
			})
		}

		out := func() error {
			return forEach(size, func(i int) error {
				x := across(j.kind, i)
				for g := range domains {
					x.blocks = append(x.blocks, j.blocks[domains[g][i]])
				}
				return outer(x)
			})
		}

		if j.kind == ReduceScatter {
			return cmp.Or(in(), out())
		}
		return cmp.Or(out(), in())

	case AllToAll:
		// First to the rank in the same domain with the index of the destination, then across.
		return cmp.Or(
			forEach(d, func(g int) error {
				x := inside(AllToAll, g)
				x.pairBlock = func(i, k int) data {
					var parts []data
					for h := range domains {
						parts = append(parts, j.pairBlock(int(domains[g][i]), int(domains[h][k])))
					}
					return join(parts...)
				}

				return inner(x)
			}),
			forEach(size, func(k int) error {
				x := across(AllToAll, k)
				x.pairBlock = func(g, h int) data {
					var parts []data
					for _, i := range domains[g] {
						parts = append(parts, j.pairBlock(int(i), int(domains[h][k])))
					}
					return join(parts...)
				}

				return outer(x)
			}))

	case Broadcast, Reduce:
		// A broadcast goes from the root to the ranks with its index in other domains, and then
		// inside. A reduce goes in the opposite order.
		home, index := findDomain(domains, int32(j.root))
		in := func() error {
			return forEach(d, func(g int) error {
				x := inside(j.kind, g)
				x.root, x.data = index, j.data
				return inner(x)
			})
		}

		x := across(j.kind, index)
		x.root, x.data = home, j.data
		if j.kind == Broadcast {
			return cmp.Or(outer(x), in())
		}
		return cmp.Or(in(), outer(x))
	}

	return unserved(j, "a call of more than two")
}

// forEach calls do for 0 to n-1 until the first error.
func forEach(n int, do func(i int) error) error {
	for i := range n {
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// expandNested expands a part of a call by the named algorithm. The default is "ring", which
// serves every call but an all-to-all, and "direct" for an all-to-all.
func (b *builder) expandNested(name string, x *subCall) error {
	if len(x.ranks) < 2 {
		return nil
	}
	if name == "" {
		if name = "ring"; x.kind == AllToAll {
			name = "direct"
		}
	}

	// Each part is a stream of its own.
	for _, r := range b.algorithms {
		if r.Name == name && !r.IsComposite && !r.NeedsMachine {
			b.stream++
			if err := r.expand(b, x); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}
	}

	return fmt.Errorf("%w: no algorithm %q for a level; want one that is not hierarchical", ErrCall,
		name)
}

// domainMembers returns the members of each domain. It fails if domains differ in size.
func (b *builder) domainMembers(j *subCall) ([][]int32, error) {
	// Domains are numbered in the order of their first member.
	index := map[int]int{}
	var domains [][]int32
	for i, r := range j.ranks {
		k := i / max(1, b.options.Hierarchical.Domain)
		if b.problem.Domain != nil {
			k = b.problem.Domain[r]
		}
		if _, ok := index[k]; !ok {
			index[k] = len(domains)
			domains = append(domains, nil)
		}
		domains[index[k]] = append(domains[index[k]], int32(i))
	}

	for _, d := range domains {
		if len(d) != len(domains[0]) {
			return nil, unserved(j, "domains of one size, not of %d and %d", len(domains[0]), len(d))
		}
	}
	return domains, nil
}

// selectRanks returns the ranks of some members.
func selectRanks(ranks, members []int32) []int32 {
	some := make([]int32, len(members))
	for i, k := range members {
		some[i] = ranks[k]
	}
	return some
}

// findDomain returns the domain of a member and its index in the domain; -1 for both if no domain
// has it.
func findDomain(domains [][]int32, member int32) (domain, index int) {
	for g, d := range domains {
		for i, k := range d {
			if k == member {
				return g, i
			}
		}
	}

	return -1, -1
}
