package calls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"sim/engine"
	"sim/policies/collective"
	"sim/scenarios/assembly"
	traffic "sim/workloads/collective"
	"sim/workloads/training"
)

// Algorithms names the algorithms that expand the collective calls of a training step: one
// algorithm for all calls, or one for each dimension of parallelism, such as
// "tp=ring,ep=direct". Dimensions that are not named have a default (Step.algorithm).
type Algorithms string

const (
	// DefaultAlgorithm is the default algorithm of a call.
	DefaultAlgorithm = "ring"
	// defaultInDomains is the default algorithm of gradient synchronisation if domains hold
	// several copies of a parameter: the copies of a domain reduce first, then the domains
	// reduce among each other.
	defaultInDomains = "hierarchical"
)

// ForDim returns the algorithm of a dimension, Usual if none is named.
func (a Algorithms) ForDim(dim training.Phase) string {
	name, _ := a.namedFor(dim)
	return cmp.Or(name, DefaultAlgorithm)
}

// namedFor returns the algorithm that is named for a dimension, or false if none is.
func (a Algorithms) namedFor(dim training.Phase) (string, bool) {
	if !a.hasDimensions() {
		return string(a), a != ""
	}
	for part := range strings.SplitSeq(string(a), ",") {
		if name, algorithm, _ := strings.Cut(part, "="); name == dim.String() {
			return algorithm, algorithm != ""
		}
	}
	return "", false
}

func (a Algorithms) hasDimensions() bool { return strings.Contains(string(a), "=") }

// With returns the algorithms with another one for a dimension, "" for the default.
// Synchronisation keeps its default if no algorithm is named for it.
func (a Algorithms) With(dim training.Phase, algorithm string) Algorithms {
	byDim := map[string]string{}
	for _, d := range training.Dims {
		if _, ok := a.namedFor(d); ok || d != training.Sync {
			byDim[d.String()] = a.ForDim(d)
		}
	}
	if byDim[dim.String()] = algorithm; algorithm == "" {
		delete(byDim, dim.String())
	}
	return NewAlgorithms(byDim)
}

// NewAlgorithms returns those of dimensions that are named.
func NewAlgorithms(byDim map[string]string) Algorithms {
	var parts []string
	for _, d := range training.Dims {
		if name, ok := byDim[d.String()]; ok {
			parts = append(parts, d.String()+"="+name)
		}
	}
	return Algorithms(strings.Join(parts, ","))
}

// Expansion says how the collective calls of a training step become transfers.
type Expansion struct {
	Algorithms Algorithms
	Options    collective.Options
}

// Expander expands the calls of a training step or trace whose ranks are on nodes of a network. It is not safe for concurrent use.
type Expander struct {
	Expansion
	Spec       *training.Spec
	Seed       uint64 // of sizes that are drawn
	Network    *engine.Network
	Torus      collective.Shape // nil where the network is none
	NodeOfRank []int32          // by rank: its node; nil is that of its number
	TaskCost   assembly.Cost    // of a transfer, compute or join
	// Domains returns by rank of a group of nodes the part of the network that it is in, for hierarchical algorithms;
	// nil is by their option.
	Domains func(group []int32) []int

	schedules map[any]*collective.Schedule // by stepCall or tracedCall
}

// stepCallKey is what calls have in common that the same schedule serves, wherever in a pass they are: groups of one
// dimension have different first ranks.
type stepCallKey struct {
	call  training.Call
	first int32
}

// Schedule returns what a call among a group of ranks is expanded to. All-to-alls that the algorithm does not serve go
// straight to where they are wanted. It fails with collective.ErrUnserved where it does not serve another.
func (e *Expander) Schedule(ctx context.Context, c training.Call, group []int32) (*collective.Schedule, error) {
	c.Position = training.LayerStart // of none in particular
	return e.cachedSchedule(ctx, stepCallKey{c, group[0]}, c.Draw == 0, c.Kind.String(), c.Dim, func(call *collective.Call) (err error) {
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
	})
}

// cachedSchedule returns what a call of a kind and dimension that fill completes is expanded to: the same for calls of one key,
// if these are likely to be repeated.
func (e *Expander) cachedSchedule(ctx context.Context, key any, repeated bool, kind string, dim training.Phase, fill func(*collective.Call) error) (*collective.Schedule, error) {
	if s, ok := e.schedules[key]; ok && repeated {
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
	if repeated {
		e.schedules[key] = s
	}
	return s, nil
}

// algorithm returns the algorithm of the calls of a dimension among ranks in some domains,
// indexed by rank. The default of synchronisation is the one by which a training step without
// its calls in the graph synchronises, too (training.Spec.Parameters): copies of a parameter
// in one domain reduce before domains do. It needs domains of equal numbers of ranks.
func (e *Expander) algorithm(dim training.Phase, domains []int) string {
	if _, ok := e.Algorithms.namedFor(dim); ok || dim != training.Sync || len(domains) == 0 {
		return e.Algorithms.ForDim(dim)
	}
	ranks := map[int]int{} // by domain
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

// DrawSizes draws the sizes of an all-to-all among so many ranks, from row to column; nil of even sizes.
func DrawSizes(spec *training.Spec, c training.Call, ranks int, seed uint64) ([]int64, error) {
	if c.Draw == 0 {
		return nil, nil
	}
	var sizes []int64
	var err error
	if spec.ExpertSizes == "loads" {
		shares := spec.LoadShares(int(c.Draw - 1))
		for i := range ranks * ranks {
			to := i % ranks
			if sizes = append(sizes, 0); to != i/ranks {
				sizes[i] = int64(math.Round(float64(c.Bytes) * float64(ranks) * shares[to]))
			}
		}
	} else {
		sizes, err = traffic.ZipfSizes(ranks, c.Bytes, spec.ExpertExponent, training.RandomStream(seed, fmt.Sprintf("experts %d", c.Draw)).Uint64())
	}
	if err != nil || !c.Transposed {
		return sizes, err
	}
	transposed := make([]int64, len(sizes))
	for i := range ranks {
		for k := range ranks {
			transposed[k*ranks+i] = sizes[i*ranks+k]
		}
	}
	return transposed, nil
}

// Expand returns what adds calls to the graph of an iteration.
func (e *Expander) Expand(ctx context.Context) func(g *engine.Graph, c training.Call, group, ready []int32) ([]int32, error) {
	return func(g *engine.Graph, c training.Call, group, ready []int32) ([]int32, error) {
		s, err := e.Schedule(ctx, c, group)
		if err != nil {
			return nil, err
		}
		if err := e.TaskCost.Scale(float64(len(g.Tasks)+len(s.Transfers))).CheckLimits("calls of the step", "fewer"); err != nil {
			return nil, fmt.Errorf("%w: %w", collective.ErrUnserved, err)
		}
		return s.Append(g, collective.AppendOptions{Ready: ready}), nil
	}
}

// VisitCalls calls visit with the calls of a step by each group, how often it makes them, and their schedule. It fails where
// the algorithm does not serve one, and says so by the dimension.
func (e *Expander) VisitCalls(ctx context.Context, visit func(c training.Call, group []int32, times float64, s *collective.Schedule)) error {
	for _, c := range e.Spec.StepCalls() {
		for replica := range c.Replicas {
			for _, group := range e.Spec.Groups(c.Call, replica, c.VirtualStage%e.Spec.PP) {
				s, err := e.Schedule(ctx, c.Call, group)
				if errors.Is(err, collective.ErrUnserved) {
					_, why, _ := strings.Cut(err.Error(), collective.ErrUnserved.Error()+": ")
					err = fmt.Errorf("%w: %s does not serve the %s calls of the step: %s", collective.ErrUnserved, e.Algorithms.ForDim(c.Dim), c.Dim, why)
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

// CheckCalls fails where an algorithm does not serve the calls of a step, and where these are too many, with the keys at
// fault.
func (e *Expander) CheckCalls(ctx context.Context) (keys []string, err error) {
	n := 0.0
	err = e.VisitCalls(ctx, func(_ training.Call, group []int32, times float64, s *collective.Schedule) {
		n += times * float64(len(s.Transfers)+len(group))
	})
	if errors.Is(err, collective.ErrUnserved) {
		return []string{"policy.collective", "workload.tp", "workload.cp", "workload.ep", "workload.gpus"},
			errors.New(strings.TrimPrefix(err.Error(), collective.ErrUnserved.Error()+": "))
	}
	if err != nil {
		return nil, err
	}
	return []string{"workload.pieces", "workload.microbatches", "workload.gpus"},
		e.TaskCost.Scale(n).CheckLimits("the collective calls of the step", "fewer pieces of a pass, micro-batches or GPUs")
}
