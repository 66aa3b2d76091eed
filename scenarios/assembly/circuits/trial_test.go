package circuits

import (
	"context"
	"errors"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/contexttest"
	"sim/engine/flow"
	"sim/policies/topology"
	"sim/scenarios/assembly/input"
	"sim/scenarios/result"
	"sim/workloads/training"
)

// gpt7b returns the built-in scenario of that name, with a replay table for trials.
func gpt7b(t testing.TB, replay input.Trials) *Scenario {
	t.Helper()
	arch, ok := training.Model("gpt-7b")
	if !ok {
		t.Fatal("model gpt-7b does not exist")
	}
	spec := training.Spec{
		Arch: arch, Sequence: 4096, Microbatch: 1, Microbatches: 8, TP: 2, PP: 4, EP: 1, ETP: 1, GPUs: 16,
		Schedule: training.OneFOneB, Chunks: 1, ReplicaMode: "auto", Flows: "aggregated",
	}
	spec.Choices = spec.Defaults().Choices
	spec.Choices.EffectiveTFLOPS = arch.EffectiveTFLOPS
	replay.Sequence, replay.SlowReplica, replay.SlowReplicaIndex = spec.Sequence,
		max(1, replay.SlowReplica), -1
	search := topology.SearchOptions{MaxEvaluations: 20_000}
	return &Scenario{
		Seed: 1, Workload: input.Workload{WorkloadKeys: input.WorkloadKeys{Spec: spec}},
		Engine: input.Engine{Level: "flow"}, Trials: replay,
		Fabric: input.Fabric{OCSPods: input.OCSPods{GPUsPerPodPerReplica: 4, PortBandwidth: 400e9,
			PortsPerPod: 4, NICBandwidth: 400e9}},
		Policy: input.Policy{Allocation: topology.Allocation{Settings: topology.Settings{PortEvaluations: 10_000, Topo: search, Joint: search}}},
	}
}

// buildInstance builds a scenario with its trials.
func buildInstance(t testing.TB, s *Scenario) *circuitSystem {
	t.Helper()
	sys, err := New(context.Background(), s, 1)
	if err != nil {
		t.Fatal(err)
	}
	return sys.(*circuitSystem)
}

// mustDecide returns the decision of an allocator.
func (sys *circuitSystem) mustDecide(t testing.TB, policy string) *allocationResult {
	t.Helper()
	d, err := sys.allocate(context.Background(), policy, 2)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestTrialsAgainstFlow compares trials with flow.Run on a graph with the durations of the
// trial. The network lacks the lost circuits, or loses them during the run. Only circuits,
// service and durations determine a trial.
func TestTrialsAgainstFlow(t *testing.T) {
	for _, when := range []string{"start", "random"} {
		sys := buildInstance(t, gpt7b(t,
			input.Trials{Count: 40, ComputeJitter: 0.2, StageJitter: 0.1, SlowReplica: 1.1,
				LostCircuits: 3, LossTime: when, Priorities: "clairvoyant"}))
		r := sys.trials
		circuits, err := r.circuitsOf([]int{2, 2, 2}[:len(sys.optical.Bundles)])
		if err != nil {
			t.Fatal(err)
		}
		stalls := 0
		for _, service := range []flow.Service{flow.MaxMin, flow.LevelPriority, flow.TailPriority} {
			got, _, err := r.simulate(context.Background(), circuits, service, nil, 2)
			if err != nil {
				t.Fatal(err)
			}
			nominal := r.runFlow(t, sys.nominalDurations(), circuits, nil, service)
			for i, c := range got {
				d := make([]engine.Time, len(r.iteration.Graph.Tasks))
				if err := r.iteration.Durations(r.perturbation, r.seeds[i], d); err != nil {
					t.Fatal(err)
				}
				lost := drawLosses(circuits, 3, r.seeds[i])
				for k := range lost {
					if lost[k].time *= float64(nominal); when == "start" {
						lost[k].time = 0
					}
				}
				if want := r.runFlow(t, d, circuits, lost, service); c != want {
					t.Errorf("%s, %v, trial %d: got %v, want %v as in flow.Run",
						when, service, i, c, want)
				}
				if c == stalled {
					stalls++
				}
			}
		}

		if stalls == 0 || stalls == 3*len(r.seeds) {
			t.Errorf("%s: %d of %d trials stall, want some but not all", when, stalls, 3*len(r.seeds))
		}
	}
}

// nominalDurations returns the durations of tasks without perturbations.
func (sys *circuitSystem) nominalDurations() []engine.Time {
	d := make([]engine.Time, len(sys.trials.iteration.Graph.Tasks))
	for i := range d {
		d[i] = sys.trials.iteration.Graph.Tasks[i].Duration
	}
	return d
}

// runFlow returns the makespan of a trial by flow.Run, or stalled. Circuits that are lost at
// time 0 are not provisioned.
func (r *trials) runFlow(t *testing.T, d []engine.Time, circuits []int, lost []circuitLoss, service flow.Service) engine.Time {
	t.Helper()
	g := *r.iteration.Graph
	g.Tasks = slices.Clone(g.Tasks)
	for i := range d {
		g.Tasks[i].Duration = d[i]
	}
	remaining := slices.Clone(circuits)
	for _, c := range lost {
		if c.time == 0 {
			remaining[c.bundle]--
		}
	}

	n, err := r.optical.Provision(remaining)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(lost, func(a, b circuitLoss) int { return int(a.time) - int(b.time) })
	for _, c := range lost {
		if c.time == 0 {
			continue
		}
		remaining[c.bundle]--
		b := r.optical.Bundles[c.bundle]
		for _, l := range b.Links {
			n.Changes = append(n.Changes,
				engine.Change{At: engine.Time(c.time), Link: l,
					Rate: float64(remaining[c.bundle]) * r.optical.Rate(c.bundle)})
		}
	}

	trace, err := flow.Run(t.Context(), &g, n, r.optical.Routes, flow.Options{Service: service})
	switch {
	case errors.Is(err, flow.ErrStalled):
		return stalled
	case err != nil:
		t.Fatal(err)
	}

	return trace.Makespan
}

// TestPriorities checks that nominal priorities follow the nominal durations, and clairvoyant
// priorities the durations of the trial. Fixed priorities by the rank of the nominal tails have
// the same effect as TailPriority with these tails.
func TestPriorities(t *testing.T) {
	s := gpt7b(t, input.Trials{Count: 30, ComputeJitter: 0.5, Priorities: "nominal"})
	w := &s.Workload
	w.Sequence, s.Trials.Sequence, w.Schedule, w.Chunks = 1024, 1024, training.Interleaved, 4
	sys := buildInstance(t, s)
	r := sys.trials
	circuits, err := r.circuitsOf(sys.mustDecide(t, "iter-halve").Circuits)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := r.simulate(context.Background(), circuits, flow.TailPriority, nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	e := r.circuitEvaluator.Clone()
	r.setCircuits(e, circuits)
	tail := e.Spans().Tail
	sorted := slices.Compact(slices.Sorted(slices.Values(tail)))
	ranked := *r.iteration
	g := *r.iteration.Graph
	g.Tasks = slices.Clone(g.Tasks)
	for i := range g.Tasks {
		rank, _ := slices.BinarySearch(sorted, tail[i])
		g.Tasks[i].Priority = int64(rank)
	}
	ranked.Graph = &g
	changed := *sys
	changed.iteration, changed.graph, changed.optical = &ranked, &g, r.optical
	byRank := &trials{planSystem: sys, circuitSystem: &changed}
	sys.scenario.Trials.Priorities = "clairvoyant"
	clairvoyant, _, err := r.simulate(context.Background(), circuits, flow.TailPriority, nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	differ := 0
	for i, c := range got {
		d := make([]engine.Time, len(g.Tasks))
		if err := r.iteration.Durations(r.perturbation, r.seeds[i], d); err != nil {
			t.Fatal(err)
		}
		if want := byRank.runFlow(t, d, circuits, nil, flow.FixedPriority); c != want {
			t.Errorf("trial %d: got %v, want %v as with fixed priorities by rank", i, c, want)
		}
		if want := r.runFlow(t, d, circuits, nil, flow.TailPriority); clairvoyant[i] != want {
			t.Errorf("trial %d, clairvoyant: got %v, want %v as in flow.Run", i, clairvoyant[i], want)
		}
		if c != clairvoyant[i] {
			differ++
		}
	}

	if differ == 0 {
		t.Error("got equal makespans with nominal and clairvoyant priorities in all trials, want " +
			"some different ones")
	}
}

// TestStalledTrials checks trials in which a bundle loses its last circuit. They stall, are
// counted and have no samples. Samples then have the numbers of the other trials.
func TestStalledTrials(t *testing.T) {
	const trialCount = 60
	sys := buildInstance(t, gpt7b(t,
		input.Trials{Count: trialCount, LostCircuits: 2, LossTime: "start", Priorities: "nominal"}))
	d := sys.mustDecide(t, "delta-joint")
	x, err := sys.trials.circuitsOf(d.Circuits)
	if err != nil {
		t.Fatal(err)
	}
	var ended []float64
	for i := range trialCount {
		remaining, disconnected := slices.Clone(x), false
		for _, c := range drawLosses(x, 2, sys.trials.seeds[i]) {
			remaining[c.bundle]--
			disconnected = disconnected || remaining[c.bundle] == 0
		}
		if !disconnected {
			ended = append(ended, float64(i))
		}
	}

	if m := d.Row.Metrics; m["trial_count"] != trialCount ||
		m["trial_stalls"] != float64(trialCount-len(ended)) || len(ended) == trialCount ||
		len(ended) == 0 {
		t.Errorf("%v of %v trials stall, want %d",
			m["trial_stalls"], m["trial_count"], trialCount-len(ended))
	}

	if s := d.Row.Samples; !slices.Equal(s["play"], ended) || len(s["nct"]) != len(ended) ||
		len(s["makespan_s"]) != len(ended) {
		t.Errorf("got trials %v, %d NCTs and %d makespans, want trials %v",
			s["play"], len(s["nct"]), len(s["makespan_s"]), ended)
	}

	provisioned := countCircuits(x)
	all := buildInstance(t, gpt7b(t,
		input.Trials{Count: 3, LostCircuits: provisioned, LossTime: "start",
			Priorities: "nominal"})).mustDecide(t, "delta-joint").Row
	if all.Metrics["trial_stalls"] != 3 || all.Samples != nil || all.Labels["trial_nct_mean"] == "" {
		t.Errorf("all circuits lost: got %v, samples %v and labels %v, want 3 stalled trials "+
			"with a reason", all.Metrics, all.Samples, all.Labels)
	}
}

// TestTrialsAreCancelled checks that a cancelled context ends trials without metrics, and that
// they can be repeated afterwards.
func TestTrialsAreCancelled(t *testing.T) {
	sys := buildInstance(t, gpt7b(t, input.Trials{Count: 20, ComputeJitter: 0.1, Priorities: "nominal"}))
	withoutTrials := buildInstance(t, gpt7b(t, input.Trials{}))
	d := withoutTrials.mustDecide(t, "iter-halve")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	row := result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}
	if _, err := sys.trials.measure(ctx, d.Decision, nil, &row, 2); err != context.Canceled ||
		len(row.Metrics) > 0 {
		t.Errorf("got %v and %v, want %v", err, row.Metrics, context.Canceled)
	}
	if _, err := sys.trials.measure(context.Background(), d.Decision, nil, &row, 2); err != nil ||
		len(row.Samples["nct"]) != 20 {
		t.Errorf("repeated: got error %v and %d trials, want 20 trials", err, len(row.Samples["nct"]))
	}
}

// TestAllocateEndsWithContext cancels the context of an allocation at every check. At either level
// the result is the error of the context.
func TestAllocateEndsWithContext(t *testing.T) {
	for _, level := range []string{"flow", "packet"} {
		s := gpt7b(t, input.Trials{})
		s.Engine.Level, s.Workload.Packet = level, 1e6
		s.Workload.Microbatches = 2
		sys := buildInstance(t, s)
		sys.mustDecide(t, "prop-alloc") // later calls use its bounds, so all make the same checks
		whole := contexttest.After(t.Context(), 0)
		if _, err := sys.allocate(whole, "prop-alloc", 1); err != nil {
			t.Fatal(err)
		}
		for n := int64(1); n <= whole.Asked(); n++ {
			if d, err := sys.allocate(contexttest.After(t.Context(), n), "prop-alloc", 1); d != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("level %s, cancelled at check %d of %d: got %v, want no decision and %v", level, n, whole.Asked(), err, context.Canceled)
			}
		}
	}
}
