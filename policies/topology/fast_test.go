package topology_test

import (
	"context"
	"errors"
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/topology"
)

var longTests = flag.Bool("long", false, "also run the tests and print the tables that take minutes")

var matrixAllocators = []string{"uniform", "prop-alloc", "sqrt-alloc", "iter-halve"}

func fastOptions(seed uint64) topology.Options {
	return topology.Options{Seed: seed, Workers: 2,
		Settings: topology.Settings{Fast: topology.FastDefaults()}}
}

// maxNCTRatio is the maximum ratio of delta-fast's NCT to the NCT of the best known
// topology.
const maxNCTRatio = 1.001

// TestFastFindsTheBest checks delta-fast in the settings of the paper's Figs. 6 and 8,
// with several seeds. Its NCT must be within 0.1 % of the best known topology under fair
// sharing, no worse than the baselines, and no better than delta-joint. Without -long it
// runs only some settings and seeds; with -short, one setting.
func TestFastFindsTheBest(t *testing.T) {
	t.Parallel()
	known := map[string]float64{ // NCT of the best topology, from -long
		"megatron-177b/400G/4096": 1.19507, "mixtral-8x22b/200G/4096": 1.64278,
		"megatron-462b/400G/2048": 1.13991, "deepseek-671b/200G/4096": 1.35795,
	}
	for _, s := range settings() {
		best, ok := known[s.String()]
		if !*longTests && (!ok || s.model == "megatron-462b" || s.model == "deepseek-671b") ||
			testing.Short() && s.model != "megatron-177b" {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			j := s.job(t)
			seeds := uint64(2)
			if *longTests {
				best, seeds = j.nct(choose(t, j, "delta-topo", defaultOptions()).Makespan), 8
			}
			joint := choose(t, j, "delta-joint", defaultOptions())
			first, worst := 0.0, 0.0
			var slowest time.Duration
			var evaluations int64
			for seed := range seeds {
				from := time.Now()
				d := choose(t, j, "delta-fast", fastOptions(seed))
				slowest = max(slowest, time.Since(from))
				evaluations = max(evaluations, d.Evaluations)
				nct := j.nct(d.Makespan)
				if first == 0 || nct < first {
					first = nct
				}
				worst = max(worst, nct)
				if d.Makespan < joint.Makespan-roundingSlack(j) {
					t.Errorf("seed %d: makespan %v is below the joint optimum %v", seed, d.Makespan, joint.Makespan)
				}
				for _, name := range matrixAllocators {
					if m := choose(t, j, name, fastOptions(seed)).Makespan; d.Makespan > m+roundingSlack(j) {
						t.Errorf("seed %d: %v, %s %v", seed, d.Makespan, name, m)
					}
				}
				if d.Stopped != "" {
					t.Errorf("seed %d: stopped %s", seed, d.Stopped)
				}
			}
			t.Logf("NCT %.5f .. %.5f over %d seeds, best known %.5f; at most %d evaluations, %v", first,
				worst, seeds, best, evaluations, slowest.Round(time.Millisecond))
			if best = min(best, first); worst > best*maxNCTRatio {
				t.Errorf("NCT %.5f, want at most 0.1 %% above %.5f", worst, best)
			}
		})
	}
}

// TestFastIsExhaustivelyBest compares delta-fast with the simulation of every topology of
// a workload that has few.
func TestFastIsExhaustivelyBest(t *testing.T) {
	j := setting{"megatron-177b", 800e9, 4096}.job(t)
	p := j.problem
	w, err := flow.NewEvaluator(p.Graph, p.Fabric.Network, p.Fabric.Routes, flow.MaxMin)
	if err != nil {
		t.Fatal(err)
	}
	best := engine.Never
	x := make([]int, len(p.Useful))
	var try func(e int)
	try = func(e int) {
		if e < len(x) {
			for x[e] = 1; x[e] <= p.Useful[e]; x[e]++ {
				try(e + 1)
			}
			return
		}
		if !p.Feasible(x) {
			return
		}
		for e, b := range p.Fabric.Bundles {
			for _, l := range b.Links {
				w.SetRate(l, float64(x[e])*p.Fabric.Rate(e))
			}
		}
		if c, ok := w.Makespan(best); ok {
			best = c
		}
	}

	try(0)
	d := choose(t, j, "delta-fast", fastOptions(1))
	if d.Makespan > best+roundingSlack(j) {
		t.Errorf("delta-fast: makespan %v, want %v", d.Makespan, best)
	}
}

// deepPipeline returns a workload with one stage per pod: 16 pods, 31 bundles.
func deepPipeline(t testing.TB, microbatches int) *job {
	t.Helper()
	s, _ := trainingSpec(t, "deepseek-671b", 4096)
	s.Microbatches = microbatches
	return prepare(t, s, 8, 400e9)
}

// TestFastOnManyPods checks on a workload with more than 1e9 topologies that delta-fast
// is faster than all baselines and within 1 % of its bound.
func TestFastOnManyPods(t *testing.T) {
	t.Parallel()
	microbatches, seeds := 8, uint64(1)
	if *longTests {
		microbatches, seeds = 64, 8
	}
	j := deepPipeline(t, microbatches)
	n := countTopologies(j.problem)
	if n < 1e9 {
		t.Fatalf("only %g topologies", n)
	}
	lowest := engine.Never
	for _, name := range matrixAllocators {
		lowest = min(lowest, choose(t, j, name, fastOptions(1)).Makespan)
	}
	for seed := range seeds {
		d := choose(t, j, "delta-fast", fastOptions(seed))
		gap, ok := d.Gap()
		t.Logf("%.1e topologies: NCT %.5f, best from the matrix %.5f, gap %.3g to the bound, %d evaluations",
			n, j.nct(d.Makespan), j.nct(lowest), gap, d.Evaluations)
		if d.Makespan >= lowest || !ok || gap > 0.01 {
			t.Errorf("seed %d: makespan %v, best from the matrix %v, gap %g (%v)", seed, d.Makespan,
				lowest, gap, ok)
		}
	}
}

// countTopologies counts the topologies of a chain of pods. Bundles are in the order of
// their pods, those to DP peer pods last.
func countTopologies(p *topology.Problem) float64 {
	pods := p.Fabric.Pods
	between := map[int32]int{}
	peer := map[int32]int{}
	for e, b := range p.Fabric.Bundles {
		if b.Peer {
			peer[b.A] = e
		} else {
			between[b.A] = e
		}
	}

	counts := map[int]float64{0: 1} // indexed by the circuits to the previous pod
	for pod := range int32(len(pods)) {
		next := map[int]float64{}
		for before, w := range counts {
			right := []int{0}
			if e, ok := between[pod]; ok {
				right = right[:0]
				for x := 1; x <= p.Useful[e]; x++ {
					right = append(right, x)
				}
			}
			for _, x := range right {
				e, ok := peer[pod]
				if !ok {
					next[x] += w
					continue
				}
				for y := 1; y <= p.Useful[e] && before+x+y*p.Fabric.Bundles[e].Ends <= pods[pod].Ports; y++ {
					next[x] += w
				}
			}
		}
		counts = next
	}

	return counts[0]
}

// TestFastIsDeterministic checks that neither the number of workers nor a second run
// changes the decision, and that the seed changes the search.
func TestFastIsDeterministic(t *testing.T) {
	j := shortJob(t, "mixtral-8x22b", 16)
	o := fastOptions(3)
	o.Fast.StallGenerations = 50
	o.PortTolerance = 0.001
	want := choose(t, j, "delta-fast", o)
	for _, workers := range []int{1, 2, 1e9} {
		o.Workers = workers
		if diff := cmp.Diff(want, choose(t, j, "delta-fast", o)); diff != "" {
			t.Errorf("%d workers: %s", workers, diff)
		}
	}

	o.Seed = 4
	if other := choose(t, j, "delta-fast", o); other.Evaluations == want.Evaluations {
		t.Errorf("seeds 3 and 4 both evaluate %d topologies", want.Evaluations)
	}
}

// TestFastSavesPorts checks that a larger port tolerance never needs more ports and that
// the makespan stays within the tolerance. No single circuit of the result may be
// removable.
func TestFastSavesPorts(t *testing.T) {
	j := setting{"megatron-177b", 800e9, 4096}.job(t)
	best := choose(t, j, "delta-fast", fastOptions(1))
	last := j.problem.PortsTotal()
	for _, tolerance := range []float64{0, 0.0005, 0.005, 0.05} {
		o := fastOptions(1)
		o.PortTolerance = tolerance
		d := choose(t, j, "delta-fast", o)
		limit := engine.Time(float64(best.Makespan)*(1+tolerance)) + roundingSlack(j)
		if d.Makespan > limit {
			t.Errorf("tolerance %g: makespan %v, want at most %v", tolerance, d.Makespan, limit)
		}
		ports := j.problem.PortsUsed(d.Circuits)
		if ports > last {
			t.Errorf("tolerance %g: %d ports, %d with a smaller tolerance", tolerance, ports, last)
		}
		last = ports
		for e := range d.Circuits {
			x := slices.Clone(d.Circuits)
			if x[e]--; x[e] > 0 && fairMakespan(t, j,
				x) <= engine.Time(float64(best.Makespan)*(1+tolerance)) {
				t.Errorf("tolerance %g: %v contains the smaller topology %v, which keeps the tolerance", tolerance, d.Circuits, x)
			}
		}
	}

	if total := j.problem.PortsUsed(best.Circuits); last >= total {
		t.Errorf("a tolerance of 5 %% releases none of %d ports", total)
	}
}

// fairMakespan returns the makespan of x under fair sharing.
func fairMakespan(t testing.TB, j *job, x []int) engine.Time {
	t.Helper()
	n, err := j.problem.Fabric.Provision(x)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := flow.Run(t.Context(), j.problem.Graph, n, j.problem.Fabric.Routes,
		flow.Options{Service: flow.MaxMin})
	if err != nil {
		t.Fatal(err)
	}
	return trace.Makespan
}

// TestFastUnderAnotherService checks that the search simulates under the service of the
// key "service". Under level priority it must reach the optimum of delta-joint.
func TestFastUnderAnotherService(t *testing.T) {
	j := setting{"mixtral-8x22b", 1600e9, 4096}.job(t)
	o := fastOptions(1)
	service := flow.LevelPriority
	o.Service = service.String()
	d := choose(t, j, "delta-fast", o)
	joint := choose(t, j, "delta-joint", defaultOptions())
	if d.Service != service || d.Makespan > joint.Makespan+roundingSlack(j) {
		t.Errorf("service %v: makespan %v, joint optimum %v", d.Service, d.Makespan, joint.Makespan)
	}
	if fair := fairMakespan(t, j, d.Circuits); fair == d.Makespan {
		t.Error("fair sharing is as fast, so the test shows nothing")
	}
}

// TestFastEndsEarly checks that a cancelled context returns its error, and that limits
// return a decision with a reason.
func TestFastEndsEarly(t *testing.T) {
	t.Parallel()
	j := deepPipeline(t, 4)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	p, _ := topology.ByName("delta-fast")
	if _, err := p.Choose(ctx, j.problem, fastOptions(1)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	o := fastOptions(1)
	o.Fast.TimeLimit = 20 * engine.Millisecond
	if d := choose(t, j, "delta-fast", o); d.Stopped != "after the time limit of 20ms" ||
		d.Makespan == engine.Never {
		t.Errorf("stopped %q at %v", d.Stopped, d.Makespan)
	}
	o = fastOptions(1)
	o.Fast.MaxGenerations = 3
	if d := choose(t, j, "delta-fast", o); d.Stopped != "after 3 generations" ||
		fairMakespan(t, j, d.Circuits) != d.Makespan {
		t.Errorf("stopped %q with %v", d.Stopped, d.Circuits)
	}
}

// BenchmarkFast runs delta-fast with its defaults on two cores.
func BenchmarkFast(b *testing.B) {
	run := func(name string, j *job) {
		b.Run(name, func(b *testing.B) {
			choose(b, j, "delta-joint", defaultOptions()) // computes the shared bound
			var evaluations int64
			for b.Loop() {
				evaluations += choose(b, j, "delta-fast", fastOptions(1)).Evaluations
			}
			b.ReportMetric(float64(evaluations)/float64(b.N), "evaluations/op")
		})
	}

	for _, m := range models {
		run(m, setting{m, 400e9, 4096}.job(b))
	}
	for _, m := range []string{"megatron-462b", "deepseek-671b"} {
		s, perPod := trainingSpec(b, m, 4096)
		s.Microbatches = 512
		run(m+"/512-microbatches", prepare(b, s, perPod, 400e9))
	}

	run("16-pods", deepPipeline(b, 64))
}
