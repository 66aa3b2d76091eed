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
	Nodes          int32
	Entries        int64 // of all chips
	MaxChipEntries int64 // of the chip that has most
	Tags           int   // most of a destination
	TagBits        int   // that a packet carries beside its destination

	degree  int
	link    []int32 // by node and port
	linkEnd []int32 // by link: the node it leads to
	// The entry of node a for tag k and destination d is table[d][k*Nodes+a], Arrived where there is none.
	table [][]engine.Step
	// The tags of flow f are tag[first[f]:first[f+1]], one a path; first is nil where flow f has one.
	flows    []engine.Flow
	firstTag []int64
	tags     []uint16
}

// maxTags bounds the tags of a destination: what 16 bits can tell apart.
const maxTags = 1 << 16

// maxTableSize bounds the places of tables, two bytes each.
const maxTableSize = 1 << 31

// Compile makes tables of the paths of flows, which must pass Paths.Check. Paths to a destination are given the first
// tag in whose table they agree with those that have it, the longest paths first. It fails where a path comes to a node
// twice, which no tag helps, and on tables too large to keep.
func Compile(n *engine.Network, flows []engine.Flow, paths *engine.Paths) (*Forwarding, error) {
	if paths.Spread != nil {
		return nil, errors.New("routing: packets draw their next link, which a table with one port for each destination and tag does not hold")
	}
	z := &Forwarding{Nodes: n.Nodes, degree: paths.Degree, link: paths.Link, linkEnd: make([]int32, len(n.Links)), table: make([][]engine.Step, n.Nodes), flows: flows}
	for i, l := range n.Links {
		z.linkEnd[i] = l.To
	}
	if paths.First != nil {
		z.firstTag = make([]int64, len(flows)+1)
		for f := range flows {
			a, b := paths.Of(paths.ClassOf(int32(f)))
			z.firstTag[f+1] = z.firstTag[f] + int64(b-a)
		}
		z.tags = make([]uint16, z.firstTag[len(flows)])
	} else {
		z.tags = make([]uint16, len(flows))
	}
	start, byDst := flowsByDestination(int(n.Nodes), flows)
	c := tableCompiler{tables: z, paths: paths, chipEntries: make([]int64, n.Nodes), lastPath: make([]int64, n.Nodes), emptyTable: slices.Repeat([]engine.Step{engine.Arrived}, int(n.Nodes))}
	for dst := range n.Nodes {
		if err := c.compileDestination(dst, byDst[start[dst]:start[dst+1]]); err != nil {
			return nil, err
		}
	}
	for _, k := range c.chipEntries {
		z.Entries += k
		z.MaxChipEntries = max(z.MaxChipEntries, k)
	}
	z.TagBits = bits.Len(uint(max(0, z.Tags-1)))
	return z, nil
}

// tableCompiler is the state of Compile.
type tableCompiler struct {
	tables      *Forwarding
	paths       *engine.Paths
	chipEntries []int64 // by node: entries
	lastPath    []int64 // by node: the path that came to it last
	numPaths    int64   // of paths
	tableSize   int64   // of all tables
	sorted      []destinationPath
	table       []engine.Step // of the destination
	emptyTable  []engine.Step // a table without entries
}

// destinationPath is a path to the destination that is being compiled.
type destinationPath struct {
	id, src, hops int32
	index         int64 // its place in Forwarding.tag
}

// compileDestination gives tags to the paths of flows to one node.
func (c *tableCompiler) compileDestination(dst int32, flows []int32) error {
	z, paths := c.tables, c.paths
	c.sorted = c.sorted[:0]
	for _, f := range flows {
		a, b := paths.Of(paths.ClassOf(f))
		for k := a; k < b; k++ {
			place := int64(f)
			if z.firstTag != nil {
				place = z.firstTag[f] + int64(k-a)
			}
			c.sorted = append(c.sorted, destinationPath{k, z.flows[f].Src, int32(len(paths.Steps(k))), place})
		}
	}
	slices.SortStableFunc(c.sorted, func(a, b destinationPath) int { return cmp.Compare(b.hops, a.hops) })
	nodes, tags := int(z.Nodes), 0
	c.table = c.table[:0]
	for _, t := range c.sorted {
		steps := paths.Steps(t.id)
		c.numPaths++
		for node, i := t.src, 0; i < len(steps); i++ {
			if c.lastPath[node] == c.numPaths {
				return fmt.Errorf("routing: a path from node %d to %d comes to node %d twice, where no table can tell what to do", t.src, dst, node)
			}
			c.lastPath[node] = c.numPaths
			node = z.linkEnd[paths.Out(node, steps[i])]
		}
		tag := 0
		for tag < tags && !c.isConsistent(c.table[tag*nodes:], t.src, steps) {
			tag++
		}
		if tag == tags {
			tags++
			if c.tableSize += int64(nodes); tags > maxTags || c.tableSize > maxTableSize {
				return fmt.Errorf("routing: tables of %d tags a destination and %d places are too large; at most %d and %d are kept", tags, c.tableSize, maxTags, maxTableSize)
			}
			c.table = append(c.table, c.emptyTable...)
		}
		table, node := c.table[tag*nodes:], t.src
		for _, s := range steps {
			if table[node] == engine.Arrived {
				table[node] = s
				c.chipEntries[node]++
			}
			node = z.linkEnd[paths.Out(node, s)]
		}
		z.tags[t.index] = uint16(tag)
	}
	z.Tags = max(z.Tags, tags)
	z.table[dst] = slices.Clone(c.table)
	return nil
}

// isConsistent reports whether a table sends nowhere else than a path goes.
func (c *tableCompiler) isConsistent(table []engine.Step, node int32, steps []engine.Step) bool {
	for _, s := range steps {
		if entry := table[node]; entry != engine.Arrived && entry != s {
			return false
		}
		node = c.tables.linkEnd[c.paths.Out(node, s)]
	}
	return true
}

// FlowTags returns the tags that the source gives packets of a flow, one for each of its paths. Read only.
func (z *Forwarding) FlowTags(flow int32) []uint16 {
	if z.firstTag == nil {
		return z.tags[flow : flow+1]
	}
	return z.tags[z.firstTag[flow]:z.firstTag[flow+1]]
}

// WriteCSV writes the tables, an entry a row: chip, destination, tag, and the port, virtual channel and neighbour it
// sends to.
func (z *Forwarding) WriteCSV(out io.Writer) error {
	b := bufio.NewWriter(out)
	if _, err := fmt.Fprintln(b, "chip,destination,tag,port,channel,next"); err != nil {
		return err
	}
	for node := range z.Nodes {
		for dst := range z.Nodes {
			table := z.table[dst]
			for tag := 0; tag*int(z.Nodes) < len(table); tag++ {
				if s := table[tag*int(z.Nodes)+int(node)]; s != engine.Arrived {
					if _, err := fmt.Fprintf(b, "%d,%d,%d,%d,%d,%d\n", node, dst, tag, s.Port(), s.Channel(), z.linkEnd[z.link[int(node)*z.degree+s.Port()]]); err != nil {
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
		for path, tag := range z.FlowTags(int32(i)) {
			if _, err := fmt.Fprintf(b, "%d,%d,%d,%d\n", f.Src, f.Dst, path, tag); err != nil {
				return err
			}
		}
	}
	return b.Flush()
}
