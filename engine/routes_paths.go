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
func RoutesOf(g *Graph, n *Network, w *Paths, flows []Flow) (*Routes, error) {
	z := tracer{n: n, w: w, mark: make([]int, len(n.Links)), resource: make([]int32, len(w.Link))}
	copy(z.resource, w.Link)
	index := flowIndex{flows: flows}
	r := &Routes{Start: make([]int32, len(g.Tasks)+1)}
	for i := range g.Tasks {
		if t := &g.Tasks[i]; t.Kind == Transfer && t.Src != t.Dst {
			f := index.of(i, Flow{t.Src, t.Dst})
			if f < 0 {
				return nil, fmt.Errorf("engine: %s goes from node %d to %d, between which there is no flow", g.Name(int32(i)), t.Src, t.Dst)
			}
			if w.Spread != nil {
				z.spread(*t)
			} else {
				z.trace(w.ClassOf(f), t.Src)
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
	w        *Paths
	resource []int32 // by node and port
	mark     []int   // by resource: where in uses it was last used
	uses     []Use

	share []float64 // by node: of a transfer's packets that come there
	seen  []bool    // by node
}

// trace appends the uses of a class's paths from a node.
func (z *tracer) trace(class, src int32) {
	begin := len(z.uses)
	first, end := z.w.Of(class)
	for path := first; path < end; path++ {
		share, at := z.w.ShareOf(class, path), src
		if share == 0 {
			continue
		}
		for k := z.w.Start[path]; z.w.Step[k] != Arrived; k++ {
			port := int(at)*z.w.Degree + z.w.Step[k].Port()
			r := z.resource[port]
			if m := z.mark[r]; m >= begin && m < len(z.uses) && z.uses[m].Resource == r {
				z.uses[m].Weight += share
			} else {
				z.mark[r] = len(z.uses)
				z.uses = append(z.uses, Use{r, share})
			}
			at = z.n.Links[z.w.Link[port]].To
		}
	}
}

// spread appends the uses of a transfer whose packets draw their links: the probability that one takes each.
func (z *tracer) spread(t Task) {
	s := z.w.Spread
	if z.share == nil {
		z.share, z.seen = make([]float64, z.n.Nodes), make([]bool, z.n.Nodes)
	}
	s.Follow(t.Src, t.Dst, z.share, z.seen, func(link int32, share float64) { z.uses = append(z.uses, Use{link, share}) })
}

// flowIndex finds flows by their ends: flow i is asked for first with a hint of i, and only where that fails all are
// indexed.
type flowIndex struct {
	flows []Flow
	by    map[Flow]int32
}

func (x *flowIndex) of(hint int, f Flow) int32 {
	if hint < len(x.flows) && x.flows[hint] == f {
		return int32(hint)
	}
	if x.by == nil {
		x.by = make(map[Flow]int32, len(x.flows))
		for i, f := range slices.Backward(x.flows) {
			x.by[f] = int32(i)
		}
	}
	if i, ok := x.by[f]; ok {
		return i
	}
	return -1
}
