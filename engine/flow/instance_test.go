package flow_test

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
)

// services lists all services.
var services = []flow.Service{flow.MaxMin, flow.LevelPriority, flow.TailPriority, flow.FixedPriority}

// instance is a graph, a network and routes that belong together.
type instance struct {
	g *engine.Graph
	n *engine.Network
	r *engine.Routes
}

// shape limits the instances that drawInstance draws.
type shape struct { // maximum number
	tasks   int
	changes bool // links change their rates during the run; the last rates are above zero
	plain   bool // transfers only, all with bytes and uses
	dyadic  bool // weights are sums of powers of two, so that their sums are exact
}

// drawInstance draws a random graph and network. Sizes and rates are drawn from a few values, so
// that equal ends, equal levels and exact shares are frequent.
func drawInstance(t *rapid.T, s shape) instance {
	links, groups := rapid.IntRange(1, 4).Draw(t, "links"), rapid.IntRange(0, 3).Draw(t, "groups")
	rate := rapid.SampledFrom([]float64{100e9, 200e9, 300e9, 400e9, 800e9, 700e9})
	weights := []float64{1, 1, 1, 0.5, 0.125, 2, 1. / 3}
	if s.dyadic {
		weights = weights[:6]
	}
	weight := rapid.SampledFrom(weights)
	in := instance{g: &engine.Graph{}, n: &engine.Network{Nodes: 2}, r: &engine.Routes{Start: []int32{0}}}
	for range links {
		in.n.Links = append(in.n.Links, engine.Link{To: 1, Rate: rate.Draw(t, "link")})
	}
	for range groups {
		in.n.Groups = append(in.n.Groups, engine.Group{Rate: rate.Draw(t, "group")})
	}
	tasks := rapid.IntRange(1, s.tasks).Draw(t, "tasks")
	for i := range tasks {
		var k engine.Task
		limit := 0.0
		if !s.plain && rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
			k.Duration = engine.Time(rapid.Int64Range(0, 3).Draw(t, "duration") * 1000_000)
		} else {
			k = engine.Task{
				Kind: engine.Transfer, Dst: 1,
				Flows:    rapid.Int32Range(1, 8).Draw(t, "flows"),
				Bytes:    rapid.SampledFrom([]int64{50_000, 100_000, 150_000, 1_000_003, 123_456_789}).Draw(t, "bytes"),
				Priority: rapid.Int64Range(-1, 2).Draw(t, "priority"),
			}
			minUses := 1
			if !s.plain {
				minUses = 0
				if rapid.IntRange(0, 9).Draw(t, "empty") == 0 {
					k.Bytes = 0
				}
			}
			order := rapid.Permutation(resources(in.n)).Draw(t, "resources")
			for _, res := range order[:rapid.IntRange(minUses, min(3, len(order))).Draw(t, "uses")] {
				in.r.Uses = append(in.r.Uses, engine.Use{Resource: res, Weight: weight.Draw(t, "use")})
			}
			if rapid.IntRange(0, 2).Draw(t, "capped") == 0 {
				limit = rate.Draw(t, "cap") / 4
			}
		}
		in.g.AddTask(k)
		in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
		in.r.FlowCap = append(in.r.FlowCap, limit)
		for j := range i {
			if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
				in.g.AddEdge(int32(j), int32(i), engine.Time(rapid.Int64Range(0, 3).Draw(t, "lag")*500_000))
			}
		}
	}
	if s.changes {
		now := engine.Time(0)
		for range rapid.IntRange(0, 6).Draw(t, "changes") {
			now += engine.Time(rapid.Int64Range(0, 3).Draw(t, "after") * 700_000)
			c := engine.Change{At: now, Link: rapid.Int32Range(0, int32(links-1)).Draw(t, "which")}
			if rapid.Bool().Draw(t, "up") {
				c.Rate = rate.Draw(t, "rate")
			}
			in.n.Changes = append(in.n.Changes, c)
		}
		for l := range int32(links) {
			in.n.Changes = append(in.n.Changes, engine.Change{At: now + 1, Link: l, Rate: rate.Draw(t, "last")})
		}
	}
	if err := in.g.Freeze(); err != nil {
		t.Fatal(err)
	}
	return in
}

func resources(n *engine.Network) []int32 {
	all := make([]int32, n.Resources())
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// testingT is the common interface of *testing.T and *rapid.T.
type testingT interface {
	Helper()
	Fatalf(format string, args ...any)
}

func (in instance) run(t testingT, s flow.Service) *engine.Trace {
	t.Helper()
	tr, err := flow.Run(context.Background(), in.g, in.n, in.r, flow.Options{Service: s, Rates: true})
	if err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	return tr
}

func (in instance) evaluator(t testingT, s flow.Service) *flow.Evaluator {
	t.Helper()
	e, err := flow.NewEvaluator(in.g, in.n, in.r, s)
	if err != nil {
		t.Fatalf("%v: %v", s, err)
	}
	return e
}

// perTick converts bits per second to bits per tick.
const perTick = 1 / float64(engine.Second)

// fullRate returns the maximum rate of task id in bits per tick, with each resource at its
// highest rate ever.
func (in instance) fullRate(id int32) float64 {
	limit := in.r.Cap(id, in.g.Tasks[id].Flows) * perTick
	for _, u := range in.r.Of(id) {
		limit = min(limit, in.maxRate(u.Resource)*perTick/u.Weight)
	}
	return limit
}

func (in instance) maxRate(r int32) float64 {
	rate := in.n.Rate(r)
	for _, c := range in.n.Changes {
		if c.Link == r {
			rate = max(rate, c.Rate)
		}
	}
	return rate
}

// durationAlone returns the duration of task id in ticks on an otherwise empty network.
func (in instance) durationAlone(id int32) float64 {
	t := &in.g.Tasks[id]
	if t.Kind == engine.Compute {
		return float64(t.Duration)
	}
	if t.Bytes == 0 {
		return 0
	}
	return 8 * float64(t.Bytes) / in.fullRate(id)
}

// tails returns the longest path from each task's end to the end of the graph, in ticks.
func (in instance) tails() []float64 {
	tail := make([]float64, len(in.g.Tasks))
	for i := len(tail) - 1; i >= 0; i-- { // edges lead from lower to higher ids
		for _, e := range in.g.Out(int32(i)) {
			tail[i] = max(tail[i], float64(e.Lag)+(in.durationAlone(e.To)+tail[e.To]))
		}
	}
	return tail
}

// twoTransfers returns an instance of two transfers of the given sizes on one link.
func twoTransfers(rate float64, a, b int64) instance {
	in := instance{g: &engine.Graph{}, n: &engine.Network{Links: []engine.Link{{Rate: rate}}}, r: &engine.Routes{Start: []int32{0, 1, 2}}}
	for _, bytes := range []int64{a, b} {
		in.g.AddTask(engine.Task{Kind: engine.Transfer, Flows: 1, Bytes: bytes})
		in.r.Uses = append(in.r.Uses, engine.Use{Resource: 0, Weight: 1})
	}
	if err := in.g.Freeze(); err != nil {
		panic(err)
	}
	return in
}

func name(s flow.Service) string { return fmt.Sprint(s) }

// eachService runs f as a subtest for every service.
func eachService(t *testing.T, f func(t *testing.T, s flow.Service)) {
	for _, s := range services {
		t.Run(name(s), func(t *testing.T) { f(t, s) })
	}
}
