package composition

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/packet"
	"sim/scenarios/result"
	"sim/workloads/training"
)

// newLine returns a line network: nodes with links of 8 Gb/s from each to the next. It
// also returns one flow per link, and the paths of the flows.
func newLine(nodes int32, latency engine.Time) (*engine.Network, []engine.Flow, *engine.Paths) {
	n := &engine.Network{Nodes: nodes}
	paths := &engine.Paths{Degree: 1, Link: slices.Repeat([]int32{-1}, int(nodes))}
	var flows []engine.Flow
	for i := range nodes - 1 {
		paths.Link[i] = i
		n.Links = append(n.Links, engine.Link{From: i, To: i + 1, Rate: 8e9, Latency: latency, Channels: 1})
		flows = append(flows, engine.Flow{Src: i, Dst: i + 1})
		paths.Class = append(paths.Class, 0)
	}
	paths.Add(engine.MakeStep(0, 0))
	return n, flows, paths
}

// newChain returns a chain of dependent transfers of 1,000 B, one over each link of a
// line.
func newChain(t *testing.T, links int32) *engine.Graph {
	t.Helper()
	g := &engine.Graph{}
	for i := range links {
		g.AddTask(engine.Task{Kind: engine.Transfer, Src: i, Dst: i + 1, Flows: 1, Bytes: 1000})
		if i > 0 {
			g.AddEdge(i-1, i, 0)
		}
	}
	if err := g.Freeze(); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestSimulate simulates a chain of three transfers at both levels. Each transfer takes 1
// µs and has a latency of 100 ns. The end must equal the sum of these times, also for
// variants of the job and of the link rates, and a cancelled context must be reported.
func TestSimulate(t *testing.T) {
	const latency, each = 100 * engine.Nanosecond, engine.Microsecond
	n, flows, paths := newLine(4, latency)
	j := &Job{Graph: newChain(t, 3)}
	d := NewPathDecision(n, flows, paths, 1000, packet.Options{})
	d.ArrivalDelays = func(g *engine.Graph) []engine.Time {
		delays := make([]engine.Time, len(g.Tasks))
		for i := range delays {
			if g.Tasks[i].Kind == engine.Transfer {
				delays[i] = latency
			}
		}
		return delays
	}
	for _, level := range []string{"flow", "packet"} {
		for _, c := range []struct {
			name string
			j    *Job
			d    *Decision
			want engine.Time
		}{
			{"as they are", j, d, 3 * (each + latency)},
			{"without the second", j.WithoutTransfers(func(task int32) bool { return task == 1 }), d, 2 * (each + latency)},
			{"on faster links", j, d.ScaleRates(2, nil), 3 * (each/2 + latency)},
			{"on one faster link", j, d.ScaleRates(4, func(r int32) bool { return r == 2 }), 2*each + each/4 + 3*latency},
		} {
			r, err := Simulate(t.Context(), level, c.j, c.d)
			if err != nil {
				t.Fatal(err)
			}
			if got, ended := r.End(); !ended || got < c.want-4 || got > c.want+4 {
				t.Errorf("at level %s, %s, the transfers end at %v (%v), want %v", level, c.name, got, ended, c.want)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, level := range []string{"flow", "packet"} {
		if _, err := Simulate(ctx, level, j, d); !errors.Is(err, context.Canceled) {
			t.Errorf("level %s returns %v after the context has ended", level, err)
		}
	}
}

// TestCutOff checks that simulations that are cut off or lose packets have no end.
func TestCutOff(t *testing.T) {
	n, flows, paths := newLine(4, 0)
	j := &Job{Graph: newChain(t, 3)}
	r, err := Simulate(t.Context(), "packet", j, NewPathDecision(n, flows, paths, 1000, packet.Options{Until: 1500 * engine.Nanosecond}))
	if err != nil {
		t.Fatal(err)
	}
	if end, ended := r.End(); ended || r.Trace != nil {
		t.Errorf("cut off at 1.5 µs of 3 µs, it ends at %v", end)
	}
	if _, ended := (&Result{Stats: &packet.Stats{Injected: 2, Dropped: 1, Delivered: 1}}).End(); ended {
		t.Error("packets that lose one end")
	}
}

// TestDelayed checks that Job.WithArrivalDelays replaces the default delays, also for a
// job without some of its transfers. The expected ends are sums of transfer times and
// delays.
func TestDelayed(t *testing.T) {
	n, flows, paths := newLine(3, 0)
	g := newChain(t, 2)
	j := &Job{Graph: g, WithArrivalDelays: func(delays []engine.Time) (*engine.Graph, error) {
		return DelayArrivals(g, []engine.Time{5 * delays[0], 0})
	}}
	d := NewPathDecision(n, flows, paths, 1000, packet.Options{})
	d.ArrivalDelays = func(*engine.Graph) []engine.Time { return []engine.Time{engine.Microsecond, 0} }
	for _, c := range []struct {
		j    *Job
		want engine.Time
	}{{j, 7 * engine.Microsecond}, {j.WithoutTransfers(func(task int32) bool { return task == 1 }), 6 * engine.Microsecond}} {
		r, err := Simulate(t.Context(), "flow", c.j, d)
		if err != nil {
			t.Fatal(err)
		}
		if end, _ := r.End(); end != c.want {
			t.Errorf("it ends at %v, want %v", end, c.want)
		}
	}
}

// TestByTier measures the tiers of a chain of three transfers of 1 µs each. The first
// link is one tier, the other links are another. The expected metrics follow from the
// transfer times.
func TestByTier(t *testing.T) {
	n, flows, paths := newLine(4, 0)
	for _, level := range []string{"flow", "packet"} {
		r := &Run{Job: Job{Graph: newChain(t, 3)}, Decision: *NewPathDecision(n, flows, paths, 1000, packet.Options{}), Level: level}
		r.Tiers, r.TierOf = []string{"a", "b"}, func(resource int32) int { return int(min(1, resource)) }
		var err error
		if r.Result, err = Simulate(t.Context(), level, &r.Job, &r.Decision); err != nil {
			t.Fatal(err)
		}
		r.End, _ = r.Result.End()
		row := &result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}
		if err := MeasureTiers(t.Context(), r, row); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]float64{
			"tier1_bytes": 1000, "tier2_bytes": 2000, "tier1_busy": 1. / 3, "tier2_busy": 2. / 3,
			"tier1_exposed_s": 1e-6, "tier2_exposed_s": 2e-6, "tier1_doubled_s": 2.5e-6, "tier2_doubled_s": 2e-6,
		} {
			if got := row.Metrics[name]; math.Abs(got-want) > 1e-4*want {
				t.Errorf("at level %s %s is %v, want %v", level, name, got, want)
			}
		}
		if row.Labels["tiers"] != "a, b" {
			t.Errorf("tiers %q", row.Labels["tiers"])
		}
	}
}

// TestExposed checks that calls expose the time by which the step is shorter without
// them, and that nothing is measured if circuits move.
func TestExposed(t *testing.T) {
	n, flows, paths := newLine(4, 0)
	r := &Run{Job: Job{Graph: newChain(t, 3)}, Decision: *NewPathDecision(n, flows, paths, 1000, packet.Options{}), Level: "flow", End: 3 * engine.Microsecond}
	r.Step = &training.Iteration{Graph: r.Graph, Meta: []training.TaskMeta{{Phase: training.Tensor, InCall: true}, {Phase: training.Expert, InCall: true}, {Phase: training.Tensor, InCall: true}}}
	row := &result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}
	if err := MeasureExposedCalls(t.Context(), r, row); err != nil {
		t.Fatal(err)
	}
	if m := row.Metrics; len(m) != 2 || math.Abs(m["tp_exposed_s"]-2e-6) > 1e-11 || math.Abs(m["ep_exposed_s"]-1e-6) > 1e-11 {
		t.Errorf("exposed %v, want 2 µs of tp and 1 µs of ep", m)
	}
	r.SimulateMoves = func(context.Context, *engine.Graph, float64) (*engine.Trace, error) { return nil, nil }
	row = &result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}
	if err := MeasureExposedCalls(t.Context(), r, row); err != nil || len(row.Metrics) != 0 || row.Labels["tp_exposed_s"] == "" {
		t.Errorf("moving circuits expose %v, %v (%v)", row.Metrics, row.Labels, err)
	}
}

// TestExposedTime checks that exposed times are not negative, even if a sharing rule lets
// the work end later without the time of some transfers.
func TestExposedTime(t *testing.T) {
	for _, c := range []struct {
		end, without engine.Time
		want         float64
	}{{5, 2, 3e-12}, {5, 5, 0}, {5, 7, 0}} {
		if got := ExposedTime(c.end, c.without); got != c.want {
			t.Errorf("work that ends at %v, and at %v without, is exposed for %g s, want %g", c.end, c.without, got, c.want)
		}
	}
}

// TestSources checks that packets of flows whose task is not a transfer take no time. It
// also checks that sources get the load of the bottleneck among the links with transfers.
func TestSources(t *testing.T) {
	n, flows, paths := newLine(4, 0)
	d := NewPathDecision(n, flows, paths, 1000, packet.Options{})
	d.Loads, d.ReferenceRate = []float64{1, 7, 2}, 16e9
	j := &Job{Graph: newChain(t, 3)}
	var loads []float64
	j.Sources = func(load float64) (all []packet.Source, err error) {
		loads = append(loads, load)
		for f := range int32(3) {
			all = append(all, packet.Source{First: f, End: f + 1, Bytes: 1000, Process: packet.Greedy, Order: packet.Sequential, Count: int64(1 + f)})
		}
		return all, nil
	}
	first := func(i int32) bool { return i < 2 }
	for _, c := range []struct {
		j    *Job
		d    *Decision
		want engine.Time
	}{{j, d, 3}, {j.WithoutTransfers(first), d.withoutLoads(first), 3}, {j.WithoutTransfers(func(i int32) bool { return i == 2 }), d.ScaleRates(2, first), 1}} {
		r, err := Simulate(t.Context(), "packet", c.j, c.d)
		if err != nil {
			t.Fatal(err)
		}
		if end, ended := r.End(); !ended || end != c.want*engine.Microsecond {
			t.Errorf("packets end at %v (%v), want %v µs", end, ended, int64(c.want))
		}
	}
	if want := []float64{14, 4, 7}; !slices.Equal(loads, want) {
		t.Errorf("the loads are %v, want %v", loads, want)
	}
}
