package scenarios

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/scenarios/result"
)

const podTraining = `
[workload]
kind = "training"
model = "gpt-7b"
preset = "calibrated"
sequence = 4096
microbatches = 4
tp = 2
pp = 4
gpus = 16
[fabric]
kind = "ocs-pods"
gpus_per_pod_per_replica = 4
port_bandwidth = "400Gbps"
[policy]
allocators = ["sqrt-alloc"]
`

// forEachPairing calls each with every way to put eight stages into pods of two.
func forEachPairing(visit func(pods []int)) {
	pods := slices.Repeat([]int{-1}, 8)
	var assign func(pod int)
	assign = func(pod int) {
		first := slices.Index(pods, -1)
		if first < 0 {
			visit(pods)
			return
		}
		pods[first] = pod
		for k := first + 1; k < len(pods); k++ {
			if pods[k] < 0 {
				pods[k] = pod
				assign(pod + 1)
				pods[k] = -1
			}
		}
		pods[first] = -1
	}
	assign(0)
}

// writeMapping writes the pod of each stage for each of its GPUs.
func writeMapping(t testing.TB, dir, name string, pods []int, gpus int) string {
	var lines strings.Builder
	for _, pod := range pods {
		lines.WriteString(strings.Repeat(fmt.Sprintln(pod), gpus))
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPlacementIsExact: of all placements of stages in pods, each given as a file, none is better than what is searched
// for, whose bound is no more than the best; an order is the file that says the same, and the usual one is no mapping.
func TestPodMappingIsOptimal(t *testing.T) {
	dir := t.TempDir()
	list := []string{`"optimised"`, `"tp-cp-ep-pp-dp"`, `"tp-cp-ep-dp-pp"`}
	forEachPairing(func(pods []int) {
		list = append(list, fmt.Sprintf("%q", writeMapping(t, dir, fmt.Sprintf("p%d.txt", len(list)), pods, 2)))
	})
	if len(list) != 108 {
		t.Fatalf("%d placements", len(list)-3)
	}
	for _, override := range []string{"policy.mapping_trials=1000", "policy.mapping_trials=2"} {
		if testing.Short() && override != "policy.mapping_trials=1000" {
			break
		}
		rows := runText(t, podTraining, "policy.mappings=["+strings.Join(list, ",")+"]", override).Document.Rows
		best := math.Inf(1)
		for _, row := range rows[1:] {
			best = min(best, row.Metrics["makespan_s"])
		}
		m := rows[0].Metrics
		if override == "policy.mapping_trials=1000" && m["makespan_s"] != best {
			t.Errorf("found %g s, the best of all is %g s", m["makespan_s"], best)
		}
		if m["bound_mapping_s"] > best || m["bound_mapping_s"] <= m["compute_makespan_s"] {
			t.Errorf("%s: a bound of %g s, the best is %g s", override, m["bound_mapping_s"], best)
		}
		unmapped := runText(t, podTraining).Document.Rows[0].Metrics
		if rows[1].Metrics["makespan_s"] != unmapped["makespan_s"] || rows[1].Metrics["nct"] != unmapped["nct"] || rows[1].Metrics["ports"] != unmapped["ports"] {
			t.Errorf("in order:\n%v\nwithout a mapping:\n%v", rows[1].Metrics, unmapped)
		}
		// 0-1 2-3, 4-5 6-7 of two replicas is the usual order; 0-4, 1-5 and so on has replicas together
		order, file := rows[2].Metrics, rows[3+slices.IndexFunc(rows[3:], func(r result.Row) bool { return r.Metrics["inter_pod_bytes"] == rows[2].Metrics["inter_pod_bytes"] })]
		if order["makespan_s"] != file.Metrics["makespan_s"] {
			t.Errorf("%s takes %g s, the order %g s", file.Policy, file.Metrics["makespan_s"], order["makespan_s"])
		}
	}
}

// TestPlacementHasNoNumbers: pods by other numbers are the same pods, to the bit.
func TestPodNumbersDoNotMatter(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		stages := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7}).Draw(r, "stages")
		podOf, renumbered := make([]int, 8), make([]int, 8)
		pods := rapid.Permutation([]int{0, 1, 2, 3}).Draw(r, "pods")
		for i, stage := range stages {
			podOf[stage], renumbered[stage] = i/2, pods[i/2]
		}
		dir := t.TempDir()
		rows := runText(t, podTraining, fmt.Sprintf("policy.mappings=[%q, %q]", writeMapping(t, dir, "a", podOf, 2), writeMapping(t, dir, "b", renumbered, 2))).Document.Rows
		if a, b := fmt.Sprint(rows[0].Metrics), fmt.Sprint(rows[1].Metrics); a != b {
			r.Fatalf("%v:\n%s\n%v:\n%s", podOf, a, renumbered, b)
		}
	})
}

// TestPlacementOfOneForAll: a search for one replica that stands for all is no better than that for all, and what it
// finds takes as long where all are simulated.
func TestMappingOfRepresentativeReplica(t *testing.T) {
	find := func(set ...string) map[string]float64 {
		return runText(t, podTraining, append(set, `policy.mapping="optimised"`, "policy.mapping_trials=30", "workload.pp=6", "workload.gpus=24")...).Document.Rows[0].Metrics
	}
	single, all := find(`workload.replicas="single"`), find(`workload.replicas="all"`)
	if single["makespan_s"] < all["makespan_s"] || single["bound_mapping_s"] < all["bound_mapping_s"]-1e-9 {
		t.Errorf("for one %g s (bound %g s), for all %g s (bound %g s)", single["makespan_s"], single["bound_mapping_s"], all["makespan_s"], all["bound_mapping_s"])
	}
	dir := t.TempDir()
	file := writeMapping(t, dir, "a", []int{1, 0, 2, 0, 1, 2, 4, 3, 5, 3, 4, 5}, 2)
	var ends []float64
	for _, mode := range []string{"auto", "single", "all"} {
		ends = append(ends, runText(t, podTraining, "workload.pp=6", "workload.gpus=24", fmt.Sprintf("policy.mapping=%q", file), fmt.Sprintf("workload.replicas=%q", mode)).Document.Rows[0].Metrics["makespan_s"])
	}
	if ends[0] != ends[1] || math.Abs(ends[2]/ends[1]-1) > 1e-9 {
		t.Errorf("one for all, one for all and all take %v s", ends)
	}
}
