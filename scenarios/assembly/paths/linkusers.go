// This file finds out which node pairs load the bottlenecks, the links that are busy for the
// longest time, and how much of the load takes detours around faults.

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

// linkUsers collects the traffic of one link by node and by pair of nodes.
type linkUsers struct {
	numPairs         int                // flows that use the link
	fromNode, toNode []float64          // messages on the link, by source and by destination
	heaviest         []pairLoad         // the largest loads of flows, in decreasing order
	faultFreeLoad    float64            // load without faults
	detours          map[string]float64 // additional load because of faults, by fault
}

// pairLoad is the load that one flow causes on a link.
type pairLoad struct {
	flow int32   // index in trafficLoad.flows
	load float64 // in messages
}

// addPairs adds the pairs of nodes that load each bottleneck of out, and the load
// that takes detours around faults. links are the indices of the bottlenecks.
func (a *routingResult) addPairs(ctx context.Context, out *result.Traffic, links []int32) {
	r := a.system
	indexOf := slices.Repeat([]int{-1}, len(r.Whole.Links)) // index in links, indexed by link; -1 for other links
	users := make([]linkUsers, len(links))
	for k, link := range links {
		indexOf[link] = k
		users[k] = linkUsers{
			fromNode: make([]float64, r.Whole.Nodes), toNode: make([]float64, r.Whole.Nodes),
			detours: map[string]float64{},
		}
	}

	// Compare with the paths without faults, if there are any.
	faultFree := r.faultFreePaths(a.Row.Policy)
	var causes []string // see faultCauses
	if faultFree != nil {
		causes = r.faultCauses()
	}

	// Compute the loads of one flow after the other on the bottlenecks, with and without
	// faults.
	const checkEvery = 4096 // flows between checks of ctx
	visit := r.newLinkVisitor()
	loads, faultFreeLoads := make([]float64, len(links)), make([]float64, len(links))
	for f, flow := range r.load.flows {
		if f%checkEvery == 0 && ctx.Err() != nil {
			return
		}
		demand := 1.0
		if r.load.demand != nil {
			demand = r.load.demand[f]
		}

		clear(loads)
		visit(a.paths, int32(f), func(link int32, share float64) {
			if k := indexOf[link]; k >= 0 {
				loads[k] += share * demand
			}
		})

		cause := "" // the first fault on the fault-free path of the flow
		if faultFree != nil {
			clear(faultFreeLoads)
			visit(faultFree, int32(f), func(link int32, share float64) {
				if k := indexOf[link]; k >= 0 {
					faultFreeLoads[k] += share * demand
				}
				if c := causes[link]; c != "" && cause == "" {
					cause = c
				}
			})
		}

		// Add the loads of the flow to the links that it uses.
		for k, load := range loads {
			u := &users[k]
			u.faultFreeLoad += faultFreeLoads[k]
			if load > 0 {
				u.add(int32(f), flow, load)
			}
			detour := load - faultFreeLoads[k]
			if faultFree != nil && detour > loadTolerance {
				u.detours[cause] += detour
			}
		}
	}

	for k := range users {
		users[k].describe(r, &out.Bottlenecks[k], faultFree != nil)
	}
}

// A linkVisitor calls visit with each link of the paths of a flow, and with the
// share of the flow that uses the link on one path.
type linkVisitor func(paths *engine.Paths, flow int32, visit func(link int32, share float64))

// newLinkVisitor returns a linkVisitor with memory of its own, which it uses again in each
// call.
func (r *routingSystem) newLinkVisitor() linkVisitor {
	reach, mark := make([]float64, r.Whole.Nodes), make([]bool, r.Whole.Nodes)
	return func(paths *engine.Paths, flow int32, visit func(link int32, share float64)) {
		ends := r.load.flows[flow]
		if paths.Spread != nil {
			paths.Spread.VisitLinks(ends.Src, ends.Dst, reach, mark, visit)
			return
		}

		class := paths.ClassOf(flow)
		first, end := paths.Of(class)
		for k := first; k < end; k++ {
			if paths.Start[k] < 0 {
				continue
			}
			for link := range paths.Links(ends.Src, k, r.Whole.Links) {
				visit(link, paths.ShareOf(class, k))
			}
		}
	}
}

// add adds flow f, with the given ends and load, to the users of the link.
func (u *linkUsers) add(f int32, flow engine.Flow, load float64) {
	u.numPairs++
	u.fromNode[flow.Src] += load
	u.toNode[flow.Dst] += load

	if n := len(u.heaviest); n == maxExplainedPairs && load <= u.heaviest[n-1].load {
		return
	}

	// Insert the flow, and drop the one with the smallest load if the list is
	// full.
	k, _ := slices.BinarySearchFunc(u.heaviest, load, func(p pairLoad, load float64) int {
		if p.load >= load {
			return -1 // of equal loads, the first flow is kept
		}
		return 1
	})
	u.heaviest = slices.Insert(u.heaviest, k, pairLoad{f, load})
	u.heaviest = u.heaviest[:min(len(u.heaviest), maxExplainedPairs)]
}

// describe adds the users to the description of the link. hasFaultFree reports
// whether loads without faults are known.
func (u *linkUsers) describe(r *routingSystem, to *result.LoadedLink, hasFaultFree bool) {
	count := func(loads []float64) (nodes int, top result.NodeLoad) {
		for node, load := range loads {
			if load > 0 {
				nodes++
			}
			if load > top.Load*(1+loadTolerance) {
				top = result.NodeLoad{Node: r.nodeName(int32(node)), Load: load}
			}
		}
		return nodes, top
	}

	to.Pairs = u.numPairs
	to.Sources, to.TopSource = count(u.fromNode)
	to.Destinations, to.TopDestination = count(u.toNode)

	// Without demands all pairs have the same load.
	if r.load.demand != nil {
		for _, p := range u.heaviest {
			flow := r.load.flows[p.flow]
			to.TopPairs = append(to.TopPairs, result.PairLoad{
				Src: r.nodeName(flow.Src), Dst: r.nodeName(flow.Dst), Load: p.load,
			})
		}
	}

	if !hasFaultFree {
		return
	}

	// List the faults with the largest detours.
	to.FaultFreeLoad = &u.faultFreeLoad
	for cause, load := range u.detours {
		to.Detours = append(to.Detours, result.Detour{Cause: cause, Load: load})
	}
	slices.SortFunc(to.Detours, func(a, b result.Detour) int {
		return cmp.Or(cmp.Compare(b.Load, a.Load), cmp.Compare(a.Cause, b.Cause))
	})
	to.Detours = to.Detours[:min(len(to.Detours), maxExplainedLinks)]
}

// faultCauses returns the fault that takes a link down or drains it, indexed by
// link. It is "" for links that routers may use.
func (r *routingSystem) faultCauses() []string {
	causes := make([]string, len(r.Whole.Links))
	if r.Health == nil {
		return causes
	}

	f, _, err := r.s.Fabric.Faults()
	if err != nil {
		return causes // not possible, because the fabric was built from these faults
	}
	mark := func(name string, fault torus.Faults) {
		h, err := r.Torus.Health(fault)
		if err != nil {
			return
		}
		for i, state := range h.Link {
			if state != torus.Works && causes[i] == "" {
				causes[i] = name
			}
		}
	}

	// A link with several faults gets the first of them in this order.
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
	return causes
}
