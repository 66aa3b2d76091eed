package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRunIsDeterministic checks that a run returns the same document and the same details for
// figures, for any number of workers and for repeated runs.
func TestRunIsDeterministic(t *testing.T) {
	type output struct{ Document, Detail, Plans any }
	var first []byte
	counts := []int{1, 2, 7, 1}
	if testing.Short() {
		counts = []int{1, 7}
	}
	for _, workers := range counts {
		o := runScenario(t, "megatron177b", workers)
		b, err := json.Marshal(output{o.Document, o.Detail, o.RateSchedules})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		if string(b) != string(first) {
			t.Errorf("%d workers: got other results, want those of 1 worker", workers)
		}
	}
}

// TestModesAgree compares modes "all" and "decomposed" of simulating identical replicas with
// mode "single".
func TestModesAgree(t *testing.T) {
	single := runScenario(t, "gpt7b", 2, "workload.replicas=single")
	for _, mode := range []string{"all", "decomposed"} {
		got := runScenario(t, "gpt7b", 2, "workload.replicas="+mode)
		for _, m := range []string{"nct", "makespan_s", "ports", "port_ratio"} {
			near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(a) })
			diff := cmp.Diff(metricByPolicy(t, single, m), metricByPolicy(t, got, m), near)
			if diff != "" {
				t.Errorf("%s, %s (-single +got):\n%s", mode, m, diff)
			}
		}
	}
}

// TestDifferentReplicas slows one of two replicas. The ideal fabric takes longer. Joint
// optimisation over both replicas is proved optimal. Decomposition is at most 1 % slower and
// never faster.
func TestDifferentReplicas(t *testing.T) {
	slow := []string{"replica.1.compute_scale=1.05", `policy.allocators=["sqrt-alloc", "delta-joint"]`}
	identical := runScenario(t, "gpt7b", 2, slow[1])
	all := runScenario(t, "gpt7b", 2, slow...)
	decomposed := runScenario(t, "gpt7b", 2, append(slow, "workload.replicas=decomposed")...)
	a, b := identical.Document.Reference["makespan_s"], all.Document.Reference["makespan_s"]
	if !(b > a) {
		t.Errorf("the ideal fabric takes %v s with a slow replica, want more than %v s without", b, a)
	}
	best := metricByPolicy(t, all, "makespan_s")["delta-joint"]
	if gap := metricByPolicy(t, all, "gap")["delta-joint"]; gap > 1e-6 {
		t.Errorf("joint optimum over different replicas has gap %g, want at most 1e-6", gap)
	}
	got := metricByPolicy(t, decomposed, "makespan_s")["delta-joint"]
	if got < best*(1-1e-9) || got > best*1.01 {
		t.Errorf("decomposed replicas take %v s, want at least the joint optimum %v s and at "+
			"most 1 %% more", got, best)
	}
}

// TestDefaultService checks the default of policy.service for each allocator. delta-joint
// transfers by level priority, and sqrt-alloc by max-min fair sharing. Priority reduces the NCT
// of both.
func TestDefaultService(t *testing.T) {
	fair := runScenario(t, "megatron177b", 2, `policy.service="max-min"`)
	defaults := runScenario(t, "megatron177b", 2)
	byLevel := runScenario(t, "megatron177b", 2, `policy.service="level-priority"`)
	const joint, sqrt = "delta-joint", "sqrt-alloc"
	f, o, l := metricByPolicy(t, fair, "nct"), metricByPolicy(t, defaults, "nct"),
		metricByPolicy(t, byLevel, "nct")
	if !(f[joint] > o[joint]) || l[joint] != o[joint] {
		t.Errorf("delta-joint: got NCT %v with max-min, %v by default and %v by level, want the "+
			"default to equal the last and to be less than the first", f[joint], o[joint], l[joint])
	}
	if !(l[sqrt] < o[sqrt]) || f[sqrt] != o[sqrt] {
		t.Errorf("sqrt-alloc: got NCT %v with max-min, %v by default and %v by level, want the "+
			"default to equal the first and to exceed the last", f[sqrt], o[sqrt], l[sqrt])
	}
}

// TestFixed compares a fixed matrix of circuits with allocator "uniform", which provisions the
// same circuits, and with the simulation of all replicas.
func TestFixed(t *testing.T) {
	fixed := []string{`policy.allocators=["fixed", "uniform"]`, "policy.fixed.circuits=[[2, 2], [2, 2]]"}
	single := metricByPolicy(t, runScenario(t, "gpt7b", 1, fixed...), "nct")
	all := metricByPolicy(t, runScenario(t, "gpt7b", 1, append(fixed, "workload.replicas=all")...), "nct")
	if single["fixed"] != single["uniform"] || math.Abs(single["fixed"]-all["fixed"]) > 1e-9 {
		t.Errorf("two circuits per pair: got NCT %v for fixed, %v for uniform and %v for fixed "+
			"with all replicas, want equal values",
			single["fixed"], single["uniform"], all["fixed"])
	}
}

// TestTolerance checks that a port tolerance of 1 % uses fewer ports and increases the makespan
// by at most 1 %.
func TestTolerance(t *testing.T) {
	exact := runScenario(t, "deepseek671b", 2, `policy.allocators=["delta-joint"]`)
	loose := runScenario(t, "deepseek671b", 2, `policy.allocators=["delta-joint"]`,
		"policy.port_tolerance=0.01")
	c, d := metricByPolicy(t, exact, "makespan_s")["delta-joint"],
		metricByPolicy(t, loose, "makespan_s")["delta-joint"]
	p, q := metricByPolicy(t, exact, "ports")["delta-joint"], metricByPolicy(t, loose, "ports")["delta-joint"]
	if !(q < p) || d < c || d > c*1.01*(1+1e-8) {
		t.Errorf("got %v ports and %v s without a tolerance, %v ports and %v s with 1 %%; want "+
			"fewer ports and up to 1 %% more time", p, c, q, d)
	}
}

// TestInterrupted checks that a run with a cancelled context returns its error.
func TestInterrupted(t *testing.T) {
	s, err := Load("deepseek671b", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, s, RunOptions{Workers: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// BenchmarkRun measures a run of deepseek671b with two workers.
func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		runScenario(b, "deepseek671b", 2)
	}
}

// TestTightPorts checks different replicas on a ring of three with few ports. The ports that
// each bundle needs separately exceed the ports in total. delta-topo and delta-joint are still
// at least as good as the other allocators.
func TestTightPorts(t *testing.T) {
	o := runScenario(t, "gpt7b", 2, "workload.replicas=all", "workload.gpus=24", "fabric.ports_per_pod=4")
	c := metricByPolicy(t, o, "makespan_s")
	for name, v := range c {
		if v < c["delta-joint"]*(1-1e-9) || name != "delta-joint" && v < c["delta-topo"]*(1-1e-9) {
			t.Errorf("%s takes %v s, want at least the %v s of delta-topo and the %v s of "+
				"delta-joint", name, v, c["delta-topo"], c["delta-joint"])
		}
	}
}

// TestUnidirectionalRing compares a representative replica with all three replicas, on a ring
// in one direction and on one in both. Allocators see the same traffic, so that the NCT is
// equal. Pods send the same number of bytes.
func TestUnidirectionalRing(t *testing.T) {
	sent := func(o *Outcome) float64 {
		bits, s := 0.0, o.Detail.Policies[0].Demand[0]
		for i := range s.Value[:len(s.Value)-1] {
			bits += s.Value[i] * (s.TimeS[i+1] - s.TimeS[i])
		}
		return bits / 8
	}

	for _, ring := range []string{"unidirectional", "bidirectional"} {
		common := []string{"workload.gpus=24", "workload.sequence=16384", "fabric.ports_per_pod=9",
			"workload.ring=" + ring, `policy.allocators=["sqrt-alloc"]`}
		single := runScenario(t, "gpt7b", 1, common...)
		all := runScenario(t, "gpt7b", 1, append(common, "workload.replicas=all")...)
		if a, b := metricByPolicy(t, single, "nct")["sqrt-alloc"], metricByPolicy(t, all, "nct")["sqrt-alloc"]; math.Abs(a-b) > 1e-9 {
			t.Errorf("%s: got NCT %v with a representative replica, want %v as with all", ring, a, b)
		}
		if a, b := sent(single), sent(all); math.Abs(a-b) > 1e-6*b {
			t.Errorf("%s: pod 0 sends %v bytes with a representative replica, want %v as with all",
				ring, a, b)
		}
	}
}

// TestLargeSearch searches more than 1e9 topologies: 22 bundles between the 8 pods of each of
// two different replicas. delta-joint proves its optimum. delta-fast is close to it and better
// than the simple allocators.
func TestLargeSearch(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	microbatches, maxGap := "8", 0.005
	if *longTests {
		microbatches, maxGap = "128", 0.002
	}
	o := runScenario(t, "megatron462b", 2, "workload.microbatches="+microbatches,
		"workload.gpus=256", "fabric.gpus_per_pod_per_replica=16", "replica.1.compute_scale=1.03",
		`policy.allocators=["prop-alloc", "sqrt-alloc", "iter-halve", "delta-fast", "delta-joint"]`)
	c, gap := metricByPolicy(t, o, "makespan_s"), metricByPolicy(t, o, "gap")
	for _, name := range []string{"prop-alloc", "sqrt-alloc", "iter-halve"} {
		if !(c["delta-fast"] < c[name]) {
			t.Errorf("delta-fast takes %v s, want less than %s, %v s", c["delta-fast"], name, c[name])
		}
	}

	if gap["delta-joint"] > 1e-6 || gap["delta-fast"] > maxGap {
		t.Errorf("got gaps %v, want at most 1e-6 for delta-joint and %g for delta-fast", gap, maxGap)
	}
}

// TestNoTopologyBeatsReference runs a workload that no priority rule schedules best. The
// reference on the ideal fabric must still be at least as fast as every topology.
func TestNoTopologyBeatsReference(t *testing.T) {
	o := runParsed(t, mustParse(t, priorityCounterexample), 2)
	for name, nct := range metricByPolicy(t, o, "nct") {
		if nct < 1-1e-9 {
			t.Errorf("%s has NCT %v, want at least 1, the ideal fabric", name, nct)
		}
	}
}

// priorityCounterexample is a scenario that some topology executes faster than the ideal fabric
// does under each priority rule.
const priorityCounterexample = `
[workload]
kind="training"
sequence=4096
microbatches=2
tp=2
pp=2
gpus=16
schedule="interleaved-1f1b"
virtual_stages=2
preset="layered"
replicas="all"
effective_tflops=100
[workload.architecture]
layers=8
hidden=1024
heads=8
vocab=32000
[fabric]
kind="ocs-pods"
gpus_per_pod_per_replica=2
port_bandwidth="100Gbps"
ports_per_pod=6
[[replica]]
index=2
port_bandwidth="50Gbps"
`
