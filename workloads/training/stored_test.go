package training_test

import (
	"fmt"
	"hash/fnv"
	"io"
	"runtime"
	"testing"

	"sim/engine"
	"sim/workloads/training"
)

// writeGraph writes the tasks and edges of a graph.
func writeGraph(w io.Writer, g *engine.Graph) {
	for i := range g.Tasks {
		k := &g.Tasks[i]
		fmt.Fprintln(w, g.Name(int32(i)), k.Kind, k.Src, k.Dst, k.Flows, k.Bytes, k.Duration, k.Priority)
		for _, e := range g.Out(int32(i)) {
			fmt.Fprintln(w, e.To, e.Lag)
		}
	}
}

// TestStoredIterations: figures and graphs of specs are as stored, by the digest of each: calls, groups, shards, memory,
// programs, and all tasks and edges of one replica, of all replicas by stage and by GPU, and with calls in the graph.
func TestStoredIterations(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("digests are of amd64; other processors may round otherwise")
	}
	dense := training.Architecture{Layers: 12, Hidden: 1024, Vocab: 32000, Attention: "mha", Heads: 16, KVHeads: 4, HeadDim: 64, FFN: 4096}
	experts := dense
	experts.Experts, experts.TopK, experts.ExpertFFN, experts.DenseLayers, experts.SharedExperts = 8, 2, 2048, 1, 1
	base := training.Spec{
		Arch: dense, Choices: calibrated(150), Sequence: 4096, Microbatch: 1, Microbatches: 6,
		TP: 2, PP: 4, EP: 1, ETP: 1, GPUs: 16, Schedule: training.OneFOneB, Chunks: 1,
	}
	for _, c := range []struct {
		name string
		set  func(s *training.Spec)
		want uint64
	}{
		{"1f1b", func(*training.Spec) {}, 0x28f89da2d8d0cc10},
		{"eager", func(s *training.Spec) { s.Schedule = training.Eager }, 0x2e2dd69c462624a1},
		{"gpipe", func(s *training.Spec) { s.Schedule, s.Microbatches = training.GPipe, 3 }, 0xd5053f5166923311},
		{"interleaved", func(s *training.Spec) { s.Schedule, s.Chunks, s.PP, s.GPUs = training.Interleaved, 2, 3, 12 }, 0xf0f444282a794975},
		{"zero bubble 1", func(s *training.Spec) { s.Schedule = training.ZBH1 }, 0xd52c04e52e63d5fa},
		{"zero bubble 2", func(s *training.Spec) { s.Schedule, s.Microbatches = training.ZBH2, 7 }, 0x786e04ca322bd2bb},
		{"both ends", func(s *training.Spec) { s.Schedule, s.Chunks, s.Microbatches = training.DualPipe, 2, 8 }, 0x169f3d06a090c604},
		{"one stage", func(s *training.Spec) { s.PP, s.GPUs, s.Microbatches = 1, 8, 2 }, 0x782f00ab572bcc07},
		{"five stages", func(s *training.Spec) { s.PP, s.GPUs = 5, 20 }, 0x5997ff469a1deed4},
		{"three replicas", func(s *training.Spec) { s.GPUs, s.Microbatches, s.Choices.Ring = 24, 2, "unidirectional" }, 0x57ea05294bcc13e9},
		{"context", func(s *training.Spec) { s.CP, s.GPUs = 2, 32 }, 0x1ee5388f08a65bc0},
		{"ring of keys", func(s *training.Spec) { s.CP, s.GPUs, s.ContextForm, s.Collectives = 4, 32, "ring", "graph" }, 0x6d5255587af2eb01},
		{"no sequence parallelism", func(s *training.Spec) { s.Choices.SequenceParallel, s.PassPieces = false, 2 }, 0xfe3ec0e827a97ef0},
		{"experts", func(s *training.Spec) { s.Arch, s.EP, s.GPUs = experts, 4, 32 }, 0xcf1e31d748ddece0},
		{"experts of zipf", func(s *training.Spec) {
			s.Arch, s.EP, s.GPUs, s.ExpertSizes, s.ExpertExponent, s.Collectives = experts, 4, 16, "zipf", 0.7, "graph"
		}, 0xf328bc6050543138},
		{"shared experts", func(s *training.Spec) {
			s.Arch, s.EP, s.ETP, s.GPUs, s.Choices.StageSplit = experts, 4, 2, 32, "layers"
		}, 0x41b504667bb2c4ab},
		{"recompute", func(s *training.Spec) { s.Recompute = "full" }, 0x6af746283adf7367},
		{"recompute scores", func(s *training.Spec) { s.Recompute = "selective" }, 0x97c795bdecd3584b},
		{"gradients sharded", func(s *training.Spec) { s.Sharding, s.Buckets, s.OverlapSync = training.ShardGradients, 3<<20, true }, 0x4f50bafcba2f1b9a},
		{"parameters sharded", func(s *training.Spec) { s.Sharding, s.Prefetch = training.ShardParameters, 2 }, 0x6980478b6284b854},
		{"nothing sharded", func(s *training.Spec) { s.Sharding, s.StoreScores = training.ShardNothing, true }, 0x4883af0a9d9146ba},
		{"optimizer", func(s *training.Spec) { s.OptimizerTime, s.Buckets, s.Collectives = 77_000_000, 20<<20, "graph" }, 0xb7a04ac497a110a3},
		{"overlapped calls", func(s *training.Spec) {
			s.Collectives, s.OverlapCalls, s.OverlapSync, s.PassPieces = "graph", 0.6, true, 2
		}, 0x40e6b8e80fc814ba},
		{"copies in a stage", func(s *training.Spec) { s.Arch, s.EP, s.GPUs, s.HasCopySync = experts, 4, 32, true }, 0x376391c864a9572a},
		{"embedding", func(s *training.Spec) { s.Choices.Embedding, s.Choices.ConcurrentMicrobatches = true, 2 }, 0x915156354e0fff01},
	} {
		s := base
		c.set(&s)
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		digest := fnv.New64a()
		fmt.Fprintln(digest, s.PipelineBytes(), s.ExpertBytes(), s.StageCopies(), s.Neighbours(), s.ContractedPasses(), storedSteps(s.StepCalls()))
		for stage := range s.PP {
			fmt.Fprintf(digest, "%v %.9g\n", s.Program(stage), []any{s.Memory(stage)})
		}
		for v := range s.VirtualStages() {
			fmt.Fprintf(digest, "%.9g\n", []any{
				s.ForwardSeconds(v), s.Parameters(v), s.SyncBytes(v), s.Pieces(v), s.PieceLayers(v), s.SyncPieces(v), s.Shards(v), s.ExpertLayers(v), s.ModelCopyBytes(v, 3),
			})
			for _, pass := range []training.Phase{training.Forward, training.Backward, training.Sync} {
				calls := s.Calls(v, pass)
				fmt.Fprintln(digest, storedCalls(calls), s.Repeats(v, pass))
				for _, call := range calls {
					fmt.Fprintln(digest, s.Groups(call, s.Replicas()-1, v%s.PP))
				}
			}
			for kind := training.AllReduce; kind <= training.AllToAll; kind++ {
				calls, times := s.ShardCalls(v, kind)
				fmt.Fprintln(digest, storedCalls(calls), times, s.ShardBytes(v, kind))
			}
		}
		for _, x := range []training.BuildOptions{{}, {All: true}, {All: true, PerGPU: true, ComputeScale: make([]float64, s.Replicas())}, {All: true, PerGPU: true, Expand: expandDirect}} {
			for i := range x.ComputeScale {
				x.ComputeScale[i] = 1 + float64(i)/4
			}
			it, err := training.Build(s, x)
			if err != nil {
				fmt.Fprintln(digest, "refused")
				continue
			}
			writeGraph(digest, it.Graph)
			fmt.Fprintln(digest, it.Meta, it.Nodes, it.GradientsReady)
			replicas := 1
			if x.All {
				replicas = s.Replicas()
			}
			if p, err := it.Place(identicalReplicas(replicas, 8, 100e9)); err == nil {
				fmt.Fprintln(digest, p.Pods, p.NICs, p.Nodes, p.Copies, p.PeerEnds, p.PeerDirections)
			}
			for _, dim := range []training.Phase{training.Forward, training.Sync} {
				if g := it.WithoutCalls(dim); g != nil && c.name == "1f1b" {
					writeGraph(digest, g)
				}
			}
		}
		if got := digest.Sum64(); got != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.name, got, c.want)
		}
	}
}

// storedCall has the fields of a call that are part of the stored digests.
type storedCall struct {
	Dim                     training.Phase
	Kind                    training.CallKind
	Position                training.Position
	Bytes                   int64
	ForExpertWeights        bool
	Span                    training.ReplicaSpan
	WithinStage, Transposed bool
	Draw                    uint64
}

// storedStep has the fields of a call of a step that are part of the stored digests.
type storedStep struct {
	storedCall
	VirtualStage, Replicas, Count int
}

// storedCalls returns the stored fields of calls without messages between nodes.
func storedCalls(calls []training.Call) []storedCall {
	out := make([]storedCall, len(calls))
	for i, c := range calls {
		out[i] = storedCall{c.Dim, c.Kind, c.Position, c.Bytes, c.ForExpertWeights, c.Span, c.WithinStage, c.Transposed, c.Draw}
	}
	return out
}

// storedSteps returns the stored fields of calls of a step.
func storedSteps(calls []training.StepCall) (out []storedStep) {
	for _, c := range calls {
		out = append(out, storedStep{storedCalls([]training.Call{c.Call})[0], c.VirtualStage, c.Replicas, c.Count})
	}
	return out
}
