package accuracy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sim/scenarios"
	"sim/workloads/training"
)

// trainingJobs returns the jobs of all training rows that can be read.
func trainingJobs(t *testing.T) (jobs []*trainingJob) {
	for _, r := range Ledger() {
		if !isTraining(r) || r.File != "training.csv" {
			continue
		}
		profile, _, err := MachineFor(r)
		if err != nil {
			t.Errorf("%s: %v", r.ID, err)
			continue
		}
		j, err := readTrainingJob(r, profile)
		if err != nil {
			t.Errorf("%s: %v", r.ID, err)
			continue
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// TestTrainingScenarios: all training rows are valid scenarios, whatever part is left out, and each
// part changes the scenario of some rows.
func TestTrainingScenarios(t *testing.T) {
	changes := map[string]int{}
	for _, j := range trainingJobs(t) {
		whole := j.scenario(&Options{}, 2*j.pp)
		for _, part := range append(slices.Clone(expertStepParts), stepOverlapTP, "") {
			text := j.scenario(&Options{Without: []string{part}}, 2*j.pp)
			if text != whole {
				changes[part]++
			}
			if part != "" && part != stepKernels {
				continue
			}
			if _, err := scenarios.Parse(j.row.ID, []byte(text), nil); err != nil && !strings.Contains(err.Error(), "GPUs of a stage differ") {
				t.Errorf("%s without %q: %v\n%s", j.row.ID, part, err, text)
			}
		}
	}
	for _, part := range append(slices.Clone(expertStepParts), stepOverlapTP) {
		if changes[part] == 0 {
			t.Errorf("no scenario changes without %s", part)
		}
	}
}

// TestTrainingFLOPs compares the operations per token with the numbers of Megatron-Bridge: its
// TFLOP/s per GPU divided by its tokens per second. It counts attention to earlier tokens only, and
// its rows of one model differ by rounding.
func TestTrainingFLOPs(t *testing.T) {
	rows := 0
	for _, j := range trainingJobs(t) {
		stated, err := j.Number("model_tflops")
		if err != nil || j.row.Unit != "tok/s/GPU" || strings.Contains(strings.ToLower(j.Parameters["task"]), "lora") ||
			strings.Contains(j.Parameters["model"], "GPT OSS") { // counted differently from release to release
			continue
		}
		rows++
		got := j.flopsPerToken() - 6*float64(j.model.Layers)*j.model.AttentionWidth()*float64(j.sequence)
		if want := stated * 1e12 / j.row.Value; math.Abs(got/want-1) > 0.05 {
			t.Errorf("%s: got %.4g operations per token, want %.4g", j.row.ID, got, want)
		}
	}
	if rows < 80 {
		t.Errorf("got %d rows, want at least 90", rows)
	}
}

// TestModelsOfMaxText: the models of MaxText have as many parameters as their names say.
func TestModelsOfMaxText(t *testing.T) {
	for billions := 1; billions <= 1024; billions *= 2 {
		var j trainingJob
		if err := j.scaleModel(billions); err != nil {
			t.Fatal(err)
		}
		a := j.model
		got := a.Parameters() / 1e9
		if math.Abs(got/float64(billions)-1) > 0.06 {
			t.Errorf("%d billion: got %.4g billion", billions, got)
		}
	}
	if err := new(trainingJob).scaleModel(3); err == nil {
		t.Error("got a model of 3 billion parameters, want an error")
	}
}

// TestReadTrainingJob reads rows of each source.
func TestReadTrainingJob(t *testing.T) {
	got := map[string]string{}
	for _, j := range trainingJobs(t) {
		got[j.row.ID] = fmt.Sprintf("%s %d tp%d pp%d cp%d ep%d vp%d batch %d x %d, %d tokens, %s, shard %d, %s", j.framework, j.gpus, j.tp, j.pp,
			j.cp, j.ep, j.vp, j.batch, j.microbatch, j.sequence, j.precision, j.shardGroup(), j.overlap)
	}
	for id, want := range map[string]string{
		"T-MB-2509-LLAMA370B-001":    "megatron-bridge 64 tp1 pp1 cp1 ep1 vp1 batch 128 x 2, 8192 tokens, fp8, shard 64, tp dp pp",
		"T-MB-2511-DeepSeekV3wo-004": "megatron-bridge 256 tp1 pp8 cp1 ep32 vp4 batch 4096 x 1, 4096 tokens, mxfp8, shard 1, tp dp pp",
		"T-TT-2-002":                 "torchtitan 8 tp1 pp1 cp2 ep1 vp1 batch 4 x 1, 65536 tokens, fp8, shard 4, dp pp",
		"T-MT-V5P-128B-004":          "maxtext 512 tp8 pp1 cp1 ep1 vp1 batch 512 x 8, 2048 tokens, bf16, shard 32, tp dp pp",
		"T-MEGASCALE-ABL-004":        "megascale 256 tp8 pp8 cp1 ep1 vp6 batch 256 x 1, 2048 tokens, bf16, shard 1, tp",
		"T-LLAMA3-405B-003":          "llama3 16384 tp8 pp16 cp16 ep1 vp8 batch 128 x 1, 131072 tokens, bf16, shard 1, dp pp",
		"T-SC21-008":                 "megatron-2021 1920 tp8 pp16 cp1 ep1 vp2 batch 2160 x 1, 2048 tokens, bf16, shard 1, ",
		"T-B200-VULTR-004":           "megatron-bridge 16 tp1 pp2 cp1 ep1 vp1 batch 64 x 1, 4096 tokens, bf16, shard 1, tp dp pp",
	} {
		if got[id] != want {
			t.Errorf("%s: got %s, want %s", id, got[id], want)
		}
	}
}

// TestRecipes: each recipe describes some row of the ledger or a published model, and sets known
// parameters.
func TestRecipes(t *testing.T) {
	known := []string{
		"heads", "mbs", "vp", "tp", "pp", "seq", "gbs", "ep", "vocab", "recompute", "framework", "overlap", "attended", "parallel_layers",
	}
	for i, x := range recipes() {
		for name := range x.parameters {
			if !slices.Contains(known, name) {
				t.Errorf("recipe %d sets %s, want one of %v", i+1, name, known)
			}
		}
		if f := x.parameters["framework"]; f != "" {
			if _, ok := frameworks[f]; !ok {
				t.Errorf("recipe %d names the framework %s", i+1, f)
			}
		}
	}
	if _, ok := training.Model(modelNames["deepseekv3"]); !ok {
		t.Error("DeepSeek-V3 is no preset")
	}
}
