package circuits

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/topology"
	"sim/workloads/training"
)

// decompose decides for heterogeneous replicas one by one (DELTA, Sec. IV-A.1): each replica is a problem of its own,
// in which synchronisation starts no sooner than in the slowest one. Bundles between replicas get what the slowest one
// asks for, as its schedule is the baseline for all, or what the two ends do, the smaller or the larger: what does best
// in simulation on all replicas together. The other replicas give way with circuits of their own.
func (in *instance) decompose(ctx context.Context, policy topology.Policy, settings topology.Options) (*topology.Decision, error) {
	spec := in.it.Spec
	replicas := spec.Replicas()
	parts := make([]*instance, replicas)
	choices := make([]*topology.Decision, replicas)
	evaluations := int64(0)
	slowest, last := 0, engine.Time(0)
	whole := settings // ports are saved on the whole, not on each part
	whole.PortTolerance, whole.KeepPorts = 0, true
	var from []engine.Time
	for pass := range 2 {
		ready := make([]engine.Time, spec.PP*spec.Chunks)
		for r := range replicas {
			x := training.Extent{PerGPU: in.s.Workload.Flows == "per-gpu", Scale: []float64{in.s.replica(r).ComputeScale}, SyncFrom: from}
			var err error
			if parts[r], err = place(ctx, in.s, spec, x, in.s.layout(r)); err != nil {
				return nil, err
			}
			if err := parts[r].open(ctx); err != nil {
				return nil, err
			}
			if choices[r], err = policy.Choose(ctx, parts[r].problem, whole); err != nil {
				return nil, err
			}
			evaluations += choices[r].Evaluations
			if pass == 0 {
				end, err := parts[r].latest(ctx, choices[r], ready)
				if err != nil {
					return nil, err
				}
				if end > last {
					slowest, last = r, end
				}
			}
		}
		from = ready
	}
	var d *topology.Decision
	for _, grant := range []func(slowest, a, b int) int{
		func(slowest, _, _ int) int { return slowest },
		func(_, a, b int) int { return min(a, b) },
		func(_, a, b int) int { return max(a, b) },
	} {
		m, err := in.problem.Judge(ctx, in.merge(parts, choices, slowest, grant), choices[0].Service)
		if err != nil {
			return nil, err
		}
		if d == nil || m.Makespan < d.Makespan {
			d = m
		}
	}
	if choices[0].Searched {
		in.problem.SavePorts(ctx, d, settings)
	}
	d.Evaluations += evaluations
	for r, c := range choices {
		if c.Stopped != "" {
			d.Stopped = fmt.Sprintf("replica %d: %s", r, c.Stopped)
		}
	}
	return d, nil
}

// latest raises ready, by virtual stage, to when this replica could synchronise under its own choice, and returns when
// it could the last one.
func (in *instance) latest(ctx context.Context, d *topology.Decision, ready []engine.Time) (engine.Time, error) {
	n, err := in.optical.Provision(d.Circuits)
	if err != nil {
		return 0, err
	}
	t, err := flow.Run(ctx, in.it.Graph, n, in.optical.Routes, flow.Options{Service: d.Service})
	if err != nil {
		return 0, err
	}
	last := engine.Time(0)
	for v, id := range in.it.Ready[0] {
		ready[v] = max(ready[v], t.End[id])
		last = max(last, t.End[id])
	}
	return last, nil
}

// merge puts the replicas' choices together. grant says what a bundle between two of them gets, of what the slowest
// replica and those at its ends ask for.
func (in *instance) merge(parts []*instance, choices []*topology.Decision, slowest int, grant func(slowest, a, b int) int) []int {
	pods := in.s.PodsPerReplica()
	// granted by replica and pods of it; the diagonal is to the DP peers
	granted := make([]map[[2]int32]int, len(parts))
	for r, part := range parts {
		granted[r] = map[[2]int32]int{}
		for e, b := range part.optical.Bundles {
			granted[r][[2]int32{b.A, b.B}] = choices[r].Circuits[e]
		}
	}
	x := make([]int, len(in.optical.Bundles))
	var yielding []int // bundles of other replicas than the slowest
	for e, b := range in.optical.Bundles {
		ra, rb := int(b.A)/pods, int(b.B)/pods
		a, c := b.A%int32(pods), b.B%int32(pods)
		if ra == rb {
			x[e] = max(1, granted[ra][[2]int32{a, c}])
			if ra != slowest {
				yielding = append(yielding, e)
			}
			continue
		}
		asked := max(granted[slowest][[2]int32{a, a}], granted[slowest][[2]int32{c, c}])
		x[e] = max(1, grant(asked, granted[ra][[2]int32{a, a}], granted[rb][[2]int32{c, c}]))
	}
	return in.problem.Fit(x, yielding)
}
