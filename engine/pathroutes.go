package engine

import (
	"fmt"
	"math"
	"slices"
)

// RoutesOf returns the routes of g's transfers along the paths of flows, which must pass Paths.Check for n. Task i
// takes the paths of flow i where the ends of that are its own, and else of the first flow that has its ends. A flow
// with more than one path is split between them by their shares at all times, as its packets are in the mean, and so is
// one whose packets draw their links (Paths.Spread); of a link that several of its paths take, or one of them twice,
// the transfer has one Use of the sum. A transfer from a node to itself has none. It fails on a transfer between nodes
// that no flow joins, and where there are more uses than Routes can number.
func RoutesOf(g *Graph, n *Network, paths *Paths, flows []Flow) (*Routes, error) {
	z := tracer{n: n, paths: paths, lastUse: make([]int, len(n.Links)), resource: make([]int32, len(paths.Link))}
	copy(z.resource, paths.Link)
	index := flowIndex{flows: flows}
	r := &Routes{Start: make([]int32, len(g.Tasks)+1)}
	for i := range g.Tasks {
		if t := &g.Tasks[i]; t.Kind == Transfer && t.Src != t.Dst {
			f := index.find(i, Flow{t.Src, t.Dst})
			if f < 0 {
				return nil, fmt.Errorf("engine: %s goes from node %d to %d, between which there is no flow", g.Name(int32(i)), t.Src, t.Dst)
			}
			if paths.Spread != nil {
				z.addNextHops(*t)
			} else {
				z.addPaths(paths.ClassOf(f), t.Src)
			}
		}
		if len(z.uses) > math.MaxInt32 {
			return nil, fmt.Errorf("engine: the transfers take links more than %d times, too often to keep as routes", math.MaxInt32)
		}
		r.Start[i+1] = int32(len(z.uses))
	}
	r.Uses = z.uses
	return r, nil
}

// tracer gathers the uses of paths.
type tracer struct {
	n        *Network
	paths    *Paths
	resource []int32 // by node and port
	lastUse  []int   // by resource: where in uses it was last used
	uses     []Use

	share    []float64 // by node: of a transfer's packets that come there
	isMarked []bool    // by node
}

// addPaths appends the uses of a class's paths from a node.
func (z *tracer) addPaths(class, src int32) {
	begin := len(z.uses)
	first, end := z.paths.Of(class)
	for path := first; path < end; path++ {
		share, node := z.paths.ShareOf(class, path), src
		if share == 0 {
			continue
		}
		for k := z.paths.Start[path]; z.paths.Step[k] != Arrived; k++ {
			port := int(node)*z.paths.Degree + z.paths.Step[k].Port()
			r := z.resource[port]
			if m := z.lastUse[r]; m >= begin && m < len(z.uses) && z.uses[m].Resource == r {
				z.uses[m].Weight += share
			} else {
				z.lastUse[r] = len(z.uses)
				z.uses = append(z.uses, Use{r, share})
			}
			node = z.n.Links[z.paths.Link[port]].To
		}
	}
}

// addNextHops appends the uses of a transfer whose packets draw their links: the probability that one takes each.
func (z *tracer) addNextHops(t Task) {
	s := z.paths.Spread
	if z.share == nil {
		z.share, z.isMarked = make([]float64, z.n.Nodes), make([]bool, z.n.Nodes)
	}
	s.VisitLinks(t.Src, t.Dst, z.share, z.isMarked, func(link int32, share float64) { z.uses = append(z.uses, Use{link, share}) })
}

// flowIndex finds flows by their ends: flow i is asked for first with a hint of i, and only where that fails all are
// indexed.
type flowIndex struct {
	flows  []Flow
	byEnds map[Flow]int32
}

func (x *flowIndex) find(hint int, f Flow) int32 {
	if hint < len(x.flows) && x.flows[hint] == f {
		return int32(hint)
	}
	if x.byEnds == nil {
		x.byEnds = make(map[Flow]int32, len(x.flows))
		for i, f := range slices.Backward(x.flows) {
			x.byEnds[f] = int32(i)
		}
	}
	if i, ok := x.byEnds[f]; ok {
		return i
	}
	return -1
}
