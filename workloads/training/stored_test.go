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
		{"1f1b", func(*training.Spec) {}, 0xbfc0d12ba40020ae},
		{"eager", func(s *training.Spec) { s.Schedule = training.Eager }, 0x5692b7d108311923},
		{"gpipe", func(s *training.Spec) { s.Schedule, s.Microbatches = training.GPipe, 3 }, 0xf0ea2e0cf78cfb07},
		{"interleaved", func(s *training.Spec) { s.Schedule, s.Chunks, s.PP, s.GPUs = training.Interleaved, 2, 3, 12 }, 0x4bf566aada9772d},
		{"zero bubble 1", func(s *training.Spec) { s.Schedule = training.ZBH1 }, 0x91961236565020bc},
		{"zero bubble 2", func(s *training.Spec) { s.Schedule, s.Microbatches = training.ZBH2, 7 }, 0xe262e2e9be6d4de9},
		{"both ends", func(s *training.Spec) { s.Schedule, s.Chunks, s.Microbatches = training.DualPipe, 2, 8 }, 0x9b20c2aac6b02400},
		{"one stage", func(s *training.Spec) { s.PP, s.GPUs, s.Microbatches = 1, 8, 2 }, 0x27830c021739b2d7},
		{"five stages", func(s *training.Spec) { s.PP, s.GPUs = 5, 20 }, 0xdc1db782111e7594},
		{"three replicas", func(s *training.Spec) { s.GPUs, s.Microbatches, s.Choices.Ring = 24, 2, "unidirectional" }, 0xe432d8501b0ec3cc},
		{"context", func(s *training.Spec) { s.CP, s.GPUs = 2, 32 }, 0x4334b9c478f8669},
		{"ring of keys", func(s *training.Spec) { s.CP, s.GPUs, s.ContextForm, s.Collectives = 4, 32, "ring", "graph" }, 0xf07d2cfcd30e84dd},
		{"no sequence parallelism", func(s *training.Spec) { s.Choices.SequenceParallel, s.PassPieces = false, 2 }, 0x6accb6469e2935e0},
		{"experts", func(s *training.Spec) { s.Arch, s.EP, s.GPUs = experts, 4, 32 }, 0xcd555007de17c201},
		{"experts of zipf", func(s *training.Spec) {
			s.Arch, s.EP, s.GPUs, s.ExpertSizes, s.ExpertExponent, s.Collectives = experts, 4, 16, "zipf", 0.7, "graph"
		}, 0xf1b54564779e7b96},
		{"shared experts", func(s *training.Spec) {
			s.Arch, s.EP, s.ETP, s.GPUs, s.Choices.StageSplit = experts, 4, 2, 32, "layers"
		}, 0x513d7a467365dc77},
		{"recompute", func(s *training.Spec) { s.Recompute = "full" }, 0xa11fc431728b86af},
		{"recompute scores", func(s *training.Spec) { s.Recompute = "selective" }, 0x99efc717a378fac9},
		{"gradients sharded", func(s *training.Spec) { s.Sharding, s.Buckets, s.OverlapSync = training.ShardGradients, 3<<20, true }, 0xb9572850502c47d6},
		{"parameters sharded", func(s *training.Spec) { s.Sharding, s.Prefetch = training.ShardParameters, 2 }, 0xe7249b96c124c70},
		{"nothing sharded", func(s *training.Spec) { s.Sharding, s.StoreScores = training.ShardNothing, true }, 0x3b8d219f84d555e8},
		{"optimizer", func(s *training.Spec) { s.OptimizerTime, s.Buckets, s.Collectives = 77_000_000, 20<<20, "graph" }, 0xcf8527858c858553},
		{"overlapped calls", func(s *training.Spec) {
			s.Collectives, s.OverlapCalls, s.OverlapSync, s.PassPieces = "graph", 0.6, true, 2
		}, 0x9784cc57f74f0dea},
		{"embedding", func(s *training.Spec) { s.Choices.Embedding, s.Choices.ConcurrentMicrobatches = true, 2 }, 0x997b450eeb52c41b},
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
		for v := range s.Virtual() {
			fmt.Fprintf(digest, "%.9g\n", []any{
				s.ForwardSeconds(v), s.Parameters(v), s.SyncBytes(v), s.Pieces(v), s.PieceLayers(v), s.SyncPieces(v), s.Shards(v), s.ExpertLayers(v), s.CopyBytes(v, 3),
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
		for _, x := range []training.Extent{{}, {All: true}, {All: true, PerGPU: true, Scale: make([]float64, s.Replicas())}, {All: true, PerGPU: true, Expand: direct}} {
			for i := range x.Scale {
				x.Scale[i] = 1 + float64(i)/4
			}
			it, err := training.Build(s, x)
			if err != nil {
				fmt.Fprintln(digest, "refused")
				continue
			}
			writeGraph(digest, it.Graph)
			fmt.Fprintln(digest, it.Meta, it.Nodes, it.Ready)
			for _, dim := range []training.Phase{training.Forward, training.Sync} {
				if g := it.Without(dim); g != nil && c.name == "1f1b" {
					writeGraph(digest, g)
				}
			}
		}
		if got := digest.Sum64(); got != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.name, got, c.want)
		}
	}
}
