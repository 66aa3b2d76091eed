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

// lodger is a small random job with the description that it was made from.
type lodger struct {
	topology.Job
	d tiny
}

// drawLodger returns a job in some of the pods; false where nothing crosses
// pods.
func drawLodger(t testing.TB, rng *rand.Rand, name string, pods, transfers int) (lodger, bool) {
	t.Helper()
	l := lodger{d: drawTiny(rng, transfers)}
	if len(l.d.ports) > pods {
		return l, false
	}
	for i := range l.d.ports {
		l.d.ports[i] = 99 // those of the shared pods count
	}
	g := l.d.graph(t)
	l.Job = asJob(t, name, g)
	l.Weight = []float64{1, 1, 0.5, 3}[rng.IntN(4)]
	l.Pods = rng.Perm(pods)[:len(l.d.ports)]
	for i := range l.GPUs {
		l.GPUs[i] = 1 + rng.IntN(4)
	}
	return l, len(l.Problem.Fabric.Bundles) > 0
}

// asJob makes a job of a problem, in as many pods as it has, from 0 on.
func asJob(t testing.TB, name string, g parts) topology.Job {
	t.Helper()
	n, _, err := electrical.Connect(g.pods, g.graph)
	if err != nil {
		t.Fatal(err)
	}
	still, err := flow.Run(g.graph, n, &engine.Routes{Start: make([]int32, len(g.graph.Tasks)+1)}, flow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j := topology.Job{Name: name, Problem: g.problem(t), Weight: 1, Compute: still.Makespan, Ideal: g.ideal(t)}
	for i := range g.pods.Pods {
		j.Pods, j.GPUs = append(j.Pods, i), append(j.GPUs, 1)
	}
	return j
}

// budget returns ports with which the jobs can connect, and up to some more.
func budget(jobs []topology.Job, pods int, more func() int) []int {
	ports := make([]int, pods)
	for _, j := range jobs {
		for _, b := range j.Problem.Fabric.Bundles {
			ports[j.Pods[b.A]] += b.Ends
			if !b.Twin {
				ports[j.Pods[b.B]] += b.Ends
			}
		}
	}
	for pod := range ports {
		ports[pod] += more()
	}
	return ports
}

func jobsOptions() topology.JobsOptions {
	single, err := topology.ByName("delta-joint")
	if err != nil {
		panic(err)
	}
	return topology.JobsOptions{Options: budgets(), Single: single, Search: topology.SearchOptions{MaxEvaluations: 200000}}
}

func share(t testing.TB, jobs []topology.Job, ports []int, goal topology.Objective) *topology.Shared {
	t.Helper()
	s, err := topology.NewShared(jobs, ports, goal)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func arbitrate(t testing.TB, s *topology.Shared, name string, o topology.JobsOptions) *topology.JobsDecision {
	t.Helper()
	a, err := topology.ArbiterByName(name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := a.Arbitrate(context.Background(), s, o)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !s.Fits(d.Circuits()) {
		t.Fatalf("%s: %v overruns the ports %v or leaves pods unconnected", name, d.Circuits(), s.Ports)
	}
	return d
}

func ends(d *topology.JobsDecision) []engine.Time {
	var c []engine.Time
	for _, one := range d.Jobs {
		c = append(c, one.Makespan)
	}
	return c
}

var objectives = []topology.Objective{topology.WeightedSum, topology.LargestNCT}

// every calls do with all topologies of p, the last bundle's circuits first.
func every(p *topology.Problem, do func(x []int)) {
	x := make([]int, len(p.Fabric.Bundles))
	for e := range x {
		x[e] = 1
	}
	var try func(e int)
	try = func(e int) {
		if e == len(x) {
			do(x)
			return
		}
		for x[e] = 1; p.Feasible(x); x[e]++ {
			try(e + 1)
		}
		x[e] = 1
	}
	try(0)
}

// choices are all topologies of a job with their makespans.
type choices struct {
	x [][]int
	c []engine.Time
}

// exhaustive returns the best score over all pairs of choices that fit.
func exhaustive(s *topology.Shared, of []choices) []float64 {
	var best []float64
	for i, x := range of[0].x {
		for k, y := range of[1].x {
			if !s.Fits([][]int{x, y}) {
				continue
			}
			if v := s.Scores([]engine.Time{of[0].c[i], of[1].c[k]}); best == nil || topology.Compare(v, best, 0) < 0 {
				best = v
			}
		}
	}
	return best
}

// TestJobsAreExact: on small random pairs of jobs that share pods, the joint
// optimum lies between its bound and its value for both objectives, where the
// optimum is that of all pairs of topologies, each played by an exhaustive
// search over schedules that knows nothing of this package. Where the budget
// does not bind nothing is lost.
func TestJobsAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	proved, open, tight := 0, 0, 0
	for n := range times(150) {
		const pods = 3
		a, ok := drawLodger(t, rng, "a", pods, 3)
		b, ok2 := drawLodger(t, rng, "b", pods, 3)
		if !ok || !ok2 {
			continue
		}
		jobs := []topology.Job{a.Job, b.Job}
		ports := budget(jobs, pods, func() int { return rng.IntN(4) })
		// by the package's own plays, and by exact schedules
		var own, exact []choices
		solved, met := true, true
		for k, l := range []lodger{a, b} {
			p := share(t, jobs, ports, 0).Jobs[k].Problem
			var o, e choices
			every(p, func(x []int) {
				x = append([]int(nil), x...)
				c, bound, err := p.ByRules(x)
				if err != nil {
					t.Fatal(err)
				}
				met = met && c-bound <= 2
				o.x, o.c = append(o.x, x), append(o.c, c)
				circuits := map[[2]int32]int{}
				for i, b := range p.Fabric.Bundles {
					circuits[[2]int32{b.A, b.B}] = x[i]
				}
				best, ok := l.d.puzzle(circuits).optimum(math.Inf(1), 3000)
				solved = solved && ok
				at, err := engine.FromSeconds(best / 1e3)
				if err != nil {
					t.Fatal(err)
				}
				e.x, e.c = append(e.x, x), append(e.c, at)
			})
			own, exact = append(own, o), append(exact, e)
		}
		if !solved {
			continue
		}
		for _, goal := range objectives {
			s := share(t, jobs, ports, goal)
			opt, err := s.Optimise(context.Background(), jobsOptions())
			if err != nil {
				t.Fatal(err)
			}
			best := exhaustive(s, exact)
			d := arbitrate(t, s, "joint", jobsOptions())
			// what an accuracy of the exact search's is in the objective
			eps := s.Resolution() + 2*accuracy/1e3*(s.Value([]engine.Time{engine.Second, engine.Second})-s.Value([]engine.Time{0, 0}))
			// where a play misses its bound, taking circuits away may shorten it
			if best[0] > d.Value+eps || best[0] < opt.Bound-eps || d.Value > opt.Value+eps {
				t.Errorf("case %d, %v: optimum %v, joint %v with bound %v, decided %v", n, goal, best[0], opt.Value, opt.Bound, d.Value)
			}
			if gap, _ := opt.Gap(opt.Value); gap < 1e-6 {
				proved++
			} else {
				open++
			}
			if met {
				// every play meets its bound: the whole order of the objective is
				// proved, but for what counts as one in it
				got, want := s.Scores(ends(d)), exhaustive(s, own)
				if topology.Compare(got, want, 2*s.Resolution()) > 0 {
					t.Errorf("case %d, %v: joint reaches %v, the best of all is %v", n, goal, got, want)
				}
				if used, fewest := s.PortsUsed(d.Circuits()), fewestPorts(s, own, ends(d)); used != fewest {
					t.Errorf("case %d, %v: %d ports for the makespans %v, %d would do", n, goal, used, ends(d), fewest)
				}
			}
			if wide := share(t, jobs, budget(jobs, pods, func() int { return 40 }), goal); best[0] > exhaustiveAlone(wide, exact)+eps {
				tight++
			}
		}
	}
	t.Logf("%d proved, %d open, %d with a budget that binds", proved, open, tight)
	if proved < 100 || tight < 50 {
		t.Errorf("%d proved and %d bound by the ports: the test has lost its teeth", proved, tight)
	}
}

// TestJobsOfPipelines: two training jobs in the same two pods, against all
// pairs of topologies. More circuits are of use here than to random jobs.
func TestJobsOfPipelines(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 2))
	for n := range times(12) {
		a := asJob(t, "a", cut(t, "gpt-7b", 2+rng.IntN(6), 1))
		b := asJob(t, "b", cut(t, "gpt-7b", 2+rng.IntN(6), 1))
		// the second is slower to compute by itself: its network is as fast
		heavy := cut(t, "gpt-7b", 2+rng.IntN(6), 1)
		for i := range heavy.graph.Tasks {
			heavy.graph.Tasks[i].Bytes *= int64(1 + n%3)
		}
		if n%2 > 0 {
			b = asJob(t, "b", heavy)
		}
		a.Weight, b.Weight = 1, []float64{1, 3, 0.2}[n%3]
		jobs := []topology.Job{a, b}
		ports := budget(jobs, 2, func() int { return rng.IntN(8) })
		for _, goal := range objectives {
			s := share(t, jobs, ports, goal)
			var all []choices
			for _, j := range s.Jobs {
				var of choices
				every(j.Problem, func(x []int) {
					c, bound, err := j.Problem.ByRules(x)
					if err != nil || c-bound > engine.Time(2+float64(c)*1e-11) {
						t.Fatalf("%v: %v, bound %v, %v", x, c, bound, err)
					}
					of.x, of.c = append(of.x, append([]int(nil), x...)), append(of.c, c)
				})
				all = append(all, of)
			}
			d := arbitrate(t, s, "joint", jobsOptions())
			if got, want := s.Scores(ends(d)), exhaustive(s, all); topology.Compare(got, want, saved*s.Resolution()) != 0 {
				t.Errorf("case %d, ports %v, %v: joint reaches %v, the best of all is %v", n, ports, goal, got, want)
			}
			if used, fewest := s.PortsUsed(d.Circuits()), fewestPorts(s, all, ends(d)); used != fewest {
				t.Errorf("case %d, %v: %d ports for the makespans %v, %d would do", n, goal, used, ends(d), fewest)
			}
			// from a bad start: what the search finds by itself, its proof included
			opt := topology.SearchAlone(s, 200000)
			if math.Abs(opt.Value-d.Value) > saved*s.Resolution() || opt.Bound > opt.Value || opt.Value-opt.Bound > saved*s.Resolution() || opt.Stopped != "" {
				t.Errorf("case %d, ports %v, %v: the search alone finds %v with bound %v, best is %v", n, ports, goal, opt.Value, opt.Bound, d.Value)
			}
		}
	}
}

// fewestPorts returns the fewest ports over all pairs of choices that fit and
// are as fast as that.
func fewestPorts(s *topology.Shared, of []choices, makespans []engine.Time) int {
	fewest := math.MaxInt
	for i, x := range of[0].x {
		for k, y := range of[1].x {
			if of[0].c[i] <= makespans[0] && of[1].c[k] <= makespans[1] && s.Fits([][]int{x, y}) {
				fewest = min(fewest, s.PortsUsed([][]int{x, y}))
			}
		}
	}
	return fewest
}

// exhaustiveAlone is the objective at each job's own best.
func exhaustiveAlone(s *topology.Shared, of []choices) float64 {
	best := make([]engine.Time, len(of))
	for j := range of {
		best[j] = engine.Never
		for _, c := range of[j].c {
			best[j] = min(best[j], c)
		}
	}
	return s.Value(best)
}

// drawShared returns a random pair or triple of jobs, nil where the draw makes
// none.
func drawShared(t testing.TB, rng *rand.Rand) ([]topology.Job, []int) {
	t.Helper()
	const pods = 3
	var jobs []topology.Job
	for k := range 2 + rng.IntN(2) {
		l, ok := drawLodger(t, rng, fmt.Sprint("job", k), pods, 6)
		if !ok {
			return nil, nil
		}
		jobs = append(jobs, l.Job)
	}
	return jobs, budget(jobs, pods, func() int { return rng.IntN(7) })
}

// saved is how many times what counts as one in the objective saving ports may
// cost: makespans within 1e-9 count as equal there, within 1e-10 in a search.
const saved = 15

// TestJointIsNoWorse holds the joint optimum against the other arbiters, and
// all of them to the port budgets: with rates to choose, under a service that
// is given, and where single jobs are decided by genetic search.
func TestJointIsNoWorse(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	better := map[string]int{}
	fair := flow.MaxMin
	for n := range times(240) {
		jobs, ports := drawShared(t, rng)
		if jobs == nil {
			continue
		}
		for _, goal := range objectives {
			s := share(t, jobs, ports, goal)
			o := jobsOptions()
			switch n % 4 {
			case 1:
				o.Service = &fair
			case 2:
				o.Single, _ = topology.ByName("delta-fast")
				o.Fast.Population, o.Fast.StallGenerations = 8, 3
			}
			joint := arbitrate(t, s, "joint", o)
			for _, row := range topology.Arbiters {
				d := arbitrate(t, s, row.Name, o)
				switch order := topology.Compare(s.Scores(ends(joint)), s.Scores(ends(d)), saved*s.Resolution()); {
				case order > 0:
					t.Errorf("case %d, %v: joint %v is worse than %s %v", n, goal, s.Scores(ends(joint)), row.Name, s.Scores(ends(d)))
				case order < 0:
					better[row.Name]++
				}
			}
		}
	}
	t.Logf("cases in which joint is better: %v", better)
	for _, name := range []string{"even-split", "aggregate", "surplus"} {
		if better[name] < 5 {
			t.Errorf("joint is better than %s in %d cases: the test has lost its teeth", name, better[name])
		}
	}
}

// TestOrderAndScaleOfJobs: neither the order of the jobs nor a common factor of
// the weights changes what can be reached.
func TestOrderAndScaleOfJobs(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for n := range times(60) {
		jobs, ports := drawShared(t, rng)
		if jobs == nil {
			continue
		}
		turned := make([]topology.Job, len(jobs))
		scaled := make([]topology.Job, len(jobs))
		for j := range jobs {
			turned[len(jobs)-1-j] = jobs[j]
			scaled[j] = jobs[j]
			scaled[j].Weight *= 8
		}
		for _, goal := range objectives {
			s := share(t, jobs, ports, goal)
			o := jobsOptions()
			value := arbitrate(t, s, "joint", o).Value
			if again := arbitrate(t, share(t, turned, ports, goal), "joint", o).Value; math.Abs(again-value) > 2*s.Resolution() {
				t.Errorf("case %d, %v: %v, in the other order %v", n, goal, value, again)
			}
			for _, row := range topology.Arbiters {
				one, eight := arbitrate(t, s, row.Name, o), arbitrate(t, share(t, scaled, ports, goal), row.Name, o)
				if one.Value != eight.Value {
					t.Errorf("case %d, %v, %s: %v, with all weights times 8 %v", n, goal, row.Name, one.Value, eight.Value)
				}
			}
		}
	}
}

// TestHeavierJobsGain: a job whose weight grows is not slowed down by that.
func TestHeavierJobsGain(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 8))
	gained := 0
	for n := range times(60) {
		jobs, ports := drawShared(t, rng)
		if jobs == nil {
			continue
		}
		last := math.Inf(1)
		for _, weight := range []float64{0.05, 0.5, 1, 4, 100} {
			jobs[0].Weight = weight
			s := share(t, jobs, ports, topology.WeightedSum)
			d := arbitrate(t, s, "joint", jobsOptions())
			now := s.Jobs[0].Slowdown(d.Jobs[0].Makespan)
			// a tie may go either way by as much as counts as equal
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
		t.Errorf("a heavier job gained in %d cases: the test has lost its teeth", gained)
	}
}

// TestOneJobAlone: of one job the joint optimum is delta-joint's, and so is what
// the other arbiters choose.
func TestOneJobAlone(t *testing.T) {
	for _, model := range []string{"gpt-7b", "mixtral-8x22b", "megatron-177b"} {
		g := cut(t, model, 16, 1)
		job := asJob(t, model, g)
		ports := make([]int, len(job.Pods))
		for i := range ports {
			ports[i] = g.pods.Pods[i].Ports
		}
		for _, goal := range objectives {
			s := share(t, []topology.Job{job}, ports, goal)
			want := choose(t, &playJob{problem: g.problem(t)}, "delta-joint", budgets())
			for _, row := range topology.Arbiters {
				d := arbitrate(t, s, row.Name, jobsOptions())
				off := d.Jobs[0].Makespan - want.Makespan
				if max(off, -off) > engine.Time(1+float64(want.Makespan)*2e-9) || s.PortsUsed(d.Circuits()) != g.problem(t).PortsUsed(want.Circuits) {
					t.Errorf("%s, %s, %v: %v with %v ports, alone %v with %v", model, row.Name, goal,
						d.Jobs[0].Makespan, s.PortsUsed(d.Circuits()), want.Makespan, g.problem(t).PortsUsed(want.Circuits))
				}
			}
		}
	}
}

// playJob is a job as other tests have it.
type playJob = job

// TestSurplusIsNoWaste: no job is slower on what others leave over than on its
// even share, and some are faster.
func TestSurplusIsNoWaste(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	faster := 0
	for n := range times(120) {
		jobs, ports := drawShared(t, rng)
		if jobs == nil {
			continue
		}
		s := share(t, jobs, ports, topology.WeightedSum)
		even, more := arbitrate(t, s, "even-split", jobsOptions()), arbitrate(t, s, "surplus", jobsOptions())
		for j := range jobs {
			off := float64(more.Jobs[j].Makespan-even.Jobs[j].Makespan) / float64(even.Jobs[j].Makespan)
			// where neither is proved best, the one with less to choose from may be lucky
			gap, _ := more.Jobs[j].Gap()
			if off > 2e-9+gap {
				t.Errorf("case %d, %s: %v on its even share, %v with the surplus", n, jobs[j].Name, even.Jobs[j].Makespan, more.Jobs[j].Makespan)
			}
			if off < -1e-6 {
				faster++
			}
		}
	}
	if faster < 5 {
		t.Errorf("%d jobs are faster: the test has lost its teeth", faster)
	}
}

// TestJobsStop ends the search early: what it says it has proved must hold.
func TestJobsStop(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	stopped := 0
	for n := range times(60) {
		jobs, ports := drawShared(t, rng)
		if jobs == nil {
			continue
		}
		for _, goal := range objectives {
			s := share(t, jobs, ports, goal)
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
			if part.Bound > full.Value+s.Resolution() || part.Value < full.Bound-s.Resolution() || part.Bound > part.Value {
				t.Errorf("case %d, %v: %v with bound %v after %d evaluations, %v with bound %v in the end",
					n, goal, part.Value, part.Bound, o.Search.MaxEvaluations, full.Value, full.Bound)
			}
			if part.Stopped != "" {
				stopped++
			}
		}
	}
	if stopped < 10 {
		t.Errorf("%d searches were stopped: the test has lost its teeth", stopped)
	}
	jobs, ports := []topology.Job(nil), []int(nil)
	for jobs == nil {
		jobs, ports = drawShared(t, rng)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := share(t, jobs, ports, 0).Optimise(over, jobsOptions()); !errors.Is(err, context.Canceled) {
		t.Errorf("a search that is cancelled ends with %v", err)
	}
}

// TestJobsAreDeterministic: the number of workers changes nothing.
func TestJobsAreDeterministic(t *testing.T) {
	a, b := asJob(t, "a", cut(t, "mixtral-8x22b", 8, 1)), asJob(t, "b", cut(t, "deepseek-671b", 16, 1))
	for _, name := range []string{"delta-fast", "delta-joint"} {
		var first string
		for _, workers := range []int{1, 3, 1} {
			o := jobsOptions()
			o.Workers = workers
			o.Single, _ = topology.ByName(name)
			o.Fast.Population, o.Fast.StallGenerations = 16, 3
			s := share(t, []topology.Job{a, b}, []int{30, 30, 30, 30}, topology.LargestNCT)
			text := ""
			for _, row := range topology.Arbiters {
				d := arbitrate(t, s, row.Name, o)
				text += fmt.Sprintln(row.Name, d.Circuits(), ends(d), d.Value, d.Evaluations)
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

// TestSharedRefuses jobs that cannot share their pods.
func TestSharedRefuses(t *testing.T) {
	one := asJob(t, "one", cut(t, "gpt-7b", 2, 1)) // 2 pods of 2 replicas
	other := one
	other.Name = "other"
	for _, c := range []struct {
		name  string
		spoil func(j *topology.Job)
		ports []int
		want  error
	}{
		{"enough", func(*topology.Job) {}, []int{4, 4}, nil},
		{"too few ports", func(*topology.Job) {}, []int{4, 3}, topology.ErrPorts},
		{"no weight", func(j *topology.Job) { j.Weight = 0 }, []int{4, 4}, topology.ErrShared},
		{"one pod twice", func(j *topology.Job) { j.Pods = []int{1, 1} }, []int{4, 4}, topology.ErrShared},
		{"no such pod", func(j *topology.Job) { j.Pods = []int{1, 2} }, []int{4, 4}, topology.ErrShared},
		{"too few pods", func(j *topology.Job) { j.Pods = []int{1} }, []int{4, 4}, topology.ErrShared},
		{"unlike replicas", func(j *topology.Job) { *j = asJob(t, "other", cut(t, "megatron-177b", 2, 1)) }, []int{9, 9, 9}, topology.ErrShared},
	} {
		second := other
		c.spoil(&second)
		if _, err := topology.NewShared([]topology.Job{one, second}, c.ports, 0); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}
