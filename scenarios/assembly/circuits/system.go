// This file builds the system of a single job: its complete DAG, its pods with circuits
// between them, the inter-pod DAG on which allocators decide, and the reference that
// decisions are compared with.

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

// circuitSystem is one job on pods, with the open topology problem and the reference that
// decisions are compared with. It implements assembly.System.
type circuitSystem struct {
	scenario *Scenario

	// graph is the complete DAG, which traces describe. Its dependencies include the
	// latencies inside pods.
	graph *engine.Graph
	// undelayedGraph is the same DAG without these latencies. Data arrives when its last
	// bit is sent.
	undelayedGraph *engine.Graph
	// iteration is the training step or rank work behind graph; nil for traffic.
	iteration *training.Iteration
	// baseTasks holds the tasks of iteration before calls inside inner tiers lengthened
	// its passes; nil without such tiers.
	baseTasks []engine.Task
	// expander expanded the collective calls; nil if they are not in the graph.
	expander *calls.Expander

	pods       *fabric.Pods
	innerTiers *links.Tiers // tiers inside pods; nil if a switch joins the GPUs of a pod
	// tierStart holds the first link of each tier among the links of a pod, followed by
	// their number.
	tierStart []int
	optical   *fabric.Optical // circuits between pods, with the routes of graph

	// interPodGraph is the inter-pod DAG, on which allocators decide. origin maps its
	// tasks to tasks of graph, and to -1 if a task has no counterpart.
	interPodGraph *engine.Graph
	origin        []int32
	problem       *topology.Problem
	// anyServiceBound is a lower bound on the makespan of every topology under any
	// sharing of circuits; 0 if it was not computed.
	anyServiceBound engine.Time

	// IdealReference is computed on interPodGraph.
	composition.IdealReference
	referenceTrace *engine.Trace // trace of graph on the reference network
	// referenceCircuits is the topology of the reference; nil if the ideal fabric is the
	// reference.
	referenceCircuits []int
	// inOrder is the system with stages in their default order. Its reference serves all
	// mappings. It is nil if the scenario has no mapping.
	inOrder *circuitSystem

	trials  *trials    // nil without trials
	lending *lentPorts // ports of a port-lending job; nil without one
}

// New returns the system of s. If a port-lending job's topology is decided first, it uses
// the given number of workers; 0 means one.
func New(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
	switch {
	case len(s.Jobs) > 0 && s.Mapping.IsSet():
		return buildMappedJobs(ctx, s)
	case len(s.Jobs) > 0:
		return buildJobs(ctx, s, nil)
	}

	// A single job: training, rank work or traffic.
	sys, err := buildSystem(ctx, s, max(1, workers))
	if err != nil {
		return nil, err
	}
	if s.isEndless() { // its bound is on loads; see minBottleneckSeconds
		return sys, nil
	}

	// The bound of single replicas is stronger than the shared bound, whose search is too
	// small for many replicas.
	if sys.usesReplicaKinds() {
		if err := sys.setKindBounds(ctx); err != nil {
			return nil, err
		}
	}
	// The bound serves all rows, so its computation must not count towards the time limit
	// of one allocator. If all allocators have time limits, each computes the bound
	// within its own.
	if !s.allHaveTimeLimits() {
		if sys.anyServiceBound, err = sys.problem.Bound(ctx); err != nil {
			return nil, err
		}
	}
	return sys, nil
}

// buildSystem builds the system of a single job, with its trials. It returns the error of
// ctx if ctx is cancelled.
func buildSystem(ctx context.Context, s *Scenario, workers int) (sys *circuitSystem, err error) {
	switch {
	case s.isTraffic():
		sys, err = buildTraffic(ctx, s)
	case s.Mapping.IsSet():
		sys, err = buildMapped(ctx, s)
	case s.Policy.HasLender():
		sys, err = buildBorrower(ctx, s, workers)
	default:
		sys, err = buildTraining(ctx, s)
	}
	if err != nil || s.Trials.Count == 0 {
		return sys, err
	}

	sys.trials, err = newTrials(ctx, sys)
	return sys, err
}

// buildTraining builds the system of a training step without trials, in pods that are
// numbered from 0.
func buildTraining(ctx context.Context, s *Scenario) (*circuitSystem, error) {
	return buildInPods(ctx, s, nil)
}

// buildInPods is like buildTraining for pods with the given numbers, which appear in their
// names; nil means that they are numbered from 0.
func buildInPods(ctx context.Context, s *Scenario, podNumbers []int) (*circuitSystem, error) {
	extent := s.BuildOptions()
	layout := s.jobLayout(extent.All)
	layout.PodNumbers = podNumbers
	sys, err := buildIteration(ctx, s, s.Workload.Spec, extent, layout)
	if err != nil {
		return nil, err
	}

	if err := sys.defineProblem(ctx); err != nil {
		return nil, err
	}
	return sys, sys.simulateReference(ctx)
}

// buildIteration builds the graph of a training step and routes it over its pods. It
// defines no problem and no reference.
func buildIteration(
	ctx context.Context, s *Scenario, spec training.Spec, extent training.BuildOptions,
	layout training.Layout,
) (*circuitSystem, error) {
	// Calls that are not in the graph are part of passes and of aggregated
	// synchronisation.
	var expander *calls.Expander
	if spec.CallsInGraph() {
		expander = s.StepExpander(&spec)
		extent.Expand = expander.Expand(ctx)
	}
	it, err := training.Build(spec, extent)
	if err != nil {
		return nil, err
	}

	// Place the iteration on its pods, with passes that include the calls of inner tiers.
	sys := &circuitSystem{scenario: s, graph: it.Graph, iteration: it, expander: expander}
	if sys.baseTasks, err = s.PassExtension.Lengthen(ctx, it); err != nil {
		return nil, assembly.ContextErrorOr(ctx, err)
	}
	if sys.pods, err = it.Place(layout); err != nil {
		return nil, err
	}
	return sys, sys.routeGraph(ctx)
}

// routeGraph adds the networks inside pods, delays dependencies by their latencies, and
// routes the graph over pods and circuits.
func (sys *circuitSystem) routeGraph(ctx context.Context) (err error) {
	// The overhead delays senders. It is part of the workload, so both graphs have it.
	sys.graph.MessageOverhead = sys.scenario.Engine.MessageOverhead
	sys.undelayedGraph = sys.graph
	if tiers := sys.scenario.Fabric.InnerTiers; len(tiers) > 0 {
		if sys.innerTiers, err = links.NewTiers(tiers, sys.scenario.tierGPUs()); err != nil {
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

	// Routes do not depend on the topology. Only the rates of bundles do.
	if sys.optical, err = sys.pods.Connect(sys.graph); err != nil {
		return err
	}
	return ctx.Err()
}

// defineProblem reduces the graph to its inter-pod DAG and defines the topology problem
// on it.
func (sys *circuitSystem) defineProblem(ctx context.Context) (err error) {
	// Computes and uncontended transfers become delays of the inter-pod DAG.
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

	// The problem has its own routes, because its tasks are numbered differently.
	o, err := sys.pods.Connect(sys.interPodGraph)
	if err != nil {
		return err
	}
	if sys.problem, err = topology.NewProblem(sys.interPodGraph, o); err != nil {
		if sys.expander != nil && errors.Is(err, topology.ErrPorts) {
			// Other collective algorithms may need fewer ports.
			err = fmt.Errorf("%w: %w", collective.ErrUnserved, err)
		}
		return err
	}
	sys.problem.Switching = sys.scenario.Fabric.SwitchingModel()
	return nil
}

// simulateReference computes the reference of all allocators: compute alone and the ideal
// fabric. Work without an end has no reference.
//
// The ideal fabric may share its links in any manner, so the best of several services
// counts. Since no service is always best, the best topology found may still be faster.
// The ideal fabric can carry whatever circuits carry, so that topology then becomes the
// reference.
func (sys *circuitSystem) simulateReference(ctx context.Context) error {
	if sys.scenario.isEndless() {
		return nil
	}
	// The ideal fabric limits only what network interfaces and switches inside hosts carry. If all
	// transfers inside pods count, they are tasks of the complete graph alone.
	graph, countsAll := sys.interPodGraph, sys.scenario.countsInterfaces()
	if countsAll {
		graph = sys.undelayedGraph
	}
	n, r, err := sys.scenario.connectIdeal(sys.pods, graph)
	if err != nil {
		return err
	}
	sys.IdealReference, err = composition.NewIdealReference(ctx, graph, n, r, composition.ReferenceOptions{})
	if err != nil {
		return err
	}
	if !countsAll {
		sys.FreeBytes = sys.intraPodBytes()
	}

	// Calls inside pods count as communication, even if the inter-pod DAG merged them
	// into delays.
	if sys.expander != nil {
		network := sys.optical.Network
		sys.Times.Compute, err = composition.ComputeMakespan(ctx, sys.undelayedGraph, network)
		if err != nil {
			return err
		}
	}

	// Times, Bound and Service are fields of IdealReference. If the ideal makespan equals
	// its lower bound, no topology can be faster. A topology carries transfers inside pods
	// without time, so it is no reference if these count.
	if !countsAll && !composition.MeetsBound(sys.Times.Ideal, sys.Bound) {
		o, err := sys.problem.Optimum(ctx, sys.scenario.Seed, sys.canUseTails())
		if err != nil {
			return err
		}
		if o != nil && o.Makespan < sys.Times.Ideal {
			return sys.setReference(ctx, o)
		}
	}

	// The trace for figures and explanations describes the complete DAG.
	if n, r, err = sys.scenario.connectIdeal(sys.pods, sys.graph); err != nil {
		return err
	}
	sys.referenceTrace, err = flow.Run(ctx, sys.graph, n, r, flow.Options{
		Service: sys.Service,
		Rates:   true,
	})
	if err != nil {
		return fmt.Errorf("simulating the ideal fabric: %w", err)
	}
	return nil
}

// countsInterfaces reports whether the reference counts transfers inside pods.
func (s *Scenario) countsInterfaces() bool {
	return s.Fabric.Reference == "interfaces" || s.Fabric.HostGPUs > 0
}

// connectIdeal routes the transfers of g over the ideal fabric between the pods.
func (s *Scenario) connectIdeal(p *fabric.Pods, g *engine.Graph) (*engine.Network, *engine.Routes, error) {
	if s.countsInterfaces() && s.Fabric.HostGPUs == 0 {
		return electrical.ConnectInterfaces(p, g)
	}
	return electrical.Connect(p, g) // with hosts, it counts all transfers
}

// intraPodBytes returns the bytes of all replicas' transfers inside pods, which use no network
// interface.
func (sys *circuitSystem) intraPodBytes() (sum int64) {
	for i := range sys.graph.Tasks {
		if t := &sys.graph.Tasks[i]; t.Kind == engine.Transfer && !sys.pods.IsInterPod(t) {
			sum += t.Bytes
		}
	}
	return sum * int64(max(1, sys.pods.Copies))
}

// setReference makes the simulation of a topology the reference.
func (sys *circuitSystem) setReference(ctx context.Context, decision *topology.Decision) error {
	n, err := sys.optical.Provision(decision.Circuits)
	if err != nil {
		return err
	}

	sys.Times.Ideal = decision.Makespan
	sys.Service = decision.Service
	sys.referenceCircuits = decision.Circuits
	sys.referenceTrace, err = flow.Run(ctx, sys.graph, n, sys.optical.Routes, flow.Options{
		Service: decision.Service,
		Tails:   sys.completeTails(decision),
		Rates:   true,
	})
	return err
}
