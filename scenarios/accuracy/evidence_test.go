package accuracy

import (
	"strings"
	"testing"
)

// TestEvidence: without a machine the evidence says so; with one it has the error of the classes
// of the workload, and of all machines if none was measured.
func TestEvidence(t *testing.T) {
	for scenario, want := range map[string]string{
		"name = \"a\"": "^" + IdealEvidence + "$",
		"machine = \"h800\"\nworkload.kind = \"experts\"":                               "^evidence for machine h800: dispatch and combine of experts, typical factor 1.",
		"machine = \"mine.toml\"\nworkload.kind = \"experts\"":                          "on all machines",
		"machine = \"h800\"\nworkload = { kind = \"training\", model = \"llama3-8b\" }": "training of dense models",
		"machine = \"h800\"\nworkload = { kind = \"training\", ep = 8 }":                "training of models with experts",
		"machine = \"h800\"\nworkload = { kind = \"all-reduce\" }":                      "collectives, 64 MiB and more",
	} {
		got := Evidence([]byte(scenario))
		if !strings.Contains("^"+got+"$", want) {
			t.Errorf("%s: got %q, want it to contain %q", scenario, got, want)
		}
	}
}
