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

// circuitSystem is a scenario built: what is to be simulated, on what, and the decision that is open.
type circuitSystem struct {
	scenario       *Scenario
	graph          *engine.Graph       // the complete DAG: traces are of it
	undelayedGraph *engine.Graph       // the same, in which data arrives when its last bit is sent
	innerTiers     *links.Tiers        // inside pods; nil where these have none
	tierStart      []int               // of a pod's links, the first of each tier, and behind the last
	iteration      *training.Iteration // whose graph that is; nil of traffic
	baseTasks      []engine.Task       // of it, before calls inside inner tiers lengthened its passes; nil without these
	pods           *fabric.Pods
	optical        *fabric.Optical // circuits with the routes of graph
	problem        *topology.Problem
	// anyServiceBound is a lower bound on the makespan of every topology, however circuits are shared; 0 if none was sought.
	anyServiceBound engine.Time
	interPodGraph   *engine.Graph   // the inter-pod DAG: decisions are made on it
	origin          []int32         // tasks of graph behind those of reduced
	expander        *calls.Expander // what expanded the calls of work of ranks; nil if they are not in the graph
	composition.IdealReference
	referenceTrace *engine.Trace // of the complete DAG on the ideal fabric
	// referenceCircuits are the circuits that made the reference; nil where the ideal fabric did.
	referenceCircuits []int
	trials            *trials    // nil where there are none
	lending           *lentPorts // nil where there is none
	// inOrder is the same with stages in order, whose references are those of all mappings; nil where they are.
	inOrder *circuitSystem
}

// New makes the system of s, with so many goroutines where a port-lending job's topology is decided; 0 is one.
func New(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
	switch {
	case len(s.Jobs) > 0 && s.Mapping.IsSet():
		return buildMappedJobs(ctx, s)
	case len(s.Jobs) > 0:
		return buildJobs(ctx, s, nil)
	}
	sys, err := buildSystem(ctx, s, max(1, workers))
	if err != nil {
		return nil, err
	}
	if s.isEndless() { // whose bound is on loads
		return sys, nil
	}
	if sys.usesReplicaKinds() {
		if err := sys.setKindBounds(ctx); err != nil {
			return nil, err
		}
	}
	if !s.allHaveTimeLimits() {
		if sys.anyServiceBound, err = sys.problem.Bound(ctx); err != nil { // shared by all rows: no allocator's time
			return nil, err
		}
	}
	return sys, nil
}

// buildSystem makes the instance of s. It returns the context's error when ctx is cancelled.
func buildSystem(ctx context.Context, s *Scenario, workers int) (sys *circuitSystem, err error) {
	switch {
	case s.isTraffic():
		sys, err = buildTraffic(ctx, s)
	case s.Mapping.IsSet():
		sys, err = buildMapped(ctx, s)
	case s.Policy.HasLender():
		sys, err = buildBorrower(ctx, s, workers)
	default:
		sys, err = buildInPods(ctx, s, nil)
	}
	if err != nil || s.Replay.Seeds == 0 {
		return sys, err
	}
	sys.trials, err = newTrials(ctx, sys)
	return sys, err
}

// buildInPods makes the instance of s, without replays, in pods of the numbers given; nil counts from 0.
func buildInPods(ctx context.Context, s *Scenario, pods []int) (*circuitSystem, error) {
	extent := s.BuildOptions()
	layout := s.jobLayout(extent.All)
	layout.PodNumbers = pods
	sys, err := buildIteration(ctx, s, s.Workload.Spec, extent, layout)
	if err != nil {
		return nil, err
	}
	if err := sys.defineProblem(ctx); err != nil {
		return nil, err
	}
	return sys, sys.simulateReference(ctx)
}

// buildIteration builds an iteration and its hardware.
func buildIteration(ctx context.Context, s *Scenario, spec training.Spec, extent training.BuildOptions, layout training.Layout) (*circuitSystem, error) {
	var expander *calls.Expander
	if spec.CallsInGraph() {
		expander = s.StepExpander(&spec)
		extent.Expand = expander.Expand(ctx)
	}
	it, err := training.Build(spec, extent)
	if err != nil {
		return nil, err
	}
	sys := &circuitSystem{scenario: s, graph: it.Graph, iteration: it, expander: expander}
	if sys.baseTasks, err = s.PassExtension.Lengthen(ctx, it); err != nil {
		return nil, assembly.ContextErrorOr(ctx, err)
	}
	if sys.pods, err = it.Place(layout); err != nil {
		return nil, err
	}
	return sys, sys.routeGraph(ctx)
}

// routeGraph routes the graph over the pods.
func (sys *circuitSystem) routeGraph(ctx context.Context) (err error) {
	sys.graph.MessageOverhead = sys.scenario.Engine.MessageOverhead
	if sys.undelayedGraph = sys.graph; len(sys.scenario.Fabric.InnerTiers) > 0 {
		if sys.innerTiers, err = links.NewTiers(sys.scenario.Fabric.InnerTiers, sys.scenario.tierGPUs()); err != nil {
			return err
		}
		if sys.pods.Inside, err = sys.newInnerNetwork(ctx); err != nil {
			return err
		}
		if delays := sys.pods.ArrivalDelays(sys.graph); delays != nil {
			if sys.graph, err = composition.DelayArrivals(sys.graph, delays); err != nil {
				return err
			}
		}
	}
	if sys.optical, err = sys.pods.Connect(sys.graph); err != nil {
		return err
	}
	return ctx.Err()
}

// defineProblem leaves open how many circuits there are between which pods.
func (sys *circuitSystem) defineProblem(ctx context.Context) (err error) {
	uncontended, err := sys.uncontendedDurations(ctx)
	if err != nil {
		return err
	}
	if sys.interPodGraph, sys.origin, err = sys.pods.Reduce(sys.graph, uncontended); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	o, err := sys.pods.Connect(sys.interPodGraph)
	if err != nil {
		return err
	}
	if sys.problem, err = topology.NewProblem(sys.interPodGraph, o); err != nil {
		if sys.expander != nil && errors.Is(err, topology.ErrPorts) {
			err = fmt.Errorf("%w: %w", collective.ErrUnserved, err) // others may need fewer
		}
		return err
	}
	sys.problem.Switching = sys.scenario.Fabric.SwitchingModel()
	return nil
}

// simulateReference finds the references of the instance, of what has no end none, the ideal fabric's by priority as any optimum
// may share it.
func (sys *circuitSystem) simulateReference(ctx context.Context) error {
	if sys.scenario.isEndless() {
		return nil
	}
	n, r, err := electrical.Connect(sys.pods, sys.interPodGraph)
	if err != nil {
		return err
	}
	if sys.IdealReference, err = composition.NewIdealReference(ctx, sys.interPodGraph, n, r); err != nil {
		return err
	}
	if sys.expander != nil { // those inside pods are communication, whether they are merged or not
		if sys.Times.Compute, err = composition.ComputeMakespan(ctx, sys.undelayedGraph, sys.optical.Network); err != nil {
			return err
		}
	}
	if !composition.MeetsBound(sys.Times.Ideal, sys.Bound) {
		// no rule is always best: what circuits can do the ideal fabric can
		o, err := sys.problem.Optimum(ctx, sys.scenario.Seed, sys.canUseTails())
		if err != nil {
			return err
		}
		if o != nil && o.Makespan < sys.Times.Ideal {
			return sys.setReference(ctx, o)
		}
	}
	if n, r, err = electrical.Connect(sys.pods, sys.graph); err != nil {
		return err
	}
	sys.referenceTrace, err = flow.Run(ctx, sys.graph, n, r, flow.Options{Service: sys.Service, Rates: true})
	if err != nil {
		return fmt.Errorf("simulating the ideal fabric: %w", err)
	}
	return nil
}

// setReference makes a simulation on circuits the reference.
func (sys *circuitSystem) setReference(ctx context.Context, decision *topology.Decision) error {
	n, err := sys.optical.Provision(decision.Circuits)
	if err != nil {
		return err
	}
	sys.Times.Ideal, sys.Service, sys.referenceCircuits = decision.Makespan, decision.Service, decision.Circuits
	sys.referenceTrace, err = flow.Run(ctx, sys.graph, n, sys.optical.Routes, flow.Options{Service: decision.Service, Tails: sys.completeTails(decision), Rates: true})
	return err
}
