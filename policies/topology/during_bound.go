package topology

import (
	"context"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// maxCircuitsAlone returns by bundle the most circuits that it may ever have: as many as its NICs can fill, and as the ports allow
// without any other.
func (p *Problem) maxCircuitsAlone() []int {
	most := make([]int, len(p.Fabric.Bundles))
	for e, b := range p.Fabric.Bundles {
		most[e] = min(p.maxAdditional(p.Ports, e), max(1, int(b.Flows)))
	}
	return most
}

// windowBound bounds what sequences of topologies can do at a delay. What a bundle carries at a time t it has been meant to
// carry for the delay, so at any u from t - delay to t, too: all that is carried from u to u + delay is carried by
// circuits of the one topology that is asked for at u, whatever controls circuits and however one iteration differs
// from the next. So an iteration needs no less than if bundles shared the ports of their pods as they like outside of
// one such window and had one topology, better than others there, within it.
type windowBound struct {
	budgetMeter
	p           *Problem
	maxCircuits []int
	rates       []float64 // of all resources outside of the window
	delayFree   engine.Time
}

func newWindowBound(ctx context.Context, p *Problem, high []int) (*windowBound, error) {
	w, rates, err := p.fluidEvaluator(ctx, high)
	if err != nil {
		return nil, err
	}
	m := newBudgetMeter(ctx, searchBudget{SearchOptions: SearchOptions{MaxEvaluations: maxWindowBoxes}}, &circuitEvaluator{w, p})
	return &windowBound{budgetMeter: m, p: p, maxCircuits: high, rates: rates, delayFree: max(w.Bound(), p.AtLeast)}, nil
}

// maxWindowBoxes is the number of boxes of topologies that are looked at to refute one time; some tens serve on the
// workloads of the papers.
const maxWindowBoxes = 1000

// quickBound returns a lower bound on every iteration at a delay, on which the best topology that stays is known: that of
// one topology, however capacity is shared, where the iteration is no longer than the delay; all of the latter where
// windows refute that it can be beaten; else that at no delay.
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

// tightBound returns a lower bound on every iteration at a delay, from one that is known up to what was found, by bisection.
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

// windowBisections is the ratio of a gap to what is left unknown of the bound in it.
const windowBisections = 64

// refutes reports whether no iteration ends by a time, as windows prove that end with it or, where synchronisation is
// what comes last, a little sooner.
func (h *windowBound) refutes(by, delay engine.Time) bool {
	return h.refutesWindow(by, by-delay, delay) || h.refutesWindow(by, by-delay-delay/4, delay)
}

// refutesWindow reports whether no iteration ends by a time, with a window that begins at another: boxes of topologies, each
// bounded by its upper corner, are split until all are refuted, or one fits the ports that is not.
func (h *windowBound) refutesWindow(by, from, delay engine.Time) bool {
	h.evaluations = 0
	h.reset()
	from = max(0, from)
	inside := slices.Clone(h.rates)
	stages := []flow.Stage{{Rates: h.rates}, {From: from, Rates: inside}, {From: from + delay, Rates: h.rates}}
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
		if h.evaluator.Misses(by, stages) {
			continue
		}
		e := h.branchBundle(x)
		if e < 0 || h.stopReason() != "" {
			return false
		}
		x.split(e, x.midpoint(e), func(lo, hi []int) { open = append(open, &box[struct{}]{lo: lo, hi: hi}) })
	}
	return true
}

// branchBundle returns the bundle to split a box at: of the pod that is most overrun, that with the largest range; -1 where
// all fits.
func (h *windowBound) branchBundle(b *box[struct{}]) int {
	pod, least := -1, 0
	for i, free := range h.p.freePorts(b.hi) {
		if free < least {
			pod, least = i, free
		}
	}
	return b.widestBundle(func(e int) bool { return h.p.endsAt(e, pod) })
}

// fluidEvaluator returns an evaluator of the graph where every bundle may have so many circuits at any time, whole or not, as
// long as those that leave a pod, and those that come to it, take no more than its ports: no sequence of topologies is
// faster than what it bounds, whatever the delay. It returns the rates of all resources, too.
func (p *Problem) fluidEvaluator(ctx context.Context, maxCircuits []int) (*flow.Evaluator, []float64, error) {
	o := p.Fabric
	top := 0.0
	for e := range o.Bundles {
		top = max(top, o.Rate(e))
	}
	n := *o.Network
	n.Links = append([]engine.Link(nil), n.Links...)
	n.Groups = append([]engine.Group(nil), n.Groups...)
	first := o.Network.GroupResource(int32(len(n.Groups))) // out of pod i is first+2i, into it the next
	for _, u := range p.Ports {
		g := engine.Group{Rate: float64(u) * top}
		n.Groups = append(n.Groups, g, g)
	}
	for e, b := range o.Bundles {
		for _, l := range b.Links {
			n.Links[l].Rate = float64(maxCircuits[e]) * o.Rate(e)
		}
	}
	of := p.bundleOfLink()
	r := &engine.Routes{Start: make([]int32, 1, len(o.Routes.Start)), FlowCap: o.Routes.FlowCap}
	for i := range p.Graph.Tasks {
		for _, u := range o.Routes.Of(int32(i)) {
			r.Uses = append(r.Uses, u)
			if int(u.Resource) >= len(n.Links) {
				continue
			}
			e, l := of[u.Resource], &n.Links[u.Resource]
			weight := u.Weight * float64(o.Bundles[e].Ends) * top / o.Rate(int(e))
			r.Uses = append(r.Uses, engine.Use{Resource: first + 2*l.From, Weight: weight}, engine.Use{Resource: first + 2*l.To + 1, Weight: weight})
		}
		r.Start = append(r.Start, int32(len(r.Uses)))
	}
	w, err := flow.NewEvaluator(p.Graph, &n, r, flow.LevelPriority)
	if err != nil {
		return nil, nil, err
	}
	w.SetContext(ctx)
	var rates []float64
	for _, l := range n.Links {
		rates = append(rates, l.Rate)
	}
	for _, g := range n.Groups {
		rates = append(rates, g.Rate)
	}
	return w, rates, nil
}
