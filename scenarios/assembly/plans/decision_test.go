package plans

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/units"
	"sim/policies/reconfigure"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/input"
	"sim/scenarios/result"
	"sim/workloads/training"
)

// newScenario returns a collective of the given kind on 6 GPUs with 2 switches, at
// the given level.
func newScenario(kind, level string) *Scenario {
	s := &Scenario{Name: "s.toml", Seed: 3, Engine: input.Engine{Level: level}}
	s.Workload.Kind = kind
	s.Workload.Exchange = input.Exchange{
		MeanMessage: input.MeanMessage{Message: 8e6},
		Messages:    input.Messages{Sizes: "uniform", Chunk: 2e6, Exponent: 0.8},
	}
	s.Fabric.ScaleUp = input.ScaleUp{
		GPUs: 6, Switches: 2, LinkRate: 800e9, LinkLatency: 500 * engine.Nanosecond,
		Delay: 100 * engine.Microsecond, Reconfigure: "together", KnownInAdvance: "none",
	}
	s.Policy.During.Schedule, s.Policy.During.Base, s.Policy.Plus.Others, s.Policy.Plus.Relay = "best", "best", true, true
	s.Policy.Static, s.Policy.FastModel = "simulated", "together"
	return s
}

// decide returns the row of a planner, the outcome with its description, and the
// reference metrics.
func decide(
	ctx context.Context, s *Scenario, planner string,
) (row result.Row, o *assembly.Outcome, reference map[string]float64, err error) {
	ForgetPlans()
	s.Policy.Planners = []string{planner}

	z, err := New(ctx, s, 1)
	if err != nil {
		return row, nil, nil, err
	}
	o = &assembly.Outcome{Timeline: assembly.TimelineOptions{Tasks: 1000}}
	if err := z.Begin(ctx, o); err != nil {
		return row, nil, nil, err
	}

	a, err := assembly.Decide(ctx, z, planner, 1)
	if err != nil {
		return row, nil, nil, err
	}
	a.Describe(ctx, o)
	return a.Row, o, z.Reference(), nil
}

// TestMetrics compares the metrics of plans with each other and with the closed
// forms of the model, for several collectives, sizes, levels and planners.
func TestMetrics(t *testing.T) {
	const gpus = 6
	matrix := make([][]int, gpus)
	for i := range matrix {
		matrix[i] = make([]int, gpus)
		for k := range matrix[i] {
			if i != k {
				matrix[i][k] = 1e6 * (i + 2*k)
			}
		}
	}

	// costs are the completion times of the first level. They must be the same at
	// all levels.
	type key struct{ kind, sizes, planner string }
	costs := map[key]float64{}
	for _, level := range []string{"cost", "plan", "packet", "flow"} {
		for _, c := range []struct {
			kind, sizes string
			planners    []string
		}{
			{"all-to-all", "uniform",
				[]string{"reconfigure-during", "reconfigure-during+", "fast",
					"static-ring", "bruck", "spreadout", "topoopt"}},
			{"all-to-all", "random", []string{"reconfigure-during", "mixnet"}},
			{"all-to-all", "zipf", []string{"reconfigure-during", "directconnect-kautz"}},
			{"all-to-all", "matrix", []string{"reconfigure-during", "spreadout"}},
			{"all-reduce", "uniform", []string{"reconfigure-during+", "static-ring"}},
			{"all-gather", "uniform", []string{"reconfigure-during+", "static-ring"}},
			{"reduce-scatter", "uniform", []string{"reconfigure-during+", "static-ring"}},
		} {
			for _, planner := range c.planners {
				s := newScenario(c.kind, level)
				s.Workload.Exchange.Sizes, s.Workload.Exchange.Matrix = c.sizes, matrix
				row, o, reference, err := decide(t.Context(), s, planner)
				name := fmt.Sprintf("%s of sizes %s by %s at level %s", c.kind, c.sizes,
					planner, level)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}

				m := row.Metrics
				checkEqual := func(what string, got, want float64) {
					if !(math.Abs(got-want) <= 1e-9*math.Abs(want)+2e-12) {
						t.Errorf("%s: %s is %v, want %v", name, what, got, want)
					}
				}

				// No plan is faster than the bound.
				delay, cost := s.Fabric.ScaleUp.Delay.Seconds(), m["completion_s"]
				bound := reference["bound_completion_s"]
				if !(bound > 0 && cost >= bound-1e-12) {
					t.Errorf("%s: completion %v s, bound %v s", name, cost, bound)
				}

				k := key{c.kind, c.sizes, planner}
				if costs[k] == 0 {
					costs[k] = cost
				}
				checkEqual("completion at another level", cost, costs[k])

				// A plan in slots takes its reconfigurations and its slots.
				if c.kind == "all-to-all" {
					slot := s.Domain().Slot(2e6).Seconds()
					checkEqual("slot", reference["slot_s"], slot)
					checkEqual("completion", cost, m["reconfigurations"]*delay+m["slots"]*slot)
					checkEqual("gap of completion", m["gap_completion"], cost/bound-1)

					// Every message is divided into chunks of 2 MB.
					chunks := 0.0
					sizes, err := s.sizes()
					if err != nil {
						t.Fatal(err)
					}
					for _, b := range sizes {
						chunks += math.Ceil(float64(b) / 2e6)
					}
					checkEqual("chunks", reference["chunks"], chunks)

					if m["gap"] < 0 || m["bound_slots_forward"] < m["bound_slots_relay"] ||
						m["bound_slots_relay"] <= 0 {
						t.Errorf("%s: metrics %v", name, m)
					}
				} else {
					checkEqual("gap", m["gap"], cost/bound-1)
				}

				// Synchronised packets take the cost in closed form. The other
				// simulations do not wait for slots or steps, and take at most as
				// long.
				switch level {
				case "packet":
					checkEqual("synchronised time", m["synchronised_s"], cost)
					if free := m["free_running_s"]; free > cost+1e-9 || free <= 0 {
						t.Errorf("%s: free-running time %v s, want at most the synchronised time of %v s", name, free, cost)
					}
				case "flow":
					if fluid := m["fluid_s"]; fluid > cost+1e-9 || fluid <= 0 {
						t.Errorf("%s: fluid time %v s, want at most the synchronised time of %v s", name, fluid, cost)
					}
				}

				if _, simulated := m["synchronised_s"]; simulated != (level == "packet") {
					t.Errorf("%s: metrics %v", name, m)
				}
				checkDescription(t, name, row, o, level == "cost" && c.kind == "all-to-all")
			}
		}
	}
}

// checkDescription checks the description of a plan. The schedule for figures must
// have as many topologies as the metrics say, and each transmission once.
// isUnbuilt reports that there is no built plan.
func checkDescription(t *testing.T, name string, row result.Row, o *assembly.Outcome, isUnbuilt bool) {
	t.Helper()
	if len(o.Detail.Policies) != 1 || !o.UsesPlanners {
		t.Fatalf("%s: %d simulations are described, want 1", name, len(o.Detail.Policies))
	}

	p := o.Detail.Policies[0]
	if math.Abs(p.MakespanS-row.Metrics["completion_s"]) > 1e-12 || p.Policy != row.Policy {
		t.Errorf("%s: described makespan %v s, want %v s", name, p.MakespanS, row.Metrics["completion_s"])
	}
	if isUnbuilt {
		if len(o.PlannerPlans) > 0 || p.Schedule != nil || p.Timeline.Omitted == "" {
			t.Errorf("%s: got a plan, want none", name)
		}
		return
	}

	if len(o.PlannerPlans) != 1 || p.Schedule == nil ||
		float64(p.Schedule.Reconfigurations()) != row.Metrics["reconfigurations"] {
		t.Fatalf("%s: want one schedule with %v topologies", name,
			row.Metrics["reconfigurations"])
	}
	pl := o.PlannerPlans[0]
	if pl.Steps == nil {
		sent, busy := 0, 0
		for _, f := range p.Schedule.Phases {
			sent += len(f.Sent)
			for _, n := range f.Busy {
				busy += n
			}
		}
		if sent != len(pl.Tx) || busy != len(pl.Tx) {
			t.Errorf("%s: %d transmissions are listed and %d counted, want %d", name, sent,
				busy, len(pl.Tx))
		}
	}
}

// TestScenarioKeys checks scenarios with a limit of topologies, and with switches
// that reconfigure independently.
func TestScenarioKeys(t *testing.T) {
	s := newScenario("all-to-all", "packet")
	s.Policy.Reconfigurations = 2
	row, _, _, err := decide(t.Context(), s, "reconfigure-during")
	if err != nil || row.Metrics["reconfigurations"] > 2 {
		t.Errorf("got %v topologies (%v), want at most 2", row.Metrics["reconfigurations"], err)
	}

	// Two direct shifts do not reach all of 6 GPUs. There is no plan, and the
	// diagnostic names the key with the limit.
	s.Policy.Reconfigurations = 1
	s.Policy.Planners = []string{"spreadout"}
	diagnostics, err := UnservedDiagnostics(t.Context(), s, s.Policy.Planners, 1)
	if err != nil || len(diagnostics) != 1 || diagnostics[0].Key != "policy.reconfigurations" {
		t.Errorf("got %v (%v), want one diagnostic of policy.reconfigurations", diagnostics, err)
	}

	// static-ring needs one topology only.
	planners := []string{"spreadout", "static-ring"}
	diagnostics, err = UnservedDiagnostics(t.Context(), s, planners, 1)
	if err != nil || diagnostics != nil {
		t.Errorf("got %v (%v), want none because static-ring has a plan", diagnostics, err)
	}
	allReduce := newScenario("all-reduce", "plan")
	diagnostics, err = UnservedDiagnostics(t.Context(), allReduce, []string{"static-ring"}, 1)
	if err != nil || diagnostics != nil {
		t.Errorf("all-reduce: got %v (%v), want none", diagnostics, err)
	}

	// The cost of independent switches equals their simulation.
	s = newScenario("all-to-all", "packet")
	s.Fabric.ScaleUp.Reconfigure, s.Fabric.ScaleUp.Delay = "independent",
		20*engine.Microsecond
	row, _, _, err = decide(t.Context(), s, "reconfigure-during+")
	if err != nil || row.Labels["reconfigure"] == "independent" &&
		math.Abs(row.Metrics["synchronised_s"]-row.Metrics["completion_s"]) > 1e-11 {
		t.Errorf("independent switches: %v (%v)", row, err)
	}
}

// TestInvalidScenarios checks that scenarios that no system represents, or that no
// planner can plan, return errors.
func TestInvalidScenarios(t *testing.T) {
	reading := errors.New("reading")
	for name, c := range map[string]struct {
		kind, planner string
		change        func(s *Scenario)
		want          error
	}{
		"a domain of one GPU": {"all-to-all", "spreadout",
			func(s *Scenario) { s.Fabric.ScaleUp.GPUs = 1 }, nil},
		"no rate": {"all-to-all", "spreadout",
			func(s *Scenario) { s.Fabric.ScaleUp.LinkRate = 0 }, nil},
		"no bytes in a chunk": {"all-to-all", "spreadout",
			func(s *Scenario) { s.Workload.Exchange.Chunk = 0 }, nil},
		"too many chunks": {"all-to-all", "spreadout",
			func(s *Scenario) { s.Workload.Exchange.Message, s.Workload.Exchange.Chunk = 1e15, 1 }, nil},
		"messages below 0": {"all-to-all", "spreadout",
			func(s *Scenario) { s.Workload.Exchange.Message = -1 }, nil},
		"sizes of a short matrix": {"all-to-all", "spreadout",
			func(s *Scenario) { s.Workload.Exchange.Sizes, s.Workload.Exchange.Matrix = "matrix", [][]int{{0, 1}} }, nil},
		"a file that is not there": {"all-to-all", "imported", func(s *Scenario) {
			s.Read = func(string) ([]byte, error) { return nil, reading }
		}, reading},
		"a file that has changed": {"all-to-all", "imported", func(s *Scenario) {
			s.Read = func(string) ([]byte, error) { return []byte("{}"), nil }
		}, nil},
		"a domain of one GPU that reduces": {"all-reduce", "static-ring",
			func(s *Scenario) { s.Fabric.ScaleUp.GPUs = 1 }, nil},
		"an all-reduce by FAST":       {"all-reduce", "fast", func(*Scenario) {}, nil},
		"an all-reduce by no planner": {"all-reduce", "nobody", func(*Scenario) {}, nil},
	} {
		s := newScenario(c.kind, "packet")
		c.change(s)
		if _, _, _, err := decide(t.Context(), s, c.planner); err == nil ||
			c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestCancellation cancels the context at each of many polls. Deciding must return
// the error of the context every time.
func TestCancellation(t *testing.T) {
	for _, c := range []struct{ kind, level, planner string }{
		{"all-to-all", "packet", "reconfigure-during"}, {"all-to-all", "flow", "fast"},
		{"all-to-all", "cost", "static-ring"},
		{"all-to-all", "plan", "spreadout"}, {"all-reduce", "packet", "reconfigure-during+"},
		{"all-gather", "flow", "static-ring"},
	} {
		// Count the polls of a complete decision.
		counter := &canceledContext{Context: t.Context(), maxCalls: math.MaxInt}
		s := newScenario(c.kind, c.level)
		s.Fabric.ScaleUp.GPUs = 4
		decideOnly := func(ctx context.Context) error {
			ForgetPlans()
			s.Policy.Planners = []string{c.planner}
			z, err := New(ctx, s, 1)
			if err == nil {
				_, err = z.Decide(ctx, c.planner, 1, math.Inf(1))
			}
			return assembly.ContextErrorOr(ctx, err)
		}
		if err := decideOnly(counter); err != nil {
			t.Fatal(err)
		}

		// Cancel at the first polls, and later at fewer and fewer of them.
		polls := counter.calls - 1 // the last poll is the one of ContextErrorOr
		for n := 0; n < polls; n += 1 + max(0, min(n, polls-n)/16) {
			err := decideOnly(&canceledContext{Context: t.Context(), maxCalls: n})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v: cancelled after %d of %d polls: got error %v", c, n, polls, err)
			}
		}
	}
}

// canceledContext is a context that is cancelled after maxCalls calls of Err.
type canceledContext struct {
	context.Context
	maxCalls, calls int
}

// Err counts the calls.
func (c *canceledContext) Err() error {
	c.calls++
	if c.calls > c.maxCalls {
		return context.Canceled
	}
	return nil
}

// TestTimelines checks that each transmission of a plan is on the timeline in its
// slot, after the reconfiguration of its topology and the preceding transmission
// of its chunk.
func TestTimelines(t *testing.T) {
	s := newScenario("all-to-all", "plan")
	_, o, _, err := decide(t.Context(), s, "reconfigure-during")
	if err != nil {
		t.Fatal(err)
	}
	pl, line := o.PlannerPlans[0], o.Detail.Policies[0].Timeline
	slot, delay := s.Domain().Slot(2e6).Seconds(), s.Fabric.ScaleUp.Delay.Seconds()
	if want := len(pl.Tx) + len(pl.Topologies); len(line.Tasks) != want {
		t.Fatalf("%d tasks, want %d", len(line.Tasks), want)
	}

	// starts are the expected start times by name of the task, in seconds.
	begin, starts := 0.0, map[string]float64{}
	for i := range pl.Topologies {
		starts[fmt.Sprintf("reconfiguration for topology %d", i+1)] = begin
		begin += delay
		for _, x := range pl.Tx {
			if int(x.Phase) == i {
				starts[fmt.Sprintf("chunk %d of %d to %d (slot %d of topology %d)",
					x.Chunk, x.Src,
					x.Dst, x.Slot+1, i+1)] = begin + float64(x.Slot)*slot
			}
		}
		begin += float64(pl.Slots[i]) * slot
	}

	for _, k := range line.Tasks {
		want, ok := starts[k.Name]
		if !ok || math.Abs(float64(k.Start)/float64(engine.Second)-want) > 1e-11 {
			t.Errorf("%s starts at %v s, want %v s", k.Name,
				float64(k.Start)/float64(engine.Second), want)
		}
		delete(starts, k.Name)
		if k.Transfer && k.WaitedFor < 0 {
			t.Errorf("%s depends on no task", k.Name)
		} else if k.Transfer && line.Tasks[k.WaitedFor].End > k.Start {
			t.Errorf("%s starts at %v, before the end of the task on which it depends, %s", k.Name,
				k.Start,
				line.Tasks[k.WaitedFor].Name)
		}
	}

	if len(starts) > 0 {
		t.Errorf("missing on the timeline: %v", starts)
	}
}

// TestDescription compares descriptions of scenarios with the expected text.
func TestDescription(t *testing.T) {
	for _, c := range []struct {
		change func(s *Scenario)
		want   string
	}{
		{func(*Scenario) {}, "all-to-all on 6 GPUs with 2 optical switches, links of 800Gbps, 100us to reconfigure, uniform sizes of 8MB in chunks of 2MB"},
		{func(s *Scenario) { s.Fabric.ScaleUp.Switches, s.Title = 1, "T" },
			"T: all-to-all on 6 GPUs with 1 optical switch, links of 800Gbps, 100us to reconfigure, uniform sizes of 8MB in chunks of 2MB"},
		{func(s *Scenario) { s.Workload.Exchange.Sizes = "matrix" },
			"all-to-all on 6 GPUs with 2 optical switches, links of 800Gbps, 100us to reconfigure, sizes from a matrix in chunks of 2MB"},
		{func(s *Scenario) { s.Workload.Kind = "all-gather" },
			"all-gather on 6 GPUs with 2 optical switches, links of 800Gbps, 100us to reconfigure, 8MB"},
	} {
		s := newScenario("all-to-all", "plan")
		c.change(s)
		if got := s.Description(); got != c.want {
			t.Errorf("described as %q, want %q", got, c.want)
		}
	}
}

// newStep returns a training step with the experts of each stage in one domain of
// 8 GPUs.
func newStep(t *testing.T, level string, stages, microbatches int) *Scenario {
	t.Helper()
	a, ok := training.Model("mixtral-8x22b")
	if !ok {
		t.Fatal("no such model")
	}
	s := newScenario("training", level)
	s.Workload.IsTraining = true
	s.Fabric.ScaleUp.GPUs, s.Fabric.ScaleUp.NICRate = 8, 400e9
	s.Workload.Spec = training.Spec{
		Arch: a, Sequence: 4096, Microbatch: 1, EP: 8, ETP: 1, Chunks: 1, TP: 1, PP: stages,
		GPUs: 8 * stages, Microbatches: microbatches,
		Choices: training.Choices{
			EffectiveTFLOPS: 400, BackwardRatio: 2, AttentionFLOPs: "causal",
			RouterFLOPs:            "all-layers",
			ConcurrentMicrobatches: 1, ActivationBytes: 2, GradientBytes: 4,
			ParameterBytes:   2,
			SequenceParallel: true, Ring: "bidirectional",
		},
	}

	return s
}

// TestSteps compares training steps with closed forms. On one stage nothing
// overlaps, so the step is longer by four all-to-alls for every layer of every
// micro-batch, less the hidden reconfigurations. On several stages, this is an
// upper bound, and the all-to-alls of one micro-batch are a lower bound.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		stages, microbatches    int
		planner, knownInAdvance string
		delay                   engine.Time
		reconfigures            bool // in every all-to-all
	}{
		{1, 1, "static-ring", "none", 100 * engine.Microsecond, false},
		{1, 1, "spreadout", "none", 100 * engine.Microsecond, true},
		{1, 3, "spreadout", "none", 0, true},
		{1, 2, "spreadout", "all", 10 * engine.Microsecond, true},
		{1, 2, "spreadout", "returns", 10 * engine.Microsecond, true},
		{1, 2, "static-ring", "all", 10 * engine.Microsecond, false},
		{2, 3, "spreadout", "none", 10 * engine.Microsecond, true},
	} {
		name := fmt.Sprintf("%+v", c)
		s := newStep(t, "packet", c.stages, c.microbatches)
		s.Fabric.ScaleUp.KnownInAdvance, s.Fabric.ScaleUp.Delay = c.knownInAdvance, c.delay
		row, _, reference, err := decide(t.Context(), s, c.planner)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		m := row.Metrics
		layers := 0.0
		for v := range c.stages {
			layers += s.Workload.Spec.ExpertLayers(v)
		}

		// An all-to-all takes the reconfigurations and slots of its plan. A plan
		// with one topology never reconfigures.
		each := m["all_to_all_s"]
		plan := each
		if c.reconfigures {
			plan = m["reconfigurations"]*c.delay.Seconds() + m["slots"]*reference["slot_s"]
		} else {
			plan = m["slots"] * reference["slot_s"]
		}
		if math.Abs(each-plan) > 1e-11 {
			t.Errorf("%s: an all-to-all takes %v s, want the %v s of its plan", name, each, plan)
		}
		if _, ok := m["completion_s"]; ok {
			t.Errorf("%s: got the metric completion_s for a step", name)
		}

		// The exposed time is the difference to the step without all-to-alls. On
		// one stage it is the time of all all-to-alls, less the hidden delays.
		exposed, all := m["exchange_exposed_s"], 4*each*layers*float64(c.microbatches)
		hidden := 0.0 // delays before the first topology, which are shorter than the compute
		switch {
		case !c.reconfigures:
		case c.knownInAdvance == "all":
			hidden = 4 * c.delay.Seconds() * layers * float64(c.microbatches)
		case c.knownInAdvance == "returns":
			hidden = 3 * c.delay.Seconds() * layers * float64(c.microbatches)
		}

		if math.Abs(m["makespan_s"]-reference["makespan_s"]-exposed) > 1e-11 ||
			reference["makespan_s"] <= 0 {
			t.Errorf("%s: exposed time %v s, want %v s less %v s", name, exposed,
				m["makespan_s"],
				reference["makespan_s"])
		}

		if _, knows := m["hidden_s"]; knows != (c.knownInAdvance != "none") ||
			math.Abs(m["hidden_s"]-hidden) > 1e-9 {
			t.Errorf("%s: hidden time %v s, want %v s", name, m["hidden_s"], hidden)
		}
		if want := all - hidden; c.stages == 1 && math.Abs(exposed-want) > 1e-9*want+1e-9 ||
			exposed > all+1e-9 || exposed < all/float64(c.microbatches)/float64(c.stages)-hidden-1e-9 {
			t.Errorf("%s: exposed time %v s, want %v s", name, exposed, want)
		}

		// The longest of the four all-to-alls hides nothing, unless all are known
		// in advance.
		times, err := ExchangeTimes(t.Context(), stepExchange(s),
			s.Workload.Spec.PieceLayers(0))
		if err != nil {
			t.Fatal(err)
		}
		longest := slices.Max(times[:]).Seconds()
		if longest > each+1e-11 || c.knownInAdvance == "none" && longest < each-1e-11 {
			t.Errorf("%s: exposed all-to-alls take %v, one all-to-all takes %v s", name, times, each)
		}
	}

	for change, bad := range map[string]*Scenario{"no rate": newStep(t, "plan", 1, 1), "no such NIC": newStep(t, "plan", 2, 1)} {
		if bad.Fabric.ScaleUp.NICRate = 0; change == "no rate" {
			bad.Fabric.ScaleUp.LinkRate = 0
		}
		if _, _, _, err := decide(t.Context(), bad, "spreadout"); err == nil {
			t.Errorf("a step with %s: got no error", change)
		}
	}

	noRate := stepExchange(newStep(t, "cost", 1, 1))
	noRate.Fabric.ScaleUp.LinkRate = 0
	if _, err := ExchangeTimes(t.Context(), noRate, 1); err == nil {
		t.Error("all-to-alls without a link rate: got no error")
	}
}

// stepExchange returns the scenario of the all-to-alls of a step.
func stepExchange(s *Scenario) *Scenario {
	one := *s
	one.Workload.Exchange.Message = units.Bytes(s.Workload.Spec.ExpertBytes())
	return &one
}

// TestUnservedDiagnostic checks the key that the diagnostic of a planner without a
// plan names, and the reason why a scenario has no plans to export.
func TestUnservedDiagnostic(t *testing.T) {
	for _, c := range []struct {
		planner          string
		reconfigurations int
		want             string
	}{{"fast", 0, "policy.planners"}, {"fast", 1, "policy.reconfigurations"}, {"imported", 1, "policy.imported.file"}} {
		s := newScenario("all-to-all", "cost")
		s.Policy.Reconfigurations = c.reconfigurations
		d := (&exchangeSystem{s: s}).unservedDiagnostic(c.planner,
			fmt.Errorf("%w: why", reconfigure.ErrUnserved))
		if d.Key != c.want || d.File != s.Name || d.Problem != c.planner+" has no plan: why" {
			t.Errorf("%+v: %+v", c, d)
		}
	}

	for _, c := range []struct {
		kind, level, static string
		planners            []string
		hasNoPlan           bool
	}{
		{"all-reduce", "cost", "fluid", []string{"static-ring"}, false},
		{"all-to-all", "cost", "simulated", []string{"fast"}, true},
		{"all-to-all", "plan", "simulated", []string{"static-ring"}, false},
		{"all-to-all", "plan", "fluid", []string{"static-ring"}, true},
		{"all-to-all", "plan", "paths", []string{"static-ring"}, true},
		{"all-to-all", "plan", "fluid", []string{"static-ring", "fast"}, false},
	} {
		s := newScenario(c.kind, c.level)
		s.Policy.Static, s.Policy.Planners = c.static, c.planners
		if got := s.MissingPlanReason(); (got != "") != c.hasNoPlan {
			t.Errorf("%+v: got reason %q", c, got)
		}
	}
}
