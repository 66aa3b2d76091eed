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
	"sim/scenarios/result"
)

// allTimed reports whether every allocator of s has a time limit, within which it looks for what allocators share, too.
func (s *Scenario) allTimed() bool {
	return !slices.ContainsFunc(s.Policy.Allocators, func(name string) bool {
		row, err := topology.Find(name)
		return err != nil || !row.Timed(&s.Policy.Settings)
	})
}

// options returns those of the allocators.
func (s *Scenario) options(workers int) topology.Options {
	return topology.Options{Settings: s.Policy.Settings, Seed: s.Seed, Workers: workers}
}

// decided is a decision with its simulation on the complete DAG and what was measured of it.
type decided struct {
	*topology.Decision
	in      *instance
	fluid   *engine.Trace
	packets *podPackets // nil at level flow
	measured
}

// measured is what was measured of a decision.
type measured struct {
	row     result.Row
	timings result.PolicyTimings
}

func (m *measured) Measured() (result.Row, result.PolicyTimings) { return m.row, m.timings }

// Rename has the answer be of another policy, whose decision it simulates.
func (m *measured) Rename(policy string) { m.row.Policy = policy }

func (d *decided) Describe(ctx context.Context, o *assembly.Outcome) {
	p := d.in.describe(ctx, d.row.Policy, d.trace(), d.Service, d.Circuits)
	moves := d.Moves
	if d.packets != nil && d.packets.moves != nil {
		moves = d.packets.moves
	}
	d.in.describeMoves(&p, moves)
	if d.packets != nil {
		d.packets.Describe(&p, o)
	}
	o.Detail.Policies = append(o.Detail.Policies, p)
	if d.Service != flow.MaxMin {
		o.Plans[d.row.Policy] = d.in.plan(d.fluid)
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

// Decide lets one allocator decide, simulates its decision on the complete DAG and measures it.
func (in *instance) Decide(ctx context.Context, name string, workers int) (assembly.Answer, error) {
	a, err := in.DecideWithin(ctx, name, workers, 0)
	if one, ok := a.(*decided); ok && err == nil {
		err = one.Complete(ctx)
	}
	return a, err
}

// Complete measures of an iteration what needs further simulations: what calls and tiers cost.
func (d *decided) Complete(ctx context.Context) error {
	if err := d.exposed(ctx); err != nil {
		return err
	}
	return d.byTier(ctx)
}

// trace returns the simulation of the complete DAG at the row's level.
func (d *decided) trace() *engine.Trace {
	if d.packets != nil {
		return d.packets.trace
	}
	return d.fluid
}

// DecideWithin is Decide without Complete, however long it takes.
func (in *instance) DecideWithin(ctx context.Context, name string, workers int, _ float64) (assembly.Answer, error) {
	row, err := topology.Find(name)
	if err != nil {
		return nil, err
	}
	policy, settings := row.Policy, in.s.options(workers)
	settings.Tails = in.tailed()
	begin := time.Now()
	var d *topology.Decision
	if in.s.Workload.ReplicaMode == "decomposed" || row.Searches() && in.byKinds() {
		settings = settings.Together() // of all replicas together
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
		if in.s.Workload.Poisson != nil {
			if err := z.inject(ctx, d); err != nil {
				return nil, err
			}
		}
		z.timings = result.PolicyTimings{SolveS: solved.Sub(begin).Seconds(), SimulateS: time.Since(solved).Seconds()}
		return z, ctx.Err()
	}
	trace, err := in.simulate(ctx, d)
	if err != nil {
		return nil, err
	}
	end, seen := d.Makespan, trace
	var packets *podPackets
	if in.s.Level == "packet" {
		if packets, err = in.packets(ctx, d, trace); err != nil {
			return nil, err
		}
		end, seen = packets.trace.Makespan, packets.trace
	}
	out := in.simulated(name, d, end, seen)
	in.measureMoves(&out, d, end)
	if packets != nil {
		packets.measure(&out)
	}
	if in.loan != nil {
		if err := in.loan.measure(ctx, in, policy, settings, &out); err != nil {
			return nil, err
		}
	}
	if in.trials != nil {
		if none, err := in.trials.measure(ctx, d, in.trials.react(policy, settings), &out, settings.Workers); none != nil || err != nil {
			return none, err
		}
	}
	return &decided{d, in, trace, packets, measured{out, result.PolicyTimings{
		SolveS: solved.Sub(begin).Seconds(), SimulateS: time.Since(solved).Seconds(),
	}}}, nil
}

// simulate simulates a decision on the complete DAG. It fails where that does not end when the decision says.
func (in *instance) simulate(ctx context.Context, d *topology.Decision) (*engine.Trace, error) {
	if d.Moves.Moving() {
		return in.simulateMoves(ctx, d)
	}
	n, err := in.optical.Provision(d.Circuits)
	if err != nil {
		return nil, err
	}
	trace, err := flow.Run(ctx, in.graph, n, in.optical.Routes, flow.Options{Service: d.Service, Tails: in.tails(d), Rates: true})
	if err != nil {
		return nil, err
	}
	return trace, in.agree(trace.Makespan, d.Makespan)
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
	return in.s.Workload.ReplicaMode != "decomposed" && !in.byKinds() && !in.s.Policy.HasDonor() && in.s.Replay.Seeds == 0
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
func (in *instance) plan(t *engine.Trace) []assembly.PlanRow {
	var rows []assembly.PlanRow
	for i := range in.graph.Tasks {
		id := int32(i)
		if !in.crosses(id) {
			continue
		}
		steps := t.Rates(id)
		for k := 0; k+1 < len(steps); k++ {
			if steps[k].Rate > 0 {
				rows = append(rows, assembly.PlanRow{Task: in.graph.Name(id), FromS: steps[k].At.Seconds(), ToS: steps[k+1].At.Seconds(), Rate: steps[k].Rate})
			}
		}
	}
	return rows
}

// crosses reports whether task id moves data between pods.
func (in *instance) crosses(id int32) bool { return in.pods.Moves(&in.graph.Tasks[id]) }

// NoPlan says why no decision on s schedules rates, "" where one may.
func (s *Scenario) NoPlan() (string, error) {
	p := &s.Policy
	names, joins := p.Allocators, ""
	if len(s.Jobs) > 0 {
		names = []string{p.Allocator} // which arbiters let decide, but for those that join all jobs
		for _, r := range topology.JobsTable {
			if r.Joins && slices.Contains(p.Arbiters, r.Name) && p.Service == "" {
				return "", nil
			} else if r.Joins {
				joins = r.Name
			}
		}
	}
	for _, name := range names {
		row, err := topology.Find(name)
		if err != nil || row.Rates(&p.Settings) {
			return "", err
		}
	}
	first := topology.Table[slices.IndexFunc(topology.Table, func(r topology.Row) bool { return r.Rates(&topology.Settings{}) })].Name
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

// end returns when the work ends at the row's level.
func (d *decided) end() engine.Time {
	if d.packets != nil {
		return d.packets.trace.Makespan
	}
	return d.Makespan
}

// Again simulates the step once more on the decided circuits, at the row's level.
func (d *decided) Again(ctx context.Context, longer assembly.Longer, faster float64) (assembly.Step, error) {
	if d.packets != nil && d.Moves.Moving() {
		return assembly.Step{}, assembly.ErrMoving
	}
	s := *d.in.s
	s.Longer = longer
	x := s.Extent()
	in, err := place(ctx, &s, s.Workload.Spec, x, s.layoutOf(x.All))
	if err != nil {
		return assembly.Step{}, err
	}
	var trace *engine.Trace
	if d.Moves.Moving() {
		trace, err = d.in.moveAgain(ctx, d.Decision, in, faster)
	} else {
		var n *engine.Network
		if n, err = in.optical.Provision(d.Circuits); err != nil {
			return assembly.Step{}, err
		}
		n = assembly.Faster(n, faster)
		trace, err = flow.Run(ctx, in.graph, n, in.optical.Routes, flow.Options{Service: d.Service, Tails: d.in.tails(d.Decision), Rates: d.packets != nil})
		if err == nil && d.packets != nil {
			var out *podPackets
			if out, _, err = in.packetsOf(ctx, in.plain, trace, n, nil); err == nil {
				trace = out.trace
			}
		}
	}
	if err != nil {
		return assembly.Step{}, err
	}
	step := assembly.NewStep(in.graph, trace, in.crosses)
	step.Bytes *= float64(max(1, in.pods.Copies))
	return step, nil
}
