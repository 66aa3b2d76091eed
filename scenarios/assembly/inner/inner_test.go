package inner

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"sim/engine"
	"sim/engine/units"
	"sim/fabric/links"
	"sim/policies/collective"
	"sim/policies/reconfigure"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/assembly/input"
	"sim/scenarios/assembly/plans"
	"sim/scenarios/result"
	"sim/workloads/training"
)

// newSpec returns a training step on two stages, with tensor-parallel groups of 2
// and experts on 8 GPUs.
func newSpec(t *testing.T) training.Spec {
	t.Helper()
	a, ok := training.Model("mixtral-8x22b")
	if !ok {
		t.Fatal("model mixtral-8x22b is unknown")
	}
	return training.Spec{
		Arch: a, Sequence: 1024, Microbatch: 1, EP: 8, ETP: 1, Chunks: 1, TP: 2, PP: 2,
		GPUs: 16, Microbatches: 2,
		Choices: training.Choices{
			EffectiveTFLOPS: 400, BackwardRatio: 2, AttentionFLOPs: "causal",
			RouterFLOPs:            "all-layers",
			ConcurrentMicrobatches: 1, ActivationBytes: 2, GradientBytes: 4,
			ParameterBytes:   2,
			SequenceParallel: true, Ring: "bidirectional",
		},
	}
}

// newSwitch returns a tier of GPUs behind a switch, with the given link rate and
// collective algorithm.
func newSwitch(gpus int, rate units.Rate, algorithm string) Tier {
	l := &links.Links{}
	l.Domain.GPUs, l.LinkRate, l.Queue = gpus, rate, "unbounded"
	l.BuildSwitchedDomain()
	return Tier{Keys: Keys{Kind: "electrical", Collective: algorithm}, Links: l}
}

// newScaleUp returns a tier of GPUs that reconfigures by the plans of a planner.
func newScaleUp(gpus int, rate units.Rate, planner string) Tier {
	s := &plans.Scenario{Name: "s"}
	s.Fabric.ScaleUp = input.ScaleUp{
		GPUs: gpus, Switches: 1, LinkRate: rate, Delay: engine.Microsecond,
		Reconfigure: "together", KnownInAdvance: "none",
	}
	s.Policy.During.Schedule, s.Policy.During.Base = "best", "best"
	s.Policy.Static, s.Policy.FastModel = "simulated", "together"
	keys := Keys{
		Kind: "scaleup", InnerTierKeys: reconfigure.InnerTierKeys{Planner: planner},
		Chunk: 1e4, KnownInAdvance: "none",
	}
	return Tier{Keys: keys, Plans: s}
}

// forEachCall calls visit with each call of each pass of a step.
func forEachCall(m *Machine, visit func(v int, pass training.Phase, c training.Call)) {
	for v := range m.spec.VirtualStages() {
		for _, pass := range m.spec.ContractedPasses() {
			for _, c := range m.spec.Calls(v, pass) {
				visit(v, pass, c)
			}
		}
	}
}

// TestClosedForms compares times behind a switch without latency with closed
// forms. A ring of n ranks sends n-1 parts of an all-gather or reduce-scatter one
// after the other. An all-to-all takes the time of the bytes that a GPU sends over
// each tier, in all tiers at the same time. Doubling the rate halves the time.
func TestClosedForms(t *testing.T) {
	spec := newSpec(t)
	const slow, fast = 1e11, 4e11
	for _, c := range []struct {
		tiers   []Tier
		domains []int // GPUs by tier
		rates   []float64
	}{
		{[]Tier{newSwitch(8, slow, "ring")}, []int{8}, []float64{slow}},
		{[]Tier{newSwitch(2, fast, "ring"), newSwitch(8, slow, "ring")}, []int{2, 8},
			[]float64{fast, slow}},
		{[]Tier{newSwitch(4, fast, "ring"), newSwitch(8, slow, "ring")}, []int{4, 8},
			[]float64{fast, slow}},
	} {
		for _, packet := range []units.Bytes{0, 1 << 14} {
			for faster := -1; faster < len(c.tiers); faster++ {
				m, err := newMachine(spec, c.tiers, 1, packet, faster)
				if err != nil {
					t.Fatal(err)
				}
				bytes, busy := make([]float64, len(c.tiers)), make([]float64, len(c.tiers))
				calls := map[training.CallKind]bool{}
				forEachCall(m, func(v int, pass training.Phase, k training.Call) {
					z, err := m.callResult(t.Context(), v, pass, k)
					if err != nil {
						t.Fatal(err)
					}
					calls[k.Kind] = true
					ranks := len(m.spec.Groups(k, 0, 0)[0])
					inside, sent := 0, make([]float64, len(c.tiers)) // bytes that a GPU sends over each tier
					for i, d := range c.domains {
						switch {
						case k.Kind == training.AllToAll:
							sent[i] = float64(k.Bytes) * float64(min(d, ranks)-max(1, inside))
						case ranks <= d && (i == 0 || ranks > c.domains[i-1]):
							sent[i] = float64(k.Bytes) * float64(ranks-1) / float64(ranks)
						}
						inside = min(d, ranks)
						rate := c.rates[i]
						if i == faster {
							rate *= 2
						}
						want := 8 * sent[i] / rate
						tolerance := 1e-6*want + 1e-9
						if packet > 0 { // the switch stores and forwards each packet
							tolerance = 8*float64(packet)/rate*float64(ranks) + 1e-9
						}
						if got := z.times[i].Seconds(); math.Abs(got-want) > tolerance {
							t.Errorf("%v of %d B among %d, packets of %d B, tier %d of %v: takes %v s, want %v s",
								k.Kind, k.Bytes, ranks, packet, i, c.domains, got, want)
						}
						gpus := float64(ranks * len(m.spec.Groups(k, 0, 0)))
						if k.Kind == training.AllToAll {
							gpus = float64(ranks) // of one group
						}
						if got := z.bytes[i]; math.Abs(got-sent[i]*gpus) > 1e-6*got+gpus {
							t.Errorf("%v of %d B among %d: tier %d of %v carries %v B, want %v B",
								k.Kind, k.Bytes, ranks, i, c.domains, got, sent[i]*gpus)
						}
						times := float64(m.spec.Repeats(v, pass))
						bytes[i] += z.bytes[i] * times * float64(m.spec.Replicas())
						if v%m.spec.PP == 0 { // all stages have the same compute
							busy[i] += z.times[i].Seconds() * times
						}
					}
				})
				if len(calls) < 3 {
					t.Fatalf("the step has calls of the kinds %v, want 3 kinds", calls)
				}
				gotBytes, gotBusy, err := m.TierLoads(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for i := range c.tiers {
					if math.Abs(gotBytes[i]-bytes[i]) > 1e-9*bytes[i] ||
						math.Abs(gotBusy[i].Seconds()-busy[i]) > 1e-9*busy[i] {
						t.Errorf("tier %d of %v carries %v B in %v, want %v B in %v s", i,
							c.domains, gotBytes[i], gotBusy[i], bytes[i], busy[i])
					}
				}
			}
		}
	}
}

// TestPassDelay checks that a pass is longer by the times of its calls, each of
// which is the maximum over tiers. Without a tier, it is the maximum over the
// others.
func TestPassDelay(t *testing.T) {
	spec := newSpec(t)
	m, err := New(spec, []Tier{newSwitch(2, 4e11, "ring"), newSwitch(8, 1e11, "best")},
		1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, pass := range []training.Phase{training.Forward, training.Backward} {
		for without := -1; without < 2; without++ {
			want, err := m.spec.CallTime(0, pass, func(c training.Call) (engine.Time, error) {
				z, err := m.callResult(t.Context(), 0, pass, c)
				if err != nil {
					return 0, err
				}
				times := slices.Clone(z.times)
				if without >= 0 {
					times[without] = 0
				}
				return slices.Max(times), nil
			})
			got, err2 := m.PassDelayWithout(without)(t.Context(), 0, pass)
			if err != nil || err2 != nil || got != want || without < 0 && got == 0 {
				t.Errorf("without tier %d: delay %v, want %v (%v, %v)",
					without, got,
					want, err, err2)
			}
		}
		all, err := m.PassDelay(t.Context(), 0, pass)
		none, err2 := m.PassDelayWithout(1)(t.Context(), 0, pass)
		if err != nil || err2 != nil || none >= all || none == 0 {
			t.Errorf("delay %v, want more than the %v without the outer tier", all, none)
		}
	}

	if methods := m.callMethods(t.Context()); !strings.Contains(methods,
		"tp all-gather by ring") ||
		!strings.Contains(methods, "ep all-to-all by direct and direct") {
		t.Errorf("got the methods %q", methods)
	}
}

// TestReconfiguredTier compares the all-to-alls of a tier that reconfigures with
// the closed form of its plan: one shift for each of 7 other GPUs, in whole
// chunks.
func TestReconfiguredTier(t *testing.T) {
	spec := newSpec(t)
	for faster, rate := range map[int]float64{-1: 1e11, 1: 2e11, 0: 1e11} {
		m, err := newMachine(spec, []Tier{newSwitch(2, 4e11, "ring"),
			newScaleUp(8, 1e11, "spreadout")}, 1,
			0, faster)
		if err != nil {
			t.Fatal(err)
		}
		forEachCall(m, func(v int, pass training.Phase, k training.Call) {
			if k.Kind != training.AllToAll {
				if m.JoiningTier(k) != 0 {
					t.Errorf("tier %d carries %v, want tier 0", m.JoiningTier(k), k.Kind)
				}
				return
			}
			z, err := m.callResult(t.Context(), v, pass, k)
			if err != nil {
				t.Fatal(err)
			}

			// Messages from GPU 0 to 1 use the inner tier, but those from 1 to 2
			// do not. All 7 shifts are needed.
			chunks := math.Ceil(float64(k.Bytes) / 1e4)
			want := 7*1e-6 + 7*chunks*8e4/rate
			if got := z.times[1].Seconds(); m.JoiningTier(k) != 1 ||
				math.Abs(got-want) > 1e-6*want || z.bytes[1] != 6*8*float64(k.Bytes) {
				t.Errorf("all-to-all of %d B: %v s and %v B, want %v s and %v B",
					k.Bytes, got,
					z.bytes[1], want, 6*8*float64(k.Bytes))
			}
		})
	}
}

// TestErrors checks the errors of machines whose tiers do not fit, of calls that
// an algorithm does not support, and of cancelled contexts. Systems return the
// same errors.
func TestErrors(t *testing.T) {
	spec := newSpec(t)
	broken := errors.New("broken")
	for name, of := range map[string][]Tier{
		"domains that do not fit": {newSwitch(3, 1e9, "ring"), newSwitch(8, 1e9, "ring")},
		"a domain of one":         {newSwitch(1, 1e9, "ring")},
	} {
		for faster := -1; faster < len(of); faster++ {
			if _, err := newMachine(spec, of, 1, 0, faster); err == nil {
				t.Errorf("%s: a machine is built, want an error", name)
			}
		}
		if _, err := NewSystem(t.Context(), spec, of, 1, 0, "outer", nil); err == nil {
			t.Errorf("%s: a system is built, want an error", name)
		}
	}

	unserved := 0
	for _, row := range collective.Table {
		m, err := New(spec, []Tier{newSwitch(8, 1e11, row.Name)}, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range spec.Calls(0, training.Forward) {
			_, err := m.callResult(t.Context(), 0, training.Forward, k)
			if why := m.UnservedReason(t.Context(), k); (why != nil) != (err != nil) {
				t.Errorf("%s, %v: UnservedReason returns %v, the simulation %v", row.Name, k.Kind, why, err)
			}
			if err == nil {
				continue
			}
			unserved++
			_, longer := m.PassDelay(t.Context(), 0, training.Forward)
			_, _, carried := m.TierLoads(t.Context())
			_, system := NewSystem(t.Context(), spec,
				[]Tier{newSwitch(8, 1e11, row.Name)}, 1, 0,
				"outer", nil)
			for _, err := range []error{err, longer, carried, system} {
				if !errors.Is(err, collective.ErrUnserved) {
					t.Errorf("%s, %v: error %v", row.Name, k.Kind, err)
				}
			}
		}
	}

	if unserved == 0 {
		t.Error("every algorithm supports every call, so the test shows nothing")
	}

	failing := func(composition.PassExtension) (assembly.System, error) { return nil, broken }
	tiers := []Tier{newSwitch(8, 1e11, "ring")}
	if _, err := NewSystem(t.Context(), spec, tiers, 1, 0, "outer", failing); !errors.Is(err, broken) {
		t.Errorf("got error %v, want that of the outer system", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, packet := range []units.Bytes{0, 4096} {
		m, err := New(spec, []Tier{newSwitch(8, 1e11, "ring")}, 1, packet)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.PassDelay(ctx, 0, training.Forward); err == nil {
			t.Errorf("packets of %d B: got no error from a cancelled context", packet)
		}
	}

	// Domains of 2 do not join the groups of all-to-alls.
	m, err := New(spec, []Tier{newSwitch(2, 1e11, "ring")}, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range spec.Calls(0, training.Forward) {
		if joins := m.JoiningTier(k); k.Kind == training.AllToAll && joins != -1 {
			t.Errorf("domains of 2 join %d ranks in tier %d, want -1",
				len(spec.Groups(k, 0, 0)[0]), joins)
		}
	}
}

// fakeStep is a step on an outermost tier. Only the lengths of its passes matter.
type fakeStep struct {
	assembly.System
	run                *composition.Run
	failingCall, calls int // number of the simulation that fails; number of simulations
	err                error
}

// newFakeStep returns a step with one pass, which takes 10 s on links of their own
// rate, and a transfer of 77 B in 4 s. longer extends the pass by the calls of
// inner tiers.
func newFakeStep(t *testing.T, spec training.Spec, longer composition.PassExtension) *fakeStep {
	t.Helper()
	f := &fakeStep{}
	g := &engine.Graph{}
	g.AddTask(engine.Task{})
	g.AddTask(engine.Task{Kind: engine.Transfer, Dst: 1, Flows: 1, Bytes: 77})
	it := &training.Iteration{Spec: spec, Graph: g,
		Meta: []training.TaskMeta{{Phase: training.Forward},
			{Phase: training.PipelineForward}}}

	f.run = &composition.Run{Job: composition.Job{Graph: g, Step: it}, Level: "flow"}
	f.run.Ideal = &composition.IdealReference{}
	f.run.Ideal.Times.Compute = engine.Second
	f.run.SimulateMoves = func(_ context.Context, g *engine.Graph, times float64) (*engine.Trace, error) {
		if f.calls++; f.calls == f.failingCall {
			return nil, f.err
		}
		return &engine.Trace{Makespan: engine.Time(10/times*float64(engine.Second)) + g.Tasks[0].Duration}, nil
	}

	var err error
	if f.run.Base, err = longer.Lengthen(t.Context(), it); err != nil {
		t.Fatal(err)
	}
	f.run.Result = &composition.Result{Graph: g, Trace: &engine.Trace{
		Start: make([]engine.Time, 2), End: []engine.Time{1, 4 * engine.Second},
		Makespan: 10*engine.Second + g.Tasks[0].Duration,
	}}

	return f
}

// Decide returns the simulated step.
func (f *fakeStep) Decide(context.Context, string, int, float64) (*assembly.PolicyResult, error) {
	row := result.Row{
		Policy: "p", Metrics: map[string]float64{"makespan_s": 1}, Labels: map[string]string{},
	}
	return &assembly.PolicyResult{Run: f.run, Row: row}, nil
}

// TestSystem compares the metrics of tiers with closed forms: the bytes that each
// tier carries, the time by which it lengthens the step, and the step time with
// twice its rate. An error of the outermost tier is returned.
func TestSystem(t *testing.T) {
	spec := newSpec(t)
	of := []Tier{newSwitch(2, 4e9, "ring"), newSwitch(8, 1e9, "ring")}
	m, err := New(spec, of, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	bytes, busy, err := m.TierLoads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	longer := func(of *Machine, without int) float64 {
		x, err := of.PassDelayWithout(without)(t.Context(), 0, training.Forward)
		if err != nil {
			t.Fatal(err)
		}
		return x.Seconds()
	}

	broken := errors.New("broken")
	for fails := range 8 {
		f := newFakeStep(t, spec, m.PassDelay)
		f.failingCall, f.err = fails, broken
		s, err := NewSystem(t.Context(), spec, of, 1, 0, "outer",
			func(composition.PassExtension) (assembly.System, error) { return f, nil })
		if err != nil {
			t.Fatal(err)
		}
		a, err := assembly.Decide(t.Context(), s, "p", 1)
		if fails > 0 && fails <= f.calls {
			if !errors.Is(err, broken) {
				t.Errorf("simulation %d fails: got error %v, want %v", fails, err, broken)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		row := a.Row
		all := 10 + longer(m, -1)
		want := map[string]float64{"makespan_s": 1, "tier3_bytes": 77, "tier3_busy": 4 / all,
			"tier3_exposed_s": all - 1, "tier3_doubled_s": all - 5}
		for i, name := range []string{"tier1_", "tier2_"} {
			fast, err := newMachine(spec, of, 1, 0, i)
			if err != nil {
				t.Fatal(err)
			}
			want[name+"bytes"], want[name+"busy"] = bytes[i], busy[i].Seconds()/all
			want[name+"exposed_s"], want[name+"doubled_s"] = all-10-longer(m, i),
				10+longer(fast, -1)
		}
		if len(row.Metrics) != len(want) {
			t.Errorf("metrics %v, want %v", row.Metrics, want)
		}
		for name, w := range want {
			if got := row.Metrics[name]; math.Abs(got-w) > 1e-9*w {
				t.Errorf("%s is %v, want %v", name, got, w)
			}
		}
		if row.Labels["tiers"] != "electrical, electrical, outer" ||
			row.Labels["tier_calls"] == "" {
			t.Errorf("got the labels %v", row.Labels)
		}
		if f.calls != 5 {
			t.Errorf("the step is simulated %d times, want 5", f.calls)
		}
	}

	moving := newFakeStep(t, spec, m.PassDelay)
	moving.run.Level = "packet"
	s, err := NewSystem(t.Context(), spec, of, 1, 0, "outer",
		func(composition.PassExtension) (assembly.System, error) { return moving, nil })
	if err != nil {
		t.Fatal(err)
	}
	a, err := assembly.Decide(t.Context(), s, "p", 1)
	if err != nil {
		t.Fatal(err)
	}
	if row := a.Row; len(row.Metrics) != 1 || len(row.Labels) != 3 {
		t.Errorf("moving circuits: got %+v, want no metrics of tiers", row)
	}
}

// TestOverhead checks messages whose start takes much longer than the message. An
// all-to-all among 8 GPUs takes 7 starts in each tier, because the messages over
// the other tier may be started first.
func TestOverhead(t *testing.T) {
	of := []Tier{newSwitch(2, 4e11, "ring"), newSwitch(8, 1e11, "ring")}
	for i := range of {
		of[i].MessageOverhead = 10 * engine.Second
	}
	m, err := New(newSpec(t), of, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	forEachCall(m, func(v int, pass training.Phase, k training.Call) {
		z, err := m.callResult(t.Context(), v, pass, k)
		if err != nil {
			t.Fatal(err)
		}
		starts := 7.0
		if k.Kind != training.AllToAll {
			starts = 1 // a ring of 2
		}
		for i, got := range z.times {
			want := 10 * starts
			if k.Kind != training.AllToAll && i == 1 {
				want = 0
			}
			if s := got.Seconds(); s < want || s > want+1 {
				t.Errorf("%v takes %v s on tier %d, want %v starts of 10 s", k.Kind, s,
					i, starts)
			}
		}
	})
}
