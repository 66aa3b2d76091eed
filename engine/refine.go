package engine

import (
	"fmt"
	"math"
	"slices"

	"sim/internal/random"
)

// FoldUses returns routes for one flow of each class of indistinguishable flows. routes has the
// uses of each flow on n, and class the class of each flow, numbered from 0. A folded route uses
// the first resource of each class of indistinguishable resources, with the total weight of
// all flows of the class on this resource. kind is called with each resource that is used;
// resources of different kinds, rates or latencies are in different classes. nil means one kind.
//
// The classes must be equitable: flows of one class use equally many resources of each class with
// each weight, and resources of one class carry equally many flows of each class with each weight.
// If the flows of each class send at the same times, they then have equal rates under max-min
// fairness, because one allocation satisfies its conditions, and symmetry maps it to itself. A
// folded route therefore gives a flow the rate of the flows of its class.
//
// If the given classes are not equitable, FoldUses returns ErrAsymmetric and the coarsest equitable
// refinement of them. It also fails for networks with changes and for limited flows.
func FoldUses(
	n *Network, class []int32, routes *Routes, kind func(resource int32) int,
) (folded *Routes, refined []int32, err error) {
	if len(n.Changes) > 0 || routes.FlowCap != nil || len(routes.Start) != len(class)+1 {
		return nil, nil, fmt.Errorf("%w: %d changes of links, %d flow limits, and %d flows with routes of %d",
			ErrAsymmetric, len(n.Changes), len(routes.FlowCap), len(class), len(routes.Start)-1)
	}
	refined, firstOf := refineUses(n, class, routes, kind)
	count, want := 1+slices.Max(refined), 1+slices.Max(class)
	if count != want {
		return nil, refined, fmt.Errorf("%w: %d classes of flows divide into %d with different links or loads",
			ErrAsymmetric, want, count)
	}

	// Add up the weights of each class on the first resource of each class.
	type load struct{ class, resource int32 }
	weights := map[load]float64{}
	members := make([][]int32, count) // by class: the first resources that it uses, in order of use
	for f, c := range class {
		for _, u := range routes.Of(int32(f)) {
			if first := firstOf[u.Resource]; first == u.Resource {
				k := load{c, first}
				if _, ok := weights[k]; !ok {
					members[c] = append(members[c], first)
				}
				weights[k] += u.Weight
			}
		}
	}
	return NewRoutes(int(count), func(uses []Use, c int32) []Use {
		for _, r := range members[c] {
			uses = append(uses, Use{r, weights[load{c, r}]})
		}
		return uses
	}), refined, nil
}

// refineUses returns the coarsest equitable refinement of classes of flows, and the first
// resource of the class of each resource that is used. It refines colours, which is also called
// the one-dimensional Weisfeiler-Leman algorithm: a new class of flows consists of flows with the
// same old class and the same classes of resources, and vice versa, until the number of classes
// stays the same.
//
// Collections of classes are compared by sums of 64-bit hashes. For different collections, the
// probability that two of k sums are equal is about k*k/2^65.
func refineUses(
	n *Network, class []int32, routes *Routes, kind func(resource int32) int,
) (flowClass, firstOf []int32) {
	isUsed := make([]bool, n.Resources())
	for _, u := range routes.Uses {
		isUsed[u.Resource] = true
	}

	flowKeys, resourceKeys := make([]uint64, len(class)), make([]uint64, n.Resources())
	for f, c := range class {
		flowKeys[f] = uint64(c)
	}
	for r := range resourceKeys {
		resourceKeys[r] = random.Mix(math.Float64bits(n.Rate(int32(r))))
		if r < len(n.Links) {
			resourceKeys[r] = random.Mix(resourceKeys[r] + uint64(n.Links[r].Latency))
		}
		if kind != nil && isUsed[r] {
			resourceKeys[r] = random.Mix(resourceKeys[r] + uint64(kind(int32(r))))
		}
	}
	var allFlows []bool // nil; see numberKeys
	flowClass, flowCount := numberKeys(flowKeys, allFlows)
	resourceClass, resourceCount := numberKeys(resourceKeys, isUsed)

	for {
		for r := range resourceKeys {
			resourceKeys[r] = random.Mix(uint64(resourceClass[r]))
		}
		for f, c := range flowClass {
			flowKeys[f] = random.Mix(uint64(c))
			for _, u := range routes.Of(int32(f)) {
				weight := math.Float64bits(u.Weight)
				resourceKeys[u.Resource] += random.Mix(random.Mix(uint64(c)) + weight)
				flowKeys[f] += random.Mix(random.Mix(uint64(resourceClass[u.Resource])) + weight)
			}
		}

		previous := flowCount + resourceCount
		flowClass, flowCount = numberKeys(flowKeys, allFlows)
		resourceClass, resourceCount = numberKeys(resourceKeys, isUsed)
		if flowCount+resourceCount == previous {
			break
		}
	}

	firstOf = make([]int32, len(resourceClass))
	first := slices.Repeat([]int32{-1}, resourceCount)
	for r, c := range resourceClass {
		if c >= 0 {
			if first[c] < 0 {
				first[c] = int32(r)
			}
			firstOf[r] = first[c]
		}
	}
	return flowClass, firstOf
}

// numberKeys returns the classes of elements with equal keys, numbered in the order of their
// first member, and their number. Excluded elements are in class -1; nil includes all.
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
