package topology_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"sim/engine"
	"sim/policies/topology"
)

// forEachTopology calls do with all topologies of p.
func forEachTopology(p *topology.Problem, do func(x []int)) {
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

// choices holds all topologies of a job and their makespans.
type choices struct {
	x [][]int
	c []engine.Time
}

// exhaustive returns the best score over all pairs of choices that fit the ports.
func exhaustive(s *topology.SharedPods, of []choices) []float64 {
	var best []float64
	for i, x := range of[0].x {
		for k, y := range of[1].x {
			if !s.Fits([][]int{x, y}) {
				continue
			}
			if v := s.Scores([]engine.Time{of[0].c[i], of[1].c[k]}); best == nil ||
				topology.Compare(v, best, 0) < 0 {
				best = v
			}
		}
	}
	return best
}

// TestJobsAreExact compares the joint optimum of small random pairs of jobs with the best
// of all pairs of topologies, for both objectives. Each pair is simulated by an
// exhaustive search over schedules that does not use this package. The optimum must lie
// between the bound and the value.
func TestJobsAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	proved, open, tight := 0, 0, 0
	for n := range numCases(150) {
		const pods = 3
		a, ok := drawRandomJob(t, rng, "a", pods, 3)
		b, ok2 := drawRandomJob(t, rng, "b", pods, 3)
		if !ok || !ok2 {
			continue
		}
		jobs := []topology.Job{a.Job, b.Job}
		ports := portsForJobs(jobs, pods, func() int { return rng.IntN(4) })
		// Makespans simulated by this package, and makespans of exact schedules.
		var own, exact []choices
		solved, met := true, true
		for k, l := range []randomJob{a, b} {
			p := newShared(t, jobs, ports, 0).Jobs[k].Problem
			var o, e choices
			forEachTopology(p, func(x []int) {
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
			s := newShared(t, jobs, ports, goal)
			opt, err := s.Optimise(context.Background(), jobsOptions())
			if err != nil {
				t.Fatal(err)
			}
			best := exhaustive(s, exact)
			d := decideJobs(t, s, "joint", jobsOptions())
			// The accuracy of the exact search, converted to the objective.
			eps := s.Resolution() + 2*accuracy/1e3*(s.Value([]engine.Time{engine.Second, engine.Second})-s.Value([]engine.Time{0, 0}))
			// If a simulation misses its bound, removing circuits may shorten it.
			if best[0] > d.Value+eps || best[0] < opt.Bound-eps || d.Value > opt.Value+eps {
				t.Errorf("case %d, %v: optimum %v, joint %v with bound %v, decided %v", n, goal,
					best[0], opt.Value, opt.Bound, d.Value)
			}
			if gap, _ := opt.Gap(opt.Value); gap < 1e-6 {
				proved++
			} else {
				open++
			}
			if met {
				// Every simulation meets its bound, so the whole score is proved, up to
				// the resolution.
				got, want := s.Scores(jobMakespans(d)), exhaustive(s, own)
				if topology.Compare(got, want, 2*s.Resolution()) > 0 {
					t.Errorf("case %d, %v: joint reaches %v, the best of all is %v", n, goal, got, want)
				}
				if used, minimum := s.PortsUsed(d.Circuits()), minPortsFor(s, own,
					jobMakespans(d)); used != minimum {
					t.Errorf("case %d, %v: %d ports for the makespans %v, want %d", n, goal, used,
						jobMakespans(d), minimum)
				}
			}
			if wide := newShared(t, jobs, portsForJobs(jobs, pods, func() int { return 40 }), goal); best[0] > exhaustiveAlone(wide, exact)+eps {
				tight++
			}
		}
	}

	t.Logf("%d proved, %d open, %d with a budget that binds", proved, open, tight)
	if proved < 100 || tight < 50 {
		t.Errorf("%d optima proved and %d limited by ports, want at least 100 and 50", proved, tight)
	}
}

// TestJobsOfPipelines compares two training jobs in the same two pods with all pairs of
// topologies. These jobs can use more circuits than random ones.
func TestJobsOfPipelines(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 2))
	for n := range numCases(12) {
		a := newJob(t, "a", shortWorkload(t, "gpt-7b", 2+rng.IntN(6), 1))
		b := newJob(t, "b", shortWorkload(t, "gpt-7b", 2+rng.IntN(6), 1))
		// The second job has larger transfers; its network is as fast.
		heavy := shortWorkload(t, "gpt-7b", 2+rng.IntN(6), 1)
		for i := range heavy.graph.Tasks {
			heavy.graph.Tasks[i].Bytes *= int64(1 + n%3)
		}
		if n%2 > 0 {
			b = newJob(t, "b", heavy)
		}
		a.Weight, b.Weight = 1, []float64{1, 3, 0.2}[n%3]
		jobs := []topology.Job{a, b}
		ports := portsForJobs(jobs, 2, func() int { return rng.IntN(8) })
		for _, goal := range objectives {
			s := newShared(t, jobs, ports, goal)
			var all []choices
			for _, j := range s.Jobs {
				var of choices
				forEachTopology(j.Problem, func(x []int) {
					c, bound, err := j.Problem.ByRules(x)
					if err != nil || c-bound > engine.Time(2+float64(c)*1e-11) {
						t.Fatalf("%v: %v, bound %v, %v", x, c, bound, err)
					}
					of.x, of.c = append(of.x, append([]int(nil), x...)), append(of.c, c)
				})
				all = append(all, of)
			}
			d := decideJobs(t, s, "joint", jobsOptions())
			if got, want := s.Scores(jobMakespans(d)), exhaustive(s, all); topology.Compare(got, want,
				portTieFactor*s.Resolution()) != 0 {
				t.Errorf("case %d, ports %v, %v: joint reaches %v, the best of all is %v", n, ports,
					goal, got, want)
			}
			if used, minimum := s.PortsUsed(d.Circuits()), minPortsFor(s, all,
				jobMakespans(d)); used != minimum {
				t.Errorf("case %d, %v: %d ports for the makespans %v, want %d", n, goal, used,
					jobMakespans(d), minimum)
			}
			// From a poor start: the search must prove the optimum without help.
			opt := topology.SearchAlone(s, 200000)
			if math.Abs(opt.Value-d.Value) > portTieFactor*s.Resolution() || opt.Bound > opt.Value ||
				opt.Value-opt.Bound > portTieFactor*s.Resolution() || opt.Stopped != "" {
				t.Errorf("case %d, ports %v, %v: the search alone finds %v with bound %v, best is %v",
					n, ports, goal, opt.Value, opt.Bound, d.Value)
			}
		}
	}
}

// minPortsFor returns the minimum ports over all pairs of choices that fit and are at
// least as fast as makespans.
func minPortsFor(s *topology.SharedPods, of []choices, makespans []engine.Time) int {
	minimum := math.MaxInt
	for i, x := range of[0].x {
		for k, y := range of[1].x {
			if of[0].c[i] <= makespans[0] && of[1].c[k] <= makespans[1] && s.Fits([][]int{x, y}) {
				minimum = min(minimum, s.PortsUsed([][]int{x, y}))
			}
		}
	}
	return minimum
}

// exhaustiveAlone returns the objective if each job has its best topology.
func exhaustiveAlone(s *topology.SharedPods, of []choices) float64 {
	best := make([]engine.Time, len(of))
	for j := range of {
		best[j] = engine.Never
		for _, c := range of[j].c {
			best[j] = min(best[j], c)
		}
	}
	return s.Value(best)
}
