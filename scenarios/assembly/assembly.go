// Package assembly is what all compositions have in common: work on hardware is a System that leaves one decision open,
// policies close it one after another, and what each decides is simulated and measured. It knows no workload, fabric or
// policy by name; systems are made in the packages below it, one for each decision that hardware leaves open:
//
//   - circuits, between pods (allocators, and arbiters of several jobs);
//   - paths, over links (routers);
//   - plans, of topologies and what is sent over them (planners).
//
// Package scenarios makes systems of what files say, and runs them.
package assembly

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"sim/engine"
	"sim/scenarios/result"
	"sim/workloads/training"
)

// System is work on hardware, with a decision left open. It is safe for concurrent use.
type System interface {
	// Reference returns the metrics of what policies are compared with.
	Reference() map[string]float64
	// Begin adds to an outcome what does not depend on policies.
	Begin(ctx context.Context, o *Outcome) error
	// Decide lets one policy decide, simulates its decision at the system's level and measures it.
	Decide(ctx context.Context, policy string, workers int) (Answer, error)
}

// Answer is a decision that was simulated and measured.
type Answer interface {
	Measured() (result.Row, result.PolicyTimings)
	// Describe adds to an outcome what figures, explanations and exports need, or part of it where ctx ends.
	Describe(ctx context.Context, o *Outcome)
}

// Longer is how much longer passes of virtual stage v are than they compute; nil is not at all.
type Longer func(ctx context.Context, v int, pass training.Phase) (engine.Time, error)

// Lengthen lengthens the passes of an iteration.
func (l Longer) Lengthen(ctx context.Context, it *training.Iteration) error {
	if l == nil {
		return nil
	}
	return it.Lengthen(func(v int, pass training.Phase) (engine.Time, error) { return l(ctx, v, pass) })
}

// Stepping is an answer about a training step, which may be simulated again on what was decided.
type Stepping interface {
	// Again simulates the step at the level of its answer with passes that are longer in another way, on links of so many
	// times the rate. It fails with ErrMoving if that cannot be.
	Again(ctx context.Context, longer Longer, faster float64) (Step, error)
}

// ErrMoving says that a step is not simulated again packet by packet because its circuits move while it lasts.
var ErrMoving = errors.New("assembly: circuits move with the packets of the step")

// Step is how long a step takes, how long something is under way in it between those that links or circuits join, and
// the bytes of that, of all replicas.
type Step struct {
	End, Busy engine.Time
	Bytes     float64
}

// NewStep measures a simulation of a graph, in which some transfers count.
func NewStep(g *engine.Graph, t *engine.Trace, counts func(task int32) bool) Step {
	s := Step{End: t.Makespan}
	var spans [][2]engine.Time
	for i := range g.Tasks {
		if counts(int32(i)) {
			s.Bytes += float64(g.Tasks[i].Bytes)
			spans = append(spans, [2]engine.Time{t.Start[i], t.End[i]})
		}
	}
	slices.SortFunc(spans, func(a, b [2]engine.Time) int { return cmp.Compare(a[0], b[0]) })
	until := engine.Time(0)
	for _, x := range spans {
		s.Busy += max(0, x[1]-max(x[0], until))
		until = max(until, x[1])
	}
	return s
}

// ExposedTime returns how much longer work takes for some of its transfers, if it ends at end with them, and at without if
// they take no time. It is at least 0: transfers that take no time may be held back until they would have ended, so the
// work need never end later without their time, even if links that share by a fixed rule would let it.
func ExposedTime(end, without engine.Time) float64 { return max(0, end-without).Seconds() }

// Without returns a graph in which some transfers of g take no time, and whether there are any. g must be frozen.
func Without(g *engine.Graph, takesNone func(task int32) bool) (*engine.Graph, bool) {
	out, any := *g, false
	out.Tasks = slices.Clone(g.Tasks)
	for i := range out.Tasks {
		if out.Tasks[i].Kind == engine.Transfer && takesNone(int32(i)) {
			out.Tasks[i], any = engine.Task{}, true
		}
	}
	return &out, any
}

// Faster returns a network whose links and groups have so many times the rate.
func Faster(n *engine.Network, by float64) *engine.Network {
	f := *n
	f.Links, f.Groups = slices.Clone(n.Links), slices.Clone(n.Groups)
	for i := range f.Links {
		f.Links[i].Rate *= by
	}
	for i := range f.Groups {
		f.Groups[i].Rate *= by
	}
	return &f
}

// Failing is an answer whose simulation may have come to no end.
type Failing interface {
	Failure() error // nil where it ended
}

// Failure returns why the simulation of an answer came to no end, nil where it did.
func Failure(a Answer) error {
	if f, ok := a.(Failing); ok {
		return f.Failure()
	}
	return nil
}

// OrEnded returns ctx's error in place of err where ctx has ended: what is wrong then, or seems right, may be its
// doing.
func OrEnded(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	return err
}

// Ended asks whether ctx has, once in so many steps of a loop.
func Ended(ctx context.Context, step int) bool { return step&(1<<10-1) == 0 && ctx.Err() != nil }

// TickSeconds is what rounding to ticks may add to a transfer.
const TickSeconds = 2e-12

// ComputeOnly returns a graph for simulations in which transfers take no time: nor does starting them. g must be frozen.
func ComputeOnly(g *engine.Graph) *engine.Graph {
	out := *g
	out.MessageOverhead = 0
	return &out
}

// Delayed returns a graph in which tasks that need the data of a transfer wait until it has
// arrived, late after its end. The slice late is indexed by task. Tasks on the node that sends the
// data do not wait for its arrival (engine.Graph.NeedsArrival).
func Delayed(g *engine.Graph, late []engine.Time) (*engine.Graph, error) {
	out := &engine.Graph{Namer: g.Namer, Tasks: g.Tasks, Contention: g.Contention, MessageOverhead: g.MessageOverhead}
	for i, by := range late {
		for _, e := range g.Out(int32(i)) {
			if g.NeedsArrival(e) {
				e.Lag += by
			}
			out.AddEdge(e.From, e.To, e.Lag)
		}
	}
	return out, out.Freeze()
}
