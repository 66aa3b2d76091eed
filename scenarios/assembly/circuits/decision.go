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

// allHaveTimeLimits reports whether every allocator of s has a time limit, within which it looks for what allocators share, too.
func (s *Scenario) allHaveTimeLimits() bool {
	return !slices.ContainsFunc(s.Policy.Allocators, func(name string) bool {
		row, err := topology.Find(name)
		return err != nil || !row.HasTimeLimit(&s.Policy.Allocation.Settings)
	})
}

// allocatorOptions returns those of the allocators.
func (s *Scenario) allocatorOptions(workers int) topology.Options {
	return topology.Options{Settings: s.Policy.Allocation.Settings, Seed: s.Seed, Workers: workers}
}

// allocationResult is a decision with its simulation on the complete DAG and what was measured of it.
type allocationResult struct {
	*topology.Decision
	system      *circuitSystem
	fluidTrace  *engine.Trace
	packetSlack engine.Time     // that packets may need beside the fluid; 0 if no bound is known
	packetMoves *topology.Moves // with the moments at which circuits moved with packets; nil where none do
	assembly.PolicyResult
}

// describe adds the simulation, its moves and rates to an outcome.
func (d *allocationResult) describe(ctx context.Context, o *assembly.Outcome) {
	r := d.Run.Result
	p := d.system.describeTrace(ctx, d.Row.Policy, r.Trace, d.Service, d.Circuits)
	moves := d.Moves
	if d.packetMoves != nil {
		moves = d.packetMoves
	}
	d.system.describeMoves(&p, moves)
	if r.Stats != nil {
		o.Files = append(o.Files, r.DescribePackets(&p)...)
	}
	o.Detail.Policies = append(o.Detail.Policies, p)
	if d.Service != flow.MaxMin {
		o.RateSchedules[d.Row.Policy] = d.system.rateSchedule(d.fluidTrace)
	}
	if d.system.trials != nil {
		d.system.trials.addReference(o.Document.Reference)
	}
}

// begin describes the simulation on the ideal fabric.
func (sys *circuitSystem) Begin(ctx context.Context, o *assembly.Outcome) error {
	if sys.inOrder != nil {
		return sys.inOrder.Begin(ctx, o)
	}
	if sys.scenario.isEndless() {
		return nil
	}
	o.Detail.Reference = sys.describeTrace(ctx, "", sys.referenceTrace, sys.Service, nil)
	if err := ctx.Err(); err != nil {
		return err
	}
	return sys.addWindows(ctx, &o.Detail)
}

// Decide lets one allocator decide, simulates its decision on the complete DAG and measures it, however long it takes.
func (sys *circuitSystem) Decide(ctx context.Context, name string, workers int, _ float64) (*assembly.PolicyResult, error) {
	result, err := sys.allocate(ctx, name, workers)
	if err != nil {
		return nil, err
	}
	return &result.PolicyResult, nil
}

// measureExposed measures of an iteration what needs further simulations: what calls and tiers cost.
func (d *allocationResult) measureExposed(ctx context.Context) error {
	if err := composition.MeasureExposedCalls(ctx, d.Run, &d.Row); err != nil {
		return err
	}
	return composition.MeasureTiers(ctx, d.Run, &d.Row)
}

// allocate is Decide with more to tell than the answer; of work without an end there is no more.
func (sys *circuitSystem) allocate(ctx context.Context, name string, workers int) (*allocationResult, error) {
	allocator, err := topology.Find(name)
	if err != nil {
		return nil, err
	}
	policy, settings := allocator.Policy, sys.scenario.allocatorOptions(workers)
	settings.Tails = sys.canUseTails()
	start := time.Now()
	var d *topology.Decision
	if sys.scenario.Workload.ReplicaMode == "decomposed" || allocator.Searches() && sys.usesReplicaKinds() {
		settings = settings.WithSharedTimeLimit() // of all replicas together
		d, err = sys.decompose(ctx, policy, settings)
	} else {
		d, err = policy.Choose(ctx, sys.problem, settings)
	}
	if err != nil {
		return nil, err
	}
	decisionEnd := time.Now()
	if sys.scenario.isEndless() {
		loads, err := sys.measureLoads(name, d)
		if err != nil {
			return nil, err
		}
		allocation := &allocationResult{Decision: d, system: sys, PolicyResult: assembly.PolicyResult{Describe: loads.describe}}
		if sys.scenario.Workload.HasPoissonSources {
			if err := loads.injectPoisson(ctx, d); err != nil {
				return nil, err
			}
		}
		allocation.Row, allocation.Timings = loads.row, result.PolicyTimings{SolveS: decisionEnd.Sub(start).Seconds(), SimulateS: time.Since(decisionEnd).Seconds()}
		return allocation, ctx.Err()
	}
	run, err := sys.simulate(ctx, d)
	if err != nil {
		return nil, err
	}
	allocation := &allocationResult{Decision: d, system: sys, fluidTrace: run.Result.Trace}
	allocation.Run, allocation.Finish, allocation.Describe = run, allocation.measureExposed, allocation.describe
	if run.Level = sys.scenario.Engine.Level; run.Level == "packet" {
		if allocation.packetSlack, allocation.packetMoves, err = sys.simulatePackets(ctx, d, run); err != nil {
			return nil, err
		}
	}
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
		rejected, err := sys.trials.measure(ctx, d, sys.trials.newLossController(policy, settings), &row, settings.Workers)
		if err != nil {
			return nil, err
		}
		if rejected != nil {
			return &allocationResult{PolicyResult: *rejected}, nil
		}
	}
	allocation.Row, allocation.Timings = row, result.PolicyTimings{SolveS: decisionEnd.Sub(start).Seconds(), SimulateS: time.Since(decisionEnd).Seconds()}
	return allocation, nil
}

// simulate simulates a decision on the complete DAG as fluid. It fails where that does not end when the decision says.
func (sys *circuitSystem) simulate(ctx context.Context, d *topology.Decision) (run *composition.Run, err error) {
	run = &composition.Run{
		Job:          composition.Job{Graph: sys.undelayedGraph, Step: sys.iteration, Base: sys.baseTasks},
		HardwareInfo: composition.HardwareInfo{Tiers: sys.scenario.tierKinds(), TierOf: sys.tierOf, UsesDecision: sys.isInterPod, Copies: sys.pods.Copies, Ideal: &sys.IdealReference},
		Level:        "flow", End: d.Makespan,
	}
	if d.Moves.Moving() {
		run.SimulateMoves = func(ctx context.Context, g *engine.Graph, times float64) (*engine.Trace, error) {
			return sys.resimulateMoves(ctx, d, g, times)
		}
		run.Result = &composition.Result{Graph: sys.graph}
		run.Result.Trace, err = sys.simulateMoves(ctx, d)
		return run, err
	}
	run.Decision = composition.Decision{
		Routes: sys.routesOf, ArrivalDelays: sys.pods.ArrivalDelays, Flow: flow.Options{Service: d.Service, Tails: sys.completeTails(d), Rates: true},
	}
	if run.Network, err = sys.optical.Provision(d.Circuits); err != nil {
		return nil, err
	}
	if run.Result, err = composition.Simulate(ctx, run.Level, &run.Job, &run.Decision); err != nil {
		return nil, err
	}
	return run, sys.checkReduction(run.Result.Trace.Makespan, d.Makespan)
}

// routesOf returns the routes of a graph with the tasks of the job, of which some may take no time.
func (sys *circuitSystem) routesOf(g *engine.Graph) (*engine.Routes, error) {
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

// checkReduction fails where the complete DAG does not end when the reduced one does.
func (sys *circuitSystem) checkReduction(complete, reduced engine.Time) error {
	if difference := complete - reduced; max(difference, -difference) > engine.Time(len(sys.graph.Tasks)) {
		return fmt.Errorf("the complete DAG ends at %v, the reduced one at %v: they must agree to a tick a task", complete, reduced)
	}
	return nil
}

// canUseTails reports whether decisions may have tails of their own: those of one job, simulated as they are.
func (sys *circuitSystem) canUseTails() bool {
	return sys.scenario.Workload.ReplicaMode != "decomposed" && !sys.usesReplicaKinds() && !sys.scenario.Policy.HasLender() && sys.scenario.Replay.Seeds == 0
}

// completeTails returns what levels go by on the complete DAG, nil for its own tails. Only those of transfers between pods
// matter, which the reduced one has all.
func (sys *circuitSystem) completeTails(d *topology.Decision) []float64 {
	if d.Tails == nil {
		return nil
	}
	tail := make([]float64, len(sys.graph.Tasks))
	for i, from := range sys.origin {
		if from >= 0 {
			tail[from] = d.Tails[i]
		}
	}
	return tail
}

// rateSchedule lists the rates of every transfer between pods.
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
				rows = append(rows, assembly.RateRow{Task: sys.graph.Name(id), FromS: steps[k].At.Seconds(), ToS: steps[k+1].At.Seconds(), Rate: steps[k].Rate})
			}
		}
	}
	return rows
}

// isInterPod reports whether task id moves data between pods.
func (sys *circuitSystem) isInterPod(id int32) bool { return sys.pods.IsInterPod(&sys.graph.Tasks[id]) }

// WhyNoSchedule says why no decision on s schedules rates, "" where one may.
func (s *Scenario) WhyNoSchedule() (string, error) {
	p := &s.Policy
	names, jointAllocator := p.Allocators, ""
	if len(s.Jobs) > 0 {
		names = []string{p.Allocator} // which arbiters let decide, but for those that join all jobs
		for _, r := range topology.JobsTable {
			if r.Joint && slices.Contains(p.Arbiters, r.Name) && p.Service == "" {
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
	firstWithRates := topology.Table[slices.IndexFunc(topology.Table, func(r topology.Row) bool { return r.ChoosesRates(&topology.Settings{}) })].Name
	if len(s.Jobs) > 0 {
		names = p.Arbiters
	}
	reason := "under " + strings.Join(names, ", ") + " rates are those of fair sharing"
	switch {
	case p.Service != "":
		return fmt.Sprintf("%s, as policy.service = %q asks; leave it out, or set \"%v\"", reason, p.Service, flow.LevelPriority), nil
	case len(s.Jobs) > 0:
		return fmt.Sprintf("%s; set policy.allocator = %q or policy.service = \"%v\", or add the arbiter %s", reason, firstWithRates, flow.LevelPriority, jointAllocator), nil
	}
	return fmt.Sprintf("%s; add %s, or set policy.service = \"%v\"", reason, firstWithRates, flow.LevelPriority), nil
}
