package links

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/fabric/tiers"
	"sim/fabric/torus"
	"sim/policies/routing"
)

// Tiers is fabrics inside each other, the innermost first, of which some may be no links. What two GPUs exchange takes
// the innermost tier of links that joins them.
type Tiers struct {
	tiers.Machine
	Systems []System // by tier: of a domain by itself; nothing of a tier that is no links
	of      []*Links
}

// NewTiers builds fabrics inside each other, of domains of so many GPUs each; nil is a tier that is no links. It fails
// where they do not fit each other.
func NewTiers(of []*Links, gpus []int) (*Tiers, error) {
	t := &Tiers{of: of, Systems: make([]System, len(of))}
	for i, l := range of {
		tier := tiers.Tier{GPUs: gpus[i]}
		if l != nil {
			alone := *l
			alone.Inside = nil
			z, err := alone.Build()
			if err != nil {
				return nil, err
			}
			t.Systems[i], tier.Network = z, z.Whole
		}
		t.Machine = append(t.Machine, tier)
	}
	return t, t.Check()
}

// GPUs returns how many GPUs the fabric joins.
func (l *Links) GPUs() int {
	if len(l.Dims) == 0 {
		return l.Endpoints()
	}
	n := 1
	for _, d := range l.Dims {
		n *= d
	}
	return n
}

// Route leads flows between GPUs in a domain of tier t, over its network with all inside it (Domain), of which the links
// of tier i begin at first[i]. Those of tier t go as outer leads some of them, by their places in flows, on the tier's own
// network; those of inner tiers as such a fabric usually leads them. It fails where packets draw their links, and where no tier of links
// joins two GPUs.
func (z *Tiers) Route(ctx context.Context, t int, n *engine.Network, first []int, flows []engine.Flow, seed uint64, outer func(some []int) (*engine.Paths, error)) (*engine.Paths, error) {
	j := newJointPaths(n, len(flows))
	by := make([][]int, t+1) // places of flows
	for f, x := range flows {
		i := z.Joins(false, x.Src, x.Dst)
		if i > t {
			return nil, fmt.Errorf("%w: no tier of links joins nodes %d and %d", routing.ErrUnserved, x.Src, x.Dst)
		}
		by[i] = append(by[i], f)
	}
	for i, some := range by {
		if len(some) == 0 {
			continue
		}
		if i == t && outer != nil {
			paths, err := outer(some)
			if err != nil {
				return nil, err
			}
			if paths.Spread != nil {
				return nil, fmt.Errorf("%w: packets that draw a link at each node cannot tell tiers apart there", routing.ErrUnserved)
			}
			own := make([]engine.Flow, len(some))
			for k, f := range some {
				own[k] = flows[f]
			}
			j.add(paths, some, own, z.Systems[i].Whole, first[i])
			continue
		}
		// domains are alike: the first leads for all
		gpus := int32(z.Machine[i].GPUs)
		inside := func(f engine.Flow) engine.Flow { return engine.Flow{Src: f.Src % gpus, Dst: f.Dst % gpus} }
		var own []engine.Flow
		for _, f := range some {
			own = append(own, inside(flows[f]))
		}
		all := slices.Clone(own)
		slices.SortFunc(all, func(a, b engine.Flow) int { return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst)) })
		all = slices.Compact(all)
		y := &z.Systems[i]
		p := &routing.Problem{Network: y.Known, Torus: y.Torus, Down: y.Down, Flows: all, Rate: float64(z.of[i].LinkRate)}
		d, err := routing.ByName(routing.Usual(y.Torus != nil, z.of[i].Faulty())).Router.Route(ctx, p, routing.Options{Seed: seed})
		if err != nil {
			return nil, err
		}
		class := make(map[engine.Flow]int32, len(all))
		for k, f := range all {
			class[f] = d.Paths.ClassOf(int32(k))
		}
		paths := *d.Paths
		paths.Class = make([]int32, len(own))
		for k, f := range own {
			paths.Class[k] = class[f]
		}
		j.add(&paths, some, own, y.Whole, first[i])
	}
	return j.Paths, nil
}

// jointPaths are paths on a network of tiers, of those on each by itself.
type jointPaths struct {
	*engine.Paths
	port []int // by link
}

func newJointPaths(n *engine.Network, flows int) *jointPaths {
	j := &jointPaths{&engine.Paths{Degree: 1, First: []int32{0}, Class: make([]int32, flows)}, make([]int, len(n.Links))}
	degree := make([]int, n.Nodes)
	for i, l := range n.Links {
		j.port[i] = degree[l.From]
		degree[l.From]++
		j.Degree = max(j.Degree, degree[l.From])
	}
	j.Link = slices.Repeat([]int32{-1}, int(n.Nodes)*j.Degree)
	for i, l := range n.Links {
		j.Link[int(l.From)*j.Degree+j.port[i]] = int32(i)
	}
	return j
}

// add takes the paths of some flows, of which own has the ends on the network that they are paths of, whose links are
// those from first on here. Paths of a class take the same ports from any node that it is for, here as there.
func (j *jointPaths) add(paths *engine.Paths, some []int, own []engine.Flow, n *engine.Network, first int) {
	classes := map[int32]int32{}
	for k, f := range some {
		of := paths.ClassOf(int32(k))
		c, ok := classes[of]
		if !ok {
			c = int32(len(j.First) - 1)
			classes[of] = c
			for path, end := paths.Of(of); path < end; path++ {
				var steps []engine.Step
				at := own[k].Src
				for _, s := range paths.Steps(path) {
					l := paths.Out(at, s)
					steps, at = append(steps, engine.MakeStep(j.port[first+int(l)], s.Channel())), n.Links[l].To
				}
				j.Add(steps...)
				j.Share = append(j.Share, paths.ShareOf(of, path))
			}
			j.First = append(j.First, int32(len(j.Start)))
		}
		j.Class[f] = c
	}
}

// joint builds a fabric with others inside it: one network, of whose links those of the outermost come last. Switches of
// all tiers are down for what sends and receives.
func (l *Links) joint() (z System, err error) {
	of, gpus := append(slices.Clone(l.Inside), l), []int(nil)
	for _, t := range of {
		gpus = append(gpus, t.GPUs())
	}
	t, err := NewTiers(of, gpus)
	if err != nil {
		return z, err
	}
	last := len(of) - 1
	outer := &t.Systems[last]
	z.Tiers, z.Cubes = t, outer.Cubes
	z.Whole, z.first = t.Domain(last)
	z.Whole.ResourceNamer = func(r int32) string {
		i := z.tierOf(int(r))
		at, each := int(r)-z.first[i], len(t.Machine[i].Network.Links)
		name := t.Machine[i].Network.ResourceName(int32(at % each))
		if i == last {
			return name
		}
		return fmt.Sprintf("%s of domain %d of tier %d", name, at/each, i+1)
	}
	z.Known = z.Whole
	if outer.Health != nil {
		z.Health = &torus.Health{Link: make([]torus.State, len(z.Whole.Links)), Node: make([]torus.State, z.Whole.Nodes)}
		copy(z.Health.Link[z.first[last]:], outer.Health.Link)
		copy(z.Health.Node, outer.Health.Node)
		if l.Faulty() {
			z.Known = z.without(func(s torus.State) bool { return s != torus.Works })
		}
	}
	if n := t.Machine[last].GPUs; int(z.Whole.Nodes) > n || outer.Down != nil {
		z.Down = make([]bool, z.Whole.Nodes)
		copy(z.Down, outer.Down)
		for i := n; i < len(z.Down); i++ {
			z.Down[i] = true
		}
	}
	return z, nil
}

// tierOf returns the tier of a link.
func (z *System) tierOf(link int) int {
	return slices.IndexFunc(z.first, func(f int) bool { return f > link }) - 1
}

// NodeName names a node of tiers: a GPU by its number, a switch by its domain.
func (z *System) NodeName(node int32) string {
	m := z.Tiers.Machine
	gpus := int32(m[len(m)-1].GPUs)
	if node < gpus {
		return fmt.Sprint(node)
	}
	at := node - gpus
	for i, t := range m {
		switches := t.Network.Nodes - int32(t.GPUs)
		if all := switches * gpus / int32(t.GPUs); at >= all {
			at -= all
			continue
		}
		if i == len(m)-1 {
			return fmt.Sprintf("switch %d of tier %d", at, i+1)
		}
		return fmt.Sprintf("switch %d of domain %d of tier %d", at%switches, at/switches, i+1)
	}
	return fmt.Sprint(node)
}

// Route lets a router choose paths for a problem on the system. On tiers it does so for what the outermost one joins, on
// that alone.
func (z *System) Route(ctx context.Context, router routing.Router, p *routing.Problem, o routing.Options) (*routing.Decision, error) {
	if z.Tiers == nil {
		return router.Route(ctx, p, o)
	}
	last := len(z.Tiers.Machine) - 1
	outer := &z.Tiers.Systems[last]
	d := &routing.Decision{}
	paths, err := z.Tiers.Route(ctx, last, p.Network, z.first, p.Flows, o.Seed, func(some []int) (_ *engine.Paths, err error) {
		n := *outer.Whole
		n.Links = slices.Clone(n.Links)
		for i := range n.Links {
			n.Links[i].Rate = p.Network.Links[z.first[last]+i].Rate
		}
		own := &routing.Problem{Network: &n, Torus: outer.Torus, Down: outer.Down, Rate: p.Rate}
		if len(some) == len(p.Flows) {
			own.Graph = p.Graph
		}
		for _, f := range some {
			own.Flows = append(own.Flows, p.Flows[f])
			if p.Demand != nil {
				own.Demand = append(own.Demand, p.Demand[f])
			}
		}
		if d, err = router.Route(ctx, own, o); err != nil {
			return nil, err
		}
		return d.Paths, nil
	})
	if err != nil {
		return nil, err
	}
	d.Paths = paths
	return d, nil
}
