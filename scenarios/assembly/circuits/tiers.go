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

// inside builds the network inside pods, each a domain of the outermost of the tiers there, with the paths of what the
// graph sends. Nodes are single GPUs, in the order that they have in their pod.
func (in *instance) inside(ctx context.Context) (*fabric.PodNetwork, error) {
	last := len(in.s.Fabric.InnerTiers) - 1
	one, first := in.tiers.Domain(last)
	in.first = first
	gpus := int32(in.tiers.Machine[last].GPUs)
	nodes, switches := int32(len(in.pods.Nodes)), one.Nodes-gpus
	at, filled := make([]int32, nodes), make([]int32, len(in.pods.Pods))
	n := &engine.Network{Nodes: nodes + switches*int32(len(in.pods.Pods))}
	of := make([][]int32, len(in.pods.Pods)) // by pod: its nodes
	for i := range in.pods.Nodes {
		pod := in.pods.Nodes[i].Pod
		at[i] = filled[pod]
		filled[pod]++
		of[pod] = append(of[pod], int32(i))
	}
	for pod := range in.pods.Pods {
		node := func(k int32) int32 {
			if k < gpus {
				return of[pod][k]
			}
			return nodes + int32(pod)*switches + k - gpus
		}
		if len(of[pod]) != int(gpus) {
			return nil, fmt.Errorf("circuits: %s has %d GPUs, and the tier inside it %d", in.pods.Pods[pod].Name, len(of[pod]), gpus)
		}
		for _, l := range one.Links {
			l.From, l.To = node(l.From), node(l.To)
			n.Links = append(n.Links, l)
		}
	}
	each := int32(len(one.Links))
	n.ResourceNamer = func(r int32) string {
		return fmt.Sprintf("link %d inside %s, of tier %d", r%each, in.pods.Pods[r/each].Name, 1+slices.IndexFunc(first, func(f int) bool { return f > int(r%each) })-1)
	}
	number := map[engine.Flow]int{}
	var flows []engine.Flow
	for i := range in.graph.Tasks {
		if t := &in.graph.Tasks[i]; t.Kind == engine.Transfer && !in.pods.BetweenPods(t.Src, t.Dst) {
			f := engine.Flow{Src: at[t.Src], Dst: at[t.Dst]}
			if _, ok := number[f]; !ok {
				number[f] = len(flows)
				flows = append(flows, f)
			}
		}
	}
	paths, err := routing.RouteTiers(ctx, in.tiers, last, one, first, flows, in.s.Seed, nil)
	if err != nil {
		return nil, err
	}
	takes := make([][]int32, len(flows))
	for f, flow := range flows {
		path, _ := paths.Of(paths.ClassOf(int32(f)))
		takes[f] = slices.Collect(paths.Links(flow.Src, path, one.Links))
	}
	return &fabric.PodNetwork{Network: n, Path: func(src, dst int32) []int32 {
		var all []int32
		for _, l := range takes[number[engine.Flow{Src: at[src], Dst: at[dst]}]] {
			all = append(all, in.pods.Nodes[src].Pod*each+l)
		}
		return all
	}}, nil
}

// kinds returns the kinds of the tiers that all work takes, innermost first; nil without tiers inside pods.
func (s *Scenario) kinds() (kinds []string) {
	for _, t := range s.Fabric.InnerTiers {
		kinds = append(kinds, t.Kinds()...)
	}
	if kinds != nil {
		kinds = append(kinds, s.Fabric.KindName)
	}
	return kinds
}

// tierOf returns the tier of a resource: the outermost of NICs and circuits.
func (in *instance) tierOf(resource int32) int {
	inside := int(resource-in.optical.Network.GroupResource(0)) - 2*len(in.pods.NICs)
	if inside < 0 {
		return len(in.s.Fabric.InnerTiers)
	}
	one, first := len(in.pods.Inside.Network.Links)/len(in.pods.Pods), in.first
	return slices.IndexFunc(first, func(f int) bool { return f > inside%one }) - 1
}
