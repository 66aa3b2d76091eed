package collective

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric/torus"
	"sim/internal/numbers"
	"sim/policies/routing"
)

// drawSymmetric draws a network on which many transfers are identical: a torus, a mesh of all pairs, a ring
// with chords, or nodes around a switch. It returns the nodes that can be ranks. Sometimes one link is
// slower than the others.
func drawSymmetric(t *rapid.T) (o *torus.Torus, n *engine.Network, ranks int32) {
	ranks = rapid.Int32Range(2, 12).Draw(t, "ranks")
	n = &engine.Network{Nodes: ranks}
	join := func(a, b int32, rate float64) {
		n.Links = append(n.Links, engine.Link{From: a, To: b, Rate: rate}, engine.Link{From: b, To: a, Rate: rate})
	}
	switch rapid.SampledFrom([]string{"torus", "mesh", "chords", "switch"}).Draw(t, "kind") {
	case "torus":
		dims := rapid.SampledFrom([][]int{{3}, {5}, {8}, {3, 3}, {4, 4}, {3, 4}, {3, 3, 3}, {4, 4, 4}}).Draw(t, "dims")
		var err error
		if o, err = torus.New(dims...); err != nil {
			t.Fatal(err)
		}
		n = o.Network(nil, engine.Link{Rate: 400e9})
		ranks = n.Nodes
	case "mesh":
		for a := range ranks {
			for b := range a {
				join(a, b, 400e9)
			}
		}
	case "chords":
		for a := range ranks {
			if ranks > 2 || a == 0 {
				join(a, (a+1)%ranks, 200e9)
			}
			if ranks > 4 && ranks%2 == 1 {
				join(a, (a+2)%ranks, 100e9)
			}
		}
	case "switch":
		n.Nodes++
		for a := range ranks {
			join(a, ranks, 400e9)
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "slow") == 0 {
		n.Links[rapid.IntRange(0, len(n.Links)-1).Draw(t, "link")].Rate = 100e9
	}
	return o, n, ranks
}

// routePairs returns the routes of the pairs of a schedule: their link, or the path that
// routing.Shortest chooses.
func routePairs(t *rapid.T, n *engine.Network, pairs []Pair) *engine.Routes {
	var flows []engine.Flow
	for _, p := range pairs {
		if p.Link < 0 {
			flows = append(flows, p.Flow)
		}
	}
	d, err := routing.Shortest{}.Route(t.Context(), &routing.Problem{Network: n, Flows: flows}, routing.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return engine.NewRoutes(len(pairs), func(uses []engine.Use, k int32) []engine.Use {
		if p := pairs[k]; p.Link >= 0 {
			return append(uses, engine.Use{Resource: p.Link, Weight: 1})
		}
		f := slices.Index(flows, pairs[k].Flow)
		first, _ := d.Paths.Of(d.Paths.ClassOf(int32(f)))
		for l := range d.Paths.Links(pairs[k].Src, first, n.Links) {
			uses = append(uses, engine.Use{Resource: l, Weight: 1})
		}
		return uses
	})
}

// runSchedule simulates a schedule whose transfers have the given routes, and returns the ends of the
// transfers.
func runSchedule(t *rapid.T, s *Schedule, n *engine.Network, routes *engine.Routes) []engine.Time {
	g := new(engine.Graph)
	s.Append(g, AppendOptions{})
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	for len(routes.Start) <= len(g.Tasks) { // milestones have no uses
		routes.Start = append(routes.Start, int32(len(routes.Uses)))
	}
	trace, err := flow.Run(t.Context(), g, n, routes, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return trace.End[:len(s.Transfers)]
}

// TestClasses: every transfer of a schedule ends when its class does, to a tick, on networks with and
// without symmetry, for all kinds of calls and algorithms. Teams and blocks of different sizes are
// drawn. On symmetric networks the classes are few.
func TestClasses(t *testing.T) {
	folded := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		o, n, ranks := drawSymmetric(t)
		call := Call{
			Kind:  rapid.SampledFrom([]Kind{AllReduce, ReduceScatter, AllGather, AllToAll}).Draw(t, "kind"),
			Group: numbers.Below(ranks),
			Bytes: rapid.SampledFrom([]int64{27720 * 64, 1000000}).Draw(t, "bytes"),
		}
		if ranks%2 == 0 && ranks > 2 && rapid.Bool().Draw(t, "teams") {
			call.Teams = []int{int(ranks / 2), int(ranks / 2)}
		}
		p := &Problem{Network: n, Call: call}
		if o != nil {
			p.Torus = o
		}
		row := rapid.SampledFrom(Table).Draw(t, "algorithm")

		full, err := row.Expand(t.Context(), p, Options{})
		if errors.Is(err, ErrUnserved) {
			t.Skip()
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := row.ExpandClasses(t.Context(), p, Options{}, nil)
		for err == nil {
			pairs, _ := s.Pairs()
			routes, classOf, fault := s.FoldRoutes(n, routePairs(t, n, pairs), nil)
			if fault == nil {
				checkClasses(t, full, s, n, routes)
				folded[row.Name]++
				return
			}
			if !errors.Is(fault, engine.ErrAsymmetric) || classOf == nil {
				t.Fatal(fault)
			}
			s, err = row.ExpandClasses(t.Context(), p, Options{}, classOf)
		}
		if !errors.Is(err, engine.ErrAsymmetric) {
			t.Fatal(err)
		}
	})
	t.Log(folded)
	for _, name := range []string{"ring", "bidirectional-ring", "bucket", "halving-doubling", "swing", "direct"} {
		if folded[name] == 0 {
			t.Errorf("no call of %s was folded", name)
		}
	}
}

// checkClasses fails if the schedule s of classes does not agree with the full schedule.
func checkClasses(t *rapid.T, full, s *Schedule, n *engine.Network, folded *engine.Routes) {
	pairs, pairOf := full.Pairs()
	if got, _ := s.Pairs(); !slices.Equal(got, pairs) {
		t.Fatalf("pairs %v, want %v", got, pairs)
	}
	ofPair := routePairs(t, n, pairs)
	routes := engine.NewRoutes(len(full.Transfers), func(uses []engine.Use, i int32) []engine.Use {
		return append(uses, ofPair.Of(pairOf[i])...)
	})
	want := runSchedule(t, full, n, routes)
	slices.Sort(want)

	var got []engine.Time
	for class, end := range runSchedule(t, s, n, folded) {
		c := s.classes
		for _, k := range c.pairClass {
			if k == c.pairClass[c.pairOf[class]] {
				got = append(got, slices.Repeat([]engine.Time{end}, int(c.perPair[class]))...)
			}
		}
	}
	slices.Sort(got)
	if len(got) != len(want) {
		t.Fatalf("%d transfers, want %d", len(got), len(want))
	}
	for i := range got {
		if d := got[i] - want[i]; d < -1 || d > 1 {
			t.Fatalf("transfer %d ends at %v, want %v", i, got[i], want[i])
		}
	}
}
