package circuits

import (
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/fabric"
	"sim/policies/routing"
)

// tierGPUs returns how many GPUs a domain of each tier inside pods has.
func (s *Scenario) tierGPUs() (gpus []int) {
	for _, t := range s.Fabric.InnerTiers {
		gpus = append(gpus, t.GPUs())
	}
	return gpus
}

// newInnerNetwork builds the network inside pods, each a domain of the outermost of the tiers there, with the paths of what the
// graph sends. Nodes are single GPUs, in the order that they have in their pod.
func (sys *circuitSystem) newInnerNetwork(ctx context.Context) (*fabric.PodNetwork, error) {
	last := len(sys.scenario.Fabric.InnerTiers) - 1
	domain, tierStart := sys.innerTiers.Domain(last)
	sys.tierStart = tierStart
	gpus := int32(sys.innerTiers.Machine[last].GPUs)
	nodes, switches := int32(len(sys.pods.Nodes)), domain.Nodes-gpus
	indexInPod, nextInPod := make([]int32, nodes), make([]int32, len(sys.pods.Pods))
	n := &engine.Network{Nodes: nodes + switches*int32(len(sys.pods.Pods))}
	nodesOf := make([][]int32, len(sys.pods.Pods)) // by pod: its nodes
	for i := range sys.pods.Nodes {
		pod := sys.pods.Nodes[i].Pod
		indexInPod[i] = nextInPod[pod]
		nextInPod[pod]++
		nodesOf[pod] = append(nodesOf[pod], int32(i))
	}
	for pod := range sys.pods.Pods {
		node := func(k int32) int32 {
			if k < gpus {
				return nodesOf[pod][k]
			}
			return nodes + int32(pod)*switches + k - gpus
		}
		if len(nodesOf[pod]) != int(gpus) {
			return nil, fmt.Errorf("circuits: %s has %d GPUs, and the tier inside it %d", sys.pods.Pods[pod].Name, len(nodesOf[pod]), gpus)
		}
		for _, l := range domain.Links {
			l.From, l.To = node(l.From), node(l.To)
			n.Links = append(n.Links, l)
		}
	}
	linksPerPod := int32(len(domain.Links))
	n.ResourceNamer = func(r int32) string {
		return fmt.Sprintf("link %d inside %s, of tier %d", r%linksPerPod, sys.pods.Pods[r/linksPerPod].Name, 1+slices.IndexFunc(tierStart, func(f int) bool { return f > int(r%linksPerPod) })-1)
	}
	flowIndex := map[engine.Flow]int{}
	var flows []engine.Flow
	for i := range sys.graph.Tasks {
		if t := &sys.graph.Tasks[i]; t.Kind == engine.Transfer && !sys.pods.BetweenPods(t.Src, t.Dst) {
			f := engine.Flow{Src: indexInPod[t.Src], Dst: indexInPod[t.Dst]}
			if _, ok := flowIndex[f]; !ok {
				flowIndex[f] = len(flows)
				flows = append(flows, f)
			}
		}
	}
	paths, err := routing.RouteTiers(ctx, sys.innerTiers, last, domain, tierStart, flows, sys.scenario.Seed, nil)
	if err != nil {
		return nil, err
	}
	linksOf := make([][]int32, len(flows))
	for f, flow := range flows {
		path, _ := paths.Of(paths.ClassOf(int32(f)))
		linksOf[f] = slices.Collect(paths.Links(flow.Src, path, domain.Links))
	}
	return &fabric.PodNetwork{Network: n, Path: func(src, dst int32) []int32 {
		var links []int32
		for _, l := range linksOf[flowIndex[engine.Flow{Src: indexInPod[src], Dst: indexInPod[dst]}]] {
			links = append(links, sys.pods.Nodes[src].Pod*linksPerPod+l)
		}
		return links
	}}, nil
}

// tierKinds returns the kinds of the tiers that all work takes, innermost first; nil without tiers inside pods.
func (s *Scenario) tierKinds() (kinds []string) {
	for _, t := range s.Fabric.InnerTiers {
		kinds = append(kinds, t.Kinds()...)
	}
	if kinds != nil {
		kinds = append(kinds, s.Fabric.KindName)
	}
	return kinds
}

// tierOf returns the tier of a resource: the outermost of NICs and circuits.
func (sys *circuitSystem) tierOf(resource int32) int {
	innerIndex := int(resource-sys.optical.Network.GroupResource(0)) - 2*len(sys.pods.NICs)
	if innerIndex < 0 {
		return len(sys.scenario.Fabric.InnerTiers)
	}
	linksPerPod, first := len(sys.pods.Inside.Network.Links)/len(sys.pods.Pods), sys.tierStart
	return slices.IndexFunc(first, func(f int) bool { return f > innerIndex%linksPerPod }) - 1
}
