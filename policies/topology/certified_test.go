package topology_test

import (
	"context"
	"slices"
	"testing"

	"sim/engine"
	"sim/policies/topology"
)

// prototypeNCT lists the NCTs of delta-joint computed by an independent prototype, in
// percent above 1.
var prototypeNCT = map[string]float64{
	"megatron-177b/400G/4096": 9.3, "mixtral-8x22b/400G/4096": 45.7, "megatron-462b/400G/4096": 0,
	"deepseek-671b/400G/4096":  23.4,
	"megatron-177b/1600G/4096": 1.9, "mixtral-8x22b/1600G/4096": 11.8, "megatron-462b/1600G/4096": 0,
	"deepseek-671b/1600G/4096": 0,
	"megatron-177b/400G/2048":  12.1, "mixtral-8x22b/400G/2048": 44.3, "megatron-462b/400G/2048": 2.5,
	"deepseek-671b/400G/2048":  26.1,
	"megatron-177b/400G/16384": 3.9, "mixtral-8x22b/400G/16384": 29.2, "megatron-462b/400G/16384": 0,
	"deepseek-671b/400G/16384": 0,
}

// defaultOptions returns the default budgets of the searches.
func defaultOptions() topology.Options {
	return topology.Options{
		Seed: 1, Workers: 2,
		Settings: topology.Settings{
			Topo:  topology.SearchOptions{MaxEvaluations: 20000},
			Joint: topology.SearchOptions{MaxEvaluations: 20000},
			Fast:  topology.FastDefaults(),
		},
	}
}

// choose returns the decision of the named allocator. It checks that the topology fits
// the ports and that the makespan is not below the bound.
func choose(t testing.TB, j *job, name string, o topology.Options) *topology.Decision {
	t.Helper()
	p, err := topology.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Choose(context.Background(), j.problem, o)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !j.problem.Feasible(d.Circuits) {
		t.Fatalf("%s: %v overruns the ports", name, d.Circuits)
	}
	if d.Makespan < d.Bound {
		t.Fatalf("%s: makespan %v below its bound %v", name, d.Makespan, d.Bound)
	}
	return d
}

// roundingSlack returns the time that rounding to ticks may add to an iteration.
func roundingSlack(j *job) engine.Time { return engine.Time(len(j.problem.Graph.Tasks)) }

// slowSettings take longest. The scenarios megatron462b, delta-fig6 and delta-fig8 in
// scenarios/baselines check their proofs.
var slowSettings = []string{
	"megatron-462b/200G/4096", "megatron-462b/400G/4096", "megatron-462b/400G/2048",
	"deepseek-671b/800G/4096", "deepseek-671b/1600G/4096", "deepseek-671b/400G/8192",
}

// TestCertified checks all 28 settings of the paper's Figs. 6 and 8 (without -long, all
// except slowSettings). The optima of delta-joint and delta-topo must be proved, in the
// order ideal <= joint <= fair, and no worse than the baselines. delta-joint must agree
// with prototypeNCT.
func TestCertified(t *testing.T) {
	for _, s := range settings() {
		if slices.Contains(slowSettings, s.String()) && !*longTests {
			continue
		}
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			j := s.job(t)
			o := defaultOptions()
			o.KeepPorts = !*longTests // TestPortsProved covers ports
			joint := choose(t, j, "delta-joint", o)
			if gap, ok := joint.Gap(); !ok || gap > 1e-6 {
				t.Errorf("delta-joint is not certified: gap %g", gap)
			}
			if want, ok := prototypeNCT[s.String()]; ok {
				if off := j.nct(joint.Makespan) - 1 - want/100; off > 0.005 || off < -0.005 {
					t.Errorf("delta-joint has NCT %.4f, want %.4f", j.nct(joint.Makespan), 1+want/100)
				}
			}
			fair := choose(t, j, "delta-topo", o)
			if gap, ok := fair.Gap(); !ok || gap > 1e-6 {
				t.Errorf("delta-topo is not certified: gap %g %s", gap, fair.Stopped)
			}
			if joint.Makespan < j.ideal-roundingSlack(j) || fair.Makespan < joint.Makespan-roundingSlack(j) {
				t.Errorf("ideal %v, joint %v, topo %v: want them in this order", j.ideal,
					joint.Makespan, fair.Makespan)
			}
			for _, name := range []string{"uniform", "prop-alloc", "sqrt-alloc", "iter-halve"} {
				if d := choose(t, j, name, o); d.Makespan < fair.Makespan-roundingSlack(j) {
					t.Errorf("%s %v beats delta-topo %v", name, d.Makespan, fair.Makespan)
				}
			}
		})
	}
}
