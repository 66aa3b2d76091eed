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

// podTraining is a training step of two replicas with four stages each, two stages per pod.
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

// forEachPairing calls visit with each assignment of eight stages to pods of two stages, as the
// pod of each stage. Pods are numbered by their first stage.
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

// writeMapping writes a mapping file with the pod of each GPU, for stages of the given number
// of GPUs. It returns the path of the file.
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

// TestPodMappingIsOptimal compares mapping "optimised" with all assignments of stages to pods,
// each given as a file. None is faster, and the bound is at most the best. A named order equals
// the file with the same assignment, and the default order equals a scenario without a mapping.
func TestPodMappingIsOptimal(t *testing.T) {
	dir := t.TempDir()
	list := []string{`"optimised"`, `"tp-cp-ep-pp-dp"`, `"tp-cp-ep-dp-pp"`}
	forEachPairing(func(pods []int) {
		list = append(list, fmt.Sprintf("%q",
			writeMapping(t, dir, fmt.Sprintf("p%d.txt", len(list)), pods, 2)))
	})
	if len(list) != 108 {
		t.Fatalf("got %d assignments, want 105", len(list)-3)
	}
	for _, override := range []string{"policy.mapping_trials=1000", "policy.mapping_trials=2"} {
		if testing.Short() && override != "policy.mapping_trials=1000" {
			break
		}
		rows := runText(t, podTraining, "policy.mappings=["+strings.Join(list, ",")+"]",
			override).Document.Rows
		best := math.Inf(1)
		for _, row := range rows[1:] {
			best = min(best, row.Metrics["makespan_s"])
		}
		m := rows[0].Metrics
		if override == "policy.mapping_trials=1000" && m["makespan_s"] != best {
			t.Errorf("optimised takes %g s, want %g s, the minimum of all assignments",
				m["makespan_s"], best)
		}
		if m["bound_mapping_s"] > best || m["bound_mapping_s"] <= m["compute_makespan_s"] {
			t.Errorf("%s: got a bound of %g s, want more than the compute time and at most %g s, "+
				"the minimum of all assignments", override, m["bound_mapping_s"], best)
		}
		unmapped := runMetrics(t, podTraining)
		if rows[1].Metrics["makespan_s"] != unmapped["makespan_s"] ||
			rows[1].Metrics["nct"] != unmapped["nct"] ||
			rows[1].Metrics["ports"] != unmapped["ports"] {
			t.Errorf("got, for the default order,\n%v\nwant, as without a mapping,\n%v",
				rows[1].Metrics, unmapped)
		}

		// The default order has pods 0-1, 2-3, 4-5, 6-7. Order "tp-cp-ep-dp-pp" joins the two
		// replicas of each stage: 0-4, 1-5, 2-6, 3-7.
		order := rows[2].Metrics
		file := rows[3+slices.IndexFunc(rows[3:], func(r result.Row) bool {
			return r.Metrics["inter_pod_bytes"] == order["inter_pod_bytes"]
		})]
		if order["makespan_s"] != file.Metrics["makespan_s"] {
			t.Errorf("%s takes %g s, want %g s as the order with the same assignment",
				file.Policy, file.Metrics["makespan_s"], order["makespan_s"])
		}
	}
}

// TestPodNumbersDoNotMatter checks that renumbering the pods of a mapping leaves all metrics
// bit-identical.
func TestPodNumbersDoNotMatter(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		stages := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7}).Draw(r, "stages")
		podOf, renumbered := make([]int, 8), make([]int, 8)
		pods := rapid.Permutation([]int{0, 1, 2, 3}).Draw(r, "pods")
		for i, stage := range stages {
			podOf[stage], renumbered[stage] = i/2, pods[i/2]
		}
		dir := t.TempDir()
		rows := runText(t, podTraining,
			fmt.Sprintf("policy.mappings=[%q, %q]", writeMapping(t, dir, "a", podOf, 2),
				writeMapping(t, dir, "b", renumbered, 2))).Document.Rows
		if a, b := fmt.Sprint(rows[0].Metrics), fmt.Sprint(rows[1].Metrics); a != b {
			r.Fatalf("pods %v:\n%s\nrenumbered %v:\n%s\nwant identical metrics",
				podOf, a, renumbered, b)
		}
	})
}

// TestMappingOfRepresentativeReplica compares the search for a mapping that simulates one
// representative replica with the search over all replicas. The former is not better, and
// neither is its bound. A mapping with identical replicas takes as long in both modes.
func TestMappingOfRepresentativeReplica(t *testing.T) {
	find := func(set ...string) map[string]float64 {
		return runMetrics(t, podTraining,
			append(set, `policy.mapping="optimised"`, "policy.mapping_trials=30", "workload.pp=6",
				"workload.gpus=24")...)
	}

	single, all := find(`workload.replicas="single"`), find(`workload.replicas="all"`)
	if single["makespan_s"] < all["makespan_s"] || single["bound_mapping_s"] < all["bound_mapping_s"]-1e-9 {
		t.Errorf("representative replica: %g s (bound %g s), all replicas: %g s (bound %g s), "+
			"want neither value of the former to be smaller",
			single["makespan_s"], single["bound_mapping_s"], all["makespan_s"],
			all["bound_mapping_s"])
	}
	dir := t.TempDir()
	file := writeMapping(t, dir, "a", []int{1, 0, 2, 0, 1, 2, 4, 3, 5, 3, 4, 5}, 2)
	var ends []float64
	for _, mode := range []string{"auto", "single", "all"} {
		ends = append(ends, runMetrics(t, podTraining, "workload.pp=6", "workload.gpus=24",
			fmt.Sprintf("policy.mapping=%q", file),
			fmt.Sprintf("workload.replicas=%q", mode))["makespan_s"])
	}

	if ends[0] != ends[1] || math.Abs(ends[2]/ends[1]-1) > 1e-9 {
		t.Errorf("replicas auto, single and all take %v s, want equal times", ends)
	}
}
