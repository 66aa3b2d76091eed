package training_test

import (
	"math"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/units"
	"sim/fabric/machine"
	"sim/workloads/training"
)

// TestOverlap compares the makespan on links without contention with a hand computation.
// Computation that does not wait for calls takes the maximum of the two times. With
// piecewise synchronisation, each piece starts when it is computed and the previous one
// has arrived.
func TestOverlap(t *testing.T) {
	base := training.Spec{
		Arch: mustModel(t, "palm-8b"), Choices: calibrated(127), Sequence: 2048, Microbatch: 1, Microbatches: 1,
		TP: 1, PP: 1, EP: 1, ETP: 1, GPUs: 4, Chunks: 1, PassPieces: 4,
	}
	ends := func(s training.Spec) (engine.Time, *training.Iteration) {
		it, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true, Expand: expandDirect})
		if err != nil {
			t.Fatal(err)
		}
		n, r := mesh(it.Graph, s.GPUs)
		return simulate(t, it.Graph, n, r, flow.MaxMin).Makespan, it
	}
	check := func(what string, got, want engine.Time, it *training.Iteration) {
		if d := got - want; d > engine.Time(len(it.Graph.Tasks)) || -d > engine.Time(len(it.Graph.Tasks)) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	forward := func(s training.Spec) engine.Time { return engine.Time(s.ForwardSeconds(0) * float64(engine.Second)) }
	for _, part := range []float64{0, 0.3, 1} {
		for _, slow := range []float64{1, 20} { // calls are shorter, or longer, than computation
			s := base
			s.TP, s.OverlapCalls, s.Choices.EffectiveTFLOPS = 4, part, 127*slow
			got, it := ends(s)
			want := engine.Time(0)
			for _, pass := range []training.Phase{training.Forward, training.Backward} {
				compute := forward(s) / 4
				if pass == training.Backward {
					compute *= 2
				}
				calls := s.Calls(0, pass) // a gather before a layer, a scatter after it
				if len(calls) != 2 || calls[0].Kind != training.AllGather || calls[1].Kind != training.ReduceScatter || calls[1].Position != training.LayerEnd {
					t.Fatalf("a layer calls %v", calls)
				}
				// Attention and network read the same input. The first part of a piece
				// waits for the scatter of the previous piece and the gather; the second
				// part waits for nothing.
				one := directTime(t, s, calls[0])
				for piece := range engine.Time(4) {
					before := one
					if piece > 0 {
						before += one
					}
					// The part that does not wait: attention in a forward pass, the
					// network in a backward pass.
					first := attentionPart(s)
					if pass == training.Backward {
						first = 1 - first
					}
					d := engine.Time(float64(compute) * first)
					early := engine.Time(float64(d) * part)
					want += max(before, early) + d - early + compute - d
				}
				want += one
			}
			check("calls", got, want, it)
		}
	}
	for _, slow := range []float64{1, 20} {
		s := base
		s.OverlapSync, s.Choices.EffectiveTFLOPS = true, 127*slow
		got, it := ends(s)
		each := engine.Time(0)
		for _, c := range s.Calls(0, training.Sync) {
			each += directTime(t, s, c)
		}
		end := engine.Time(0)
		for piece := range engine.Time(4) {
			end = max(end, forward(s)+2*forward(s)/4*(piece+1)) + each
		}
		check("synchronisation", got, end, it)
		s.OverlapSync = false
		after, it := ends(s)
		check("synchronisation at the end", after, 3*forward(s)+4*each, it)
	}
}

// attentionPart returns the fraction of a pass of PaLM spent on attention: its parameters
// are h^2 (2 + 2/heads), the network has 12 h^2, and scores cover half of the
// tokens.
func attentionPart(s training.Spec) float64 {
	h, n := float64(s.Arch.Hidden), float64(s.Sequence)
	attention := 2*(2*h*h+2*h*256) + 2*n*h
	return attention / (attention + 2*12*h*h)
}

// TestBuckets compares bucketed synchronisation of two replicas of one stage with a hand
// computation: each bucket starts when it is computed and the previous one has arrived,
// and the optimizer follows the last. Recomputation adds a forward pass or its scores.
func TestBuckets(t *testing.T) {
	base := training.Spec{
		Arch: mustModel(t, "palm-8b"), Choices: calibrated(127), Sequence: 2048, Microbatch: 1, Microbatches: 3,
		TP: 1, PP: 1, EP: 1, ETP: 1, GPUs: 2, Chunks: 1,
	}
	ends := func(s training.Spec) engine.Time {
		it, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true})
		if err != nil {
			t.Fatal(err)
		}
		n, r := mesh(it.Graph, s.GPUs)
		return simulate(t, it.Graph, n, r, flow.MaxMin).Makespan
	}
	sync := func(s training.Spec) engine.Time {
		it, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range it.Graph.Tasks {
			if it.Graph.Tasks[i].Kind != engine.Transfer {
				it.Graph.Tasks[i].Duration = 0
			}
		}
		n, r := mesh(it.Graph, s.GPUs)
		return simulate(t, it.Graph, n, r, flow.MaxMin).Makespan
	}
	const within = 100 // ticks, for rounding of each part
	gradients := float64(base.Choices.GradientBytes) * base.Parameters(0)
	for _, parts := range []int{1, 2, 7} {
		for _, slow := range []float64{1, 20} {
			s := base
			s.Choices.EffectiveTFLOPS = 127 * slow
			s.Buckets = units.Bytes(gradients/float64(parts)) + 1
			if got := s.SyncPieces(0); got != parts {
				t.Fatalf("%d buckets of %v, want %d", got, s.Buckets, parts)
			}
			s.OptimizerTime = 3 * engine.Millisecond
			forward, each := engine.Time(s.ForwardSeconds(0)*float64(engine.Second)), sync(base)/engine.Time(parts)
			end := engine.Time(0)
			for part := range engine.Time(parts) {
				end = max(end, forward*3+2*forward*2+2*forward*(part+1)/engine.Time(parts)) + each
			}
			if got, want := ends(s), end+3*engine.Millisecond; got-want > within || want-got > within {
				t.Errorf("%d buckets, %gx: %v, want %v", parts, slow, got, want)
			}
		}
	}
	plain, scores := ends(base), 2*2048*base.Arch.AttentionWidth()*32/(127e12)*2048
	for recompute, more := range map[string]float64{
		"none": 0, "full": base.ForwardSeconds(0), "selective": scores, "products": (base.ForwardSeconds(0) - scores) / 2,
	} {
		s := base
		s.Recompute = recompute
		if got, want := ends(s), plain+engine.Time(3*more*float64(engine.Second)); got-want > within || want-got > within {
			t.Errorf("recompute %q: %v, want %v", recompute, got, want)
		}
	}
}

// TestRingAttention compares ring attention on links without contention with a hand
// computation. Keys and values arrive block by block while scores are computed, so a
// layer waits for the maximum of the two and for the last block. In the backward pass,
// gradients travel around the ring with them. Projections before and after the scores
// overlap nothing.
func TestRingAttention(t *testing.T) {
	base := training.Spec{
		Arch: mustModel(t, "gpt-7b"), Choices: calibrated(127), Sequence: 4096, Microbatch: 1, Microbatches: 1,
		TP: 1, CP: 4, PP: 1, EP: 1, ETP: 1, GPUs: 4, Chunks: 1, PassPieces: 4, Collectives: "graph", ContextForm: "ring",
	}
	base.Arch.Layers = 4
	for _, slow := range []float64{0.1, 1, 100} {
		s := base
		s.Choices.EffectiveTFLOPS *= slow
		it, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true, Expand: expandDirect})
		if err != nil {
			t.Fatal(err)
		}
		graph := it.WithoutCalls(training.Sync) // without the synchronisation of copies in a stage
		n, r := mesh(graph, s.GPUs)
		got := simulate(t, graph, n, r, flow.MaxMin).Makespan
		gather := directTime(t, s, s.Calls(0, training.Forward)[0])
		layer := engine.Time(s.ForwardSeconds(0) / 4 * float64(engine.Second))
		// Operations per token: 8 h^2 for the projections of multi-head attention, 2 h n
		// for causal scores, and 16 h^2 in the network.
		h, tokens := float64(s.Arch.Hidden), float64(s.Sequence)
		scores := engine.Time(float64(layer) * 2 * h * tokens / (8*h*h + 2*h*tokens + 2*s.Arch.FFNParameters()))
		want := engine.Time(0)
		// One gather forward; a gather and a scatter backward, which take twice as long.
		for _, pass := range []engine.Time{1, 2} {
			a, last := pass*scores, pass*scores/4
			want += 4 * (max(a-last, pass*gather) + last + pass*(layer-scores))
		}
		if d := got - want; d > engine.Time(len(graph.Tasks)) || -d > engine.Time(len(graph.Tasks)) {
			t.Errorf("%gx: %v, want %v", slow, got, want)
		}
	}
}

// TestBlockingSends compares GPipe with a hand computation for two stages and three micro-batches,
// with forward passes of time f and transfers of time x. A step takes 12f + 2x if sends do not
// block. With blocking sends it takes 12f + 6x: the first stage waits for two transfers between its
// forward passes, and the second stage for two between its backward passes. The test also checks
// that blocking sends never shorten a step of another schedule.
func TestBlockingSends(t *testing.T) {
	ends := func(s training.Spec, blocking bool) engine.Time {
		s.BlockingSends = blocking
		it, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true, Expand: expandDirect})
		if err != nil {
			t.Fatal(err)
		}
		n, r := mesh(it.Graph, s.GPUs)
		return simulate(t, it.Graph, n, r, flow.MaxMin).Makespan
	}
	s := training.Spec{
		Arch: mustModel(t, "gpt-7b"), Choices: calibrated(450), Sequence: 4096, Microbatch: 1, Microbatches: 3,
		TP: 1, PP: 2, EP: 1, ETP: 1, GPUs: 2, Chunks: 1, PassPieces: 1, Collectives: "graph", Schedule: training.GPipe,
	}
	f := engine.Time(s.ForwardSeconds(0) * float64(engine.Second))
	transfer := (ends(s, false) - 12*f) / 2
	if got, want := ends(s, true), 12*f+6*transfer; difference(got, want) > 100 || transfer <= 0 {
		t.Errorf("transfers of %v: got %v with blocking sends, want %v", transfer, got, want)
	}
	for _, schedule := range []string{training.OneFOneB, training.Interleaved, training.GPipe, training.ZBH1} {
		s.Schedule, s.PP, s.GPUs, s.Microbatches, s.Chunks = schedule, 4, 4, 8, 1
		if schedule == training.Interleaved {
			s.Chunks = 2
		}
		if free, blocking := ends(s, false), ends(s, true); blocking <= free {
			t.Errorf("%s: got %v with blocking sends, want more than %v", schedule, blocking, free)
		}
	}
}

// TestFrozen checks that a step with frozen parameters lacks exactly the computation of weight
// gradients and the synchronisation: with one micro-batch on one stage, a forward pass of time f is
// followed by a backward pass of f and twice the attention scores, which have no weights.
func TestFrozen(t *testing.T) {
	s := training.Spec{
		Arch: mustModel(t, "gpt-7b"), Choices: calibrated(450), Sequence: 4096, Microbatch: 1, Microbatches: 1,
		TP: 1, PP: 1, EP: 1, ETP: 1, GPUs: 4, Chunks: 1, PassPieces: 1, Collectives: "graph", Frozen: true,
	}
	it, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true, Expand: expandDirect})
	if err != nil {
		t.Fatal(err)
	}
	n, r := mesh(it.Graph, s.GPUs)
	got := simulate(t, it.Graph, n, r, flow.MaxMin).Makespan
	a := &s.Arch
	scores := 2 * float64(s.Sequence) * a.AttentionWidth() * float64(a.Layers) // operations per token
	want := 2*s.ForwardSeconds(0) + scores*float64(s.Sequence)/450e12
	if math.Abs(got.Seconds()-want) > 1e-6*want {
		t.Errorf("got %v, want %.9f s", got, want)
	}
}

// TestJitter checks that the compute time of a step grows by the slowdown of the slowest GPU and that
// zero jitter changes nothing.
func TestJitter(t *testing.T) {
	s := training.Spec{
		Arch: mustModel(t, "gpt-7b"), Choices: calibrated(450), Sequence: 4096, Microbatch: 1, Microbatches: 4,
		TP: 1, PP: 2, EP: 1, ETP: 1, GPUs: 64, Chunks: 1,
	}
	seconds := func(jitter float64) float64 {
		s.Speed.Variation = machine.Variation{Jitter: jitter}
		it, err := training.Build(s, training.BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, x := range it.Graph.Tasks {
			if it.Meta[i].Phase.Computes() {
				sum += x.Duration.Seconds()
			}
		}
		return sum
	}
	exact, step := seconds(0), machine.Variation{Jitter: 0.02}
	if got, want := seconds(0.02), exact*step.Slowdown(64); math.Abs(got-want) > 1e-9*want || got < 1.04*exact {
		t.Errorf("jitter of 2 %%: got %g s, want %g s", got, want)
	}
	want := 3 * 8 * s.ForwardSeconds(0) // forward and backward passes of four micro-batches in two stages
	if math.Abs(exact-want) > 1e-9*want {
		t.Errorf("no jitter: got %g s, want %g s", exact, want)
	}
}

// TestSyncAtEnd checks that gradients of all chunks of a stage wait for its last pass: the first
// synchronisation of the last stage starts when its passes have ended, and not before.
func TestSyncAtEnd(t *testing.T) {
	s := training.Spec{
		Arch: mustModel(t, "gpt-7b"), Choices: calibrated(450), Sequence: 4096, Microbatch: 1, Microbatches: 4,
		TP: 1, PP: 2, EP: 1, ETP: 1, GPUs: 4, Schedule: training.Interleaved, Chunks: 2,
	}
	for _, atEnd := range []bool{false, true} {
		s.SyncAtEnd = atEnd
		it, err := training.Build(s, training.BuildOptions{All: true})
		if err != nil {
			t.Fatal(err)
		}
		for stage := range s.PP {
			first, last := it.GradientsReady[0][stage], it.GradientsReady[0][stage+s.PP]
			if (first[0] == last[0]) != atEnd {
				t.Errorf("stage %d, at the end %t: chunks are ready after tasks %v and %v", stage, atEnd, first, last)
			}
		}
	}
}

// TestHiddenShare checks that a step lasts longer if fewer calls overlap with computation, and as long
// as without overlap if none does.
func TestHiddenShare(t *testing.T) {
	s := training.Spec{
		Arch: mustModel(t, "gpt-7b"), Choices: calibrated(450), Sequence: 4096, Microbatch: 1, Microbatches: 2,
		TP: 4, PP: 1, EP: 1, ETP: 1, GPUs: 4, Chunks: 1, Collectives: "graph", OverlapCalls: 0.75,
	}
	ends := func(hidden float64) engine.Time {
		s.HiddenCalls = hidden
		it, err := training.Build(s, training.BuildOptions{All: true, PerGPU: true, Expand: expandDirect})
		if err != nil {
			t.Fatal(err)
		}
		n, r := mesh(it.Graph, s.GPUs)
		return simulate(t, it.Graph, n, r, flow.MaxMin).Makespan
	}
	all, half, none := ends(1), ends(0.5), ends(1e-9)
	if all >= half || half >= none {
		t.Errorf("got %v, %v and %v if all, half and no calls are hidden, want increasing times", all, half, none)
	}
	s.OverlapCalls = 0
	if got := ends(1); got != none {
		t.Errorf("got %v without hidden calls, want %v as without overlap", none, got)
	}
	if got, want := half-all, (none-all)/2; got < want*9/10 || got > want*11/10 {
		t.Errorf("half of the calls expose %v, want about %v", got, want)
	}
}
