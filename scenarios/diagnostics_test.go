package scenarios

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sim/scenarios/schema"

	"github.com/google/go-cmp/cmp"
)

// update makes tests write their golden files instead of comparing with them.
var update = flag.Bool("update", false, "write the golden files")

// TestDiagnostics compares the diagnostics of each testdata/diagnostics/NAME.toml with
// NAME.golden. A line "# --set key=value" of the file is an override.
func TestDiagnostics(t *testing.T) {
	files, err := filepath.Glob("testdata/diagnostics/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d input files, error %v; want some", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var overrides []string
			for line := range strings.Lines(string(data)) {
				if o, ok := strings.CutPrefix(line, "# --set "); ok {
					overrides = append(overrides, strings.TrimSpace(o))
				}
			}

			s, err := Parse(filepath.Base(file), data, overrides)
			if err == nil || s != nil {
				t.Fatalf("got scenario %v and error %v, want diagnostics alone", s, err)
			}
			if !errors.Is(err, ErrInput) {
				t.Errorf("got error %v, want one that wraps ErrInput", err)
			}
			got := err.Error() + "\n"
			golden := strings.TrimSuffix(file, ".toml") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n"))
			if diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
}

// diagnosticsOf returns the diagnostics of the DeepSeek scenario with overrides, without their
// prefix "--set: ".
func diagnosticsOf(overrides ...string) []string {
	_, err := Load("deepseek671b", overrides)
	var fs Diagnostics
	if !errors.As(err, &fs) {
		return nil
	}
	found := make([]string, len(fs))
	for i, f := range fs {
		found[i] = strings.TrimPrefix(f.String(), schema.SetFile+": ")
	}
	return found
}

// TestConflicts checks that overrides that break a rule have a diagnostic that names the rule.
func TestConflicts(t *testing.T) {
	for _, tt := range []struct {
		sets string   // separated by spaces
		want []string // starts of the diagnostics; nil if the overrides are accepted
	}{
		{"workload.pp=64", []string{"workload.pp: 256 GPUs is not a multiple of the",
			"workload.pp: more stages than layers"}},
		{"workload.gpus=250", []string{"workload.gpus: 250 GPUs is not a multiple of the 128 GPUs of a replica"}},
		{"workload.tp=3", []string{"workload.tp: tp = 3 does not divide the 8 GPUs of a stage"}},
		{"fabric.gpus_per_pod_per_replica=12",
			[]string{"fabric.gpus_per_pod_per_replica: a pod of 12 GPUs is not a multiple of a stage"}},
		{"fabric.gpus_per_pod_per_replica=24",
			[]string{"fabric.gpus_per_pod_per_replica: pp does not divide into pods"}},
		{"fabric.gpus_per_pod_per_replica=128 workload.gpus=128",
			[]string{"fabric.gpus_per_pod_per_replica: no traffic crosses pods"}},
		{"fabric.ports_per_pod=2", []string{"fabric.ports_per_pod: U_p = 2 is too small to connect"}},
		{"fabric.ports_per_pod=3", nil},
		{"fabric.ports_per_pod=3 workload.gpus=512",
			[]string{"fabric.ports_per_pod: U_p = 3 is too small to connect"}},
		{"fabric.ports_per_pod=2 fabric.gpus_per_pod_per_replica=64", nil},
		{"replica.1.ports_per_pod=2", []string{"replica.1.ports_per_pod: U_p = 2 is too small to connect"}},
		{"replica.2.compute_scale=2", []string{"replica.2.index: there is no replica 2"}},
		{"replica.1.pod_map=[0,1,2,2]", []string{"replica.1.pod_map: is no permutation of the 4 pods"}},
		{"workload.replicas=single replica.1.compute_scale=2",
			[]string{"replica.1: is not used by replicas"}},
		{"workload.schedule=interleaved-1f1b workload.virtual_stages=4",
			[]string{"workload.virtual_stages: more stages than layers"}},
		{"workload.schedule=interleaved-1f1b workload.virtual_stages=2 workload.microbatches=100",
			[]string{"workload.microbatches: 100 micro-batches do not divide"}},
		{"workload.microbatches=50000", nil},
		{"workload.microbatches=1000000 workload.replicas=all",
			[]string{"workload.microbatches: passes of stages and transfers between pods take about 7.6"}},
		{"workload.sequence=1000000 workload.microbatch=1001",
			[]string{"workload.sequence: a micro-batch of 1e+09 tokens"}},
		{"policy.delta-fast.population=4", []string{"policy.delta-fast.population: 4 elites leave no place"}},
		{"policy.delta-fast.tournament=65", []string{"policy.delta-fast.tournament: 65 contestants"}},
		{"policy.allocators=[] ", []string{"policy.allocators: is empty"}},
		{"workload.ep=3", []string{"workload.ep: 256 experts do not spread evenly over ep = 3"}},
	} {
		got := diagnosticsOf(strings.Fields(tt.sets)...)
		if tt.want == nil && got != nil {
			t.Errorf("%s: got %q, want no diagnostic", tt.sets, got)
		}
		for _, want := range tt.want {
			if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, want) }) {
				t.Errorf("%s: got %q, want a diagnostic that starts with %q", tt.sets, got, want)
			}
		}
	}
}

// TestFixedCircuits checks the diagnostics of matrices of policy.fixed.circuits.
func TestFixedCircuits(t *testing.T) {
	for _, tt := range []struct{ circuits, want string }{
		{"[[1,1,0,0],[1,1,1,0],[0,1,1,1],[0,0,1,1]]", ""},
		{"[[1,1,0],[1,1,1],[0,1,1]]", "the matrix does not fit the pods; write 4 rows of 4 circuits"},
		{"[[1,1,0,0],[1,1,1],[0,1,1,1],[0,0,1,1]]",
			"the matrix does not fit the pods; write 4 rows of 4 circuits"},
		{"[[1,2,0,0],[1,1,1,0],[0,1,1,1],[0,0,1,1]]",
			"row 1, column 2 has 2 circuits, and row 2, column 1 has 1; make the matrix symmetric: a circuit serves both directions"},
		{"[[1,1,0,0],[1,0,1,0],[0,1,1,1],[0,0,1,1]]",
			"pod 1 has no circuit to its twin in another replica; give it at least one, on the diagonal"},
		{"[[1,0,0,1],[0,1,1,0],[0,1,1,1],[1,0,1,1]]",
			"pods 0 and 1 exchange activations and have no circuit; give them at least one"},
		{"[[32,1,0,0],[1,1,1,0],[0,1,1,1],[0,0,1,1]]",
			"row 1 takes 33 ports of 32, a circuit on the diagonal counting 1; give fewer circuits"},
		{"[[1,-1,0,0]]", "element 1, element 2: -1 is out of bounds; write a whole number from 0 to 1048576"},
	} {
		var want []string
		if tt.want != "" {
			want = []string{"policy.fixed.circuits: " + tt.want}
		}
		got := diagnosticsOf(`policy.allocators=["fixed"]`, "policy.fixed.circuits="+tt.circuits)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.circuits, diff)
		}
	}
}
