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

// maxBinaries is the largest model that a solver is given.
const maxBinaries = 1 << 20

// solveMILP has a MILP solver choose among the paths that the best choice was found among, one a pair, such that the most
// loaded orbit of links carries least, from the best choice on: the paper's integer program (Zu et al., Sec. 4.3) with
// single paths, on classes of pairs and orbits of links.
func (r *optimiser) solveMILP(ctx context.Context) error {
	in, s := r.best.in, r.best.s
	m, column := r.milpModel()
	if len(m.Columns) > maxBinaries {
		return fmt.Errorf("routing: %d paths to choose from are too many for a MILP; want at most %d", len(m.Columns), maxBinaries)
	}
	start := make([]float64, len(m.Columns))
	start[0] = s.bestLoad
	for _, w := range s.best {
		if column[w] > 0 {
			start[column[w]] = 1
		}
	}
	limit := time.Duration((r.TimeLimit + engine.Nanosecond - 1) / engine.Nanosecond) // less than a nanosecond is one
	o := milp.Options{Solver: strings.TrimPrefix(r.Solver, "auto"), TimeLimit: limit, Seed: r.seed & (1<<31 - 1), Start: start}
	if in.hasWholeDemands {
		o.AbsGap = 0.999 // loads are whole numbers
	}
	solution, err := milp.Solve(ctx, m, o)
	if err != nil {
		return err
	}
	if solution.Values != nil {
		s.path = append(s.path[:0], s.best...)
		for i := range s.path {
			for k := s.candidates.first[i]; k >= 0; k = s.candidates.next[k] {
				if column[k] > 0 && solution.Values[column[k]] > 0.5 {
					s.path[i] = k
				}
			}
		}
		s.recount()
		s.saveBest()
	}
	if solution.Status == milp.Infeasible {
		return fmt.Errorf("routing: %s finds no choice of routes, of which one is known", solution.Solver)
	}
	bound := solution.Bound
	if in.hasWholeDemands {
		bound = math.Ceil(solution.Bound - nearSolved)
	}
	r.solved = map[string]float64{"milp_max_link_load": s.bestLoad}
	if bound > 0 {
		r.solved["milp_bound_max_link_load"] = bound
	}
	r.solver = fmt.Sprintf("%s: %s, %d walks", solution.Solver, solution.Status, len(m.Columns)-1)
	return nil
}

// nearSolved is how far solvers' bounds may be from the whole number that they are: ten times their tolerance.
const nearSolved = 1e-5

// milpModel returns the program, and by path the column that takes it: the greatest load is column 0. Paths of pairs that
// have one are constants.
func (r *optimiser) milpModel() (*milp.Model, []int) {
	in, s := r.best.in, r.best.s
	m := &milp.Model{Name: "routes"}
	m.AddColumn(milp.Column{Name: "load", Up: math.Inf(1), Cost: 1})
	column := make([]int, len(s.candidates.next))
	rows, caps := make([][]milp.Term, in.numOrbits), make([][]milp.Term, in.numOrbits)
	fixed, neighbours := make([]float64, in.numOrbits), make([]float64, in.numOrbits)
	var orbits []int32
	for i := range in.pairs {
		isOnly := s.candidates.next[s.candidates.first[i]] < 0
		var selected []milp.Term
		for k := s.candidates.first[i]; k >= 0; k = s.candidates.next[k] {
			if !isOnly {
				column[k] = m.AddColumn(milp.Column{Name: fmt.Sprintf("p%d_w%d", i, k), Up: 1, Integer: true})
				selected = append(selected, milp.Term{Column: column[k], Factor: 1})
			}
			orbits = append(orbits[:0], s.candidates.pathOrbits(k)...)
			slices.Sort(orbits)
			for len(orbits) > 0 {
				o, n := orbits[0], 1
				for n < len(orbits) && orbits[n] == o {
					n++
				}
				orbits = orbits[n:]
				added := in.demand[i] * float64(n) * in.perUnit(o)
				if isOnly {
					fixed[o] += added
				} else {
					rows[o] = append(rows[o], milp.Term{Column: column[k], Factor: added})
				}
				switch {
				case !in.isNeighbour[i] || s.neighbourCap == 0:
				case isOnly:
					neighbours[o] += float64(n)
				default:
					caps[o] = append(caps[o], milp.Term{Column: column[k], Factor: float64(n)})
				}
			}
		}
		if !isOnly {
			m.AddRow(fmt.Sprintf("one_p%d", i), milp.Equal, 1, selected...)
		}
	}
	for o := range rows {
		m.AddRow(fmt.Sprintf("load_o%d", o), milp.AtMost, -fixed[o], append(rows[o], milp.Term{Column: 0, Factor: -1})...)
		if len(caps[o]) > 0 && s.bestExcess == 0 {
			m.AddRow(fmt.Sprintf("near_o%d", o), milp.AtMost, float64(s.neighbourCap)-neighbours[o], caps[o]...)
		}
	}
	return m, column
}
