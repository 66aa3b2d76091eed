package topology_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"testing"

	"sim/engine"
	"sim/policies/topology"
)

// decisionLine formats a decision without the report of a MILP solver.
func decisionLine(d *topology.Decision) string {
	s := fmt.Sprintf("%v %v %.9g %d %d %q %d %d %v %d %v %q", d.Circuits, d.Service, d.Tails,
		d.Makespan, d.Bound, d.BoundModel, d.Limit, d.PortsBound, d.FreeRates, d.Evaluations,
		d.Searched, d.Stopped)
	if m := d.Moves; m != nil {
		s += fmt.Sprintf(" %d %d %v %v", m.Repeated, m.BreakEven, m.BreakEvenComputed, m.Reason == "")
		if m.Sequence != nil {
			s += fmt.Sprintf(" %+v %+v", *m.Sequence, m.Runs)
		}
	}
	return s
}

// TestStoredDecisions compares the decisions of allocators on small random jobs with
// stored digests. A digest covers circuits, rates, makespans, bounds, evaluations and
// moves of circuits. Budgets are sufficient or too small, with and without a port
// tolerance. Any change of a search order, a bound or a budget changes a digest.
func TestStoredDecisions(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("digests are of amd64; other processors may round otherwise")
	}
	rng := rand.New(rand.NewPCG(1, 101))
	var problems []problemParts
	for len(problems) < 20 {
		g := drawSmallProblem(rng, 7).graph(t)
		o, err := g.pods.Connect(g.graph)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := topology.NewProblem(g.graph, o); err == nil && len(o.Bundles) > 1 {
			problems = append(problems, g)
		}
	}

	large := defaultOptions()
	large.Moving.MaxEvaluations = 60
	large.Rotor = topology.RotorOptions{Period: 6 * millisecond, Switches: 2}
	large.Fast.Population, large.Fast.StallGenerations = 12, 8
	small := large
	small.Topo.MaxEvaluations, small.Joint.MaxEvaluations, small.Moving.MaxEvaluations, small.Fast.MaxGenerations = 7, 5, 9, 3
	saving := large
	saving.PortTolerance, saving.Seed = 0.05, 2
	for _, c := range []struct {
		name string
		want uint64
	}{
		{"uniform", 0xead9367d5712e14f},
		{"prop-alloc", 0xf124be9d78990560},
		{"sqrt-alloc", 0xf124be9d78990560},
		{"iter-halve", 0xf124be9d78990560},
		{"delta-fast", 0x2294a09c01513c97},
		{"delta-topo", 0xfd22b4550f0453b9},
		{"delta-joint", 0x52238884464dda6d},
		{"delta-during", 0x8e390e50f8241489},
		{"demand-matched", 0xcfbda2431fa337cf},
		{"mixnet-during", 0xbebc47a7bb1cbb11},
		{"rotor", 0xa131f9f4bc61ed39},
	} {
		policy, err := topology.ByName(c.name)
		if err != nil {
			t.Fatal(err)
		}
		digest := fnv.New64a()
		some := problems
		if c.name == "rotor" { // rotor simulates many changes
			some = problems[:4]
		}
		for i, g := range some {
			for k, o := range []topology.Options{large, small, saving} {
				optical, err := g.pods.Connect(g.graph)
				if err != nil {
					t.Fatal(err)
				}
				p, err := topology.NewProblem(g.graph, optical)
				if err != nil {
					t.Fatal(err)
				}
				p.Switching = topology.SwitchTiming{Delay: engine.Time(i%3) * millisecond / 2,
					StopsAll: i%4 == 3}
				if o.Workers = 1; c.name == "rotor" && !o.Rotor.Carries(p.Switching) {
					continue
				}
				d, err := policy.Choose(t.Context(), p, o)
				if err != nil {
					t.Fatalf("%s of problem %d: %v", c.name, i, err)
				}
				fmt.Fprintln(digest, i, k, decisionLine(d))
			}
		}
		if got := digest.Sum64(); got != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.name, got, c.want)
		}
	}
}

// TestStoredArbiters does the same for multi-job allocators and each objective.
func TestStoredArbiters(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("digests are of amd64; other processors may round otherwise")
	}
	for _, c := range []struct {
		name string
		want uint64
	}{
		{"even-split", 0xd009ba9992bfd961},
		{"aggregate", 0x4b892d9acd659557},
		{"surplus", 0xad1a03e9fe23f1b},
		{"joint", 0xe84fa3cac6f1d20f},
	} {
		rng := rand.New(rand.NewPCG(2, 101))
		digest := fnv.New64a()
		for drawn := 0; drawn < 15; {
			jobs, ports := drawShared(t, rng)
			if jobs == nil {
				continue
			}
			drawn++
			for _, goal := range objectives {
				for _, evaluations := range []int64{20, 2000} {
					o := jobsOptions()
					o.Workers, o.Search.MaxEvaluations = 1, evaluations
					s := newShared(t, jobs, ports, goal)
					d := decideJobs(t, s, c.name, o)
					for _, one := range d.Jobs {
						fmt.Fprintln(digest, decisionLine(one))
					}
					fmt.Fprintf(digest, "%.9g\n", s.Scores(jobMakespans(d)))
				}
			}
		}
		if got := digest.Sum64(); got != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.name, got, c.want)
		}
	}
}
