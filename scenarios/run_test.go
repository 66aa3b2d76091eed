package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func runScenario(t testing.TB, name string, workers int, overrides ...string) *Outcome {
	t.Helper()
	s, err := Load(name, overrides)
	if err != nil {
		t.Fatal(err)
	}
	return runParsed(t, s, workers)
}

func runParsed(t testing.TB, s *Scenario, workers int) *Outcome {
	t.Helper()
	o, err := Run(context.Background(), s, RunOptions{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// metricByPolicy returns a metric by policy.
func metricByPolicy(t testing.TB, o *Outcome, name string) map[string]float64 {
	t.Helper()
	m := map[string]float64{}
	for _, r := range o.Document.Rows {
		v, ok := r.Metrics[name]
		if !ok {
			t.Fatalf("%s has no %s", r.Policy, name)
		}
		m[r.Policy] = v
	}
	return m
}

// TestRunIsDeterministic holds a run's results, and all that figures show, to the same bytes for any number of workers
// and any number of runs.
func TestRunIsDeterministic(t *testing.T) {
	type kept struct{ Document, Detail, Plans any }
	var first []byte
	counts := []int{1, 2, 7, 1}
	if testing.Short() {
		counts = []int{1, 7}
	}
	for _, workers := range counts {
		o := runScenario(t, "megatron177b", workers)
		b, err := json.Marshal(kept{o.Document, o.Detail, o.RateSchedules})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		if string(b) != string(first) {
			t.Errorf("%d workers: results differ from those of 1", workers)
		}
	}
}

// TestModesAgree plays alike replicas reduced to one, all, and decomposed.
func TestModesAgree(t *testing.T) {
	single := runScenario(t, "gpt7b", 2, "workload.replicas=single")
	for _, mode := range []string{"all", "decomposed"} {
		got := runScenario(t, "gpt7b", 2, "workload.replicas="+mode)
		for _, m := range []string{"nct", "makespan_s", "ports", "port_ratio"} {
			near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(a) })
			if diff := cmp.Diff(metricByPolicy(t, single, m), metricByPolicy(t, got, m), near); diff != "" {
				t.Errorf("%s, %s: single replica against it: %s", mode, m, diff)
			}
		}
	}
}

// TestDifferentReplicas slows one of two replicas: nothing may be faster than the joint optimum over both, the
// decomposition least of all, but it must come close.
func TestDifferentReplicas(t *testing.T) {
	slow := []string{"replica.1.compute_scale=1.05", `policy.allocators=["sqrt-alloc", "delta-joint"]`}
	identical := runScenario(t, "gpt7b", 2, slow[1])
	all := runScenario(t, "gpt7b", 2, slow...)
	decomposed := runScenario(t, "gpt7b", 2, append(slow, "workload.replicas=decomposed")...)
	if a, b := identical.Document.Reference["makespan_s"], all.Document.Reference["makespan_s"]; !(b > a) {
		t.Errorf("ideal fabric takes %v s with a slow replica, %v s without", b, a)
	}
	best := metricByPolicy(t, all, "makespan_s")["delta-joint"]
	if gap := metricByPolicy(t, all, "gap")["delta-joint"]; gap > 1e-6 {
		t.Errorf("joint optimum over unlike replicas is not certified: gap %g", gap)
	}
	got := metricByPolicy(t, decomposed, "makespan_s")["delta-joint"]
	if got < best*(1-1e-9) || got > best*1.01 {
		t.Errorf("decomposed %v s, all together %v s", got, best)
	}
}

// TestDefaultService plays a baseline by priority and the joint topology fairly.
func TestDefaultService(t *testing.T) {
	fair := runScenario(t, "megatron177b", 2, `policy.service="max-min"`)
	defaults := runScenario(t, "megatron177b", 2)
	byLevel := runScenario(t, "megatron177b", 2, `policy.service="level-priority"`)
	const joint, sqrt = "delta-joint", "sqrt-alloc"
	f, o, l := metricByPolicy(t, fair, "nct"), metricByPolicy(t, defaults, "nct"), metricByPolicy(t, byLevel, "nct")
	if !(f[joint] > o[joint]) || l[joint] != o[joint] {
		t.Errorf("delta-joint: fair %v, own %v, by level %v", f[joint], o[joint], l[joint])
	}
	if !(l[sqrt] < o[sqrt]) || f[sqrt] != o[sqrt] {
		t.Errorf("sqrt-alloc: fair %v, own %v, by level %v", f[sqrt], o[sqrt], l[sqrt])
	}
}

// TestFixed plays the user's own matrix, reduced and on all replicas.
func TestFixed(t *testing.T) {
	fixed := []string{`policy.allocators=["fixed", "uniform"]`, "policy.fixed.circuits=[[2, 2], [2, 2]]"}
	single := metricByPolicy(t, runScenario(t, "gpt7b", 1, fixed...), "nct")
	all := metricByPolicy(t, runScenario(t, "gpt7b", 1, append(fixed, "workload.replicas=all")...), "nct")
	if single["fixed"] != single["uniform"] || math.Abs(single["fixed"]-all["fixed"]) > 1e-9 {
		t.Errorf("two circuits everywhere: fixed %v, uniform %v, fixed on all replicas %v", single["fixed"], single["uniform"], all["fixed"])
	}
}

// TestTolerance gives up time for ports.
func TestTolerance(t *testing.T) {
	exact := runScenario(t, "deepseek671b", 2, `policy.allocators=["delta-joint"]`)
	loose := runScenario(t, "deepseek671b", 2, `policy.allocators=["delta-joint"]`, "policy.port_tolerance=0.01")
	c, d := metricByPolicy(t, exact, "makespan_s")["delta-joint"], metricByPolicy(t, loose, "makespan_s")["delta-joint"]
	p, q := metricByPolicy(t, exact, "ports")["delta-joint"], metricByPolicy(t, loose, "ports")["delta-joint"]
	if !(q < p) || d < c || d > c*1.01*(1+1e-8) {
		t.Errorf("exact: %v ports in %v s; at 1 %%: %v ports in %v s", p, c, q, d)
	}
}

// TestInterrupted ends a run early.
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

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		runScenario(b, "deepseek671b", 2)
	}
}

// TestTightPorts leaves little choice to unlike replicas on a ring of three: what each bundle needs alone does not fit
// together.
func TestTightPorts(t *testing.T) {
	o := runScenario(t, "gpt7b", 2, "workload.replicas=all", "workload.gpus=24", "fabric.ports_per_pod=4")
	c := metricByPolicy(t, o, "makespan_s")
	for name, v := range c {
		if v < c["delta-joint"]*(1-1e-9) || name != "delta-joint" && v < c["delta-topo"]*(1-1e-9) {
			t.Errorf("%s takes %v s, delta-topo %v, delta-joint %v", name, v, c["delta-topo"], c["delta-joint"])
		}
	}
}

// TestUnidirectionalRing compares a replica that stands for three with the three, on a ring that is used one way round:
// baselines see the same traffic, and pods send as much.
func TestUnidirectionalRing(t *testing.T) {
	sent := func(o *Outcome) float64 {
		bits, s := 0.0, o.Detail.Policies[0].Demand[0]
		for i := range s.Value[:len(s.Value)-1] {
			bits += s.Value[i] * (s.TimeS[i+1] - s.TimeS[i])
		}
		return bits / 8
	}
	for _, ring := range []string{"unidirectional", "bidirectional"} {
		common := []string{"workload.gpus=24", "workload.sequence=16384", "fabric.ports_per_pod=9", "workload.ring=" + ring, `policy.allocators=["sqrt-alloc"]`}
		single := runScenario(t, "gpt7b", 1, common...)
		all := runScenario(t, "gpt7b", 1, append(common, "workload.replicas=all")...)
		if a, b := metricByPolicy(t, single, "nct")["sqrt-alloc"], metricByPolicy(t, all, "nct")["sqrt-alloc"]; math.Abs(a-b) > 1e-9 {
			t.Errorf("%s: NCT %v by one replica, %v by all", ring, a, b)
		}
		if a, b := sent(single), sent(all); math.Abs(a-b) > 1e-6*b {
			t.Errorf("%s: pod 0 sends %v bytes by one replica, %v by all", ring, a, b)
		}
	}
}

// TestLargeSearch has delta-fast search more than 10^9 topologies: 22 bundles between the 8 pods of each of two
// unlike replicas.
func TestLargeSearch(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	microbatches, maxGap := "8", 0.005
	if *longTests {
		microbatches, maxGap = "128", 0.002
	}
	o := runScenario(t, "megatron462b", 2, "workload.microbatches="+microbatches, "workload.gpus=256", "fabric.gpus_per_pod_per_replica=16", "replica.1.compute_scale=1.03",
		`policy.allocators=["prop-alloc", "sqrt-alloc", "iter-halve", "delta-fast", "delta-joint"]`)
	c, gap := metricByPolicy(t, o, "makespan_s"), metricByPolicy(t, o, "gap")
	for _, name := range []string{"prop-alloc", "sqrt-alloc", "iter-halve"} {
		if !(c["delta-fast"] < c[name]) {
			t.Errorf("delta-fast takes %v s, %s %v", c["delta-fast"], name, c[name])
		}
	}
	if gap["delta-joint"] > 1e-6 || gap["delta-fast"] > maxGap {
		t.Errorf("gaps %v, want delta-joint certified and delta-fast within %g", gap, maxGap)
	}
}

// TestNoTopologyBeatsReference runs what no priority rule serves best: the ideal fabric must do what circuits can.
func TestNoTopologyBeatsReference(t *testing.T) {
	s, err := Parse("odd.toml", []byte(priorityCounterexample), nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := Run(context.Background(), s, RunOptions{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for name, nct := range metricByPolicy(t, o, "nct") {
		if nct < 1-1e-9 {
			t.Errorf("%s has NCT %v: faster than the ideal fabric", name, nct)
		}
	}
}

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
