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

// ForwardingTables holds paths as static forwarding tables, as Zu et al. (NSDI 24, Sec. 3.5) program
// them at the start of a job. A packet carries its destination and a tag that the source sets.
// The table of each chip maps both to the port and virtual channel of the next hop. Paths to one
// destination can share a tag if they do not diverge after they have met.
type ForwardingTables struct {
	Nodes          int32
	Entries        int64 // of all chips
	MaxChipEntries int64 // maximum entries per chip
	Tags           int   // maximum tags per destination
	TagBits        int   // bits of a tag in a packet

	degree  int
	link    []int32 // indexed by node*degree+port
	linkEnd []int32 // node at the end of a link, indexed by link
	// The entry of node a for tag k and destination d is table[d][k*Nodes+a]; engine.Arrived if
	// there is no entry.
	table [][]engine.Step
	// The tags of flow f are tags[firstTag[f]:firstTag[f+1]], one per path. If firstTag is nil,
	// each flow has one path, and its tag is tags[f].
	flows    []engine.Flow
	firstTag []int64
	tags     []uint16
}

// maxTags limits the tags of a destination to what 16 bits can represent.
const maxTags = 1 << 16

// maxTableSize limits the entries of all tables, used or not. They have two bytes each, so the
// tables have at most 4 GiB.
const maxTableSize = 1 << 31

// Compile builds the tables for the paths of flows, which must pass Paths.Check. The paths to a
// destination are sorted by falling length. Each gets the first tag whose table does not
// contradict it. Compile fails if a path visits a node twice, which no tag can express, and if
// the tables are too large.
func Compile(n *engine.Network, flows []engine.Flow, paths *engine.Paths) (*ForwardingTables, error) {
	if paths.Spread != nil {
		return nil, errors.New("routing: packets draw their next link; want paths with one port per destination and tag")
	}
	z := &ForwardingTables{
		Nodes:   n.Nodes,
		degree:  paths.Degree,
		link:    paths.Link,
		linkEnd: make([]int32, len(n.Links)),
		table:   make([][]engine.Step, n.Nodes),
		flows:   flows,
	}

	for i, l := range n.Links {
		z.linkEnd[i] = l.To
	}

	// Flows have one path each, or several (First is set).
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
	c := tableCompiler{
		tables:      z,
		paths:       paths,
		chipEntries: make([]int64, n.Nodes),
		lastPath:    make([]int64, n.Nodes),
		emptyTable:  slices.Repeat([]engine.Step{engine.Arrived}, int(n.Nodes)),
	}

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
	tables      *ForwardingTables // the result
	paths       *engine.Paths
	chipEntries []int64           // used entries of each chip, indexed by node
	lastPath    []int64           // number of the path that visited the node last, indexed by node
	numPaths    int64             // paths so far
	tableSize   int64             // entries of all tables so far
	sorted      []destinationPath // paths to the current destination, the longest first
	table       []engine.Step     // tables of the current destination, by tag
	emptyTable  []engine.Step     // engine.Arrived for each node
}

// destinationPath is a path to the current destination.
type destinationPath struct {
	id, src, hops int32 // index in engine.Paths, source, number of links
	index         int64 // in ForwardingTables.tags
}

// compileDestination sets the tags of the paths of the given flows, which have one destination.
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
			c.sorted = append(c.sorted, destinationPath{id: k, src: z.flows[f].Src, hops: int32(len(paths.Steps(k))), index: place})
		}
	}

	// Longer paths are less flexible, so they choose first.
	slices.SortStableFunc(c.sorted, func(a, b destinationPath) int { return cmp.Compare(b.hops, a.hops) })
	nodes, tags := int(z.Nodes), 0
	c.table = c.table[:0]
	for _, t := range c.sorted {
		steps := paths.Steps(t.id)
		c.numPaths++

		// A table cannot express a path that visits a node twice.
		for node, i := t.src, 0; i < len(steps); i++ {
			if c.lastPath[node] == c.numPaths {
				return fmt.Errorf("routing: a path from node %d to %d visits node %d twice; want paths without loops", t.src, dst, node)
			}
			c.lastPath[node] = c.numPaths
			node = z.linkEnd[paths.Out(node, steps[i])]
		}

		// Take the first tag that agrees with the path, or a new one.
		tag := 0
		for tag < tags && !c.isConsistent(c.table[tag*nodes:], t.src, steps) {
			tag++
		}
		if tag == tags {
			tags++
			if c.tableSize += int64(nodes); tags > maxTags || c.tableSize > maxTableSize {
				return fmt.Errorf("routing: tables of %d tags per destination and %d entries; want at most %d and %d", tags, c.tableSize, maxTags, maxTableSize)
			}
			c.table = append(c.table, c.emptyTable...)
		}

		// Enter the path in the table of its tag.
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

// isConsistent reports whether a table has no entry that differs from a path.
func (c *tableCompiler) isConsistent(table []engine.Step, node int32, steps []engine.Step) bool {
	for _, s := range steps {
		if entry := table[node]; entry != engine.Arrived && entry != s {
			return false
		}
		node = c.tables.linkEnd[c.paths.Out(node, s)]
	}
	return true
}

// FlowTags returns the tags of a flow, one per path. The result must not be changed.
func (z *ForwardingTables) FlowTags(flow int32) []uint16 {
	if z.firstTag == nil {
		return z.tags[flow : flow+1]
	}
	return z.tags[z.firstTag[flow]:z.firstTag[flow+1]]
}

// WriteCSV writes one row per entry: chip, destination, tag, and the port, virtual channel and
// neighbour of the next hop.
func (z *ForwardingTables) WriteCSV(out io.Writer) error {
	b := bufio.NewWriter(out)
	if _, err := fmt.Fprintln(b, "chip,destination,tag,port,channel,next"); err != nil {
		return err
	}

	for node := range z.Nodes {
		for dst := range z.Nodes {
			table := z.table[dst]
			for tag := 0; tag*int(z.Nodes) < len(table); tag++ {
				if s := table[tag*int(z.Nodes)+int(node)]; s != engine.Arrived {
					if _, err := fmt.Fprintf(b, "%d,%d,%d,%d,%d,%d\n", node, dst, tag, s.Port(), s.Channel(),
						z.linkEnd[z.link[int(node)*z.degree+s.Port()]]); err != nil {
						return err
					}
				}
			}
		}
	}

	return b.Flush()
}

// WriteTags writes one row per path: source, destination, index of the path within the pair, and
// tag.
func (z *ForwardingTables) WriteTags(out io.Writer) error {
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
