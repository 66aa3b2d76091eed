package routing

import (
	"context"
	"errors"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/links"
)

// failingRouter is a router that always fails.
type failingRouter struct{ err error }

// Route returns the error.
func (r failingRouter) Route(context.Context, *Problem, Options) (*Decision, error) {
	return nil, r.err
}

// recordingRouter is a router that records its problem.
type recordingRouter struct {
	Router
	problem **Problem
}

// Route records the problem and calls the router.
func (r recordingRouter) Route(ctx context.Context, p *Problem, o Options) (*Decision, error) {
	*r.problem = p
	return r.Router.Route(ctx, p, o)
}

// TestTiers verifies three tiers: every path leads from source to destination over links of the
// innermost tier that joins both.
func TestTiers(t *testing.T) {
	switched := func(gpus int, rate units.Rate) *links.Links {
		l := &links.Links{}
		l.Domain.GPUs, l.LinkRate, l.Queue = gpus, rate, "unbounded"
		l.BuildSwitchedDomain()
		return l
	}
	outer := &links.Links{InnerTiers: []*links.Links{switched(2, 8e9), switched(4, 2e9)}}
	outer.Dims, outer.LinkRate, outer.LinkLatency, outer.Queue = []int{4, 4}, 1e9, engine.Microsecond, "unbounded"
	outer.FailedLinks, outer.FailedChips = []string{"0 x+"}, []int{9}
	z, err := outer.Build()
	if err != nil {
		t.Fatal(err)
	}
	var flows []engine.Flow
	joins := func(a, b int32) int {
		switch {
		case a/2 == b/2:
			return 0
		case a/4 == b/4:
			return 1
		}
		return 2
	}
	for a := range int32(16) {
		for b := range int32(16) {
			if a != b && a != 9 && b != 9 {
				flows = append(flows, engine.Flow{Src: a, Dst: b})
			}
		}
	}
	p := &Problem{Network: z.Known, Flows: flows, Rate: 1e9, Down: z.Down}
	router := ByName(DefaultName(true, true)).Router
	d, err := RouteSystem(t.Context(), &z, router, p, Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for f, x := range flows {
		for path, end := d.Paths.Of(d.Paths.ClassOf(int32(f))); path < end; path++ {
			node := x.Src
			for _, s := range d.Paths.Steps(path) {
				id := d.Paths.Out(node, s)
				l := z.Known.Links[id]
				if l.From != node || l.Rate == 0 || z.TierOf(id) != joins(x.Src, x.Dst) {
					t.Fatalf("flow %v takes link %d of tier %d, %+v, from node %d", x, id, z.TierOf(id), l, node)
				}
				node = l.To
			}
			if node != x.Dst {
				t.Fatalf("flow %v ends at node %d", x, node)
			}
		}
	}
	// The router of the outermost tier gets the task graph only if all flows are its own.
	outermost := slices.DeleteFunc(slices.Clone(flows), func(f engine.Flow) bool { return joins(f.Src, f.Dst) < 2 })
	for _, own := range [][]engine.Flow{flows, outermost} {
		p := &Problem{Network: z.Known, Flows: own, Graph: &engine.Graph{}, Rate: 1e9, Down: z.Down}
		var inner *Problem
		if _, err := RouteSystem(t.Context(), &z, recordingRouter{router, &inner}, p, Options{Seed: 1}); err != nil {
			t.Fatal(err)
		}
		if got, want := inner.Graph != nil, len(own) == len(outermost); got != want || !slices.Equal(inner.Flows, outermost) {
			t.Errorf("the outermost tier has the graph of %d flows: %t, want %t; its flows are %v", len(own), got, want, inner.Flows)
		}
	}

	// Without the outermost tier, no links join two domains.
	if _, err := RouteTiers(t.Context(), z.Tiers, 1, z.Whole, []int{0, 1, 2}, []engine.Flow{{Src: 0, Dst: 4}}, 1, nil); !errors.Is(err, ErrUnserved) {
		t.Errorf("tier 2 joins GPUs 0 and 4: %v", err)
	}
	failing := errors.New("a router's error")
	if _, err := RouteSystem(t.Context(), &z, failingRouter{failing}, p, Options{}); !errors.Is(err, failing) {
		t.Errorf("the router fails with %v", err)
	}
}
