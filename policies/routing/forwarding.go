package routing

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"sim/engine"
)

// Forwarding is paths as static tables of the chips, as Zu et al. (NSDI 24, Sec. 3.5) program them at the start of a
// job. A packet carries its destination and a tag, which its source gives it; every chip has entries by the two that
// name the port and virtual channel to send it on. One tag serves all paths to a destination that part nowhere once
// they have met.
type Forwarding struct {
	Nodes    int32
	Entries  int64 // of all chips
	MostChip int64 // of the chip that has most
	Tags     int   // most of a destination
	TagBits  int   // that a packet carries beside its destination

	degree int
	link   []int32 // by node and port
	to     []int32 // by link: the node it leads to
	// The entry of node a for tag k and destination d is table[d][k*Nodes+a], Arrived where there is none.
	table [][]engine.Step
	// The tags of flow f are tag[first[f]:first[f+1]], one a path; first is nil where flow f has one.
	flows []engine.Flow
	first []int64
	tag   []uint16
}

// mostTags bounds the tags of a destination: what 16 bits can tell apart.
const mostTags = 1 << 16

// mostEntries bounds the places of tables, two bytes each.
const mostEntries = 1 << 31

// Compile makes tables of the paths of flows, which must pass Paths.Check. Paths to a destination are given the first
// tag in whose table they agree with those that have it, the longest paths first. It fails where a path comes to a node
// twice, which no tag helps, and on tables too large to keep.
func Compile(n *engine.Network, flows []engine.Flow, w *engine.Paths) (*Forwarding, error) {
	if w.Spread != nil {
		return nil, errors.New("routing: packets draw their next link, which a table with one port for each destination and tag does not hold")
	}
	z := &Forwarding{Nodes: n.Nodes, degree: w.Degree, link: w.Link, to: make([]int32, len(n.Links)), table: make([][]engine.Step, n.Nodes), flows: flows}
	for i, l := range n.Links {
		z.to[i] = l.To
	}
	if w.First != nil {
		z.first = make([]int64, len(flows)+1)
		for f := range flows {
			a, b := w.Of(w.ClassOf(int32(f)))
			z.first[f+1] = z.first[f] + int64(b-a)
		}
		z.tag = make([]uint16, z.first[len(flows)])
	} else {
		z.tag = make([]uint16, len(flows))
	}
	begin, of := byDestination(int(n.Nodes), flows)
	c := compiler{z: z, w: w, chip: make([]int64, n.Nodes), seen: make([]int64, n.Nodes), none: slices.Repeat([]engine.Step{engine.Arrived}, int(n.Nodes))}
	for dst := range n.Nodes {
		if err := c.destination(dst, of[begin[dst]:begin[dst+1]]); err != nil {
			return nil, err
		}
	}
	for _, k := range c.chip {
		z.Entries += k
		z.MostChip = max(z.MostChip, k)
	}
	z.TagBits = bits.Len(uint(max(0, z.Tags-1)))
	return z, nil
}

// compiler is the state of Compile.
type compiler struct {
	z      *Forwarding
	w      *engine.Paths
	chip   []int64 // by node: entries
	seen   []int64 // by node: the path that came to it last
	count  int64   // of paths
	places int64   // of all tables
	paths  []tagged
	table  []engine.Step // of the destination
	none   []engine.Step // a table without entries
}

// tagged is a path to the destination that is being compiled.
type tagged struct {
	path, src, hops int32
	tag             int64 // its place in Forwarding.tag
}

// destination gives tags to the paths of flows to one node.
func (c *compiler) destination(dst int32, flows []int32) error {
	z, w := c.z, c.w
	c.paths = c.paths[:0]
	for _, f := range flows {
		a, b := w.Of(w.ClassOf(f))
		for k := a; k < b; k++ {
			place := int64(f)
			if z.first != nil {
				place = z.first[f] + int64(k-a)
			}
			c.paths = append(c.paths, tagged{k, z.flows[f].Src, int32(len(w.Steps(k))), place})
		}
	}
	slices.SortStableFunc(c.paths, func(a, b tagged) int { return cmp.Compare(b.hops, a.hops) })
	nodes, tags := int(z.Nodes), 0
	c.table = c.table[:0]
	for _, t := range c.paths {
		steps := w.Steps(t.path)
		c.count++
		for at, i := t.src, 0; i < len(steps); i++ {
			if c.seen[at] == c.count {
				return fmt.Errorf("routing: a path from node %d to %d comes to node %d twice, where no table can tell what to do", t.src, dst, at)
			}
			c.seen[at] = c.count
			at = z.to[w.Out(at, steps[i])]
		}
		tag := 0
		for tag < tags && !c.agrees(c.table[tag*nodes:], t.src, steps) {
			tag++
		}
		if tag == tags {
			tags++
			if c.places += int64(nodes); tags > mostTags || c.places > mostEntries {
				return fmt.Errorf("routing: tables of %d tags a destination and %d places are too large; at most %d and %d are kept", tags, c.places, mostTags, mostEntries)
			}
			c.table = append(c.table, c.none...)
		}
		table, at := c.table[tag*nodes:], t.src
		for _, s := range steps {
			if table[at] == engine.Arrived {
				table[at] = s
				c.chip[at]++
			}
			at = z.to[w.Out(at, s)]
		}
		z.tag[t.tag] = uint16(tag)
	}
	z.Tags = max(z.Tags, tags)
	z.table[dst] = slices.Clone(c.table)
	return nil
}

// agrees reports whether a table sends nowhere else than a path goes.
func (c *compiler) agrees(table []engine.Step, at int32, steps []engine.Step) bool {
	for _, s := range steps {
		if have := table[at]; have != engine.Arrived && have != s {
			return false
		}
		at = c.z.to[c.w.Out(at, s)]
	}
	return true
}

// TagsOf returns the tags that the source gives packets of a flow, one for each of its paths. Read only.
func (z *Forwarding) TagsOf(flow int32) []uint16 {
	if z.first == nil {
		return z.tag[flow : flow+1]
	}
	return z.tag[z.first[flow]:z.first[flow+1]]
}

// WriteCSV writes the tables, an entry a row: chip, destination, tag, and the port, virtual channel and neighbour it
// sends to.
func (z *Forwarding) WriteCSV(out io.Writer) error {
	b := bufio.NewWriter(out)
	if _, err := fmt.Fprintln(b, "chip,destination,tag,port,channel,next"); err != nil {
		return err
	}
	for at := range z.Nodes {
		for dst := range z.Nodes {
			table := z.table[dst]
			for tag := 0; tag*int(z.Nodes) < len(table); tag++ {
				if s := table[tag*int(z.Nodes)+int(at)]; s != engine.Arrived {
					if _, err := fmt.Fprintf(b, "%d,%d,%d,%d,%d,%d\n", at, dst, tag, s.Port(), s.Channel(), z.to[z.link[int(at)*z.degree+s.Port()]]); err != nil {
						return err
					}
				}
			}
		}
	}
	return b.Flush()
}

// WriteTags writes the tags that sources give, a path a row: source, destination, which of the pair's paths it is, and
// its tag.
func (z *Forwarding) WriteTags(out io.Writer) error {
	b := bufio.NewWriter(out)
	if _, err := fmt.Fprintln(b, "source,destination,way,tag"); err != nil {
		return err
	}
	for i, f := range z.flows {
		for path, tag := range z.TagsOf(int32(i)) {
			if _, err := fmt.Fprintf(b, "%d,%d,%d,%d\n", f.Src, f.Dst, path, tag); err != nil {
				return err
			}
		}
	}
	return b.Flush()
}
