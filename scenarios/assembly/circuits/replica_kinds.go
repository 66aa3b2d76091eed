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
	maxReplicasSearched = 16
	maxReplicaKinds     = 8
)

// usesReplicaKinds reports whether the replicas of a kind have the same circuits. One replica must be able to stand for all.
func (sys *circuitSystem) usesReplicaKinds() bool {
	return sys.iteration != nil && !sys.scenario.isTraffic() && sys.iteration.All && sys.lending == nil && !sys.scenario.NeedsAllReplicas() && sys.iteration.Spec.Replicas() > maxReplicasSearched
}

// replicaKinds are the replicas by what makes them differ.
type replicaKinds struct {
	kindOf          []int // by replica
	representatives []int // by kind: the replica that stands for all of it
}

// groupReplicas returns the kinds of replicas, in the order of the first of each: identical ones, or where these are more than
// most those that differ in nothing but the speed of compute and are next to each other in that, for which the slowest
// stands.
func (sys *circuitSystem) groupReplicas(maxKinds int) replicaKinds {
	n := sys.iteration.Spec.Replicas()
	isSimilar := func(a, b int, compareSpeed bool) bool {
		x, y := sys.scenario.replica(a), sys.scenario.replica(b)
		return (!compareSpeed || x.ComputeScale == y.ComputeScale) && x.PortBandwidth == y.PortBandwidth && x.PortsPerPod == y.PortsPerPod && slices.Equal(x.PodMap, y.PodMap)
	}
	group := func(order []int, isIdentical func(first, r int) bool) (z replicaKinds) {
		z.kindOf = make([]int, n)
		for _, r := range order {
			k := slices.IndexFunc(z.representatives, func(first int) bool { return isIdentical(first, r) })
			if k < 0 {
				k = len(z.representatives)
				z.representatives = append(z.representatives, r)
			}
			z.kindOf[r] = k
		}
		return z
	}
	order := make([]int, n)
	for r := range order {
		order[r] = r
	}
	z := group(order, func(first, r int) bool { return isSimilar(first, r, true) })
	if len(z.representatives) <= maxKinds {
		return z
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(sys.scenario.replica(b).ComputeScale, sys.scenario.replica(a).ComputeScale)
	})
	slowest, fastest := sys.scenario.replica(order[0]).ComputeScale, sys.scenario.replica(order[n-1]).ComputeScale
	step := (slowest - fastest) / float64(maxKinds)
	return group(order, func(first, r int) bool {
		return isSimilar(first, r, false) && sys.scenario.replica(first).ComputeScale-sys.scenario.replica(r).ComputeScale < step
	})
}

// perKindDecision is what is decided for replicas of each kind by themselves.
type perKindDecision struct {
	replicaKinds
	systems     []*circuitSystem // by kind
	decisions   []*topology.Decision
	slowest     int // replica
	evaluations int64
}

// replicaSystem is replica r by itself, whose synchronisation starts no sooner than from, by virtual stage and part of its
// gradients; nil is when it is ready.
func (sys *circuitSystem) replicaSystem(ctx context.Context, r int, earliestSync [][]engine.Time) (*circuitSystem, error) {
	x := training.BuildOptions{PerGPU: sys.scenario.Workload.Flows == "per-gpu", ComputeScale: []float64{sys.scenario.replica(r).ComputeScale}, EarliestSync: earliestSync}
	part, err := buildIteration(ctx, sys.scenario, sys.iteration.Spec, x, sys.scenario.replicaLayout(r))
	if err != nil {
		return nil, err
	}
	return part, part.defineProblem(ctx)
}

// setKindBounds gives the problem the bounds of single replicas of each kind. They hold for all together, in which each
// has the same transfers, waits for others as well, and has links that are no faster: with y circuits to one DP peer and
// z to the other, the half of its synchronisation that has the fewer takes no less than where both have as few.
func (sys *circuitSystem) setKindBounds(ctx context.Context) error {
	for _, r := range sys.groupReplicas(maxReplicaKinds).representatives {
		single, err := sys.replicaSystem(ctx, r, nil)
		if err != nil {
			return err
		}
		bound, err := single.problem.Bound(ctx)
		if err != nil {
			return err
		}
		sys.problem.KnownBound = max(sys.problem.KnownBound, bound)
	}
	return nil
}

// decidePerKind decides for one replica of each kind by itself (DELTA, Sec. IV-A.1): each is a problem of its own, in which
// synchronisation starts no sooner than in the slowest one.
func (sys *circuitSystem) decidePerKind(ctx context.Context, policy topology.Policy, settings topology.Options, kinds replicaKinds) (*perKindDecision, error) {
	spec := sys.iteration.Spec
	z := &perKindDecision{replicaKinds: kinds, systems: make([]*circuitSystem, len(kinds.representatives)), decisions: make([]*topology.Decision, len(kinds.representatives))}
	latestReady := engine.Time(0)
	settings.PortTolerance, settings.KeepPorts = 0, true // ports are saved on the whole, not on each part
	var earliestSync [][]engine.Time
	for pass := range 2 {
		ready := make([][]engine.Time, spec.VirtualStages())
		for v := range ready {
			ready[v] = make([]engine.Time, spec.SyncPieces(v))
		}
		for k, r := range kinds.representatives {
			single, err := sys.replicaSystem(ctx, r, earliestSync)
			if err != nil {
				return nil, err
			}
			decision, err := policy.Choose(ctx, single.problem, settings)
			if err != nil {
				return nil, err
			}
			z.systems[k], z.decisions[k] = single, decision
			z.evaluations += decision.Evaluations
			if pass == 0 {
				readyAt, err := single.raiseReadyTimes(ctx, decision, ready)
				if err != nil {
					return nil, err
				}
				if readyAt > latestReady {
					z.slowest, latestReady = r, readyAt
				}
			}
		}
		earliestSync = ready
	}
	return z, nil
}

// Bundles between replicas get what the slowest one asks for, as its schedule is the baseline for all, or what the two
// ends do, the smaller or the larger.
var grantRules = []func(slowest, a, b int) int{
	func(slowest, _, _ int) int { return slowest },
	func(_, a, b int) int { return min(a, b) },
	func(_, a, b int) int { return max(a, b) },
}

// decompose decides for heterogeneous replicas by themselves, and grants what does best in simulation on all replicas
// together. The other replicas give way with circuits of their own.
func (sys *circuitSystem) decompose(ctx context.Context, policy topology.Policy, settings topology.Options) (*topology.Decision, error) {
	maxKinds := sys.iteration.Spec.Replicas()
	simulatesAll := sys.scenario.Workload.ReplicaMode != "decomposed"
	if simulatesAll {
		maxKinds = maxReplicaKinds
	}
	perKind, err := sys.decidePerKind(ctx, policy, settings, sys.groupReplicas(maxKinds))
	if err != nil {
		return nil, err
	}
	var d *topology.Decision
	bestRule := 0
	for rule, grant := range grantRules {
		x, yielding := sys.mergeDecisions(perKind, grant)
		m, err := sys.problem.Evaluate(ctx, sys.problem.Fit(x, yielding), perKind.decisions[0].Service)
		if err != nil {
			return nil, err
		}
		if d == nil || m.Makespan < d.Makespan {
			d, bestRule = m, rule
		}
	}
	switch {
	case !perKind.decisions[0].Searched:
	case !simulatesAll:
		sys.problem.MinimisePorts(ctx, d, settings)
	case !settings.KeepPorts:
		for rule, single := range perKind.systems {
			single.problem.MinimisePorts(ctx, perKind.decisions[rule], settings)
		}
		fewer, yielding := sys.mergeDecisions(perKind, grantRules[bestRule])
		sys.problem.MinimisePortsInGroups(ctx, d, settings, sys.problem.Shrink(fewer, yielding), sys.bundleGroups(perKind.kindOf))
	}
	d.Evaluations += perKind.evaluations
	for rule, c := range perKind.decisions {
		if c.Stopped != "" {
			d.Stopped = fmt.Sprintf("replica %d: %s", perKind.representatives[rule], c.Stopped)
		}
	}
	return d, nil
}

// bundleGroups returns the bundles of each kind: between the same pods of replicas of the same kinds.
func (sys *circuitSystem) bundleGroups(kindOf []int) [][]int {
	pods := sys.scenario.PodsPerReplica()
	var all [][]int
	groupOf := map[[4]int]int{}
	for e, b := range sys.optical.Bundles {
		from, to := [2]int{kindOf[int(b.A)/pods], int(b.A) % pods}, [2]int{kindOf[int(b.B)/pods], int(b.B) % pods}
		if slices.Compare(from[:], to[:]) > 0 {
			from, to = to, from
		}
		key := [4]int{from[0], from[1], to[0], to[1]}
		k, ok := groupOf[key]
		if !ok {
			k = len(all)
			groupOf[key], all = k, append(all, nil)
		}
		all[k] = append(all[k], e)
	}
	return all
}

// raiseReadyTimes raises ready, by virtual stage, to when this replica could synchronise under its own choice, and returns when
// it could the last one.
func (sys *circuitSystem) raiseReadyTimes(ctx context.Context, d *topology.Decision, ready [][]engine.Time) (engine.Time, error) {
	n, err := sys.optical.Provision(d.Circuits)
	if err != nil {
		return 0, err
	}
	run, err := composition.Simulate(ctx, "flow", &composition.Job{Graph: sys.graph}, composition.NewRouteDecision(n, sys.optical.Routes, flow.Options{Service: d.Service}))
	if err != nil {
		return 0, err
	}
	last := engine.Time(0)
	for v, parts := range sys.iteration.GradientsReady[0] {
		for i, id := range parts {
			ready[v][i] = max(ready[v][i], run.Trace.End[id])
			last = max(last, run.Trace.End[id])
		}
	}
	return last, nil
}

// mergeDecisions puts the replicas' choices together. grant says what a bundle between two of them gets, of what the slowest
// replica and those at its ends ask for. It returns the bundles of other replicas than the slowest, too.
func (sys *circuitSystem) mergeDecisions(perKind *perKindDecision, grant func(slowest, a, b int) int) (x, yielding []int) {
	pods := sys.scenario.PodsPerReplica()
	// granted by kind and pods of a replica; the diagonal is to the DP peers
	granted := make([]map[[2]int32]int, len(perKind.systems))
	for k, single := range perKind.systems {
		granted[k] = map[[2]int32]int{}
		for e, b := range single.optical.Bundles {
			granted[k][[2]int32{b.A, b.B}] = perKind.decisions[k].Circuits[e]
		}
	}
	slowest := granted[perKind.kindOf[perKind.slowest]]
	x = make([]int, len(sys.optical.Bundles))
	for e, b := range sys.optical.Bundles {
		ra, rb := int(b.A)/pods, int(b.B)/pods
		a, c := b.A%int32(pods), b.B%int32(pods)
		if ra == rb {
			x[e] = max(1, granted[perKind.kindOf[ra]][[2]int32{a, c}])
			if ra != perKind.slowest {
				yielding = append(yielding, e)
			}
			continue
		}
		requested := max(slowest[[2]int32{a, a}], slowest[[2]int32{c, c}])
		x[e] = max(1, grant(requested, granted[perKind.kindOf[ra]][[2]int32{a, a}], granted[perKind.kindOf[rb]][[2]int32{c, c}]))
	}
	return x, yielding
}
