package topology_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric/electrical"
	"sim/policies/topology"
)

// randomJob is a small random job and its description.
type randomJob struct {
	topology.Job
	d smallProblem
}

// drawRandomJob returns a job in some of the pods, or false if no transfer crosses pods.
func drawRandomJob(t testing.TB, rng *rand.Rand, name string, pods, transfers int) (randomJob, bool) {
	t.Helper()
	l := randomJob{d: drawSmallProblem(rng, transfers)}
	if len(l.d.ports) > pods {
		return l, false
	}
	for i := range l.d.ports {
		l.d.ports[i] = 99 // the ports of the shared pods apply
	}
	g := l.d.graph(t)
	l.Job = newJob(t, name, g)
	l.Weight = []float64{1, 1, 0.5, 3}[rng.IntN(4)]
	l.Pods = rng.Perm(pods)[:len(l.d.ports)]
	for i := range l.GPUs {
		l.GPUs[i] = 1 + rng.IntN(4)
	}
	return l, len(l.Problem.Fabric.Bundles) > 0
}

// newJob returns a job of a problem in the pods 0, 1, ...
func newJob(t testing.TB, name string, g problemParts) topology.Job {
	t.Helper()
	n, _, err := electrical.Connect(g.pods, g.graph)
	if err != nil {
		t.Fatal(err)
	}
	computeOnly, err := flow.Run(t.Context(), g.graph, n,
		&engine.Routes{Start: make([]int32, len(g.graph.Tasks)+1)}, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j := topology.Job{Name: name, Problem: g.problem(t), Weight: 1, Compute: computeOnly.Makespan,
		Ideal: g.ideal(t)}
	for i := range g.pods.Pods {
		j.Pods, j.GPUs = append(j.Pods, i), append(j.GPUs, 1)
	}
	return j
}

// portsForJobs returns ports with which the jobs can connect, and a number of further
// ones per pod.
func portsForJobs(jobs []topology.Job, pods int, more func() int) []int {
	ports := make([]int, pods)
	for _, j := range jobs {
		for _, b := range j.Problem.Fabric.Bundles {
			ports[j.Pods[b.A]] += b.Ends
			if !b.Peer {
				ports[j.Pods[b.B]] += b.Ends
			}
		}
	}
	for pod := range ports {
		ports[pod] += more()
	}
	return ports
}

// jobsOptions returns the default options of multi-job allocators.
func jobsOptions() topology.JobsOptions {
	single, err := topology.ByName("delta-joint")
	if err != nil {
		panic(err)
	}
	return topology.JobsOptions{Options: defaultOptions(), Single: single,
		Search: topology.SearchOptions{MaxEvaluations: 200000}}
}

// newShared returns the problem of jobs in shared pods.
func newShared(t testing.TB, jobs []topology.Job, ports []int, goal topology.Objective) *topology.SharedPods {
	t.Helper()
	s, err := topology.NewSharedPods(jobs, ports, goal)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// decideJobs returns the decision of the named multi-job allocator and checks that it
// fits the ports.
func decideJobs(t testing.TB, s *topology.SharedPods, name string, o topology.JobsOptions) *topology.JobsDecision {
	t.Helper()
	a, err := topology.JobsByName(name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := a.ChooseAll(context.Background(), s, o)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !s.Fits(d.Circuits()) {
		t.Fatalf("%s: %v overruns the ports %v or leaves pods unconnected", name, d.Circuits(), s.Ports)
	}
	return d
}

// jobMakespans returns the makespans of a decision, indexed by job.
func jobMakespans(d *topology.JobsDecision) []engine.Time {
	var c []engine.Time
	for _, one := range d.Jobs {
		c = append(c, one.Makespan)
	}
	return c
}

var objectives = []topology.Objective{topology.WeightedSum, topology.LargestNCT}

// drawShared returns two or three random jobs and the ports of their pods, or nil if the
// draw gives none.
func drawShared(t testing.TB, rng *rand.Rand) ([]topology.Job, []int) {
	t.Helper()
	const pods = 3
	var jobs []topology.Job
	for k := range 2 + rng.IntN(2) {
		l, ok := drawRandomJob(t, rng, fmt.Sprint("job", k), pods, 6)
		if !ok {
			return nil, nil
		}
		jobs = append(jobs, l.Job)
	}
	return jobs, portsForJobs(jobs, pods, func() int { return rng.IntN(7) })
}

// portTieFactor is the effect of minimising ports on the objective, in units of its
// resolution. Makespans within 1e-9 count as equal there, but within 1e-10 in a search.
const portTieFactor = 15

// TestJointIsNoWorse compares allocator joint with the other multi-job allocators: with
// free rates, under a given service, with genetic search for single jobs, and with a port
// tolerance. All decisions must fit the ports.
func TestJointIsNoWorse(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	better := map[string]int{}
	fair := flow.MaxMin
	for n := range numCases(240) {
		jobs, ports := drawShared(t, rng)
		if jobs == nil {
			continue
		}
		for _, goal := range objectives {
			s := newShared(t, jobs, ports, goal)
			o := jobsOptions()
			switch n % 4 {
			case 1:
				o.Service = fair.String()
			case 2:
				o.Single, _ = topology.ByName("delta-fast")
				o.Fast.Population, o.Fast.StallGenerations = 8, 3
			case 3:
				o.PortTolerance = 0.5
			}
			joint := decideJobs(t, s, "joint", o)
			for _, row := range topology.JobsTable {
				if row.Name == "joint" {
					continue
				}
				d := decideJobs(t, s, row.Name, o)
				switch order := topology.Compare(s.Scores(jobMakespans(joint)), s.Scores(jobMakespans(d)), portTieFactor*s.Resolution()); {
				case order > 0:
					t.Errorf("case %d, %v: joint %v is worse than %s %v", n, goal,
						s.Scores(jobMakespans(joint)), row.Name, s.Scores(jobMakespans(d)))
				case order < 0:
					better[row.Name]++
				}
			}
		}
	}

	t.Logf("cases in which joint is better: %v", better)
	for _, name := range []string{"even-split", "aggregate", "surplus"} {
		if better[name] < 5 {
			t.Errorf("joint is better than %s in %d cases, want at least 5", name, better[name])
		}
	}
}

// TestOrderAndScaleOfJobs checks that the order of the jobs does not change the optimum,
// and that a common factor of the weights changes no decision.
func TestOrderAndScaleOfJobs(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for n := range numCases(60) {
		jobs, ports := drawShared(t, rng)
		if jobs == nil {
			continue
		}
		turned := make([]topology.Job, len(jobs))
		weighted := make([]topology.Job, len(jobs))
		for j := range jobs {
			turned[len(jobs)-1-j] = jobs[j]
			weighted[j] = jobs[j]
			weighted[j].Weight *= 8
		}
		for _, goal := range objectives {
			s := newShared(t, jobs, ports, goal)
			o := jobsOptions()
			value := decideJobs(t, s, "joint", o).Value
			if again := decideJobs(t, newShared(t, turned, ports, goal), "joint",
				o).Value; math.Abs(again-value) > 2*s.Resolution() {
				t.Errorf("case %d, %v: %v, in the other order %v", n, goal, value, again)
			}
			for _, row := range topology.JobsTable {
				one, eight := decideJobs(t, s, row.Name, o),
					decideJobs(t, newShared(t, weighted, ports, goal), row.Name, o)
				if one.Value != eight.Value {
					t.Errorf("case %d, %v, %s: %v, with all weights times 8 %v", n, goal, row.Name,
						one.Value, eight.Value)
				}
			}
		}
	}
}

// TestHeavierJobsGain checks that a larger weight never slows a job down.
func TestHeavierJobsGain(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 8))
	gained := 0
	for n := range numCases(60) {
		jobs, ports := drawShared(t, rng)
		if jobs == nil {
			continue
		}
		last := math.Inf(1)
		for _, weight := range []float64{0.05, 0.5, 1, 4, 100} {
			jobs[0].Weight = weight
			s := newShared(t, jobs, ports, topology.WeightedSum)
			d := decideJobs(t, s, "joint", jobsOptions())
			now := s.Jobs[0].Slowdown(d.Jobs[0].Makespan)
			// A tie may be decided for either job within the resolution.
			slack := 4 * s.Resolution() * float64(len(jobs)) / weight
			if now > last+slack {
				t.Errorf("case %d: weight %v slows the job down from %v to %v", n, weight, last, now)
			}
			if now < last-slack && !math.IsInf(last, 1) {
				gained++
			}
			last = now
		}
	}

	if gained < 5 {
		t.Errorf("a heavier job gained in %d cases, want at least 5", gained)
	}
}

// TestOneJobAlone checks that, for one job, all multi-job allocators agree with
// delta-joint.
func TestOneJobAlone(t *testing.T) {
	for _, model := range []string{"gpt-7b", "mixtral-8x22b", "megatron-177b"} {
		g := shortWorkload(t, model, 16, 1)
		job := newJob(t, model, g)
		ports := make([]int, len(job.Pods))
		for i := range ports {
			ports[i] = g.pods.Pods[i].Ports
		}
		for _, goal := range objectives {
			s := newShared(t, []topology.Job{job}, ports, goal)
			want := choose(t, &preparedJob{problem: g.problem(t)}, "delta-joint", defaultOptions())
			for _, row := range topology.JobsTable {
				d := decideJobs(t, s, row.Name, jobsOptions())
				off := d.Jobs[0].Makespan - want.Makespan
				if max(off, -off) > engine.Time(1+float64(want.Makespan)*2e-9) ||
					s.PortsUsed(d.Circuits()) != g.problem(t).PortsUsed(want.Circuits) {
					t.Errorf("%s, %s, %v: %v with %v ports, alone %v with %v", model, row.Name, goal,
						d.Jobs[0].Makespan, s.PortsUsed(d.Circuits()), want.Makespan,
						g.problem(t).PortsUsed(want.Circuits))
				}
			}
		}
	}
}

// preparedJob is job under a name that local variables do not shadow.
type preparedJob = job

// TestSurplusIsNoWaste checks that surplus slows no job down compared with even-split,
// and speeds some up.
func TestSurplusIsNoWaste(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	faster := 0
	for n := range numCases(120) {
		jobs, ports := drawShared(t, rng)
		if jobs == nil {
			continue
		}
		s := newShared(t, jobs, ports, topology.WeightedSum)
		even, more := decideJobs(t, s, "even-split", jobsOptions()),
			decideJobs(t, s, "surplus", jobsOptions())
		for j := range jobs {
			off := float64(more.Jobs[j].Makespan-even.Jobs[j].Makespan) / float64(even.Jobs[j].Makespan)
			// If neither is proved optimal, the job with fewer choices may be faster.
			gap, _ := more.Jobs[j].Gap()
			if off > 2e-9+gap {
				t.Errorf("case %d, %s: %v on its even share, %v with the surplus", n, jobs[j].Name,
					even.Jobs[j].Makespan, more.Jobs[j].Makespan)
			}
			if off < -1e-6 {
				faster++
			}
		}
	}

	if faster < 5 {
		t.Errorf("%d jobs are faster, want at least 5", faster)
	}
}

// TestJobsStop stops the joint search early. The bound must hold for the optimum of the
// complete search.
func TestJobsStop(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	stopped := 0
	for n := range numCases(60) {
		jobs, ports := drawShared(t, rng)
		if jobs == nil {
			continue
		}
		for _, goal := range objectives {
			s := newShared(t, jobs, ports, goal)
			full, err := s.Optimise(context.Background(), jobsOptions())
			if err != nil {
				t.Fatal(err)
			}
			o := jobsOptions()
			o.Search.MaxEvaluations = int64(1 + rng.IntN(25))
			part := topology.SearchAlone(s, o.Search.MaxEvaluations)
			if n%2 == 0 {
				if part, err = s.Optimise(context.Background(), o); err != nil {
					t.Fatal(err)
				}
			}
			if part.Bound > full.Value+s.Resolution() || part.Value < full.Bound-s.Resolution() ||
				part.Bound > part.Value {
				t.Errorf("case %d, %v: %v with bound %v after %d evaluations, %v with bound %v in the end",
					n, goal, part.Value, part.Bound, o.Search.MaxEvaluations, full.Value, full.Bound)
			}
			if part.Stopped != "" {
				stopped++
			}
		}
	}

	if stopped < 10 {
		t.Errorf("%d searches were stopped, want at least 10", stopped)
	}
	jobs, ports := []topology.Job(nil), []int(nil)
	for jobs == nil {
		jobs, ports = drawShared(t, rng)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := newShared(t, jobs, ports, 0).Optimise(over, jobsOptions()); !errors.Is(err,
		context.Canceled) {
		t.Errorf("a search that is cancelled ends with %v", err)
	}
}

// TestJobsAreDeterministic checks that the number of workers does not change a decision.
func TestJobsAreDeterministic(t *testing.T) {
	a, b := newJob(t, "a", shortWorkload(t, "mixtral-8x22b", 8, 1)),
		newJob(t, "b", shortWorkload(t, "deepseek-671b", 16, 1))
	for _, name := range []string{"delta-fast", "delta-joint"} {
		var first string
		for _, workers := range []int{1, 3} {
			o := jobsOptions()
			o.Workers = workers
			o.Single, _ = topology.ByName(name)
			o.Fast.Population, o.Fast.StallGenerations = 16, 3
			s := newShared(t, []topology.Job{a, b}, []int{30, 30, 30, 30}, topology.LargestNCT)
			text := ""
			for _, row := range topology.JobsTable {
				d := decideJobs(t, s, row.Name, o)
				text += fmt.Sprintln(row.Name, d.Circuits(), jobMakespans(d), d.Value, d.Evaluations)
			}
			if first == "" {
				first = text
			}
			if text != first {
				t.Errorf("%s with %d workers:\n%swith 1:\n%s", name, workers, text, first)
			}
		}
	}
}

// TestSharedRefuses checks that NewSharedPods rejects jobs that cannot share their pods.
func TestSharedRefuses(t *testing.T) {
	one := newJob(t, "one", shortWorkload(t, "gpt-7b", 2, 1)) // 2 pods, each of 2 replicas
	other := one
	other.Name = "other"
	for _, c := range []struct {
		name    string
		corrupt func(j *topology.Job)
		ports   []int
		want    error
	}{
		{"enough", func(*topology.Job) {}, []int{4, 4}, nil},
		{"too few ports", func(*topology.Job) {}, []int{4, 3}, topology.ErrPorts},
		{"no weight", func(j *topology.Job) { j.Weight = 0 }, []int{4, 4}, topology.ErrShared},
		{"one pod twice", func(j *topology.Job) { j.Pods = []int{1, 1} }, []int{4, 4}, topology.ErrShared},
		{"no such pod", func(j *topology.Job) { j.Pods = []int{1, 2} }, []int{4, 4}, topology.ErrShared},
		{"too few pods", func(j *topology.Job) { j.Pods = []int{1} }, []int{4, 4}, topology.ErrShared},
		{"unlike replicas", func(j *topology.Job) { *j = newJob(t, "other", shortWorkload(t, "megatron-177b", 2, 1)) }, []int{9, 9, 9}, topology.ErrShared},
	} {
		second := other
		c.corrupt(&second)
		if _, err := topology.NewSharedPods([]topology.Job{one, second}, c.ports, 0); !errors.Is(err,
			c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
