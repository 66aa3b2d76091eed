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

// StepDims returns the dimensions of parallelism of a step, as its ranks are numbered.
func StepDims(w *training.Spec) []mapping.Dim {
	return []mapping.Dim{
		{Name: "tp", Size: w.TP}, {Name: "cp", Size: w.ContextRanks()}, {Name: "ep", Size: w.MicrobatchGroups()},
		{Name: "pp", Size: w.PP}, {Name: "dp", Size: w.Replicas()},
	}
}

// CanMixReplicas reports whether a mapping may have pods with stages of several replicas, which are then all simulated.
func (s *Scenario) CanMixReplicas() bool {
	return s.Mapping.IsSet() && s.Workload.Replicas() <= maxReplicasSearched
}

// stagesPerPod returns how many stages a pod takes.
func (s *Scenario) stagesPerPod() int { return s.Fabric.GPUsPerPodPerReplica / s.Workload.StageGPUs() }

// placeStages places stages by a mapping that needs no search. The text of the error is "what is wrong; want what would be
// right".
func (s *Scenario) placeStages(ctx context.Context, text string) (*input.StagePlacement, error) {
	w := &s.Workload.Spec
	p := &mapping.Problem{Files: s.Mapping.FileEndpoints(), Dims: StepDims(w)}
	for pod := range int32(w.Replicas() * s.PodsPerReplica()) {
		p.Slots = append(p.Slots, slices.Repeat([]int32{pod}, s.Fabric.GPUsPerPodPerReplica)...)
	}
	ranks, err := mapping.Place(ctx, text, p, mapping.Options{})
	if err != nil {
		return nil, err
	}
	gpus := w.StageGPUs()
	var pods []int32
	for first := 0; first < len(ranks.At); first += gpus {
		for _, pod := range ranks.At[first : first+gpus] {
			if pod != ranks.At[first] {
				return nil, fmt.Errorf("it has the %d GPUs of stage %d of replica %d in pods %d and %d, and what a stage exchanges stays in its pod; want tp, cp and ep before all others",
					gpus, len(pods)%w.PP+1, len(pods)/w.PP, ranks.At[first], pod)
			}
		}
		pods = append(pods, ranks.At[first])
	}
	return s.newStagePlacement(pods), nil
}

// newStagePlacement returns a placement of the stages of all replicas.
func (s *Scenario) newStagePlacement(pods []int32) *input.StagePlacement {
	placement, pp := &input.StagePlacement{Pods: mapping.Canonical(pods), IdenticalReplicas: true}, s.Workload.PP
	placement.PodNumbers = make([]int, slices.Max(placement.Pods)+1)
	for u, pod := range placement.Pods {
		placement.PodNumbers[pod] = int(pods[u])
	}
	for r := range s.Workload.Replicas() {
		for stage := range pp {
			placement.IdenticalReplicas = placement.IdenticalReplicas && placement.Pods[r*pp+stage] == placement.Pods[stage]+int32(r*s.PodsPerReplica())
		}
	}
	return placement
}

// visitNeighbours calls each with the stages, of all replicas, that exchange something.
func (s *Scenario) visitNeighbours(visit func(a, b int)) {
	w := &s.Workload.Spec
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

// CheckMappings holds the mappings of stages, or of the blocks of several jobs, against the pods and what they need. All
// other keys must be sound.
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

// checkPlacement reports why stages cannot be in the pods of a placement.
func (s *Scenario) checkPlacement(placement *input.StagePlacement) error {
	switch n := s.Workload.Replicas(); {
	case placement.IdenticalReplicas:
	case s.Workload.ReplicaMode == "single":
		return errors.New("its replicas share pods or differ in theirs, and replicas = \"single\" has one stand for all; want workload.replicas = \"all\"")
	case n > maxReplicasSearched && !s.NeedsAllReplicas():
		return fmt.Errorf("its %d replicas share pods or differ in theirs, and circuits are decided for at most %d together; want each replica in pods of its own, such as %s", n, maxReplicasSearched, mapping.Default)
	}
	neighbours := make(PodNeighbours, len(placement.PodNumbers))
	s.visitNeighbours(func(a, b int) { neighbours.Add(int(placement.Pods[a]), int(placement.Pods[b])) })
	if pod, n := neighbours.FirstAbove(s.Fabric.PortsPerPod); n > 0 {
		return fmt.Errorf("pod %d needs circuits to %d other pods, and U_p = %d; want a fabric.ports_per_pod of at least %d", placement.PodNumbers[pod], n, s.Fabric.PortsPerPod, n)
	}
	return nil
}

// buildMapped makes the instance of s with its stages where a mapping has them, beside that with stages in order, whose
// reference is the one of all mappings.
func buildMapped(ctx context.Context, s *Scenario) (*circuitSystem, error) {
	inOrder, err := buildInPods(ctx, s, nil)
	if err != nil {
		return nil, err
	}
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

// addMappingMetrics adds what a mapping of stages to pods comes to.
func (sys *circuitSystem) addMappingMetrics(row *result.Row) {
	z := sys.scenario.Stages
	if z == nil {
		return
	}
	sum := 0.0
	for i := range sys.graph.Tasks {
		if t := &sys.graph.Tasks[i]; sys.isInterPod(int32(i)) {
			sum += float64(t.Bytes) * sys.mirrorFactor(t)
		}
	}
	row.Metrics["inter_pod_bytes"] = sum * float64(max(1, sys.pods.Copies))
	if f := z.Search; f != nil {
		row.Metrics["mapping_evaluations"], row.Metrics["bound_mapping_s"] = float64(f.Trials), engine.Time(f.Bound).Seconds()
		if end, ended := row.Metrics[sys.endMetric()]; ended && f.Bound > 0 {
			row.Metrics["gap_mapping"] = max(0, end/engine.Time(f.Bound).Seconds()-1)
		}
	}
}

// searchStages looks for the placement of stages in pods that is best under the first allocator: of the stages of all
// replicas, or where one stands for all, or there are too many, of its own.
func (s *Scenario) searchStages(ctx context.Context) (*input.StagePlacement, error) {
	w := &s.Workload.Spec
	replicas := w.Replicas()
	if s.Workload.ReplicaMode == "single" || replicas > maxReplicasSearched && !s.NeedsAllReplicas() {
		replicas = 1
	}
	evaluator, err := newStageEvaluator(ctx, s, replicas)
	if err != nil {
		return nil, err
	}
	g := &mapping.Grouping{
		Units: replicas * w.PP, Pods: replicas * s.PodsPerReplica(), Fits: evaluator.fits, Symmetries: rotations(replicas, w.PP),
		Bound: evaluator.lowerBound, Guess: evaluator.estimate, Value: evaluator.evaluate,
	}
	visited := map[string]bool{}
	for _, order := range mapping.Orders(StepDims(w)) {
		if p, err := s.placeStages(ctx, order); err == nil && (replicas > 1 || p.IdenticalReplicas) && !visited[fmt.Sprint(p.Pods)] {
			visited[fmt.Sprint(p.Pods)] = true
			g.Starts = append(g.Starts, p.Pods[:g.Units])
		}
	}
	best, err := g.Search(ctx, mapping.Options{Trials: s.Mapping.Trials, Seed: s.Seed})
	if err == nil {
		err = g.Settle(ctx, best) // which finds the order of the best, and none worse than the orders
	}
	if err != nil {
		return nil, err
	}
	if math.IsInf(best.Value, 1) {
		return nil, fmt.Errorf("%w: in none of %d placements of stages", topology.ErrPorts, best.Trials)
	}
	pods := slices.Clone(best.At)
	for r := replicas; r < w.Replicas(); r++ { // as the first
		for _, pod := range best.At {
			pods = append(pods, pod+int32(r*s.PodsPerReplica()))
		}
	}
	out := s.newStagePlacement(pods)
	for i := range out.PodNumbers {
		out.PodNumbers[i] = i
	}
	out.Search = best
	return out, nil
}

// rotations returns the permutations of the stages of all replicas that take each replica to another such that
// neighbours on the ring remain neighbours, but for the one that changes nothing.
func rotations(replicas, pp int) (all [][]int32) {
	for turn := range replicas {
		for _, step := range []int{1, -1} {
			if turn == 0 && step == 1 || replicas < 3 && step < 0 {
				continue
			}
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

// stageEvaluator evaluates placements of stages in pods.
type stageEvaluator struct {
	scenario   *Scenario
	iteration  *training.Iteration // of all replicas, or of one for all
	layout     training.Layout
	policy     topology.Policy
	separate   *circuitSystem // with each stage in a pod of its own: whatever may go between pods does
	taskStages [][2]int32     // stages at the ends of its reduced tasks, -1 of none
}

func newStageEvaluator(ctx context.Context, s *Scenario, replicas int) (*stageEvaluator, error) {
	one := *s
	x := one.BuildOptions()
	if x.All != (replicas > 1) {
		if x.All = replicas > 1; x.All && x.ComputeScale == nil {
			x.ComputeScale = slices.Repeat([]float64{1}, replicas)
		}
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
	evaluator.layout = s.jobLayout(x.All)
	separate := evaluator.layout
	separate.GPUsPerPod, separate.StagePods, separate.Replicas = s.Workload.StageGPUs(), nil, slices.Clone(separate.Replicas)
	for r := range separate.Replicas {
		separate.Replicas[r].PodMap = nil
	}
	if evaluator.separate, err = evaluator.place(separate); err != nil {
		return nil, err
	}
	pp := int32(s.Workload.PP)
	node := func(n int32) int32 {
		return int32(evaluator.iteration.Nodes[n].Replica)*pp + int32(evaluator.iteration.Nodes[n].Stage)
	}
	for i := range evaluator.separate.interPodGraph.Tasks {
		t, ends := &evaluator.separate.interPodGraph.Tasks[i], [2]int32{-1, -1}
		if evaluator.separate.pods.IsInterPod(t) {
			ends = [2]int32{node(t.Src), node(t.Dst)}
		}
		evaluator.taskStages = append(evaluator.taskStages, ends)
	}
	return evaluator, nil
}

// place places the iteration without leaving anything to decide.
func (z *stageEvaluator) place(l training.Layout) (sys *circuitSystem, err error) {
	sys = &circuitSystem{scenario: z.scenario, graph: z.iteration.Graph, iteration: z.iteration}
	if sys.pods, err = z.iteration.Place(l); err != nil {
		return nil, err
	}
	sys.interPodGraph, sys.origin, err = sys.pods.Reduce(sys.graph, nil)
	return sys, err
}

// fits reports whether a stage has room in a pod.
func (z *stageEvaluator) fits(pods []int32, _, pod int32) bool {
	n := 0
	for _, p := range pods {
		if p == pod {
			n++
		}
	}
	return n < z.scenario.stagesPerPod()
}

// lowerBound is one on iterations whose stages are where at has them, on whatever circuits: what goes between pods that are
// known to differ takes as long as the network interfaces need for it, shared in the best way, and all else no time.
func (z *stageEvaluator) lowerBound(ctx context.Context, pods []int32) (float64, error) {
	sys := z.separate
	n := &engine.Network{Nodes: int32(len(sys.pods.Nodes)), Groups: sys.pods.Groups()}
	isFull := make([]bool, z.iteration.Spec.PP*len(z.iteration.GradientsReady))
	for _, pod := range pods {
		if pod >= 0 && !isFull[pod] {
			isFull[pod] = !z.fits(pods, 0, pod)
		}
	}
	areSeparate := func(a, b int32) bool {
		switch x, y := pods[a], pods[b]; {
		case a == b, x >= 0 && y >= 0:
			return a == b || x != y // of one replica for all its peers are in other pods
		case x >= 0:
			return isFull[x]
		case y >= 0:
			return isFull[y]
		}
		return z.scenario.stagesPerPod() == 1
	}
	r := engine.NewRoutes(len(z.taskStages), func(uses []engine.Use, i int32) []engine.Use {
		if e := z.taskStages[i]; e[0] >= 0 && areSeparate(e[0], e[1]) {
			t := &sys.interPodGraph.Tasks[i]
			uses = sys.pods.Interfaces(uses, n.GroupResource(0), t.Src, t.Dst)
		}
		return uses
	})
	e, err := flow.NewEvaluator(sys.interPodGraph, n, r, flow.LevelPriority)
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

// newProblem is what allocators decide on for a placement.
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

// ignoreInfeasible is nil of an error that says that a placement cannot be had: there are too few ports, or jobs cannot meet.
func ignoreInfeasible(err error) error {
	if errors.Is(err, topology.ErrPorts) || errors.Is(err, topology.ErrShared) {
		return nil
	}
	return err
}

// estimate is the best iteration of simple rules.
func (z *stageEvaluator) estimate(ctx context.Context, pods []int32) (float64, error) {
	p, err := z.newProblem(mapping.Canonical(pods))
	if err != nil {
		return math.Inf(1), ignoreInfeasible(err)
	}
	return float64(p.EstimateMakespan(ctx)), ctx.Err()
}

// evaluate is the iteration on the circuits that the allocator chooses, with what it knows of all circuits.
func (z *stageEvaluator) evaluate(ctx context.Context, pods []int32, thorough bool) (value, bound float64, err error) {
	p, err := z.newProblem(mapping.Canonical(pods))
	if err != nil {
		return math.Inf(1), math.Inf(1), ignoreInfeasible(err)
	}
	o := z.scenario.allocatorOptions(1)
	if p.Brief = !thorough; p.Brief {
		o = o.Brief()
	}
	o.Tails = z.separate.canUseTails()
	d, err := z.policy.Choose(ctx, p, o)
	if err != nil {
		return 0, 0, err
	}
	if d.BoundModel == topology.AnyService {
		bound = float64(d.Bound)
	}
	return float64(d.Makespan), bound, nil
}
