package paths

import (
	"sim/fabric/links"
	"sim/fabric/torus"
	"sim/workloads/collective"
)

// neighbourTraffic is a message over each link; of a graph, between the ends of each.
func (r *routingSystem) neighbourTraffic(message int64) (*collective.Traffic, error) {
	if r.Torus != nil {
		return collective.NearestNeighbour(r.Torus, message, r.Down)
	}
	return collective.Neighbours(r.Whole, message, r.Down)
}

// permutationTraffic is a message from each node to one other. A graph is taken for a row of nodes.
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

// dataTensorLoad is all to all in slices and rings across them in turns. Where a shape has only one of the two, the other's
// turns are silent.
func (r *routingSystem) dataTensorLoad(int64) (*trafficLoad, error) {
	w := &r.s.Workload
	tensor, data := links.Dims(w.TensorDims), links.Dims(w.DataDims)
	var turns [2][]onPeriod
	at := w.Start
	for range w.Alternations {
		for k := range turns {
			turns[k] = append(turns[k], onPeriod{at, w.Phase})
			at += w.Phase
		}
	}

	out := &trafficLoad{}
	add := func(t *collective.Traffic, k int, weight float64) {
		first := int32(len(out.flows))
		out.flows = append(out.flows, t.Flows...)
		for range t.Flows {
			out.demand = append(out.demand, weight)
		}
		out.parts = append(out.parts, trafficPart{first: first, end: int32(len(out.flows)),
			traffic: t, periods: turns[k], isRing: k == 1})
	}

	message := int64(w.Payload)
	if r.spannedNodes(w.TensorDims) > 1 {
		t, err := collective.SliceAllToAll(r.Torus, tensor, message, r.Down)
		if err != nil {
			return nil, err
		}
		add(t, 0, 1)
	}

	if r.spannedNodes(w.DataDims) > 1 {
		t, err := collective.RingSteps(r.Torus, data, w.RingForm, w.Bidirectional,
			message, r.Down)
		if err != nil {
			return nil, err
		}
		add(t, 1, float64(w.RingRate)/float64(w.Rate))
	}

	return out, nil
}

// spannedNodes returns the nodes that dimensions of the torus span.
func (r *routingSystem) spannedNodes(names []string) int {
	n := 1
	for _, d := range links.Dims(names) {
		n *= r.Torus.Dims[d]
	}
	return n
}
