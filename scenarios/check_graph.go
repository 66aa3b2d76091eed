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

// prepareGraph reads the links from their file.
func prepareGraph(c *checker) {
	const at = "fabric.file"
	table := schema.Child(c.Root, "fabric")
	name, ok := table["file"].(string)
	if !ok {
		if c.Given("fabric.undirected") && c.OK("fabric.undirected") {
			c.refuse("fabric.undirected", "is not used without file; leave it out, or name a file")
		}
		return
	}
	for _, other := range []string{"fabric.nodes", "fabric.edges", "fabric.names"} {
		if c.Given(other) {
			c.refuse(at, "stands beside %s; keep one of the two", other)
			return
		}
	}
	data, place, err := c.readBeside(at, name)
	if err != nil {
		c.refuse(at, "%s; name a readable file of up to %s MiB", err.Error(), strconv.Itoa(schema.MaxFileBytes>>20))
		return
	}
	undirected, _ := table["undirected"].(bool)
	// links whose line gives no rate or latency take those of the fabric
	const unsaid = 1.0
	g, err := graph.Read(bytes.NewReader(unmarked(data)), place, graph.Options{Link: engine.Link{Rate: unsaid}, Undirected: undirected})
	if err != nil {
		c.refuseLines(at, err, "see docs/tori.md")
		return
	}
	l := &c.s.Fabric.Links
	l.Nodes = int(g.Nodes)
	for i, name := range g.Names {
		if name != strconv.Itoa(i) {
			l.Names = g.Names
		}
	}
	for _, e := range g.Links {
		row := []int{int(e.From), int(e.To), int(e.Rate), int(e.Latency)}
		if e.Rate == unsaid {
			row[2] = 0
		}
		l.Edges = append(l.Edges, row)
	}
	if len(data) > schema.MaxFileBytes/4 {
		c.refuse(at, "%s is too large to be kept with results; write at most %d MiB", place, schema.MaxFileBytes>>22)
	}
}

// generate makes the links of the shape that fabric.generator names, if it names one, and reports whether it could.
func generate(c *checker) bool {
	const at = "fabric.generator"
	l := &c.s.Fabric.Links
	i := slices.Index(graph.GeneratorNames(), l.Generator)
	if i < 0 {
		return true
	}
	for _, other := range []string{"fabric.file", "fabric.edges", "fabric.switches.from"} {
		if c.Given(other) {
			c.refuse(at, "stands beside %s; keep one of the two", other)
			return false
		}
	}
	shape, err := l.Generators[i].Shape(l.Nodes)
	if err != nil {
		problem, remedy, _ := strings.Cut(err.Error(), "; want ")
		c.clash(at+" fabric.nodes", "%s; write %s", problem, remedy)
		return false
	}
	l.Nodes = shape.Nodes
	if shape.Endpoints < shape.Nodes {
		l.Switches.From = shape.Endpoints
	}
	l.Edges = make([][]int, len(shape.Links))
	for i, e := range shape.Links {
		l.Edges[i] = []int{e.From, e.To}
		if e.Times != 1 {
			l.Edges[i] = append(l.Edges[i], int(math.Round(e.Times*float64(l.LinkRate))))
		}
	}
	return true
}

// checkGraph holds the links of a graph against its nodes, and the rest as of a torus.
func checkGraph(c *checker) {
	const at = "fabric.edges"
	l := &c.s.Fabric.Links
	if !c.OK(at, "fabric.file", "fabric.nodes", "fabric.names", "fabric.generator") {
		return
	}
	if !generate(c) {
		return
	}
	if len(l.Edges) == 0 {
		c.clash(at, "is missing; write links [[0, 1], [1, 0]], name a file in fabric.file or a shape in fabric.generator")
		return
	}
	most := 0
	for i, e := range l.Edges {
		if len(e) < 2 || len(e) > 4 || slices.Min(e) < 0 || e[0] == e[1] {
			c.clash(at, "link %d is %v; write [from, to], or [from, to, bits per second, picoseconds], between two nodes", i+1, e)
			return
		}
		l.Edges[i] = append(e, 0, 0)[:4]
		most = max(most, e[0]+1, e[1]+1)
	}
	if l.Nodes == 0 {
		l.Nodes = most
	}
	if l.Nodes < most {
		c.clash("fabric.nodes", "%d nodes, and a link of node %d; write at least %d", l.Nodes, most-1, most)
		return
	}
	if l.Nodes > graph.MaxNodes {
		c.clash("fabric.nodes "+at, "%d nodes are too many; number them from 0, up to %d of them", l.Nodes, graph.MaxNodes)
		return
	}
	if n := len(l.Names); n != 0 && n != l.Nodes {
		c.clash("fabric.names", "%d names for %d nodes; name every node", n, l.Nodes)
		return
	}
	if l.Switches.From > l.Nodes {
		c.clash("fabric.switches.from", "switches from node %d on, of %d nodes; write at most %d", l.Switches.From, l.Nodes, l.Nodes)
		return
	}
	if checkPairs(c, l.Endpoints()) {
		checkLinks(c, l.Nodes, nil, torus.Faults{})
	}
}

// checkElectrical holds the rest against the GPUs of a switched domain.
func checkElectrical(c *checker) {
	l := &c.s.Fabric.Links
	if !c.OK("fabric.gpus") {
		return
	}
	l.BuildSwitchedDomain()
	if checkPairs(c, l.Endpoints()) {
		checkLinks(c, l.Nodes, nil, torus.Faults{})
	}
}
