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
		{"1f1b", func(*training.Spec) {}, 0xc2e9ac537c0299a0},
		{"eager", func(s *training.Spec) { s.Schedule = training.Eager }, 0xb3ebcb839afef651},
		{"gpipe", func(s *training.Spec) { s.Schedule, s.Microbatches = training.GPipe, 3 }, 0x1618e3330d8d02a1},
		{"interleaved", func(s *training.Spec) { s.Schedule, s.Chunks, s.PP, s.GPUs = training.Interleaved, 2, 3, 12 }, 0x4bf566aada9772d},
		{"zero bubble 1", func(s *training.Spec) { s.Schedule = training.ZBH1 }, 0xb1cc5c5946a9208a},
		{"zero bubble 2", func(s *training.Spec) { s.Schedule, s.Microbatches = training.ZBH2, 7 }, 0x46f290d37ae6fe8b},
		{"both ends", func(s *training.Spec) { s.Schedule, s.Chunks, s.Microbatches = training.DualPipe, 2, 8 }, 0xd4c377099625d3b4},
		{"one stage", func(s *training.Spec) { s.PP, s.GPUs, s.Microbatches = 1, 8, 2 }, 0x27830c021739b2d7},
		{"five stages", func(s *training.Spec) { s.PP, s.GPUs = 5, 20 }, 0xdc1db782111e7594},
		{"three replicas", func(s *training.Spec) { s.GPUs, s.Microbatches, s.Choices.Ring = 24, 2, "unidirectional" }, 0xc98c062f437cab99},
		{"context", func(s *training.Spec) { s.CP, s.GPUs = 2, 32 }, 0xac22bb835e491b10},
		{"ring of keys", func(s *training.Spec) { s.CP, s.GPUs, s.ContextForm, s.Collectives = 4, 32, "ring", "graph" }, 0xff1650f0c2ef18f1},
		{"no sequence parallelism", func(s *training.Spec) { s.Choices.SequenceParallel, s.PassPieces = false, 2 }, 0x7884837f5a692dc0},
		{"experts", func(s *training.Spec) { s.Arch, s.EP, s.GPUs = experts, 4, 32 }, 0xf093efa3bc0fa1e0},
		{"experts of zipf", func(s *training.Spec) {
			s.Arch, s.EP, s.GPUs, s.ExpertSizes, s.ExpertExponent, s.Collectives = experts, 4, 16, "zipf", 0.7, "graph"
		}, 0xdeb7109a9ca95c68},
		{"shared experts", func(s *training.Spec) {
			s.Arch, s.EP, s.ETP, s.GPUs, s.Choices.StageSplit = experts, 4, 2, 32, "layers"
		}, 0x6e622b1e835896fb},
		{"recompute", func(s *training.Spec) { s.Recompute = "full" }, 0xf4f75f2a3137fd17},
		{"recompute scores", func(s *training.Spec) { s.Recompute = "selective" }, 0xeb60713f1f9cccdb},
		{"gradients sharded", func(s *training.Spec) { s.Sharding, s.Buckets, s.OverlapSync = training.ShardGradients, 3<<20, true }, 0xf4e51fdfd0471aaa},
		{"parameters sharded", func(s *training.Spec) { s.Sharding, s.Prefetch = training.ShardParameters, 2 }, 0x3909b7a004f862c4},
		{"nothing sharded", func(s *training.Spec) { s.Sharding, s.StoreScores = training.ShardNothing, true }, 0x7b6224376b18b16a},
		{"optimizer", func(s *training.Spec) { s.OptimizerTime, s.Buckets, s.Collectives = 77_000_000, 20<<20, "graph" }, 0x599bfe47314adb93},
		{"overlapped calls", func(s *training.Spec) {
			s.Collectives, s.OverlapCalls, s.OverlapSync, s.PassPieces = "graph", 0.6, true, 2
		}, 0x9e1457e15a7187aa},
		{"copies in a stage", func(s *training.Spec) { s.Arch, s.EP, s.GPUs, s.HasCopySync = experts, 4, 32, true }, 0xacdd99567e1d470a},
		{"embedding", func(s *training.Spec) { s.Choices.Embedding, s.Choices.ConcurrentMicrobatches = true, 2 }, 0xab5d7b57a1d45ec1},
	} {
		s := base
		c.set(&s)
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		digest := fnv.New64a()
		fmt.Fprintln(digest, s.PipelineBytes(), s.ExpertBytes(), s.StageCopies(), s.Neighbours(), s.ContractedPasses(), s.StepCalls())
		for stage := range s.PP {
			fmt.Fprintf(digest, "%v %.9g\n", s.Program(stage), []any{s.Memory(stage)})
		}
		for v := range s.VirtualStages() {
			fmt.Fprintf(digest, "%.9g\n", []any{
				s.ForwardSeconds(v), s.Parameters(v), s.SyncBytes(v), s.Pieces(v), s.PieceLayers(v), s.SyncPieces(v), s.Shards(v), s.ExpertLayers(v), s.ModelCopyBytes(v, 3),
			})
			for _, pass := range []training.Phase{training.Forward, training.Backward, training.Sync} {
				calls := s.Calls(v, pass)
				fmt.Fprintln(digest, calls, s.Repeats(v, pass))
				for _, call := range calls {
					fmt.Fprintln(digest, s.Groups(call, s.Replicas()-1, v%s.PP))
				}
			}
			for kind := training.AllReduce; kind <= training.AllToAll; kind++ {
				calls, times := s.ShardCalls(v, kind)
				fmt.Fprintln(digest, calls, times, s.ShardBytes(v, kind))
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
