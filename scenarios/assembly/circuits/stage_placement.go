// This file places the stages of a training step in pods: by a mapping of ranks, or by a
// search for the placement with the shortest iteration. A placement holds the pod of each
// stage of all replicas.

package circuits

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/mapping"
	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/input"
	"sim/scenarios/result"
	"sim/scenarios/schema"
	"sim/workloads/training"
)

// StepDims returns the dimensions of parallelism of a training step, in the order in
// which its ranks are numbered.
func StepDims(w *training.Spec) []mapping.Dim {
	return []mapping.Dim{
		{Name: "tp", Size: w.TP},
		{Name: "cp", Size: w.ContextRanks()},
		{Name: "ep", Size: w.MicrobatchGroups()},
		{Name: "pp", Size: w.PP},
		{Name: "dp", Size: w.Replicas()},
	}
}

// CanMixReplicas reports whether a mapping may place stages of several replicas in one
// pod. All replicas are then simulated.
func (s *Scenario) CanMixReplicas() bool {
	return s.Mapping.IsSet() && s.Workload.Replicas() <= maxReplicasSearched
}

// stagesPerPod returns the number of stages that fit a pod.
func (s *Scenario) stagesPerPod() int {
	return s.Fabric.GPUsPerPodPerReplica / s.Workload.StageGPUs()
}

// placeStages places stages by a mapping that needs no search. Its errors have the form
// "problem; want remedy".
func (s *Scenario) placeStages(ctx context.Context, text string) (*input.StagePlacement, error) {
	w := &s.Workload.Spec
	// Every GPU of a pod is a slot for one rank.
	p := &mapping.Problem{Files: s.Mapping.FileEndpoints(), Dims: StepDims(w)}
	for pod := range int32(w.Replicas() * s.PodsPerReplica()) {
		p.Slots = append(p.Slots, slices.Repeat([]int32{pod}, s.Fabric.GPUsPerPodPerReplica)...)
	}
	ranks, err := mapping.Place(ctx, text, p, mapping.Options{})
	if err != nil {
		return nil, err
	}

	// The ranks of a stage follow each other and must be in one pod.
	gpus := w.StageGPUs()
	var pods []int32
	for first := 0; first < len(ranks.At); first += gpus {
		for _, pod := range ranks.At[first : first+gpus] {
			if pod != ranks.At[first] {
				return nil, fmt.Errorf("it has the %d GPUs of stage %d of replica %d in pods %d and %d, "+
					"but a stage must be in one pod; want tp, cp and ep before all others",
					gpus, len(pods)%w.PP+1, len(pods)/w.PP, ranks.At[first], pod)
			}
		}
		pods = append(pods, ranks.At[first])
	}
	return s.newStagePlacement(pods), nil
}

// newStagePlacement returns the placement of the stages of all replicas in the given
// pods, indexed by stage, replica after replica.
func (s *Scenario) newStagePlacement(pods []int32) *input.StagePlacement {
	placement := &input.StagePlacement{Pods: mapping.Canonical(pods), IdenticalReplicas: true}
	// PodNumbers keeps the numbers that the mapping gave, for messages and names.
	placement.PodNumbers = make([]int, slices.Max(placement.Pods)+1)
	for u, pod := range placement.Pods {
		placement.PodNumbers[pod] = int(pods[u])
	}

	// Replicas are identical if replica r has the pods of replica 0, shifted by the pods
	// of r replicas.
	pp := s.Workload.PP
	for r := range s.Workload.Replicas() {
		offset := int32(r * s.PodsPerReplica())
		for stage := range pp {
			if placement.Pods[r*pp+stage] != placement.Pods[stage]+offset {
				placement.IdenticalReplicas = false
			}
		}
	}
	return placement
}

// visitNeighbours calls visit with each pair of stages, of all replicas, that exchange
// data.
func (s *Scenario) visitNeighbours(visit func(a, b int)) {
	w := &s.Workload.Spec
	// Neighbours of the pipeline, and equal stages of neighbouring replicas on the ring
	// of replicas.
	for r := range w.Replicas() {
		for _, pair := range w.Neighbours() {
			visit(r*w.PP+pair[0], r*w.PP+pair[1])
		}
		for stage := range w.PP {
			if next := (r + 1) % w.Replicas(); next != r {
				visit(r*w.PP+stage, next*w.PP+stage)
			}
		}
	}
}

// CheckMappings rejects mappings of stages, or of the blocks of several jobs, that do not
// fit the pods. All other keys must be valid.
func CheckMappings(c *schema.Reader, s *Scenario) {
	assembly.CheckMappings(c, &s.Mapping, func(text string) error {
		if len(s.Jobs) > 0 {
			_, err := s.parseJobPlacement(text)
			return err
		}
		placement, err := s.placeStages(context.Background(), text)
		if err == nil {
			err = s.checkPlacement(placement)
		}
		return err
	})
}

// checkPlacement returns an error if a placement of stages cannot be simulated: a single
// replica cannot stand for all, too many different replicas would share one search, or a
// pod has fewer ports than pods that it exchanges data with.
func (s *Scenario) checkPlacement(placement *input.StagePlacement) error {
	switch n := s.Workload.Replicas(); {
	case placement.IdenticalReplicas:
	case s.Workload.ReplicaMode == "single":
		return errors.New("its replicas share pods or have different placements, so that none " +
			"can stand for all; want workload.replicas = \"all\"")
	case n > maxReplicasSearched && !s.NeedsAllReplicas():
		return fmt.Errorf("its %d replicas share pods or have different placements, which is "+
			"possible for at most %d replicas; want each replica in pods of its own, such as %s",
			n, maxReplicasSearched, mapping.Default)
	}

	// A pod needs a circuit, and thus a port, to every pod that it exchanges data with.
	neighbours := make(PodNeighbours, len(placement.PodNumbers))
	s.visitNeighbours(func(a, b int) {
		neighbours.Add(int(placement.Pods[a]), int(placement.Pods[b]))
	})
	if pod, n := neighbours.FirstAbove(s.Fabric.PortsPerPod); n > 0 {
		return fmt.Errorf("pod %d needs circuits to %d other pods, and U_p = %d; "+
			"want a fabric.ports_per_pod of at least %d",
			placement.PodNumbers[pod], n, s.Fabric.PortsPerPod, n)
	}
	return nil
}

// buildMapped builds the system of a training step whose stages are placed by a mapping.
// Its reference is the reference of the system with stages in order, so that mappings can
// be compared.
func buildMapped(ctx context.Context, s *Scenario) (*circuitSystem, error) {
	inOrder, err := buildTraining(ctx, s)
	if err != nil {
		return nil, err
	}

	// The mapped scenario has the same work. Only the pods of its stages differ.
	mapped := *s
	if mapping.IsSearch(s.Mapping.Mapping) {
		mapped.Stages, err = s.searchStages(ctx)
	} else {
		mapped.Stages, err = s.placeStages(ctx, s.Mapping.Mapping)
	}
	if err != nil {
		return nil, err
	}

	x := mapped.BuildOptions()
	sys, err := buildIteration(ctx, &mapped, s.Workload.Spec, x, mapped.jobLayout(x.All))
	if err != nil {
		return nil, err
	}
	sys.inOrder, sys.IdealReference = inOrder, inOrder.IdealReference
	return sys, sys.defineProblem(ctx)
}

// addMappingMetrics adds the metrics of a mapping of stages to pods: the bytes between
// pods, and the effort and the bound of the search for the mapping.
func (sys *circuitSystem) addMappingMetrics(row *result.Row) {
	z := sys.scenario.Stages
	if z == nil {
		return
	}

	// Bytes between pods, summed over all replicas that the graph represents.
	sum := 0.0
	for i := range sys.graph.Tasks {
		if t := &sys.graph.Tasks[i]; sys.isInterPod(int32(i)) {
			sum += float64(t.Bytes) * sys.mirrorFactor(t)
		}
	}
	row.Metrics["inter_pod_bytes"] = sum * float64(max(1, sys.pods.Copies))

	// The bound of the search holds for all placements under any topology.
	if f := z.Search; f != nil {
		bound := engine.Time(f.Bound).Seconds()
		row.Metrics["mapping_evaluations"], row.Metrics["bound_mapping_s"] = float64(f.Trials), bound
		if end, ended := row.Metrics[sys.endMetric()]; ended && f.Bound > 0 {
			row.Metrics["gap_mapping"] = max(0, end/bound-1)
		}
	}
}

// searchStages searches for the best placement of stages under the first allocator. It
// places the stages of all replicas. If a single replica stands for all, or replicas are
// too many, it places the stages of one replica, and all others follow it in pods of
// their own.
func (s *Scenario) searchStages(ctx context.Context) (*input.StagePlacement, error) {
	w := &s.Workload.Spec
	replicas := w.Replicas()
	isTooMany := replicas > maxReplicasSearched && !s.NeedsAllReplicas()
	if s.Workload.ReplicaMode == "single" || isTooMany {
		replicas = 1
	}
	evaluator, err := newStageEvaluator(ctx, s, replicas)
	if err != nil {
		return nil, err
	}
	g := &mapping.Grouping{
		Units: replicas * w.PP,
		Pods:  replicas * s.PodsPerReplica(),
		Fits:  evaluator.fits,
		// Placements that rotate or reflect the ring of replicas are equivalent.
		Symmetries: rotations(replicas, w.PP),
		Bound:      evaluator.lowerBound,
		Guess:      evaluator.estimate,
		Value:      evaluator.evaluate,
	}

	// The search starts from the different placements by orders of dimensions.
	visited := map[string]bool{}
	for _, order := range mapping.Orders(StepDims(w)) {
		p, err := s.placeStages(ctx, order)
		if err != nil || replicas == 1 && !p.IdenticalReplicas || visited[fmt.Sprint(p.Pods)] {
			continue
		}
		visited[fmt.Sprint(p.Pods)] = true
		g.Starts = append(g.Starts, p.Pods[:g.Units])
	}
	best, err := g.Search(ctx, mapping.Options{Trials: s.Mapping.Trials, Seed: s.Seed})
	if err == nil {
		// Settle evaluates the best placements thoroughly, with the starts among them.
		err = g.Settle(ctx, best)
	}
	if err != nil {
		return nil, err
	}
	if math.IsInf(best.Value, 1) {
		return nil, fmt.Errorf("%w: in none of %d placements of stages", topology.ErrPorts, best.Trials)
	}

	// Replicas that were not placed follow the first one.
	pods := slices.Clone(best.At)
	for r := replicas; r < w.Replicas(); r++ {
		for _, pod := range best.At {
			pods = append(pods, pod+int32(r*s.PodsPerReplica()))
		}
	}
	// A search numbers the pods itself, in the order in which stages name them.
	out := s.newStagePlacement(pods)
	for i := range out.PodNumbers {
		out.PodNumbers[i] = i
	}
	out.Search = best
	return out, nil
}

// rotations returns the permutations of stages that rotate or reflect the ring of
// replicas, except for the identity. Entry i of a permutation is the image of stage i,
// counted over all replicas.
func rotations(replicas, pp int) (all [][]int32) {
	for turn := range replicas {
		for _, step := range []int{1, -1} {
			// Rings of one or two replicas equal their reflections.
			if turn == 0 && step == 1 || replicas < 3 && step < 0 {
				continue
			}
			// Replica r moves to turn+r, or to turn-r in a reflection.
			var image []int32
			for r := range replicas {
				to := ((turn+step*r)%replicas + replicas) % replicas
				for stage := range pp {
					image = append(image, int32(to*pp+stage))
				}
			}
			all = append(all, image)
		}
	}
	return all
}

// stageEvaluator evaluates placements of stages for mapping.Grouping. A placement holds
// the pod of each stage, or -1 if the stage is not placed yet.
type stageEvaluator struct {
	scenario  *Scenario
	iteration *training.Iteration // of all replicas, or of one that stands for all
	layout    training.Layout
	policy    topology.Policy // the first allocator of the scenario

	// separate has one pod per stage. Its inter-pod DAG contains every transfer that may
	// be between pods. taskStages holds the stages at both ends of each of its tasks, and
	// -1 for other tasks.
	separate   *circuitSystem
	taskStages [][2]int32
}

// newStageEvaluator builds the iteration of the given number of replicas and its separate
// system.
func newStageEvaluator(ctx context.Context, s *Scenario, replicas int) (*stageEvaluator, error) {
	// Build the requested number of replicas, whatever the scenario would simulate.
	x := s.BuildOptions()
	x.All = replicas > 1
	if x.All && x.ComputeScale == nil {
		x.ComputeScale = slices.Repeat([]float64{1}, replicas)
	}
	evaluator := &stageEvaluator{scenario: s}
	row, err := topology.Find(s.Policy.Allocators[0])
	if err != nil {
		return nil, err
	}
	evaluator.policy = row.Policy
	if evaluator.iteration, err = training.Build(s.Workload.Spec, x); err == nil {
		_, err = s.PassExtension.Lengthen(ctx, evaluator.iteration)
		err = assembly.ContextErrorOr(ctx, err)
	}
	if err != nil {
		return nil, err
	}

	// In the separate layout, a pod holds exactly the GPUs of one stage.
	evaluator.layout = s.jobLayout(x.All)
	layout := evaluator.layout
	layout.GPUsPerPod = s.Workload.StageGPUs()
	layout.StagePods = nil
	layout.Replicas = slices.Clone(layout.Replicas)
	for r := range layout.Replicas {
		layout.Replicas[r].PodMap = nil
	}
	separate, err := evaluator.place(layout)
	if err != nil {
		return nil, err
	}
	evaluator.separate = separate

	pp := int32(s.Workload.PP)
	// Stages are numbered over all replicas: replica x PP + stage.
	stageOf := func(node int32) int32 {
		n := &evaluator.iteration.Nodes[node]
		return int32(n.Replica)*pp + int32(n.Stage)
	}
	for i := range separate.interPodGraph.Tasks {
		t, ends := &separate.interPodGraph.Tasks[i], [2]int32{-1, -1}
		if separate.pods.IsInterPod(t) {
			ends = [2]int32{stageOf(t.Src), stageOf(t.Dst)}
		}
		evaluator.taskStages = append(evaluator.taskStages, ends)
	}
	return evaluator, nil
}

// place returns the system of a layout, with its inter-pod DAG but without circuits and
// problem.
func (z *stageEvaluator) place(l training.Layout) (sys *circuitSystem, err error) {
	sys = &circuitSystem{scenario: z.scenario, graph: z.iteration.Graph, iteration: z.iteration}
	if sys.pods, err = z.iteration.Place(l); err != nil {
		return nil, err
	}
	var mergeNone []engine.Time // no transfer inside a pod is merged
	sys.interPodGraph, sys.origin, err = sys.pods.Reduce(sys.graph, mergeNone)
	return sys, err
}

// fits reports whether one more stage fits a pod. It implements mapping.Grouping.Fits. The
// second argument, the stage, is ignored because all stages have equal numbers of GPUs.
func (z *stageEvaluator) fits(pods []int32, _, pod int32) bool {
	n := 0
	for _, p := range pods {
		if p == pod {
			n++
		}
	}
	return n < z.scenario.stagesPerPod()
}

// lowerBound returns a lower bound on the iteration time of every placement that contains
// the given partial one, under any topology. In the relaxation, transfers between pods
// that are known to differ use only their network interfaces, shared optimally. All other
// transfers take no time. For complete placements the bound of their topology problem
// also counts.
func (z *stageEvaluator) lowerBound(ctx context.Context, pods []int32) (float64, error) {
	sys := z.separate
	// A pod that is full cannot hold any stage that is not placed yet.
	isFull := make([]bool, z.iteration.Spec.PP*len(z.iteration.GradientsReady))
	for _, pod := range pods {
		if pod >= 0 && !isFull[pod] {
			const anyStage = 0 // all stages have equal numbers of GPUs
			isFull[pod] = !z.fits(pods, anyStage, pod)
		}
	}
	// areSeparate reports whether two stages are in different pods in every such
	// placement.
	areSeparate := func(a, b int32) bool {
		switch x, y := pods[a], pods[b]; {
		case a == b:
			// The DP peers of a replica that stands for all are in other pods.
			return true
		case x >= 0 && y >= 0:
			return x != y
		case x >= 0:
			return isFull[x]
		case y >= 0:
			return isFull[y]
		}
		// Neither stage is placed. They share a pod unless pods hold one stage.
		return z.scenario.stagesPerPod() == 1
	}

	n := &engine.Network{Nodes: int32(len(sys.pods.Nodes)), Groups: sys.pods.Groups()}
	// A transfer uses the network interfaces of both ends, but no bundle.
	addUses := func(uses []engine.Use, i int32) []engine.Use {
		if e := z.taskStages[i]; e[0] >= 0 && areSeparate(e[0], e[1]) {
			t := &sys.interPodGraph.Tasks[i]
			uses = sys.pods.Interfaces(uses, n.GroupResource(firstGroup), t.Src, t.Dst)
		}
		return uses
	}
	routes := engine.NewRoutes(len(z.taskStages), addUses)
	e, err := flow.NewEvaluator(sys.interPodGraph, n, routes, flow.LevelPriority)
	if err != nil {
		return 0, err
	}
	e.SetContext(ctx)
	bound := e.Bound()

	if !slices.Contains(pods, -1) {
		p, err := z.newProblem(pods)
		if err != nil {
			return math.Inf(1), ignoreInfeasible(err)
		}
		bound = max(bound, p.QuickBound(ctx))
	}
	return float64(bound), ctx.Err()
}

// newProblem returns the topology problem of a placement.
func (z *stageEvaluator) newProblem(pods []int32) (*topology.Problem, error) {
	l := z.layout
	l.StagePods = pods
	sys, err := z.place(l)
	if err != nil {
		return nil, err
	}
	o, err := sys.pods.Connect(sys.interPodGraph)
	if err != nil {
		return nil, err
	}
	return topology.NewProblem(sys.interPodGraph, o)
}

// ignoreInfeasible returns nil if an error reports an infeasible placement: ports do not
// suffice, or jobs cannot share their pods. It returns other errors unchanged.
func ignoreInfeasible(err error) error {
	if errors.Is(err, topology.ErrPorts) || errors.Is(err, topology.ErrShared) {
		return nil
	}
	return err
}

// estimate returns the minimum iteration time of simple topologies.
func (z *stageEvaluator) estimate(ctx context.Context, pods []int32) (float64, error) {
	p, err := z.newProblem(mapping.Canonical(pods))
	if err != nil {
		return math.Inf(1), ignoreInfeasible(err)
	}
	return float64(p.EstimateMakespan(ctx)), ctx.Err()
}

// evaluate returns the iteration time on the topology that the allocator chooses, and a
// lower bound for all topologies; 0 if the allocator computes none. If thorough is false,
// the allocator has a small budget.
func (z *stageEvaluator) evaluate(
	ctx context.Context, pods []int32, thorough bool,
) (value, bound float64, err error) {
	p, err := z.newProblem(mapping.Canonical(pods))
	if err != nil {
		return math.Inf(1), math.Inf(1), ignoreInfeasible(err)
	}
	// Evaluations run one after the other. A brief one uses a fraction of the budget of
	// the allocator.
	const workers = 1
	o := z.scenario.allocatorOptions(workers)
	if p.Brief = !thorough; p.Brief {
		o = o.Brief()
	}
	o.Tails = z.separate.canUseTails()

	d, err := z.policy.Choose(ctx, p, o)
	if err != nil {
		return 0, 0, err
	}
	// Bounds that hold only under one service do not bound other decisions.
	if d.BoundModel == topology.AnyService {
		bound = float64(d.Bound)
	}
	return float64(d.Makespan), bound, nil
}
