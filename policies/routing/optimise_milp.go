package routing

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"sim/engine"
	"sim/policies/milp"
)

// mostBinaries is the largest model that a solver is given.
const mostBinaries = 1 << 20

// exact has a MILP solver choose among the paths that the best choice was found among, one a pair, such that the most
// loaded orbit of links carries least, from the best choice on: the paper's integer program (Zu et al., Sec. 4.3) with
// single paths, on classes of pairs and orbits of links.
func (r *optimiser) exact(ctx context.Context) error {
	in, s := r.found.in, r.found.s
	m, column := r.model()
	if len(m.Columns) > mostBinaries {
		return fmt.Errorf("routing: %d paths to choose from are too many for a MILP; want at most %d", len(m.Columns), mostBinaries)
	}
	start := make([]float64, len(m.Columns))
	start[0] = s.value
	for _, w := range s.best {
		if column[w] > 0 {
			start[column[w]] = 1
		}
	}
	limit := time.Duration((r.TimeLimit + engine.Nanosecond - 1) / engine.Nanosecond) // less than a nanosecond is one
	o := milp.Options{Solver: strings.TrimPrefix(r.Solver, "auto"), TimeLimit: limit, Seed: r.seed & (1<<31 - 1), Start: start}
	if in.whole {
		o.AbsGap = 0.999 // loads are whole numbers
	}
	z, err := milp.Solve(ctx, m, o)
	if err != nil {
		return err
	}
	if z.Values != nil {
		s.path = append(s.path[:0], s.best...)
		for i := range s.path {
			for k := s.c.first[i]; k >= 0; k = s.c.next[k] {
				if column[k] > 0 && z.Values[column[k]] > 0.5 {
					s.path[i] = k
				}
			}
		}
		s.recount()
		s.keep()
	}
	if z.Status == milp.Infeasible {
		return fmt.Errorf("routing: %s finds no choice of routes, of which one is known", z.Solver)
	}
	bound := z.Bound
	if in.whole {
		bound = math.Ceil(z.Bound - nearSolved)
	}
	r.solved = map[string]float64{"milp_max_link_load": s.value}
	if bound > 0 {
		r.solved["milp_bound_max_link_load"] = bound
	}
	r.solver = fmt.Sprintf("%s: %s, %d walks", z.Solver, z.Status, len(m.Columns)-1)
	return nil
}

// nearSolved is how far solvers' bounds may be from the whole number that they are: ten times their tolerance.
const nearSolved = 1e-5

// model returns the program, and by path the column that takes it: the greatest load is column 0. Paths of pairs that
// have one are constants.
func (r *optimiser) model() (*milp.Model, []int) {
	in, s := r.found.in, r.found.s
	m := &milp.Model{Name: "routes"}
	m.Add(milp.Column{Name: "load", Up: math.Inf(1), Cost: 1})
	column := make([]int, len(s.c.next))
	rows, caps := make([][]milp.Term, in.orbits), make([][]milp.Term, in.orbits)
	fixed, near := make([]float64, in.orbits), make([]float64, in.orbits)
	var orbits []int32
	for i := range in.pair {
		only := s.c.next[s.c.first[i]] < 0
		var one []milp.Term
		for k := s.c.first[i]; k >= 0; k = s.c.next[k] {
			if !only {
				column[k] = m.Add(milp.Column{Name: fmt.Sprintf("p%d_w%d", i, k), Up: 1, Integer: true})
				one = append(one, milp.Term{Column: column[k], Factor: 1})
			}
			orbits = append(orbits[:0], s.c.of(k)...)
			slices.Sort(orbits)
			for len(orbits) > 0 {
				o, n := orbits[0], 1
				for n < len(orbits) && orbits[n] == o {
					n++
				}
				orbits = orbits[n:]
				by := in.demand[i] * float64(n) * in.perUnit(o)
				if only {
					fixed[o] += by
				} else {
					rows[o] = append(rows[o], milp.Term{Column: column[k], Factor: by})
				}
				switch {
				case !in.near[i] || s.most == 0:
				case only:
					near[o] += float64(n)
				default:
					caps[o] = append(caps[o], milp.Term{Column: column[k], Factor: float64(n)})
				}
			}
		}
		if !only {
			m.Require(fmt.Sprintf("one_p%d", i), milp.Equal, 1, one...)
		}
	}
	for o := range rows {
		m.Require(fmt.Sprintf("load_o%d", o), milp.AtMost, -fixed[o], append(rows[o], milp.Term{Column: 0, Factor: -1})...)
		if len(caps[o]) > 0 && s.excess == 0 {
			m.Require(fmt.Sprintf("near_o%d", o), milp.AtMost, float64(s.most)-near[o], caps[o]...)
		}
	}
	return m, column
}
