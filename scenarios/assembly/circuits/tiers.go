package circuits

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric"
	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
)

// tierGPUs returns how many GPUs a domain of each tier inside pods has.
func (s *Scenario) tierGPUs() (gpus []int) {
	for _, t := range s.Tiers {
		gpus = append(gpus, t.GPUs())
	}
	return gpus
}

// inside builds the network inside pods, each a domain of the outermost of the tiers there, with the paths of what the
// graph sends. Nodes are single GPUs, in the order that they have in their pod.
func (in *instance) inside(ctx context.Context) (*fabric.Inside, error) {
	last := len(in.s.Tiers) - 1
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
		if t := &in.graph.Tasks[i]; t.Kind == engine.Transfer && !in.pods.Crosses(t.Src, t.Dst) {
			f := engine.Flow{Src: at[t.Src], Dst: at[t.Dst]}
			if _, ok := number[f]; !ok {
				number[f] = len(flows)
				flows = append(flows, f)
			}
		}
	}
	paths, err := in.tiers.Route(ctx, last, one, first, flows, in.s.Seed, nil)
	if err != nil {
		return nil, err
	}
	takes := make([][]int32, len(flows))
	for f, flow := range flows {
		path, _ := paths.Of(paths.ClassOf(int32(f)))
		from := flow.Src
		for _, s := range paths.Steps(path) {
			l := paths.Out(from, s)
			takes[f], from = append(takes[f], l), one.Links[l].To
		}
	}
	return &fabric.Inside{Network: n, Path: func(src, dst int32) []int32 {
		var all []int32
		for _, l := range takes[number[engine.Flow{Src: at[src], Dst: at[dst]}]] {
			all = append(all, in.pods.Nodes[src].Pod*each+l)
		}
		return all
	}}, nil
}

// byTier measures what each tier carries and for how much of the time, how much longer the work takes for it, and how
// long it would be were its links twice as fast, as fluid on the decided circuits.
func (in *instance) byTier(ctx context.Context, d *topology.Decision, trace *engine.Trace, row *result.Row) error {
	if in.tiers == nil || d.Moves.Moving() { // what circuits do when follows from all tiers together
		return nil
	}
	n, err := in.optical.Provision(d.Circuits)
	if err != nil {
		return err
	}
	outer := len(in.s.Tiers)
	tier := func(task int32) int {
		t := &in.graph.Tasks[task]
		switch {
		case t.Kind != engine.Transfer:
			return -1
		case in.crosses(task):
			return outer
		}
		uses := in.optical.Routes.Of(task)
		return in.tierOf(uses[0].Resource)
	}
	late, kinds := in.pods.Late(in.plain), []string(nil)
	for t := range outer + 1 {
		own := func(task int32) bool { return tier(task) == t }
		free, soon := &engine.Routes{Start: make([]int32, len(in.graph.Tasks)+1)}, slices.Clone(late)
		for i := range in.graph.Tasks {
			if !own(int32(i)) {
				free.Uses = append(free.Uses, in.optical.Routes.Of(int32(i))...)
			} else if late != nil {
				soon[i] = 0
			}
			free.Start[i+1] = int32(len(free.Uses))
		}
		g := in.graph
		if late != nil {
			if g, err = assembly.Delayed(in.plain, soon); err != nil {
				return err
			}
		}
		without, err := flow.Run(ctx, g, n, free, flow.Options{Service: d.Service, Tails: in.tails(d)})
		if err != nil {
			return err
		}
		fast := assembly.Faster(n, 1)
		for i := range fast.Links {
			if t == outer {
				fast.Links[i].Rate *= 2
			}
		}
		for i := range fast.Groups {
			if in.tierOf(fast.GroupResource(int32(i))) == t {
				fast.Groups[i].Rate *= 2
			}
		}
		doubled, err := flow.Run(ctx, in.graph, fast, in.optical.Routes, flow.Options{Service: d.Service, Tails: in.tails(d)})
		if err != nil {
			return err
		}
		m, name, step := row.Metrics, fmt.Sprintf("tier%d_", t+1), assembly.NewStep(in.graph, trace, own)
		m[name+"bytes"], m[name+"busy"] = step.Bytes, step.Busy.Seconds()/trace.Makespan.Seconds()
		m[name+"exposed_s"], m[name+"doubled_s"] = (d.Makespan - without.Makespan).Seconds(), doubled.Makespan.Seconds()
		if t < outer {
			kinds = append(kinds, in.s.Tiers[t].Kinds()...)
		}
	}
	row.Labels["tiers"] = strings.Join(append(kinds, "ocs-pods"), ", ")
	return nil
}

// tierOf returns the tier of a resource: the outermost of NICs and circuits.
func (in *instance) tierOf(resource int32) int {
	inside := int(resource-in.optical.Network.GroupResource(0)) - 2*len(in.pods.NICs)
	if inside < 0 {
		return len(in.s.Tiers)
	}
	one, first := len(in.pods.Inside.Network.Links)/len(in.pods.Pods), in.first
	return slices.IndexFunc(first, func(f int) bool { return f > inside%one }) - 1
}
