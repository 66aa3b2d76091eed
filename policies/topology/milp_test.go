package topology_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/milp"
	"sim/policies/topology"
)

// requireSolver skips the test if no solver is on the PATH.
func requireSolver(t *testing.T) {
	t.Helper()
	if _, name, err := milp.Find(""); err != nil {
		t.Skip(err)
	} else {
		t.Log("solved by ", name)
	}
}

// milpOptions returns options of the MILP allocators with a time limit of the solver.
func milpOptions(limit time.Duration) topology.Options {
	return topology.Options{
		Seed: 1, Workers: 1, Settings: topology.Settings{
			MILP:  topology.MILPOptions{TimeLimit: engine.Time(limit) * engine.Nanosecond},
			Joint: topology.SearchOptions{MaxEvaluations: 20000},
			Topo:  topology.SearchOptions{MaxEvaluations: 20000},
			Fast: topology.FastOptions{Population: 32, Elites: 4, Tournament: 3, Crossover: 0.9,
				Mutation: 0.3, StallGenerations: 50, MaxGenerations: 1000},
		},
	}
}

// decideWith returns the decision of the named allocator.
func decideWith(t *testing.T, name string, p *topology.Problem, o topology.Options) *topology.Decision {
	t.Helper()
	policy, err := topology.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := policy.Choose(context.Background(), p, o)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return d
}

// gpt7b returns the job of the paper's Fig. 1 with the given number of micro-batches.
func gpt7b(t *testing.T, microbatches int) *job {
	s, per := trainingSpec(t, "gpt-7b", 4096)
	s.Microbatches = microbatches
	return prepare(t, s, per, 400e9)
}

// nearlyEqual reports whether two times differ by at most a fraction eps.
func nearlyEqual(a, b engine.Time, eps float64) bool {
	return math.Abs(float64(a-b)) <= eps*float64(b)
}

// TestSolverAgrees compares the optima of MILP solvers with delta-joint. The optimum of
// the model with fair sharing must not exceed the makespan of delta-topo, because
// transfers may wait in the model.
func TestSolverAgrees(t *testing.T) {
	requireSolver(t)
	for _, c := range []struct {
		microbatches int
		name         string
	}{{1, "delta-joint-milp"}, {1, "delta-joint-milp-hotstart"}, {2, "delta-joint-milp-hotstart"}} {
		microbatches, name := c.microbatches, c.name
		p := gpt7b(t, microbatches).problem
		joint := decideWith(t, "delta-joint", p, milpOptions(0))
		o := milpOptions(0)
		o.KeepPorts = microbatches > 1
		d := decideWith(t, name, p, o)
		if d.Solver.Status != "optimal" || !nearlyEqual(d.Solver.Makespan, joint.Makespan, 1e-6) ||
			!nearlyEqual(d.Makespan, joint.Makespan, 1e-6) {
			t.Errorf("%d micro-batches, %s: %+v, simulated %v, delta-joint %v", microbatches, name,
				*d.Solver, d.Makespan, joint.Makespan)
		}
		if got, want := p.PortsUsed(d.Circuits), p.PortsUsed(joint.Circuits); !o.KeepPorts &&
			(got != want || joint.PortsBound != want) {
			t.Errorf("%d micro-batches, %s: %d ports, delta-joint %d, bound %d", microbatches, name,
				got, want, joint.PortsBound)
		}
	}

	p := gpt7b(t, 1).problem
	topo := decideWith(t, "delta-topo", p, milpOptions(0))
	for _, name := range []string{"delta-topo-milp", "delta-topo-milp-hotstart"} {
		d := decideWith(t, name, p, milpOptions(0))
		if d.Solver.Status != "optimal" ||
			float64(d.Solver.Makespan) > float64(topo.Makespan)*(1+1e-6) || d.Service != flow.MaxMin || float64(d.Makespan) < float64(topo.Makespan)*(1-1e-9) {
			t.Errorf("%s: %+v, simulated %v by %v, delta-topo %v", name, *d.Solver, d.Makespan, d.Service,
				topo.Makespan)
		}
	}
}

// TestHotStart checks that simulated schedules satisfy the model, which needs their times
// and the volume of each transfer in each interval, and keep their makespan in it.
func TestHotStart(t *testing.T) {
	for _, microbatches := range []int{1, 2, 4} {
		p, o := gpt7b(t, microbatches).problem, milpOptions(0)
		o.KeepPorts = true
		joint := decideWith(t, "delta-joint", p, o)
		if got, err := topology.HotStart(t.Context(), p, o, false); err != nil || !nearlyEqual(got, joint.Makespan, 1e-9) {
			t.Errorf("%d micro-batches: the hot start takes %v, want %v: %v", microbatches, got, joint.Makespan, err)
		}
	}
}

// TestFixedStep checks that the fixed-step model exceeds the optimum by at most one step
// for each transfer on the critical path.
func TestFixedStep(t *testing.T) {
	requireSolver(t)
	p := gpt7b(t, 1).problem
	joint := decideWith(t, "delta-joint", p, milpOptions(0))
	o := milpOptions(0)
	o.KeepPorts = true
	o.MILP.Model, o.MILP.Step = topology.FixedStep, 5*engine.Millisecond
	d := decideWith(t, "delta-joint-milp", p, o)
	if d.Solver.Status != "optimal" || d.Solver.Makespan < joint.Makespan ||
		d.Solver.Makespan > joint.Makespan+6*o.MILP.Step {
		t.Errorf("%+v, delta-joint %v", *d.Solver, joint.Makespan)
	}
}

// TestExport checks that models are written without a solver.
func TestExport(t *testing.T) {
	p := gpt7b(t, 2).problem
	dir := t.TempDir()
	o := milpOptions(0)
	o.MILP.Solver, o.MILP.Export = topology.NoSolver, filepath.Join(dir, "models")
	d := decideWith(t, "delta-joint-milp-hotstart", p, o)
	if d.Solver.Status != "written, not solved" || d.Stopped == "" {
		t.Errorf("%+v, stopped %q", *d.Solver, d.Stopped)
	}
	for _, pattern := range []string{"delta-joint-milp-hotstart-*.mps", "delta-joint-milp-hotstart-*.lp"} {
		if files, err := filepath.Glob(filepath.Join(dir, "models", pattern)); err != nil || len(files) != 1 {
			t.Errorf("%s: %v, %v", pattern, files, err)
		}
	}
}

// TestNoSolver checks that a missing solver is an error.
func TestNoSolver(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	available := func(name string, o topology.MILPOptions) error {
		row, err := topology.Find(name)
		if err != nil {
			return err
		}
		return row.Available(&topology.Settings{MILP: o})
	}

	if err := available("delta-joint-milp", topology.MILPOptions{}); err == nil {
		t.Error("a solver was found on an empty PATH")
	}
	if err := available("delta-joint", topology.MILPOptions{}); err != nil {
		t.Error(err)
	}
	if err := available("delta-joint-milp", topology.MILPOptions{Solver: topology.NoSolver}); err != nil {
		t.Error(err)
	}
}

// TestSolverLong is a cross-check on larger jobs, one minute each: the solver's bound,
// delta-joint and the solver's solution must be in this order.
func TestSolverLong(t *testing.T) {
	if !*longTests {
		t.Skip("takes minutes: go test ./policies/topology -run SolverLong -long -v")
	}
	requireSolver(t)
	type instance struct {
		name string
		job  *job
	}

	var all []instance
	for _, m := range []int{4, 8, 16} {
		all = append(all, instance{fmt.Sprintf("gpt-7b, %d micro-batches", m), gpt7b(t, m)})
	}
	s, per := trainingSpec(t, "megatron-177b", 4096)
	s.Microbatches = 12
	all = append(all, instance{"megatron-177b, 12 micro-batches", prepare(t, s, per, 400e9)})
	for _, in := range all {
		p := in.job.problem
		for _, kind := range []string{"joint", "topo"} {
			own := decideWith(t, "delta-"+kind, p, milpOptions(0))
			for _, start := range []string{"", "-hotstart"} {
				begin := time.Now()
				o := milpOptions(time.Minute)
				o.KeepPorts = true
				d := decideWith(t, "delta-"+kind+"-milp"+start, p, o)
				r := d.Solver
				t.Logf("| %s | %s%s | %d | %d, %d, %d | %s | %.6f | %.6f | %.6f | %.1f |", in.name,
					kind, start, r.Intervals, r.Rows, r.Columns, r.Whole,
					r.Status, r.Bound.Seconds(), own.Makespan.Seconds(), r.Makespan.Seconds(),
					time.Since(begin).Seconds())
				if float64(r.Bound) > float64(own.Makespan)*(1+1e-6) {
					t.Errorf("%s: the solver's bound %v is above delta-%s, %v", in.name, r.Bound, kind,
						own.Makespan)
				}
				if kind == "joint" && r.Makespan > 0 && float64(r.Makespan) < float64(own.Makespan)*(1-1e-6) {
					t.Errorf("%s: the solver's %v is below delta-joint, %v", in.name, r.Makespan,
						own.Makespan)
				}
				if kind == "joint" && r.Status == "optimal" && !nearlyEqual(r.Makespan, own.Makespan, 1e-6) {
					t.Errorf("%s: proved %v, delta-joint %v", in.name, r.Makespan, own.Makespan)
				}
			}
		}
	}
}
