// This file generates traffic that follows the links or dimensions of a fabric.

package paths

import (
	"sim/fabric/links"
	"sim/fabric/torus"
	"sim/workloads/collective"
)

// neighbourTraffic returns the traffic of a message over each link of a torus, or
// between the ends of each link of a graph.
func (r *routingSystem) neighbourTraffic(message int64) (*collective.Traffic, error) {
	if r.Torus != nil {
		return collective.NearestNeighbour(r.Torus, message, r.Down)
	}
	return collective.Neighbours(r.Whole, message, r.Down)
}

// permutationTraffic returns the traffic of a message from each node to one other.
// The nodes of a graph are permuted like the nodes of a one-dimensional torus.
func (r *routingSystem) permutationTraffic(message int64) (*collective.Traffic, error) {
	t := r.Torus
	if t == nil {
		var err error
		if t, err = torus.New(r.numNodes()); err != nil {
			return nil, err
		}
	}
	return collective.Permutation(t, r.s.Workload.Permutation, message, r.s.Seed, r.Down)
}

// dataTensorLoad returns traffic that alternates between all-to-alls in slices
// (tensor parallelism) and rings across the slices (data parallelism). If the
// torus has only one of the two, the phases of the other are silent.
func (r *routingSystem) dataTensorLoad(int64) (*trafficLoad, error) {
	w := &r.s.Workload
	tensor, data := links.Dims(w.TensorDims), links.Dims(w.DataDims)

	// The periods of slices and of rings, which alternate.
	const (
		slicePart = iota
		ringPart
		numParts
	)
	var periods [numParts][]onPeriod
	start := w.Start
	for range w.Alternations {
		for k := range periods {
			periods[k] = append(periods[k], onPeriod{start, w.Phase})
			start += w.Phase
		}
	}

	// Add the flows of slices and of rings, if they have more than one node.
	// demand is the rate of a flow relative to the rate of flows in slices.
	out := &trafficLoad{}
	add := func(t *collective.Traffic, part int, demand float64) {
		first := int32(len(out.flows))
		out.flows = append(out.flows, t.Flows...)
		for range t.Flows {
			out.demand = append(out.demand, demand)
		}
		out.parts = append(out.parts, trafficPart{
			first: first, end: int32(len(out.flows)), traffic: t,
			periods: periods[part], isRing: part == ringPart,
		})
	}

	message := int64(w.Payload)
	if r.spannedNodes(w.TensorDims) > 1 {
		t, err := collective.SliceAllToAll(r.Torus, tensor, message, r.Down)
		if err != nil {
			return nil, err
		}
		const onePeriod = 1
		add(t, slicePart, onePeriod)
	}

	if r.spannedNodes(w.DataDims) > 1 {
		t, err := collective.RingSteps(r.Torus, data, w.RingForm, w.Bidirectional,
			message, r.Down)
		if err != nil {
			return nil, err
		}
		add(t, ringPart, float64(w.RingRate)/float64(w.Rate))
	}

	return out, nil
}

// spannedNodes returns the number of nodes of a slice along the named dimensions.
func (r *routingSystem) spannedNodes(names []string) int {
	n := 1
	for _, d := range links.Dims(names) {
		n *= r.Torus.Dims[d]
	}
	return n
}
