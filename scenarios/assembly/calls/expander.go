// This file expands the collective calls of training steps into schedules of transfers.
// An algorithm of package policies/collective creates each schedule. Schedules are
// cached, because a step repeats most of its calls.

package calls

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sim/engine"
	"sim/policies/collective"
	"sim/scenarios/assembly"
	traffic "sim/workloads/collective"
	"sim/workloads/training"
)

// Expansion defines how the collective calls of a training step become transfers.
type Expansion struct {
	Algorithms Algorithms
	Options    collective.Options
}

// Expander expands the collective calls of a training step or trace whose ranks are on
// nodes of a network. It caches schedules and is not safe for concurrent use.
type Expander struct {
	Expansion
	Spec       *training.Spec
	Seed       uint64 // seed of random sizes
	Network    *engine.Network
	Torus      collective.Shape // nil if the network is not a torus
	NodeOfRank []int32          // indexed by rank; nil means that rank i is on node i
	TaskCost   assembly.Cost    // cost of a transfer, compute or join
	// Domains returns the domain of each node of a group, for hierarchical algorithms.
	// nil means that their option defines domains.
	Domains func(group []int32) []int

	// schedules caches schedules by stepCallKey or traceCallKey.
	schedules map[any]*collective.Schedule
	folded    map[foldedCallKey]*foldedCall // caches calls of folded graphs
	// Quotient, if not nil, selects the folded form of a training step, and receives its classes.
	Quotient *Quotient
}

// stepCallKey identifies the calls of a training step that have the same schedule, at any
// position within a pass. The groups of one dimension have different first ranks.
type stepCallKey struct {
	call  training.Call
	first int32
}

// Schedule returns the schedule of a call among a group of ranks. An all-to-all that the
// algorithm does not serve is sent directly. For other unserved calls the error wraps
// collective.ErrUnserved.
func (e *Expander) Schedule(
	ctx context.Context, c training.Call, group []int32,
) (*collective.Schedule, error) {
	c.Position = training.LayerStart // positions do not affect the schedule
	fill := func(call *collective.Call) (err error) {
		call.Bytes = c.Bytes
		for _, rank := range group {
			node := rank
			if e.NodeOfRank != nil {
				node = e.NodeOfRank[rank]
			}
			call.Group = append(call.Group, node)
		}
		call.Sizes, err = DrawSizes(e.Spec, c, len(group), e.Seed)
		return err
	}
	key := stepCallKey{c, group[0]}
	isRepeated := c.Draw == 0 // calls with random sizes (Draw > 0) occur once
	return e.cachedSchedule(ctx, key, isRepeated, c.Kind.String(), c.Dim, fill)
}

// cachedSchedule returns the schedule of a call of the given kind and dimension. The
// function fill completes the call. Schedules are cached by key only if the call is
// repeated.
func (e *Expander) cachedSchedule(
	ctx context.Context, key any, isRepeated bool, kind string, dim training.Phase,
	fill func(*collective.Call) error,
) (*collective.Schedule, error) {
	if s, ok := e.schedules[key]; ok && isRepeated {
		return s, nil
	}

	p := &collective.Problem{Network: e.Network, Torus: e.Torus}
	var err error
	if p.Kind, err = collective.ParseKind(kind); err == nil {
		err = fill(&p.Call)
	}
	if err != nil {
		return nil, err
	}
	if e.Domains != nil {
		p.Domain = e.Domains(p.Group)
	}
	s, err := expand(ctx, p, e.algorithm(dim, p.Domain), e.Options)
	if err != nil {
		return nil, err
	}

	if e.schedules == nil {
		e.schedules = map[any]*collective.Schedule{}
	}
	if isRepeated {
		e.schedules[key] = s
	}
	return s, nil
}

// algorithm returns the algorithm of the calls of a dimension. The slice domains holds
// the domain of each rank of the group.
//
// The default of synchronisation is hierarchical if all domains have equal numbers of at
// least two ranks. A training step without calls in its graph synchronises in the same
// manner (training.Spec.Parameters): copies of a parameter in one domain reduce before
// domains do.
func (e *Expander) algorithm(dim training.Phase, domains []int) string {
	_, isNamed := e.Algorithms.namedFor(dim)
	if isNamed || dim != training.Sync || len(domains) == 0 {
		return e.Algorithms.ForDim(dim)
	}
	ranks := map[int]int{} // number of ranks of each domain
	for _, d := range domains {
		ranks[d]++
	}
	for _, n := range ranks {
		if n == 1 || n*len(ranks) != len(domains) || len(ranks) == 1 {
			return DefaultAlgorithm
		}
	}
	return defaultInDomains
}

// DrawSizes returns the message sizes of an all-to-all among the given number of ranks. The
// size of the message from rank i to rank k has index i*ranks+k. It returns nil if all
// sizes are equal. c.Draw identifies the draw; 0 means the mean sizes.
func DrawSizes(
	spec *training.Spec, c training.Call, ranks int, seed uint64,
) ([]int64, error) {
	var sizes []int64
	switch {
	case c.Draw == 0 && c.NodeGPUs == 0:
		return nil, nil
	case c.Draw > 0 && spec.ExpertSizes == "loads":
		const firstDraw = 1 // sets of loads are counted from 0
		sizes = spec.LoadSizes(c, int(c.Draw-firstDraw), seed)
	case c.Draw > 0:
		random := training.RandomStream(seed, fmt.Sprintf("experts %d", c.Draw))
		var err error
		if sizes, err = traffic.ZipfSizes(ranks, c.Bytes, spec.ExpertExponent, random.Uint64()); err != nil {
			return nil, err
		}
		if c.NodeGPUs > 0 {
			for i := range sizes {
				sizes[i] = int64(float64(sizes[i]) / float64(c.Bytes) * float64(c.Size(i/ranks, i%ranks)))
			}
		}
	default:
		for i := range ranks * ranks {
			sizes = append(sizes, c.Size(i/ranks, i%ranks))
		}
	}
	if !c.Transposed {
		return sizes, nil
	}

	// Messages back from experts have the sizes of the messages to them, transposed.
	transposed := make([]int64, len(sizes))
	for i := range ranks {
		for k := range ranks {
			transposed[k*ranks+i] = sizes[i*ranks+k]
		}
	}
	return transposed, nil
}

// Expand returns a function that adds the transfers of a call to the graph of an
// iteration. It takes the tasks after which each rank is ready, and returns the last task
// of each rank. See training.BuildOptions.Expand.
func (e *Expander) Expand(
	ctx context.Context,
) func(g *engine.Graph, c training.Call, group, ready []int32) ([]int32, error) {
	return func(g *engine.Graph, c training.Call, group, ready []int32) ([]int32, error) {
		s, err := e.Schedule(ctx, c, group)
		if err != nil {
			return nil, err
		}
		cost := e.TaskCost.Scale(float64(len(g.Tasks) + len(s.Transfers)))
		if err := cost.CheckLimits("calls of the step", "fewer"); err != nil {
			return nil, fmt.Errorf("%w: %w", collective.ErrUnserved, err)
		}
		return s.Append(g, collective.AppendOptions{Ready: ready}), nil
	}
}

// VisitCalls calls visit for each call of a training step and each of its groups, with
// the number of times it is made and its schedule. If an algorithm does not serve a call,
// the error names the dimension.
func (e *Expander) VisitCalls(
	ctx context.Context,
	visit func(c training.Call, group []int32, times float64, s *collective.Schedule),
) error {
	for _, c := range e.Spec.StepCalls() {
		for replica := range c.Replicas {
			for _, group := range e.Spec.Groups(c.Call, replica, c.VirtualStage%e.Spec.PP) {
				s, err := e.Schedule(ctx, c.Call, group)
				if errors.Is(err, collective.ErrUnserved) {
					prefix := collective.ErrUnserved.Error() + ": "
					_, reason, _ := strings.Cut(err.Error(), prefix)
					err = fmt.Errorf("%w: %s does not serve the %s calls of the step: %s",
						collective.ErrUnserved, e.Algorithms.ForDim(c.Dim), c.Dim, reason)
				}
				if err != nil {
					return err
				}
				visit(c.Call, group, float64(c.Count), s)
			}
		}
	}
	return nil
}

// CheckCalls returns an error if an algorithm does not serve the calls of a training
// step, or if their transfers exceed the limits. It also returns the keys that cause the
// error.
func (e *Expander) CheckCalls(ctx context.Context) (keys []string, err error) {
	if e.Quotient != nil {
		return e.checkFoldedCalls(ctx)
	}
	n := 0.0 // transfers, and one join per rank of each call
	visit := func(_ training.Call, group []int32, times float64, s *collective.Schedule) {
		n += times * float64(len(s.Transfers)+len(group))
	}
	err = e.VisitCalls(ctx, visit)
	return e.callError(n, err)
}

// checkFoldedCalls is CheckCalls for a folded step.
func (e *Expander) checkFoldedCalls(ctx context.Context) (keys []string, err error) {
	const noTasks = 0 // err is the reason
	visit := func(training.Call, []int32, float64, *collective.Schedule) {}
	if err := e.VisitCalls(ctx, visit); err != nil {
		return e.callError(noTasks, err)
	}
	n := 0.0
	for _, c := range e.Spec.StepCalls() {
		x, err := e.foldCall(ctx, e.Quotient, c.Call, c.VirtualStage%e.Spec.PP)
		if err != nil {
			return e.callError(noTasks, err)
		}
		n += float64(c.Count * len(x.tasks))
	}
	var noError error // only the number of tasks may be a reason
	return e.callError(n, noError)
}

// callError returns an error if the calls of a step were not expanded because of err, or if n tasks
// exceed the limits. It also returns the keys that cause the error.
func (e *Expander) callError(n float64, err error) (keys []string, _ error) {
	if errors.Is(err, collective.ErrUnserved) {
		keys = []string{"policy.collective", "workload.tp", "workload.cp", "workload.ep", "workload.gpus"}
		prefix := collective.ErrUnserved.Error() + ": "
		return keys, errors.New(strings.TrimPrefix(err.Error(), prefix))
	}
	keys = []string{"workload.pieces", "workload.microbatches", "workload.gpus"}
	if errors.Is(err, ErrAsymmetric) {
		return keys, fmt.Errorf("the step is too large to simulate each GPU, and one per stage cannot stand for all: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return keys, e.TaskCost.Scale(n).CheckLimits("the collective calls of the step",
		"fewer pieces of a pass, micro-batches or GPUs")
}
