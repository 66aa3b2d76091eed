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

// allTimed reports whether every allocator of s has a time limit, within which it looks for what allocators share, too.
func (s *Scenario) allTimed() bool {
	return !slices.ContainsFunc(s.Policy.Allocators, func(name string) bool {
		row, err := topology.Find(name)
		return err != nil || !row.HasTimeLimit(&s.Policy.Allocation.Settings)
	})
}

// options returns those of the allocators.
func (s *Scenario) options(workers int) topology.Options {
	return topology.Options{Settings: s.Policy.Allocation.Settings, Seed: s.Seed, Workers: workers}
}

// decided is a decision with its simulation on the complete DAG and what was measured of it.
type decided struct {
	*topology.Decision
	in    *instance
	fluid *engine.Trace
	slack engine.Time     // that packets may need beside the fluid; 0 if no bound is known
	moves *topology.Moves // with the moments at which circuits moved with packets; nil where none do
	assembly.PolicyResult
}

// describe adds the simulation, its moves and rates to an outcome.
func (d *decided) describe(ctx context.Context, o *assembly.Outcome) {
	r := d.Run.Result
	p := d.in.describe(ctx, d.Row.Policy, r.Trace, d.Service, d.Circuits)
	moves := d.Moves
	if d.moves != nil {
		moves = d.moves
	}
	d.in.describeMoves(&p, moves)
	if r.Stats != nil {
		o.Files = append(o.Files, r.DescribePackets(&p)...)
	}
	o.Detail.Policies = append(o.Detail.Policies, p)
	if d.Service != flow.MaxMin {
		o.RateSchedules[d.Row.Policy] = d.in.plan(d.fluid)
	}
	if d.in.trials != nil {
		d.in.trials.addReference(o.Document.Reference)
	}
}

// begin describes the simulation on the ideal fabric.
func (in *instance) Begin(ctx context.Context, o *assembly.Outcome) error {
	if in.usual != nil {
		return in.usual.Begin(ctx, o)
	}
	if in.s.endless() {
		return nil
	}
	o.Detail.Reference = in.describe(ctx, "", in.best, in.Service, nil)
	if err := ctx.Err(); err != nil {
		return err
	}
	return in.addWindows(ctx, &o.Detail)
}

// Decide lets one allocator decide, simulates its decision on the complete DAG and measures it, however long it takes.
func (in *instance) Decide(ctx context.Context, name string, workers int, _ float64) (*assembly.PolicyResult, error) {
	a, err := in.decide(ctx, name, workers)
	if err != nil {
		return nil, err
	}
	return &a.PolicyResult, nil
}

// finish measures of an iteration what needs further simulations: what calls and tiers cost.
func (d *decided) finish(ctx context.Context) error {
	if err := composition.MeasureExposedCalls(ctx, d.Run, &d.Row); err != nil {
		return err
	}
	return composition.MeasureTiers(ctx, d.Run, &d.Row)
}

// decide is Decide with more to tell than the answer; of work without an end there is no more.
func (in *instance) decide(ctx context.Context, name string, workers int) (*decided, error) {
	row, err := topology.Find(name)
	if err != nil {
		return nil, err
	}
	policy, settings := row.Policy, in.s.options(workers)
	settings.Tails = in.tailed()
	begin := time.Now()
	var d *topology.Decision
	if in.s.Workload.ReplicaMode == "decomposed" || row.Searches() && in.byKinds() {
		settings = settings.WithSharedTimeLimit() // of all replicas together
		d, err = in.decompose(ctx, policy, settings)
	} else {
		d, err = policy.Choose(ctx, in.problem, settings)
	}
	if err != nil {
		return nil, err
	}
	solved := time.Now()
	if in.s.endless() {
		z, err := in.loads(name, d)
		if err != nil {
			return nil, err
		}
		a := &decided{Decision: d, in: in, PolicyResult: assembly.PolicyResult{Describe: z.describe}}
		if in.s.Workload.HasPoissonSources {
			if err := z.inject(ctx, d); err != nil {
				return nil, err
			}
		}
		a.Row, a.Timings = z.row, result.PolicyTimings{SolveS: solved.Sub(begin).Seconds(), SimulateS: time.Since(solved).Seconds()}
		return a, ctx.Err()
	}
	run, err := in.simulate(ctx, d)
	if err != nil {
		return nil, err
	}
	a := &decided{Decision: d, in: in, fluid: run.Result.Trace}
	a.Run, a.Finish, a.Describe = run, a.finish, a.describe
	if run.Level = in.s.Engine.Level; run.Level == "packet" {
		if a.slack, a.moves, err = in.simulatePackets(ctx, d, run); err != nil {
			return nil, err
		}
	}
	out := in.simulated(name, d, run.End, run.Result.Trace)
	in.measureMoves(&out, d, run.End)
	if run.Level == "packet" {
		a.measurePackets(&out)
	}
	if in.loan != nil {
		if err := in.loan.measure(ctx, in, policy, settings, &out); err != nil {
			return nil, err
		}
	}
	if in.trials != nil {
		none, err := in.trials.measure(ctx, d, in.trials.react(policy, settings), &out, settings.Workers)
		if err != nil {
			return nil, err
		}
		if none != nil {
			return &decided{PolicyResult: *none}, nil
		}
	}
	a.Row, a.Timings = out, result.PolicyTimings{SolveS: solved.Sub(begin).Seconds(), SimulateS: time.Since(solved).Seconds()}
	return a, nil
}

// simulate simulates a decision on the complete DAG as fluid. It fails where that does not end when the decision says.
func (in *instance) simulate(ctx context.Context, d *topology.Decision) (run *composition.Run, err error) {
	run = &composition.Run{
		Job:          composition.Job{Graph: in.plain, Step: in.it, Base: in.base},
		HardwareInfo: composition.HardwareInfo{Tiers: in.s.kinds(), TierOf: in.tierOf, UsesDecision: in.crosses, Copies: in.pods.Copies, Ideal: &in.IdealReference},
		Level:        "flow", End: d.Makespan,
	}
	if d.Moves.Moving() {
		run.SimulateMoves = func(ctx context.Context, g *engine.Graph, times float64) (*engine.Trace, error) {
			return in.moveAgain(ctx, d, g, times)
		}
		run.Result = &composition.Result{Graph: in.graph}
		run.Result.Trace, err = in.simulateMoves(ctx, d)
		return run, err
	}
	run.Decision = composition.Decision{
		Routes: in.routes, ArrivalDelays: in.pods.ArrivalDelays, Flow: flow.Options{Service: d.Service, Tails: in.tails(d), Rates: true},
	}
	if run.Network, err = in.optical.Provision(d.Circuits); err != nil {
		return nil, err
	}
	if run.Result, err = composition.Simulate(ctx, run.Level, &run.Job, &run.Decision); err != nil {
		return nil, err
	}
	return run, in.agree(run.Result.Trace.Makespan, d.Makespan)
}

// routes returns the routes of a graph with the tasks of the job, of which some may take no time.
func (in *instance) routes(g *engine.Graph) (*engine.Routes, error) {
	if g == in.plain {
		return in.optical.Routes, nil
	}
	return engine.NewRoutes(len(g.Tasks), func(uses []engine.Use, i int32) []engine.Use {
		if g.Tasks[i].Kind == engine.Transfer {
			uses = append(uses, in.optical.Routes.Of(i)...)
		}
		return uses
	}), nil
}

// agree fails where the complete DAG does not end when the reduced one does.
func (in *instance) agree(complete, reduced engine.Time) error {
	if off := complete - reduced; max(off, -off) > engine.Time(len(in.graph.Tasks)) {
		return fmt.Errorf("the complete DAG ends at %v, the reduced one at %v: they must agree to a tick a task", complete, reduced)
	}
	return nil
}

// tailed reports whether decisions may have tails of their own: those of one job, simulated as they are.
func (in *instance) tailed() bool {
	return in.s.Workload.ReplicaMode != "decomposed" && !in.byKinds() && !in.s.Policy.HasLender() && in.s.Replay.Seeds == 0
}

// tails returns what levels go by on the complete DAG, nil for its own tails. Only those of transfers between pods
// matter, which the reduced one has all.
func (in *instance) tails(d *topology.Decision) []float64 {
	if d.Tails == nil {
		return nil
	}
	tail := make([]float64, len(in.graph.Tasks))
	for i, from := range in.origin {
		if from >= 0 {
			tail[from] = d.Tails[i]
		}
	}
	return tail
}

// plan lists the rates of every transfer between pods.
func (in *instance) plan(t *engine.Trace) []assembly.RateRow {
	var rows []assembly.RateRow
	for i := range in.graph.Tasks {
		id := int32(i)
		if !in.crosses(id) {
			continue
		}
		steps := t.Rates(id)
		for k := 0; k+1 < len(steps); k++ {
			if steps[k].Rate > 0 {
				rows = append(rows, assembly.RateRow{Task: in.graph.Name(id), FromS: steps[k].At.Seconds(), ToS: steps[k+1].At.Seconds(), Rate: steps[k].Rate})
			}
		}
	}
	return rows
}

// crosses reports whether task id moves data between pods.
func (in *instance) crosses(id int32) bool { return in.pods.IsInterPod(&in.graph.Tasks[id]) }

// NoPlan says why no decision on s schedules rates, "" where one may.
func (s *Scenario) NoPlan() (string, error) {
	p := &s.Policy
	names, joins := p.Allocators, ""
	if len(s.Jobs) > 0 {
		names = []string{p.Allocator} // which arbiters let decide, but for those that join all jobs
		for _, r := range topology.JobsTable {
			if r.Joint && slices.Contains(p.Arbiters, r.Name) && p.Service == "" {
				return "", nil
			} else if r.Joint {
				joins = r.Name
			}
		}
	}
	for _, name := range names {
		row, err := topology.Find(name)
		if err != nil || row.ChoosesRates(&p.Allocation.Settings) {
			return "", err
		}
	}
	first := topology.Table[slices.IndexFunc(topology.Table, func(r topology.Row) bool { return r.ChoosesRates(&topology.Settings{}) })].Name
	if len(s.Jobs) > 0 {
		names = p.Arbiters
	}
	why := "under " + strings.Join(names, ", ") + " rates are those of fair sharing"
	switch {
	case p.Service != "":
		return fmt.Sprintf("%s, as policy.service = %q asks; leave it out, or set \"%v\"", why, p.Service, flow.LevelPriority), nil
	case len(s.Jobs) > 0:
		return fmt.Sprintf("%s; set policy.allocator = %q or policy.service = \"%v\", or add the arbiter %s", why, first, flow.LevelPriority, joins), nil
	}
	return fmt.Sprintf("%s; add %s, or set policy.service = \"%v\"", why, first, flow.LevelPriority), nil
}
