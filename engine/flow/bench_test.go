package flow_test

import (
	"math/rand/v2"
	"testing"

	"sim/engine"
	"sim/engine/flow"
)

// pipeline returns an instance that resembles the reduced graph of a training step: chains of
// computes and transfers between 8 stages, and transfers across the stages at the end, over 16
// links and 32 network interfaces.
func pipeline(steps int) instance {
	rng := rand.New(rand.NewPCG(1, 2))
	in := instance{g: &engine.Graph{}, n: &engine.Network{Nodes: 2}, r: &engine.Routes{Start: []int32{0}}}
	for range 16 {
		in.n.Links = append(in.n.Links, engine.Link{To: 1, Rate: 100e9 * float64(1+rng.IntN(8))})
	}
	for range 32 {
		in.n.Groups = append(in.n.Groups, engine.Group{Rate: 400e9})
	}
	add := func(t engine.Task, after ...int32) int32 {
		id := in.g.AddTask(t)
		for _, a := range after {
			in.g.AddEdge(a, id, 0)
		}
		if t.Kind == engine.Transfer {
			for _, r := range []int32{int32(rng.IntN(16)), int32(16 + rng.IntN(16)), int32(32 + rng.IntN(16))} {
				in.r.Uses = append(in.r.Uses, engine.Use{Resource: r, Weight: 1 / float64(1+rng.IntN(4))})
			}
		}
		in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
		return id
	}
	last := make([]int32, 8)
	for s := range last {
		last[s] = add(engine.Task{})
	}
	for range steps {
		for s := range last {
			pass := add(engine.Task{Duration: engine.Time(1+rng.IntN(5)) * engine.Millisecond}, last[s])
			moved := add(engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 4, Bytes: 1 << 24}, pass)
			last[s] = pass
			last[(s+1)%8] = add(engine.Task{}, last[(s+1)%8], moved)
		}
	}
	for s := range last {
		add(engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 8, Bytes: 1 << 30}, last[s], last[(s+1)%8])
	}
	return in
}

// BenchmarkEvaluator simulates one graph repeatedly, as searches do.
func BenchmarkEvaluator(b *testing.B) {
	in := pipeline(128)
	if err := in.g.Freeze(); err != nil {
		b.Fatal(err)
	}
	for _, s := range []flow.Service{flow.MaxMin, flow.LevelPriority} {
		b.Run(name(s), func(b *testing.B) {
			e := in.evaluator(b, s)
			for b.Loop() {
				if _, ok := e.Makespan(engine.Never); !ok {
					b.Fatal("stalled")
				}
			}
		})
	}
	b.Run("resume", func(b *testing.B) {
		e := in.evaluator(b, flow.MaxMin)
		e.Fork([]int32{3}, engine.Never)
		for b.Loop() {
			if _, ok := e.Resume(engine.Never); !ok {
				b.Fatal("stalled")
			}
		}
	})
	b.Run("bound", func(b *testing.B) {
		e := in.evaluator(b, flow.MaxMin)
		for b.Loop() {
			e.Bound()
		}
	})
}
