package scenarios

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
arbiters = ["joint"]
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

// TestJobPlacementIsExact: of all placements of two jobs in a row of four pods, each given as a file, none is better than
// what is searched for, nor below its bound; and pods by other numbers are as good.
func TestJobMappingIsOptimal(t *testing.T) {
	dir := t.TempDir()
	list := []string{`"optimised"`, `"tp-cp-ep-pp-dp"`}
	for k := range 64 { // of job b; job a is in pods 0, 1 and 2, or as well in 3, 2 and 1
		pods := [3]int{k % 4, k / 4 % 4, k / 16}
		if pods[0] == pods[1] || pods[1] == pods[2] || pods[0] == pods[2] {
			continue
		}
		path := filepath.Join(dir, fmt.Sprintf("p%d", k))
		if err := os.WriteFile(path, []byte(fmt.Sprintf("0\n1\n2\n%d\n%d\n%d\n", pods[0], pods[1], pods[2])), 0o600); err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%q", path))
		if k == 1+4*2+16*3 { // 1 2 3
			if err := os.WriteFile(path+"turned", []byte("3\n2\n1\n2\n1\n0\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprintf("%q", path+"turned"))
		}
	}
	rows := runText(t, mappedJobs, "policy.mappings=["+strings.Join(list, ",")+"]", "policy.mapping_trials=100").Document.Rows
	best, values := math.Inf(1), map[string]float64{}
	for _, row := range rows[1:] {
		best, values[row.Policy] = min(best, row.Metrics["objective"]), row.Metrics["objective"]
	}
	m := rows[0].Metrics
	if m["objective"] > best+1e-9 || m["bound_mapping"] > best+1e-9 || m["bound_mapping"] <= 0 {
		t.Errorf("found %.9f, at least %.9f; the best of all is %.9f", m["objective"], m["bound_mapping"], best)
	}
	if a, b := values["p57"], values["p57turned"]; math.Abs(a-b) > 1e-6 || a == 0 {
		t.Errorf("%.9f, with pods by other numbers %.9f", a, b)
	}
	if unmapped := runText(t, mappedJobs).Document.Rows[0].Metrics["objective"]; unmapped != values["tp-cp-ep-pp-dp"] {
		t.Errorf("as the jobs say %.9f, without a mapping %.9f", values["tp-cp-ep-pp-dp"], unmapped)
	}
}
