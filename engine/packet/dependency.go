package packet

// This file finds possible deadlocks of buffers in a set of paths, without simulating
// packets.

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
	if len(c) == 0 {
		return ""
	}
	var b strings.Builder
	for i := range len(c) + 1 {
		k := c[i%len(c)] // finally the first channel again
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

	// The graph is a bit matrix. Row c holds the dependencies of channel c: bit
	// port*channels + vc is set if the channel depends on channel vc of the link at that
	// port of the node at its far end.
	wordsPerRow int
	rowStart    []int32  // indexed by channel: index of its row in bits; 0 without dependencies
	bits        []uint64 // the rows; the first one, at index 0, is empty
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
	if numNodes := len(d.linkByPort) / max(1, d.degree); node < 0 || int(node) >= numNodes {
		return fmt.Errorf("packet: a path starts at node %d of %d", node, numNodes)
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
			d.setBit(previous, port*d.channels+vc)
		}

		previous, node = current, d.linkEnd[l]
	}
	return nil
}

// setBit sets a bit in the row of a channel.
func (d *Dependencies) setBit(channel, bit int) {
	if d.rowStart[channel] == 0 {
		d.rowStart[channel] = int32(len(d.bits))
		d.bits = append(d.bits, make([]uint64, d.wordsPerRow)...)
	}
	d.bits[int(d.rowStart[channel])+bit/64] |= 1 << (bit % 64)
}

// graph returns the graph as adjacency lists.
func (d *Dependencies) graph() adjacencyLists {
	g := adjacencyLists{start: make([]int32, len(d.rowStart)+1)}
	for c := range d.rowStart {
		firstPort := int(d.linkEnd[c/d.channels]) * d.degree
		for w, word := range d.bits[d.rowStart[c]:][:d.wordsPerRow] {
			for ; word != 0; word &= word - 1 { // removes the lowest set bit
				bit := 64*w + bits.TrailingZeros64(word)
				port, vc := bit/d.channels, bit%d.channels
				g.nodes = append(g.nodes, d.linkByPort[firstPort+port]*int32(d.channels)+int32(vc))
			}
		}
		g.start[c+1] = int32(len(g.nodes))
	}
	return g
}

// Cycle returns a cycle of the graph, or nil if it is acyclic. The cycle is a shortest
// one through the lowest-numbered channel that is on any cycle.
func (d *Dependencies) Cycle() Cycle {
	var cycle Cycle
	for _, c := range d.graph().findCycle() {
		cycle = append(cycle, Channel{c / int32(d.channels), c % int32(d.channels)})
	}
	return cycle
}

// adjacencyLists is a directed graph. The successors of node c are
// nodes[start[c]:start[c+1]].
type adjacencyLists struct{ start, nodes []int32 }

// successors returns the successors of node c.
func (g adjacencyLists) successors(c int32) []int32 { return g.nodes[g.start[c]:g.start[c+1]] }

// findCycle returns a cycle of the graph, or nil if it is acyclic. The cycle is a shortest
// one through the lowest-numbered node that is on any cycle.
func (g adjacencyLists) findCycle() []int32 {
	// A node on a cycle leads to a cycle, and a cycle leads to it. The latter means that
	// the node leads to a cycle of the reversed graph. All other nodes are excluded from
	// the search. live is indexed by node: more than 0 if the search must visit the node.
	reversed := g.reverse()
	live := g.pruneSinks(reversed)
	for c, degree := range reversed.pruneSinks(g) {
		if degree == 0 {
			live[c] = 0
		}
	}

	parent := make([]int32, len(live)) // scratch of shortestCycle
	for c, degree := range live {
		if degree > 0 {
			if cycle := g.shortestCycle(int32(c), live, parent); cycle != nil {
				return cycle
			}
		}
	}
	return nil
}

// reverse returns the graph with the direction of each edge reversed.
func (g adjacencyLists) reverse() adjacencyLists {
	numNodes := len(g.start) - 1
	source := make([]int32, len(g.nodes)) // indexed by edge
	for c := range numNodes {
		for e := g.start[c]; e < g.start[c+1]; e++ {
			source[e] = int32(c)
		}
	}

	start, edges := csr.Index(g.nodes, numNodes) // the edges that lead to each node
	predecessors := make([]int32, len(edges))
	for k, e := range edges {
		predecessors[k] = source[e]
	}
	return adjacencyLists{start, predecessors}
}

// pruneSinks repeatedly removes the nodes without successors (Kahn's algorithm). It
// returns the number of remaining successors of each node. This number is 0 for removed
// nodes, and only for these. reversed is the reversed graph.
func (g adjacencyLists) pruneSinks(reversed adjacencyLists) []int32 {
	degree := make([]int32, len(g.start)-1)
	var pruned []int32
	for c := range degree {
		if degree[c] = g.start[c+1] - g.start[c]; degree[c] == 0 {
			pruned = append(pruned, int32(c))
		}
	}
	for i := 0; i < len(pruned); i++ {
		for _, b := range reversed.successors(pruned[i]) {
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
//
// parent is scratch. During the search it is 0 for nodes that have not been reached, and
// 1 plus the predecessor for the others.
func (g adjacencyLists) shortestCycle(c int32, live, parent []int32) []int32 {
	clear(parent)
	queue := []int32{c}
	for i := 0; i < len(queue); i++ {
		node := queue[i]
		for _, next := range g.successors(node) {
			if live[next] == 0 || parent[next] != 0 {
				continue
			}
			parent[next] = node + 1
			if next != c {
				queue = append(queue, next)
				continue
			}

			// The cycle is closed. The parents lead from its last node back to c.
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

// flowsPerContextCheck is the number of flows between two checks of a context. They take
// some milliseconds.
const flowsPerContextCheck = 1 << 14

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
		if f%flowsPerContextCheck == 0 && ctx.Err() != nil {
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

// addSpread adds the dependencies of packets that choose their next link at random at
// each node. All packets use channel 0. It returns a cycle of the graph, or nil if it is
// acyclic.
func (d *Dependencies) addSpread(ctx context.Context, n *engine.Network, s *engine.NextHops, flows []engine.Flow) (Cycle, error) {
	sources := make([][]int32, n.Nodes) // indexed by destination
	mark := make([]bool, n.Nodes)       // scratch of NodesByDistance
	for _, f := range flows {
		sources[f.Dst] = append(sources[f.Dst], f.Src)
	}

	// For each node that packets to dst can pass, add all pairs of successive links. A
	// port is numbered node*degree + port in s.To and by Shares.
	var pathErr error
	for dst := range n.Nodes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, node := range s.NodesByDistance(sources[dst], dst, mark) {
			s.Shares(node, dst, func(firstPort int, _ float64) {
				next := s.To[firstPort]
				if next == dst {
					return
				}
				s.Shares(next, dst, func(secondPort int, _ float64) {
					const channel = 0
					steps := []engine.Step{
						engine.MakeStep(firstPort%s.Degree, channel), engine.MakeStep(secondPort%s.Degree, channel),
					}
					if err := d.Add(node, steps); pathErr == nil {
						pathErr = err
					}
				})
			})
		}
	}
	if pathErr != nil {
		return nil, pathErr
	}
	return d.Cycle(), nil
}
