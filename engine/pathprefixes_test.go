package engine_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
)

// TestPathPrefixes: for many flows that share paths, Paths.Check returns the same result as for
// separate paths, including the message.
func TestPathPrefixes(t *testing.T) {
	found := map[bool]bool{}
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.Int32Range(2, 6).Draw(t, "nodes")
		n := &engine.Network{Nodes: nodes}
		w := &engine.Paths{Degree: 2}
		for a := range nodes {
			n.Links = append(n.Links, engine.Link{From: a, To: (a + 1) % nodes, Rate: 1, Channels: 2}, engine.Link{From: a, To: (a + nodes - 1) % nodes, Rate: 1, Channels: 2})
			w.Link = append(w.Link, 2*a, 2*a+1)
		}
		for hops := range nodes {
			w.Add(slices.Repeat([]engine.Step{engine.MakeStep(0, int(hops)%2)}, int(hops))...)
			w.Add(slices.Repeat([]engine.Step{engine.MakeStep(1, 0)}, int(hops))...)
		}
		var flows []engine.Flow
		for k := range int32(3 * len(w.Step)) {
			a, hops, back := k%nodes, k*7%nodes, k%2
			to := a + hops
			if back == 1 {
				to = a + nodes - hops
			}
			flows, w.Class = append(flows, engine.Flow{Src: a, Dst: to % nodes}), append(w.Class, 2*hops+back)
		}
		spoilt := rapid.IntRange(0, 5).Draw(t, "spoilt")
		f := rapid.IntRange(0, len(flows)-1).Draw(t, "flow")
		switch spoilt {
		case 1:
			flows[f].Dst = (flows[f].Dst + 1) % nodes
		case 2:
			n.Links[f%len(n.Links)].Rate = 0
		case 3:
			w.Step[f%(len(w.Step)-1)] = engine.MakeStep(f%3, f%2)
		case 4:
			w.Start[f%len(w.Start)] = -1
		case 5:
			w.Class[f] = int32(f) % int32(len(w.Start))
		}
		separate := *w
		for len(separate.Start) < len(flows) {
			separate.Start = append(separate.Start[:len(separate.Start):len(separate.Start)], -1)
		}
		got, want := w.Check(context.Background(), n, flows), separate.Check(context.Background(), n, flows)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		found[want == nil] = true
	})
	if !found[true] || !found[false] {
		t.Error("the cases all pass, or all fail")
	}
}
