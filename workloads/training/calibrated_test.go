package training_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/units"
	"sim/fabric"
	"sim/fabric/electrical"
	"sim/workloads/training"
)

// calibrated returns the choices of the preset of that name with the given effective
// rate.
func calibrated(tflops float64) training.Choices {
	return training.Choices{
		EffectiveTFLOPS: tflops, BackwardRatio: 2, AttentionFLOPs: "causal", RouterFLOPs: "all-layers",
		ConcurrentMicrobatches: 1, ActivationBytes: 2, GradientBytes: 4, ParameterBytes: 2,
		SequenceParallel: true, Ring: "bidirectional",
	}
}

// table1 returns the workload of a model in DELTA's Table I and its number of GPUs per
// pod and replica. Models that are not in the table have a small default workload.
func table1(t testing.TB, model string) (training.Spec, int) {
	t.Helper()
	a, ok := training.Model(model)
	if !ok {
		t.Fatalf("no model %s", model)
	}
	s := training.Spec{Arch: a, Choices: calibrated(a.EffectiveTFLOPS), Sequence: 4096, Microbatch: 1, EP: 1, ETP: 1, Chunks: 1}
	pod := 0
	set := func(tp, pp, ep, gpus, microbatches, perPod int) {
		s.TP, s.PP, s.EP, s.GPUs, s.Microbatches, pod = tp, pp, ep, gpus, microbatches, perPod
	}
	switch model {
	case "megatron-177b":
		set(8, 6, 1, 384, 48, 16)
	case "mixtral-8x22b":
		set(2, 8, 8, 128, 64, 16)
	case "megatron-462b":
		set(8, 16, 1, 1024, 128, 32)
	case "deepseek-671b":
		set(2, 16, 8, 256, 128, 32)
	case "gpt-7b":
		set(2, 4, 1, 16, 8, 4)
	default: // not in the table
		set(4, 2, 1, 32, 8, 8)
	}
	return s, pod
}

// identicalReplicas returns a layout of n replicas with as many ports as GPUs per pod.
func identicalReplicas(n, perPod int, rate units.Rate) training.Layout {
	one := training.ReplicaLayout{Pod: fabric.Pod{Ports: perPod, Rate: rate}, NIC: rate}
	return training.Layout{GPUsPerPod: perPod, Replicas: slices.Repeat([]training.ReplicaLayout{one}, n)}
}

// build builds the iteration of s and places it in pods of identical replicas.
func build(t testing.TB, s training.Spec, x training.BuildOptions, perPod int, rate units.Rate) (*training.Iteration, *fabric.Pods) {
	t.Helper()
	it, err := training.Build(s, x)
	if err != nil {
		t.Fatal(err)
	}
	n := 1
	if x.All {
		n = s.Replicas()
	}
	p, err := it.Place(identicalReplicas(n, perPod, rate))
	if err != nil {
		t.Fatal(err)
	}
	return it, p
}

// simulate runs g at flow level.
func simulate(t testing.TB, g *engine.Graph, n *engine.Network, r *engine.Routes, s flow.Service) *engine.Trace {
	t.Helper()
	tr, err := flow.Run(t.Context(), g, n, r, flow.Options{Service: s})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestCalibrated compares the preset "calibrated" with an independent computation of
// Table I: forward times, transfer sizes, and makespans with the ideal and an infinitely
// fast network. The reduced graph has the makespan of the full one, and the evaluator's
// bound is tight.
func TestCalibrated(t *testing.T) {
	for _, want := range []struct {
		model                  string
		forwardMS              string
		pipeline               int64
		sync                   string
		computeSecs, idealSecs string
	}{
		{"megatron-177b", "46.940689", 12582912, "1.902536e+10", "7.463570", "7.856660"},
		{"mixtral-8x22b", "10.282856", 25165824, "6.573128e+09", "2.190248", "2.355936"},
		{"megatron-462b", "45.790959", 18874368, "1.872809e+10", "19.644321", "20.067957"},
		{"deepseek-671b", "7.464315", 29360128, "1.568372e+10", "3.202191", "3.592202"},
	} {
		t.Run(want.model, func(t *testing.T) {
			s, perPod := table1(t, want.model)
			if got := fmt.Sprintf("%.6f", 1e3*s.ForwardSeconds(0)); got != want.forwardMS {
				t.Errorf("forward %s ms, want %s", got, want.forwardMS)
			}
			if got := s.PipelineBytes(); got != want.pipeline {
				t.Errorf("PP %d bytes a flow, want %d", got, want.pipeline)
			}
			if got := fmt.Sprintf("%.6e", float64(s.SyncBytes(0))); got != want.sync {
				t.Errorf("DP %s bytes a flow, want %s", got, want.sync)
			}
			it, p := build(t, s, training.BuildOptions{}, perPod, 400e9)
			g, _, err := p.Reduce(it.Graph, nil)
			if err != nil {
				t.Fatal(err)
			}
			n, r, err := electrical.Connect(p, g)
			if err != nil {
				t.Fatal(err)
			}
			ideal := simulate(t, g, n, r, flow.LevelPriority)
			if got := fmt.Sprintf("%.6f", ideal.Makespan.Seconds()); got != want.idealSecs {
				t.Errorf("ideal %s s, want %s", got, want.idealSecs)
			}
			none := &engine.Routes{Start: make([]int32, len(g.Tasks)+1)}
			compute := simulate(t, g, n, none, flow.MaxMin)
			if got := fmt.Sprintf("%.6f", compute.Makespan.Seconds()); got != want.computeSecs {
				t.Errorf("compute %s s, want %s", got, want.computeSecs)
			}
			fn, fr, err := electrical.Connect(p, it.Graph)
			if err != nil {
				t.Fatal(err)
			}
			full := simulate(t, it.Graph, fn, fr, flow.LevelPriority)
			if full.Makespan != ideal.Makespan {
				t.Errorf("full graph %v, reduced %v", full.Makespan, ideal.Makespan)
			}
			e, err := flow.NewEvaluator(g, n, r, flow.LevelPriority)
			if err != nil {
				t.Fatal(err)
			}
			if b := e.Bound(); b > ideal.Makespan || float64(ideal.Makespan-b) > 1e-9*float64(b) {
				t.Errorf("bound %v of %v", b, ideal.Makespan)
			}
			t.Logf("full %d tasks %d edges, reduced %d tasks %d edges, %d events", len(it.Graph.Tasks), it.Graph.EdgeCount(), len(g.Tasks), g.EdgeCount(), ideal.Events)
		})
	}
}

func BenchmarkReducedFairShare(b *testing.B) {
	s, perPod := table1(b, "deepseek-671b")
	it, p := build(b, s, training.BuildOptions{}, perPod, 400e9)
	g, _, err := p.Reduce(it.Graph, nil)
	if err != nil {
		b.Fatal(err)
	}
	o, err := p.Connect(g)
	if err != nil {
		b.Fatal(err)
	}
	circuits := make([]int, len(o.Bundles))
	for i, q := range o.Bundles {
		circuits[i] = 6
		if q.Peer {
			circuits[i] = 14
		}
	}
	n, err := o.Provision(circuits)
	if err != nil {
		b.Fatal(err)
	}
	for _, svc := range []flow.Service{flow.MaxMin, flow.LevelPriority} {
		b.Run(svc.String(), func(b *testing.B) {
			e, err := flow.NewEvaluator(g, n, o.Routes, svc)
			if err != nil {
				b.Fatal(err)
			}
			events := int64(0)
			for b.Loop() {
				if _, ok := e.Makespan(engine.Never); !ok {
					b.Fatal("stalled")
				}
				events += e.Events()
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
		})
	}
	b.Run("bound", func(b *testing.B) {
		e, err := flow.NewEvaluator(g, n, o.Routes, flow.LevelPriority)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if e.Bound() == math.MaxInt64 {
				b.Fatal("no bound")
			}
		}
	})
}
