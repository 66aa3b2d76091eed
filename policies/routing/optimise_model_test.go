package routing

import (
	"math"
	"math/rand/v2"
	"testing"

	"sim/fabric/torus"
)

// TestOptimisedModel verifies the integer program for random choices of paths. The minimum load
// it allows is the maximum link load. It allows a choice exactly if neighbour loads respect the
// cap.
func TestOptimisedModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 121))
	link := torus.Faults{Links: []torus.Hop{{Node: 1, Dim: 1, Up: true}}}
	refused := 0
	for name, p := range map[string]*Problem{
		"torus":   torusProblem(t, torus.Faults{}, "", 3, 4),
		"link":    torusProblem(t, link, "", 3, 4),
		"weighed": halfUnitDemands(torusProblem(t, link, "", 4, 2, 2)),
		"rates":   twoRates(torusProblem(t, torus.Faults{}, "", 3, 3)),
	} {
		for _, limit := range []int{0, 2} {
			y := p.Symmetry(1)
			in, err := newRouteInstance(p, y)
			if err != nil {
				t.Fatal(err)
			}
			rules, err := NewCandidates(p, WildRule{})
			if err != nil {
				t.Fatal(err)
			}
			r := &optimiser{problem: p, given: p, symmetry: y, in: in, rules: rules}
			c, err := r.listPaths(rules)
			if err != nil {
				t.Fatal(err)
			}
			s := newPathAssignmentSearch(in, c, 1, limit, 1)
			s.bestExcess = 0 // as if a choice within the cap were known
			r.best = &routeChoice{in, s, rules}
			m, column := r.milpModel()
			if err := m.Check(); err != nil {
				t.Fatal(err)
			}
			for range 60 {
				for i := range s.path {
					s.path[i] = c.first[i]
					for k := c.first[i]; k >= 0; k = c.next[k] {
						if rng.IntN(5) == 0 {
							s.path[i] = k
						}
					}
				}
				s.recount()
				x := make([]float64, len(m.Columns))
				for _, k := range s.path {
					if column[k] > 0 {
						x[column[k]] = 1
					}
				}
				load, near := maxOf(s.load), maxOf(s.neighbourLoad)
				for _, off := range []float64{-1e-6, 1e-6, 1} {
					x[0] = load + off
					worst, row := m.Violation(x)
					if want := off > 0 && (limit == 0 || near <= float64(limit)); (worst <= 1e-9) != want {
						t.Fatalf("%s: a load of %g, of %g at most, %g neighbours' units of at most %d: %s is broken by %g", name, x[0], load, near, limit, row, worst)
					}
				}
				if limit > 0 && near > float64(limit) {
					refused++
				}
				for i, k := range s.path { // a pair takes one path
					if at := column[k]; at > 0 {
						x[0], x[at] = math.Ceil(load)+9, 0
						if worst, _ := m.Violation(x); worst < 0.4 {
							t.Fatalf("%s: pair %d takes no path", name, i)
						}
						break
					}
				}
			}
		}
	}
	if refused < 20 {
		t.Errorf("%d choices exceed the limit of neighbours, want at least 20", refused)
	}
}
