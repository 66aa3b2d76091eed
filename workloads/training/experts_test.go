package training_test

import (
	"math"
	"slices"
	"testing"

	"sim/workloads/collective"
	"sim/workloads/training"

	"pgregory.net/rapid"
)

// expertStep is one stage of a model with experts on 16 GPUs in nodes of 4.
func expertStep(t *testing.T) training.Spec {
	return training.Spec{
		Arch: mustModel(t, "deepseek-671b"), Choices: calibrated(300), Sequence: 4096, Microbatch: 1, Microbatches: 2,
		TP: 1, PP: 1, EP: 16, ETP: 1, GPUs: 16, Chunks: 1, NodeGPUs: 4, PassPieces: 61, Collectives: "graph",
	}
}

// expertCalls returns the dispatch and the combine of a forward pass.
func expertCalls(s *training.Spec) (dispatch, combine training.Call) {
	for _, c := range s.Calls(0, training.Forward) {
		if c.Dim == training.Expert && !c.Transposed {
			dispatch = c
		} else if c.Dim == training.Expert {
			combine = c
		}
	}
	return dispatch, combine
}

// sentBytes returns the bytes that GPU 0 sends inside its node and to other nodes.
func sentBytes(s *training.Spec, c training.Call) (inside, between int64) {
	for to := range s.StageGPUs() {
		if to < s.NodeGPUs {
			inside += c.Size(0, to)
		} else {
			between += c.Size(0, to)
		}
	}
	return inside, between
}

// TestExpertPrecisions checks that dispatch_bytes and combine_bytes set the bytes of their calls
// alone, and that 0 means the bytes of activations.
func TestExpertPrecisions(t *testing.T) {
	s := expertStep(t)
	usual, back := expertCalls(&s)
	if usual.Bytes != back.Bytes {
		t.Fatalf("got %d bytes to experts and %d back, want equal ones", usual.Bytes, back.Bytes)
	}
	s.DispatchBytes = 1.03125
	dispatch, combine := expertCalls(&s)
	if want := float64(usual.Bytes) * 1.03125 / 2; math.Abs(float64(dispatch.Bytes)-want) > 2 || combine.Bytes != usual.Bytes {
		t.Errorf("got %d bytes to experts and %d back, want %.0f and %d", dispatch.Bytes, combine.Bytes, want, usual.Bytes)
	}
	s.CombineBytes, s.ExpertCopies = 1, collective.CopyPerNode
	dispatch, combine = expertCalls(&s)
	if ratio := float64(dispatch.BetweenBytes) / float64(combine.BetweenBytes); math.Abs(ratio-1.03125) > 1e-4 {
		t.Errorf("got %d bytes to experts between nodes and %d back, want a ratio of 1.03125", dispatch.BetweenBytes, combine.BetweenBytes)
	}
}

// TestExpertCopies checks the bytes of a GPU by the expected numbers of copies: of 256 experts in 4
// nodes, 8 experts of a token are in 3.6 nodes and on 6.5 of 16 ranks.
func TestExpertCopies(t *testing.T) {
	s := expertStep(t)
	s.Arch.DenseLayers = 0
	token := 2 * float64(s.Arch.Hidden)           // bytes
	tokens := float64(s.Sequence) / float64(s.EP) // per GPU
	ranks, nodes := s.ExpertRouting().Expected()
	for copies, want := range map[string][2]float64{
		collective.CopyPerExpert: {8. / 16 * 3, 8. / 16 * 12},
		collective.CopyPerGPU:    {ranks / 16 * 3, ranks / 16 * 12},
		collective.CopyPerNode:   {ranks / 4 * 3, nodes / 4 * 3},
	} {
		s.ExpertCopies = copies
		c, _ := expertCalls(&s)
		inside, between := sentBytes(&s, c)
		got := [2]float64{float64(inside) / tokens / token, float64(between) / tokens / token}
		if math.Abs(got[0]-want[0]) > 1e-4 || math.Abs(got[1]-want[1]) > 1e-4 {
			t.Errorf("per %s: got %.4f copies inside nodes and between them, want %.4f", copies, got, want)
		}
	}
	s.ExpertCopies, s.ETP, s.EP = collective.CopyPerNode, 2, 8
	c, _ := expertCalls(&s)
	s.ETP, s.EP = 1, 16
	if wide, _ := expertCalls(&s); c.BetweenBytes != wide.BetweenBytes {
		t.Errorf("got %d bytes to another node if two GPUs share an expert, want %d as without", c.BetweenBytes, wide.BetweenBytes)
	}
}

// TestLoadSizes checks messages by the loads of experts. Equal loads give the mean sizes. If
// copies are not sent per expert, a GPU gets each token at most once. A larger load of the experts
// of a GPU never makes the messages to it smaller.
func TestLoadSizes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := expertStep(t)
		s.ExpertCopies = rapid.SampledFrom([]string{collective.CopyPerExpert, collective.CopyPerGPU, collective.CopyPerNode}).Draw(rt, "copies")
		s.ExpertNodes = rapid.IntRange(0, 4).Draw(rt, "nodes")
		loads := make([]int, s.Arch.Experts)
		for i := range loads {
			loads[i] = 100
		}
		s.ExpertLoads = [][]int{loads}
		c, _ := expertCalls(&s)
		for i, got := range s.LoadSizes(c, 0, 1) {
			if want := c.Size(i/16, i%16); got < want-1 || got > want+1 {
				rt.Fatalf("equal loads: got %d bytes from %d to %d, want %d", got, i/16, i%16, want)
			}
		}

		hot := rapid.IntRange(0, s.Arch.Experts-1).Draw(rt, "hot expert")
		loads[hot] = rapid.IntRange(200, 1000000).Draw(rt, "load")
		sizes, gpu := s.LoadSizes(c, 0, 1), hot/16
		allTokens := float64(s.Sequence) / 16 * float64(s.Arch.Hidden) * 2
		for from := range 16 {
			got := sizes[from*16+gpu]
			if got < c.Size(from, gpu) {
				rt.Fatalf("got %d bytes to the GPU of a hot expert, want at least %d", got, c.Size(from, gpu))
			}
			isInside := c.NodeGPUs > 0 && from/4 == gpu/4 // with copies of other nodes
			if s.ExpertCopies != collective.CopyPerExpert && !isInside && float64(got) > allTokens+1 {
				rt.Fatalf("got %d bytes to the GPU of a hot expert, want at most all tokens, %g", got, allTokens)
			}
		}
	})
}

// TestRedundantExperts checks the placement of experts with random loads. Every expert has a copy,
// every rank the same number of copies, and the shares add up to 1. Copies and a balanced
// placement never raise the largest share, up to the rounding of whole copies, and lower it if one
// expert has most of the load.
func TestRedundantExperts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := expertStep(t)
		s.Arch.Experts = 32
		loads := rapid.SliceOfN(rapid.IntRange(0, 1000), 32, 32).Draw(rt, "loads")
		loads[0]++ // not all are 0
		s.ExpertLoads = [][]int{loads}
		largest := func() float64 {
			sum, shares := 0.0, s.LoadShares(0, 1)
			for _, share := range shares {
				sum += share
			}
			if math.Abs(sum-1) > 1e-9 {
				rt.Fatalf("the shares add up to %v, want 1", sum)
			}
			return slices.Max(shares)
		}
		before := largest()
		s.ExtraExperts = 16 * rapid.IntRange(1, 6).Draw(rt, "copies per rank")
		after := largest()
		if after > before*1.2 {
			rt.Fatalf("%d copies: the largest share is %v, want at most about %v", s.ExtraExperts, after, before)
		}
		loads[7] = 100000
		s.ExtraExperts = 0
		before = largest()
		s.ExtraExperts = 16
		if after := largest(); after > before/2 {
			rt.Fatalf("a hot expert: the largest share is %v with copies and %v without, want less than half", after, before)
		}
	})
}

// TestExpertDrift checks that drift changes no share at age 0, and that the imbalance of experts
// that were placed by their loads grows with age.
func TestExpertDrift(t *testing.T) {
	s := expertStep(t)
	loads := make([]int, s.Arch.Experts)
	for i := range loads {
		loads[i] = 100 + i
	}
	s.ExpertLoads, s.ExtraExperts = [][]int{loads}, 16
	const seed = 7
	still := s.LoadShares(0, seed)
	s.ExpertDrift = 0.05
	if got := s.LoadShares(0, seed); !slices.Equal(got, still) {
		t.Errorf("got %v at age 0, want %v", got, still)
	}
	last := slices.Max(still)
	for _, age := range []int{10, 100, 1000} {
		s.ExpertAge = age
		got := slices.Max(s.LoadShares(0, seed))
		if got <= last {
			t.Errorf("got a largest share of %v after %d iterations, want more than %v", got, age, last)
		}
		last = got
	}
}
