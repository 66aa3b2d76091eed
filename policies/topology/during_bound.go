package topology

import (
	"context"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// maxCircuitsAlone returns the maximum useful circuits of each bundle if no other bundle
// has any, limited by NICs and ports.
func (p *Problem) maxCircuitsAlone() []int {
	circuits := make([]int, len(p.Fabric.Bundles))
	for e, b := range p.Fabric.Bundles {
		circuits[e] = min(p.maxAdditional(p.Ports, e), max(1, int(b.Flows)))
	}
	return circuits
}

// windowBound computes lower bounds on the iterations of every sequence of topologies at
// a given reconfiguration delay.
//
// A circuit that carries data at time t was assigned to its bundle during all of [t -
// delay, t]. For any time u, everything carried in the window [u, u + delay] is therefore
// carried by circuits of the one topology that was assigned at u. This holds for any
// controller and for any difference between iterations. Consequently, no iteration is
// faster than in the following relaxation: bundles share the ports of their pods freely
// outside one window, and use one topology, the best one, inside it.
type windowBound struct {
	budgetMeter // limits the boxes of one window; evaluator is the one of fluidEvaluator
	p           *Problem
	maxCircuits []int       // see maxCircuitsAlone
	rates       []float64   // rates of all resources outside the window, indexed by resource
	delayFree   engine.Time // lower bound that holds at every delay
}

// newWindowBound returns the bounds of sequences with at most maxCircuits[e] circuits of
// bundle e.
func newWindowBound(ctx context.Context, p *Problem, maxCircuits []int) (*windowBound, error) {
	w, rates, err := p.fluidEvaluator(ctx, maxCircuits)
	if err != nil {
		return nil, err
	}
	m := newBudgetMeter(ctx, searchBudget{SearchOptions: SearchOptions{MaxEvaluations: maxWindowBoxes}},
		&circuitEvaluator{Evaluator: w, problem: p})
	return &windowBound{budgetMeter: m, p: p, maxCircuits: maxCircuits, rates: rates,
		delayFree: max(w.Bound(), p.KnownBound)}, nil
}

// maxWindowBoxes is the maximum number of boxes visited for one window. The workloads of
// the papers need some tens.
const maxWindowBoxes = 1000

// quickBound returns a lower bound on every iteration at a delay, given the best decision
// without changes. It is the largest that applies of these:
//
//   - the bound without a delay;
//   - the bound of static for any sharing, because an iteration shorter than the delay
//     uses one topology;
//   - the makespan of static, if windows refute every faster iteration.
func (h *windowBound) quickBound(static *Decision, delay engine.Time) engine.Time {
	bound := h.delayFree
	if static.BoundModel == AnyService && delay >= static.Bound {
		bound = max(bound, static.Bound)
	}
	if !meetsBound(static.Makespan, bound) && delay > 0 && h.refutes(static.Makespan, delay) {
		return static.Makespan
	}
	return bound
}

// tightBound raises the lower bound low by bisection. high is the makespan that was
// found.
func (h *windowBound) tightBound(low, high, delay engine.Time) engine.Time {
	if delay == 0 || meetsBound(high, low) {
		return low
	}
	within := (high - low) / windowBisections
	if h.refutes(high, delay) {
		return high
	}
	for high-low > max(within, tickTolerance) && h.ctx.Err() == nil {
		if middle := low + (high-low)/2; h.refutes(middle, delay) {
			low = middle
		} else {
			high = middle
		}
	}

	return low
}

// windowBisections is the ratio of the initial gap to the gap at which the bisection
// stops.
const windowBisections = 64

// refutes reports whether no iteration can end by the given time. It tries two windows:
// one ends with the iteration, and one a quarter of a delay earlier, which helps if
// synchronisation comes last.
func (h *windowBound) refutes(end, delay engine.Time) bool {
	return h.refutesWindow(end, end-delay, delay) || h.refutesWindow(end, end-delay-delay/4, delay)
}

// refutesWindow reports whether no iteration can end by the given time, using a window
// that starts at from. It searches boxes of topologies in the window, each bounded by its
// upper corner: the topology with the most circuits of every bundle. Boxes are split until all
// are refuted, or until the corner of one fits the ports and is not refuted.
func (h *windowBound) refutesWindow(end, from, delay engine.Time) bool {
	h.evaluations = 0
	h.reset()
	from = max(0, from)
	inside := slices.Clone(h.rates)

	// Capacities before, during and after the window; only those during it depend on the
	// box.
	stages := []flow.Period{{Rates: h.rates}, {From: from, Rates: inside},
		{From: from + delay, Rates: h.rates}}
	if from == 0 {
		stages = stages[1:]
	}
	open := []*box[struct{}]{{lo: make([]int, len(h.maxCircuits)), hi: slices.Clone(h.maxCircuits)}}
	for len(open) > 0 {
		x := open[len(open)-1]
		open = open[:len(open)-1]
		if !h.p.tightenUpper(x.lo, x.hi) {
			continue
		}
		h.charge(h.p, 1)
		for e, b := range h.p.Fabric.Bundles {
			for _, l := range b.Links {
				inside[l] = float64(x.hi[e]) * h.p.Fabric.Rate(e)
			}
		}
		if h.evaluator.MissesDeadline(end, stages) {
			continue
		}
		// The box is not refuted: split it unless its upper corner fits the ports.
		e := h.branchBundle(x)
		if e < 0 || h.stopReason() != "" {
			return false
		}
		x.split(e, x.midpoint(e), func(lo, hi []int) { open = append(open, &box[struct{}]{lo: lo, hi: hi}) })
	}

	return true
}

// branchBundle returns the bundle at which to split a box: the one with the largest range
// at the pod whose ports are exceeded most. It returns -1 if the upper corner fits the
// ports.
func (h *windowBound) branchBundle(b *box[struct{}]) int {
	pod, lowest := -1, 0
	for i, free := range h.p.freePorts(b.hi) {
		if free < lowest {
			pod, lowest = i, free
		}
	}
	return b.widestBundle(func(e int) bool { return h.p.endsAt(e, pod) })
}

// fluidEvaluator returns an evaluator of the relaxation in which circuits are divisible
// and bundles share the ports of their pods freely over time. Each bundle has at most
// maxCircuits[e] circuits. The ports of a pod are two further resources, one for each
// direction. No sequence of topologies is faster than the bounds of this evaluator, at
// any delay. It also returns the rates of all resources.
func (p *Problem) fluidEvaluator(ctx context.Context, maxCircuits []int) (*flow.Evaluator, []float64, error) {
	o := p.Fabric
	maxRate := 0.0
	for e := range o.Bundles {
		maxRate = max(maxRate, o.Rate(e))
	}
	network := *o.Network
	network.Links = append([]engine.Link(nil), network.Links...)
	network.Groups = append([]engine.Group(nil), network.Groups...)

	// Add the ports of each pod as two resources: first+2i limits the traffic out of pod
	// i, first+2i+1 the traffic into it.
	first := o.Network.GroupResource(int32(len(network.Groups)))
	for _, u := range p.Ports {
		g := engine.Group{Rate: float64(u) * maxRate}
		network.Groups = append(network.Groups, g, g)
	}

	for e, b := range o.Bundles {
		for _, l := range b.Links {
			network.Links[l].Rate = float64(maxCircuits[e]) * o.Rate(e)
		}
	}

	// Each transfer between pods uses the ports of both pods in addition.
	bundleOf := p.bundleOfLink()
	routes := &engine.Routes{Start: make([]int32, 1, len(o.Routes.Start)), FlowCap: o.Routes.FlowCap}
	for i := range p.Graph.Tasks {
		for _, u := range o.Routes.Of(int32(i)) {
			routes.Uses = append(routes.Uses, u)
			if int(u.Resource) >= len(network.Links) {
				continue
			}
			e, l := bundleOf[u.Resource], &network.Links[u.Resource]
			weight := u.Weight * float64(o.Bundles[e].Ends) * maxRate / o.Rate(int(e))
			routes.Uses = append(routes.Uses, engine.Use{Resource: first + 2*l.From, Weight: weight},
				engine.Use{Resource: first + 2*l.To + 1, Weight: weight})
		}
		routes.Start = append(routes.Start, int32(len(routes.Uses)))
	}

	w, err := flow.NewEvaluator(p.Graph, &network, routes, flow.LevelPriority)
	if err != nil {
		return nil, nil, err
	}
	w.SetContext(ctx)
	var rates []float64
	for _, l := range network.Links {
		rates = append(rates, l.Rate)
	}
	for _, g := range network.Groups {
		rates = append(rates, g.Rate)
	}
	return w, rates, nil
}
