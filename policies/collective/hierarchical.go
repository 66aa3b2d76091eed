package collective

import (
	"cmp"
	"fmt"
)

// Hierarchical are the options of "hierarchical".
type Hierarchical struct {
	Domain int    `key:"domain" doc:"ranks per domain, in order, if the fabric has no domains" default:"8" min:"1" max:"1048576" when:"undivided"`
	Inner  string `key:"inner" doc:"algorithm inside domains; \"\" means ring, and direct for all-to-alls" default:"" choices:"@partial-collectives" unset:""`
	Outer  string `key:"outer" doc:"algorithm across domains; \"\" means ring, and direct for all-to-alls" default:"" choices:"@partial-collectives" unset:""`
}

// hierarchical works inside the domains of a partition, which are of one size, then among the ranks that have the same
// place in each, and then inside again.
func hierarchical(b *builder, j *job) error {
	domains, err := b.domains(j)
	if err != nil {
		return err
	}
	d, size := len(domains), len(domains[0])
	inside := func(kind Kind, g int) *job {
		return &job{kind: kind, ranks: pick(j.ranks, domains[g])}
	}
	across := func(kind Kind, i int) *job {
		peers := make([]int32, d)
		for g := range peers {
			peers[g] = j.ranks[domains[g][i]]
		}
		return &job{kind: kind, ranks: peers}
	}
	inner := func(x *job) error { return b.nested(b.o.Hierarchical.Inner, x) }
	outer := func(x *job) error { return b.nested(b.o.Hierarchical.Outer, x) }
	switch j.kind {
	case AllReduce:
		pieces := j.data.pieces(size)
		return cmp.Or(
			repeat(d, func(g int) error { x := inside(ReduceScatter, g); x.block = pieces; return inner(x) }),
			repeat(size, func(i int) error { x := across(AllReduce, i); x.data = pieces[i]; return outer(x) }),
			repeat(d, func(g int) error { x := inside(AllGather, g); x.block = pieces; return inner(x) }))
	case ReduceScatter, AllGather:
		peers := make([]data, size) // what the ranks of one place in all domains answer for
		for i := range peers {
			var parts []data
			for g := range domains {
				parts = append(parts, j.block[domains[g][i]])
			}
			peers[i] = join(parts...)
		}
		in := func() error {
			return repeat(d, func(g int) error { x := inside(j.kind, g); x.block = peers; return inner(x) })
		}
		out := func() error {
			return repeat(size, func(i int) error {
				x := across(j.kind, i)
				for g := range domains {
					x.block = append(x.block, j.block[domains[g][i]])
				}
				return outer(x)
			})
		}
		if j.kind == ReduceScatter {
			return cmp.Or(in(), out())
		}
		return cmp.Or(out(), in())
	case AllToAll:
		return cmp.Or(
			repeat(d, func(g int) error {
				x := inside(AllToAll, g)
				x.pair = func(i, k int) data {
					var parts []data
					for h := range domains {
						parts = append(parts, j.pair(int(domains[g][i]), int(domains[h][k])))
					}
					return join(parts...)
				}
				return inner(x)
			}),
			repeat(size, func(k int) error {
				x := across(AllToAll, k)
				x.pair = func(g, h int) data {
					var parts []data
					for _, i := range domains[g] {
						parts = append(parts, j.pair(int(i), int(domains[h][k])))
					}
					return join(parts...)
				}
				return outer(x)
			}))
	case Broadcast, Reduce:
		home, at := find(domains, int32(j.root))
		in := func() error {
			return repeat(d, func(g int) error {
				x := inside(j.kind, g)
				x.root, x.data = at, j.data
				return inner(x)
			})
		}
		x := across(j.kind, at)
		x.root, x.data = home, j.data
		if j.kind == Broadcast {
			return cmp.Or(outer(x), in())
		}
		return cmp.Or(in(), outer(x))
	}
	return unserved(j, "a call of more than two")
}

// repeat calls do for 0 to n-1, up to the first error.
func repeat(n int, do func(i int) error) error {
	for i := range n {
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// nested expands a part of a job by the algorithm of a name. Without a name it is expanded by rings, which every other
// call than an all-to-all has, and an all-to-all directly.
func (b *builder) nested(name string, x *job) error {
	if len(x.ranks) < 2 {
		return nil
	}
	if name == "" {
		if name = "ring"; x.kind == AllToAll {
			name = "direct"
		}
	}
	for _, r := range b.rows {
		if r.Name == name && !r.Divides {
			b.stream++
			if err := r.expand(b, x); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}
	}
	return fmt.Errorf("%w: no algorithm %q for a level; want one that is not hierarchical", ErrCall, name)
}

// domains returns the places of each domain. It fails where they are not of one size.
func (b *builder) domains(j *job) ([][]int32, error) {
	by := map[int]int{}
	var domains [][]int32
	for i, r := range j.ranks {
		k := i / max(1, b.o.Hierarchical.Domain)
		if b.p.Domain != nil {
			k = b.p.Domain[r]
		}
		if _, ok := by[k]; !ok {
			by[k] = len(domains)
			domains = append(domains, nil)
		}
		domains[by[k]] = append(domains[by[k]], int32(i))
	}
	for _, d := range domains {
		if len(d) != len(domains[0]) {
			return nil, unserved(j, "domains of one size, not of %d and %d", len(domains[0]), len(d))
		}
	}
	return domains, nil
}

func pick(ranks, places []int32) []int32 {
	some := make([]int32, len(places))
	for i, k := range places {
		some[i] = ranks[k]
	}
	return some
}

// find returns the domain of a place and where in it that is.
func find(domains [][]int32, place int32) (domain, at int) {
	for g, d := range domains {
		for i, k := range d {
			if k == place {
				return g, i
			}
		}
	}
	return -1, -1
}
