package calls

import (
	"math/rand/v2"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
)

// TestWithoutWideLinks checks that transfers through a switch of two stages end at the same times
// without the links inside the switch, except for rounding, and that these are the only links left out. A link that is
// slower than the outputs behind it stays.
func TestWithoutWideLinks(t *testing.T) {
	const gpus, blockSize, rate = 12, 3, 8e9
	random := rand.New(rand.NewPCG(4, 5))
	n := &engine.Network{Nodes: gpus + 1 + gpus/blockSize}
	link := func(from, to int32, rate float64) int32 {
		n.Links = append(n.Links, engine.Link{From: from, To: to, Rate: rate})
		return int32(len(n.Links)) - 1
	}
	var up, down, inside [gpus]int32
	for v := range int32(gpus) {
		if v%blockSize == 0 {
			inside[v] = link(gpus, gpus+1+v/blockSize, blockSize*rate)
		} else {
			inside[v] = inside[v-1]
		}
		up[v], down[v] = link(v, gpus, 3*rate), link(gpus+1+v/blockSize, v, rate)
	}

	g, r := &engine.Graph{}, &engine.Routes{Start: []int32{0}}
	for range 200 {
		a, b := random.Int32N(gpus), random.Int32N(gpus)
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: a, Dst: b, Flows: 1, Bytes: 1 + random.Int64N(1e6)})
		for _, l := range []int32{up[a], inside[b], down[b]} {
			r.Uses = append(r.Uses, engine.Use{Resource: l, Weight: 1})
		}
		r.Start = append(r.Start, int32(len(r.Uses)))
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}

	narrow := withoutWideLinks(n, r)
	for task := range int32(len(g.Tasks)) {
		if of, want := narrow.Of(task), []engine.Use{r.Of(task)[0], r.Of(task)[2]}; !slices.Equal(of, want) {
			t.Fatalf("task %d uses %v, want %v", task, of, want)
		}
	}
	var ends [2][]engine.Time
	for i, routes := range []*engine.Routes{r, narrow} {
		trace, err := flow.Run(t.Context(), g, n, routes, flow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = trace.End
	}
	const rounding = 2 // ticks
	for task, want := range ends[0] {
		if got := ends[1][task]; got < want-rounding || got > want+rounding {
			t.Errorf("without the links inside the switch, transfer %d ends at %v, want %v", task, got, want)
		}
	}

	n.Links[inside[0]].Rate /= 2
	for task, to := range g.Tasks {
		if uses := withoutWideLinks(n, r).Of(int32(task)); (len(uses) == 3) != (to.Dst < blockSize) {
			t.Fatalf("with a slower link, the transfer to %d uses %d links", to.Dst, len(uses))
		}
	}
}
