package topology

import (
	"context"
	"encoding/binary"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
)

// newTestSearch returns a search on a problem before its first generation.
func newTestSearch(t *rapid.T, p *Problem) *fastSearch {
	o := Options{Seed: rapid.Uint64().Draw(t, "seed"), Workers: 1, Settings: Settings{Fast: FastDefaults()}}
	o.Fast.Population = 6
	o.Fast.StallGenerations = 3
	s, err := newFastSearch(context.Background(), p, o, searchBudget{}, flow.MaxMin)
	if err != nil {
		t.Skip(err)
	}
	return s
}

// TestTopologiesStayFeasible checks that the results of initialisation and variation,
// after repair, fit the ports, connect all pairs and have no useless circuit.
func TestTopologiesStayFeasible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		if len(p.Fabric.Bundles) == 0 {
			t.Skip("nothing to connect")
		}
		s := newTestSearch(t, p)
		defer s.close()
		check := func(how string, x []int) {
			if !p.Feasible(x) {
				t.Fatalf("%s: %v is not feasible", how, x)
			}
			for e := range x {
				if x[e] > p.Useful[e] {
					t.Fatalf("%s: %v exceeds %v", how, x, p.Useful)
				}
			}
		}
		x := s.randomTopology()
		check("random", x)
		for range 10 {
			y := s.crossover(x, s.randomTopology())
			check("crossover", s.repairOrRandom(append([]int(nil), y...)))
			s.mutate(y)
			x = s.repairOrRandom(y)
			check("mutation", x)
		}
		s.visitNeighbours(x, func(y []int) { check("neighbour", y) })
	})
}

// TestRandomTopologiesCoverAll checks that Alg. 5 can return every feasible topology.
func TestRandomTopologiesCoverAll(t *testing.T) {
	p := peerProblem(t)
	s, err := newFastSearch(context.Background(), p,
		Options{Seed: 1, Workers: 1, Settings: Settings{Fast: FastDefaults()}}, searchBudget{}, flow.MaxMin)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	s.p.Useful = []int{9, 9, 9}
	seen := map[string]bool{}
	for range 2000 {
		seen[topologyKey(s.randomTopology())] = true
	}
	want := 0
	for a := 1; a <= 9; a++ {
		for b := 1; b <= 9; b++ {
			for c := 1; c <= 9; c++ {
				if x := []int{a, b, c}; p.Feasible(x) {
					want++
					if !seen[topologyKey(x)] {
						t.Errorf("topology %v is never drawn", x)
					}
				}
			}
		}
	}

	if len(seen) != want {
		t.Errorf("%d topologies made, %d are feasible", len(seen), want)
	}
}

// TestElitesSurvive checks that the best individuals are in the next generation
// unchanged, and that a generation has the configured size.
func TestElitesSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		if len(p.Fabric.Bundles) == 0 {
			t.Skip("nothing to connect")
		}
		s := newTestSearch(t, p)
		defer s.close()
		s.evolve()
		next := s.nextGeneration()
		if len(next) != s.options.Population || len(s.population) != s.options.Population {
			t.Fatalf("%d individuals follow %d, want %d", len(next), len(s.population), s.options.Population)
		}
		for i := range s.options.Elites {
			if !slices.Equal(next[i].circuits, s.population[i].circuits) ||
				next[i].makespan != s.population[i].makespan {
				t.Fatalf("elite %d is not in the next generation", i)
			}
		}
	})
}

// TestEvolveLeavesTheMemoTrue compares all cached makespans with complete simulations,
// with and without common prefixes.
func TestEvolveLeavesTheMemoTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		if len(p.Fabric.Bundles) == 0 {
			t.Skip("nothing to connect")
		}
		s := newTestSearch(t, p)
		defer s.close()
		s.evolve()
		s.steepestDescent()
		s.minimisePorts(withTolerance(s.best.makespan, rapid.Float64Range(0, 0.1).Draw(t, "tolerance")))
		w := p.acquire(context.Background(), s.service)
		defer p.release(w)
		for k, o := range s.memo {
			x := make([]int, len(p.Fabric.Bundles))
			for e := range x {
				x[e] = int(binary.LittleEndian.Uint32([]byte(k[4*e:])))
			}
			if c, _ := w.simulate(x, never); o.makespan == never && c < o.cutoff {
				t.Fatalf("memo: %v reaches cutoff %v, but its makespan is %v", x, o.cutoff, c)
			}
		}
		for _, i := range append(s.simulated, s.best) {
			if c, ok := w.simulate(i.circuits, never); !ok || c != i.makespan {
				t.Fatalf("memo: %v has makespan %v, want %v", i.circuits, i.makespan, c)
			}
		}
	})
}

// TestCutOffsAreNoMakespans checks that a topology that was cut off is simulated again
// for a later cutoff, and counts as never for an earlier one.
func TestCutOffsAreNoMakespans(t *testing.T) {
	s, err := newFastSearch(context.Background(), peerProblem(t),
		Options{Seed: 1, Workers: 1, Settings: Settings{Fast: FastDefaults()}}, searchBudget{}, flow.MaxMin)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	one := []individual{s.individual(s.p.ones())}
	w := s.p.acquire(context.Background(), s.service)
	defer s.p.release(w)
	c, _ := w.simulate(one[0].circuits, never)
	for _, step := range []struct{ cutoff, want engine.Time }{{c / 2, never}, {c, never}, {c + 1, c}, {c, never}, {never, c}} {
		if s.evaluate(one, step.cutoff); one[0].makespan != step.want {
			t.Errorf("cut off at %v: %v, want %v", step.cutoff, one[0].makespan, step.want)
		}
	}

	if want := int64(3 + 3); s.evaluations != want {
		t.Errorf("%d evaluations, want %d", s.evaluations, want)
	}
}

// TestWorkers checks the number of goroutines: as given, at most maxWorkers, or one per processor.
func TestWorkers(t *testing.T) {
	for given, want := range map[int]int{
		-1: runtime.GOMAXPROCS(0), 0: runtime.GOMAXPROCS(0), 1: 1, 2: 2, maxWorkers: maxWorkers, maxWorkers + 1: maxWorkers,
	} {
		if got := (&Options{Workers: given}).workers(); got != want {
			t.Errorf("%d workers: got %d goroutines, want %d", given, got, want)
		}
	}
}
