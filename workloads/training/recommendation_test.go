package training_test

import (
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/workloads/training"
)

// TestRecommendation compares the makespan of a step on links without contention with a
// hand computation.
func TestRecommendation(t *testing.T) {
	base := training.RecommendationModel{
		GPUs: 4, Samples: 256, Tables: 26, Width: 128, Pooling: 8, RowBytes: 4, MemoryRate: 9.6e12, EmbeddingBytes: 2,
		Dense: 16_000_000, GradientBytes: 4, Operations: 2, Bottom: 0.25, BackwardRatio: 2, EffectiveTFLOPS: 80, Pieces: 3,
	}
	seconds := func(s float64) engine.Time { return engine.Time(s * float64(engine.Second)) }
	for name, change := range map[string]func(*training.RecommendationModel){
		"as it is":        func(*training.RecommendationModel) {},
		"one piece":       func(s *training.RecommendationModel) { s.Pieces = 1 },
		"slow arithmetic": func(s *training.RecommendationModel) { s.EffectiveTFLOPS = 0.5 },
		"slow memory":     func(s *training.RecommendationModel) { s.MemoryRate /= 100 },
		"no bottom":       func(s *training.RecommendationModel) { s.Bottom = 0 },
		"pipelined":       func(s *training.RecommendationModel) { s.Pipelined = true },
		"slow, pipelined": func(s *training.RecommendationModel) { s.Pipelined, s.EffectiveTFLOPS = true, 0.5 },
	} {
		s := base
		change(&s)
		it, err := training.BuildRecommendation(&s, expandDirect)
		if err != nil {
			t.Fatal(err)
		}
		n, r := mesh(it.Graph, s.GPUs)
		// Gradients of embeddings and of dense networks share links. Each is therefore
		// checked with the other taking no time.
		g := it.WithoutCalls(training.Expert)
		reduced := simulate(t, g, n, r, flow.MaxMin).Makespan
		g = it.WithoutCalls(training.Sync)
		exchanged := simulate(t, g, n, r, flow.MaxMin).Makespan

		look := seconds(256 * 26 * 8 * 128 * 4 * 8 / float64(s.MemoryRate))
		dense := 256 * 2 * 16e6 / (s.EffectiveTFLOPS * 1e12)
		bottom, top := seconds(dense*s.Bottom), seconds(dense*(1-s.Bottom))
		exchange := seconds(256 * 26 * 128 * 2 / 4 * 8 / float64(rate))
		want := max(look+exchange, bottom) + top + 2*top + max(exchange+look, 2*bottom)
		if s.Pipelined {
			want = max(look+exchange, bottom+3*top+2*bottom, exchange+look)
		}
		near := func(what string, got, want engine.Time) {
			if d := got - want; d > 1000 || d < -1000 {
				t.Errorf("%s, %s: %v, want %v", name, what, got, want)
			}
		}
		near("exchanges", exchanged, want)

		_, _, part, below := s.Calls()
		at := max(look, bottom) + top
		if s.Pipelined {
			at = bottom + top
		}
		end := engine.Time(0)
		for range s.Pieces {
			at += 2 * top / engine.Time(s.Pieces)
			end = max(end, at) + directTime(t, training.Spec{TP: 4, PP: 1, EP: 1, ETP: 1, GPUs: 4}, withDim(part))
		}
		if s.Bottom > 0 {
			end = max(end, at+2*bottom) + directTime(t, training.Spec{TP: 4, PP: 1, EP: 1, ETP: 1, GPUs: 4}, withDim(below))
		}
		near("reductions", reduced, max(end, at+max(look, 2*bottom), look))
	}
}

// withDim returns the call as a group of four ranks makes it.
func withDim(c training.Call) training.Call {
	c.Dim = training.Tensor
	return c
}
