package composition

import (
	"math/rand/v2"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/scenarios/result"
)

// switchTraffic returns transfers of random sizes between all pairs of nodes of one switch, on links
// of 400 Gbit/s.
func switchTraffic(t *testing.T, nodes int32) (*engine.Graph, *engine.Network, *engine.Routes) {
	rng := rand.New(rand.NewPCG(1, 1))
	g, n, r := &engine.Graph{}, &engine.Network{Nodes: nodes + 1}, &engine.Routes{Start: []int32{0}}
	for v := range nodes {
		n.Links = append(n.Links, engine.Link{From: v, To: nodes, Rate: 400e9}, engine.Link{From: nodes, To: v, Rate: 400e9})
	}
	for a := range nodes {
		for b := range nodes {
			if a == b {
				continue
			}
			g.AddTask(engine.Task{Kind: engine.Transfer, Src: a, Dst: b, Flows: 1, Bytes: 1 + rng.Int64N(4e6)})
			r.Uses = append(r.Uses, engine.Use{Resource: 2 * a, Weight: 1}, engine.Use{Resource: 2*b + 1, Weight: 1})
			r.Start = append(r.Start, int32(len(r.Uses)))
		}
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	return g, n, r
}

// TestFairReference checks that the reference of many transfers is the makespan of fair sharing, and
// that rows say so. The reference of few transfers uses priorities.
func TestFairReference(t *testing.T) {
	for nodes, isFairOnly := range map[int32]bool{4: false, 40: true} {
		g, n, r := switchTraffic(t, nodes)
		ideal, err := NewIdealReference(t.Context(), g, n, r, ReferenceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		trace, err := flow.Run(t.Context(), g, n, r, flow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if ideal.Times.Ideal > trace.Makespan || isFairOnly && ideal.Times.Ideal != trace.Makespan {
			t.Errorf("%d nodes: reference %v, fair sharing takes %v", nodes, ideal.Times.Ideal, trace.Makespan)
		}
		row := result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}
		ideal.AddExposed(&row, trace.Makespan, "")
		if _, says := row.Labels["nct_reference"]; ideal.IsFairOnly != isFairOnly || says != isFairOnly {
			t.Errorf("%d nodes: fair only %t, the row says so %t, want %t", nodes, ideal.IsFairOnly, says, isFairOnly)
		}
	}
}

// TestKnownRun checks that a decision takes the trace of the reference if its resources differ in
// their numbers alone, and that this trace equals a simulation. If a rate, a weight, the graph or
// the sharing of a link differs, the decision is simulated.
func TestKnownRun(t *testing.T) {
	g, n, r := switchTraffic(t, 40)
	ideal, err := NewIdealReference(t.Context(), g, n, r, ReferenceOptions{})
	if err != nil {
		t.Fatal(err)
	}

	// renumbered reverses the numbers of the links.
	last := int32(len(n.Links)) - 1
	renumbered := &engine.Network{Nodes: n.Nodes, Links: slices.Clone(n.Links)}
	slices.Reverse(renumbered.Links)
	routes := &engine.Routes{Start: r.Start, Uses: slices.Clone(r.Uses)}
	for i := range routes.Uses {
		routes.Uses[i].Resource = last - routes.Uses[i].Resource
	}
	want, err := flow.Run(t.Context(), g, renumbered, routes, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}

	simulate := func(g *engine.Graph, n *engine.Network, r *engine.Routes) (*engine.Trace, bool) {
		d := NewRouteDecision(n, r, flow.Options{})
		d.Known = ideal.Fair
		out, err := Simulate(t.Context(), "flow", &Job{Graph: g}, d)
		if err != nil {
			t.Fatal(err)
		}
		return out.Trace, &out.Trace.End[0] == &ideal.Fair.trace.End[0]
	}
	got, isKnown := simulate(g, renumbered, routes)
	if !isKnown || got.Makespan != want.Makespan || !slices.Equal(got.Start, want.Start) || !slices.Equal(got.End, want.End) {
		t.Errorf("renumbered links: known %t and makespan %v, want true and %v", isKnown, got.Makespan, want.Makespan)
	}

	slower := *renumbered
	slower.Links = slices.Clone(renumbered.Links)
	slower.Links[3].Rate /= 2
	if got, isKnown := simulate(g, &slower, routes); isKnown || got.Makespan <= want.Makespan {
		t.Errorf("a slower link: known %t and makespan %v, want more than %v", isKnown, got.Makespan, want.Makespan)
	}
	heavier, merged, copied := *routes, *routes, *g
	heavier.Uses, merged.Uses = slices.Clone(routes.Uses), slices.Clone(routes.Uses)
	heavier.Uses[5].Weight = 2
	for i, u := range merged.Uses {
		if u.Resource == 1 {
			merged.Uses[i].Resource = 3
		}
	}
	for name, isKnown := range map[string]bool{
		"weight": second(simulate(g, renumbered, &heavier)),
		"link":   second(simulate(g, renumbered, &merged)),
		"graph":  second(simulate(&copied, renumbered, routes)),
	} {
		if isKnown {
			t.Errorf("another %s: the trace of the reference is used", name)
		}
	}
}

// second returns its second argument.
func second(_ *engine.Trace, known bool) bool { return known }

// TestLimitedReference checks that a reference beyond its limit is left out, and that the row has
// the reason instead of an NCT. A limit that suffices changes nothing.
func TestLimitedReference(t *testing.T) {
	g, n, r := switchTraffic(t, 40)
	want, err := NewIdealReference(t.Context(), g, n, r, ReferenceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for limit, isLeftOut := range map[int64]bool{1: true, 1 << 32: false} {
		ideal, err := NewIdealReference(t.Context(), g, n, r, ReferenceOptions{MaxWork: limit})
		if err != nil {
			t.Fatal(err)
		}
		if ideal.IsLeftOut != isLeftOut || !isLeftOut && ideal.Times != want.Times || ideal.Bound != want.Bound {
			t.Errorf("limit %d: left out %t, times %v and bound %v, want %t, %v and %v",
				limit, ideal.IsLeftOut, ideal.Times, ideal.Bound, isLeftOut, want.Times, want.Bound)
		}
		row, metrics := result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}, map[string]float64{}
		ideal.AddExposed(&row, 2*ideal.Bound, "")
		ideal.AddMetrics(metrics, "makespan_s", true)
		_, hasNCT := row.Metrics["nct"]
		if _, hasTime := metrics["makespan_s"]; hasNCT == isLeftOut || hasTime == isLeftOut || (row.Labels["nct"] != "") != isLeftOut {
			t.Errorf("limit %d: metrics %v and %v, labels %v", limit, row.Metrics, metrics, row.Labels)
		}
	}
}
