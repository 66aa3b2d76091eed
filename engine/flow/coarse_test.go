package flow_test

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
)

// perturbation is the difference between a workload and the workload whose exact run is a coarse one.
type perturbation struct {
	delay []engine.Time // delay of the start, indexed by task
	held  []float64     // bytes for which a transfer holds its rate after its end, indexed by task
}

// perturbation derives the perturbation of a coarse run from the starts, ends and rates in its trace, and
// from the rule by which computations of shares follow events.
func (in instance) perturbation(tr *engine.Trace, tolerance engine.Time) perturbation {
	n := len(in.g.Tasks)
	p := perturbation{make([]engine.Time, n), make([]float64, n)}
	type event struct {
		at   engine.Time
		kind int // 0: end, 1: start, 2: change
		task int32
	}
	var events []event
	for id := range int32(n) {
		if len(tr.Rates(id)) > 0 {
			events = append(events, event{tr.Start[id], 1, id}, event{tr.End[id], 0, id})
		}
	}
	last := engine.Time(0) // last end of a transfer, after which nothing is shared
	for _, e := range events {
		last = max(last, e.at)
	}
	for _, c := range in.n.Changes {
		if c.At <= last {
			events = append(events, event{c.At, 2, -1})
		}
	}
	slices.SortFunc(events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.kind, b.kind))
	})

	active := make([]int, in.n.Resources()) // transfers on a resource
	var waiting, holding []int32
	sharedAt, isPending := -tolerance, false
	share := func(now engine.Time) {
		for _, id := range waiting {
			p.delay[id] = now - tr.Start[id]
		}
		for _, id := range holding {
			steps := tr.Rates(id)
			rate := steps[len(steps)-2].Rate / 8 / float64(engine.Second) // in bytes per tick
			p.held[id] = rate * float64(now-tr.End[id])
		}
		waiting, holding, sharedAt, isPending = nil, nil, now, false
	}
	for len(events) > 0 {
		now, isForced := events[0].at, false
		if next := sharedAt + tolerance; isPending && next < now {
			share(next)
		}
		var ended []int32
		for len(events) > 0 && events[0].at == now {
			e := events[0]
			events = events[1:]
			if e.kind == 2 {
				isPending, isForced = true, true
				continue
			}
			for _, u := range in.r.Of(e.task) {
				if e.kind == 1 {
					active[u.Resource]++
					continue
				}
				isPending = isPending || active[u.Resource] > 1
				active[u.Resource]--
			}
			if e.kind == 1 {
				isPending, waiting = true, append(waiting, e.task)
			} else {
				ended = append(ended, e.task)
			}
		}
		if isPending { // otherwise the transfers that ended were alone
			holding = append(holding, ended...)
		}
		if isPending && (isForced || now >= sharedAt+tolerance) {
			share(now)
		}
	}
	if isPending {
		share(min(last, sharedAt+tolerance))
	}
	return p
}

// perturbed returns the instance with a compute task before each delayed start, and a transfer of the
// held bytes after each end.
func (in instance) perturbed(p perturbation) instance {
	out := instance{g: &engine.Graph{}, n: in.n, r: &engine.Routes{Start: slices.Clone(in.r.Start), Uses: slices.Clone(in.r.Uses)}}
	if in.r.FlowCap != nil {
		out.r.FlowCap = slices.Clone(in.r.FlowCap)
	}
	for _, t := range in.g.Tasks {
		out.g.AddTask(t)
	}
	add := func(t engine.Task, uses []engine.Use, limit float64) int32 {
		out.r.Uses = append(out.r.Uses, uses...)
		out.r.Start = append(out.r.Start, int32(len(out.r.Uses)))
		if in.r.FlowCap != nil {
			out.r.FlowCap = append(out.r.FlowCap, limit)
		}
		return out.g.AddTask(t)
	}
	for id := range int32(len(in.g.Tasks)) {
		start := id
		if d := p.delay[id]; d > 0 {
			start = add(engine.Task{Duration: d}, nil, 0)
			out.g.AddEdge(start, id, 0)
		}
		for _, e := range in.g.In(id) {
			out.g.AddEdge(e.From, start, e.Lag)
		}
		if p.held[id] >= 1 {
			t, limit := in.g.Tasks[id], 0.0
			if in.r.FlowCap != nil {
				limit = in.r.FlowCap[id]
			}
			t.Bytes = int64(p.held[id] + 0.5)
			out.g.AddEdge(id, add(t, in.r.Of(id), limit), 0)
		}
	}
	if err := out.g.Freeze(); err != nil {
		panic(err)
	}
	return out
}

// magnified returns the instance with sizes and rates multiplied by 2^20, so that bytes are far shorter
// than a tick.
func (in instance) magnified() instance {
	const factor = 1 << 20
	g := &engine.Graph{}
	for _, t := range in.g.Tasks {
		t.Bytes *= factor
		g.AddTask(t)
	}
	for id := range int32(len(in.g.Tasks)) {
		for _, e := range in.g.Out(id) {
			g.AddEdge(id, e.To, e.Lag)
		}
	}
	if err := g.Freeze(); err != nil {
		panic(err)
	}
	n := *in.n
	n.Links, n.Groups, n.Changes = slices.Clone(n.Links), slices.Clone(n.Groups), slices.Clone(n.Changes)
	for i := range n.Links {
		n.Links[i].Rate *= factor
	}
	for i := range n.Groups {
		n.Groups[i].Rate *= factor
	}
	for i := range n.Changes {
		n.Changes[i].Rate *= factor
	}
	r := *in.r
	r.FlowCap = slices.Clone(r.FlowCap)
	for i := range r.FlowCap {
		r.FlowCap[i] *= factor
	}
	return instance{g, &n, &r}
}

// runCoarse simulates in with a tolerance.
func (in instance) runCoarse(t testingT, tolerance engine.Time) *engine.Trace {
	t.Helper()
	tr, err := flow.Run(context.Background(), in.g, in.n, in.r, flow.Options{Rates: true, Tolerance: tolerance})
	if err != nil {
		t.Fatalf("tolerance %v: %v", tolerance, err)
	}
	return tr
}

// checkCoarse simulates in with a tolerance, derives the perturbed instance, and checks that its exact run
// has the same ends, up to rounding, and that the trace states at least its perturbation.
func (in instance) checkCoarse(t testingT, tolerance, rounding engine.Time) {
	t.Helper()
	tr := in.runCoarse(t, tolerance)
	p := in.perturbation(tr, tolerance)
	exact := in.perturbed(p).run(t, flow.MaxMin)
	for id, want := range exact.End[:len(in.g.Tasks)] {
		if d := tr.End[id] - want; d < -rounding || d > rounding {
			t.Fatalf("tolerance %v: task %d ends at %d, in the exact run of the perturbed instance at %d",
				tolerance, id, tr.End[id], want)
		}
	}

	if plain, err := flow.Run(context.Background(), in.g, in.n, in.r, flow.Options{Tolerance: tolerance}); err != nil ||
		*plain.Perturbation != *tr.Perturbation || !slices.Equal(plain.End, tr.End) {
		t.Fatalf("without rates: %v, got %+v, want %+v and the same ends", err, plain.Perturbation, tr.Perturbation)
	}
	got := tr.Perturbation
	if want := slices.Max(p.delay); got.Tolerance != tolerance || got.Delay != want || want > tolerance {
		t.Fatalf("got %+v, want delay %d and tolerance %d", got, want, tolerance)
	}
	maxRate, held, load := 0.0, make([]float64, in.n.Resources()), make([]float64, in.n.Resources())
	for id := range int32(len(in.g.Tasks)) {
		if p.held[id] > got.Bytes*(1+1e-9) {
			t.Fatalf("got %+v, but task %d holds for %g B", got, id, p.held[id])
		}
		for _, s := range tr.Rates(id) {
			maxRate = max(maxRate, s.Rate)
		}
		for _, u := range in.r.Of(id) {
			held[u.Resource] += p.held[id] * u.Weight
			load[u.Resource] += float64(in.g.Tasks[id].Bytes) * u.Weight
		}
	}
	if limit := maxRate / 8 * tolerance.Seconds() * (1 + 1e-9); got.Bytes > limit {
		t.Fatalf("got %+v, want at most %g B", got, limit)
	}
	for r := range held {
		if held[r] > got.Load*load[r]*(1+1e-9) {
			t.Fatalf("got %+v, but resource %d holds %g of %g B", got, r, held[r], load[r])
		}
	}
}

// TestCoarseRunIsExactRunOfPerturbedInstance compares coarse runs of random graphs, with changes of
// rates, limits and weights, with exact runs of the perturbed instance.
func TestCoarseRunIsExactRunOfPerturbedInstance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInstance(t, shape{tasks: 12, changes: rapid.Bool().Draw(t, "changing")}).magnified()
		tolerance := engine.Time(rapid.SampledFrom([]int64{1, 1000, 300_000, 2_000_000, 10_000_000_000}).Draw(t, "tolerance"))
		in.checkCoarse(t, tolerance, 100)
	})
}

// TestCoarseFlowSets is TestCoarseRunIsExactRunOfPerturbedInstance with many transfers, whose shares are
// updated class by class.
func TestCoarseFlowSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(38, 4))
	for range *flowSets {
		in := drawFlowSet(t, rng).magnified()
		in.checkCoarse(t, engine.Time(math.Pow(10, 5+5*rng.Float64())), 10_000)
	}
}

// TestCoarseCompletionOnOneLink checks the bound on the completion of transfers that all share one link.
// Both runs keep the link busy, except for delays, and a coarse run sends the held bits in addition.
func TestCoarseCompletionOnOneLink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := instance{
			g: &engine.Graph{}, n: &engine.Network{Nodes: 2, Links: []engine.Link{{To: 1, Rate: 100e9}}},
			r: &engine.Routes{Start: []int32{0}},
		}
		transfers := rapid.IntRange(1, 100).Draw(t, "transfers")
		for range transfers {
			start := in.g.AddTask(engine.Task{Duration: engine.Time(rapid.Int64Range(0, 1e8).Draw(t, "start"))})
			in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
			transfer := in.g.AddTask(engine.Task{
				Kind: engine.Transfer, Dst: 1, Bytes: rapid.Int64Range(1, 1e5).Draw(t, "bytes"),
				Flows: rapid.Int32Range(1, 3).Draw(t, "flows"),
			})
			in.g.AddEdge(start, transfer, 0)
			in.r.Uses = append(in.r.Uses, engine.Use{Resource: 0, Weight: 1})
			in.r.Start = append(in.r.Start, int32(len(in.r.Uses)))
		}
		if err := in.g.Freeze(); err != nil {
			t.Fatal(err)
		}

		coarse := in.runCoarse(t, engine.Time(rapid.Int64Range(1, 1e8).Draw(t, "tolerance")))
		exact, rounding := in.run(t, flow.MaxMin).Makespan, engine.Time(2*transfers)
		limit := engine.Time(float64(exact)*(1+coarse.Perturbation.Load)) + coarse.Perturbation.Delay
		if got := coarse.Makespan; got < exact-rounding || got > limit+rounding {
			t.Fatalf("completion %v with %+v, want from %v to %v", got, coarse.Perturbation, exact, limit)
		}
	})
}
