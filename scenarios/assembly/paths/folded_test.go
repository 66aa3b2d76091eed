package paths_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sim/scenarios"
)

// TestFoldedStep compares folded random training steps, in which one GPU represents all GPUs of a
// stage, with the same steps of all GPUs. All metrics must be equal, except for bounds, and for the memory
// and time of the run. The NCT may differ by 2 %, because the reference serves identical transfers
// in different orders. A step may only be rejected if its GPUs differ.
func TestFoldedStep(t *testing.T) {
	draw := rand.New(rand.NewPCG(21, 4))
	pick := func(choices ...int) int { return choices[draw.IntN(len(choices))] }
	name := func(choices ...string) string { return choices[draw.IntN(len(choices))] }
	steps := 100
	if testing.Short() {
		steps = 12
	}
	folded := 0
	for range steps {
		tp, cp, pp, replicas := pick(1, 2, 4), pick(1, 1, 2), pick(1, 2, 4), pick(1, 2, 3)
		model := "layers = 8\nhidden = 512\nheads = 8\nvocab = 1000\n"
		parallel, stage := "", tp*cp
		if pick(0, 0, 1) == 1 {
			stage *= pick(1, 2)
			model += fmt.Sprintf("experts = %d\ntop_k = 2\nexpert_ffn = 512\n", 2*stage)
			parallel = fmt.Sprintf("ep = %d\n", stage)
		}
		gpus := stage * pp * replicas
		if stage == 1 || gpus == stage {
			continue
		}
		schedule := name("1f1b", "gpipe")
		if pp > 1 && pick(0, 1) == 1 {
			schedule = "interleaved-1f1b\"\nvirtual_stages = 2\nring = \"unidirectional"
		}
		sharding, overlapSync, overlapCalls := name("none", "optimizer", "gradients", "parameters"), pick(0, 1) == 1, float64(pick(0, 3))/10
		if sharding == "gradients" || sharding == "parameters" {
			overlapSync, overlapCalls = false, 0 // these overlap otherwise
		}
		// Half of the steps have their calls in the graph, and the others only between stages and
		// replicas.
		callKeys, policy, domain := "", "", stage
		if pick(0, 1) == 1 {
			callKeys = fmt.Sprintf("collectives = \"graph\"\npieces = %d\noverlap_sync = %v\noverlap_calls = %v\n",
				pick(0, 1, 2), overlapSync, overlapCalls)
			domain *= pick(1, 1, 2)
			policy = fmt.Sprintf("[policy]\ncollective = %q\n", name("ring", "direct", "bidirectional-ring"))
		}
		text := fmt.Sprintf(`[workload]
kind = "training"
sequence = 1024
microbatches = %d
tp = %d
cp = %d
pp = %d
%sgpus = %d
effective_tflops = 60
schedule = "%s"
sharding = %q
preset = %q
%s[workload.architecture]
name = "x"
%s%s[engine]
level = "flow"
[fabric]
kind = "tiers"
[[fabric.tier]]
kind = "electrical"
gpus = %d
link_rate = "900Gbps"
link_latency = "%dns"
[[fabric.tier]]
kind = "electrical"
gpus = %d
link_rate = "100Gbps"
link_latency = "%dns"
`,
			pp*pick(1, 2, 3), tp, cp, pp, parallel, gpus, schedule, sharding,
			name("calibrated", "consistent"), callKeys, model, policy, domain, pick(0, 300), 2*gpus, pick(0, 1000))

		metrics := func(always bool) (map[string]float64, error) {
			s, err := scenarios.Parse("text.toml", []byte(text), []string{fmt.Sprintf("workload.fold=%t", always)})
			if err != nil {
				return nil, err
			}
			o, err := scenarios.Run(t.Context(), s, scenarios.RunOptions{})
			if err != nil {
				return nil, err
			}
			row := o.Document.Rows[0]
			if _, says := row.Labels["folded"]; says != always {
				t.Errorf("folded %t, the row says so %t, want %t", always, says, always)
			}
			m := maps.Clone(row.Metrics)
			maps.DeleteFunc(m, func(name string, _ float64) bool {
				return strings.HasPrefix(name, "bound_") || name == "gap" || strings.HasSuffix(name, "_wall_s") || name == "decide_s"
			})
			return m, nil
		}
		all, err := metrics(false)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		one, err := metrics(true)
		if err != nil {
			if !strings.Contains(err.Error(), "GPUs of a stage differ") {
				t.Errorf("%v\n%s", err, text)
			}
			continue
		}
		folded++
		for _, name := range slices.Sorted(maps.Keys(all)) {
			// Priorities of the ideal fabric distinguish identical transfers by number.
			const nctTolerance = 0.02
			got, ok := one[name]
			if name == "nct" && math.Abs(got-all[name]) <= nctTolerance*all[name] {
				continue
			}
			if !ok || got != all[name] {
				t.Errorf("folded: %s is %v, want %v\n%s", name, got, all[name], text)
			}
		}
	}
	if folded < steps/2 {
		t.Errorf("%d of %d steps were folded", folded, steps)
	}
}
