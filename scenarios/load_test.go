package scenarios

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sim/engine/units"
	"sim/fabric/links"
	"sim/policies/routing"
	"sim/scenarios/assembly/input"
	"sim/scenarios/schema"
	"sim/workloads/training"
)

// TestBuiltInScenarios compares the built-in scenarios of training on pods with Table I of the
// DELTA paper, and gpt7b with its Fig. 1.
func TestBuiltInScenarios(t *testing.T) {
	type row struct {
		Layers, Hidden, Experts, TP, PP, EP, ETP, GPUs, PerPod, Microbatches, Pods, Replicas, Ports int
		TFLOPS                                                                                      float64
	}
	want := map[string]row{
		"scenarios/megatron177b.toml": {96, 12288, 0, 8, 6, 1, 1, 384, 16, 48, 3, 8, 16, 650},
		"scenarios/mixtral8x22b.toml": {56, 6144, 8, 2, 8, 8, 1, 128, 16, 64, 4, 2, 16, 500},
		"scenarios/megatron462b.toml": {112, 18432, 0, 8, 16, 1, 1, 1024, 32, 128, 4, 8, 32, 650},
		"scenarios/deepseek671b.toml": {61, 7168, 256, 2, 16, 8, 1, 256, 32, 128, 4, 2, 32, 350},
		"scenarios/gpt7b.toml":        {32, 4096, 0, 2, 4, 1, 1, 16, 4, 8, 2, 2, 4, 450},
		"scenarios/robustness.toml":   {61, 7168, 256, 2, 16, 8, 1, 256, 32, 128, 4, 2, 32, 350},
	}

	checked := 0
	for _, name := range EmbeddedScenarios() {
		s, err := Load(name, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		// Other tests check these scenarios.
		if strings.Contains(name, "compose/") || len(s.Jobs) > 0 || s.usesRouters() ||
			s.usesPlanners() || !s.isTraining() {
			continue
		}
		checked++
		w, a := &s.Workload, &s.Workload.Arch
		got := row{
			a.Layers, a.Hidden, a.Experts, w.TP, w.PP, w.EP, w.ETP, w.GPUs,
			s.Fabric.GPUsPerPodPerReplica, w.Microbatches,
			s.PodsPerReplica(), w.Replicas(), s.Fabric.PortsPerPod, w.Choices.EffectiveTFLOPS,
		}

		if diff := cmp.Diff(want[name], got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if w.Sequence != 4096 || w.Microbatch != 1 || w.Schedule != "1f1b" ||
			s.Fabric.PortBandwidth != 400e9 || s.Fabric.NICBandwidth != 400e9 {
			t.Errorf("%s: got sequence %d, micro-batch %d, schedule %s, ports of %v and NICs of "+
				"%v, want 4096, 1, 1f1b and 400Gbps",
				name, w.Sequence, w.Microbatch, w.Schedule, s.Fabric.PortBandwidth,
				s.Fabric.NICBandwidth)
		}
		if base := strings.TrimSuffix(filepath.Base(name), ".toml"); s.Name != base || s.Title == "" {
			t.Errorf("%s: got name %q and title %q, want the name of the file and a title",
				name, s.Name, s.Title)
		}
		data, err := embedded.ReadFile(strings.TrimPrefix(name, "scenarios/"))
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`(?m)^(preset = "calibrated"|base = )`).Match(data) {
			t.Errorf("%s names no preset and no base, want one", name)
		}
	}

	if checked != len(want) {
		t.Errorf("got built-in scenarios %q, want %d of training on pods",
			EmbeddedScenarios(), len(want))
	}
}

// TestBuiltInNames checks that no two built-in files have the same base name.
func TestBuiltInNames(t *testing.T) {
	files := map[string]string{}
	for _, name := range embeddedNames() {
		base := path.Base(name)
		if files[base] != "" {
			t.Errorf("%s and %s have the same base name", files[base], name)
		}
		files[base] = name
	}
	if len(files) != len(EmbeddedScenarios())+len(EmbeddedStudies()) {
		t.Errorf("got %d built-in files, want the %d scenarios and %d studies",
			len(files), len(EmbeddedScenarios()), len(EmbeddedStudies()))
	}
}

// TestLoadEmbedded checks that a built-in scenario is found from any directory, by each form of
// its name. A file on disk has precedence over it.
func TestLoadEmbedded(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{
		"gpt7b", "gpt7b.toml", "scenarios/gpt7b.toml", "./scenarios/gpt7b", "scenarios/gpt7b",
	} {
		if s, err := Load(name, nil); err != nil || s.Name != "gpt7b" {
			t.Errorf("%s: got error %v, want scenario gpt7b", name, err)
		}
	}

	if err := os.Mkdir("scenarios", 0o777); err != nil {
		t.Fatal(err)
	}
	data, err := embedded.ReadFile("gpt7b.toml")
	if err != nil {
		t.Fatal(err)
	}
	data = regexp.MustCompile(`(?m)^(name|title) .*`).ReplaceAll(data, nil)
	if err := os.WriteFile("scenarios/mixtral8x22b.toml", data, 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := Load("scenarios/mixtral8x22b.toml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Workload.Arch.Name != "gpt-7b" || s.Name != "mixtral8x22b" {
		t.Errorf("got model %q and name %q, want gpt-7b and mixtral8x22b from the file on disk",
			s.Workload.Arch.Name, s.Name)
	}
}

// TestLoadPastDirectory checks that a directory does not hide the built-in scenario of the same
// name, neither as the scenario itself nor as its base.
func TestLoadPastDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"deepseek671b", "robustness"} {
		if err := os.Mkdir(name, 0o777); err != nil {
			t.Fatal(err)
		}
		if s, err := Load(name, nil); err != nil || s.Name != name {
			t.Errorf("%s: got error %v, want the built-in scenario", name, err)
		}
	}
}

// TestLoadErrors checks the diagnostics of files that cannot be read.
func TestLoadErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("large.toml", make([]byte, schema.MaxFileBytes+1), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, want string }{
		{".", ".: is a directory; name a scenario file in it"},
		{"deepsek671b", "deepsek671b: no such file; did you mean deepseek671b?"},
		{"elsewhere/gpt7b.toml", "elsewhere/gpt7b.toml: no such file; did you mean gpt7b?"},
		{"large.toml", "large.toml: is larger than 4 MiB; scenarios are short texts"},
		{"large.toml/x", "large.toml/x: cannot be read: not a directory; name a readable file"},
		{"a\x00b", `"a\x00b": cannot be read: invalid argument; name a readable file`},
	} {
		_, err := Load(tt.path, nil)
		if err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
		var fs Diagnostics
		if !errors.Is(err, ErrInput) || !errors.As(err, &fs) {
			t.Errorf("%s: got error of type %T, want Diagnostics that wrap ErrInput", tt.path, err)
		}
	}
}

// TestOverrides checks that overrides of all types of values set the fields of their keys. Of
// two overrides of one key the last has precedence.
func TestOverrides(t *testing.T) {
	s, err := Load("deepseek671b", []string{
		"workload.sequence=8192", "fabric.port_bandwidth=800Gbps", ` fabric.nic_bandwidth = "50GB/s" `, `policy.allocators=["delta-joint", "delta-fast"]`,
		"policy.delta-fast.population=32", "policy.delta-fast.population=16",
		"replica.1.compute_scale=1.25", "replica.0.pod_map=[3,2,1,0]",
		"replica.1.ports_per_pod=16",
		"name=12", "title=a = b", "seed=7", "workload.schedule=gpipe", "fabric.reverse=true",
		"policy.delta-joint.time_limit=1.5s",
	})

	if err != nil {
		t.Fatal(err)
	}
	want, err := Load("deepseek671b", nil)
	if err != nil {
		t.Fatal(err)
	}
	want.Name, want.Title, want.Seed = "12", "a = b", 7
	want.Workload.Sequence, want.Workload.Schedule = 8192, "gpipe"
	want.Fabric.PortBandwidth, want.Fabric.NICBandwidth, want.Fabric.Reverse = 800e9, 400e9, true
	want.Policy.Allocators = []string{"delta-joint", "delta-fast"}
	want.Policy.Fast.Population = 16
	want.Policy.Allocation.Joint.TimeLimit = 1_500_000_000_000
	want.Replicas = []input.Replica{
		{Index: 0, ComputeScale: 1, PortBandwidth: 800e9, PortsPerPod: 32, PodMap: []int{3, 2, 1, 0}},
		{Index: 1, ComputeScale: 1.25, PortBandwidth: 800e9, PortsPerPod: 16, PodMap: []int{3, 2, 1, 0}},
	}
	if diff := cmp.Diff(want, s, compareKeys); diff != "" {
		t.Error(diff)
	}
}

// TestOverrideReplicaByIndex checks that an override of a replica applies to the [[replica]]
// table with that index, wherever it is in the file.
func TestOverrideReplicaByIndex(t *testing.T) {
	data, err := embedded.ReadFile("gpt7b.toml")
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, "\n[[replica]]\nindex = 1\ncompute_scale = 3\n"...)
	s, err := Parse("x.toml", data, []string{"replica.1.port_bandwidth=1Gbps", "replica.0.compute_scale=2"})
	if err != nil {
		t.Fatal(err)
	}
	want := []input.Replica{{Index: 0, ComputeScale: 2, PortBandwidth: 400e9, PortsPerPod: 4,
		PodMap: []int{0, 1}}, {Index: 1, ComputeScale: 3, PortBandwidth: units.Rate(1e9),
		PortsPerPod: 4, PodMap: []int{0, 1}}}
	if diff := cmp.Diff(want, s.Replicas); diff != "" {
		t.Error(diff)
	}
}

// TestPresets checks the values that each preset sets, and that a key of the scenario has
// precedence over its preset.
func TestPresets(t *testing.T) {
	for _, tt := range []struct {
		name, preset string
		want         func(c *training.Choices)
	}{
		{"deepseek671b", "calibrated", func(*training.Choices) {}},
		{"deepseek671b", "consistent",
			func(c *training.Choices) { c.ConcurrentMicrobatches, c.RouterFLOPs = 4, "moe-layers" }},
		{"megatron177b", "consistent", func(c *training.Choices) { c.RouterFLOPs = "moe-layers" }},
		{"deepseek671b", "layered", func(c *training.Choices) { c.StageSplit, c.Embedding = "layers", true }},
	} {
		s, err := Load(tt.name, []string{"workload.preset=" + tt.preset, "workload.gradient_bytes=2"})
		if err != nil {
			t.Error(err)
			continue
		}
		want := training.Choices{
			EffectiveTFLOPS: s.Workload.Arch.EffectiveTFLOPS,
			BackwardRatio:   2, AttentionFLOPs: "causal", StageSplit: "even", ConcurrentMicrobatches: 1,
			ActivationBytes: 2, GradientBytes: 2, ParameterBytes: 2, SequenceParallel: true,
			Ring: "bidirectional", RouterFLOPs: "all-layers",
		}

		tt.want(&want)
		if diff := cmp.Diff(want, s.Workload.Choices); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", tt.name, tt.preset, diff)
		}
	}
}

// compareKeys makes cmp compare scenarios by the fields that have keys. It ignores unexported
// state of policies. It also ignores the generator of a graph, because the generated links are
// written.
var compareKeys = cmp.Options{
	cmpopts.IgnoreUnexported(Scenario{}, routing.WildFirst{}, routing.OptimisedRouter{}, routing.Multipath{}),
	cmpopts.IgnoreFields(links.GraphLinks{}, "Generator"), cmpopts.IgnoreFields(links.Links{}, "Generators"),
}

// BenchmarkParse measures the parsing and checking of a training scenario on pods.
func BenchmarkParse(b *testing.B) {
	data, err := embedded.ReadFile("deepseek671b.toml")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Parse("x.toml", data, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// TestInactiveKeys checks keys of a file that do not apply after an override. They are neither
// rejected nor part of the resolved scenario. An override of such a key is rejected.
func TestInactiveKeys(t *testing.T) {
	const file = `
base = "gpt7b"
workload.schedule = "interleaved-1f1b"
workload.virtual_stages = 2
[policy.delta-fast]
population = 7
`

	got := mustParse(t, file, "workload.schedule=1f1b", `policy.allocators=["prop-alloc"]`)
	want := mustParse(t, "base = \"gpt7b\"\npolicy.allocators = [\"prop-alloc\"]\n")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got.TOML(), want.TOML())
	}
	for _, set := range []string{"workload.virtual_stages=2", "policy.delta-fast.elites=1"} {
		_, err := Parse("x.toml", []byte("base = \"gpt7b\"\npolicy.allocators = [\"prop-alloc\"]\n"), []string{set})
		if err == nil || !strings.Contains(err.Error(), "--set: ") ||
			!strings.Contains(err.Error(), "is not used by") {
			t.Errorf("%s: got error %v, want \"is not used by\"", set, err)
		}
	}
}

// TestUnusedKeys checks the diagnostics of keys that belong to another kind of workload or
// fabric. They name that kind instead of proposing a similar table or key.
func TestUnusedKeys(t *testing.T) {
	t.Parallel()
	const torus = `[workload]
kind = "all-to-all"
packet = "4KB"
[fabric]
kind = "torus"
dims = [4, 4]
[engine]
level = "packet"
`

	for _, c := range []struct{ file, set, want string }{
		{"gpt7b", "engine.level=plan",
			`engine.level: "plan" is not known; choose "flow", "packet" or "static"`},
		{"gpt7b", "engine.until=1s",
			`engine.until: is not used by fabric "ocs-pods"; leave it out: it is of fabric "torus", "graph", "cluster", "electrical" or "scaleup"`},
		{"gpt7b", "policy.routers=[\"dor\"]",
			`policy.routers: is not used by fabric "ocs-pods", which has no paths to choose; leave it out: it is of fabric "torus", "graph", "cluster", "electrical" or "scaleup"`},
		{"gpt7b", "workload.experts.sizes=zipf",
			`workload.experts: is not used by workload "training" on fabric "ocs-pods"; leave it out, or set workload.kind = "experts"`},
		{"", "workload.model=gpt-7b",
			`workload.model: is not used by workload "all-to-all"; leave it out, or set workload.kind = "training"`},
		{"", "workload.sequence=4096",
			`workload.sequence: is not used by workload "all-to-all"; leave it out, or set workload.kind = "training"`},
		{"", "workload.zipf_exponent=0.3",
			`workload.zipf_exponent: is not used by workload "all-to-all" on fabric "torus"; leave it out: it is of workload "all-to-all" on fabric "scaleup"`},
		{"", "job=[{name = \"a\"}]",
			`job: is not used by fabric "torus"; leave it out: it is of fabric "ocs-pods"`},
		{"", "enginee.level=flow", "enginee: unknown table; did you mean engine?"},
		{"", "fabric.lnk_rate=1Gbps",
			`fabric.lnk_rate: unknown key, not used by kind "torus"; did you mean link_rate?`},
		{"", "engine.level=flow", ""}, // drops workload.packet of the file, which belongs to level packet
	} {
		var err error
		if c.file != "" {
			_, err = Load(c.file, []string{c.set})
		} else {
			_, err = Parse("torus.toml", []byte(torus), []string{c.set})
		}

		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != "--set: "+c.want) {
			t.Errorf("%s: got %v, want %q", c.set, err, c.want)
		}
	}

	for _, table := range allTables() { // no diagnostic proposes the key that it rejects
		for i, name := range table.Names() {
			for k, file := range []string{"gpt7b", "twisted", "all-reduce", "twojobs"} {
				if !*longTests && k != i%4 {
					continue
				}
				_, err := Load(file, []string{schema.JoinPath(table.Path, name) + "=1"})
				if err != nil && strings.Contains(err.Error(), "did you mean "+name+"?") {
					t.Errorf("%s: got %v, want another proposal", file, err)
				}
			}
		}
	}
}

// TestMatrixForms checks traffic matrices in a file and in the scenario, on each kind of
// fabric. Both forms are the same scenario. Diagnostics name the key that holds the matrix.
func TestMatrixForms(t *testing.T) {
	dir := t.TempDir()
	file, header := filepath.Join(dir, "m.csv"), filepath.Join(dir, "h.csv")
	for name, text := range map[string]string{
		file:   "0,1000,1000\n1KB,0,1000\n1000,1000,0\n",
		header: "a,b,c\n0,1,1\n1,0,1\n1,1,0\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}

	const inline = "workload.matrix=[[0, 1000, 1000], [1000, 0, 1000], [1000, 1000, 0]]"
	for fabric, keys := range map[string]string{
		"torus":   "dims = [3]",
		"graph":   "edges = [[0, 1], [1, 2], [2, 0]]",
		"scaleup": "gpus = 3",
	} {
		first := ""
		for _, c := range []struct {
			kind string
			set  []string
			want string // part of the diagnostic; "" if accepted
		}{
			{"matrix", []string{"workload.matrix_file=" + file}, ""},
			{"matrix", []string{inline}, ""},
			{"all-to-all", []string{"workload.sizes=" + file}, ""},
			{"all-to-all", []string{"workload.sizes=matrix", inline}, ""},
			{"matrix", []string{"workload.matrix_file=" + header},
				"--set: workload.matrix_file: " + header + `:1: the line is a header, and a matrix has sizes alone`},
			{"all-to-all", []string{"workload.sizes=" + header},
				"--set: workload.sizes: " + header + `:1: the line is a header, and a matrix has sizes alone`},
			{"all-to-all", []string{"workload.sizes=none.csv"},
				"--set: workload.sizes: none.csv cannot be read"},
			{"matrix", []string{"workload.matrix_file=none.csv"},
				"--set: workload.matrix_file: none.csv cannot be read"},
			{"matrix", []string{"workload.matrix_file=3"},
				"--set: workload.matrix_file: is the number 3; write a text"},
			{"all-to-all", []string{"workload.sizes=3"},
				"--set: workload.sizes: is the number 3; write a text"},
			{"matrix", []string{"workload.matrix_file=" + file, inline}, ": workload.matrix_file: "},
		} {
			text := "name = \"m\"\n[workload]\nkind = \"" + c.kind + "\"\n[fabric]\nkind = \"" + fabric + "\"\n" + keys + "\n"
			s, err := Parse("m.toml", []byte(text), c.set)
			switch {
			case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
				t.Errorf("%s, %s %v: got %v, want %q in one line", fabric, c.kind, c.set, err, c.want)
			case err == nil && first == "":
				first = s.Digest()
				checkRoundTrip(t, s)
			case err == nil && s.Digest() != first:
				t.Errorf("%s, %s %v: got another digest than for the first form", fabric, c.kind, c.set)
			}
		}
	}
}

// TestRepeatedDiagnostics checks that repeated diagnostics of one file are counted after the
// first few. Long texts in diagnostics are shortened.
func TestRepeatedDiagnostics(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.csv")
	if err := os.WriteFile(file, []byte("0,x,y,z,u,v\n"+strings.Repeat("1,x,y,z,u,v\n", 5)), 0o666); err != nil {
		t.Fatal(err)
	}
	const torus = `[workload]
kind = "matrix"
[fabric]
kind = "torus"
dims = [6]
`

	_, err := Parse("m.toml", []byte(torus), []string{"workload.matrix_file=" + file})
	if err == nil || strings.Count(err.Error(), "\n") != 3 ||
		!strings.HasSuffix(err.Error(), "\n--set: workload.matrix_file: and 17 more like these") {
		t.Errorf("got %v, want 4 lines that end in the number of further ones", err)
	}
	long := strings.Repeat("k", 1<<20)
	for _, text := range []string{
		long + " = 1\n" + torus, torus + long + " = 1\n", torus + "[" + long + ".a]\nb = 1\n",
		"name = \"" + long + "\"\n" + torus, "seed = 9" + strings.Repeat("9", 1<<20) + "\n" + torus,
	} {
		if _, err := Parse("m.toml", []byte(text), nil); err == nil || len(err.Error()) > 6000 ||
			strings.Contains(err.Error(), long[:1000]) {
			t.Errorf("%.20s: got a diagnostic of %d bytes, want at most 6000 without the long text",
				text, len(fmt.Sprint(err)))
		}
	}
}

// TestDiagnosticNamesKey checks that a diagnostic names the key that causes it, if several keys
// are involved.
func TestDiagnosticNamesKey(t *testing.T) {
	gpt, err := embedded.ReadFile("gpt7b.toml")
	if err != nil {
		t.Fatal(err)
	}
	slow := regexp.MustCompile(`port_bandwidth = .*`).ReplaceAllString(string(gpt),
		`port_bandwidth = "0.0000000000000001bps"`)
	for _, c := range []struct {
		text, set, want string
	}{
		{slow, "seed=1", "fabric.port_bandwidth: an iteration may take"},
		{string(gpt), "fabric.nic_bandwidth=0.0000000000000001bps",
			"fabric.nic_bandwidth: an iteration may take"},
		{string(gpt), "workload.sequence=100000000", "workload.sequence: an iteration may take"},
		{"seed = 99999999999999999999\n" + string(gpt), "seed=1",
			"x.toml:1: seed: 99999999999999999999 is out of bounds; write a whole number from -9223372036854775808 to 9223372036854775807"},
		{string(gpt) + "x = [\n1,\n-99999999999999999999]\n", "seed=1",
			"x: -99999999999999999999 is out of bounds"},
		{`[workload]
kind = "all-to-all"
[fabric]
kind = "torus"
dims = [4]
`, "fabric.failed_ocs=x3", `fabric.failed_ocs: is the text "x3"; write a list of texts: ["x3"]`},
		{`[workload]
kind = "all-to-all"
[fabric]
kind = "torus"
dims = [4]
`, "fabric.failed_ocs=[x3, y1]", `fabric.failed_ocs: is the text "[x3, y1]"; write a list of texts, each in quotes: ["x3", "y1"]`},
		{`[workload]
kind = "all-to-all"
[fabric]
kind = "torus"
dims = 4
`, "seed=1", `fabric.dims: is the number 4; write a list of whole numbers: [4]`},
	} {
		_, err := Parse("x.toml", []byte(c.text), []string{c.set})
		checkError(t, err, c.want, c.set)
	}
}

// TestWorkloadOfAnotherFabric checks that a workload that the fabric does not simulate has a
// single diagnostic. Its missing keys are not reported.
func TestWorkloadOfAnotherFabric(t *testing.T) {
	const pods = `[fabric]
kind = "ocs-pods"
port_bandwidth = "400Gbps"
pods = 4
gpus_per_pod = 8
`

	for _, c := range []struct{ text, want string }{
		{
			"workload.kind = \"data-tensor\"\n" + pods,
			"x.toml:1: workload.kind: fabric \"ocs-pods\" does not simulate workload \"data-tensor\", which needs dimensions; " +
				"set workload.kind = \"training\", \"all-to-all\", \"matrix\" or a collective such as \"all-reduce\", or fabric.kind = \"torus\"",
		},
		{
			"workload.kind = \"all-to-all\"\n" + pods + "[[job]]\nname = \"a\"\n",
			"x.toml:1: workload.kind: several jobs are training, and this one is \"all-to-all\"; " +
				"set workload.kind = \"training\", or describe one job, without [[job]]\n" +
				"x.toml:6: fabric.gpus_per_pod: is not used by several jobs; leave it out, or describe one job, without [[job]]",
		},
	} {
		if _, err := Parse("x.toml", []byte(c.text), nil); err == nil || err.Error() != c.want {
			t.Errorf("%s\ngot\n%v\nwant\n%s", c.text, err, c.want)
		}
	}
}
