package paths

import (
	"cmp"
	"context"
	"slices"

	"sim/fabric/links"
	"sim/fabric/torus"
	algorithm "sim/policies/collective"
	"sim/workloads/collective"
)

// neighbours is a message over each link; of a graph, between the ends of each.
func (r *routed) neighbours(message int64) (*collective.Traffic, error) {
	if r.Torus != nil {
		return collective.NearestNeighbour(r.Torus, message, r.Down)
	}
	return collective.Neighbours(r.Whole, message, r.Down)
}

// permutation is a message from each node to one other. A graph is taken for a row of nodes.
func (r *routed) permutation(message int64) (*collective.Traffic, error) {
	t := r.Torus
	if t == nil {
		var err error
		if t, err = torus.New(r.nodes()); err != nil {
			return nil, err
		}
	}
	return collective.Permutation(t, r.s.Workload.Permutation, message, r.s.Seed, r.Down)
}

// collective is a ring collective of the scenario on so many nodes, not checked yet.
func (r *routed) collective(nodes int, bytes int64) (*collective.Collective, error) {
	w := &r.s.Workload
	op, err := collective.ParseOp(w.Kind)
	if err != nil {
		return nil, err
	}
	form, err := collective.ParseForm(w.RingForm)
	if err != nil {
		return nil, err
	}
	c := &collective.Collective{Op: op, Nodes: nodes, Bytes: bytes, Down: r.Down}
	if r.s.Engine.Level == "flow" { // packets have it from the links
		c.Latency = r.s.Fabric.LinkLatency
	}
	if w.Rings == "one" {
		ring, err := collective.HamiltonianRing(r.Torus, r.Down)
		if err != nil {
			return nil, err
		}
		c.Streams = collective.OneRing(ring, w.Bidirectional)
	} else {
		along := links.Dims(w.RingDims)
		for d := range r.Torus.Dims {
			if len(w.RingDims) == 0 {
				along = append(along, d)
			}
		}
		if c.Streams, err = collective.MultiRing(r.Torus, along, form, w.Bidirectional); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// rings builds a ring collective.
func (r *routed) rings(bytes int64) (*load, error) {
	c, err := r.collective(int(r.Whole.Nodes), bytes)
	if err != nil {
		return nil, err
	}
	t, err := c.Traffic()
	if err != nil {
		return nil, err
	}
	g, err := c.Graph()
	if err != nil {
		return nil, err
	}
	return &load{flows: t.Flows, demand: t.Demand(), graph: g, rings: c, parts: []part{{end: int32(len(t.Flows)), traffic: t}}}, nil
}

// ringLimit returns a lower bound on when a ring collective ends, by any algorithm on any routes: that of the call among
// the ranks that share a vector, of the largest set of such ranks.
func (r *routed) ringLimit(ctx context.Context) (algorithm.Limit, error) {
	c := r.load.rings
	kind := map[collective.Op]algorithm.Kind{
		collective.AllReduce: algorithm.AllReduce, collective.ReduceScatter: algorithm.ReduceScatter, collective.AllGather: algorithm.AllGather,
	}[c.Op]
	sets := c.Ranks()
	largest := slices.MaxFunc(sets, func(a, b []int32) int { return cmp.Compare(len(a), len(b)) })
	p := &algorithm.Problem{Call: algorithm.Call{Kind: kind, Group: largest, Bytes: c.Bytes}, Network: r.seen()}
	if r.Torus != nil {
		p.Torus = r.Torus
	}
	return p.Bound(ctx)
}

// DataTensor is all to all in slices and rings across them in turns. Where a shape has only one of the two, the other's
// turns are silent.
func (r *routed) dataTensor(int64) (*load, error) {
	w := &r.s.Workload
	form, err := collective.ParseForm(w.RingForm)
	if err != nil {
		return nil, err
	}
	tensor, data := links.Dims(w.TensorDims), links.Dims(w.DataDims)
	var turns [2][]turn
	at := w.Start
	for range w.Alternations {
		for k := range turns {
			turns[k] = append(turns[k], turn{at, w.Phase})
			at += w.Phase
		}
	}
	out := &load{}
	add := func(t *collective.Traffic, k int, weight float64) {
		first := int32(len(out.flows))
		out.flows = append(out.flows, t.Flows...)
		for range t.Flows {
			out.demand = append(out.demand, weight)
		}
		out.parts = append(out.parts, part{first: first, end: int32(len(out.flows)), traffic: t, turns: turns[k], ring: k == 1})
	}
	message := int64(w.Payload)
	if r.span(w.TensorDims) > 1 {
		t, err := collective.SliceAllToAll(r.Torus, tensor, message, r.Down)
		if err != nil {
			return nil, err
		}
		add(t, 0, 1)
	}
	if r.span(w.DataDims) > 1 {
		t, err := collective.RingSteps(r.Torus, data, form, w.Bidirectional, message, r.Down)
		if err != nil {
			return nil, err
		}
		add(t, 1, float64(w.RingRate)/float64(w.Rate))
	}
	return out, nil
}

// span returns the nodes that dimensions of the torus span.
func (r *routed) span(names []string) int {
	n := 1
	for _, d := range links.Dims(names) {
		n *= r.Torus.Dims[d]
	}
	return n
}
