package topology_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/topology"
)

// TestBreakEvenIsOfTheJob checks on small random jobs that the break-even does not depend
// on the reconfiguration delay of the problem. Circuits move at delays up to the
// break-even and at no longer ones. A decision without moves gives a reason.
func TestBreakEvenIsOfTheJob(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	paid, never, contradictions := 0, 0, 0
	for jobs := 0; jobs < numCases(30); {
		g := drawSmallProblem(rng, 5).graph(t)
		o, err := g.pods.Connect(g.graph)
		if err != nil {
			t.Fatal(err)
		}
		p, err := topology.NewProblem(g.graph, o)
		if err != nil || len(o.Bundles) < 2 {
			continue
		}
		jobs++
		options := duringOptions(200)
		options.Moving.BreakEven = true
		options.Moving.Service = []string{"level-priority", "max-min"}[rng.IntN(2)]
		decide := func(delay engine.Time) *topology.Decision {
			p.Switching.Delay = delay
			d, err := chooseDuring(p, options)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		first := decide(millisecond)
		even := first.Moves.BreakEven
		if even > 0 {
			paid++
		} else {
			never++
		}
		for _, delay := range []engine.Time{0, engine.Microsecond, even / 100, even / 3, even, even + 1, even * 3 / 2, first.Moves.Static.Makespan} {
			d := decide(delay)
			if d.Moves.BreakEven != even {
				t.Errorf("job %d: the break-even is %v at a delay of %v, and %v at 1 ms", jobs,
					d.Moves.BreakEven, delay, even)
			}
			if moves := d.Moves.Moving(); moves && delay > even || !moves && delay <= even && even > 0 {
				contradictions++
				t.Errorf("job %d: circuits move: %v, at a delay of %v and a break-even of %v: %v, %s without", jobs, moves, delay, even, d.Moves.Reason, d.Moves.Static.Makespan)
			}
			if !d.Moves.Moving() && d.Moves.Reason == "" {
				t.Errorf("job %d, delay %v: no reason is given for circuits that stay", jobs, delay)
			}
		}
	}

	t.Logf("changes help in %d jobs and not in %d; %d contradictions", paid, never, contradictions)
	if paid < numCases(30)/4 || never < numCases(30)/4 {
		t.Errorf("changes help in %d jobs and not in %d, want at least a quarter each", paid, never)
	}
}

// TestNeverWorseThanTwoTopologies compares delta-during on small random jobs with an
// enumeration of all sequences of two topologies, with the change and the change back at
// any two events.
func TestNeverWorseThanTwoTopologies(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	gains := 0
	for jobs := 0; jobs < numCases(30); {
		g := drawSmallProblem(rng, 4).graph(t)
		o, err := g.pods.Connect(g.graph)
		if err != nil {
			t.Fatal(err)
		}
		p, err := topology.NewProblem(g.graph, o)
		if err != nil || len(o.Bundles) < 2 {
			continue
		}
		all := allTopologies(p)
		if len(all) > 60 {
			continue
		}
		jobs++
		options := duringOptions(100)
		options.Moving.BreakEven = rng.IntN(2) == 0
		p.Switching.Delay = []engine.Time{0, millisecond / 3, millisecond, 2 * millisecond,
			4 * millisecond}[rng.IntN(5)]
		p.Switching.StopsAll = rng.IntN(4) == 0
		d, err := chooseDuring(p, options)
		if err != nil {
			t.Fatal(err)
		}
		if d.Moves.Moving() {
			gains++
		}
		var moments []topology.Step
		for e := range o.Bundles {
			for k := range p.Transfers()[e] {
				moments = append(moments, topology.Step{Bundle: e, Count: k + 1})
			}
		}
		for _, x := range all {
			for _, y := range all {
				for _, there := range moments {
					for _, back := range append(slices.Clone(moments), topology.Step{Bundle: topology.AtEnd}) {
						there.Circuits, back.Circuits = y, x
						q := &topology.Sequence{First: x, Steps: []topology.Step{there, back}}
						if _, _, mean, ok := p.Steady(q, flow.LevelPriority); ok && mean < d.Makespan-16 {
							t.Fatalf("job %d, %+v, break-even sought %v and %v: %+v takes %v, delta-during %v", jobs, p.Switching, options.Moving.BreakEven, d.Moves.BreakEven, q, mean, d.Makespan)
						}
					}
				}
			}
		}
	}

	t.Logf("circuits move in %d jobs", gains)
}

// TestNeverWorseThanRules compares delta-during under one-hop demand with the rules
// demand-matched and mixnet-during under the same service. Pipeline shapes do not fit
// such demand, and the jobs are too large for annealing and enumeration.
func TestNeverWorseThanRules(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	gains := 0
	for jobs := 0; jobs < numCases(12); {
		m := drawMatrix(rng, 4, 6)
		p := m.problem(t)
		if len(p.Fabric.Bundles) < 3 {
			continue
		}
		jobs++
		p.Switching.Delay = []engine.Time{0, 1000, engine.Microsecond, 10 * engine.Microsecond}[rng.IntN(4)]
		options := duringOptions(40)
		options.Moving.BreakEven = rng.IntN(2) == 0
		d, err := chooseDuring(p, options)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"demand-matched", "mixnet-during"} {
			row, err := topology.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			fixed := options
			fixed.Service = "level-priority"
			r, err := row.Policy.Choose(context.Background(), p, fixed)
			// delta-during does not seek iterations that do not repeat.
			if err != nil || r.Moves.Last() >= 31 {
				continue
			}
			if r.Makespan < d.Moves.Static.Makespan {
				gains++
			}
			if d.Makespan > r.Makespan+16 {
				t.Errorf("job %d, %+v: delta-during takes %v, %s %v", jobs, p.Switching, d.Makespan,
					name, r.Makespan)
			}
			if options.Moving.BreakEven && d.Moves.Reason == "none found in 0 evaluations" {
				t.Errorf("job %d: no sequence was tried", jobs)
			}
		}
	}

	t.Logf("rules are faster than no change %d times", gains)
	if gains == 0 {
		t.Error("no rule is faster than no change")
	}
}
