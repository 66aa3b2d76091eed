package flow_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"testing"

	"sim/engine"
	"sim/engine/flow"
)

// mixedInstance returns a random graph of computes and transfers. Each transfer uses up to three links and
// groups with weights, some with a rate limit per flow. Links may change their rates during the run.
func mixedInstance(rng *rand.Rand) instance {
	in := instance{g: &engine.Graph{}, n: &engine.Network{Nodes: 2}, r: &engine.Routes{Start: []int32{0}}}
	rate := func() float64 { return []float64{100e9, 200e9, 300e9, 400e9, 700e9}[rng.IntN(5)] }
	links := 1 + rng.IntN(4)
	for range links {
		in.n.Links = append(in.n.Links, engine.Link{To: 1, Rate: rate()})
	}
	for range rng.IntN(3) {
		in.n.Groups = append(in.n.Groups, engine.Group{Rate: rate()})
	}
	for i := range int32(2 + rng.IntN(11)) {
		k := engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 1 + rng.Int32N(4), Bytes: []int64{0, 50_000, 100_000, 150_000, 1_000_003}[rng.IntN(5)], Priority: rng.Int64N(3) - 1}
		limit := 0.0
		if rng.IntN(4) == 0 {
			k = engine.Task{Duration: engine.Time(rng.IntN(4)) * 1000_000}
		} else {
			for _, r := range rng.Perm(in.n.Resources())[:rng.IntN(min(3, in.n.Resources())+1)] {
				in.r.Uses = append(in.r.Uses, engine.Use{Resource: int32(r), Weight: []float64{1, 1, 0.5, 2, 1. / 3}[rng.IntN(5)]})
			}
			if len(in.r.Uses) == int(in.r.Start[i]) || rng.IntN(3) == 0 {
				limit = rate() / 4
			}
		}
		in.g.AddTask(k)
		in.r.Start, in.r.FlowCap = append(in.r.Start, int32(len(in.r.Uses))), append(in.r.FlowCap, limit)
		for j := range i {
			if rng.IntN(4) == 0 {
				in.g.AddEdge(j, i, engine.Time(rng.IntN(3))*500_000)
			}
		}
	}
	for at := range engine.Time(rng.IntN(5)) {
		in.n.Changes = append(in.n.Changes, engine.Change{At: (at + 1) * 700_000, Link: rng.Int32N(int32(links)), Rate: rate()})
	}
	if err := in.g.Freeze(); err != nil {
		panic(err)
	}
	return in
}

// TestStoredPlays: starts, ends, rates and events of seeded instances under each service, and their bounds, are as
// stored, by the digest of each.
func TestStoredPlays(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("digests are of amd64; other processors may round otherwise")
	}
	want := map[flow.Service]uint64{
		flow.MaxMin:        0x151451403fb29e9e,
		flow.LevelPriority: 0x4b0ddc9835b427f8,
		flow.TailPriority:  0x8ae3b595a9cc371e,
		flow.FixedPriority: 0x9b5eaaa634494584,
	}
	for _, s := range services {
		rng := rand.New(rand.NewPCG(1, 131))
		digest := fnv.New64a()
		for range 250 {
			in := mixedInstance(rng)
			tr := in.run(t, s)
			fmt.Fprintf(digest, "%d %d %d %d\n", tr.Start, tr.End, tr.Makespan, tr.Events)
			for i := range int32(len(in.g.Tasks)) {
				for _, step := range tr.Rates(i) {
					fmt.Fprintf(digest, "%d %.9g\n", step.At, step.Rate)
				}
			}
			e := in.evaluator(t, s)
			makespan, ok := e.Makespan(engine.Never)
			bound, work := e.QueueBound(context.Background(), unlimitedWork)
			fmt.Fprintln(digest, makespan, ok, e.Bound(), bound, work, e.Events())
			for r := range int32(in.n.Resources()) { // at half the rates, one after the other
				e.SetRate(r, in.n.Rate(r)/2)
				half, ok := e.Makespan(tr.Makespan + tr.Makespan/4)
				fmt.Fprintln(digest, half, ok, e.Bound(), e.Work())
			}
		}
		if got := digest.Sum64(); got != want[s] {
			t.Errorf("%v: digest %#x, want %#x", s, got, want[s])
		}
	}
}
