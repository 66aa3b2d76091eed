package engine

import (
	"errors"
	"fmt"
	"slices"
)

// ErrAsymmetric is wrapped by Fold where what should be identical is not.
var ErrAsymmetric = errors.New("engine: the network, its paths or the traffic are not alike from all nodes of an orbit")

// FoldedGraph is what Fold makes: one flow of each class, on the links of one node of each orbit.
type FoldedGraph struct {
	Graph   *Graph   // task c is a flow of class c
	Network *Network // link o*Paths.Degree+p is port p of orbit o; 0 b/s where there is none
	Routes  *Routes
}

// Fold returns the one-shot traffic of flows, which all start at once, as one transfer for each class of the paths over
// one link for each orbit of links. It is for networks with a group of translations, which other than the identity
// leave no node where it is: they take the nodes of an orbit (numbered from 0, by node) to each other, a node's port to
// the same port, and the flows of a class to each other. Whatever the engine's service, flows of a class then have the
// same rate at all times and links of an orbit the same load, so that a class ends in the folded graph when its flows
// do in the whole one, which may be a million times its size. Flow f is of bytes[f]; nil bytes is message each. It
// fails, with ErrAsymmetric, where orbits, classes, sizes or rates are found to differ, and on groups and changes.
func Fold(n *Network, paths *Paths, flows []Flow, bytes []int64, message int64, orbit []int32) (*FoldedGraph, error) {
	if len(orbit) != int(n.Nodes) || len(n.Groups) > 0 || len(n.Changes) > 0 || bytes != nil && len(bytes) != len(flows) {
		return nil, fmt.Errorf("%w: orbits of %d nodes for %d, %d groups, %d changes, and %d sizes for %d flows", ErrAsymmetric, len(orbit), n.Nodes, len(n.Groups), len(n.Changes), len(bytes), len(flows))
	}
	if paths.Spread != nil {
		return nil, fmt.Errorf("%w: packets that draw their links are of no classes", ErrAsymmetric)
	}
	small, orbitSize, err := foldLinks(n, paths, orbit)
	if err != nil {
		return nil, err
	}
	z := tracer{n: n, paths: paths, lastUse: make([]int, len(small.Links)), resource: make([]int32, len(paths.Link))}
	for k := range paths.Link {
		z.resource[k] = orbit[k/paths.Degree]*int32(paths.Degree) + int32(k%paths.Degree)
	}
	size := func(f int32) int64 {
		if bytes == nil {
			return message
		}
		return bytes[f]
	}
	first, count := firstFlows(paths, len(flows))
	for f := range int32(len(flows)) {
		if a := first[paths.ClassOf(f)]; size(a) != size(f) || orbit[flows[a].Src] != orbit[flows[f].Src] {
			return nil, fmt.Errorf("%w: flows %d and %d of one class", ErrAsymmetric, a, f)
		}
	}
	out := &FoldedGraph{Graph: &Graph{}, Network: small, Routes: &Routes{Start: make([]int32, len(first)+1)}}
	for c, f := range first {
		switch {
		case f < 0: // no flow is of this class
			out.Graph.AddTask(Task{})
		case count[c] != orbitSize:
			return nil, fmt.Errorf("%w: class %d has %d flows, an orbit %d nodes", ErrAsymmetric, c, count[c], orbitSize)
		default:
			out.Graph.AddTask(Task{Kind: Transfer, Src: orbit[flows[f].Src], Dst: orbit[flows[f].Dst], Flows: 1, Bytes: size(f)})
			z.addPaths(int32(c), flows[f].Src)
		}
		out.Routes.Start[c+1] = int32(len(z.uses))
	}
	out.Routes.Uses = z.uses
	return out, out.Graph.Freeze()
}

// foldLinks returns the links of one node of each orbit, and the nodes of an orbit.
func foldLinks(n *Network, paths *Paths, orbit []int32) (small *Network, orbitSize int32, err error) {
	nodes := make([]int32, max(0, slices.Max(orbit)+1))
	for _, o := range orbit {
		if o < 0 {
			return nil, 0, fmt.Errorf("%w: orbit %d", ErrAsymmetric, o)
		}
		nodes[o]++
	}
	small = &Network{Nodes: int32(len(nodes)), Links: make([]Link, len(nodes)*paths.Degree)}
	isSet := make([]bool, len(small.Links))
	for k, l := range paths.Link {
		o, port := orbit[k/paths.Degree], k%paths.Degree
		link := Link{From: o, To: -1}
		if l >= 0 {
			link = n.Links[l]
			link.From, link.To = o, orbit[link.To]
		}
		to := int(o)*paths.Degree + port
		if nodes[o] != nodes[0] || isSet[to] && small.Links[to] != link {
			return nil, 0, fmt.Errorf("%w: port %d of node %d", ErrAsymmetric, port, k/paths.Degree)
		}
		small.Links[to], isSet[to] = link, true
	}
	return small, nodes[0], nil
}

// firstFlows returns the first flow of each class, -1 where there is none, and the number of its flows.
func firstFlows(paths *Paths, flows int) (first, count []int32) {
	first, count = slices.Repeat([]int32{-1}, paths.classes()), make([]int32, paths.classes())
	for f := range int32(flows) {
		c := paths.ClassOf(f)
		if count[c]++; first[c] < 0 {
			first[c] = f
		}
	}
	return first, count
}
