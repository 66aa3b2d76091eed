// This file places the ranks of training steps and other rank work on the GPUs of clusters.

package circuits

import (
	"cmp"
	"context"
	"errors"

	"sim/policies/mapping"
	"sim/scenarios/assembly/calls"
)

// PlacedExpander returns the expander of the collective calls of rank work on the GPUs of a
// cluster, with ranks placed by a mapping; "" means the default order. Errors have the form
// "problem; want remedy".
func (s *Scenario) PlacedExpander(ctx context.Context, text string) (*calls.Expander, error) {
	e := s.GPUExpander()
	p := &mapping.Problem{Files: s.Mapping.FileEndpoints(), Dims: s.Workload.Work.Dims()}
	if p.Dims == nil || s.Fabric.HostGPUs == 0 { // rank i is on GPU i
		return e, nil
	}
	if mapping.IsSearch(text) {
		return nil, errors.New("the search counts hops, and circuits are decided after the mapping; " +
			"want an order of dimensions or a file")
	}
	for gpu := range int32(s.Fabric.Pods * s.Fabric.GPUsPerPod) {
		p.Slots = append(p.Slots, gpu)
	}
	placement, err := mapping.Place(ctx, cmp.Or(text, mapping.Default), p, mapping.Options{})
	if err != nil {
		return nil, err
	}
	e.NodeOfRank = placement.At
	return e, nil
}
