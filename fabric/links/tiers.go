package links

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/fabric/electrical"
	"sim/fabric/tiers"
	"sim/fabric/torus"
)

// Tiers is fabrics inside each other, the innermost first, of which some may be no links. What two GPUs exchange takes
// the innermost tier of links that joins them.
type Tiers struct {
	tiers.Machine
	Systems []System // by tier: of a domain by itself; nothing of a tier that is no links
	Links   []*Links // by tier; nil of a tier that is no links
}

// NewTiers builds fabrics inside each other, of domains of so many GPUs each; nil is a tier that is no links. It fails
// where they do not fit each other.
func NewTiers(of []*Links, gpus []int) (*Tiers, error) {
	t := &Tiers{Links: of, Systems: make([]System, len(of))}
	for i, l := range of {
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

// JoinPaths joins paths of flows between GPUs in a domain of tier t, over its network with all inside it (Domain), of which the
// links of tier i begin at first[i]. Each flow takes the tier that joins its ends, of those up to t. On a tier lead returns
// the paths of some flows, by their places in flows, between their ends in a domain of the tier; packets must not draw
// their links.
func (z *Tiers) JoinPaths(t int, n *engine.Network, first []int, flows []engine.Flow, lead func(tier int, some []int, endsByTier []engine.Flow) (*engine.Paths, error)) (*engine.Paths, error) {
	flowsByTier, endsByTier := make([][]int, t+1), make([][]engine.Flow, t+1) // of each tier: the flows' places, and their ends in a domain
	for f, x := range flows {
		i := z.JoiningTier(false, x.Src, x.Dst)
		gpus := int32(z.Machine[i].GPUs)
		flowsByTier[i], endsByTier[i] = append(flowsByTier[i], f), append(endsByTier[i], engine.Flow{Src: x.Src % gpus, Dst: x.Dst % gpus})
	}
	paths := make([]*engine.Paths, t+1)
	for i := range paths {
		if len(flowsByTier[i]) > 0 {
			var err error
			if paths[i], err = lead(i, flowsByTier[i], endsByTier[i]); err != nil {
				return nil, err
			}
		}
	}
	j := z.ports(n, first, paths)
	j.Class = make([]int32, len(flows))
	for i, tierPaths := range paths {
		if tierPaths != nil {
			j.add(i, tierPaths, flowsByTier[i], endsByTier[i])
		}
	}
	return j.Paths, nil
}

// tierPaths are paths on a network of tiers, of those on each by itself. A GPU has the ports of one tier after those of
// another, a switch those that it has in its tier.
type tierPaths struct {
	*engine.Paths
	tiers *Tiers
	base  []int // by tier: the first port of GPUs
}

// ports lays out the ports of a network as the paths on each tier have them, where some take it, so that paths of a
// class take the same ports here as there from any node.
func (z *Tiers) ports(n *engine.Network, first []int, paths []*engine.Paths) *tierPaths {
	j := &tierPaths{Paths: &engine.Paths{First: []int32{0}}, tiers: z}
	port := make([]int, len(n.Links))
	gpus := int32(z.Machine[len(first)-2].GPUs)
	base := 0
	for i, tierPaths := range paths {
		j.base = append(j.base, base)
		network := z.Machine[i].Network
		if network == nil {
			continue
		}
		linkPort, degree := slices.Repeat([]int{-1}, len(network.Links)), make([]int, network.Nodes)
		if tierPaths != nil {
			for k, l := range tierPaths.Link {
				if l >= 0 {
					linkPort[l] = k % tierPaths.Degree
				}
			}
		} else {
			for l := range network.Links {
				linkPort[l] = degree[network.Links[l].From]
				degree[network.Links[l].From]++
			}
		}
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

// add takes the paths on tier i of the flows in some places, which have the ends own there.
func (j *tierPaths) add(i int, paths *engine.Paths, indices []int, ends []engine.Flow) {
	classes := map[int32]int32{}
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
					steps, node = append(steps, engine.MakeStep(port, s.Channel())), j.tiers.Machine[i].Network.Links[paths.Out(node, s)].To
				}
				j.Add(steps...)
				j.Share = append(j.Share, paths.ShareOf(class, path))
			}
			j.First = append(j.First, int32(len(j.Start)))
		}
		j.Class[f] = c
	}
}

// buildTiers builds a fabric with others inside it: one network, of whose links those of the outermost come last. Switches of
// all tiers are down for what sends and receives.
func (l *Links) buildTiers() (z System, err error) {
	all, gpus := append(slices.Clone(l.InnerTiers), l), []int(nil)
	for _, t := range all {
		gpus = append(gpus, t.GPUs())
	}
	t, err := NewTiers(all, gpus)
	if err != nil {
		return z, err
	}
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
	z.Known = z.Whole
	if outer.Health != nil {
		z.Health = &torus.Health{Link: make([]torus.State, len(z.Whole.Links)), Node: make([]torus.State, z.Whole.Nodes)}
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

// NodeName names a node of tiers: a GPU by its number, a switch by its domain.
func (z *System) NodeName(node int32) string {
	m := z.Tiers.Machine
	gpus := int32(m[len(m)-1].GPUs)
	if node < gpus {
		return fmt.Sprint(node)
	}
	index := node - gpus
	for i, t := range m {
		switches := t.Network.Nodes - int32(t.GPUs)
		if all := switches * gpus / int32(t.GPUs); index >= all {
			index -= all
			continue
		}
		if i == len(m)-1 {
			return fmt.Sprintf("switch %d of tier %d", index, i+1)
		}
		return fmt.Sprintf("switch %d of domain %d of tier %d", index%switches, index/switches, i+1)
	}
	return fmt.Sprint(node)
}

// IdealNetwork is the ideal network for a graph: each node sends, and receives, at the rate of all its links together, of
// tiers at that of its links to the one that a transfer takes.
func (z *System) IdealNetwork(g *engine.Graph) (*engine.Network, *engine.Routes) {
	if z.Tiers == nil {
		return electrical.ConnectNodes(z.Whole, g, nil, nil)
	}
	return electrical.ConnectNodes(z.Whole, g, z.tierOf, func(src, dst int32) int { return z.Tiers.JoiningTier(false, src, dst) })
}

// OutermostTorus returns the torus that the fabric is, or that the outermost tier is; nil of others.
func (z *System) OutermostTorus() *torus.Torus {
	if z.Tiers == nil {
		return z.Torus
	}
	return z.Tiers.Systems[len(z.Tiers.Systems)-1].Torus
}

// unitsPerHop is how many a hop on the slowest links has, where distances are told.
const unitsPerHop = 64

// GPUDistances returns how far GPUs of tiers are from one: the hops on the innermost tier that joins them, each as long as a byte
// takes there, of which unit are a hop on the tier of the slowest links. It is nil of other fabrics.
func (z *System) GPUDistances() (far func(from int32) []int32, unit int64) {
	if z.Tiers == nil {
		return nil, 1
	}
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

// TierOf returns the tier of a link of tiers.
func (z *System) TierOf(link int32) int { return z.tierOf(int(link)) }

// Direct returns a network of tiers without the links between GPUs that a tier inside theirs joins, as what these
// exchange does not take them; what is led by routers may.
func (z *System) Direct(n *engine.Network) *engine.Network {
	if z.Tiers == nil {
		return n
	}
	return z.Tiers.Direct(n, z.First)
}

// Direct returns the network of a domain without the links between GPUs that a tier inside theirs joins.
func (z *Tiers) Direct(n *engine.Network, first []int) *engine.Network {
	m := *n
	m.Links = slices.Clone(n.Links)
	for i := 1; i+1 < len(first); i++ {
		gpus := int32(z.Machine[len(first)-2].GPUs)
		for l := first[i]; l < first[i+1]; l++ {
			if x := &m.Links[l]; x.From < gpus && x.To < gpus && z.JoiningTier(false, x.From, x.To) < i {
				x.Rate = 0
			}
		}
	}
	return &m
}

// Domains returns by rank of a group the domain that it is in, of the largest tier of which several have ranks; nil
// where all are in one of each.
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

// DomainsByRank returns by rank of a group the domain that it is in, of the largest of domains of so many GPUs each, the
// innermost first, of which several have ranks; nil where all are in one.
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

// Kinds returns the kinds of fabrics that a fabric is made of, the innermost first.
func (l *Links) Kinds() (kinds []string) {
	for _, t := range append(slices.Clone(l.InnerTiers), l) {
		kinds = append(kinds, t.KindName)
	}
	return kinds
}
