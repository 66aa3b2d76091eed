package circuits

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/topology"
	"sim/scenarios/assembly/composition"
	"sim/workloads/training"
)

// mostTogether is the most replicas whose circuits allocators that search decide on one by one and all together: of
// more, those of each kind have the same. mostKinds is then the most kinds.
const (
	mostTogether = 16
	mostKinds    = 8
)

// byKinds reports whether the replicas of a kind have the same circuits. One replica must be able to stand for all.
func (in *instance) byKinds() bool {
	return in.it != nil && !in.s.traffic() && in.it.All && in.loan == nil && !in.s.Whole() && in.it.Spec.Replicas() > mostTogether
}

// kinds are the replicas by what makes them differ.
type kinds struct {
	of    []int // by replica
	first []int // by kind: the replica that stands for all of it
}

// kinds returns the kinds of replicas, in the order of the first of each: identical ones, or where these are more than
// most those that differ in nothing but the speed of compute and are next to each other in that, for which the slowest
// stands.
func (in *instance) kinds(most int) kinds {
	n := in.it.Spec.Replicas()
	same := func(a, b int, speed bool) bool {
		x, y := in.s.replica(a), in.s.replica(b)
		return (!speed || x.ComputeScale == y.ComputeScale) && x.PortBandwidth == y.PortBandwidth && x.PortsPerPod == y.PortsPerPod && slices.Equal(x.PodMap, y.PodMap)
	}
	group := func(order []int, alike func(first, r int) bool) (z kinds) {
		z.of = make([]int, n)
		for _, r := range order {
			k := slices.IndexFunc(z.first, func(first int) bool { return alike(first, r) })
			if k < 0 {
				k = len(z.first)
				z.first = append(z.first, r)
			}
			z.of[r] = k
		}
		return z
	}
	order := make([]int, n)
	for r := range order {
		order[r] = r
	}
	z := group(order, func(first, r int) bool { return same(first, r, true) })
	if len(z.first) <= most {
		return z
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(in.s.replica(b).ComputeScale, in.s.replica(a).ComputeScale)
	})
	slowest, fastest := in.s.replica(order[0]).ComputeScale, in.s.replica(order[n-1]).ComputeScale
	step := (slowest - fastest) / float64(most)
	return group(order, func(first, r int) bool {
		return same(first, r, false) && in.s.replica(first).ComputeScale-in.s.replica(r).ComputeScale < step
	})
}

// apart is what is decided for replicas of each kind by themselves.
type apart struct {
	kinds
	parts       []*instance // by kind
	choices     []*topology.Decision
	slowest     int // replica
	evaluations int64
}

// part is replica r by itself, whose synchronisation starts no sooner than from, by virtual stage and part of its
// gradients; nil is when it is ready.
func (in *instance) part(ctx context.Context, r int, from [][]engine.Time) (*instance, error) {
	x := training.BuildOptions{PerGPU: in.s.Workload.Flows == "per-gpu", ComputeScale: []float64{in.s.replica(r).ComputeScale}, EarliestSync: from}
	part, err := place(ctx, in.s, in.it.Spec, x, in.s.layout(r))
	if err != nil {
		return nil, err
	}
	return part, part.open(ctx)
}

// boundByKinds gives the problem the bounds of single replicas of each kind. They hold for all together, in which each
// has the same transfers, waits for others as well, and has links that are no faster: with y circuits to one DP peer and
// z to the other, the half of its synchronisation that has the fewer takes no less than where both have as few.
func (in *instance) boundByKinds(ctx context.Context) error {
	for _, r := range in.kinds(mostKinds).first {
		part, err := in.part(ctx, r, nil)
		if err != nil {
			return err
		}
		bound, err := part.problem.Bound(ctx)
		if err != nil {
			return err
		}
		in.problem.KnownBound = max(in.problem.KnownBound, bound)
	}
	return nil
}

// apart decides for one replica of each kind by itself (DELTA, Sec. IV-A.1): each is a problem of its own, in which
// synchronisation starts no sooner than in the slowest one.
func (in *instance) apart(ctx context.Context, policy topology.Policy, settings topology.Options, of kinds) (*apart, error) {
	spec := in.it.Spec
	z := &apart{kinds: of, parts: make([]*instance, len(of.first)), choices: make([]*topology.Decision, len(of.first))}
	last := engine.Time(0)
	settings.PortTolerance, settings.KeepPorts = 0, true // ports are saved on the whole, not on each part
	var from [][]engine.Time
	for pass := range 2 {
		ready := make([][]engine.Time, spec.VirtualStages())
		for v := range ready {
			ready[v] = make([]engine.Time, spec.SyncPieces(v))
		}
		for k, r := range of.first {
			part, err := in.part(ctx, r, from)
			if err != nil {
				return nil, err
			}
			c, err := policy.Choose(ctx, part.problem, settings)
			if err != nil {
				return nil, err
			}
			z.parts[k], z.choices[k] = part, c
			z.evaluations += c.Evaluations
			if pass == 0 {
				end, err := part.latest(ctx, c, ready)
				if err != nil {
					return nil, err
				}
				if end > last {
					z.slowest, last = r, end
				}
			}
		}
		from = ready
	}
	return z, nil
}

// Bundles between replicas get what the slowest one asks for, as its schedule is the baseline for all, or what the two
// ends do, the smaller or the larger.
var grants = []func(slowest, a, b int) int{
	func(slowest, _, _ int) int { return slowest },
	func(_, a, b int) int { return min(a, b) },
	func(_, a, b int) int { return max(a, b) },
}

// decompose decides for heterogeneous replicas by themselves, and grants what does best in simulation on all replicas
// together. The other replicas give way with circuits of their own.
func (in *instance) decompose(ctx context.Context, policy topology.Policy, settings topology.Options) (*topology.Decision, error) {
	most := in.it.Spec.Replicas()
	together := in.s.Workload.ReplicaMode != "decomposed"
	if together {
		most = mostKinds
	}
	z, err := in.apart(ctx, policy, settings, in.kinds(most))
	if err != nil {
		return nil, err
	}
	var d *topology.Decision
	granted := 0
	for k, grant := range grants {
		x, yielding := in.merge(z, grant)
		m, err := in.problem.Evaluate(ctx, in.problem.Fit(x, yielding), z.choices[0].Service)
		if err != nil {
			return nil, err
		}
		if d == nil || m.Makespan < d.Makespan {
			d, granted = m, k
		}
	}
	switch {
	case !z.choices[0].Searched:
	case !together:
		in.problem.MinimisePorts(ctx, d, settings)
	case !settings.KeepPorts:
		for k, part := range z.parts {
			part.problem.MinimisePorts(ctx, z.choices[k], settings)
		}
		fewer, yielding := in.merge(z, grants[granted])
		in.problem.MinimisePortsInGroups(ctx, d, settings, in.problem.Shrink(fewer, yielding), in.groups(z.of))
	}
	d.Evaluations += z.evaluations
	for k, c := range z.choices {
		if c.Stopped != "" {
			d.Stopped = fmt.Sprintf("replica %d: %s", z.first[k], c.Stopped)
		}
	}
	return d, nil
}

// groups returns the bundles of each kind: between the same pods of replicas of the same kinds.
func (in *instance) groups(of []int) [][]int {
	pods := in.s.PodsPerReplica()
	var all [][]int
	at := map[[4]int]int{}
	for e, b := range in.optical.Bundles {
		from, to := [2]int{of[int(b.A)/pods], int(b.A) % pods}, [2]int{of[int(b.B)/pods], int(b.B) % pods}
		if slices.Compare(from[:], to[:]) > 0 {
			from, to = to, from
		}
		key := [4]int{from[0], from[1], to[0], to[1]}
		k, ok := at[key]
		if !ok {
			k = len(all)
			at[key], all = k, append(all, nil)
		}
		all[k] = append(all[k], e)
	}
	return all
}

// latest raises ready, by virtual stage, to when this replica could synchronise under its own choice, and returns when
// it could the last one.
func (in *instance) latest(ctx context.Context, d *topology.Decision, ready [][]engine.Time) (engine.Time, error) {
	n, err := in.optical.Provision(d.Circuits)
	if err != nil {
		return 0, err
	}
	run, err := composition.Simulate(ctx, "flow", &composition.Job{Graph: in.graph}, composition.NewRouteDecision(n, in.optical.Routes, flow.Options{Service: d.Service}))
	if err != nil {
		return 0, err
	}
	last := engine.Time(0)
	for v, parts := range in.it.GradientsReady[0] {
		for i, id := range parts {
			ready[v][i] = max(ready[v][i], run.Trace.End[id])
			last = max(last, run.Trace.End[id])
		}
	}
	return last, nil
}

// merge puts the replicas' choices together. grant says what a bundle between two of them gets, of what the slowest
// replica and those at its ends ask for. It returns the bundles of other replicas than the slowest, too.
func (in *instance) merge(z *apart, grant func(slowest, a, b int) int) (x, yielding []int) {
	pods := in.s.PodsPerReplica()
	// granted by kind and pods of a replica; the diagonal is to the DP peers
	granted := make([]map[[2]int32]int, len(z.parts))
	for k, part := range z.parts {
		granted[k] = map[[2]int32]int{}
		for e, b := range part.optical.Bundles {
			granted[k][[2]int32{b.A, b.B}] = z.choices[k].Circuits[e]
		}
	}
	slowest := granted[z.of[z.slowest]]
	x = make([]int, len(in.optical.Bundles))
	for e, b := range in.optical.Bundles {
		ra, rb := int(b.A)/pods, int(b.B)/pods
		a, c := b.A%int32(pods), b.B%int32(pods)
		if ra == rb {
			x[e] = max(1, granted[z.of[ra]][[2]int32{a, c}])
			if ra != z.slowest {
				yielding = append(yielding, e)
			}
			continue
		}
		asked := max(slowest[[2]int32{a, a}], slowest[[2]int32{c, c}])
		x[e] = max(1, grant(asked, granted[z.of[ra]][[2]int32{a, a}], granted[z.of[rb]][[2]int32{c, c}]))
	}
	return x, yielding
}
