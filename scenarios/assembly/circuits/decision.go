// This file calls one allocator, simulates its decision on the complete DAG and measures
// it. It maps results between the inter-pod DAG, on which allocators decide, and the
// complete DAG, which is simulated.

package circuits

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
)

// allHaveTimeLimits reports whether every allocator of s has a time limit. Such
// allocators compute the shared bound within their limit.
func (s *Scenario) allHaveTimeLimits() bool {
	return !slices.ContainsFunc(s.Policy.Allocators, func(name string) bool {
		row, err := topology.Find(name)
		return err != nil || !row.HasTimeLimit(&s.Policy.Allocation.Settings)
	})
}

// allocatorOptions returns the options of the allocators.
func (s *Scenario) allocatorOptions(workers int) topology.Options {
	return topology.Options{
		Settings: s.Policy.Allocation.Settings,
		Seed:     s.Seed,
		Workers:  workers,
	}
}

// allocationResult is the decision of one allocator, with its simulation on the complete
// DAG and its metrics.
type allocationResult struct {
	*topology.Decision
	system     *circuitSystem
	fluidTrace *engine.Trace // trace at level flow
	// packetSlack is an upper bound on the lateness of packets: how much later than at
	// level flow the work may end at level packet. It is 0 if no bound is known.
	packetSlack engine.Time
	// packetMoves holds Moves with the times at which circuits moved at level packet; nil
	// at level flow, or if no circuit moves.
	packetMoves *topology.Moves
	assembly.PolicyResult
}

// describe adds the trace, the circuit moves and the rate schedule to an outcome.
func (d *allocationResult) describe(ctx context.Context, o *assembly.Outcome) {
	// At level packet, the trace describes packets, and circuits moved when packets
	// ended.
	r := d.Run.Result
	p := d.system.describeTrace(ctx, d.Row.Policy, r.Trace, d.Service, d.Circuits)
	moves := d.Moves
	if d.packetMoves != nil {
		moves = d.packetMoves
	}
	d.system.describeMoves(&p, moves)
	if o.Timeline.Tasks > 0 {
		p.Timeline = d.system.rankTimeline(r.Trace, d.Circuits, o.Timeline)
	}

	if r.Stats != nil {
		o.Files = append(o.Files, r.DescribePackets(&p)...)
	}
	o.Detail.Policies = append(o.Detail.Policies, p)
	// Fair sharing needs no schedule of rates.
	if d.Service != flow.MaxMin {
		o.RateSchedules[d.Row.Policy] = d.system.rateSchedule(d.fluidTrace)
	}
	if d.system.trials != nil {
		d.system.trials.addReference(o.Document.Reference)
	}
}

// Begin adds the simulation on the ideal fabric and the time windows of transfers to an
// outcome.
func (sys *circuitSystem) Begin(ctx context.Context, o *assembly.Outcome) error {
	if sys.inOrder != nil { // a mapping moved stages; stages in order are the reference
		return sys.inOrder.Begin(ctx, o)
	}
	if sys.scenario.isEndless() {
		return nil
	}
	const noPolicy = ""
	var ideal []int // the ideal fabric has no circuits
	o.Detail.Reference = sys.describeTrace(ctx, noPolicy, sys.referenceTrace, sys.Service, ideal)
	if err := ctx.Err(); err != nil {
		return err
	}
	return sys.addWindows(ctx, &o.Detail)
}

// Decide calls one allocator, simulates its decision on the complete DAG and measures it.
// It ignores the limit on the time of the work.
func (sys *circuitSystem) Decide(
	ctx context.Context, name string, workers int, _ float64,
) (*assembly.PolicyResult, error) {
	result, err := sys.allocate(ctx, name, workers)
	if err != nil {
		return nil, err
	}
	return &result.PolicyResult, nil
}

// measureExposed measures by how much collective calls and tiers lengthen the iteration.
// This needs further simulations.
func (d *allocationResult) measureExposed(ctx context.Context) error {
	if err := composition.MeasureExposedCalls(ctx, d.Run, &d.Row); err != nil {
		return err
	}
	return composition.MeasureTiers(ctx, d.Run, &d.Row)
}

// allocate calls one allocator and returns its decision with the row. It measures the
// decision in up to four steps: the simulation at level flow, packets, lent ports, and
// trials. Work without an end has only loads.
func (sys *circuitSystem) allocate(
	ctx context.Context, name string, workers int,
) (*allocationResult, error) {
	allocator, err := topology.Find(name)
	if err != nil {
		return nil, err
	}
	// The settings are also used for further calls of the allocator, in lending and
	// trials.
	policy, settings := allocator.Policy, sys.scenario.allocatorOptions(workers)
	settings.Tails = sys.canUseTails() // whether the decision may set priorities of its own

	start := time.Now()
	var d *topology.Decision
	// With many replicas, searching allocators decide per kind of replica.
	isDecomposed := sys.scenario.Workload.ReplicaMode == "decomposed"
	if isDecomposed || allocator.Searches() && sys.usesReplicaKinds() {
		settings = settings.WithSharedTimeLimit() // one limit for all replicas
		d, err = sys.decompose(ctx, policy, settings)
	} else {
		d, err = policy.Choose(ctx, sys.problem, settings)
	}
	if err != nil {
		return nil, err
	}
	// SimulateS includes all measurements up to the call of timings.
	decisionEnd := time.Now()
	timings := func() result.PolicyTimings {
		return result.PolicyTimings{
			SolveS:    decisionEnd.Sub(start).Seconds(),
			SimulateS: time.Since(decisionEnd).Seconds(),
		}
	}

	if sys.scenario.isEndless() {
		allocation, err := sys.allocateLoads(ctx, name, d)
		if err != nil {
			return nil, err
		}
		allocation.Timings = timings()
		return allocation, ctx.Err()
	}

	// Simulate the decision as fluid, and at level packet also packet by packet.
	run, err := sys.simulate(ctx, d)
	if err != nil {
		return nil, err
	}
	allocation := &allocationResult{Decision: d, system: sys, fluidTrace: run.Result.Trace}
	allocation.Run = run
	allocation.Finish = allocation.measureExposed
	allocation.Describe = allocation.describe
	if run.Level = sys.scenario.Engine.Level; run.Level == "packet" {
		slack, moves, err := sys.simulatePackets(ctx, d, run)
		if err != nil {
			return nil, err
		}
		allocation.packetSlack, allocation.packetMoves = slack, moves
	}

	// Metrics of the decision, of moving circuits, of packets, and of lent ports.
	row := sys.simulationRow(name, d, run.End, run.Result.Trace)
	sys.addMoveMetrics(&row, d, run.End)
	if run.Level == "packet" {
		allocation.addPacketMetrics(&row)
	}
	if sys.lending != nil {
		if err := sys.lending.measure(ctx, sys, policy, settings, &row); err != nil {
			return nil, err
		}
	}

	if sys.trials != nil {
		// A policy is rejected if its topology has fewer circuits than a trial loses.
		controller := sys.trials.newLossController(policy, settings)
		rejected, err := sys.trials.measure(ctx, d, controller, &row, settings.Workers)
		if err != nil {
			return nil, err
		}
		if rejected != nil {
			return &allocationResult{PolicyResult: *rejected}, nil
		}
	}
	allocation.Row, allocation.Timings = row, timings()
	return allocation, nil
}

// allocateLoads returns the result of a decision on work without an end: link loads, and
// packets from Poisson sources if the workload has them.
func (sys *circuitSystem) allocateLoads(
	ctx context.Context, name string, d *topology.Decision,
) (*allocationResult, error) {
	loads, err := sys.measureLoads(name, d)
	if err != nil {
		return nil, err
	}
	if sys.scenario.Workload.HasPoissonSources {
		if err := loads.injectPoisson(ctx, d); err != nil {
			return nil, err
		}
	}
	return &allocationResult{
		Decision:     d,
		system:       sys,
		PolicyResult: assembly.PolicyResult{Row: loads.row, Describe: loads.describe},
	}, nil
}

// simulate simulates a decision on the complete DAG at level flow. It fails if the
// complete DAG does not end when the decision says that the inter-pod DAG ends.
func (sys *circuitSystem) simulate(
	ctx context.Context, d *topology.Decision,
) (run *composition.Run, err error) {
	// The run contains the graph without latencies. Simulate adds them to the
	// dependencies.
	run = &composition.Run{
		Job: composition.Job{
			Graph: sys.undelayedGraph,
			Step:  sys.iteration,
			Base:  sys.baseTasks,
		},
		HardwareInfo: composition.HardwareInfo{
			Tiers:        sys.scenario.tierKinds(),
			TierOf:       sys.tierOf,
			UsesDecision: sys.isInterPod,
			Copies:       sys.pods.Copies,
			Ideal:        &sys.IdealReference,
		},
		Level: "flow",
		End:   d.Makespan,
	}

	if d.Moves.Moving() {
		// Further simulations of this run go through SimulateMoves, because the network
		// depends on the run.
		run.SimulateMoves = func(
			ctx context.Context, g *engine.Graph, rateFactor float64,
		) (*engine.Trace, error) {
			return sys.resimulateMoves(ctx, d, g, rateFactor)
		}
		run.Result = &composition.Result{Graph: sys.graph}
		run.Result.Trace, err = sys.simulateMoves(ctx, d)
		return run, err
	}

	// Circuits stay. Variants of the run use other graphs or networks with the same
	// functions.
	run.Decision = composition.Decision{
		Routes:        sys.routesOf,
		ArrivalDelays: sys.pods.ArrivalDelays,
		Flow: flow.Options{
			Service: d.Service,
			Tails:   sys.completeTails(d),
			Rates:   true,
		},
	}
	if run.Network, err = sys.optical.Provision(d.Circuits); err != nil {
		return nil, err
	}
	run.Result, err = composition.Simulate(ctx, run.Level, &run.Job, &run.Decision)
	if err != nil {
		return nil, err
	}
	return run, sys.checkReduction(run.Result.Trace.Makespan, d.Makespan)
}

// routesOf returns the routes of a variant of the job's graph. It has the same tasks, but
// some transfers may be replaced by tasks that take no time.
func (sys *circuitSystem) routesOf(g *engine.Graph) (*engine.Routes, error) {
	// The graph itself keeps its routes. In variants, only the remaining transfers have
	// routes.
	if g == sys.undelayedGraph {
		return sys.optical.Routes, nil
	}
	return engine.NewRoutes(len(g.Tasks), func(uses []engine.Use, i int32) []engine.Use {
		if g.Tasks[i].Kind == engine.Transfer {
			uses = append(uses, sys.optical.Routes.Of(i)...)
		}
		return uses
	}), nil
}

// checkReduction returns an error if the makespans of the complete and the inter-pod DAG
// differ by more than rounding, which adds at most one tick per task.
func (sys *circuitSystem) checkReduction(complete, reduced engine.Time) error {
	difference := complete - reduced
	if max(difference, -difference) > engine.Time(len(sys.graph.Tasks)) {
		return fmt.Errorf("the complete DAG ends at %v, the inter-pod DAG at %v: "+
			"they must agree to one tick per task", complete, reduced)
	}
	return nil
}

// canUseTails reports whether allocators may choose tails. Under priority levels, the
// transfer with the longest tail goes first. By default, the tail of a task is the longest
// path from its end to the end of the DAG. Chosen tails are valid only for the inter-pod
// DAG of one job that is simulated exactly as planned.
func (sys *circuitSystem) canUseTails() bool {
	s := sys.scenario
	return s.Workload.ReplicaMode != "decomposed" && !sys.usesReplicaKinds() &&
		!s.Policy.HasLender() && s.Trials.Count == 0
}

// completeTails maps the tails that a decision chose (see canUseTails) from the tasks of
// the inter-pod DAG to the tasks of the complete DAG. nil means the default tails of the
// graph. Only inter-pod transfers need tails, and the inter-pod DAG has all of these.
func (sys *circuitSystem) completeTails(d *topology.Decision) []float64 {
	if d.Tails == nil {
		return nil
	}
	tails := make([]float64, len(sys.graph.Tasks))
	for i, task := range sys.origin {
		if task >= 0 { // -1 if task i is only in the inter-pod DAG
			tails[task] = d.Tails[i]
		}
	}
	return tails
}

// rateSchedule lists the rates of every inter-pod transfer over time.
func (sys *circuitSystem) rateSchedule(t *engine.Trace) []assembly.RateRow {
	var rows []assembly.RateRow
	for i := range sys.graph.Tasks {
		id := int32(i)
		if !sys.isInterPod(id) {
			continue
		}
		steps := t.Rates(id)
		for k := 0; k+1 < len(steps); k++ {
			if steps[k].Rate > 0 {
				rows = append(rows, assembly.RateRow{
					Task:  sys.graph.Name(id),
					FromS: steps[k].At.Seconds(),
					ToS:   steps[k+1].At.Seconds(),
					Rate:  steps[k].Rate,
				})
			}
		}
	}
	return rows
}

// isInterPod reports whether task id moves data between pods.
func (sys *circuitSystem) isInterPod(id int32) bool {
	return sys.pods.IsInterPod(&sys.graph.Tasks[id])
}

// WhyNoSchedule returns the reason why no decision on s has a rate schedule; "" if some
// decision may have one. Rates are scheduled by allocators that choose rates, and by
// services other than fair sharing.
func (s *Scenario) WhyNoSchedule() (string, error) {
	p := &s.Policy
	names, jointAllocator := p.Allocators, ""
	if len(s.Jobs) > 0 {
		// Multi-job allocators call one allocator per job, except for joint ones, which
		// choose rates.
		names = []string{p.Allocator}
		for _, r := range topology.JobsTable {
			if r.Joint && slices.Contains(p.MultiJobAllocators, r.Name) && p.Service == "" {
				return "", nil
			} else if r.Joint {
				jointAllocator = r.Name
			}
		}
	}
	for _, name := range names {
		row, err := topology.Find(name)
		if err != nil || row.ChoosesRates(&p.Allocation.Settings) {
			return "", err
		}
	}

	// The remedy names the first allocator that chooses rates with default settings.
	choosesRates := func(r topology.Row) bool { return r.ChoosesRates(&topology.Settings{}) }
	firstWithRates := topology.Table[slices.IndexFunc(topology.Table, choosesRates)].Name
	if len(s.Jobs) > 0 {
		names = p.MultiJobAllocators
	}
	reason := "under " + strings.Join(names, ", ") + " rates are those of fair sharing"
	switch {
	case p.Service != "":
		return fmt.Sprintf("%s, as policy.service = %q asks; leave it out, or set \"%v\"",
			reason, p.Service, flow.LevelPriority), nil
	case len(s.Jobs) > 0:
		return fmt.Sprintf("%s; set policy.allocator = %q or policy.service = \"%v\", "+
			"or add the multi-job allocator %s", reason, firstWithRates, flow.LevelPriority, jointAllocator), nil
	}
	return fmt.Sprintf("%s; add %s, or set policy.service = \"%v\"",
		reason, firstWithRates, flow.LevelPriority), nil
}
