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

// smallJobs is a scenario of two jobs in the same two pods that differ in their number of
// micro-batches.
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

// TestJobsOnMachine checks that jobs compute kernels on the machine at the top of the file, and that a
// machine that no job uses is rejected.
func TestJobsOnMachine(t *testing.T) {
	plain := mustParse(t, smallJobs)
	s := mustParse(t, smallJobs, "machine=h800", "job.1.workload.compute=profile")
	if a, b := s.Jobs[0].Scenario.Workload, s.Jobs[1].Scenario.Workload; a.GPU != nil || b.GPU == nil ||
		b.ForwardSeconds(0) == plain.Jobs[1].Scenario.Workload.ForwardSeconds(0) {
		t.Errorf("got GPUs %v and %v, want one of the second job that changes its times", a.GPU, b.GPU)
	}
	if s.Digest() == mustParse(t, smallJobs, "machine=h200", "job.1.workload.compute=profile").Digest() {
		t.Error("the machine is not part of the digest")
	}
	again, err := Parse("again.toml", s.TOML(), nil)
	if err != nil || again.Digest() != s.Digest() {
		t.Errorf("got another scenario when read back: %v\n%s", err, s.TOML())
	}
	_, err = Parse("jobs.toml", []byte(smallJobs), []string{"machine=h800"})
	checkError(t, err, "no job computes its kernels", "an unused machine")
	_, err = Parse("jobs.toml", []byte(smallJobs), []string{"job.1.workload.compute=profile"})
	checkError(t, err, "set machine to a name of sim list machines", "without a machine")
}

// TestJobsInherit checks that a job inherits the top-level values of keys that its [[job]]
// table does not set. Overrides apply to both.
func TestJobsInherit(t *testing.T) {
	s := mustParse(t, smallJobs, "workload.sequence=2048", "job.1.workload.sequence=1024",
		"job.0.weight=3", `policy.allocators=["joint"]`)
	for i, want := range []struct {
		sequence, microbatches int
		weight                 float64
	}{{2048, 4, 3}, {1024, 12, 1}} {
		job := s.Jobs[i]
		if w := job.Scenario.Workload; w.Sequence != want.sequence ||
			w.Microbatches != want.microbatches || job.Weight != want.weight || w.TP != 2 {
			t.Errorf("job %d: got sequence %d, %d micro-batches, weight %v and TP %d, want "+
				"%v and TP 2", i, w.Sequence, w.Microbatches, job.Weight, w.TP, want)
		}
		if diff := cmp.Diff([]int{0, 1}, job.Pods); diff != "" {
			t.Errorf("job %d: pods (-want +got):\n%s", i, diff)
		}
	}

	if got := s.PolicyNames(); !slices.Equal(got, []string{"joint"}) {
		t.Errorf("got policies %v, want [joint] as overridden", got)
	}
	if got := s.circuitsView().PodPorts(); !slices.Equal(got, []int{8, 8}) {
		t.Errorf("got ports %v, want one per GPU of each job", got)
	}
	if got := mustParse(t, smallJobs, "fabric.ports_per_pod=7",
		"fabric.pods=3").circuitsView().PodPorts(); !slices.Equal(got, []int{7, 7, 0}) {
		t.Errorf("got ports %v, want 7 in each pod with a job", got)
	}
	// The model that a job names replaces the architecture of the top level.
	described := strings.Replace(smallJobs, `model = "gpt-7b"`,
		`architecture = {layers = 8, hidden = 64, heads = 4, vocab = 9, effective_tflops = 1.0}`, 1)
	s = mustParse(t, described+"workload.model = \"gpt-7b\"\nfabric.reverse = true\n")
	a, b := s.Jobs[0].Scenario.Workload.Arch.Layers, s.Jobs[1].Scenario.Workload.Arch.Name
	if a != 8 || b != "gpt-7b" {
		t.Errorf("got a job with %d layers and one of model %q, want 8 and gpt-7b", a, b)
	}
	if !slices.Equal(s.Jobs[1].Pods, []int{1, 0}) || !slices.Equal(s.Jobs[0].Pods, []int{0, 1}) {
		t.Errorf("got pods %v and %v, want those of the second job reversed",
			s.Jobs[0].Pods, s.Jobs[1].Pods)
	}
	checkRoundTrip(t, s)
	withoutJobs := mustParse(t, "job = []\n"+smallJobs[:strings.Index(smallJobs, "[[job]]")],
		"workload.microbatches=4")
	if len(withoutJobs.Jobs) > 0 {
		t.Error("got jobs from an empty list, want none")
	}
}

// TestRoundTripJobs checks that random scenarios of several jobs are read back from their own
// TOML.
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
		maybe("policy.allocator=%s",
			rapid.SampledFrom([]string{"delta-fast", "delta-topo", "delta-joint"}).Draw(t,
				"allocator"))
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
		one, again := s.WithPolicy("joint"), s.WithPolicy("joint")
		if one.CellKey() != again.CellKey() || !slices.Equal(one.PolicyNames(), []string{"joint"}) {
			t.Fatalf("got policies %v of the restriction to joint, want [joint]", one.PolicyNames())
		}
	})
}

// TestTwoJobs runs the built-in scenario twojobs with a quarter of its micro-batches. Multi-job
// allocator "joint" is proved optimal and better than the others, for both objectives.
// Objectives, ports and pods agree with the values of the jobs.
func TestTwoJobs(t *testing.T) {
	t.Parallel()
	for _, objective := range []string{"weighted-sum", "max-min"} {
		o := runScenario(t, "twojobs", 2, "policy.objective="+objective,
			"job.0.workload.microbatches=16", "job.1.workload.microbatches=32")
		value, gap := metricByPolicy(t, o, "objective"), metricByPolicy(t, o, "gap")
		if gap["joint"] > 1e-6 || gap["joint"] < 0 {
			t.Errorf("%s: joint has gap %v, want 0 within 1e-6", objective, gap["joint"])
		}
		for _, other := range []string{"even-split", "aggregate", "surplus"} {
			if !(value["joint"] < value[other]) {
				t.Errorf("%s: joint has objective %v, want less than that of %s, %v",
					objective, value["joint"], other, value[other])
			}
		}

		for _, r := range o.Document.Rows {
			a, b := r.Metrics["job.mixtral.nct"], r.Metrics["job.deepseek.nct"]
			want := map[string]float64{"weighted-sum": (a + b) / 2, "max-min": max(a, b)}[objective]
			if math.Abs(r.Metrics["objective"]-want) > 1e-12 ||
				math.Abs(r.Metrics["nct"]-(a+b)/2) > 1e-12 || r.Metrics["nct_max"] != max(a, b) {
				t.Errorf("%s of %s: got objective %v, mean NCT %v and maximum NCT %v of jobs "+
					"with NCT %v and %v, want their mean and maximum",
					objective, r.Policy, r.Metrics["objective"], r.Metrics["nct"],
					r.Metrics["nct_max"], a, b)
			}

			if r.Metrics["ports"] != r.Metrics["job.mixtral.ports"]+r.Metrics["job.deepseek.ports"] || r.Metrics["port_ratio"] > 1 {
				t.Errorf("%s: got %v, want the sum of the jobs' ports and a port ratio of at "+
					"most 1", r.Policy, r.Metrics)
			}
			for _, p := range o.Detail.Simulation(r.Policy).Topology.Pods {
				if p.Used > p.Total || p.Total != 48 {
					t.Errorf("%s: %s uses %d of %d ports, want at most 48 of 48",
						r.Policy, p.Name, p.Used, p.Total)
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

// TestDisjointJobs checks jobs that share no pod. Each has the metrics of a run of its own,
// under every multi-job allocator. Shared circuits change nothing.
func TestDisjointJobs(t *testing.T) {
	disjoint := mustParse(t, smallJobs, "job.0.pods=[4, 2]", "job.1.pods=[0, 3]",
		"policy.circuits=shared", "policy.service=max-min", "policy.repeat.iterations=4",
		"job.1.phase=70ms")
	o := runParsed(t, disjoint, 1)
	for i, job := range disjoint.Jobs {
		one := runParsed(t, mustParse(t, smallJobs[:strings.Index(smallJobs, "[[job]]")],
			fmt.Sprintf("workload.microbatches=%d", job.Scenario.Workload.Microbatches),
			"policy.service=max-min", `policy.allocators=["delta-joint"]`), 1)
		alone := one.Document.Rows[0].Metrics
		for _, r := range o.Document.Rows {
			got := func(name string) float64 { return r.Metrics["job."+job.Name+"."+name] }
			for _, name := range []string{"makespan_s", "nct", "ports", "comm_exposed_s"} {
				difference := got(name) - alone[name]
				if math.Abs(difference) > 1e-8*math.Abs(alone[name]) {
					t.Errorf("%s, job %d: got %s %v, want %v as in a run of its own",
						r.Policy, i, name, got(name), alone[name])
				}
			}

			a, b := got("iteration_mean_s"), got("iteration_max_s")
			if math.Abs(a-alone["makespan_s"]) > 1e-9 || math.Abs(b-a) > 1e-9 {
				t.Errorf("%s, job %d: iterations take %v s on average and at most %v s, want "+
					"%v s as in a run of its own", r.Policy, i, a, b, alone["makespan_s"])
			}
		}
	}

	if pods := o.Detail.Policies[0].Topology.Pods; len(pods) != 4 || pods[0].Name != "pod 4" ||
		pods[3].Name != "pod 3" {
		t.Errorf("got pods %v in the topology, want pod 4 to pod 3", pods)
	}
	if len(o.RateSchedules) > 0 {
		t.Error("got circuit plans with fair sharing, want none")
	}
}

// TestMeasuredIterations checks the number of measured iterations of repeated jobs. The jobs
// share no pod, so that all iterations of a job take equally long and can be counted in closed
// form. Each job repeats until, on the ideal fabric, the slower one would have completed
// policy.repeat.iterations.
//
// An iteration is measured if it is not part of the warm-up, starts after all jobs have
// started, and ends before the first job has ended.
func TestMeasuredIterations(t *testing.T) {
	for _, c := range []struct {
		iterations, warmup int
		phase              int // in milliseconds
	}{{4, 2, 0}, {5, 0, 0}, {4, 1, 70}, {3, 0, 333}, {3, 0, 2000}} {
		s := mustParse(t, smallJobs, "job.0.pods=[4, 2]", "job.1.pods=[0, 3]",
			"policy.circuits=shared", "policy.service=max-min", `policy.multi_job_allocators=["even-split"]`,
			fmt.Sprintf("policy.repeat.iterations=%d", c.iterations),
			fmt.Sprintf("policy.repeat.warmup=%d", c.warmup),
			fmt.Sprintf("job.1.phase=%dms", c.phase))

		o := runParsed(t, s, 1)
		row := o.Document.Rows[0]
		var length, ideal, phase, end [2]float64
		for j, name := range []string{"few", "many"} {
			length[j], ideal[j] = row.Metrics["job."+name+".makespan_s"],
				o.Document.Reference["job."+name+".makespan_s"]
			phase[j] = s.Jobs[j].Phase.Seconds()
		}

		// last is the time at which, on the ideal fabric, the longer job would have completed its
		// iterations. Each job repeats until then.
		last := max(phase[0], phase[1]) + float64(c.iterations)*max(ideal[0], ideal[1])
		var repeats [2]int
		for j := range repeats {
			repeats[j] = int(math.Ceil((last - phase[j]) / ideal[j] * (1 - 1e-12)))
			end[j] = phase[j] + float64(repeats[j])*length[j]
		}

		// Iterations are measured in the time in which both jobs run.
		from, to := max(phase[0], phase[1]), min(end[0], end[1])
		for j, name := range []string{"few", "many"} {
			want := 0
			for i := c.warmup; i < repeats[j]; i++ {
				if start := phase[j] + float64(i)*length[j]; start >= from-1e-9 &&
					start+length[j] <= to+1e-9 {
					want++
				}
			}

			if got := row.Metrics["job."+name+".iterations"]; int(got) != want || want == 0 {
				t.Errorf("%+v: got %g measured iterations of %s, want %d of %d",
					c, got, name, want, repeats[j])
			}
		}
	}
}

// TestPooledCircuits checks jobs that may use each other's circuits. Identical jobs in phase
// take as long as on circuits of their own. Out of phase the pooled objective is better, but no
// job is faster than on the ideal fabric.
func TestPooledCircuits(t *testing.T) {
	for _, service := range []string{"max-min", "level-priority"} {
		s := mustParse(t, smallJobs, "policy.circuits=shared", "policy.service="+service,
			"policy.repeat.iterations=3", "policy.repeat.warmup=0",
			"job.1.workload.microbatches=4", `policy.multi_job_allocators=["even-split"]`)
		inPhase := runParsed(t, s, 1)
		s.Jobs[1].Phase = engine.Time(40 * float64(engine.Millisecond))
		outOfPhase := runParsed(t, s, 1)
		a, b := inPhase.Document.Rows[0].Metrics, outOfPhase.Document.Rows[0].Metrics
		separate := a["job.few.makespan_s"]
		if math.Abs(a["job.few.iteration_mean_s"]-separate) > 1e-9 {
			t.Errorf("%s: in phase with an identical job an iteration takes %v s, want %v s as "+
				"on separate circuits", service, a["job.few.iteration_mean_s"], separate)
		}
		for _, name := range []string{"few", "many"} {
			got, ideal := b["job."+name+".iteration_mean_s"],
				outOfPhase.Document.Reference["job."+name+".makespan_s"]
			if got < ideal*(1-1e-9) {
				t.Errorf("%s: an iteration takes %v s, want at least %v s as on the ideal fabric",
					service, got, ideal)
			}
		}

		if !(b["pooled_objective"] < a["pooled_objective"]) {
			t.Errorf("%s: got pooled objective %v in phase and %v out of phase, want a smaller "+
				"one out of phase", service, a["pooled_objective"], b["pooled_objective"])
		}
	}
}

// TestWeights checks that the objective is the weighted mean of the jobs' NCT.
func TestWeights(t *testing.T) {
	o := runParsed(t, mustParse(t, smallJobs, "fabric.ports_per_pod=6", "job.1.weight=3"), 1)
	for _, r := range o.Document.Rows {
		want := (r.Metrics["job.few.nct"] + 3*r.Metrics["job.many.nct"]) / 4
		if math.Abs(r.Metrics["nct"]-want) > 1e-12 || math.Abs(r.Metrics["objective"]-want) > 1e-12 {
			t.Errorf("%s: got NCT %v and objective %v, want %v for both",
				r.Policy, r.Metrics["nct"], r.Metrics["objective"], want)
		}
	}
}

// TestReplicaModesOfJobsAgree compares the simulation of one representative replica per job
// with the simulation of all replicas. An even split has the same objective in both. Joint optimisation
// over all replicas is at least as good, and proved optimal.
func TestReplicaModesOfJobsAgree(t *testing.T) {
	for _, objective := range []string{"weighted-sum", "max-min"} {
		set := []string{"policy.objective=" + objective, "fabric.ports_per_pod=6"}
		single := runParsed(t, mustParse(t, smallJobs, set...), 1)
		all := runParsed(t, mustParse(t, smallJobs, append(set, "job.0.workload.replicas=all")...), 1)
		for i, r := range single.Document.Rows {
			// Topologies may differ between replicas only if all are simulated.
			a, b := r.Metrics["objective"], all.Document.Rows[i].Metrics["objective"]
			if b > a*(1+1e-9) || r.Policy == "even-split" && b < a*(1-1e-9) {
				t.Errorf("%s, %s: got objective %v with one representative replica, %v with all; "+
					"want no increase, and equality for even-split", objective, r.Policy, a, b)
			}
			if gap := all.Document.Rows[i].Metrics["gap"]; r.Policy == "joint" && gap > 1e-6 {
				t.Errorf("%s: joint has gap %v with all replicas, want at most 1e-6", objective, gap)
			}
		}
	}
}

// TestDifferentReplicaCounts simulates a job of two replicas with a job of four in the same
// pods. The second job owns all ports in the pods of its last two replicas. Joint allocation is
// at least as good as an even split.
func TestDifferentReplicaCounts(t *testing.T) {
	s := mustParse(t, smallJobs, "workload.replicas=all", "job.1.workload.gpus=32")
	if got := s.circuitsView().PodPorts(); !slices.Equal(got, []int{8, 8, 8, 8, 4, 4, 4, 4}) {
		t.Fatalf("got ports %v, want 8 in four pods and 4 in four", got)
	}
	s.Policy.MultiJobAllocators = []string{"even-split", "joint"}
	o := runParsed(t, s, 1)
	v := metricByPolicy(t, o, "objective")
	if v["joint"] > v["even-split"]*(1+1e-9) {
		t.Errorf("joint has objective %v, want at most %v as even-split", v["joint"], v["even-split"])
	}
	for _, p := range o.Detail.Simulation("joint").Topology.Pods {
		if p.Used > p.Total {
			t.Errorf("%s uses %d ports, want at most %d", p.Name, p.Used, p.Total)
		}
	}
}

// TestJobsDoNotDependOnWorkers checks that a run of several jobs returns the same bytes for any
// number of workers.
func TestJobsDoNotDependOnWorkers(t *testing.T) {
	var first []byte
	for _, workers := range []int{1, 3, 1} {
		o := runParsed(t, mustParse(t, smallJobs, "policy.circuits=shared",
			"policy.allocator=delta-fast", "policy.delta-fast.stall_generations=3",
			"policy.repeat.iterations=4", "fabric.ports_per_pod=6"), workers)
		data, err := json.Marshal([]any{o.Document, o.Detail, o.RateSchedules})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = data
		}
		if string(data) != string(first) {
			t.Errorf("%d workers: got other results, want those of 1 worker", workers)
		}
	}
}

// TestDecideJobs checks that a row that is decided separately equals the row of the complete
// run. A cancelled context ends the decision.
func TestDecideJobs(t *testing.T) {
	s := mustParse(t, smallJobs, "fabric.ports_per_pod=6")
	complete := runParsed(t, s, 1)
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
			t.Errorf("%s, decided in %v s, want more than 0 s and the row of the complete run "+
				"(-want +got):\n%s", want.Policy, timings.SolveS, diff)
		}
		if diff := cmp.Diff(complete.Document.Reference, p.Reference()); diff != "" {
			t.Errorf("reference (-want +got):\n%s", diff)
		}
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		p, _ = Prepare(context.Background(), s)
		if _, _, err := p.Decide(cancelled, want.Policy, 1); err == nil {
			t.Errorf("%s: got no error with a cancelled context", want.Policy)
		}
	}
}
