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
	VC   int32
}

// Cycle is channels of which each waits for the next and the last for the first.
type Cycle []Channel

// Names returns the channels as messages have them, such as "link 3 x+ vc0 -> link 7 y- vc1 -> link 3 x+ vc0".
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

// Dependencies is a channel dependency graph: its nodes are the virtual channels of links, and one depends on another
// where some path takes the two one after the other, so that packets in the first wait for room in the second. Paths
// whose graph has no cycle cannot deadlock (Dally and Seitz, Deadlock-Free Message Routing in Multiprocessor
// Interconnection Networks, IEEE Trans. Computers C-36, 1987).
type Dependencies struct {
	degree, channels int
	link             []int32 // by node and port
	to               []int32 // by link: the node it leads to

	words int      // of a row
	row   []int32  // by channel: where its row begins in bits; 0, which is an empty one, where it depends on none
	bits  []uint64 // rows: by port and channel at the node behind the link, whether it depends on that
}

// NewDependencies returns the graph of paths over the ports of a network's nodes (as engine.Paths has them) and so many
// virtual channels a link, with no path yet.
func NewDependencies(n *engine.Network, degree int, link []int32, channels int) *Dependencies {
	d := &Dependencies{degree: degree, channels: max(1, channels), link: link, to: make([]int32, len(n.Links))}
	for i, l := range n.Links {
		d.to[i] = l.To
	}
	d.words = (degree*d.channels + 63) / 64
	d.row, d.bits = make([]int32, len(n.Links)*d.channels), make([]uint64, d.words)
	return d
}

// Add takes up a path from a node. It fails on a step that no link or channel is there for.
func (d *Dependencies) Add(from int32, steps []engine.Step) error {
	if from < 0 || int(from) >= len(d.link)/max(1, d.degree) {
		return fmt.Errorf("packet: a path begins at node %d of %d", from, len(d.link)/max(1, d.degree))
	}
	last := -1 // the channel before
	for i, s := range steps {
		port, vc := s.Port(), s.Channel()
		l := int32(-1)
		if port < d.degree {
			l = d.link[int(from)*d.degree+port]
		}
		if l < 0 || vc >= d.channels {
			return fmt.Errorf("packet: step %d of a path takes port %d and channel %d at node %d, which has no such", i, port, vc, from)
		}
		now := int(l)*d.channels + vc
		if last >= 0 {
			if d.row[last] == 0 {
				d.row[last] = int32(len(d.bits))
				d.bits = append(d.bits, make([]uint64, d.words)...)
			}
			k := port*d.channels + vc
			d.bits[int(d.row[last])+k>>6] |= 1 << (k & 63)
		}
		last, from = now, d.to[l]
	}
	return nil
}

// rows returns the channels that each depends on, one after the other: those of channel c are
// after[start[c]:start[c+1]].
func (d *Dependencies) rows() (start, after []int32) {
	start = make([]int32, len(d.row)+1)
	for c := range d.row {
		base := int(d.to[c/d.channels]) * d.degree
		for w, word := range d.bits[d.row[c]:][:d.words] {
			for ; word != 0; word &= word - 1 {
				k := w<<6 + bits.TrailingZeros64(word)
				after = append(after, d.link[base+k/d.channels]*int32(d.channels)+int32(k%d.channels))
			}
		}
		start[c+1] = int32(len(after))
	}
	return start, after
}

// Cycle returns a cycle of the graph, nil where there is none. It is a shortest one through the first channel that is
// on any.
func (d *Dependencies) Cycle() Cycle {
	var cycle Cycle
	for _, c := range cycleOf(d.rows()) {
		cycle = append(cycle, Channel{c / int32(d.channels), c % int32(d.channels)})
	}
	return cycle
}

// cycleOf returns a cycle of a graph in which node c leads to after[start[c]] to after[start[c+1]-1], nil where there
// is none. It is a shortest one through the first node that is on any.
func cycleOf(start, after []int32) []int32 {
	back, before := reversed(start, after)
	need := peel(start, before, back)   // what leads to no cycle
	comes := peel(before, start, after) // what no cycle leads to
	for c, k := range comes {
		if k == 0 {
			need[c] = 0
		}
	}
	from := make([]int32, len(need)) // the node before, 1 more; 0 where not reached
	for c, k := range need {
		if k > 0 {
			if cycle := around(int32(c), start, after, need, from); cycle != nil {
				return cycle
			}
		}
	}
	return nil
}

// reversed returns the rows of a graph the other way round.
func reversed(start, after []int32) (back, before []int32) {
	from := make([]int32, len(after))
	for c := range len(start) - 1 {
		for e := start[c]; e < start[c+1]; e++ {
			from[e] = int32(c)
		}
	}
	before, back = csr.Index(after, len(start)-1)
	for k, e := range back {
		back[k] = from[e]
	}
	return back, before
}

// peel drops, again and again, nodes with nothing left in their row; it returns how much is left in each, 0 in those
// dropped. The rows of start are turned round in before and back.
func peel(start, before, back []int32) []int32 {
	left, free := make([]int32, len(start)-1), []int32(nil)
	for c := range left {
		if left[c] = start[c+1] - start[c]; left[c] == 0 {
			free = append(free, int32(c))
		}
	}
	for i := 0; i < len(free); i++ {
		c := free[i]
		for _, b := range back[before[c]:before[c+1]] {
			if left[b]--; left[b] == 0 {
				free = append(free, b)
			}
		}
	}
	return left
}

// around searches breadth-first for a path from a node back to itself.
func around(c int32, start, after, need, from []int32) []int32 {
	clear(from)
	queue := []int32{c}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		for _, e := range after[start[at]:start[at+1]] {
			if need[e] == 0 || from[e] != 0 {
				continue
			}
			from[e] = at + 1
			if e != c {
				queue = append(queue, e)
				continue
			}
			cycle := []int32{c}
			for k := at; k != c; k = from[k] - 1 {
				cycle = append(cycle, k)
			}
			slices.Reverse(cycle[1:])
			return cycle
		}
	}
	need[c] = 0 // on no cycle, and no path to one leads by it again
	return nil
}

// CheckChannels returns a cycle in the channel dependency graph of all paths that flows may take, nil where there is
// none: packets that take them then cannot deadlock, whatever the traffic. It fails where a flow has no path, or a path
// takes what is not there, and with ctx's error when ctx ends before it.
func CheckChannels(ctx context.Context, n *engine.Network, w *engine.Paths, flows []engine.Flow) (Cycle, error) {
	d := NewDependencies(n, w.Degree, w.Link, w.Channels())
	if w.Spread != nil {
		return d.spread(ctx, n, w.Spread, flows)
	}
	for f, flow := range flows {
		if f&(1<<14-1) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		first, end := w.Of(w.ClassOf(int32(f)))
		for k := first; k < end; k++ {
			if w.Start[k] < 0 {
				return nil, fmt.Errorf("packet: no path leads flow %d from node %d to %d", f, flow.Src, flow.Dst)
			}
			if err := d.Add(flow.Src, w.Steps(k)); err != nil {
				return nil, fmt.Errorf("flow %d from node %d to %d: %w", f, flow.Src, flow.Dst, err)
			}
		}
	}
	return d.Cycle(), nil
}

// spread returns a cycle of what packets that draw their links may depend on, all on channel 0.
func (d *Dependencies) spread(ctx context.Context, n *engine.Network, s *engine.NextHops, flows []engine.Flow) (Cycle, error) {
	from, mark := make([][]int32, n.Nodes), make([]bool, n.Nodes)
	for _, f := range flows {
		from[f.Dst] = append(from[f.Dst], f.Src)
	}
	var err error
	for dst := range n.Nodes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, at := range s.NodesByDistance(from[dst], dst, mark) {
			s.Shares(at, dst, func(port int, _ float64) {
				if next := s.To[port]; next != dst {
					first := engine.MakeStep(port%s.Degree, 0)
					s.Shares(next, dst, func(port int, _ float64) {
						if e := d.Add(at, []engine.Step{first, engine.MakeStep(port%s.Degree, 0)}); err == nil {
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
