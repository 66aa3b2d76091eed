// This file decides circuits of jobs with many or different replicas by decomposition
// (DELTA, Sec. IV-A.1). One replica of each kind is decided in isolation. The decisions
// are then merged into a topology of all replicas.

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

const (
	// maxReplicasSearched is the number of replicas up to which searching allocators
	// choose the circuits of each replica, in one problem. Beyond it, all replicas of a
	// kind have the same circuits. The value is a compromise: more replicas searched
	// separately may give better topologies, but the search time grows with the bundles.
	maxReplicasSearched = 16
	// maxReplicaKinds limits the kinds of replicas beyond maxReplicasSearched; replicas
	// with similar compute speed then form one kind. Each kind costs two searches, so that
	// at most 16 searches replace the search for all replicas.
	maxReplicaKinds = 8
)

// usesReplicaKinds reports whether the replicas of a kind have the same circuits. This
// requires that a single replica can stand for all.
func (sys *circuitSystem) usesReplicaKinds() bool {
	it := sys.iteration
	return it != nil && !sys.scenario.isTraffic() && it.All && sys.lending == nil &&
		!sys.scenario.NeedsAllReplicas() && it.Spec.Replicas() > maxReplicasSearched
}

// replicaKinds groups the replicas of a job by their properties.
type replicaKinds struct {
	kindOf          []int // indexed by replica
	representatives []int // replica that stands for a kind, indexed by kind
}

// groupReplicas returns the kinds of replicas, in the order of their first replicas. A
// kind is a set of identical replicas. If there are more than maxKinds such sets,
// replicas of similar compute speed also form one kind, if all their other properties are
// equal. The slowest then represents the kind.
func (sys *circuitSystem) groupReplicas(maxKinds int) replicaKinds {
	n := sys.iteration.Spec.Replicas()
	// A larger compute scale means a slower replica.
	scale := func(r int) float64 { return sys.scenario.replica(r).ComputeScale }
	hasSameHardware := func(a, b int) bool {
		x, y := sys.scenario.replica(a), sys.scenario.replica(b)
		return x.PortBandwidth == y.PortBandwidth && x.PortsPerPod == y.PortsPerPod &&
			slices.Equal(x.PodMap, y.PodMap)
	}
	// group assigns each replica, in the given order, to the first kind whose
	// representative matches.
	group := func(order []int, isSameKind func(first, r int) bool) (z replicaKinds) {
		z.kindOf = make([]int, n)
		for _, r := range order {
			joins := func(first int) bool { return isSameKind(first, r) }
			k := slices.IndexFunc(z.representatives, joins)
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
	// In the first attempt, only identical replicas form a kind.
	z := group(order, func(first, r int) bool {
		return scale(first) == scale(r) && hasSameHardware(first, r)
	})
	if len(z.representatives) <= maxKinds {
		return z
	}

	// Divide the range of compute scales into maxKinds intervals, from the slowest
	// replica on.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scale(b), scale(a)) })
	slowest, fastest := scale(order[0]), scale(order[n-1])
	step := (slowest - fastest) / float64(maxKinds)
	return group(order, func(first, r int) bool {
		return hasSameHardware(first, r) && scale(first)-scale(r) < step
	})
}

// perKindDecision holds the decisions for one isolated replica of each kind.
type perKindDecision struct {
	replicaKinds                      // kindOf and representatives
	systems      []*circuitSystem     // of a single replica, indexed by kind
	decisions    []*topology.Decision // indexed by kind
	slowest      int                  // the replica that is last to have all its gradients
	evaluations  int64                // sum over all decisions
}

// replicaSystem returns replica r as an isolated job, with its problem. The times
// earliestSync, indexed by virtual stage and part of its gradients, delay the start of
// synchronisation; nil means that it starts when gradients are ready.
func (sys *circuitSystem) replicaSystem(
	ctx context.Context, r int, earliestSync [][]engine.Time,
) (*circuitSystem, error) {
	s := sys.scenario
	extent := training.BuildOptions{
		PerGPU:       s.Workload.Flows == "per-gpu",
		ComputeScale: []float64{s.replica(r).ComputeScale},
		EarliestSync: earliestSync,
	}
	single, err := buildIteration(ctx, s, sys.iteration.Spec, extent, s.replicaLayout(r))
	if err != nil {
		return nil, err
	}
	return single, single.defineProblem(ctx)
}

// setKindBounds gives the problem the largest lower bound of a single replica of any
// kind.
//
// It is valid for all replicas together. There, the replica has the same transfers, also
// waits for other replicas, and has links that are not faster. With y circuits to one DP
// peer pod and z to the other, the half of its synchronisation with fewer circuits takes
// at least as long as with min(y, z) circuits to both.
func (sys *circuitSystem) setKindBounds(ctx context.Context) error {
	for _, r := range sys.groupReplicas(maxReplicaKinds).representatives {
		var whenReady [][]engine.Time // synchronisation starts without further delay
		single, err := sys.replicaSystem(ctx, r, whenReady)
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

// decidePerKind decides for one isolated replica of each kind (DELTA, Sec. IV-A.1). The
// first pass finds when the gradients of all kinds are ready. In the second pass,
// synchronisation starts no earlier than in the slowest replica.
func (sys *circuitSystem) decidePerKind(
	ctx context.Context, policy topology.Policy, settings topology.Options, kinds replicaKinds,
) (*perKindDecision, error) {
	n := len(kinds.representatives)
	z := &perKindDecision{
		replicaKinds: kinds,
		systems:      make([]*circuitSystem, n),
		decisions:    make([]*topology.Decision, n),
	}
	// Ports are minimised for the whole job, not for single replicas.
	settings.PortTolerance, settings.KeepPorts = 0, true

	spec := sys.iteration.Spec
	latestReady := engine.Time(0)
	var earliestSync [][]engine.Time
	for pass := range 2 {
		// Times at which gradients are ready in all kinds, indexed as earliestSync.
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
			// Only the first pass determines the times of synchronisation and the slowest
			// replica.
			if pass > 0 {
				continue
			}

			readyTime, err := single.raiseReadyTimes(ctx, decision, ready)
			if err != nil {
				return nil, err
			}
			if readyTime > latestReady {
				z.slowest, latestReady = r, readyTime
			}
		}
		// The second pass starts synchronisation when the gradients of all kinds are
		// ready.
		earliestSync = ready
	}
	return z, nil
}

// grantRules are the rules for the number of circuits of a bundle between two replicas. A
// rule receives the numbers that three replicas request: the slowest one of the job, and
// the two at the ends, a and b. It takes the request of the slowest replica, whose schedule
// is the baseline for all, or the minimum or the maximum of a and b.
var grantRules = []func(slowest, a, b int) int{
	func(slowest, _, _ int) int { return slowest },
	func(_, a, b int) int { return min(a, b) },
	func(_, a, b int) int { return max(a, b) },
}

// decompose decides for one replica of each kind and merges the decisions by each of
// grantRules. It returns the topology with the minimum makespan of all replicas. If ports
// do not suffice, the other replicas lose circuits before the slowest replica does.
func (sys *circuitSystem) decompose(
	ctx context.Context, policy topology.Policy, settings topology.Options,
) (*topology.Decision, error) {
	// In mode "decomposed" every replica may be a kind of its own.
	maxKinds := sys.iteration.Spec.Replicas()
	sharesCircuits := sys.scenario.Workload.ReplicaMode != "decomposed"
	if sharesCircuits {
		maxKinds = maxReplicaKinds
	}
	perKind, err := sys.decidePerKind(ctx, policy, settings, sys.groupReplicas(maxKinds))
	if err != nil {
		return nil, err
	}

	// Evaluate each rule on all replicas. Fit enforces the ports of all pods.
	var d *topology.Decision
	bestRule := 0
	for rule, grant := range grantRules {
		x, yielding := sys.mergeDecisions(perKind, grant)
		service := perKind.decisions[0].Service
		m, err := sys.problem.Evaluate(ctx, sys.problem.Fit(x, yielding), service)
		if err != nil {
			return nil, err
		}
		if d == nil || m.Makespan < d.Makespan {
			d, bestRule = m, rule
		}
	}

	// Searching allocators also minimise ports. In mode "decomposed" each bundle loses
	// circuits separately. Otherwise all bundles of a group lose circuits together,
	// starting from the merged decisions of single replicas with minimum ports.
	switch {
	case !perKind.decisions[0].Searched: // the allocator does not minimise ports
	case !sharesCircuits:
		sys.problem.MinimisePorts(ctx, d, settings)
	case !settings.KeepPorts:
		for k, single := range perKind.systems {
			single.problem.MinimisePorts(ctx, perKind.decisions[k], settings)
		}
		fewer, yielding := sys.mergeDecisions(perKind, grantRules[bestRule])
		fewer = sys.problem.Shrink(fewer, yielding)
		groups := sys.bundleGroups(perKind.kindOf)
		sys.problem.MinimisePortsInGroups(ctx, d, settings, fewer, groups)
	}

	// The decision reports the work and the early end of the searches for single
	// replicas.
	d.Evaluations += perKind.evaluations
	for k, c := range perKind.decisions {
		if c.Stopped != "" {
			d.Stopped = fmt.Sprintf("replica %d: %s", perKind.representatives[k], c.Stopped)
		}
	}
	return d, nil
}

// bundleGroups groups the bundles that must have equal numbers of circuits. A group joins
// the same two pods of replicas of the same two kinds.
func (sys *circuitSystem) bundleGroups(kindOf []int) [][]int {
	pods := sys.scenario.PodsPerReplica()
	var all [][]int
	groupOf := map[[4]int]int{}
	for e, b := range sys.optical.Bundles {
		// The key consists of the kind and the pod within the replica at both ends, in a
		// canonical order.
		from := [2]int{kindOf[int(b.A)/pods], int(b.A) % pods}
		to := [2]int{kindOf[int(b.B)/pods], int(b.B) % pods}
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

// raiseReadyTimes simulates a decision for this single replica. It raises ready, indexed
// by virtual stage and part of its gradients, to the times at which the replica's
// gradients are ready. It returns the time of the last one.
func (sys *circuitSystem) raiseReadyTimes(
	ctx context.Context, d *topology.Decision, ready [][]engine.Time,
) (engine.Time, error) {
	n, err := sys.optical.Provision(d.Circuits)
	if err != nil {
		return 0, err
	}
	// Simulate the iteration of this replica on the chosen topology.
	job := &composition.Job{Graph: sys.graph}
	options := flow.Options{Service: d.Service}
	decision := composition.NewRouteDecision(n, sys.optical.Routes, options)
	run, err := composition.Simulate(ctx, "flow", job, decision)
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

// mergeDecisions combines the decisions of all kinds into a topology of the whole job.
// The function grant returns the circuits of a bundle between two replicas, given the
// requests of the slowest replica and of the replicas at both ends. The slice yielding
// lists the bundles inside replicas other than the slowest one.
func (sys *circuitSystem) mergeDecisions(
	perKind *perKindDecision, grant func(slowest, a, b int) int,
) (x, yielding []int) {
	// Requested circuits, indexed by kind and pods of a replica. The diagonal holds the
	// circuits to DP peer pods.
	pods := sys.scenario.PodsPerReplica()
	requested := make([]map[[2]int32]int, len(perKind.systems))
	for k, single := range perKind.systems {
		requested[k] = map[[2]int32]int{}
		for e, b := range single.optical.Bundles {
			requested[k][[2]int32{b.A, b.B}] = perKind.decisions[k].Circuits[e]
		}
	}

	// Inside a replica, a bundle has the circuits that its kind requests. Between two
	// replicas, it has the circuits that the rule grants. Every bundle has at least one
	// circuit.
	slowest := requested[perKind.kindOf[perKind.slowest]]
	x = make([]int, len(sys.optical.Bundles))
	for e, b := range sys.optical.Bundles {
		// Replica, and pod within the replica, at both ends.
		replicaA, replicaB := int(b.A)/pods, int(b.B)/pods
		podA, podB := b.A%int32(pods), b.B%int32(pods)
		byA, byB := requested[perKind.kindOf[replicaA]], requested[perKind.kindOf[replicaB]]
		if replicaA == replicaB {
			x[e] = max(1, byA[[2]int32{podA, podB}])
			if replicaA != perKind.slowest {
				yielding = append(yielding, e)
			}
			continue
		}

		toPeerOfA, toPeerOfB := [2]int32{podA, podA}, [2]int32{podB, podB}
		bySlowest := max(slowest[toPeerOfA], slowest[toPeerOfB])
		x[e] = max(1, grant(bySlowest, byA[toPeerOfA], byB[toPeerOfB]))
	}
	return x, yielding
}
