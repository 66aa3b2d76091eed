// Package topology decides the logical topology of optical circuit switches: how many circuits to provision between
// which pods, for a given iteration (DELTA). Each allocator is one file and one row of Table.
//
// It leaves the iteration to workloads/training, the hardware to fabric and the simulation to engine/flow.
package topology

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric"
	"sim/internal/once"
)

// Problem is what an allocator decides on: bundles of circuits between pods, with the graph that will be simulated on
// them. Circuits are counted by bundle, in the order of Fabric.Bundles; every bundle needs at least one.
type Problem struct {
	Graph      *engine.Graph
	Fabric     *fabric.Optical
	portBudget // of its pods
	// AtLeast is a lower bound on the makespan of every topology that is known before any is looked at, however capacity
	// is shared.
	AtLeast engine.Time
	Brief   bool // it is one of many that are compared: what allocators share is sought as Options.Brief has them search
	// Switching is how circuits may change in an iteration.
	Switching Switching

	oneHop       *oneHopDemand           // demand of the graph; nil if some transfer waits for another one
	evaluators   sync.Pool               // of *evaluator
	sharedSearch once.Value[jointResult] // see shared
	cache        *decisionCache          // of jobs alone
}

// ErrPorts is wrapped where the pods' ports cannot connect all that must be.
var ErrPorts = errors.New("topology: too few ports to connect every pod pair that exchanges data")

// NewProblem returns the problem of lighting circuits on o for g, whose routes o holds. It fails with ErrPorts where
// one circuit a bundle does not fit.
func NewProblem(g *engine.Graph, o *fabric.Optical) (*Problem, error) {
	p := &Problem{Graph: g, Fabric: o, cache: new(decisionCache)}
	if err := p.computeUseful(); err != nil {
		return nil, err
	}
	first, err := flow.NewEvaluator(g, o.Network, o.Routes, flow.MaxMin)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	p.oneHop = p.newOneHopDemand()
	p.evaluators.New = func() any { return &circuitEvaluator{Evaluator: first.Clone(), problem: p} }
	return p, nil
}

// computeUseful finds how many circuits of each bundle the ports and NICs can use. It fails with ErrPorts where one circuit a
// bundle does not fit.
func (p *Problem) computeUseful() error {
	o := p.Fabric
	for _, pod := range o.Pods {
		p.Ports = append(p.Ports, pod.Ports)
	}
	for _, b := range o.Bundles {
		p.addBundle(int(b.A), int(b.B), b.Ends)
	}
	one := p.ones()
	for i, used := range o.Ports(one) {
		if used > o.Pods[i].Ports {
			return fmt.Errorf("%w: %s needs at least %d, has %d", ErrPorts, o.Pods[i].Name, used, o.Pods[i].Ports)
		}
	}
	free := p.freePorts(one)
	for e, b := range o.Bundles {
		p.Useful = append(p.Useful, min(1+p.maxAdditional(free, e), max(1, int(b.Flows))))
	}
	return nil
}

// evaluationCost returns what an evaluation counts against a search's budget: 1 for graphs of up to costEdges dependencies, more
// in proportion for larger ones.
func (p *Problem) evaluationCost() int64 { return int64(1 + p.Graph.EdgeCount()/edgesPerEvaluation) }

const edgesPerEvaluation = 10000

// PortsUsed returns the ports that x takes at both ends over all replicas.
func (p *Problem) PortsUsed(x []int) int { return p.portsOf(x) * p.Fabric.Copies }

// PortsTotal returns the ports of all pods over all replicas.
func (p *Problem) PortsTotal() int {
	sum := 0
	for _, n := range p.Ports {
		sum += n
	}
	return sum * p.Fabric.Copies
}

// circuitEvaluator evaluates topologies; one a goroutine.
type circuitEvaluator struct {
	*flow.Evaluator
	problem *Problem
}

// acquire returns one for the service, whose simulations and bounds end early when ctx does; give it back with done.
func (p *Problem) acquire(ctx context.Context, s flow.Service) *circuitEvaluator {
	w := p.evaluators.Get().(*circuitEvaluator)
	w.SetContext(ctx)
	w.SetService(s)
	_ = w.SetTails(nil) // which cannot fail
	return w
}

func (p *Problem) release(w *circuitEvaluator) { p.evaluators.Put(w) }

// provision sets the circuits of the next simulations.
func (w *circuitEvaluator) provision(x []int) {
	for e, n := range x {
		rate := float64(n) * w.problem.Fabric.Rate(e)
		for _, l := range w.problem.Fabric.Bundles[e].Links {
			w.SetRate(l, rate)
		}
	}
}

// simulate returns the makespan of x, or false when it reaches cutoff.
func (w *circuitEvaluator) simulate(x []int, cutoff engine.Time) (engine.Time, bool) {
	w.provision(x)
	return w.Makespan(cutoff)
}

// bound returns a lower bound on the makespan of x under any service.
func (w *circuitEvaluator) bound(x []int) engine.Time {
	w.provision(x)
	return w.Bound()
}
