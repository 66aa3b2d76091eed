// This file builds the networks inside pods if the scenario describes inner tiers, such
// as servers with fast links. It also assigns the resources of the whole network to
// tiers.

package circuits

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/fabric"
	"sim/policies/routing"
)

// tierGPUs returns the number of GPUs in a domain of each tier inside pods, innermost
// first.
func (s *Scenario) tierGPUs() (gpus []int) {
	for _, t := range s.Fabric.InnerTiers {
		gpus = append(gpus, t.GPUs())
	}
	return gpus
}

// newInnerNetwork builds the networks inside pods and routes the transfers of the graph
// over them. Each pod is a domain of the outermost inner tier. Nodes are single GPUs, in
// the order of their indices in the pod.
func (sys *circuitSystem) newInnerNetwork(ctx context.Context) (*fabric.PodNetwork, error) {
	last := len(sys.scenario.Fabric.InnerTiers) - 1
	domain, tierStart := sys.innerTiers.Domain(last)
	sys.tierStart = tierStart

	// GPUs keep their node numbers. The switches of all pods follow them, pod after pod.
	gpus := int32(sys.innerTiers.Machine[last].GPUs)
	nodes, switches := int32(len(sys.pods.Nodes)), domain.Nodes-gpus
	n := &engine.Network{Nodes: nodes + switches*int32(len(sys.pods.Pods))}
	indexInPod := make([]int32, nodes)             // index of a node among the GPUs of its pod
	nodesOf := make([][]int32, len(sys.pods.Pods)) // nodes of each pod
	for i := range sys.pods.Nodes {
		pod := sys.pods.Nodes[i].Pod
		indexInPod[i] = int32(len(nodesOf[pod]))
		nodesOf[pod] = append(nodesOf[pod], int32(i))
	}

	// Copy the links of the domain to every pod.
	for pod := range sys.pods.Pods {
		// node returns the node of the pod that corresponds to node k of the domain, whose
		// GPUs precede its switches.
		node := func(k int32) int32 {
			if k < gpus {
				return nodesOf[pod][k]
			}
			return nodes + int32(pod)*switches + k - gpus
		}
		if len(nodesOf[pod]) != int(gpus) {
			return nil, fmt.Errorf("circuits: %s has %d GPUs, and the tier inside it %d",
				sys.pods.Pods[pod].Name, len(nodesOf[pod]), gpus)
		}
		for _, l := range domain.Links {
			l.From, l.To = node(l.From), node(l.To)
			n.Links = append(n.Links, l)
		}
	}
	linksPerPod := int32(len(domain.Links))
	n.ResourceNamer = func(r int32) string {
		link := r % linksPerPod
		tier := 1 + innerTier(tierStart, int(link))
		pod := sys.pods.Pods[r/linksPerPod].Name
		return fmt.Sprintf("link %d inside %s, of tier %d", link, pod, tier)
	}

	// Route the different flows between indices of a domain. All pods use the same paths.
	flowIndex := map[engine.Flow]int{}
	var flows []engine.Flow
	for i := range sys.graph.Tasks {
		t := &sys.graph.Tasks[i]
		if t.Kind != engine.Transfer || sys.pods.BetweenPods(t.Src, t.Dst) {
			continue
		}
		f := engine.Flow{Src: indexInPod[t.Src], Dst: indexInPod[t.Dst]}
		if _, ok := flowIndex[f]; !ok {
			flowIndex[f] = len(flows)
			flows = append(flows, f)
		}
	}
	seed := sys.scenario.Seed
	var defaultRouter func([]int) (*engine.Paths, error) // of each tier
	paths, err := routing.RouteTiers(ctx, sys.innerTiers, last, domain, tierStart, flows, seed, defaultRouter)
	if err != nil {
		return nil, err
	}
	linksOf := make([][]int32, len(flows)) // links of the domain, indexed by flow
	for f, flow := range flows {
		path, _ := paths.Of(paths.ClassOf(int32(f)))
		linksOf[f] = slices.Collect(paths.Links(flow.Src, path, domain.Links))
	}

	// path returns the links between two nodes of one pod. The links of a pod have
	// consecutive numbers.
	path := func(src, dst int32) []int32 {
		var links []int32
		f := flowIndex[engine.Flow{Src: indexInPod[src], Dst: indexInPod[dst]}]
		for _, l := range linksOf[f] {
			links = append(links, sys.pods.Nodes[src].Pod*linksPerPod+l)
		}
		return links
	}
	return &fabric.PodNetwork{Network: n, Path: path}, nil
}

// innerTier returns the index of the tier that contains a link of a domain. The slice
// tierStart holds the first link of each tier, followed by the number of links.
func innerTier(tierStart []int, link int) int {
	return slices.IndexFunc(tierStart, func(first int) bool { return first > link }) - 1
}

// tierKinds returns the kinds of the tiers that all work passes through, innermost first;
// nil without tiers inside pods.
func (s *Scenario) tierKinds() (kinds []string) {
	for _, t := range s.Fabric.InnerTiers {
		kinds = append(kinds, t.Kinds()...)
	}
	if kinds != nil {
		kinds = append(kinds, s.Fabric.KindName)
	}
	return kinds
}

// tierOf returns the index of the tier of a resource of the network. Network interfaces
// and circuits belong to the outermost tier. The resources of the network interfaces, two
// per interface, precede the links inside pods.
func (sys *circuitSystem) tierOf(resource int32) int {
	firstNIC := sys.optical.Network.GroupResource(firstGroup)
	innerIndex := int(resource-firstNIC) - 2*len(sys.pods.NICs)
	if innerIndex < 0 {
		return len(sys.scenario.Fabric.InnerTiers)
	}
	linksPerPod := len(sys.pods.Inside.Network.Links) / len(sys.pods.Pods)
	return innerTier(sys.tierStart, innerIndex%linksPerPod)
}
