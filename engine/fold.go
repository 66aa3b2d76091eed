package engine

// This file reduces symmetric runs to few flows, before the flow level simulates them.

import (
	"errors"
	"fmt"
	"slices"
)

// ErrAsymmetric is wrapped by Fold if nodes, links or flows that must be identical differ.
var ErrAsymmetric = errors.New("engine: nodes of an orbit differ in their links, paths or traffic")

// FoldedGraph is a folded graph: one flow of each class, on the links of one node of each orbit.
type FoldedGraph struct {
	Graph *Graph // task c is a flow of class c
	// Network has link o*Paths.Degree+p for port p of orbit o. Its rate is 0 if the port has no
	// link.
	Network *Network
	Routes  *Routes
}

// Fold uses the symmetry of a network to represent many simultaneous flows by few. The result
// has one transfer for each class of the paths and one link for each orbit of links. It may be a
// million times smaller than the original.
//
// The network must have a group of translations in which only the identity fixes a node. The
// translations map the nodes of an orbit to each other, the ports of a node to the same ports, and
// the flows of a class to each other. orbit is indexed by node and numbered from 0. Under every
// service, the flows of a class then have the same rate at all times, and the links of an orbit the
// same load. A class therefore ends in the folded graph when its flows end in the original one.
//
// All flows start together. Flow f has bytes[f] bytes; if bytes is nil, every flow has message
// bytes. Fold returns ErrAsymmetric if it finds that orbits, classes, sizes or rates differ, and
// for networks with groups or changes.
func Fold(
	n *Network, paths *Paths, flows []Flow, bytes []int64, message int64, orbit []int32) (*FoldedGraph, error) {

	if len(orbit) != int(n.Nodes) || len(n.Groups) > 0 || len(n.Changes) > 0 ||
		bytes != nil && len(bytes) != len(flows) {
		return nil, fmt.Errorf("%w: orbits of %d nodes for %d, %d groups, %d changes, and %d sizes for %d flows",
			ErrAsymmetric, len(orbit), n.Nodes, len(n.Groups), len(n.Changes), len(bytes), len(flows))
	}
	if paths.Spread != nil {
		return nil, fmt.Errorf("%w: flows that are routed by next hops have no classes",
			ErrAsymmetric)
	}
	small, orbitSize, err := foldLinks(n, paths, orbit)
	if err != nil {
		return nil, err
	}

	// A tracer (pathroutes.go) collects the links of paths. Here it maps the ports of all
	// nodes of an orbit to the ports of the orbit.
	z := tracer{n: n, paths: paths,
		lastUse: make([]int, len(small.Links)), resource: make([]int32, len(paths.Link))}
	for k := range paths.Link {
		z.resource[k] = orbit[k/paths.Degree]*int32(paths.Degree) + int32(k%paths.Degree)
	}
	size := func(f int32) int64 {
		if bytes == nil {
			return message
		}
		return bytes[f]
	}

	// The flows of a class must have equal sizes and sources in one orbit.
	first, count := firstFlows(paths, len(flows))
	for f := range int32(len(flows)) {
		if a := first[paths.ClassOf(f)]; size(a) != size(f) || orbit[flows[a].Src] != orbit[flows[f].Src] {
			return nil, fmt.Errorf("%w: flows %d and %d of one class", ErrAsymmetric, a, f)
		}
	}

	out := &FoldedGraph{Graph: &Graph{}, Network: small, Routes: &Routes{Start: make([]int32, len(first)+1)}}
	for c, f := range first {
		switch {
		case f < 0: // the class has no flow
			out.Graph.AddTask(Task{})
		case count[c] != orbitSize:
			return nil, fmt.Errorf("%w: class %d has %d flows, an orbit %d nodes",
				ErrAsymmetric, c, count[c], orbitSize)
		default:
			out.Graph.AddTask(Task{
				Kind: Transfer, Src: orbit[flows[f].Src], Dst: orbit[flows[f].Dst], Flows: 1, Bytes: size(f)})
			z.addPaths(int32(c), flows[f].Src)
		}
		out.Routes.Start[c+1] = int32(len(z.uses))
	}
	out.Routes.Uses = z.uses
	return out, out.Graph.Freeze()
}

// foldLinks returns a network with the links of one node of each orbit, and the number of nodes per
// orbit.
func foldLinks(n *Network, paths *Paths, orbit []int32) (small *Network, orbitSize int32, err error) {
	nodes := make([]int32, max(0, slices.Max(orbit)+1))
	for _, o := range orbit {
		if o < 0 {
			return nil, 0, fmt.Errorf("%w: orbit %d", ErrAsymmetric, o)
		}
		nodes[o]++
	}

	// Each port of an orbit gets its link once; the links of other nodes must be identical.
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

// firstFlows returns the first flow of each class, -1 if the class has no flow, and the number
// of flows of each class.
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
