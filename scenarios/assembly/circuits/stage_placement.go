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

// Dims returns the dimensions of parallelism of a step, as its ranks are numbered.
func Dims(w *training.Spec) []mapping.Dim {
	return []mapping.Dim{
		{Name: "tp", Size: w.TP}, {Name: "cp", Size: w.ContextRanks()}, {Name: "ep", Size: w.MicrobatchGroups()},
		{Name: "pp", Size: w.PP}, {Name: "dp", Size: w.Replicas()},
	}
}

// Mixes reports whether a mapping may have pods with stages of several replicas, which are then all simulated.
func (s *Scenario) Mixes() bool { return s.Mapping.IsSet() && s.Workload.Replicas() <= mostTogether }

// room returns how many stages a pod takes.
func (s *Scenario) room() int { return s.Fabric.GPUsPerPodPerReplica / s.Workload.StageGPUs() }

// inPods places stages by a mapping that needs no search. The text of the error is "what is wrong; want what would be
// right".
func (s *Scenario) inPods(ctx context.Context, text string) (*input.StagePlacement, error) {
	w := &s.Workload.Spec
	p := &mapping.Problem{Files: s.Mapping.FileEndpoints(), Dims: Dims(w)}
	for pod := range int32(w.Replicas() * s.PodsPerReplica()) {
		p.Slots = append(p.Slots, slices.Repeat([]int32{pod}, s.Fabric.GPUsPerPodPerReplica)...)
	}
	ranks, err := mapping.Place(ctx, text, p, mapping.Options{})
	if err != nil {
		return nil, err
	}
	gpus := w.StageGPUs()
	var at []int32
	for first := 0; first < len(ranks.At); first += gpus {
		for _, pod := range ranks.At[first : first+gpus] {
			if pod != ranks.At[first] {
				return nil, fmt.Errorf("it has the %d GPUs of stage %d of replica %d in pods %d and %d, and what a stage exchanges stays in its pod; want tp, cp and ep before all others",
					gpus, len(at)%w.PP+1, len(at)/w.PP, ranks.At[first], pod)
			}
		}
		at = append(at, ranks.At[first])
	}
	return s.newInPods(at), nil
}

// newInPods returns a placement of the stages of all replicas.
func (s *Scenario) newInPods(at []int32) *input.StagePlacement {
	z, pp := &input.StagePlacement{Pods: mapping.Canonical(at), IdenticalReplicas: true}, s.Workload.PP
	z.PodNumbers = make([]int, slices.Max(z.Pods)+1)
	for u, pod := range z.Pods {
		z.PodNumbers[pod] = int(at[u])
	}
	for r := range s.Workload.Replicas() {
		for stage := range pp {
			z.IdenticalReplicas = z.IdenticalReplicas && z.Pods[r*pp+stage] == z.Pods[stage]+int32(r*s.PodsPerReplica())
		}
	}
	return z
}

// neighbours calls each with the stages, of all replicas, that exchange something.
func (s *Scenario) neighbours(each func(a, b int)) {
	w := &s.Workload.Spec
	for r := range w.Replicas() {
		for _, pair := range w.Neighbours() {
			each(r*w.PP+pair[0], r*w.PP+pair[1])
		}
		for stage := range w.PP {
			if next := (r + 1) % w.Replicas(); next != r {
				each(r*w.PP+stage, next*w.PP+stage)
			}
		}
	}
}

// CheckMappings holds the mappings of stages, or of the blocks of several jobs, against the pods and what they need. All
// other keys must be sound.
func CheckMappings(c *schema.Reader, s *Scenario) {
	assembly.CheckMappings(c, &s.Mapping, func(text string) error {
		if len(s.Jobs) > 0 {
			_, err := s.jobsListed(text)
			return err
		}
		z, err := s.inPods(context.Background(), text)
		if err == nil {
			err = s.suits(z)
		}
		return err
	})
}

// suits reports why stages cannot be in the pods of a placement.
func (s *Scenario) suits(z *input.StagePlacement) error {
	switch n := s.Workload.Replicas(); {
	case z.IdenticalReplicas:
	case s.Workload.ReplicaMode == "single":
		return errors.New("its replicas share pods or differ in theirs, and replicas = \"single\" has one stand for all; want workload.replicas = \"all\"")
	case n > mostTogether && !s.Whole():
		return fmt.Errorf("its %d replicas share pods or differ in theirs, and circuits are decided for at most %d together; want each replica in pods of its own, such as %s", n, mostTogether, mapping.Default)
	}
	joined := make(Joined, len(z.PodNumbers))
	s.neighbours(func(a, b int) { joined.Join(int(z.Pods[a]), int(z.Pods[b])) })
	if pod, n := joined.Beyond(s.Fabric.PortsPerPod); n > 0 {
		return fmt.Errorf("pod %d needs circuits to %d other pods, and U_p = %d; want a fabric.ports_per_pod of at least %d", z.PodNumbers[pod], n, s.Fabric.PortsPerPod, n)
	}
	return nil
}

// buildPlaced makes the instance of s with its stages where a mapping has them, beside that with stages in order, whose
// reference is the one of all mappings.
func buildPlaced(ctx context.Context, s *Scenario) (*instance, error) {
	usual, err := buildIn(ctx, s, nil)
	if err != nil {
		return nil, err
	}
	one := *s
	if mapping.IsSearch(s.Mapping.Mapping) {
		one.Stages, err = s.search(ctx)
	} else {
		one.Stages, err = s.inPods(ctx, s.Mapping.Mapping)
	}
	if err != nil {
		return nil, err
	}
	x := one.Extent()
	in, err := place(ctx, &one, s.Workload.Spec, x, one.layoutOf(x.All))
	if err != nil {
		return nil, err
	}
	in.usual, in.IdealReference = usual, usual.IdealReference
	return in, in.open(ctx)
}

// measureStages adds what a mapping of stages to pods comes to.
func (in *instance) measureStages(row *result.Row) {
	z := in.s.Stages
	if z == nil {
		return
	}
	sum := 0.0
	for i := range in.graph.Tasks {
		if t := &in.graph.Tasks[i]; in.crosses(int32(i)) {
			sum += float64(t.Bytes) * in.mirrored(t)
		}
	}
	row.Metrics["inter_pod_bytes"] = sum * float64(max(1, in.pods.Copies))
	if f := z.Search; f != nil {
		row.Metrics["mapping_evaluations"], row.Metrics["bound_mapping_s"] = float64(f.Trials), engine.Time(f.Bound).Seconds()
		if end, ended := row.Metrics[in.end()]; ended && f.Bound > 0 {
			row.Metrics["gap_mapping"] = max(0, end/engine.Time(f.Bound).Seconds()-1)
		}
	}
}

// search looks for the placement of stages in pods that is best under the first allocator: of the stages of all
// replicas, or where one stands for all, or there are too many, of its own.
func (s *Scenario) search(ctx context.Context) (*input.StagePlacement, error) {
	w := &s.Workload.Spec
	replicas := w.Replicas()
	if s.Workload.ReplicaMode == "single" || replicas > mostTogether && !s.Whole() {
		replicas = 1
	}
	z, err := newStages(ctx, s, replicas)
	if err != nil {
		return nil, err
	}
	g := &mapping.Grouping{
		Units: replicas * w.PP, Pods: replicas * s.PodsPerReplica(), Fits: z.fits, Symmetries: rotations(replicas, w.PP),
		Bound: z.bound, Guess: z.guess, Value: z.value,
	}
	seen := map[string]bool{}
	for _, order := range mapping.Orders(Dims(w)) {
		if p, err := s.inPods(ctx, order); err == nil && (replicas > 1 || p.IdenticalReplicas) && !seen[fmt.Sprint(p.Pods)] {
			seen[fmt.Sprint(p.Pods)] = true
			g.Starts = append(g.Starts, p.Pods[:g.Units])
		}
	}
	found, err := g.Search(ctx, mapping.Options{Trials: s.Mapping.Trials, Seed: s.Seed})
	if err == nil {
		err = g.Settle(ctx, found) // which finds the order of the best, and none worse than the orders
	}
	if err != nil {
		return nil, err
	}
	if math.IsInf(found.Value, 1) {
		return nil, fmt.Errorf("%w: in none of %d placements of stages", topology.ErrPorts, found.Trials)
	}
	at := slices.Clone(found.At)
	for r := replicas; r < w.Replicas(); r++ { // as the first
		for _, pod := range found.At {
			at = append(at, pod+int32(r*s.PodsPerReplica()))
		}
	}
	out := s.newInPods(at)
	for i := range out.PodNumbers {
		out.PodNumbers[i] = i
	}
	out.Search = found
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

// stages evaluates placements of stages in pods.
type stages struct {
	s      *Scenario
	it     *training.Iteration // of all replicas, or of one for all
	layout training.Layout
	policy topology.Policy
	open   *instance  // with each stage in a pod of its own: whatever may go between pods does
	ends   [][2]int32 // stages at the ends of its reduced tasks, -1 of none
}

func newStages(ctx context.Context, s *Scenario, replicas int) (*stages, error) {
	one := *s
	x := one.Extent()
	if x.All != (replicas > 1) {
		if x.All = replicas > 1; x.All && x.ComputeScale == nil {
			x.ComputeScale = slices.Repeat([]float64{1}, replicas)
		}
	}
	z := &stages{s: s}
	row, err := topology.Find(s.Policy.Allocators[0])
	if err != nil {
		return nil, err
	}
	z.policy = row.Policy
	if z.it, err = training.Build(s.Workload.Spec, x); err == nil {
		_, err = s.PassExtension.Lengthen(ctx, z.it)
		err = assembly.ContextErrorOr(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	z.layout = s.layoutOf(x.All)
	apart := z.layout
	apart.GPUsPerPod, apart.StagePods, apart.Replicas = s.Workload.StageGPUs(), nil, slices.Clone(apart.Replicas)
	for r := range apart.Replicas {
		apart.Replicas[r].PodMap = nil
	}
	if z.open, err = z.build(apart); err != nil {
		return nil, err
	}
	pp := int32(s.Workload.PP)
	node := func(n int32) int32 { return int32(z.it.Nodes[n].Replica)*pp + int32(z.it.Nodes[n].Stage) }
	for i := range z.open.reduced.Tasks {
		t, ends := &z.open.reduced.Tasks[i], [2]int32{-1, -1}
		if z.open.pods.IsInterPod(t) {
			ends = [2]int32{node(t.Src), node(t.Dst)}
		}
		z.ends = append(z.ends, ends)
	}
	return z, nil
}

// build places the iteration without leaving anything to decide.
func (z *stages) build(l training.Layout) (in *instance, err error) {
	in = &instance{s: z.s, graph: z.it.Graph, it: z.it}
	if in.pods, err = z.it.Place(l); err != nil {
		return nil, err
	}
	in.reduced, in.origin, err = in.pods.Reduce(in.graph, nil)
	return in, err
}

// fits reports whether a stage has room in a pod.
func (z *stages) fits(at []int32, _, pod int32) bool {
	n := 0
	for _, p := range at {
		if p == pod {
			n++
		}
	}
	return n < z.s.room()
}

// bound is one on iterations whose stages are where at has them, on whatever circuits: what goes between pods that are
// known to differ takes as long as the network interfaces need for it, shared in the best way, and all else no time.
func (z *stages) bound(ctx context.Context, at []int32) (float64, error) {
	in := z.open
	n := &engine.Network{Nodes: int32(len(in.pods.Nodes)), Groups: in.pods.Groups()}
	full := make([]bool, z.it.Spec.PP*len(z.it.GradientsReady))
	for _, pod := range at {
		if pod >= 0 && !full[pod] {
			full[pod] = !z.fits(at, 0, pod)
		}
	}
	apart := func(a, b int32) bool {
		switch x, y := at[a], at[b]; {
		case a == b, x >= 0 && y >= 0:
			return a == b || x != y // of one replica for all its peers are in other pods
		case x >= 0:
			return full[x]
		case y >= 0:
			return full[y]
		}
		return z.s.room() == 1
	}
	r := engine.NewRoutes(len(z.ends), func(uses []engine.Use, i int32) []engine.Use {
		if e := z.ends[i]; e[0] >= 0 && apart(e[0], e[1]) {
			t := &in.reduced.Tasks[i]
			uses = in.pods.Interfaces(uses, n.GroupResource(0), t.Src, t.Dst)
		}
		return uses
	})
	e, err := flow.NewEvaluator(in.reduced, n, r, flow.LevelPriority)
	if err != nil {
		return 0, err
	}
	e.SetContext(ctx)
	least := e.Bound()
	if !slices.Contains(at, -1) {
		p, err := z.problem(at)
		if err != nil {
			return math.Inf(1), none(err)
		}
		least = max(least, p.QuickBound(ctx))
	}
	return float64(least), ctx.Err()
}

// problem is what allocators decide on for a placement.
func (z *stages) problem(at []int32) (*topology.Problem, error) {
	l := z.layout
	l.StagePods = at
	in, err := z.build(l)
	if err != nil {
		return nil, err
	}
	o, err := in.pods.Connect(in.reduced)
	if err != nil {
		return nil, err
	}
	return topology.NewProblem(in.reduced, o)
}

// none is nil of an error that says that a placement cannot be had: there are too few ports, or jobs cannot meet.
func none(err error) error {
	if errors.Is(err, topology.ErrPorts) || errors.Is(err, topology.ErrShared) {
		return nil
	}
	return err
}

// guess is the best iteration of simple rules.
func (z *stages) guess(ctx context.Context, at []int32) (float64, error) {
	p, err := z.problem(mapping.Canonical(at))
	if err != nil {
		return math.Inf(1), none(err)
	}
	return float64(p.EstimateMakespan(ctx)), ctx.Err()
}

// value is the iteration on the circuits that the allocator chooses, with what it knows of all circuits.
func (z *stages) value(ctx context.Context, at []int32, thorough bool) (value, bound float64, err error) {
	p, err := z.problem(mapping.Canonical(at))
	if err != nil {
		return math.Inf(1), math.Inf(1), none(err)
	}
	o := z.s.options(1)
	if p.Brief = !thorough; p.Brief {
		o = o.Brief()
	}
	o.Tails = z.open.tailed()
	d, err := z.policy.Choose(ctx, p, o)
	if err != nil {
		return 0, 0, err
	}
	if d.BoundModel == topology.AnyService {
		bound = float64(d.Bound)
	}
	return float64(d.Makespan), bound, nil
}
