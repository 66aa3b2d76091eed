package circuits

import (
	"context"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/topology"
	"sim/scenarios/assembly/input"
)

// TestTrialsWithNewDecision checks trials that decide a new topology after a loss. It connects
// all pods with the remaining ports. Reference: flow.Run on links that change with the trial.
// They lose circuits, then carry the circuits of both topologies from the decision on, and all
// circuits of the new one after the delay. The iteration after a trial takes as long as one on
// the new topology.
func TestTrialsWithNewDecision(t *testing.T) {
	const decision, delay = 70 * engine.Millisecond, 30 * engine.Millisecond
	for _, when := range []string{"start", "random"} {
		s := gpt7b(t, input.Trials{Count: 12, ComputeJitter: 0.1, LostCircuits: 1, LossTime: when,
			Priorities: "clairvoyant", Reaction: "redecide", DecisionTime: decision})
		s.Fabric.PortsPerPod, s.Fabric.Delay = 6, delay
		sys := buildInstance(t, s)
		r := sys.trials
		d := sys.mustDecide(t, "delta-topo")
		policy, err := topology.Find("delta-topo")
		if err != nil {
			t.Fatal(err)
		}
		x, err := r.circuitsOf(d.Circuits)
		if err != nil {
			t.Fatal(err)
		}
		c := r.newLossController(policy.Policy, s.allocatorOptions(1))
		ends, after, err := r.simulate(context.Background(), x, d.Service, c, 2)
		if err != nil {
			t.Fatal(err)
		}
		nominal := r.runFlow(t, sys.nominalDurations(), x, nil, d.Service)
		for i, seed := range r.seeds {
			remaining, lost := slices.Clone(x), drawLosses(x, 1, seed)
			remaining[lost[0].bundle]--
			redecided, err := r.redecide(context.Background(), c, remaining, lost)
			if err != nil {
				t.Fatal(err)
			}
			inUse := slices.Clone(redecided)
			inUse[lost[0].bundle]++ // the ports of the lost circuit are unusable
			for pod, used := range r.optical.Ports(inUse) {
				if used > r.optical.Pods[pod].Ports {
					t.Fatalf("new topology %v uses %d ports, want at most %d",
						redecided, used, r.optical.Pods[pod].Ports)
				}
			}

			durations := make([]engine.Time, len(r.graph.Tasks))
			if err := r.iteration.Durations(r.perturbation, seed, durations); err != nil {
				t.Fatal(err)
			}
			lossTime := engine.Time(0)
			if when == "random" {
				lossTime = engine.Time(lost[0].time * float64(nominal))
			}
			want := r.runWithChanges(t, durations, d.Service,
				[]topologyStep{{0, x}, {lossTime, remaining},
					{lossTime + decision, minCircuits(remaining, redecided)},
					{lossTime + decision + delay, redecided}})
			if ends[i] != want {
				t.Errorf("%s, trial %d: got %v, want %v as in flow.Run", when, i, ends[i], want)
			}
			if want := r.runWithChanges(t, durations, d.Service, []topologyStep{{0, redecided}}); after.ends[i] != want {
				t.Errorf("%s, iteration after trial %d: got %v, want %v as in flow.Run",
					when, i, after.ends[i], want)
			}
		}

		if after.numMoved == 0 {
			t.Errorf("%s: got no new topology in any trial", when)
		}
	}
}

// topologyStep holds the circuits, indexed by bundle, from a start time on.
type topologyStep struct {
	start    engine.Time
	circuits []int
}

// minCircuits returns the minimum of the circuits of two topologies, for each bundle.
func minCircuits(a, b []int) []int {
	x := slices.Clone(a)
	for e := range x {
		x[e] = min(x[e], b[e])
	}
	return x
}

// runWithChanges returns the makespan of the graph with given durations, by flow.Run, while the
// circuits change.
func (r *trials) runWithChanges(t *testing.T, durations []engine.Time, service flow.Service, steps []topologyStep) engine.Time {
	t.Helper()
	g := *r.graph
	g.Tasks = slices.Clone(g.Tasks)
	for i := range g.Tasks {
		if g.Tasks[i].Kind != engine.Transfer {
			g.Tasks[i].Duration = durations[i]
		}
	}

	n, err := r.optical.Provision(steps[0].circuits)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps[1:] {
		for e, b := range r.optical.Bundles {
			for _, l := range b.Links {
				n.Changes = append(n.Changes,
					engine.Change{At: s.start, Link: l,
						Rate: float64(s.circuits[e]) * r.optical.Rate(e)})
			}
		}
	}

	out, err := flow.Run(t.Context(), &g, n, r.optical.Routes, flow.Options{Service: service})
	if err != nil {
		t.Fatal(err)
	}
	return out.Makespan
}
