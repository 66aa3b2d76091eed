package topology_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric"
	"sim/policies/topology"
)

// TestController compares a LiveController with the planned iteration. If tasks end as
// planned and no packet is in flight, links must change as in Problem.Network. If tasks
// end later in the same order, the same steps must be made. If packets are in flight, no
// pod may use more ports than it has, counting circuits until their last packet has left
// and circuits that are being set up.
func TestController(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	tried := 0
	for range numCases(300) {
		g := drawSmallProblem(rng, 6).graph(t)
		o, err := g.pods.Connect(g.graph)
		if err != nil {
			t.Fatal(err)
		}
		p, err := topology.NewProblem(g.graph, o)
		if err != nil {
			continue
		}
		all, same := allTopologies(p), make([]int, len(o.Bundles))
		for e := range same {
			same[e] = e
		}
		for range 5 {
			p.Switching = topology.SwitchTiming{Delay: engine.Time(rng.IntN(5)*rng.IntN(5)) * millisecond / 2, StopsAll: rng.IntN(3) == 0}
			q := drawSequence(p, all, rng)
			runs, from, mean, ok := p.Steady(q, flow.MaxMin)
			if !ok {
				continue
			}
			tried++
			d := &topology.Decision{Circuits: q.First, Service: flow.MaxMin, Makespan: mean,
				Moves: &topology.Moves{Sequence: q, Runs: runs, Repeated: from}}
			it, err := p.PlanIterations(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			last := len(runs) - 1
			c, err := it.Controller(t.Context(), p, d, same, last)
			if err != nil {
				t.Fatal(err)
			}
			planned, trace := c.PlanRun()
			if planned.Makespan != runs[last].Makespan || !slices.Equal(planned.Fired, runs[last].Fired) {
				t.Fatalf("the controller's iteration is %+v, the plan's %+v", planned, runs[last])
			}
			network, err := p.Network(o, q, runs, last)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]circuitTimeline, len(o.Bundles))
			for e, b := range o.Bundles {
				want[e].add(0, int(network.Links[b.Links[0]].Rate/o.Rate(e)+0.5))
			}
			for _, change := range network.Changes {
				if change.At >= planned.Makespan { // steps at the end cause some of these
					break
				}
				for e, b := range o.Bundles {
					if n := int(change.Rate/o.Rate(e) + 0.5); b.Links[0] == change.Link &&
						n != want[e].n[len(want[e].n)-1] {
						want[e].add(change.At, n)
					}
				}
			}
			got, run := simulateController(c.Live(), o, trace,
				func(at engine.Time) engine.Time { return at }, func(int32) engine.Time { return 0 })
			for e := range want {
				if k := len(got[e].at) - 1; got[e].at[k] == planned.Makespan {
					got[e].at, got[e].n = got[e].at[:k], got[e].n[:k]
				}
				if !slices.Equal(got[e].at, want[e].at) || !slices.Equal(got[e].n, want[e].n) {
					t.Fatalf("%+v, %v: told of ends bundle %d has %+v, as planned %+v", q, p.Switching,
						e, got[e], want[e])
				}
			}
			if run.Makespan != planned.Makespan || !slices.Equal(run.Fired, planned.Fired) {
				t.Fatalf("live iteration %+v, planned %+v", run, planned)
			}

			late := func(at engine.Time) engine.Time { return at + at/3 }
			busy := func(link int32) engine.Time { return engine.Time(link%3) * millisecond / 3 }
			got, run = simulateController(c.Live(), o, trace, late, busy)
			for i, at := range planned.Fired {
				if (run.Fired[i] == engine.Never) != (at == engine.Never) {
					t.Fatalf("steps at %v if tasks end later, planned at %v", run.Fired,
						planned.Fired)
				}
			}
			if !p.Switching.StopsAll {
				checkPorts(t, p, got)
			}
		}
	}

	if tried < 150 {
		t.Errorf("only %d sequences", tried)
	}
}

// simulateController reports the ends of tasks to a controller and returns the circuits
// of each bundle over time. A task ends at late(planned end). Every link is always busy
// with a packet for busy more time; bundles lose circuits when that packet has left.
func simulateController(l *topology.LiveController, o *fabric.Optical, trace *engine.Trace, late func(engine.Time) engine.Time, busy func(link int32) engine.Time) ([]circuitTimeline, topology.Run) {
	order := make([]int32, len(trace.End))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(trace.End[a], trace.End[b]) })
	lines := make([]circuitTimeline, len(o.Bundles))
	var pending []engine.Change
	apply := func(until engine.Time) {
		for ; len(pending) > 0 && pending[0].At <= until; pending = pending[1:] {
			c := pending[0]
			for e, b := range o.Bundles {
				if b.Links[0] != c.Link {
					continue
				}
				n, at, last := int(c.Rate/o.Rate(e)+0.5), c.At, len(lines[e].n)-1
				if last >= 0 && n == lines[e].n[last] {
					continue
				}
				if last >= 0 && n < lines[e].n[last] {
					at += busy(c.Link)
				}
				lines[e].add(at, n)
				if last = len(lines[e].n) - 1; last > 0 && n == lines[e].n[last-1] { // of zero duration
					lines[e].at, lines[e].n = lines[e].at[:last], lines[e].n[:last]
				}
			}
		}
	}

	wake := engine.Never
	call := func(now engine.Time, ended []int32) {
		changes, next := l.React(now, ended, func(link int32) engine.Time { return now + busy(link) })
		if wake = next; changes != nil {
			pending = changes
		}
		apply(now)
	}

	call(0, nil)
	for len(order) > 0 {
		at, n := late(trace.End[order[0]]), 1
		for n < len(order) && trace.End[order[n]] == trace.End[order[0]] {
			n++
		}
		for wake < at {
			now := wake
			apply(now)
			call(now, nil)
		}
		apply(at)
		call(at, order[:n])
		order = order[n:]
	}

	end := late(trace.Makespan)
	apply(end)
	for wake < engine.Never { // packets are always in flight
		call(wake, nil)
	}
	return lines, l.Run(end)
}
