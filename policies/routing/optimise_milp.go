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

// maxBinaries limits the columns of a model that is given to a solver.
const maxBinaries = 1 << 20

// solveMILP lets a MILP solver choose one candidate path per pair such that the maximum orbit
// load is minimal. It starts from the best choice. The model is the integer program of Zu et al.,
// Sec. 4.3, with single paths, classes of pairs, and orbits of links.
func (r *optimiser) solveMILP(ctx context.Context) error {
	in, s := r.best.in, r.best.s
	m, column := r.milpModel()
	if len(m.Columns) > maxBinaries {
		return fmt.Errorf("routing: the MILP has %d paths; want at most %d", len(m.Columns), maxBinaries)
	}

	// The best choice as a point to start from.
	start := make([]float64, len(m.Columns))
	start[0] = s.bestLoad
	for _, w := range s.best {
		if column[w] > 0 {
			start[column[w]] = 1
		}
	}

	// Rounded up, as 0 means no limit.
	limit := time.Duration((r.TimeLimit + engine.Nanosecond - 1) / engine.Nanosecond)
	o := milp.Options{
		Solver:    strings.TrimPrefix(r.Solver, "auto"),
		TimeLimit: limit,
		Seed:      r.seed & (1<<31 - 1),
		Start:     start,
	}

	if in.hasWholeDemands {
		o.AbsGap = 0.999 // loads are whole numbers
	}
	solution, err := milp.Solve(ctx, m, o)
	if err != nil {
		return err
	}

	// Take over the solver's choice if it is better.
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
		return fmt.Errorf("routing: %s reports an infeasible model, but a choice of paths is known",
			solution.Solver)
	}

	// With whole loads, the bound can be rounded up.
	bound := solution.Bound
	if in.hasWholeDemands {
		bound = math.Ceil(solution.Bound - nearSolved)
	}

	// The label of the solver states how many paths the model has.
	r.solved = map[string]float64{"milp_max_link_load": s.bestLoad}
	if bound > 0 {
		r.solved["milp_bound_max_link_load"] = bound
	}
	r.solver = fmt.Sprintf("%s: %s, %d walks", solution.Solver, solution.Status, len(m.Columns)-1)
	return nil
}

// nearSolved is the tolerance when a solver's bound is rounded up to a whole number: ten times
// the solvers' own tolerance.
const nearSolved = 1e-5

// milpModel returns the program, and for each path its column; 0 for the only path of a pair,
// which is a constant. Column 0 is the maximum load.
func (r *optimiser) milpModel() (*milp.Model, []int) {
	in, s := r.best.in, r.best.s
	m := &milp.Model{Name: "routes"}
	m.AddColumn(milp.Column{Name: "load", Up: math.Inf(1), Cost: 1})
	column := make([]int, len(s.candidates.next))

	rows := make([][]milp.Term, in.numOrbits)
	caps := make([][]milp.Term, in.numOrbits)
	fixed := make([]float64, in.numOrbits)
	neighbours := make([]float64, in.numOrbits)
	var orbits []int32

	// A binary column per path. Each pair takes one path; the only path of a pair adds constants.
	for i := range in.pairs {
		isOnly := s.candidates.next[s.candidates.first[i]] < 0
		var selected []milp.Term
		for k := s.candidates.first[i]; k >= 0; k = s.candidates.next[k] {
			if !isOnly {
				column[k] = m.AddColumn(milp.Column{Name: fmt.Sprintf("p%d_w%d", i, k), Up: 1, Integer: true})
				selected = append(selected, milp.Term{Column: column[k], Factor: 1})
			}

			// Add the path to the row of each orbit that it crosses. n is how often it crosses
			// the orbit.
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

				// Paths between neighbours also count for the rows of the neighbours' cap.
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

	// One row per orbit for its load, and one for the neighbours' cap if it can be met.
	for o := range rows {
		m.AddRow(fmt.Sprintf("load_o%d", o), milp.LessOrEqual, -fixed[o], append(rows[o], milp.Term{
			Column: 0,
			Factor: -1,
		})...)
		if len(caps[o]) > 0 && s.bestExcess == 0 {
			m.AddRow(fmt.Sprintf("near_o%d", o), milp.LessOrEqual, float64(s.neighbourCap)-neighbours[o], caps[o]...)
		}
	}

	return m, column
}
