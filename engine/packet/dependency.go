package packet

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"sim/engine"
	"sim/internal/csr"
)

// Channel is a virtual channel of a link.
type Channel struct {
	Link int32
	VC   int32 // number of the channel on the link
}

// Cycle is a cyclic sequence of channels: each one waits for the next, and the last one
// for the first.
type Cycle []Channel

// Names returns the channels as text, such as "link 3 x+ vc0 -> link 7 y- vc1 -> link 3
// x+ vc0".
func (c Cycle) Names(n *engine.Network) string {
	var b strings.Builder
	for i := range len(c) + 1 {
		if len(c) == 0 {
			break
		}
		k := c[i%len(c)]
		if i > 0 {
			b.WriteString(" -> ")
		}
		fmt.Fprintf(&b, "%s vc%d", n.ResourceName(k.Link), k.VC)
	}
	return b.String()
}

// Dependencies is a channel dependency graph. Its nodes are the virtual channels of
// links. A channel depends on another one if some path uses the two in succession, so
// that packets in the first can wait for space in the second. Paths with an acyclic graph
// cannot deadlock (Dally and Seitz, "Deadlock-Free Message Routing in Multiprocessor
// Interconnection Networks", IEEE Transactions on Computers C-36, 1987).
//
// Channel c of link l is node l*channels + c.
type Dependencies struct {
	degree, channels int     // ports per node, and channels per link
	linkByPort       []int32 // indexed by node*degree + port; -1 if there is no link
	linkEnd          []int32 // indexed by link: the node at its far end

	wordsPerRow int
	rowStart    []int32  // indexed by channel: index of its row in bits; 0, an empty row, without dependencies
	bits        []uint64 // rows: bit port*channels + vc is the dependency on that channel at the far end
}

// NewDependencies returns the graph without any path. Ports are the same as in
// engine.Paths: link[node*degree+port] is the link at a port. channels is the number of
// virtual channels per link.
func NewDependencies(n *engine.Network, degree int, link []int32, channels int) *Dependencies {
	d := &Dependencies{degree: degree, channels: max(1, channels), linkByPort: link, linkEnd: make([]int32, len(n.Links))}
	for i, l := range n.Links {
		d.linkEnd[i] = l.To
	}
	d.wordsPerRow = (degree*d.channels + 63) / 64
	d.rowStart, d.bits = make([]int32, len(n.Links)*d.channels), make([]uint64, d.wordsPerRow)
	return d
}

// Add adds the dependencies of a path that starts at node. It returns an error if a step
// uses a link or channel that does not exist.
func (d *Dependencies) Add(node int32, steps []engine.Step) error {
	if node < 0 || int(node) >= len(d.linkByPort)/max(1, d.degree) {
		return fmt.Errorf("packet: a path starts at node %d of %d", node, len(d.linkByPort)/max(1, d.degree))
	}
	previous := -1 // channel of the previous step
	for i, s := range steps {
		port, vc := s.Port(), s.Channel()
		l := int32(-1)
		if port < d.degree {
			l = d.linkByPort[int(node)*d.degree+port]
		}
		if l < 0 || vc >= d.channels {
			return fmt.Errorf("packet: step %d of a path uses port %d and channel %d, which node %d does not have", i, port, vc, node)
		}

		current := int(l)*d.channels + vc
		if previous >= 0 {
			if d.rowStart[previous] == 0 {
				d.rowStart[previous] = int32(len(d.bits))
				d.bits = append(d.bits, make([]uint64, d.wordsPerRow)...)
			}
			k := port*d.channels + vc
			d.bits[int(d.rowStart[previous])+k>>6] |= 1 << (k & 63)
		}

		previous, node = current, d.linkEnd[l]
	}
	return nil
}

// successors returns the graph as adjacency lists: channel c depends on
// after[start[c]:start[c+1]].
func (d *Dependencies) successors() (start, after []int32) {
	start = make([]int32, len(d.rowStart)+1)
	for c := range d.rowStart {
		base := int(d.linkEnd[c/d.channels]) * d.degree
		for w, word := range d.bits[d.rowStart[c]:][:d.wordsPerRow] {
			for ; word != 0; word &= word - 1 {
				k := w<<6 + bits.TrailingZeros64(word)
				after = append(after, d.linkByPort[base+k/d.channels]*int32(d.channels)+int32(k%d.channels))
			}
		}
		start[c+1] = int32(len(after))
	}
	return start, after
}

// Cycle returns a cycle of the graph, or nil if it is acyclic. The cycle is a shortest
// one through the lowest-numbered channel that is on any cycle.
func (d *Dependencies) Cycle() Cycle {
	var cycle Cycle
	for _, c := range findCycle(d.successors()) {
		cycle = append(cycle, Channel{c / int32(d.channels), c % int32(d.channels)})
	}
	return cycle
}

// findCycle returns a cycle of the graph in which node c has the successors
// after[start[c]:start[c+1]], or nil if it is acyclic. The cycle is a shortest one
// through the lowest-numbered node that is on any cycle.
func findCycle(start, after []int32) []int32 {
	predecessors, firstPredecessor := reverseGraph(start, after)
	live := pruneSinks(start, firstPredecessor, predecessors) // 0 for nodes that lead to no cycle
	reachable := pruneSinks(firstPredecessor, start, after)   // 0 for nodes that no cycle leads to

	for c, degree := range reachable {
		if degree == 0 {
			live[c] = 0
		}
	}
	parent := make([]int32, len(live)) // predecessor in the search plus 1; 0 if a node has not been reached
	for c, degree := range live {
		if degree > 0 {
			if cycle := shortestCycle(int32(c), start, after, live, parent); cycle != nil {
				return cycle
			}
		}
	}
	return nil
}

// reverseGraph returns the predecessors of the nodes of a graph: node c has
// predecessors[firstPredecessor[c]:firstPredecessor[c+1]].
func reverseGraph(start, after []int32) (predecessors, firstPredecessor []int32) {
	from := make([]int32, len(after))
	for c := range len(start) - 1 {
		for e := start[c]; e < start[c+1]; e++ {
			from[e] = int32(c)
		}
	}
	firstPredecessor, predecessors = csr.Index(after, len(start)-1)
	for k, e := range predecessors {
		predecessors[k] = from[e]
	}
	return predecessors, firstPredecessor
}

// pruneSinks repeatedly removes the nodes without successors (Kahn's algorithm). It
// returns the number of remaining successors of each node; removed nodes have 0.
func pruneSinks(start, firstPredecessor, predecessors []int32) []int32 {
	degree, pruned := make([]int32, len(start)-1), []int32(nil)
	for c := range degree {
		if degree[c] = start[c+1] - start[c]; degree[c] == 0 {
			pruned = append(pruned, int32(c))
		}
	}
	for i := 0; i < len(pruned); i++ {
		c := pruned[i]
		for _, b := range predecessors[firstPredecessor[c]:firstPredecessor[c+1]] {
			if degree[b]--; degree[b] == 0 {
				pruned = append(pruned, b)
			}
		}
	}
	return degree
}

// shortestCycle searches breadth-first for a shortest path from node c back to itself. It
// visits only nodes with live > 0. If there is no cycle through c, it sets live[c] to 0
// and returns nil.
func shortestCycle(c int32, start, after, live, parent []int32) []int32 {
	clear(parent)
	queue := []int32{c}
	for i := 0; i < len(queue); i++ {
		node := queue[i]
		for _, e := range after[start[node]:start[node+1]] {
			if live[e] == 0 || parent[e] != 0 {
				continue
			}
			parent[e] = node + 1
			if e != c {
				queue = append(queue, e)
				continue
			}
			cycle := []int32{c}
			for k := node; k != c; k = parent[k] - 1 {
				cycle = append(cycle, k)
			}
			slices.Reverse(cycle[1:])
			return cycle
		}
	}
	live[c] = 0 // no later search needs to visit c
	return nil
}

// CheckChannels returns a cycle in the channel dependency graph of all paths that the
// flows can take, or nil if it is acyclic. Without a cycle, packets on these paths cannot
// deadlock, whatever the traffic.
//
// CheckChannels returns an error if a flow has no path or if a path uses a link or
// channel that does not exist. If ctx is cancelled, it returns the error of ctx.
func CheckChannels(ctx context.Context, n *engine.Network, w *engine.Paths, flows []engine.Flow) (Cycle, error) {
	d := NewDependencies(n, w.Degree, w.Link, w.Channels())
	if w.Spread != nil {
		return d.addSpread(ctx, n, w.Spread, flows)
	}
	for f, flow := range flows {
		if f&(1<<14-1) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		first, end := w.Of(w.ClassOf(int32(f)))
		for k := first; k < end; k++ {
			if w.Start[k] < 0 {
				return nil, fmt.Errorf("packet: flow %d from node %d to %d has no path", f, flow.Src, flow.Dst)
			}
			if err := d.Add(flow.Src, w.Steps(k)); err != nil {
				return nil, fmt.Errorf("flow %d from node %d to %d: %w", f, flow.Src, flow.Dst, err)
			}
		}
	}
	return d.Cycle(), nil
}

// addSpread adds the dependencies of packets that draw their links at each node, all on
// channel 0, and returns a cycle or nil.
func (d *Dependencies) addSpread(ctx context.Context, n *engine.Network, s *engine.NextHops, flows []engine.Flow) (Cycle, error) {
	sources, mark := make([][]int32, n.Nodes), make([]bool, n.Nodes)
	for _, f := range flows {
		sources[f.Dst] = append(sources[f.Dst], f.Src)
	}

	var err error
	for dst := range n.Nodes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, node := range s.NodesByDistance(sources[dst], dst, mark) {
			s.Shares(node, dst, func(port int, _ float64) {
				if next := s.To[port]; next != dst {
					first := engine.MakeStep(port%s.Degree, 0)
					s.Shares(next, dst, func(port int, _ float64) {
						if e := d.Add(node, []engine.Step{first, engine.MakeStep(port%s.Degree, 0)}); err == nil {
							err = e
						}
					})
				}
			})
		}
	}
	if err != nil {
		return nil, err
	}
	return d.Cycle(), nil
}
