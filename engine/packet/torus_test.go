package packet_test

import (
	"flag"
	"fmt"
	"testing"

	"sim/engine"
	"sim/engine/packet"
)

var longTests = flag.Bool("long", false, "also run the tests that take minutes")

// numCases returns the number of random cases of a test: with -long, with -short, and by
// default.
func numCases(longCount, shortCount, defaultCount int) int {
	switch {
	case *longTests:
		return longCount
	case testing.Short():
		return shortCount
	}
	return defaultCount
}

// torus is a torus of three dimensions. Links and ports are numbered by node, dimension
// and direction: port 2d leads up in dimension d, and port 2d+1 down.
type torus struct{ dims [3]int }

func (b torus) nodes() int32 { return int32(b.dims[0] * b.dims[1] * b.dims[2]) }

// coordinates returns the coordinates of a node.
func (b torus) coordinates(node int32) [3]int {
	n := int(node)
	return [3]int{n / (b.dims[1] * b.dims[2]), n / b.dims[2] % b.dims[1], n % b.dims[2]}
}

// node returns the node with the given coordinates.
func (b torus) node(coordinates [3]int) int32 {
	return int32((coordinates[0]*b.dims[1]+coordinates[1])*b.dims[2] + coordinates[2])
}

// network returns the torus; all its links are copies of template.
func (b torus) network(template engine.Link) *engine.Network {
	n := &engine.Network{Nodes: b.nodes()}
	for node := range b.nodes() {
		for port := range 6 {
			coordinates := b.coordinates(node)
			d := port / 2
			coordinates[d] = (coordinates[d] + b.dims[d] + 1 - port%2*2) % b.dims[d]
			template.From, template.To = node, b.node(coordinates)
			n.Links = append(n.Links, template)
		}
	}
	return n
}

// allPairs returns the flows from each node to each other node, ordered by source.
func (b torus) allPairs() []engine.Flow {
	var flows []engine.Flow
	for s := range b.nodes() {
		for d := range b.nodes() {
			if s != d {
				flows = append(flows, engine.Flow{Src: s, Dst: d})
			}
		}
	}
	return flows
}

// dimensionOrder returns paths in dimension order for allPairs. Paths of half a ring lead
// up from even coordinates and down from odd ones.
//
// With a dateline, the channel depends on the wrap-around link. The steps up to and
// including the wrap-around link use channel 0, and the steps after it use channel 1.
// Paths along a dimension without its wrap-around link use channel 1. Pairs whose paths
// have the same steps share them.
func (b torus) dimensionOrder(dateline bool) *engine.Paths {
	w := &engine.Paths{Degree: 6}
	for l := range 6 * b.nodes() {
		w.Link = append(w.Link, l)
	}
	w.Class = make([]int32, 0, int(b.nodes())*int(b.nodes()-1))
	class, classOfSteps := make(map[[4]int32]int32), make(map[string]int32)
	for s := range b.nodes() {
		for d := range b.nodes() {
			if s == d {
				continue
			}
			from, to := b.coordinates(s), b.coordinates(d)
			key := [4]int32{} // determines the path without a dateline
			for i := range 3 {
				key[i] = int32((to[i] - from[i] + b.dims[i]) % b.dims[i])
				key[3] = 2*key[3] + int32(from[i]%2)
			}
			c, ok := class[key]
			if !ok || dateline {
				steps := b.path(s, d, dateline)
				name := fmt.Sprint(steps)
				if c, ok = classOfSteps[name]; !ok {
					c = w.Add(steps...)
					classOfSteps[name] = c
				}
				class[key] = c
			}
			w.Class = append(w.Class, c)
		}
	}
	return w
}

// path returns the steps of the path from node s to node d; see dimensionOrder.
func (b torus) path(s, d int32, dateline bool) []engine.Step {
	var steps []engine.Step
	from, to := b.coordinates(s), b.coordinates(d)
	for i, k := range b.dims {
		hops := (to[i] - from[i] + k) % k
		up := 2*hops < k || 2*hops == k && from[i]%2 == 0
		if !up {
			hops = k - hops
		}
		port, wrap := 2*i, k-1-from[i] // wrap: hops before the wrap-around link
		if !up {
			port, wrap = port+1, from[i]
		}
		for h := range hops {
			channel := 0
			if dateline && (hops <= wrap || h > wrap) {
				channel = 1
			}
			steps = append(steps, engine.MakeStep(port, channel))
		}
	}
	return steps
}

// sourcePerNode returns one source per node for the flows of allPairs that start there;
// all are copies of template.
func (b torus) sourcePerNode(template packet.Source) []packet.Source {
	var sources []packet.Source
	n := b.nodes()
	for node := range n {
		template.First, template.End = node*(n-1), (node+1)*(n-1)
		sources = append(sources, template)
	}
	return sources
}
