package training_test

import (
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/units"
	"sim/workloads/training"
)

// TestGradientPieces checks that two replicas of one stage synchronise their gradients
// piece by piece. A piece starts when the last of its layers is computed and the previous
// piece has arrived. All pieces together have the bytes of all gradients. It covers
// transfers between replicas, and calls in the graph, whose pieces may span several
// pieces of a pass.
func TestGradientPieces(t *testing.T) {
	base := training.Spec{
		Arch: mustModel(t, "palm-8b"), Choices: calibrated(127), Sequence: 2048, Microbatch: 1, Microbatches: 2,
		TP: 1, PP: 1, EP: 1, ETP: 1, GPUs: 2, Chunks: 1,
	}
	for _, graph := range []bool{false, true} {
		for _, parts := range []int{1, 2, 3, 7} {
			for _, slow := range []float64{1, 20} { // synchronisation is shorter, or longer, than computation
				s, x := base, training.BuildOptions{All: true, PerGPU: true}
				s.Choices.EffectiveTFLOPS = 127 * slow
				s.Buckets = units.Bytes(float64(s.Choices.GradientBytes)*s.Parameters(0)/float64(parts)) + 1
				pieces := parts
				if graph {
					pieces, s.PassPieces, s.Collectives, x.Expand = 12, 12, "graph", expandDirect
				}
				if got := s.SyncPieces(0); got != parts {
					t.Fatalf("%d parts, want %d", got, parts)
				}
				it, err := training.Build(s, x)
				if err != nil {
					t.Fatal(err)
				}
				n, r := mesh(it.Graph, s.GPUs)
				trace := simulate(t, it.Graph, n, r, flow.MaxMin)
				forward := engine.Time(s.ForwardSeconds(0) * float64(engine.Second))
				var transfers []int // from the first replica, in the order of pieces
				bytes := int64(0)
				for i, m := range it.Meta {
					if task := &it.Graph.Tasks[i]; m.Phase == training.Sync && task.Kind == engine.Transfer && task.Src == 0 {
						transfers = append(transfers, i)
						bytes += task.Bytes
					}
				}
				want := s.SyncBytes(0)
				if graph { // each of two ranks sends half
					want = 0
					for _, c := range s.Calls(0, training.Sync) {
						want += int64(parts) * (c.Bytes / 2)
					}
				}
				if bytes != want || len(transfers)%parts != 0 {
					t.Fatalf("graph %v, %d parts: %d transfers of %d bytes, want %d", graph, parts, len(transfers), bytes, want)
				}
				each, before := len(transfers)/parts, engine.Time(0)
				for part := range parts {
					last := (part + 1) * pieces / parts // pieces of the last backward pass computed before
					start := max(before, 4*forward+2*forward*engine.Time(last)/engine.Time(pieces))
					got := trace.Start[transfers[part*each]]
					if d := got - start; d > 100 || -d > 100 {
						t.Errorf("graph %v, %d parts, %gx: part %d starts at %v, want %v", graph, parts, slow, part, got, start)
					}
					before = trace.End[transfers[(part+1)*each-1]]
				}
			}
		}
	}
}

// TestExpertLayersOfPieces checks that a forward pass reaches the experts of its layers
// in order, and a backward pass in reverse order.
func TestExpertLayersOfPieces(t *testing.T) {
	const layers = 5
	s := training.Spec{
		Arch: training.Architecture{
			Layers: layers, Hidden: 256, Vocab: 1000, Attention: "mha", Heads: 4, KVHeads: 4, HeadDim: 64, FFN: 1024, Experts: 4, TopK: 2, ExpertFFN: 512,
		},
		Choices: calibrated(127), Sequence: 512, Microbatch: 1, Microbatches: 1, TP: 1, PP: 1, EP: 2, ETP: 1, GPUs: 2, Chunks: 1,
		Collectives: "graph", ExpertSizes: "loads",
	}
	var draws []uint64
	_, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true, Expand: func(g *engine.Graph, c training.Call, group, ready []int32) ([]int32, error) {
		if c.Dim == training.Expert {
			draws = append(draws, c.Draw)
		}
		return expandDirect(g, c, group, ready)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(draws) != 4*layers {
		t.Fatalf("%d all-to-alls, want %d", len(draws), 4*layers)
	}
	for i, got := range draws {
		want := uint64(1 + i/2)
		if i >= 2*layers {
			want = uint64(2*layers - i/2)
		}
		if got != want {
			t.Errorf("all-to-all %d is of layer %d, want %d", i, got, want)
		}
	}
}
