package engine

import (
	"fmt"
	"math"
	"slices"
)

// RoutesOf converts paths to routes. Task i takes the paths of flow i if both have the same
// endpoints, and otherwise the paths of the first flow with its endpoints. The paths must pass
// Paths.Check for n.
//
// A transfer with several paths, or with next hops (Paths.Spread), uses each link with the
// expected share of its packets. If several paths contain a link, or one path contains it twice,
// the transfer has one Use with the sum. A transfer from a node to itself has no uses. RoutesOf
// returns an error if no flow has the endpoints of a transfer, or if the uses exceed the range
// of Routes.
func RoutesOf(g *Graph, n *Network, paths *Paths, flows []Flow) (*Routes, error) {
	z := tracer{n: n, paths: paths, lastUse: make([]int, len(n.Links)), resource: make([]int32, len(paths.Link))}
	copy(z.resource, paths.Link)
	index := flowIndex{flows: flows}
	r := &Routes{Start: make([]int32, len(g.Tasks)+1)}

	for i := range g.Tasks {
		if t := &g.Tasks[i]; t.Kind == Transfer && t.Src != t.Dst {
			f := index.find(i, Flow{t.Src, t.Dst})
			if f < 0 {
				return nil, fmt.Errorf("engine: %s goes from node %d to %d, between which there is no flow",
					g.Name(int32(i)), t.Src, t.Dst)
			}
			if paths.Spread != nil {
				z.addNextHops(*t)
			} else {
				z.addPaths(paths.ClassOf(f), t.Src)
			}
		}
		if len(z.uses) > math.MaxInt32 {
			return nil, fmt.Errorf("engine: the transfers take links more than %d times, too often to keep as routes",
				math.MaxInt32)
		}
		r.Start[i+1] = int32(len(z.uses))
	}
	r.Uses = z.uses
	return r, nil
}

// tracer collects the uses of transfers: it follows their paths from link to link.
type tracer struct {
	n        *Network
	paths    *Paths
	resource []int32 // resource of a port, indexed by node*Degree+port
	lastUse  []int   // index in uses of the last use, indexed by resource
	uses     []Use

	share    []float64 // scratch: share of the packets that visit a node, indexed by node
	isMarked []bool    // scratch of NextHops, indexed by node
}

// addPaths appends the uses of the paths of a class from node src.
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

			// lastUse is valid only if its use is one of this transfer.
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

// addNextHops appends the uses of a transfer that is routed by next hops: the probability that a
// packet takes each link.
func (z *tracer) addNextHops(t Task) {
	s := z.paths.Spread
	if z.share == nil {
		z.share, z.isMarked = make([]float64, z.n.Nodes), make([]bool, z.n.Nodes)
	}
	s.VisitLinks(t.Src, t.Dst, z.share, z.isMarked, func(link int32, share float64) {
		z.uses = append(z.uses, Use{link, share})
	})
}

// flowIndex finds flows by their endpoints. It builds a map only if a lookup by position fails.
type flowIndex struct {
	flows  []Flow
	byEnds map[Flow]int32 // built at the first failure
}

// find returns the index of flow f, -1 if it does not exist. hint is its probable index.
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
