package topology_test

import (
	"fmt"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/engine/units"
	"sim/fabric"
	"sim/fabric/electrical"
	"sim/policies/topology"
	"sim/workloads/training"
)

// setting is a workload of the paper at a bandwidth and sequence length.
type setting struct {
	model    string
	rate     units.Rate
	sequence int
}

func (s setting) String() string {
	return fmt.Sprintf("%s/%gG/%d", s.model, float64(s.rate)/1e9, s.sequence)
}

var models = []string{"megatron-177b", "mixtral-8x22b", "megatron-462b", "deepseek-671b"}

// settings returns the 28 settings of the paper's Figs. 6 and 8: four bandwidths at
// sequence length 4096, and three further sequence lengths at 400 Gb/s.
func settings() []setting {
	var all []setting
	for _, m := range models {
		for _, r := range []units.Rate{200e9, 400e9, 800e9, 1600e9} {
			all = append(all, setting{m, r, 4096})
		}
		for _, l := range []int{2048, 8192, 16384} {
			all = append(all, setting{m, 400e9, l})
		}
	}
	return all
}

// job is a problem and its reference times.
type job struct {
	problem        *topology.Problem
	compute, ideal engine.Time
}

// nct returns the NCT of a makespan.
func (j *job) nct(c engine.Time) float64 {
	return float64(c-j.compute) / float64(j.ideal-j.compute)
}

// trainingSpec returns the configuration of a model in Table I and its GPUs per pod.
func trainingSpec(t testing.TB, model string, sequence int) (training.Spec, int) {
	t.Helper()
	a, ok := training.Model(model)
	if !ok {
		t.Fatalf("no model %s", model)
	}
	s := training.Spec{
		Arch: a, Sequence: sequence, Microbatch: 1, EP: 1, ETP: 1, Chunks: 1,
		Choices: training.Choices{
			EffectiveTFLOPS: a.EffectiveTFLOPS, BackwardRatio: 2, AttentionFLOPs: "causal",
			RouterFLOPs:            "all-layers",
			ConcurrentMicrobatches: 1, ActivationBytes: 2, GradientBytes: 4, ParameterBytes: 2,
			SequenceParallel: true, Ring: "bidirectional",
		},
	}

	switch model {
	case "megatron-177b":
		s.TP, s.PP, s.GPUs, s.Microbatches = 8, 6, 384, 48
		return s, 16
	case "mixtral-8x22b":
		s.TP, s.PP, s.EP, s.GPUs, s.Microbatches = 2, 8, 8, 128, 64
		return s, 16
	case "megatron-462b":
		s.TP, s.PP, s.GPUs, s.Microbatches = 8, 16, 1024, 128
		return s, 32
	case "deepseek-671b":
		s.TP, s.PP, s.EP, s.GPUs, s.Microbatches = 2, 16, 8, 256, 128
		return s, 32
	}

	s.TP, s.PP, s.GPUs, s.Microbatches = 2, 4, 16, 8
	return s, 4
}

// prepare builds the problem of a training job and its reference times.
func prepare(t testing.TB, s training.Spec, perPod int, rate units.Rate) *job {
	t.Helper()
	it, err := training.Build(s, training.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pods, err := it.Place(training.Layout{
		GPUsPerPod: perPod, Replicas: []training.ReplicaLayout{{Pod: fabric.Pod{Ports: perPod, Rate: rate}, NIC: rate}},
	})
	if err != nil {
		t.Fatal(err)
	}
	g, _, err := pods.Reduce(it.Graph, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, r, err := electrical.Connect(pods, g)
	if err != nil {
		t.Fatal(err)
	}
	j := &job{}
	ideal, err := flow.Run(t.Context(), g, n, r, flow.Options{Service: flow.LevelPriority})
	if err != nil {
		t.Fatal(err)
	}
	compute, err := flow.Run(t.Context(), g, n, &engine.Routes{Start: make([]int32, len(g.Tasks)+1)},
		flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j.ideal, j.compute = ideal.Makespan, compute.Makespan
	o, err := pods.Connect(g)
	if err != nil {
		t.Fatal(err)
	}
	if j.problem, err = topology.NewProblem(g, o); err != nil {
		t.Fatal(err)
	}
	return j
}

// shortJob returns a workload of the paper at 400 Gb/s with fewer micro-batches.
func shortJob(t testing.TB, model string, microbatches int) *job {
	t.Helper()
	s, perPod := trainingSpec(t, model, 4096)
	s.Microbatches = microbatches
	return prepare(t, s, perPod, 400e9)
}

// job prepares the job of a setting.
func (s setting) job(t testing.TB) *job {
	t.Helper()
	sp, perPod := trainingSpec(t, s.model, s.sequence)
	return prepare(t, sp, perPod, s.rate)
}
