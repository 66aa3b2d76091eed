package links

// This file builds fabrics of nested tiers, such as servers in racks, from the fabrics of their
// tiers, and joins the paths on the tiers.

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/fabric/electrical"
	"sim/fabric/tiers"
	"sim/fabric/torus"
)

// Tiers holds nested fabrics, the innermost first. Data between two GPUs uses the innermost tier
// with links that joins them. A tier may have no links.
type Tiers struct {
	tiers.Machine          // size and network of each tier
	Systems       []System // the fabric of one domain, indexed by tier; zero for tiers without links
	Links         []*Links // indexed by tier; nil for tiers without links
}

// NewTiers builds nested fabrics. links holds the keys of each tier, nil for tiers without links,
// and gpus the number of GPUs per domain. It returns an error if the tiers do not fit each
// other.
func NewTiers(links []*Links, gpus []int) (*Tiers, error) {
	t := &Tiers{Links: links, Systems: make([]System, len(links))}
	for i, l := range links {
		tier := tiers.Tier{GPUs: gpus[i]}
		if l != nil {
			alone := *l
			alone.InnerTiers = nil
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

// GPUs returns the number of GPUs of the fabric.
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

// JoinPaths combines the paths of flows on each tier into paths on the network n of a domain of
// tier t, which Domain returned with first. Each flow uses the tier that joins its ends. lead
// returns the paths of some flows on a tier: indices are their positions in flows, and ends their
// ends, numbered within a domain of the tier. The paths must not use engine.Paths.Spread.
func (z *Tiers) JoinPaths(
	t int, n *engine.Network, first []int, flows []engine.Flow,
	lead func(tier int, indices []int, ends []engine.Flow) (*engine.Paths, error)) (*engine.Paths, error) {

	// The flows on each tier, indexed by tier: indices, and ends within a domain.
	flowsByTier, ends := make([][]int, t+1), make([][]engine.Flow, t+1)
	for f, x := range flows {
		i := z.JoiningTierWithLinks(x.Src, x.Dst)
		gpus := int32(z.Machine[i].GPUs)
		flowsByTier[i], ends[i] = append(flowsByTier[i], f),
			append(ends[i], engine.Flow{Src: x.Src % gpus, Dst: x.Dst % gpus})
	}

	paths := make([]*engine.Paths, t+1)
	for i := range paths {
		if len(flowsByTier[i]) > 0 {
			var err error
			if paths[i], err = lead(i, flowsByTier[i], ends[i]); err != nil {
				return nil, err
			}
		}
	}

	j := z.ports(n, first, paths)
	j.Class = make([]int32, len(flows))
	for i, onTier := range paths {
		if onTier != nil {
			j.add(i, onTier, flowsByTier[i], ends[i])
		}
	}
	return j.Paths, nil
}

// tierPaths builds paths on a network of tiers from the paths on each tier. A GPU has the ports
// of all tiers, one tier after the other. A switch has only the ports of its own tier.
type tierPaths struct {
	*engine.Paths // the paths so far
	tiers         *Tiers
	base          []int // first port of a GPU for each tier, indexed by tier
}

// ports assigns ports to the links of a network. If a tier has paths, their ports are kept,
// so that the paths of a class take the same ports from every node.
func (z *Tiers) ports(n *engine.Network, first []int, paths []*engine.Paths) *tierPaths {
	j := &tierPaths{Paths: &engine.Paths{First: []int32{0}}, tiers: z}
	port := make([]int, len(n.Links))
	outermost := len(first) - 2 // tier of the domain; first has an entry per tier, and the end
	gpus := int32(z.Machine[outermost].GPUs)
	base := 0

	for i, onTier := range paths {
		j.base = append(j.base, base)
		network := z.Machine[i].Network
		if network == nil {
			continue
		}

		// linkPort is the port of each link of the tier's network at its node. Links without
		// a port are in no path and have port -1.
		linkPort, degree := slices.Repeat([]int{-1}, len(network.Links)), make([]int, network.Nodes)
		if onTier != nil {
			for k, l := range onTier.Link {
				if l >= 0 {
					linkPort[l] = k % onTier.Degree
				}
			}
		} else {
			for l := range network.Links {
				linkPort[l] = degree[network.Links[l].From]
				degree[network.Links[l].From]++
			}
		}

		// Every domain of the tier has the same ports. Ports of GPUs start at base.
		numPorts := 0
		for l := first[i]; l < first[i+1]; l++ {
			if port[l] = linkPort[(l-first[i])%len(network.Links)]; port[l] >= 0 && n.Links[l].From < gpus {
				numPorts = max(numPorts, port[l]+1)
				port[l] += base
			}
			j.Degree = max(j.Degree, port[l]+1)
		}
		base += numPorts
	}

	j.Link = slices.Repeat([]int32{-1}, int(n.Nodes)*j.Degree)
	for l, p := range port {
		if p >= 0 {
			j.Link[int(n.Links[l].From)*j.Degree+p] = int32(l)
		}
	}
	return j
}

// add adds the paths of flows on tier i. indices are the positions of the flows among all flows,
// and ends are their ends within a domain.
func (j *tierPaths) add(i int, paths *engine.Paths, indices []int, ends []engine.Flow) {
	classes := map[int32]int32{} // new class by class of the tier
	for k, f := range indices {
		class := paths.ClassOf(int32(k))
		c, ok := classes[class]
		if !ok {
			c = int32(len(j.First) - 1)
			classes[class] = c
			for path, end := paths.Of(class); path < end; path++ {
				var steps []engine.Step
				node := ends[k].Src
				for _, s := range paths.Steps(path) {
					port := s.Port()
					if int(node) < j.tiers.Machine[i].GPUs {
						port += j.base[i]
					}
					steps, node = append(steps, engine.MakeStep(port, s.Channel())),
						j.tiers.Machine[i].Network.Links[paths.Out(node, s)].To
				}
				j.Add(steps...)
				j.Share = append(j.Share, paths.ShareOf(class, path))
			}
			j.First = append(j.First, int32(len(j.Start)))
		}
		j.Class[f] = c
	}
}

// buildTiers builds a fabric with inner tiers as one network. The links of the outermost tier
// come last. The switches of all tiers count as down, because they neither send nor receive.
func (l *Links) buildTiers() (z System, err error) {
	all, gpus := append(slices.Clone(l.InnerTiers), l), []int(nil)
	for _, t := range all {
		gpus = append(gpus, t.GPUs())
	}
	t, err := NewTiers(all, gpus)
	if err != nil {
		return z, err
	}

	// The network and the names of its links.
	last := len(all) - 1
	outer := &t.Systems[last]
	z.Tiers, z.Cubes = t, outer.Cubes
	z.Whole, z.First = t.Domain(last)
	z.Whole.ResourceNamer = func(r int32) string {
		i := z.tierOf(int(r))
		index, each := int(r)-z.First[i], len(t.Machine[i].Network.Links)
		name := t.Machine[i].Network.ResourceName(int32(index % each))
		if i == last {
			return name
		}
		return fmt.Sprintf("%s of domain %d of tier %d", name, index/each, i+1)
	}

	// Only the outermost tier has parts that are down.
	z.Known = z.Whole
	if outer.Health != nil {
		z.Health = &torus.Health{
			Link: make([]torus.State, len(z.Whole.Links)), Node: make([]torus.State, z.Whole.Nodes)}
		copy(z.Health.Link[z.First[last]:], outer.Health.Link)
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
	return slices.IndexFunc(z.First, func(f int) bool { return f > link }) - 1
}

// NodeName returns the name of a node of a fabric with tiers: a GPU's number, or a switch with
// its domain and tier.
func (z *System) NodeName(node int32) string {
	m := z.Tiers.Machine
	gpus := int32(m[len(m)-1].GPUs)
	if node < gpus {
		return fmt.Sprint(node)
	}

	// Switches are numbered tier by tier, and within a tier domain by domain.
	index := node - gpus
	for i, t := range m {
		switches := t.Network.Nodes - int32(t.GPUs)
		if all := switches * gpus / int32(t.GPUs); index >= all {
			index -= all
			continue
		}
		if i == len(m)-1 {
			if l := z.Tiers.Links[i]; len(l.Names) > 0 && l.Domain.GPUs == 0 {
				return l.Names[t.GPUs+int(index)]
			}
			return fmt.Sprintf("switch %d of tier %d", index, i+1)
		}
		return fmt.Sprintf("switch %d of domain %d of tier %d", index%switches, index/switches, i+1)
	}
	return fmt.Sprint(node)
}

// IdealNetwork returns the ideal network for the graph g: each node sends and receives at the
// total rate of its links, separately for each tier; see electrical.ConnectNodes.
func (z *System) IdealNetwork(g *engine.Graph) (*engine.Network, *engine.Routes) {
	var tierOf func(link int) int // nil for a single tier, as is joins
	var joins func(src, dst int32) int
	if z.Tiers != nil {
		tierOf = z.tierOf
		joins = func(src, dst int32) int { return z.Tiers.JoiningTierWithLinks(src, dst) }
	}
	return electrical.ConnectNodes(z.Whole, g, tierOf, joins)
}

// OutermostTorus returns the torus of the fabric or of its outermost tier, nil if that is not a
// torus.
func (z *System) OutermostTorus() *torus.Torus {
	if z.Tiers == nil {
		return z.Torus
	}
	return z.Tiers.Systems[len(z.Tiers.Systems)-1].Torus
}

// unitsPerHop is the resolution of GPUDistances: the length of a hop on the tier with the
// slowest links. A hop on a tier that is up to 64 times as fast then has a length of at least 1.
const unitsPerHop = 64

// GPUDistances returns a function that computes the distances of all GPUs from one GPU in a
// fabric with tiers. The distance is the number of hops on the innermost tier that joins the
// two, weighted by the time that a byte takes per hop. unit is the length of a hop on the tier
// with the slowest links. far is nil for other fabrics.
func (z *System) GPUDistances() (far func(from int32) []int32, unit int64) {
	if z.Tiers == nil {
		return nil, 1
	}

	// The slowest link and the distance function of each tier. Distances must fit 16 bits.
	m := z.Tiers.Machine
	unit = unitsPerHop
	rates, hops := make([]float64, len(m)), make([]func(int32) []int32, len(m))
	for i, t := range m {
		n := t.Network
		if i == len(m)-1 {
			n = z.Tiers.Systems[i].Known
		}
		for _, l := range n.Links {
			if l.Rate > 0 && (rates[i] == 0 || l.Rate < rates[i]) {
				rates[i] = l.Rate
			}
		}
		hops[i] = n.Hops(nil)
		unit = max(1, min(unit, math.MaxUint16/int64(n.Nodes)))
	}

	// Inner tiers overwrite the distances of outer ones.
	slowest := slices.Min(rates)
	dist := make([]int32, m[len(m)-1].GPUs)
	return func(from int32) []int32 {
		for i, t := range slices.Backward(m) {
			row, each := hops[i](from%int32(t.GPUs)), max(1, int32(math.Round(float64(unit)*slowest/rates[i])))
			first := int(from) - int(from)%t.GPUs
			for k, h := range row[:t.GPUs] {
				dist[first+k] = h * each
			}
		}
		return dist
	}, unit
}

// TierOf returns the tier of a link in a fabric with tiers.
func (z *System) TierOf(link int32) int { return z.tierOf(int(link)) }

// Direct returns n, a network of this fabric, without links that direct transfers do not use:
// links between two GPUs that an inner tier joins. Routers may use these links.
func (z *System) Direct(n *engine.Network) *engine.Network {
	if z.Tiers == nil {
		return n
	}
	return z.Tiers.Direct(n, z.First)
}

// Direct returns the network n of a domain with rate 0 for links between two GPUs that an inner
// tier joins.
func (z *Tiers) Direct(n *engine.Network, first []int) *engine.Network {
	m := *n
	m.Links = slices.Clone(n.Links)
	outermost := len(first) - 2 // tier of the domain; first has an entry per tier, and the end
	gpus := int32(z.Machine[outermost].GPUs)
	for i := 1; i <= outermost; i++ {
		for l := first[i]; l < first[i+1]; l++ {
			if x := &m.Links[l]; x.From < gpus && x.To < gpus && z.JoiningTierWithLinks(x.From, x.To) < i {
				x.Rate = 0
			}
		}
	}
	return &m
}

// Domains returns the domain of each rank of a group, on the largest tier on which the ranks are
// in several domains. It returns nil if they are in one domain on every tier.
func (z *System) Domains(group []int32) []int {
	if z.Tiers == nil {
		return nil
	}
	var gpus []int
	for _, t := range z.Tiers.Machine[:len(z.Tiers.Machine)-1] {
		gpus = append(gpus, t.GPUs)
	}
	return DomainsByRank(group, gpus)
}

// DomainsByRank returns the domain of each rank of a group, for the largest domain size for
// which the ranks are in several domains. gpus lists the numbers of GPUs per domain, the
// innermost first. It returns nil if the ranks are in one domain for every size.
func DomainsByRank(group []int32, gpus []int) []int {
	domain := make([]int, len(group))
	for _, n := range slices.Backward(gpus) {
		for r, g := range group {
			domain[r] = int(g) / n
		}
		if slices.Min(domain) < slices.Max(domain) {
			return domain
		}
	}
	return nil
}

// Kinds returns the kinds of the tiers of a fabric, the innermost first.
func (l *Links) Kinds() (kinds []string) {
	for _, t := range append(slices.Clone(l.InnerTiers), l) {
		kinds = append(kinds, t.KindName)
	}
	return kinds
}
