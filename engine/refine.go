package engine

import (
	"cmp"
	"fmt"
	"math"
	"sim/internal/random"
	"slices"
)

// FoldUses folds a network for flows that are divided into classes of indistinguishable flows.
// routes has the uses of each flow, and class the class of each flow, numbered from 0. The folded
// network has one link for each class of links that are indistinguishable to the flows. The folded
// routes have the uses of one flow of each class: a link is used with the total weight of all
// flows of the class on one link of the original network.
//
// The classes must be equitable: flows of one class use equally many links of each class with
// each weight, and links of one class carry equally many flows of each class with each weight. If all
// flows of a class send at the same times, they then have equal rates under max-min fairness,
// because rates that are equal within classes satisfy its conditions, and only one allocation
// does. A flow of the folded network therefore has the rate of the flows of its class.
//
// If the given classes are not equitable, FoldUses returns ErrAsymmetric and the coarsest equitable
// refinement of them. It also fails for networks with groups or changes.
func FoldUses(n *Network, class []int32, routes *Routes) (*Network, *Routes, []int32, error) {
	if len(n.Groups) > 0 || len(n.Changes) > 0 || len(routes.Start) != len(class)+1 {
		return nil, nil, nil, fmt.Errorf("%w: %d groups, %d changes, and %d flows with routes of %d",
			ErrAsymmetric, len(n.Groups), len(n.Changes), len(class), len(routes.Start)-1)
	}

	z := useRefiner{network: n, routes: routes}
	classes := 1 + slices.Max(class)
	refined, linkClass := z.refine(class)
	if count := 1 + slices.Max(refined); count != classes {
		return nil, nil, refined, fmt.Errorf("%w: %d classes of flows, of which only %d are equitable",
			ErrAsymmetric, classes, count)
	}
	small, folded := z.fold(refined, linkClass)
	return small, folded, refined, nil
}

// useRefiner refines classes of flows and links by colour refinement, also called the
// one-dimensional Weisfeiler-Leman algorithm: the new class of a flow consists of its old class
// and the classes of its links, and vice versa, until the number of classes stays the same.
type useRefiner struct {
	network *Network
	routes  *Routes // of each flow
}

// refine returns the coarsest equitable refinement of classes of flows, with the classes of
// links. Links that no flow uses are in class -1. Classes are numbered in the order of their first
// member.
//
// Collections of classes are compared by sums of 64-bit hashes. For different collections the
// probability that two of k sums agree is about k*k/2^65.
func (z *useRefiner) refine(class []int32) (flowClass, linkClass []int32) {
	links := z.network.Links
	flowKeys, linkKeys := make([]uint64, len(class)), make([]uint64, len(links))
	isUsed := make([]bool, len(links))
	for _, u := range z.routes.Uses {
		isUsed[u.Resource] = true
	}
	for f, c := range class {
		flowKeys[f] = uint64(c)
	}
	for l := range links {
		linkKeys[l] = random.Mix(random.Mix(math.Float64bits(links[l].Rate)) + uint64(links[l].Latency))
	}
	flowClass, numFlowClasses := numberKeys(flowKeys, nil)
	linkClass, numLinkClasses := numberKeys(linkKeys, isUsed)

	for {
		for l := range linkKeys {
			linkKeys[l] = random.Mix(uint64(linkClass[l]) + 1)
		}
		for f, c := range flowClass {
			flowKeys[f] = random.Mix(uint64(c) + 1)
			for _, u := range z.routes.Of(int32(f)) {
				weight := math.Float64bits(u.Weight)
				linkKeys[u.Resource] += random.Mix(random.Mix(uint64(c)+2) + weight)
				flowKeys[f] += random.Mix(random.Mix(uint64(linkClass[u.Resource])+3) + weight)
			}
		}

		previous := numFlowClasses + numLinkClasses
		flowClass, numFlowClasses = numberKeys(flowKeys, nil)
		linkClass, numLinkClasses = numberKeys(linkKeys, isUsed)
		if numFlowClasses+numLinkClasses == previous {
			return flowClass, linkClass
		}
	}
}

// numberKeys returns the classes of elements with equal keys, numbered in the order of their
// first member, and their number. Excluded elements are in class -1; included nil includes all.
func numberKeys(keys []uint64, included []bool) (class []int32, count int) {
	number := map[uint64]int32{}
	class = make([]int32, len(keys))
	for i, k := range keys {
		if included != nil && !included[i] {
			class[i] = -1
			continue
		}
		c, ok := number[k]
		if !ok {
			c = int32(len(number))
			number[k] = c
		}
		class[i] = c
	}
	return class, len(number)
}

// fold returns the network with one link for each class of links, and the routes of one flow for
// each class of flows.
func (z *useRefiner) fold(flowClass, linkClass []int32) (*Network, *Routes) {
	small := &Network{Nodes: z.network.Nodes}
	linkCount := []int{} // by class
	for l, c := range linkClass {
		if int(c) == len(small.Links) {
			small.Links = append(small.Links, z.network.Links[l])
			linkCount = append(linkCount, 0)
		}
		if c >= 0 {
			linkCount[c]++
		}
	}

	var first []int32 // by class: its first flow
	var flowCount []int
	for f, c := range flowClass {
		if int(c) == len(first) {
			first = append(first, int32(f))
			flowCount = append(flowCount, 0)
		}
		flowCount[c]++
	}

	// A class of flows uses a class of links with the weight of one flow times flows per link.
	var weights []Use
	return small, NewRoutes(len(first), func(uses []Use, c int32) []Use {
		weights = weights[:0]
		for _, u := range z.routes.Of(first[c]) {
			weights = append(weights, Use{linkClass[u.Resource], u.Weight})
		}
		slices.SortFunc(weights, func(a, b Use) int { return cmp.Compare(a.Resource, b.Resource) })
		begin := len(uses)
		for _, u := range weights {
			if len(uses) > begin && uses[len(uses)-1].Resource == u.Resource {
				uses[len(uses)-1].Weight += u.Weight
			} else {
				uses = append(uses, u)
			}
		}
		for k := begin; k < len(uses); k++ {
			uses[k].Weight *= float64(flowCount[c]) / float64(linkCount[uses[k].Resource])
		}
		return uses
	})
}
