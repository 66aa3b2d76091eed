package training_test

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sim/workloads/training"
)

// update rewrites testdata/models.json.
var update = flag.Bool("update", false, "write testdata/models.json anew")

// TestPublished compares the number of parameters of models, in billions, with the
// numbers stated by their authors: in total, and active per token. The numbers include
// the embedding and the output head, with two exceptions. The authors of gpt-oss exclude
// the embedding from the active parameters. ViT-22B's 21,743 million belong to its
// layers.
func TestPublished(t *testing.T) {
	for _, c := range []struct {
		model         string
		total, active float64
		tables        [2]float64 // multiples of Vocab x Hidden, total and active
		within        float64
	}{
		{"gpt-7b", 6.98, 6.98, [2]float64{1, 1}, 0.01},       // 32 layers of 12 h^2, and 131,072 tokens
		{"mixtral-8x22b", 141, 39, [2]float64{2, 2}, 0.005},  // Mixtral 8x22B: 141B, 39B active
		{"deepseek-671b", 671, 37, [2]float64{2, 1}, 0.012},  // DeepSeek-V3: 671B, 37B
		{"palm-62b", 62.5, 62.5, [2]float64{1, 1}, 0.01},     // PaLM, Table 1
		{"palm-8b", 8.63, 8.63, [2]float64{1, 1}, 0.01},      // PaLM, Table 1
		{"bert-large", 0.334, 0.334, [2]float64{1, 1}, 0.01}, // Devlin et al. 2019: 340M with positions and pooling
		{"llama3-70b", 70.55, 70.55, [2]float64{2, 2}, 0.001},
		{"llama3-405b", 405.9, 405.9, [2]float64{2, 2}, 0.001},
		{"qwen3-235b-a22b", 235, 22, [2]float64{2, 2}, 0.01},
		{"deepseek-v3.2", 671.9, 37, [2]float64{2, 1}, 0.014}, // DeepSeek-V3, and 0.85 billion of the index
		{"kimi-k2", 1040, 32.6, [2]float64{2, 1}, 0.03},       // Kimi K2, Table 2
		{"gpt-oss-120b", 116.83, 5.13, [2]float64{2, 1}, 0.005},
		{"llama3-8b", 8.03, 8.03, [2]float64{2, 2}, 0.001},
		{"llama2-7b", 6.74, 6.74, [2]float64{2, 2}, 0.001},
		{"llama2-13b", 13.02, 13.02, [2]float64{2, 2}, 0.001},
		{"llama2-70b", 68.98, 68.98, [2]float64{2, 2}, 0.001},
		{"gpt3-175b", 174.6, 174.6, [2]float64{1, 1}, 0.003},
		{"qwen3-30b-a3b", 30.5, 3.3, [2]float64{2, 2}, 0.02},
		{"gpt-oss-20b", 20.91, 3.61, [2]float64{2, 1}, 0.01},
		{"mixtral-8x7b", 46.7, 12.9, [2]float64{2, 2}, 0.002},
		{"qwen3-8b", 8.2, 8.2, [2]float64{2, 2}, 0.003},
		{"qwen3-32b", 32.8, 32.8, [2]float64{2, 2}, 0.002},
		{"vit-22b", 21.743, 21.743, [2]float64{0, 0}, 0.001},
	} {
		a, ok := training.Model(c.model)
		if !ok {
			t.Fatalf("no model %s", c.model)
		}
		table := float64(a.Vocab) * float64(a.Hidden)
		idle := float64(a.Layers-a.DenseLayers) * float64(a.Experts-a.TopK) * a.ExpertParameters()
		total, active := a.Parameters()+c.tables[0]*table, a.Parameters()-idle+c.tables[1]*table
		if math.Abs(total/1e9-c.total) > c.within*c.total || math.Abs(active/1e9-c.active) > c.within*c.active {
			t.Errorf("%s: %.3f billion parameters, %.3f active; published are %g and %g", c.model, total/1e9, active/1e9, c.total, c.active)
		}
	}
}

// TestPresets compares every number of every preset with testdata/models.json. Totals of
// parameters would not reveal a small change.
func TestPresets(t *testing.T) {
	var all []training.Architecture
	for _, name := range training.ModelNames() {
		a, _ := training.Model(name)
		all = append(all, a)
	}
	got, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	const path = "testdata/models.json"
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
		t.Error(diff)
	}
}

// TestAttended compares attention over fewer tokens with hand counts. In a window of w in
// a sequence of s tokens, a token attends to w - w^2/2s tokens on average; without a
// window, to s/2.
func TestAttended(t *testing.T) {
	s := training.Spec{
		Arch: mustModel(t, "gpt-oss-120b"), Choices: calibrated(350), Sequence: 4096, Microbatch: 1, Microbatches: 1,
		TP: 1, PP: 1, EP: 1, ETP: 1, GPUs: 1, Chunks: 1,
	}
	flops := func(s training.Spec) float64 { return s.ForwardSeconds(0) * 350e12 / 4096 }
	got := flops(s)
	s.Arch.Attended = 0
	full := flops(s)
	if got, want := full-got, 18*4*64*64*(2048-(128-128*128/(2*4096.))); math.Abs(got-want) > 1e-6*want {
		t.Errorf("windows save %g operations a token, want %g", got, want)
	}
	v := training.Spec{
		Arch: mustModel(t, "deepseek-v3.2"), Choices: calibrated(350), Sequence: 131072, Microbatch: 1, Microbatches: 1,
		TP: 1, PP: 1, EP: 1, ETP: 1, GPUs: 1, Chunks: 1,
	}
	got = v.ForwardSeconds(0) * 350e12 / 131072
	v.Arch.Attended, v.Arch.IndexHeads = 0, 0
	full = v.ForwardSeconds(0) * 350e12 / 131072
	index := 2*(1536*64*128+7168*128+7168*64) + 131072*64*128.
	want := 61 * (4*v.Arch.AttentionWidth()*(65536-(2048-2048*2048/(2*131072.))) - index)
	if got := full - got; math.Abs(got-want) > 1e-6*want {
		t.Errorf("the index saves %g operations a token, want %g", got, want)
	}
}

// TestModelWords checks that parameters are printed with three digits for any size of
// model.
func TestModelWords(t *testing.T) {
	for name, want := range map[string]string{
		"bert-large": "302 million parameters", "gpt-7b": "6.44 billion parameters", "megatron-177b": "174 billion parameters", "kimi-k2": "1024 billion parameters",
	} {
		a := mustModel(t, name)
		if got := a.Words(); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestWidths checks properties of all published models: widths are multiples of 16, and
// query heads share keys and values evenly.
func TestWidths(t *testing.T) {
	for _, name := range training.ModelNames() {
		a, _ := training.Model(name)
		for _, width := range []int{a.Hidden, a.FFN, a.ExpertFFN, a.HeadDim, a.QRank, a.KVRank, a.RopeDim, a.NopeDim, a.ValueDim} {
			if width%16 != 0 {
				t.Errorf("%s has a width of %d", name, width)
			}
		}
		if a.KVHeads > 0 && a.Heads%a.KVHeads != 0 {
			t.Errorf("%s has %d heads of %d keys and values", name, a.Heads, a.KVHeads)
		}
	}
}
