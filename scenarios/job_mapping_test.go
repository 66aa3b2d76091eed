package scenarios

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mappedJobs is a scenario of two jobs of three stages in a row of four pods, one stage per
// pod.
const mappedJobs = `
[workload]
kind = "training"
preset = "calibrated"
model = "gpt-7b"
sequence = 4096
tp = 2
pp = 3
gpus = 12
[fabric]
kind = "ocs-pods"
port_bandwidth = "400Gbps"
ports_per_pod = 6
pods = 4
[policy]
multi_job_allocators = ["joint"]
[[job]]
name = "a"
[job.workload]
microbatches = 4
[job.fabric]
gpus_per_pod_per_replica = 2
[[job]]
name = "b"
[job.workload]
microbatches = 8
[job.fabric]
gpus_per_pod_per_replica = 2
`

// TestJobMappingIsOptimal compares mapping "optimised" of two jobs with all mappings of the
// jobs to pods, each given as a file. None is better than the search result or below its bound.
// Renumbered pods have the same objective.
func TestJobMappingIsOptimal(t *testing.T) {
	dir := t.TempDir()
	list := []string{`"optimised"`, `"tp-cp-ep-pp-dp"`}
	for k := range 64 { // pods of job b; by symmetry job a is in pods 0, 1 and 2
		pods := [3]int{k % 4, k / 4 % 4, k / 16}
		if pods[0] == pods[1] || pods[1] == pods[2] || pods[0] == pods[2] {
			continue
		}
		path := filepath.Join(dir, fmt.Sprintf("p%d", k))
		if err := os.WriteFile(path, []byte(fmt.Sprintf("0\n1\n2\n%d\n%d\n%d\n", pods[0], pods[1], pods[2])), 0o600); err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%q", path))
		if k == 1+4*2+16*3 { // job b in pods 1, 2 and 3; all pods renumbered
			if err := os.WriteFile(path+"turned", []byte("3\n2\n1\n2\n1\n0\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprintf("%q", path+"turned"))
		}
	}

	rows := runText(t, mappedJobs, "policy.mappings=["+strings.Join(list, ",")+"]",
		"policy.mapping_trials=100").Document.Rows
	best, values := math.Inf(1), map[string]float64{}
	for _, row := range rows[1:] {
		best, values[row.Policy] = min(best, row.Metrics["objective"]), row.Metrics["objective"]
	}
	m := rows[0].Metrics
	if m["objective"] > best+1e-9 || m["bound_mapping"] > best+1e-9 || m["bound_mapping"] <= 0 {
		t.Errorf("optimised has objective %.9f and bound %.9f, want at most %.9f, the minimum of "+
			"all mappings", m["objective"], m["bound_mapping"], best)
	}
	if a, b := values["p57"], values["p57turned"]; math.Abs(a-b) > 1e-6 || a == 0 {
		t.Errorf("got objective %.9f, and %.9f with renumbered pods; want equal ones", a, b)
	}
	if unmapped := runMetrics(t, mappedJobs)["objective"]; unmapped != values["tp-cp-ep-pp-dp"] {
		t.Errorf("the default order has objective %.9f, want %.9f as without a mapping",
			values["tp-cp-ep-pp-dp"], unmapped)
	}
}
