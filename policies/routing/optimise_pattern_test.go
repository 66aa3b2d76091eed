package routing

import (
	"slices"
	"testing"

	"sim/engine"
	"sim/fabric/torus"
)

// TestPatternAllToAll verifies that paths for pattern all-to-all equal the paths of an all-to-all
// problem, for any flows.
func TestPatternAllToAll(t *testing.T) {
	o := OptimisedRouter{Budget: 100_000, Rounds: 10}
	tor, err := torus.New(4, 4)
	if err != nil {
		t.Fatal(err)
	}
	all := &Problem{Network: tor.Network(nil, engine.Link{Rate: 1}), Torus: tor}
	for s := range int32(16) {
		for d := range int32(16) {
			if s != d {
				all.Flows = append(all.Flows, engine.Flow{Src: s, Dst: d})
			}
		}
	}
	some := *all
	some.Flows, some.Demand = []engine.Flow{{Src: 3, Dst: 9}, {Src: 0, Dst: 10}, {Src: 3, Dst: 9}}, []float64{1, 1000, 1}
	want, err := o.Route(t.Context(), all, Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Pattern = PatternAllToAll
	got, err := o.Route(t.Context(), &some, Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := func(w *engine.Paths, flow int) []engine.Step {
		first, _ := w.Of(w.ClassOf(int32(flow)))
		steps := w.Step[w.Start[first]:]
		return steps[:slices.Index(steps, engine.Arrived)]
	}
	for i, f := range some.Flows {
		if p, q := path(got.Paths, i), path(want.Paths, slices.Index(all.Flows, f)); !slices.Equal(p, q) || len(p) == 0 {
			t.Errorf("%v goes %v, in an all-to-all %v", f, p, q)
		}
	}
	some.Flows = []engine.Flow{{Src: 3, Dst: 3}}
	if _, err := o.Route(t.Context(), &some, Options{}); err == nil {
		t.Error("a node sends itself something")
	}
}
