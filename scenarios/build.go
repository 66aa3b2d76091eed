package scenarios

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/units"
	"sim/fabric"
	"sim/fabric/electrical"
	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/workloads/training"
)

// instance is a scenario built: what is to be played, on what, and the
// decision that is open.
type instance struct {
	s       *Scenario
	graph   *engine.Graph       // the complete DAG: traces are of it
	it      *training.Iteration // whose graph that is; nil of traffic
	pods    *fabric.Pods
	optical *fabric.Optical // circuits with the routes of graph
	problem *topology.Problem
	reduced *engine.Graph // the inter-pod DAG: decisions are made on it
	origin  []int32       // tasks of graph behind those of reduced
	assembly.Ideal
	best   *engine.Trace // of the complete DAG on the ideal fabric
	lit    []int         // circuits that made the reference; nil where the ideal fabric did
	replay *replay       // nil where nothing is replayed
	donor  *donation     // nil where there is none
}

// unlike reports whether some replica differs from the others.
func (s *Scenario) unlike() bool { return len(s.Replicas) > 0 }

// halfRing reports whether one replica, flow by flow, would hold but half of
// the ring of replicas: aggregated flows mirror the other half.
func (s *Scenario) halfRing() bool {
	return s.Workload.Flows == "per-gpu" && s.Workload.Choices.Ring == "bidirectional" && s.Workload.Replicas() > 2
}

// extent returns how much of the job is built.
func (s *Scenario) extent() training.Extent {
	x := training.Extent{PerGPU: s.Workload.Flows == "per-gpu"}
	switch s.Workload.ReplicaMode {
	case "all", "decomposed":
		x.All = true
	case "auto":
		x.All = s.unlike() || s.halfRing()
	}
	if !x.All {
		return x
	}
	x.Scale = make([]float64, s.Workload.Replicas())
	for r := range x.Scale {
		x.Scale[r] = s.replica(r).ComputeScale
	}
	return x
}

// replica returns the properties of replica r, those of the fabric where it
// does not differ.
func (s *Scenario) replica(r int) Replica {
	for _, u := range s.Replicas {
		if u.Index == r {
			return u
		}
	}
	return Replica{Index: r, ComputeScale: 1, PortBandwidth: s.Fabric.PortBandwidth, PortsPerPod: s.Fabric.PortsPerPod, PodMap: s.PodMap()}
}

// layout returns the hardware of the given replicas.
func (s *Scenario) layout(replicas ...int) training.Layout {
	l := training.Layout{GPUsPerPod: s.Fabric.GPUsPerPodPerReplica}
	for _, r := range replicas {
		u := s.replica(r)
		nic := s.Fabric.NICBandwidth
		if nic == s.Fabric.PortBandwidth {
			// one rate for port and NIC is one technology: they go together
			nic = u.PortBandwidth
		}
		l.Ports = append(l.Ports, u.PortsPerPod)
		l.PortRate = append(l.PortRate, u.PortBandwidth)
		l.NICRate = append(l.NICRate, units.Rate(nic))
		l.PodMap = append(l.PodMap, u.PodMap)
	}
	return l
}

// buildPods makes the system of s on pods.
func buildPods(ctx context.Context, s *Scenario, workers int) (assembly.System, error) {
	in, err := build(ctx, s, max(1, workers))
	if err != nil {
		return nil, err
	}
	if !s.allTimed() {
		if _, err := in.problem.Bound(ctx); err != nil { // shared by all rows: no allocator's time
			return nil, err
		}
	}
	return in, nil
}

// build makes the instance of s. It returns the context's error when ctx is
// cancelled.
func build(ctx context.Context, s *Scenario, workers int) (in *instance, err error) {
	switch {
	case s.podTraffic():
		in, err = buildPodTraffic(ctx, s)
	case s.hasDonor():
		in, err = buildRecipient(ctx, s, workers)
	default:
		in, err = buildIn(ctx, s, nil)
	}
	if err != nil || s.Replay.Seeds == 0 {
		return in, err
	}
	in.replay, err = newReplay(ctx, in)
	return in, err
}

// buildIn makes the instance of s, without replays, in pods of the numbers
// given; nil counts from 0.
func buildIn(ctx context.Context, s *Scenario, pods []int) (*instance, error) {
	spec := s.Workload.Spec
	x := s.extent()
	replicas := []int{0}
	if x.All {
		replicas = replicas[:0]
		for r := range s.Workload.Replicas() {
			replicas = append(replicas, r)
		}
	}
	l := s.layout(replicas...)
	l.Numbers = pods
	in, err := assemble(ctx, s, spec, x, l)
	if err != nil {
		return nil, err
	}
	return in, in.compare(ctx)
}

// assemble builds iteration, hardware and the open decision.
func assemble(ctx context.Context, s *Scenario, spec training.Spec, x training.Extent, l training.Layout) (*instance, error) {
	it, err := training.Build(spec, x)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pods, err := it.Place(l)
	if err != nil {
		return nil, err
	}
	in := &instance{s: s, graph: it.Graph, it: it, pods: pods}
	return in, in.open(ctx)
}

// open leaves open how many circuits there are between which pods.
func (in *instance) open(ctx context.Context) (err error) {
	if in.optical, err = in.pods.Connect(in.graph); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if in.reduced, in.origin, err = in.pods.Reduce(in.graph); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	o, err := in.pods.Connect(in.reduced)
	if err != nil {
		return err
	}
	in.problem, err = topology.NewProblem(in.reduced, o)
	return err
}

// compare finds the references of the instance, the ideal fabric's by priority as any optimum may share it.
func (in *instance) compare(ctx context.Context) error {
	n, r, err := electrical.Connect(in.pods, in.reduced)
	if err != nil {
		return err
	}
	if in.Ideal, err = assembly.NewIdeal(ctx, in.reduced, n, r); err != nil {
		return err
	}
	if !assembly.Meets(in.Times.Ideal, in.Bound) {
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
		return fmt.Errorf("playing the ideal fabric: %w", err)
	}
	return nil
}

// takeReference makes a play on circuits the reference.
func (in *instance) takeReference(ctx context.Context, o *topology.Decision) error {
	n, err := in.optical.Light(o.Circuits)
	if err != nil {
		return err
	}
	in.Times.Ideal, in.Service, in.lit = o.Makespan, o.Service, o.Circuits
	in.best, err = flow.Run(ctx, in.graph, n, in.optical.Routes, flow.Options{Service: o.Service, Tails: in.tails(o), Rates: true})
	return err
}
