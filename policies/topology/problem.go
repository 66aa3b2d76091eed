// Package topology decides the logical topology of optical circuit switches:
// how many circuits to light between which pods, for a given iteration
// (DELTA). Each allocator is one file and one row of Table.
//
// It leaves the iteration to workloads/training, the hardware to fabric and
// the playing to engine/flow.
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

// Problem is what an allocator decides on: bundles of circuits between pods,
// with the graph that will be played on them. Circuits are counted by bundle,
// in the order of Fabric.Bundles; every bundle needs at least one.
type Problem struct {
	Graph  *engine.Graph
	Fabric *fabric.Optical
	// Useful is, by bundle, the number of circuits beyond which more cannot
	// carry anything: the flows that the NICs behind it fill, and the ports.
	Useful []int

	players sync.Pool                // of *player
	joint   once.Value[jointOptimum] // see shared
}

// ErrPorts is wrapped where the pods' ports cannot connect all that must be.
var ErrPorts = errors.New("topology: too few ports to connect every pod pair that exchanges data")

// NewProblem returns the problem of lighting circuits on o for g, whose routes
// o holds. It fails with ErrPorts where one circuit a bundle does not fit.
func NewProblem(g *engine.Graph, o *fabric.Optical) (*Problem, error) {
	p := &Problem{Graph: g, Fabric: o, Useful: make([]int, len(o.Bundles))}
	if err := p.measure(); err != nil {
		return nil, err
	}
	first, err := flow.NewEvaluator(g, o.Network, o.Routes, flow.MaxMin)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	p.players.New = func() any { return &player{Evaluator: first.Clone(), p: p} }
	return p, nil
}

// measure finds how many circuits of each bundle the ports and NICs can use.
// It fails with ErrPorts where one circuit a bundle does not fit.
func (p *Problem) measure() error {
	o, one := p.Fabric, p.ones()
	for i, used := range o.Ports(one) {
		if used > o.Pods[i].Ports {
			return fmt.Errorf("%w: %s needs at least %d, has %d", ErrPorts, o.Pods[i].Name, used, o.Pods[i].Ports)
		}
	}
	free := p.room(one)
	for e, b := range o.Bundles {
		p.Useful[e] = min(1+p.fits(free, e), max(1, int(b.Flows)))
	}
	return nil
}

// ones returns one circuit for each bundle.
func (p *Problem) ones() []int {
	x := make([]int, len(p.Fabric.Bundles))
	for e := range x {
		x[e] = 1
	}
	return x
}

// room returns the ports of each pod that x leaves free; negative where x
// overruns them.
func (p *Problem) room(x []int) []int {
	free := p.Fabric.Ports(x)
	for i := range free {
		free[i] = p.Fabric.Pods[i].Ports - free[i]
	}
	return free
}

// fits returns how many more circuits of bundle e the free ports allow.
func (p *Problem) fits(free []int, e int) int {
	b := &p.Fabric.Bundles[e]
	return max(0, min(free[b.A], free[b.B])/b.Ends)
}

// cost returns what an evaluation counts against a search's budget: 1 for
// graphs of up to costEdges dependencies, more in proportion for larger ones.
func (p *Problem) cost() int64 { return int64(1 + p.Graph.EdgeCount()/costEdges) }

const costEdges = 10000

// take moves n circuits of bundle e into or (n < 0) out of the free ports.
func (p *Problem) take(free []int, e, n int) {
	b := &p.Fabric.Bundles[e]
	free[b.A] -= n * b.Ends
	if !b.Twin {
		free[b.B] -= n * b.Ends
	}
}

// Feasible reports whether x fits the ports and connects every bundle.
func (p *Problem) Feasible(x []int) bool {
	for _, n := range x {
		if n < 1 {
			return false
		}
	}
	for _, f := range p.room(x) {
		if f < 0 {
			return false
		}
	}
	return true
}

// PortsUsed returns the ports that x takes at both ends over all replicas.
func (p *Problem) PortsUsed(x []int) int {
	sum := 0
	for _, n := range p.Fabric.Ports(x) {
		sum += n
	}
	return sum * p.Fabric.Copies
}

// PortsTotal returns the ports of all pods over all replicas.
func (p *Problem) PortsTotal() int {
	sum := 0
	for _, pod := range p.Fabric.Pods {
		sum += pod.Ports
	}
	return sum * p.Fabric.Copies
}

// player evaluates topologies; one a goroutine.
type player struct {
	*flow.Evaluator
	p *Problem
}

// player returns an evaluator for the service, whose plays and bounds end early
// when ctx does; give it back with done.
func (p *Problem) player(ctx context.Context, s flow.Service) *player {
	w := p.players.Get().(*player)
	w.SetContext(ctx)
	w.SetService(s)
	_ = w.SetTails(nil) // which cannot fail
	return w
}

func (p *Problem) done(w *player) { p.players.Put(w) }

// light sets the circuits of the next plays.
func (w *player) light(x []int) {
	for e, n := range x {
		b := &w.p.Fabric.Bundles[e]
		for _, l := range b.Links {
			w.SetRate(l, float64(n)*float64(b.Rate))
		}
	}
}

// play returns the makespan of x, or false when it reaches cutoff.
func (w *player) play(x []int, cutoff engine.Time) (engine.Time, bool) {
	w.light(x)
	return w.Makespan(cutoff)
}

// bound returns a lower bound on the makespan of x under any service.
func (w *player) bound(x []int) engine.Time {
	w.light(x)
	return w.Bound()
}
