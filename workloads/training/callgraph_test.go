package training_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/workloads/training"
)

// rate is the link rate of a full mesh. Transfers between different pairs share no link.
const rate = 400e9

// mesh returns a full mesh of n nodes and the routes of a graph's transfers.
func mesh(g *engine.Graph, n int) (*engine.Network, *engine.Routes) {
	net := &engine.Network{Nodes: int32(n)}
	for i := range int32(n * n) {
		net.Links = append(net.Links, engine.Link{From: i / int32(n), To: i % int32(n), Rate: rate})
	}
	r := &engine.Routes{Start: make([]int32, len(g.Tasks)+1)}
	for i, t := range g.Tasks {
		if t.Kind == engine.Transfer && t.Src != t.Dst {
			r.Uses = append(r.Uses, engine.Use{Resource: t.Src*int32(n) + t.Dst, Weight: 1})
		}
		r.Start[i+1] = int32(len(r.Uses))
	}
	return net, r
}

// expandDirect expands a call to simultaneous transfers between all pairs, and an
// all-reduce to two such rounds.
func expandDirect(g *engine.Graph, c training.Call, group, ready []int32) ([]int32, error) {
	rounds, bytes := 1, c.Bytes/int64(len(group))
	switch c.Kind {
	case training.AllReduce:
		rounds = 2
	case training.AllToAll:
		bytes = c.Bytes
	}
	last := ready
	for range rounds {
		done := make([]int32, len(group))
		for i := range group {
			done[i] = g.AddTask(engine.Task{})
			g.AddEdge(last[i], done[i], 0)
		}
		for i, src := range group {
			for k, dst := range group {
				if src != dst {
					id := g.AddTask(engine.Task{Kind: engine.Transfer, Src: src, Dst: dst, Flows: 1, Bytes: bytes})
					g.AddEdge(last[i], id, 0)
					g.AddEdge(id, done[k], 0)
					g.AddEdge(id, done[i], 0)
				}
			}
		}
		last = done
	}
	return last, nil
}

// directTime returns the duration of a call that expandDirect expands.
func directTime(t *testing.T, s training.Spec, c training.Call) engine.Time {
	ranks := int64(len(s.Groups(c, 0, 0)[0]))
	bits := 8 * float64(c.Bytes/ranks)
	switch c.Kind {
	case training.AllReduce:
		bits *= 2
	case training.AllToAll:
		bits = 8 * float64(c.Bytes)
	}
	d, err := engine.FromSeconds(bits / rate)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCompleteIsReduced compares an iteration with its calls in the graph with one whose
// passes are lengthened by the calls. Without contention, their makespans are equal to a
// tick per task, and so is the time exposed by each dimension.
func TestCompleteIsReduced(t *testing.T) {
	dense := training.Architecture{
		Layers: 12, Hidden: 1024, Vocab: 32000, Attention: "mha", Heads: 16, KVHeads: 16, HeadDim: 64, FFN: 4096,
	}
	experts := dense
	experts.Experts, experts.TopK, experts.ExpertFFN, experts.DenseLayers, experts.SharedExperts = 8, 2, 2048, 1, 1
	base := training.Spec{
		Arch: dense, Choices: calibrated(150), Sequence: 4096, Microbatch: 1, Microbatches: 6,
		TP: 2, PP: 4, EP: 1, ETP: 1, GPUs: 8, Schedule: training.OneFOneB, Chunks: 1,
	}
	for name, change := range map[string]func(*training.Spec){
		"sequence parallel":  func(*training.Spec) {},
		"all-reduce":         func(s *training.Spec) { s.Choices.SequenceParallel = false },
		"context":            func(s *training.Spec) { s.CP, s.GPUs = 4, 32 },
		"two pieces":         func(s *training.Spec) { s.PassPieces = 2 },
		"shares of layers":   func(s *training.Spec) { s.PP, s.GPUs = 5, 10 },
		"interleaved":        func(s *training.Spec) { s.Schedule, s.Chunks, s.PP, s.GPUs = training.Interleaved, 2, 3, 6 },
		"experts":            func(s *training.Spec) { s.Arch, s.EP, s.GPUs = experts, 4, 16 },
		"experts and layers": func(s *training.Spec) { s.Arch, s.EP, s.GPUs, s.Choices.StageSplit = experts, 8, 32, "layers" },
		"zero bubble":        func(s *training.Spec) { s.Schedule = training.ZBH1 },
		"both ends":          func(s *training.Spec) { s.Schedule, s.Chunks, s.Microbatches = training.DualPipe, 2, 8 },
		"recompute":          func(s *training.Spec) { s.Recompute = "full" },
		"scores again":       func(s *training.Spec) { s.Recompute = "selective" },
		"sharded gradients":  func(s *training.Spec) { s.GPUs, s.Sharding = 16, training.ShardGradients },
		"sharded parameters": func(s *training.Spec) { s.GPUs, s.Sharding, s.Prefetch = 16, training.ShardParameters, 1 },
		"nothing sharded":    func(s *training.Spec) { s.GPUs, s.Sharding = 16, training.ShardNothing },
		"replicas":           func(s *training.Spec) { s.GPUs = 16 },
		"slow replica":       func(s *training.Spec) { s.GPUs = 16 },
		"more replicas":      func(s *training.Spec) { s.GPUs, s.TP = 16, 1 },
	} {
		t.Run(name, func(t *testing.T) {
			s := base
			change(&s)
			var scale []float64
			if name == "slow replica" {
				scale = []float64{1, 1.5}
			}
			whole, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true, Expand: expandDirect, ComputeScale: scale})
			if err != nil {
				t.Fatal(err)
			}
			if g := whole.WithoutCalls(training.Sync); g != nil && s.Replicas() == 1 {
				whole.Graph = g // the ring of replicas does not include copies within a stage
			}
			n, r := mesh(whole.Graph, s.GPUs)
			complete := simulate(t, whole.Graph, n, r, flow.MaxMin).Makespan
			reduced := reducedTime(t, s, scale, training.Barrier)
			within := engine.Time(len(whole.Graph.Tasks))
			if strings.HasPrefix(name, "sharded") { // the last call of a pass follows its scatter
				within += directTime(t, s, s.Calls(0, training.Backward)[0])
			}
			if d := complete - reduced; d > within || d < -within {
				t.Errorf("%v complete, %v reduced, with %d tasks", complete, reduced, within)
			}
			for _, dim := range training.Dims[:3] {
				g := whole.WithoutCalls(dim)
				if g == nil {
					continue
				}
				n, r := mesh(g, s.GPUs)
				exposed := complete - simulate(t, g, n, r, flow.MaxMin).Makespan
				if d := exposed - (reduced - reducedTime(t, s, scale, dim)); d > within || d < -within || exposed <= 0 {
					t.Errorf("%v exposes %v, %v reduced", dim, exposed, reduced-reducedTime(t, s, scale, dim))
				}
			}
		})
	}
}

// reducedTime returns the makespan of s with passes lengthened by their calls, except the
// calls of one dimension.
func reducedTime(t *testing.T, s training.Spec, scale []float64, but training.Phase) engine.Time {
	t.Helper()
	it, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true, ComputeScale: scale})
	if err != nil {
		t.Fatal(err)
	}
	if err := it.Lengthen(func(v int, pass training.Phase) (engine.Time, error) {
		return s.CallTime(v, pass, func(c training.Call) (engine.Time, error) {
			if c.Dim == but {
				return 0, nil
			}
			return directTime(t, s, c), nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	// On a ring, each GPU sends (D-1)/D to one neighbour; expandDirect sends 1/D to each
	// of D-1 GPUs at once.
	for i := range it.Graph.Tasks {
		if it.Meta[i].Phase != training.Sync {
			continue
		}
		if s.Replicas() == 1 {
			it.Graph.Tasks[i] = engine.Task{} // between copies, which are left out above
		} else {
			it.Graph.Tasks[i].Bytes /= int64(s.Replicas() - 1)
		}
	}
	n, r := mesh(it.Graph, s.GPUs)
	return simulate(t, it.Graph, n, r, flow.MaxMin).Makespan
}

// TestPartsOfPasses checks the order and the duration of the compute tasks of divided
// passes. A forward pass computes attention, then the feed-forward network of each layer;
// a backward pass the opposite. They add up to the undivided pass.
//
// Attention of GPT-7B at 4096 tokens is (8 + 2) of 26 h^2 operations per token: four
// projections, and scores and values over half of the tokens on average.
func TestPartsOfPasses(t *testing.T) {
	s := training.Spec{
		Arch: mustModel(t, "gpt-7b"), Choices: calibrated(450), Sequence: 4096, Microbatch: 1, Microbatches: 2,
		TP: 2, PP: 4, EP: 1, ETP: 1, GPUs: 8, Chunks: 1,
	}
	it, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true, Expand: expandDirect})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true})
	if err != nil {
		t.Fatal(err)
	}
	whole := map[training.TaskMeta]engine.Time{}
	for i, m := range bare.Meta {
		whole[m] = bare.Graph.Tasks[i].Duration
	}
	parts := map[training.TaskMeta][]engine.Time{}
	for i, m := range it.Meta {
		if d := it.Graph.Tasks[i].Duration; d > 0 {
			parts[m] = append(parts[m], d)
		}
	}
	for m, p := range parts {
		sum := engine.Time(0)
		for k, d := range p {
			sum += d
			part := []float64{10. / 26, 16. / 26}[k%2]
			if m.Phase == training.Backward {
				part = 1 - part
			}
			if want := engine.Time(part / 8 * float64(whole[m])); d < want-2 || d > want+2 {
				t.Fatalf("part %d of %v takes %v, want %v", k, m, d, want)
			}
		}
		if len(p) != 16 || sum != whole[m] {
			t.Fatalf("%v has %d parts, %v, want 16 and %v", m, len(p), sum, whole[m])
		}
	}
	if len(parts) != 2*2*4 {
		t.Errorf("%d passes", len(parts))
	}
}

// TestDraws checks that the four all-to-alls of a layer and micro-batch share a draw that
// is unique to them, and that they alternate between dispatch and combine. With equal
// sizes there is no draw.
func TestDraws(t *testing.T) {
	s := training.Spec{
		Arch: mustModel(t, "mixtral-8x22b"), Choices: calibrated(500), Sequence: 2048, Microbatch: 1, Microbatches: 4,
		TP: 2, PP: 4, EP: 8, ETP: 1, GPUs: 64, Schedule: training.Interleaved, Chunks: 2,
	}
	for _, sizes := range []string{"uniform", "zipf"} {
		s.ExpertSizes = sizes
		draws := map[uint64][]bool{}
		firstRank := map[uint64]int32{}
		if _, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true, Expand: func(g *engine.Graph, c training.Call, group, ready []int32) ([]int32, error) {
			if c.Dim == training.Expert {
				draws[c.Draw] = append(draws[c.Draw], c.Transposed)
				if first, ok := firstRank[c.Draw]; ok && first != group[0] && sizes == "zipf" {
					t.Errorf("draw %d is of ranks %d and %d", c.Draw, first, group[0])
				}
				firstRank[c.Draw] = group[0]
			}
			return expandDirect(g, c, group, ready)
		}}); err != nil {
			t.Fatal(err)
		}
		if sizes == "uniform" {
			if len(draws) != 1 || draws[0] == nil {
				t.Errorf("%d draws of even sizes", len(draws))
			}
			continue
		}
		if want := 2 * 4 * 56; len(draws) != want { // replicas x micro-batches x layers
			t.Errorf("%d draws, want %d", len(draws), want)
		}
		for d, back := range draws {
			if !slices.Equal(back, []bool{false, true, false, true}) {
				t.Errorf("draw %d: %v", d, back)
			}
		}
	}
}

// TestExpandErrors checks that calls require all GPUs in the graph and one last task per
// rank.
func TestExpandErrors(t *testing.T) {
	s := smallSpec(training.OneFOneB, 2, 4, 2)
	for _, x := range []training.BuildOptions{
		{Expand: expandDirect}, {All: true, Expand: expandDirect}, {All: true, PerGPU: true, Expand: expandDirect, EarliestSync: make([][]engine.Time, 2)},
		{All: true, PerGPU: true, Expand: func(*engine.Graph, training.Call, []int32, []int32) ([]int32, error) { return nil, nil }},
		{All: true, PerGPU: true, Expand: func(*engine.Graph, training.Call, []int32, []int32) ([]int32, error) { return nil, fmt.Errorf("no") }},
	} {
		if _, err := training.Build(s, x); err == nil {
			t.Errorf("%+v is built", x)
		}
	}
	it, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true})
	if err != nil {
		t.Fatal(err)
	}
	if it.WithoutCalls(training.Sync) != nil {
		t.Error("a ring between replicas is taken for calls")
	}
}
