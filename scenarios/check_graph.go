// This file reads and checks fabrics of kind "graph" and "electrical". The links of a
// graph come from the key edges, from a file, or from a generator of known shapes.
//
// The methods of checker report faults of keys as "PROBLEM; REMEDY". A check is skipped if
// a key that it needs has a fault already (c.OK).

package scenarios

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"sim/engine"
	"sim/fabric/graph"
	"sim/fabric/torus"
	"sim/scenarios/schema"
)

// prepareGraph reads the links of the graph from the file that fabric.file names.
func prepareGraph(c *checker) {
	const key = "fabric.file"
	table := schema.Child(c.Root, "fabric")
	name, ok := table["file"].(string)
	if !ok {
		for _, key := range []string{"fabric.undirected", "fabric.format"} {
			if c.Given(key) && c.OK(key) {
				c.rejectf(key, "is not used without file; leave it out, or name a file")
			}
		}
		return
	}

	// The file replaces the keys that describe a graph.
	for _, other := range []string{"fabric.nodes", "fabric.edges", "fabric.names"} {
		if c.Given(other) {
			c.rejectf(key, "conflicts with %s; keep one of the two", other)
			return
		}
	}

	data, fileName, err := c.readRelative(key, name)
	if err != nil {
		c.rejectf(key, "%s; name a readable file of up to %s MiB", err.Error(),
			strconv.Itoa(schema.MaxFileBytes>>20))
		return
	}

	undirected, _ := table["undirected"].(bool)
	format := graph.Formats[0]
	if name, ok := table["format"].(string); ok {
		i := slices.IndexFunc(graph.Formats, func(f graph.Format) bool { return f.Name == name })
		if i < 0 {
			return // reported with the other choices
		}
		format = graph.Formats[i]
	}
	if c.Given("fabric.undirected") && format.Name != "links" {
		c.rejectf("fabric.undirected", "is not used with format %q; leave it out", format.Name)
		return
	}

	// noRate marks links without a rate in the file. They get the rate and latency of the
	// fabric.
	const noRate = 1.0
	g, err := format.Read(
		bytes.NewReader(trimByteOrderMark(data)), fileName,
		graph.Options{Link: engine.Link{Rate: noRate}, Undirected: undirected},
	)
	if err != nil {
		c.rejectLines(key, err, "see docs/tori.md")
		return
	}

	l := &c.s.Fabric.Links
	l.Nodes = int(g.Nodes)
	if 0 < g.Endpoints && g.Endpoints < l.Nodes {
		if c.Given("fabric.switches.first_node") {
			c.rejectf("fabric.switches.first_node", "follows from the file; leave it out")
			return
		}
		l.Switches.From = g.Endpoints
		c.MarkGiven("fabric.switches.first_node")
	}

	// Names that are the numbers of the nodes are not stored.
	for i, name := range g.Names {
		if name != strconv.Itoa(i) {
			l.Names = g.Names
		}
	}

	// Convert the links to rows [from, to, rate, latency].
	for _, e := range g.Links {
		row := []int{int(e.From), int(e.To), int(e.Rate), int(e.Latency)}
		if e.Rate == noRate {
			row[2] = 0
		}
		l.Edges = append(l.Edges, row)
	}

	// The resolved scenario holds the links as text, which takes up to four times the
	// space.
	const maxBytes = schema.MaxFileBytes / 4
	if len(data) > maxBytes {
		c.rejectf(key,
			"%s is too large to be stored with results; name a file of at most %d MiB",
			fileName, maxBytes>>20)
	}
}

// generateGraph creates the links of the shape that fabric.generator names, if it names
// one. It returns false if the shape is invalid.
func generateGraph(c *checker) bool {
	const key = "fabric.generator"
	l := &c.s.Fabric.Links
	i := slices.Index(graph.GeneratorNames(), l.Generator)
	if i < 0 {
		return true
	}

	// A generator replaces them as well.
	for _, other := range []string{"fabric.file", "fabric.edges", "fabric.switches.first_node"} {
		if c.Given(other) {
			c.rejectf(key, "conflicts with %s; keep one of the two", other)
			return false
		}
	}

	// The shape may depend on the number of nodes.
	shape, err := l.Generators[i].Shape(l.Nodes)
	if err != nil {
		problem, remedy, _ := strings.Cut(err.Error(), "; want ")
		c.conflictf(key+" fabric.nodes", "%s; write %s", problem, remedy)
		return false
	}

	// The last nodes of a shape are switches.
	l.Nodes = shape.Nodes
	if shape.Endpoints < shape.Nodes {
		l.Switches.From = shape.Endpoints
	}
	l.Edges = make([][]int, len(shape.Links))

	// A link with a multiple of the fabric's rate gets its own rate.
	for i, e := range shape.Links {
		l.Edges[i] = []int{e.From, e.To}
		if e.Times != 1 {
			l.Edges[i] = append(l.Edges[i], int(math.Round(e.Times*float64(l.LinkRate))))
		}
	}
	return true
}

// checkGraph checks the links of a graph against its nodes, and then the workload on them.
func checkGraph(c *checker) {
	const key = "fabric.edges"
	l := &c.s.Fabric.Links
	if !c.OK(key, "fabric.file", "fabric.nodes", "fabric.names", "fabric.generator") {
		return
	}
	if !generateGraph(c) {
		return
	}

	if len(l.Edges) == 0 {
		c.conflictf(key,
			"is missing; write links [[0, 1], [1, 0]], name a file in fabric.file or a shape in fabric.generator")
		return
	}

	// Complete all links to four elements. An element of 0 stands for the rate or latency
	// of the fabric.
	minNodes := 0
	for i, e := range l.Edges {
		const elements = 4 // from, to, rate and latency
		if len(e) < 2 || len(e) > elements || slices.Min(e) < 0 || e[0] == e[1] {
			c.conflictf(key,
				"link %d is %v; write [from, to], or [from, to, bits per second, picoseconds], between two nodes",
				i+1, e)
			return
		}

		l.Edges[i] = append(e, 0, 0)[:elements]
		minNodes = max(minNodes, e[0]+1, e[1]+1)
	}

	// The number of nodes is given, or follows from the links.
	if l.Nodes == 0 {
		l.Nodes = minNodes
	}
	if l.Nodes < minNodes {
		c.conflictf("fabric.nodes",
			"there are %d nodes, but a link names node %d; write at least %d",
			l.Nodes, minNodes-1, minNodes)
		return
	}

	if l.Nodes > graph.MaxNodes {
		c.conflictf("fabric.nodes "+key,
			"%d nodes are too many; number them from 0, up to %d of them",
			l.Nodes, graph.MaxNodes)
		return
	}

	// Names and switches must fit the nodes.
	if n := len(l.Names); n != 0 && n != l.Nodes {
		c.conflictf("fabric.names", "%d names for %d nodes; name every node", n, l.Nodes)
		return
	}

	if l.Switches.From > l.Nodes {
		c.conflictf("fabric.switches.first_node",
			"switches begin at node %d of %d nodes; write at most %d",
			l.Switches.From, l.Nodes, l.Nodes)
		return
	}

	checkGraphLinks(c)
}

// checkGraphLinks checks the workload on the links of a fabric that is no torus.
func checkGraphLinks(c *checker) {
	l := &c.s.Fabric.Links
	if checkFlowCount(c, l.Endpoints()) {
		var noTorus *torus.Torus
		checkLinks(c, l.Nodes, noTorus, torus.Faults{})
	}
}

// checkElectrical builds the links of a domain behind an electrical switch and checks the
// workload on them.
func checkElectrical(c *checker) {
	l := &c.s.Fabric.Links
	if !c.OK("fabric.gpus") {
		return
	}
	l.BuildSwitchedDomain()
	checkGraphLinks(c)
}
