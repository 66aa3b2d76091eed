// Package topology contains the allocators of optical circuits. An allocator chooses the
// logical topology of optical circuit switches: the number of circuits between each pair
// of pods, for one training iteration or another task graph (DELTA).
//
// A [Problem] holds the task graph and the fabric. A [Policy] takes a Problem and
// [Options] and returns a [Decision]. [Table] lists the allocators. Begin with
// problem.go, policy.go and baseline.go, then read an allocator:
//
//   - baseline.go: rules that use only the traffic matrix (uniform, prop-alloc,
//     sqrt-alloc, iter-halve, fixed).
//   - joint.go: delta-joint, best-first branch and bound over boxes of topologies
//     (boxes.go). Its bounds are in joint_queuebound.go, joint_pathmean.go, pathmean.go
//     and chains.go; joint_priorities.go is a local search over rates.
//   - topo.go: delta-topo, the best topology under max-min fair sharing.
//   - fast.go: delta-fast, a genetic search.
//   - during.go: delta-during, circuits that move within an iteration. sequence.go
//     simulates sequences of topologies, rule.go holds the policies that move circuits by
//     a rule, and controller.go moves circuits in other simulations of a decision.
//   - milp.go: allocators that solve the paper's model with a MILP solver.
//   - jobs.go: several jobs that share pods. A [JobsPolicy] (jobs_policy.go) divides
//     ports among them.
//   - ports.go: removal of circuits that the makespan does not need (Eq. 4). lend.go: a
//     job that lends its unused ports to another job.
//
// docs/model.md describes the algorithms and the reasons for them. Package training
// builds the task graphs, package fabric the fabrics, and package flow simulates and
// bounds.
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

// Problem is the input of an allocator: a task graph and the pods and bundles of circuits
// that carry its transfers. A topology is a slice of circuit counts, indexed by bundle in
// the order of Fabric.Bundles. Every bundle needs at least one circuit.
//
// A Problem may be used by several goroutines. It caches evaluators and the shared bound.
type Problem struct {
	Graph      *engine.Graph
	Fabric     *fabric.Optical
	portBudget // ports of the pods, and the ports that circuits use
	// KnownBound is a lower bound on the makespan of every topology under any sharing of
	// capacity, set by the caller. 0 means no bound is given.
	KnownBound engine.Time
	Brief      bool // one of many problems to be compared: the shared bound uses the budget of Options.Brief
	// Switching describes how circuits can change during an iteration.
	Switching SwitchTiming

	oneHop       *oneHopDemand           // nil if a transfer waits for another transfer
	evaluators   sync.Pool               // of *circuitEvaluator
	sharedSearch once.Value[jointResult] // result of the shared bound's search; see sharedResult
	cache        *decisionCache          // decisions for single jobs, shared with problems from withPorts
}

// ErrPorts means that the ports of the pods cannot connect all pod pairs that exchange
// data.
var ErrPorts = errors.New("topology: too few ports to connect every pod pair that exchanges data")

// NewProblem returns the problem of choosing circuits on o for g. o must hold the routes
// of the transfers of g. The error wraps ErrPorts if one circuit per bundle does not fit
// the ports.
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

// computeUseful fills in the port budget: the ports, the bundles and the useful circuits
// of each bundle. The error wraps ErrPorts if one circuit per bundle does not fit the
// ports.
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
			return fmt.Errorf("%w: %s needs at least %d, has %d", ErrPorts, o.Pods[i].Name, used,
				o.Pods[i].Ports)
		}
	}

	free := p.freePorts(one)
	for e, b := range o.Bundles {
		p.Useful = append(p.Useful, min(1+p.maxAdditional(free, e), max(1, int(b.Flows))))
	}
	return nil
}

// evaluationCost returns the number of evaluations that one evaluation of this graph
// counts as: 1 for graphs of fewer than edgesPerEvaluation dependencies, proportionally
// more for larger ones.
func (p *Problem) evaluationCost() int64 { return int64(1 + p.Graph.EdgeCount()/edgesPerEvaluation) }

// edgesPerEvaluation is the size of a graph whose evaluation starts to count as two. It
// makes budgets, which are counted in evaluations, limit the running time for large
// graphs also.
const edgesPerEvaluation = 10000

// PortsUsed returns the ports used by topology x at both ends of its circuits, over all
// identical replicas.
func (p *Problem) PortsUsed(x []int) int { return p.portsOf(x) * p.Fabric.Copies }

// PortsTotal returns the ports of all pods, over all identical replicas.
func (p *Problem) PortsTotal() int {
	sum := 0
	for _, n := range p.Ports {
		sum += n
	}
	return sum * p.Fabric.Copies
}

// circuitEvaluator simulates and bounds topologies of a problem. It must be used by one
// goroutine at a time.
type circuitEvaluator struct {
	*flow.Evaluator
	problem *Problem
}

// acquire returns an evaluator for the service. Its simulations and bounds end early if
// ctx is cancelled. The caller returns it with release.
func (p *Problem) acquire(ctx context.Context, s flow.Service) *circuitEvaluator {
	w := p.evaluators.Get().(*circuitEvaluator)
	w.SetContext(ctx)
	w.SetService(s)
	_ = w.SetTails(nil) // removing tails cannot fail
	return w
}

// release makes an evaluator available to later calls of acquire.
func (p *Problem) release(w *circuitEvaluator) { p.evaluators.Put(w) }

// provision sets the circuits of the following simulations and bounds.
func (w *circuitEvaluator) provision(x []int) {
	for e, n := range x {
		rate := float64(n) * w.problem.Fabric.Rate(e)
		for _, l := range w.problem.Fabric.Bundles[e].Links {
			w.SetRate(l, rate)
		}
	}
}

// simulate returns the makespan of topology x, or false if it reaches cutoff.
func (w *circuitEvaluator) simulate(x []int, cutoff engine.Time) (engine.Time, bool) {
	w.provision(x)
	return w.Makespan(cutoff)
}

// bound returns a lower bound on the makespan of topology x under any service.
func (w *circuitEvaluator) bound(x []int) engine.Time {
	w.provision(x)
	return w.Bound()
}
