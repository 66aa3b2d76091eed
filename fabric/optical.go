package fabric

import (
	"fmt"
	"math"
	"slices"

	"sim/engine"
)

// Connect routes the transfers of g. A transfer between pods uses the bundle of circuits between
// them and the NICs at both ends; Connect creates the bundles that occur. A transfer inside a
// pod uses the links of GPUs to the pod's network, if these are modelled. Bundles are ordered by
// their pods; bundles to peer pods come last.
func (p *Pods) Connect(g *engine.Graph) (*Optical, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	o := &Optical{Pods: p.Pods, Copies: max(1, p.Copies)}

	// Each direction of a bundle that is used becomes a link. links has the link for each
	// direction: the pods of source and destination.
	links := p.createBundles(g, o)
	o.Network = &engine.Network{Nodes: int32(len(p.Nodes)), Groups: p.Groups()}
	var names []string
	for i := range o.Bundles {
		b := &o.Bundles[i]
		ends := [][2]int32{{b.A, b.B}, {b.B, b.A}}
		if b.Peer {
			ends = ends[:1]
		}
		for _, e := range ends {
			if _, used := links[e]; !used {
				continue
			}
			links[e] = int32(len(o.Network.Links))
			b.Links = append(b.Links, links[e])
			o.Network.Links = append(o.Network.Links, engine.Link{From: e[0], To: e[1]})
			names = append(names, p.linkName(e[0], e[1]))
		}
	}

	first := int32(len(names))
	o.Network.ResourceNamer = func(r int32) string {
		if r < first {
			return names[r]
		}
		return p.GroupName(r - first)
	}

	// The number of uses is known up to transfers inside pods, so that they are allocated once.
	crossing := 0
	for i := range g.Tasks {
		if t := &g.Tasks[i]; p.IsInterPod(t) {
			crossing++
		}
	}
	const usesPerTransfer = 5 // a link, and up to two NIC sets at each end
	o.Routes = &engine.Routes{
		Start: make([]int32, len(g.Tasks)+1),
		Uses:  make([]engine.Use, 0, usesPerTransfer*crossing)}
	for i := range g.Tasks {
		t := &g.Tasks[i]
		if p.IsInterPod(t) {
			link := links[[2]int32{p.Nodes[t.Src].Pod, p.Nodes[t.Dst].Pod}]
			o.Routes.Uses = append(o.Routes.Uses, engine.Use{Resource: link, Weight: 1})
		}
		if p.UsesNetwork(t) {
			o.Routes.Uses = p.Interfaces(o.Routes.Uses, o.Network.GroupResource(0), t.Src, t.Dst)
		}
		o.Routes.Start[i+1] = int32(len(o.Routes.Uses))
	}
	p.capFlows(g, o)
	return o, nil
}

// createBundles creates the bundles for the transfers of g in o. Its result has a key for each
// direction that is used: the pods of source and destination. The values are -1 until Connect
// creates the links.
func (p *Pods) createBundles(g *engine.Graph, o *Optical) map[[2]int32]int32 {
	n := int32(len(p.Pods))
	links := map[[2]int32]int32{}
	bytes := map[[2]int32]int64{}
	for i := range g.Tasks {
		t := &g.Tasks[i]
		if t.Kind != engine.Transfer {
			continue
		}
		if t.Src < 0 || int(t.Src) >= len(p.Nodes) || t.Dst < 0 || int(t.Dst) >= len(p.Nodes) ||
			!p.BetweenPods(t.Src, t.Dst) {
			continue
		}
		a, b := p.Nodes[t.Src].Pod, p.Nodes[t.Dst].Pod
		links[[2]int32{a, b}] = -1
		if a == b {
			// The neighbouring replica may send as much in the opposite direction.
			bytes[[2]int32{a, b}] += int64(max(1, p.PeerDirections)) * t.Bytes
			continue
		}
		bytes[[2]int32{min(a, b), max(a, b)}] += t.Bytes
	}

	// Bundles between pods in order of both pods, then bundles to peer pods.
	add := func(a, b int32, ends int) {
		if v, ok := bytes[[2]int32{a, b}]; ok {
			o.Bundles = append(o.Bundles, Bundle{A: a, B: b, Peer: a == b, Ends: ends, Bytes: v})
		}
	}
	if len(bytes) > 0 {
		byFirst := make([][]int32, n)
		for e := range bytes {
			if e[0] != e[1] {
				byFirst[e[0]] = append(byFirst[e[0]], e[1])
			}
		}
		for a := range n {
			slices.Sort(byFirst[a])
			for _, b := range byFirst[a] {
				const endsPerPod = 1 // Bundle.Ends
				add(a, b, endsPerPod)
			}
		}
		for a := range n {
			add(a, a, p.PeerEnds)
		}
	}
	return links
}

// capFlows sets the maximum useful number of circuits of each bundle. It is the largest number,
// over its directions, that all NICs that send over the bundle can fill at full rate.
func (p *Pods) capFlows(g *engine.Graph, o *Optical) {
	groups := o.Network.GroupResource(0)
	// The number of GPUs that send together, by link and NIC set.
	maxGPUs := map[[2]int32]int32{}
	fullRate := make([]float64, len(o.Network.Links)) // their total rate, indexed by link
	for i := range g.Tasks {
		uses := o.Routes.Of(int32(i))
		if len(uses) == 0 || uses[0].Resource >= groups {
			continue
		}
		link, node := uses[0].Resource, &p.Nodes[g.Tasks[i].Src]
		sets := int32(len(node.NICs))
		for _, c := range node.NICs {
			gpus := (node.GPUs + sets - 1) / sets
			if before := maxGPUs[[2]int32{link, c}]; gpus > before {
				maxGPUs[[2]int32{link, c}] = gpus
				rateOut := o.Network.Rate(groups + 2*c) // of one GPU; see Pods.Groups
				fullRate[link] += float64(gpus-before) * rateOut
			}
		}
	}

	for i := range o.Bundles {
		b := &o.Bundles[i]
		for _, l := range b.Links {
			const rounding = 1e-9 // error of the division; a whole number must not be rounded up
			b.Flows = max(b.Flows, int32(math.Ceil(fullRate[l]/o.Rate(i)-rounding)))
		}
	}
}

// linkName names the link from pod a to pod b.
func (p *Pods) linkName(a, b int32) string {
	if a == b {
		return p.Pods[a].Name + " to DP peer"
	}
	return fmt.Sprintf("%s to %s", p.Pods[a].Name, p.Pods[b].Name)
}

// Rate returns the rate of one circuit of bundle i in one direction, in bits per second. It is
// the rate of the slower port.
func (o *Optical) Rate(i int) float64 {
	b := &o.Bundles[i]
	return float64(min(o.Pods[b.A].Rate, o.Pods[b.B].Rate))
}

// Ports returns the number of ports used in each pod if bundle i has circuits[i] circuits.
func (o *Optical) Ports(circuits []int) []int {
	used := make([]int, len(o.Pods))
	for i, b := range o.Bundles {
		used[b.A] += b.Ends * circuits[i]
		if !b.Peer {
			used[b.B] += b.Ends * circuits[i]
		}
	}
	return used
}

// Provision returns the network with circuits[i] circuits in bundle i. It returns an error if
// the numbers do not match the bundles or exceed the ports of a pod.
func (o *Optical) Provision(circuits []int) (*engine.Network, error) {
	if len(circuits) != len(o.Bundles) {
		return nil, fmt.Errorf("%w: %d circuit counts for %d bundles",
			ErrFabric, len(circuits), len(o.Bundles))
	}

	for i, used := range o.Ports(circuits) {
		if used > o.Pods[i].Ports {
			return nil, fmt.Errorf("%w: %s needs %d ports of %d",
				ErrFabric, o.Pods[i].Name, used, o.Pods[i].Ports)
		}
	}

	n := *o.Network
	n.Links = append([]engine.Link(nil), n.Links...)
	for i, b := range o.Bundles {
		if circuits[i] < 0 {
			return nil, fmt.Errorf("%w: %d circuits between %s and %s",
				ErrFabric, circuits[i], o.Pods[b.A].Name, o.Pods[b.B].Name)
		}
		for _, l := range b.Links {
			n.Links[l].Rate = float64(circuits[i]) * o.Rate(i)
		}
	}
	return &n, nil
}
