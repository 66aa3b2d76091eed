package paths

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"sim/engine"
	"sim/fabric/torus"
	"sim/scenarios/result"
)

// linkUsers gathers who loads a link.
type linkUsers struct {
	numPairs         int
	fromNode, toNode []float64  // by node
	heaviest         []pairLoad // in order of load
	faultFreeLoad    float64
	detours          map[string]float64
}

// pairLoad is the messages of a flow on a link.
type pairLoad struct {
	flow int32
	load float64
}

// addPairs says which pairs load the links hot, and which of them do so because of what is down or drained.
func (a *routingResult) addPairs(ctx context.Context, out *result.Traffic, hot []int32) {
	r := a.system
	at := slices.Repeat([]int{-1}, len(r.Whole.Links)) // by link: place in hot
	of := make([]linkUsers, len(hot))
	for k, link := range hot {
		at[link] = k
		of[k] = linkUsers{fromNode: make([]float64, r.Whole.Nodes),
			toNode: make([]float64, r.Whole.Nodes), detours: map[string]float64{}}
	}

	usual := r.faultFreePaths(a.Row.Policy)
	var causes []string
	if usual != nil {
		causes = r.faultCauses()
	}
	follow := r.newLinkVisitor()
	now, before := make([]float64, len(hot)), make([]float64, len(hot)) // of a flow, by hot link
	for f, flow := range r.load.flows {
		if f&(1<<12-1) == 0 && ctx.Err() != nil {
			return
		}
		demand := 1.0
		if r.load.demand != nil {
			demand = r.load.demand[f]
		}
		clear(now)
		follow(a.paths, int32(f), func(link int32, share float64) {
			if k := at[link]; k >= 0 {
				now[k] += share * demand
			}
		})
		cause := ""
		if usual != nil {
			clear(before)
			follow(usual, int32(f), func(link int32, share float64) {
				if k := at[link]; k >= 0 {
					before[k] += share * demand
				}
				if c := causes[link]; c != "" && cause == "" {
					cause = c
				}
			})
		}
		for k, load := range now {
			z := &of[k]
			z.faultFreeLoad += before[k]
			if load > 0 {
				z.add(int32(f), flow, load)
			}
			if more := load - before[k]; usual != nil && more > loadTolerance {
				z.detours[cause] += more
			}
		}
	}

	for k := range of {
		of[k].describe(r, &out.Bottlenecks[k], usual != nil)
	}
}

// newLinkVisitor returns a function that calls do with every link of a flow's routes, and the share of the flow that takes it
// there.
func (r *routingSystem) newLinkVisitor() func(w *engine.Paths, flow int32, do func(link int32, share float64)) {
	reach, mark := make([]float64, r.Whole.Nodes), make([]bool, r.Whole.Nodes)
	return func(w *engine.Paths, flow int32, do func(link int32, share float64)) {
		ends := r.load.flows[flow]
		if w.Spread != nil {
			w.Spread.VisitLinks(ends.Src, ends.Dst, reach, mark, do)
			return
		}
		class := w.ClassOf(flow)
		first, end := w.Of(class)
		for k := first; k < end; k++ {
			if w.Start[k] < 0 {
				continue
			}
			for link := range w.Links(ends.Src, k, r.Whole.Links) {
				do(link, w.ShareOf(class, k))
			}
		}
	}
}

// add counts a flow that crosses the link.
func (z *linkUsers) add(f int32, flow engine.Flow, load float64) {
	z.numPairs++
	z.fromNode[flow.Src] += load
	z.toNode[flow.Dst] += load
	if n := len(z.heaviest); n == maxExplainedPairs && load <= z.heaviest[n-1].load {
		return
	}
	k, _ := slices.BinarySearchFunc(z.heaviest, load, func(p pairLoad, load float64) int {
		if p.load >= load {
			return -1 // of equal ones the first flow is kept
		}
		return 1
	})
	z.heaviest = slices.Insert(z.heaviest, k, pairLoad{f, load})
	z.heaviest = z.heaviest[:min(len(z.heaviest), maxExplainedPairs)]
}

func (z *linkUsers) describe(r *routingSystem, to *result.LoadedLink, usual bool) {
	count := func(loads []float64) (n int, most result.NodeLoad) {
		for node, load := range loads {
			if load > 0 {
				n++
			}
			if load > most.Load*(1+loadTolerance) {
				most = result.NodeLoad{Node: r.nodeName(int32(node)), Load: load}
			}
		}
		return n, most
	}

	to.Pairs = z.numPairs
	to.Sources, to.TopSource = count(z.fromNode)
	to.Destinations, to.TopDestination = count(z.toNode)
	if r.load.demand != nil {
		for _, p := range z.heaviest {
			flow := r.load.flows[p.flow]
			to.TopPairs = append(to.TopPairs,
				result.PairLoad{Src: r.nodeName(flow.Src), Dst: r.nodeName(flow.Dst),
					Load: p.load})
		}
	}

	if !usual {
		return
	}
	to.FaultFreeLoad = &z.faultFreeLoad
	for cause, load := range z.detours {
		to.Detours = append(to.Detours, result.Detour{Cause: cause, Load: load})
	}
	slices.SortFunc(to.Detours, func(a, b result.Detour) int {
		return cmp.Or(cmp.Compare(b.Load, a.Load), cmp.Compare(a.Cause, b.Cause))
	})
	to.Detours = to.Detours[:min(len(to.Detours), maxExplainedLinks)]
}

// faultCauses names, by link, what takes it down or drains it; "" of links that routers may use.
func (r *routingSystem) faultCauses() []string {
	out := make([]string, len(r.Whole.Links))
	if r.Health == nil {
		return out
	}
	f, _, err := r.s.Fabric.Faults()
	if err != nil {
		return out // which the fabric was built from
	}
	mark := func(name string, one torus.Faults) {
		h, err := r.Torus.Health(one)
		if err != nil {
			return
		}
		for i, state := range h.Link {
			if state != torus.Works && out[i] == "" {
				out[i] = name
			}
		}
	}

	for _, s := range f.Switches {
		mark("switch "+s.String(), torus.Faults{Switches: []torus.Switch{s}})
	}
	for _, l := range f.Links {
		mark("link "+l.String(), torus.Faults{Links: []torus.Hop{l}})
	}
	for _, l := range f.Drained {
		mark("drained link "+l.String(), torus.Faults{Drained: []torus.Hop{l}})
	}
	for _, m := range f.Machines {
		mark("machine "+strconv.Itoa(m), torus.Faults{Machines: []int{m}})
	}
	for _, c := range f.Chips {
		mark("chip "+strconv.Itoa(int(c)), torus.Faults{Chips: []int32{c}})
	}
	return out
}
