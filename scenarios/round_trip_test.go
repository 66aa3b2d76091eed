package scenarios

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sim/scenarios/schema"
	"sim/workloads/training"
)

// checkRoundTrip fails unless s is read back from its own TOML.
func checkRoundTrip(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *Scenario) {
	t.Helper()
	checkRoundTripWith(t, s, func(name string, data []byte) (*Scenario, error) { return Parse(name, data, nil) })
}

// checkRoundTripWith fails unless parse reads s back from its own TOML, with the same digest.
func checkRoundTripWith(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *Scenario, parse func(string, []byte) (*Scenario, error)) {
	t.Helper()
	reread, err := parse("other.toml", s.TOML())
	if err != nil {
		t.Fatalf("not read back: %v, in\n%s", err, s.TOML())
	}
	if diff := cmp.Diff(s, reread, compareKeys); diff != "" {
		t.Fatalf("read back (-want +got):\n%s", diff)
	}
	if s.Digest() != reread.Digest() {
		t.Fatalf("got another digest when read back; want that of\n%s\ngot\n%s",
			s.TOML(), reread.TOML())
	}
}

// presetNames returns the names of all training presets.
func presetNames() []string {
	var names []string
	for _, p := range training.Presets {
		names = append(names, p.Name)
	}
	return names
}

// TestBuiltInRoundTrip checks that all built-in scenarios, training with each preset, are read
// back from their own TOML. Different scenarios have different digests.
func TestBuiltInRoundTrip(t *testing.T) {
	digests := map[string]string{}
	for _, name := range EmbeddedScenarios() {
		sets := [][]string{nil}
		if s, err := Load(name, nil); err == nil && s.Workload.Kind == "training" ||
			err == nil && len(s.Jobs) > 0 {
			sets = nil
			for _, preset := range presetNames() {
				sets = append(sets, []string{"workload.preset=" + preset})
			}
		}

		for _, set := range sets {
			s, err := Load(name, set)
			if err != nil {
				t.Fatal(err)
			}
			checkRoundTrip(t, s)
			if other, ok := digests[s.Digest()]; ok {
				t.Errorf("%s %v: got the digest of %s, want a different one", name, set, other)
			}
			digests[s.Digest()] = fmt.Sprint(name, set)
		}
	}
}

// drawScenario returns a random valid scenario of training on pods that uses many keys, as
// TOML.
func drawScenario(t *rapid.T) string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	number := func(lo, hi int, name string) int { return rapid.IntRange(lo, hi).Draw(t, name) }
	maybe := func(format string, draw func() any) {
		if rapid.Bool().Draw(t, "give") {
			put(format, draw())
		}
	}

	oneOf := func(list ...string) func() any {
		return func() any { return rapid.SampledFrom(list).Draw(t, "choice") }
	}
	float := func(lo, hi float64) func() any {
		return func() any { return schema.Literal(rapid.Float64Range(lo, hi).Draw(t, "float")) }
	}
	rate := func() any {
		return fmt.Sprintf("%g%s", float64(number(100, 1e6, "rate"))/100,
			rapid.SampledFrom([]string{"Gbps", "GB/s", "Tb/s"}).Draw(t, "unit"))
	}
	maybe("seed = %d", func() any { return rapid.Int64Range(0, 1<<62).Draw(t, "seed") })
	maybe("title = %q", oneOf("é", "a \\\"b\\\" \\\\", "", "x = [1] # no"))

	// Draw the model and the dimensions of parallelism.
	stages, perPod, replicas := 0, number(1, 4, "stages a pod"), number(1, 4, "replicas")
	pods := number(1, 6, "pods")
	if pods == 1 {
		replicas++
	}
	stages = perPod * pods
	tp := number(1, 8, "tp")
	model := rapid.SampledFrom(append(training.ModelNames(), "", "", "")).Draw(t, "model")
	arch, _ := training.Model(model)
	if model == "" {
		arch.Layers = 64 + number(0, 100, "layers")
		arch.Experts = number(0, 1, "moe") * 16
	}
	ep, etp := 1, 1
	if arch.Experts > 0 {
		ep = rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "ep")
		etp = number(1, 2, "etp") * tp
	}
	virtual := 1
	if stages > arch.Layers {
		stages, perPod = pods, 1
	}
	if rapid.Bool().Draw(t, "interleave") && 2*stages <= arch.Layers {
		virtual = 2
	}
	stage := tp
	if arch.Experts > 0 {
		stage = ep * etp
	}

	// Keys of the workload.
	put(`[workload]
kind = "training"
sequence = %d
microbatches = %d
tp = %d
pp = %d
gpus = %d`,
		number(1, 1<<17, "sequence"), stages*number(1, 100, "rounds"), tp, stages, stages*stage*replicas)

	if model != "" {
		put("model = %q", model)
	}
	if arch.Experts > 0 {
		put("ep = %d\netp = %d", ep, etp)
		maybe("router_flops = %q", oneOf("all-layers", "moe-layers"))
	}
	if virtual > 1 {
		put("schedule = \"interleaved-1f1b\"\nvirtual_stages = %d", virtual)
	}
	maybe("microbatch = %d", func() any { return number(1, 8, "microbatch") })
	maybe("preset = %q", oneOf(presetNames()...))
	maybe("backward_ratio = %s", float(0, 4))
	maybe("embedding = %v", func() any { return rapid.Bool().Draw(t, "embedding") })
	maybe("effective_tflops = %s", float(10, 1e4))
	maybe("concurrent_microbatches = %d", func() any { return number(1, 9, "concurrent") })
	maybe("ring = %q", oneOf("bidirectional", "unidirectional"))
	mode := rapid.SampledFrom([]string{"auto", "all", "decomposed"}).Draw(t, "mode")
	put("replicas = %q", mode)
	if model == "" {
		put("[workload.architecture]\nlayers = %d\nhidden = 512\nvocab = %d\nheads = 8\neffective_tflops = %s",
			arch.Layers, number(1, 1e6, "vocab"), float(1, 1000)())
		maybe("ffn = %d", func() any { return number(1, 9999, "ffn") })
		maybe("name = %q", oneOf("mine", ""))
		switch rapid.SampledFrom([]string{"", "mha", "gqa", "mla"}).Draw(t, "attention") {
		case "mha":
			put("attention = \"mha\"\nhead_dim = %d", number(1, 999, "head_dim"))
		case "gqa":
			put("attention = \"gqa\"\nkv_heads = 2")
		case "mla":
			put(`attention = "mla"
q_rank = 7
kv_rank = 6
rope_dim = 5
nope_dim = 4
value_dim = 3`)
		}

		if arch.Experts > 0 {
			put("experts = 16\ntop_k = %d\ndense_layers = %d", number(1, 16, "top_k"), number(0, 9, "dense"))
			maybe("expert_ffn = %d", func() any { return number(1, 9999, "expert_ffn") })
		}
	}

	// Keys of the fabric, policies and replicas.
	put(`[fabric]
kind = "ocs-pods"
gpus_per_pod_per_replica = %d
port_bandwidth = %q
ports_per_pod = %d`,
		perPod*stage, rate(), number(16, 64, "ports"))

	maybe("nic_bandwidth = %q", rate)
	maybe("reverse = %v", func() any { return rapid.Bool().Draw(t, "reverse") })
	if rapid.Bool().Draw(t, "policy") {
		put("[policy]\nallocators = [\"fixed\", \"delta-fast\", \"delta-joint\"]")
		maybe("port_tolerance = %s", float(0, 1))
		maybe("service = %q", oneOf("", "max-min", "level-priority"))
		row := "[" + strings.Repeat("1,", pods) + "],"
		put("[policy.fixed]\ncircuits = [%s]", strings.Repeat(row, pods))
		put("[policy.delta-fast]")
		maybe("mutation = %s", float(0, 1))
		maybe("time_limit = %q", oneOf("0s", "1.5us", "2h", "90s", "7ps"))
		put("[policy.delta-joint]")
		maybe("max_evaluations = %d", func() any { return rapid.Int64Range(1, 1e15).Draw(t, "evaluations") })
	}

	for r := range replicas {
		if !rapid.Bool().Draw(t, "unlike") {
			continue
		}
		put("[[replica]]\nindex = %d", replicas-1-r)
		maybe("compute_scale = %s", float(0.1, 10))
		maybe("port_bandwidth = %q", rate)
		maybe("ports_per_pod = %d", func() any { return number(16, 64, "ports") })
		// The fixed topology joins all pods and is therefore valid for any map.
		maybe("pod_map = %s", func() any {
			order := make([]int, pods)
			for i := range order {
				order[i] = i
			}
			return schema.Literal(rapid.Permutation(order).Draw(t, "map"))
		})
	}

	return b.String()
}

// TestRoundTrip checks that random scenarios are read back from their own TOML.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawScenario(t)
		s, err := Parse("drawn.toml", []byte(text), nil)
		if err != nil && strings.Contains(err.Error(), "which is too long to simulate") {
			t.Skip("the iteration is too long to simulate")
		}
		if err != nil {
			t.Fatalf("got %v, want an accepted scenario:\n%s", err, text)
		}
		checkRoundTrip(t, s)
	})
}

// FuzzParse reads and checks scenarios as the cells of a sweep. This omits the decisions of
// routers and planners, which take too long for thousands of inputs. A scenario is either read
// back from its own TOML or rejected with one-line diagnostics.
func FuzzParse(f *testing.F) {
	for _, name := range EmbeddedScenarios() {
		data, err := embedded.ReadFile(strings.TrimPrefix(name, "scenarios/"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "workload.sequence=8192")
	}

	files, err := filepath.Glob("testdata/diagnostics/*.toml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "replica.1.pod_map=[1, 0]")
	}

	f.Add([]byte("replica = [{index = 1}, 2]\nworkload.kind = \"training\"\n"), "replica.0=3")
	f.Add([]byte("[workload]\nkind = \"training\"\npp = 9223372036854775807\ntp = -9223372036854775808"), "a.b=\"\"\"")
	f.Fuzz(func(t *testing.T, data []byte, override string) {
		s, err := parseCell(data, override)
		if err == nil {
			checkRoundTripWith(t, s,
				func(_ string, data []byte) (*Scenario, error) { return parseCell(data) })
			return
		}

		var fs Diagnostics
		if !errors.As(err, &fs) || !errors.Is(err, ErrInput) || len(fs) == 0 {
			t.Fatalf("got error of type %T, want Diagnostics: %v", err, err)
		}
		for _, f := range fs {
			if line := f.String(); strings.ContainsAny(line, "\n\r") || f.Problem == "" ||
				f.File == "fuzz.toml" && f.Line < 1 {
				t.Errorf("got diagnostic %q, want one line with a problem and a line number", line)
			}
		}
	})
}

// parseCell reads a scenario as a cell of a sweep.
func parseCell(data []byte, overrides ...string) (*Scenario, error) {
	c, faults := parse("cell.toml", data, overrides, &fileSet{})
	if faults != nil {
		return nil, faults
	}
	c.isCell = true
	return c.finish()
}
