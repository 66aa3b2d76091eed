package circuits

import (
	"context"
	"errors"
	"fmt"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric"
	"sim/fabric/electrical"
	"sim/fabric/links"
	"sim/policies/collective"
	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/assembly/composition"
	"sim/workloads/training"
)

// instance is a scenario built: what is to be simulated, on what, and the decision that is open.
type instance struct {
	s       *Scenario
	graph   *engine.Graph       // the complete DAG: traces are of it
	plain   *engine.Graph       // the same, in which data arrives when its last bit is sent
	tiers   *links.Tiers        // inside pods; nil where these have none
	first   []int               // of a pod's links, the first of each tier, and behind the last
	it      *training.Iteration // whose graph that is; nil of traffic
	base    []engine.Task       // of it, before calls inside inner tiers lengthened its passes; nil without these
	pods    *fabric.Pods
	optical *fabric.Optical // circuits with the routes of graph
	problem *topology.Problem
	// anyBound is a lower bound on the makespan of every topology, however circuits are shared; 0 if none was sought.
	anyBound engine.Time
	reduced  *engine.Graph   // the inter-pod DAG: decisions are made on it
	origin   []int32         // tasks of graph behind those of reduced
	calls    *calls.Expander // what expanded the calls of work of ranks; nil if they are not in the graph
	composition.IdealReference
	best *engine.Trace // of the complete DAG on the ideal fabric
	// provisioned are the circuits that made the reference; nil where the ideal fabric did.
	provisioned []int
	trials      *trials // nil where there are none
	loan        *loan   // nil where there is none
	// usual is the same with stages in order, whose references are those of all mappings; nil where they are.
	usual *instance
}

// New makes the system of s, with so many goroutines where a port-lending job's topology is decided; 0 is one.
func New(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
	switch {
	case len(s.Jobs) > 0 && s.Mapping.IsSet():
		return buildJobsPlaced(ctx, s)
	case len(s.Jobs) > 0:
		return buildJobs(ctx, s, nil)
	}
	in, err := build(ctx, s, max(1, workers))
	if err != nil {
		return nil, err
	}
	if s.endless() { // whose bound is on loads
		return in, nil
	}
	if in.byKinds() {
		if err := in.boundByKinds(ctx); err != nil {
			return nil, err
		}
	}
	if !s.allTimed() {
		if in.anyBound, err = in.problem.Bound(ctx); err != nil { // shared by all rows: no allocator's time
			return nil, err
		}
	}
	return in, nil
}

// build makes the instance of s. It returns the context's error when ctx is cancelled.
func build(ctx context.Context, s *Scenario, workers int) (in *instance, err error) {
	switch {
	case s.traffic():
		in, err = buildOnPods(ctx, s)
	case s.Mapping.IsSet():
		in, err = buildPlaced(ctx, s)
	case s.Policy.HasLender():
		in, err = buildBorrower(ctx, s, workers)
	default:
		in, err = buildIn(ctx, s, nil)
	}
	if err != nil || s.Replay.Seeds == 0 {
		return in, err
	}
	in.trials, err = newTrials(ctx, in)
	return in, err
}

// buildIn makes the instance of s, without replays, in pods of the numbers given; nil counts from 0.
func buildIn(ctx context.Context, s *Scenario, pods []int) (*instance, error) {
	x := s.Extent()
	l := s.layoutOf(x.All)
	l.PodNumbers = pods
	in, err := place(ctx, s, s.Workload.Spec, x, l)
	if err != nil {
		return nil, err
	}
	if err := in.open(ctx); err != nil {
		return nil, err
	}
	return in, in.compare(ctx)
}

// place builds an iteration and its hardware.
func place(ctx context.Context, s *Scenario, spec training.Spec, x training.BuildOptions, l training.Layout) (*instance, error) {
	var e *calls.Expander
	if spec.CallsInGraph() {
		e = s.StepCalls(&spec)
		x.Expand = e.Expand(ctx)
	}
	it, err := training.Build(spec, x)
	if err != nil {
		return nil, err
	}
	in := &instance{s: s, graph: it.Graph, it: it, calls: e}
	if in.base, err = s.PassExtension.Lengthen(ctx, it); err != nil {
		return nil, assembly.ContextErrorOr(ctx, err)
	}
	if in.pods, err = it.Place(l); err != nil {
		return nil, err
	}
	return in, in.connect(ctx)
}

// connect routes the graph over the pods.
func (in *instance) connect(ctx context.Context) (err error) {
	in.graph.MessageOverhead = in.s.Engine.MessageOverhead
	if in.plain = in.graph; len(in.s.Fabric.InnerTiers) > 0 {
		if in.tiers, err = links.NewTiers(in.s.Fabric.InnerTiers, in.s.tierGPUs()); err != nil {
			return err
		}
		if in.pods.Inside, err = in.inside(ctx); err != nil {
			return err
		}
		if late := in.pods.ArrivalDelays(in.graph); late != nil {
			if in.graph, err = composition.DelayArrivals(in.graph, late); err != nil {
				return err
			}
		}
	}
	if in.optical, err = in.pods.Connect(in.graph); err != nil {
		return err
	}
	return ctx.Err()
}

// open leaves open how many circuits there are between which pods.
func (in *instance) open(ctx context.Context) (err error) {
	alone, err := in.alone(ctx)
	if err != nil {
		return err
	}
	if in.reduced, in.origin, err = in.pods.Reduce(in.graph, alone); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	o, err := in.pods.Connect(in.reduced)
	if err != nil {
		return err
	}
	if in.problem, err = topology.NewProblem(in.reduced, o); err != nil {
		if in.calls != nil && errors.Is(err, topology.ErrPorts) {
			err = fmt.Errorf("%w: %w", collective.ErrUnserved, err) // others may need fewer
		}
		return err
	}
	in.problem.Switching = in.s.Fabric.SwitchingModel()
	return nil
}

// compare finds the references of the instance, of what has no end none, the ideal fabric's by priority as any optimum
// may share it.
func (in *instance) compare(ctx context.Context) error {
	if in.s.endless() {
		return nil
	}
	n, r, err := electrical.Connect(in.pods, in.reduced)
	if err != nil {
		return err
	}
	if in.IdealReference, err = composition.NewIdealReference(ctx, in.reduced, n, r); err != nil {
		return err
	}
	if in.calls != nil { // those inside pods are communication, whether they are merged or not
		if in.Times.Compute, err = composition.ComputeMakespan(ctx, in.plain, in.optical.Network); err != nil {
			return err
		}
	}
	if !composition.MeetsBound(in.Times.Ideal, in.Bound) {
		// no rule is always best: what circuits can do the ideal fabric can
		o, err := in.problem.Optimum(ctx, in.s.Seed, in.tailed())
		if err != nil {
			return err
		}
		if o != nil && o.Makespan < in.Times.Ideal {
			return in.takeReference(ctx, o)
		}
	}
	if n, r, err = electrical.Connect(in.pods, in.graph); err != nil {
		return err
	}
	in.best, err = flow.Run(ctx, in.graph, n, r, flow.Options{Service: in.Service, Rates: true})
	if err != nil {
		return fmt.Errorf("simulating the ideal fabric: %w", err)
	}
	return nil
}

// takeReference makes a simulation on circuits the reference.
func (in *instance) takeReference(ctx context.Context, o *topology.Decision) error {
	n, err := in.optical.Provision(o.Circuits)
	if err != nil {
		return err
	}
	in.Times.Ideal, in.Service, in.provisioned = o.Makespan, o.Service, o.Circuits
	in.best, err = flow.Run(ctx, in.graph, n, in.optical.Routes, flow.Options{Service: o.Service, Tails: in.tails(o), Rates: true})
	return err
}
