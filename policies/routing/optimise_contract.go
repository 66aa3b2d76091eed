package routing

import (
	"sim/internal/numbers"
	"sim/policies/graph"
)

// distances are those between nodes by lengths of links. Where many lengths are 0, nodes that such links join both ways
// are as one: what is left of lengths that stand for a few cuts is small.
type distances struct {
	t      *graph.Tree
	length []float64
	part   []int32     // by node: its node of t
	from   [][]float64 // by node of t: what Dist was from there; nil where all nodes have a part of their own
}

// fewParts is the nodes to a part, at least, where parts are worth while.
const fewParts = 8

// distances prepares those on the graph of t.
func (in *instance) distances(t *tree, length []float64) *distances {
	d := &distances{t: t.Tree, length: length}
	part, n := t.Components(func(o int32) bool { return length[o] == 0 })
	if n > in.nodes/fewParts {
		d.part = numbers.Below(int32(in.nodes))
		return d
	}
	var arcs []graph.Arc
	for k, o := range t.Class {
		if a, b := part[t.From[k]], part[t.To[k]]; a != b {
			arcs = append(arcs, graph.Arc{From: a, To: b, Class: o})
		}
	}
	return &distances{graph.NewTree(graph.NewDigraph(n, arcs)), length, part, make([][]float64, n)}
}

// of returns the distances from a node to all parts, negative where no path leads there. They hold until the next call.
func (d *distances) of(node int32) []float64 {
	p := d.part[node]
	if d.from == nil {
		d.t.Grow(p, d.length)
		return d.t.Dist
	}
	if d.from[p] == nil {
		d.t.Grow(p, d.length)
		d.from[p] = append(d.from[p], d.t.Dist...)
	}
	return d.from[p]
}

// few reports whether there are fewer parts than nodes, so that distances cost little.
func (d *distances) few() bool { return d.from != nil }
