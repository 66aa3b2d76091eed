package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sim/engine"
)

// smallJobs are two jobs of two pods that differ in their micro-batches.
const smallJobs = `
[workload]
kind = "training"
model = "gpt-7b"
sequence = 4096
tp = 2
pp = 4
gpus = 16
[fabric]
kind = "ocs-pods"
port_bandwidth = "400Gbps"
gpus_per_pod_per_replica = 4
[[job]]
name = "few"
workload.microbatches = 4
[[job]]
name = "many"
workload.microbatches = 12
`

func parseJobs(t testing.TB, text string, overrides ...string) *Scenario {
	t.Helper()
	s, err := Parse("jobs.toml", []byte(text), overrides)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func runJobs(t testing.TB, s *Scenario, workers int) *Outcome {
	t.Helper()
	o, err := Run(context.Background(), s, RunOptions{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestJobsInherit: what [[job]] leaves out is that of the top, and overrides reach either.
func TestJobsInherit(t *testing.T) {
	s := parseJobs(t, smallJobs, "workload.sequence=2048", "job.1.workload.sequence=1024", "job.0.weight=3", `policy.allocators=["joint"]`)
	for i, want := range []struct {
		sequence, microbatches int
		weight                 float64
	}{{2048, 4, 3}, {1024, 12, 1}} {
		job := s.Jobs[i]
		if w := job.Scenario.Workload; w.Sequence != want.sequence || w.Microbatches != want.microbatches || job.Weight != want.weight || w.TP != 2 {
			t.Errorf("job %d has sequence %d, %d micro-batches, weight %v and TP %d, want %v", i, w.Sequence, w.Microbatches, job.Weight, w.TP, want)
		}
		if diff := cmp.Diff([]int{0, 1}, job.Pods); diff != "" {
			t.Errorf("job %d: pods %s", i, diff)
		}
	}
	if got := s.PolicyNames(); !slices.Equal(got, []string{"joint"}) {
		t.Errorf("policies %v, want those of the override", got)
	}
	if got := s.circuitsView().PodPorts(); !slices.Equal(got, []int{8, 8}) {
		t.Errorf("ports %v, want one a GPU of either job", got)
	}
	if got := parseJobs(t, smallJobs, "fabric.ports_per_pod=7", "fabric.pods=3").circuitsView().PodPorts(); !slices.Equal(got, []int{7, 7, 0}) {
		t.Errorf("ports %v, want 7 in each pod that a job lies in", got)
	}
	// a model that a job names takes the place of one that the top describes
	described := strings.Replace(smallJobs, `model = "gpt-7b"`, `architecture = {layers = 8, hidden = 64, heads = 4, vocab = 9, effective_tflops = 1.0}`, 1)
	s = parseJobs(t, described+"workload.model = \"gpt-7b\"\nfabric.reverse = true\n")
	if a, b := s.Jobs[0].Scenario.Workload.Arch.Layers, s.Jobs[1].Scenario.Workload.Arch.Name; a != 8 || b != "gpt-7b" {
		t.Errorf("jobs of %d layers and of model %q", a, b)
	}
	if !slices.Equal(s.Jobs[1].Pods, []int{1, 0}) || !slices.Equal(s.Jobs[0].Pods, []int{0, 1}) {
		t.Errorf("pods %v and %v, want the second job's reversed", s.Jobs[0].Pods, s.Jobs[1].Pods)
	}
	checkRoundTrip(t, s)
	if none := parseJobs(t, "job = []\n"+smallJobs[:strings.Index(smallJobs, "[[job]]")], "workload.microbatches=4"); len(none.Jobs) > 0 {
		t.Error("an empty list of jobs makes some")
	}
}

// TestRoundTripJobs writes random jobs and reads them back.
func TestRoundTripJobs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString(smallJobs)
		n := 2
		var set []string
		maybe := func(format string, args ...any) {
			if rapid.Bool().Draw(t, "give") {
				set = append(set, fmt.Sprintf(format, args...))
			}
		}
		for n < 4 && rapid.Bool().Draw(t, "another") {
			fmt.Fprintf(&b, "[[job]]\nname = \"job%d\"\nworkload.microbatches = %d\n", n, 1+n)
			n++
		}
		number := func(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, "number") }
		for i := range n {
			maybe("job.%d.weight=%g", i, rapid.Float64Range(0.001, 1e6).Draw(t, "weight"))
			maybe("job.%d.pods=[%d, %d]", i, number(0, 3), number(4, 6))
			maybe("job.%d.workload.sequence=%d", i, number(1, 9999))
			maybe("job.%d.fabric.nic_bandwidth=%dGbps", i, number(1, 999))
			maybe("job.%d.workload.preset=consistent", i)
		}
		maybe("fabric.pods=%d", number(7, 9))
		maybe("fabric.ports_per_pod=%d", number(16, 99))
		maybe("workload.replicas=all")
		maybe("policy.objective=max-min")
		maybe("policy.joint.max_evaluations=%d", number(1, 999))
		maybe("policy.allocator=%s", rapid.SampledFrom([]string{"delta-fast", "delta-topo", "delta-joint"}).Draw(t, "allocator"))
		if rapid.Bool().Draw(t, "share") {
			set = append(set, "policy.circuits=shared")
			maybe("policy.repeat.iterations=%d", number(3, 99))
			maybe("job.1.phase=%dms", number(0, 999))
		}
		s, err := Parse("jobs.toml", []byte(b.String()), set)
		if err != nil {
			t.Fatalf("%v: %v", set, err)
		}
		checkRoundTrip(t, s)
		if one, again := s.WithPolicy("joint"), s.WithPolicy("joint"); one.CellKey() != again.CellKey() || !slices.Equal(one.PolicyNames(), []string{"joint"}) {
			t.Fatalf("one policy of it is %v", one.PolicyNames())
		}
	})
}

// TestTwoJobs holds the shipped scenario, with a quarter of its micro-batches, to what it is there to show: the joint optimum is proved, and better than the
// other arbiters in either objective.
func TestTwoJobs(t *testing.T) {
	t.Parallel()
	for _, objective := range []string{"weighted-sum", "max-min"} {
		o := runScenario(t, "twojobs", 2, "policy.objective="+objective, "job.0.workload.microbatches=16", "job.1.workload.microbatches=32")
		value, gap := metricByPolicy(t, o, "objective"), metricByPolicy(t, o, "gap")
		if gap["joint"] > 1e-6 || gap["joint"] < 0 {
			t.Errorf("%s: joint has gap %v, want a proof", objective, gap["joint"])
		}
		for _, other := range []string{"even-split", "aggregate", "surplus"} {
			if !(value["joint"] < value[other]) {
				t.Errorf("%s: joint reaches %v, %s %v", objective, value["joint"], other, value[other])
			}
		}
		for _, r := range o.Document.Rows {
			a, b := r.Metrics["job.mixtral.nct"], r.Metrics["job.deepseek.nct"]
			want := map[string]float64{"weighted-sum": (a + b) / 2, "max-min": max(a, b)}[objective]
			if math.Abs(r.Metrics["objective"]-want) > 1e-12 || math.Abs(r.Metrics["nct"]-(a+b)/2) > 1e-12 || r.Metrics["nct_max"] != max(a, b) {
				t.Errorf("%s of %s: objective %v, mean NCT %v and largest %v of jobs with %v and %v", objective, r.Policy,
					r.Metrics["objective"], r.Metrics["nct"], r.Metrics["nct_max"], a, b)
			}
			if r.Metrics["ports"] != r.Metrics["job.mixtral.ports"]+r.Metrics["job.deepseek.ports"] || r.Metrics["port_ratio"] > 1 {
				t.Errorf("%s: ports %v of jobs", r.Policy, r.Metrics)
			}
			for _, p := range o.Detail.Simulation(r.Policy).Topology.Pods {
				if p.Used > p.Total || p.Total != 48 {
					t.Errorf("%s: %s uses %d of %d ports", r.Policy, p.Name, p.Used, p.Total)
				}
			}
		}
		if err := o.Document.Check(); err != nil {
			t.Error(err)
		}
		if err := o.Detail.Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestJobsApart: jobs that share no pod are each what they are alone, in every arbiter's hands, and circuits that all
// may use change nothing.
func TestDisjointJobs(t *testing.T) {
	disjoint := parseJobs(t, smallJobs, "job.0.pods=[4, 2]", "job.1.pods=[0, 3]", "policy.circuits=shared", "policy.service=max-min", "policy.repeat.iterations=4", "job.1.phase=70ms")
	o := runJobs(t, disjoint, 1)
	for i, job := range disjoint.Jobs {
		one := runJobs(t, parseJobs(t, smallJobs[:strings.Index(smallJobs, "[[job]]")],
			fmt.Sprintf("workload.microbatches=%d", job.Scenario.Workload.Microbatches), "policy.service=max-min", `policy.allocators=["delta-joint"]`), 1)
		alone := one.Document.Rows[0].Metrics
		for _, r := range o.Document.Rows {
			got := func(name string) float64 { return r.Metrics["job."+job.Name+"."+name] }
			for _, name := range []string{"makespan_s", "nct", "ports", "comm_exposed_s"} {
				if difference := got(name) - alone[name]; math.Abs(difference) > 1e-8*math.Abs(alone[name]) {
					t.Errorf("%s, job %d: %s %v, alone %v", r.Policy, i, name, got(name), alone[name])
				}
			}
			if a, b := got("iteration_mean_s"), got("iteration_max_s"); math.Abs(a-alone["makespan_s"]) > 1e-9 || math.Abs(b-a) > 1e-9 {
				t.Errorf("%s, job %d: iterations take %v s on average and %v at most, %v alone", r.Policy, i, a, b, alone["makespan_s"])
			}
		}
	}
	if pods := o.Detail.Policies[0].Topology.Pods; len(pods) != 4 || pods[0].Name != "pod 4" || pods[3].Name != "pod 3" {
		t.Errorf("the topology has pods %v", pods)
	}
	if len(o.RateSchedules) > 0 {
		t.Error("fair sharing has plans")
	}
}

// TestIterationsOfJobs: jobs that share no pod repeat iterations of one length each, so that those
// that are measured can be counted: behind the warm-up, begun when all jobs have, and over before the
// first job has ended. Each job repeats until the longest has had policy.repeat.iterations, by the
// ideal fabric.
func TestMeasuredIterations(t *testing.T) {
	for _, c := range []struct{ iterations, warmup, phase int }{{4, 2, 0}, {5, 0, 0}, {4, 1, 70}, {3, 0, 333}, {3, 0, 2000}} {
		s := parseJobs(t, smallJobs, "job.0.pods=[4, 2]", "job.1.pods=[0, 3]", "policy.circuits=shared", "policy.service=max-min", `policy.arbiters=["even-split"]`,
			fmt.Sprintf("policy.repeat.iterations=%d", c.iterations), fmt.Sprintf("policy.repeat.warmup=%d", c.warmup), fmt.Sprintf("job.1.phase=%dms", c.phase))
		o := runJobs(t, s, 1)
		row := o.Document.Rows[0]
		var length, ideal, phase, end [2]float64
		for j, name := range []string{"few", "many"} {
			length[j], ideal[j] = row.Metrics["job."+name+".makespan_s"], o.Document.Reference["job."+name+".makespan_s"]
			phase[j] = s.Jobs[j].Phase.Seconds()
		}
		last := max(phase[0], phase[1]) + float64(c.iterations)*max(ideal[0], ideal[1])
		var repeats [2]int
		for j := range repeats {
			repeats[j] = int(math.Ceil((last - phase[j]) / ideal[j] * (1 - 1e-12)))
			end[j] = phase[j] + float64(repeats[j])*length[j]
		}
		from, to := max(phase[0], phase[1]), min(end[0], end[1])
		for j, name := range []string{"few", "many"} {
			want := 0
			for i := c.warmup; i < repeats[j]; i++ {
				if start := phase[j] + float64(i)*length[j]; start >= from-1e-9 && start+length[j] <= to+1e-9 {
					want++
				}
			}
			if got := row.Metrics["job."+name+".iterations"]; int(got) != want || want == 0 {
				t.Errorf("%+v: %g iterations of %s are measured, want %d of %d", c, got, name, want, repeats[j])
			}
		}
	}
}

// TestPooledCircuits: jobs out of phase that may use each other's circuits are no slower than on their own, where they
// never want them at the same time.
func TestPooledCircuits(t *testing.T) {
	for _, service := range []string{"max-min", "level-priority"} {
		s := parseJobs(t, smallJobs, "policy.circuits=shared", "policy.service="+service, "policy.repeat.iterations=3", "policy.repeat.warmup=0",
			"job.1.workload.microbatches=4", `policy.arbiters=["even-split"]`)
		inPhase := runJobs(t, s, 1)
		s.Jobs[1].Phase = engine.Time(40 * float64(engine.Millisecond))
		outOfPhase := runJobs(t, s, 1)
		a, b := inPhase.Document.Rows[0].Metrics, outOfPhase.Document.Rows[0].Metrics
		if separate := a["job.few.makespan_s"]; math.Abs(a["job.few.iteration_mean_s"]-separate) > 1e-9 {
			t.Errorf("%s: in phase with its like an iteration takes %v s, on circuits of its own %v", service, a["job.few.iteration_mean_s"], separate)
		}
		for _, name := range []string{"few", "many"} {
			if got, ideal := b["job."+name+".iteration_mean_s"], outOfPhase.Document.Reference["job."+name+".makespan_s"]; got < ideal*(1-1e-9) {
				t.Errorf("%s: an iteration takes %v s, less than the ideal fabric's %v", service, got, ideal)
			}
		}
		if !(b["pooled_objective"] < a["pooled_objective"]) {
			t.Errorf("%s: objective %v in phase, %v out of phase", service, a["pooled_objective"], b["pooled_objective"])
		}
	}
}

// TestWeights: the mean of NCT by weight is the objective.
func TestWeights(t *testing.T) {
	o := runJobs(t, parseJobs(t, smallJobs, "fabric.ports_per_pod=6", "job.1.weight=3"), 1)
	for _, r := range o.Document.Rows {
		want := (r.Metrics["job.few.nct"] + 3*r.Metrics["job.many.nct"]) / 4
		if math.Abs(r.Metrics["nct"]-want) > 1e-12 || math.Abs(r.Metrics["objective"]-want) > 1e-12 {
			t.Errorf("%s: NCT %v and objective %v, want %v", r.Policy, r.Metrics["nct"], r.Metrics["objective"], want)
		}
	}
}

// TestReplicaModesOfJobsAgree plays one replica for all, and all.
func TestReplicaModesOfJobsAgree(t *testing.T) {
	for _, objective := range []string{"weighted-sum", "max-min"} {
		set := []string{"policy.objective=" + objective, "fabric.ports_per_pod=6"}
		single := runJobs(t, parseJobs(t, smallJobs, set...), 1)
		all := runJobs(t, parseJobs(t, smallJobs, append(set, "job.0.workload.replicas=all")...), 1)
		for i, r := range single.Document.Rows {
			// unlike replicas may do what like ones cannot, so the optimum of all is no worse
			a, b := r.Metrics["objective"], all.Document.Rows[i].Metrics["objective"]
			if b > a*(1+1e-9) || r.Policy == "even-split" && b < a*(1-1e-9) {
				t.Errorf("%s, %s: %v with one replica for all, %v with all of them", objective, r.Policy, a, b)
			}
			if gap := all.Document.Rows[i].Metrics["gap"]; r.Policy == "joint" && gap > 1e-6 {
				t.Errorf("%s: joint has gap %v with all replicas", objective, gap)
			}
		}
	}
}

// TestDifferentReplicaCounts plays a job of two replicas beside one of four: of the latter's last two rows it has the
// ports alone.
func TestDifferentReplicaCounts(t *testing.T) {
	s := parseJobs(t, smallJobs, "workload.replicas=all", "job.1.workload.gpus=32")
	if got := s.circuitsView().PodPorts(); !slices.Equal(got, []int{8, 8, 8, 8, 4, 4, 4, 4}) {
		t.Fatalf("ports %v", got)
	}
	s.Policy.Arbiters = []string{"even-split", "joint"}
	o := runJobs(t, s, 1)
	v := metricByPolicy(t, o, "objective")
	if v["joint"] > v["even-split"]*(1+1e-9) {
		t.Errorf("joint reaches %v, an even split %v", v["joint"], v["even-split"])
	}
	for _, p := range o.Detail.Simulation("joint").Topology.Pods {
		if p.Used > p.Total {
			t.Errorf("%s uses %d of %d ports", p.Name, p.Used, p.Total)
		}
	}
}

// TestJobsDoNotDependOnWorkers holds a run, the jobs' names apart from their order, to the same bytes.
func TestJobsDoNotDependOnWorkers(t *testing.T) {
	var first []byte
	for _, workers := range []int{1, 3, 1} {
		o := runJobs(t, parseJobs(t, smallJobs, "policy.circuits=shared", "policy.allocator=delta-fast", "policy.delta-fast.stall_generations=3",
			"policy.repeat.iterations=4", "fabric.ports_per_pod=6"), workers)
		data, err := json.Marshal([]any{o.Document, o.Detail, o.RateSchedules})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = data
		}
		if string(data) != string(first) {
			t.Errorf("%d workers: results differ from those of 1", workers)
		}
	}
}

// TestDecideJobs: a row by itself is that of the whole run.
func TestDecideJobs(t *testing.T) {
	s := parseJobs(t, smallJobs, "fabric.ports_per_pod=6")
	complete := runJobs(t, s, 1)
	for _, want := range complete.Document.Rows {
		p, err := Prepare(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		row, timings, err := p.Decide(context.Background(), want.Policy, 1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, row); diff != "" || timings.SolveS <= 0 {
			t.Errorf("%s took %v s: %s", want.Policy, timings.SolveS, diff)
		}
		if diff := cmp.Diff(complete.Document.Reference, p.Reference()); diff != "" {
			t.Errorf("reference: %s", diff)
		}
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		p, _ = Prepare(context.Background(), s)
		if _, _, err := p.Decide(cancelled, want.Policy, 1); err == nil {
			t.Errorf("%s decides although it is cancelled", want.Policy)
		}
	}
}
