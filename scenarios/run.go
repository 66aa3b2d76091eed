package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
)

// What a run is told and finds out is the assembly's.
type (
	RunOptions = assembly.Options
	Outcome    = assembly.Outcome
	PlanRow    = assembly.PlanRow
)

// Prepared is a scenario built, with its references simulated: what the decisions
// of all its policies have in common. It is safe for concurrent use.
type Prepared struct {
	s *Scenario
	assembly.System
}

// Prepare builds s and plays its references. It does not look at the policies.
// What a policy needs beside is looked for when it decides. It returns the
// context's error when ctx is cancelled.
func Prepare(ctx context.Context, s *Scenario) (*Prepared, error) { return prepare(ctx, s, 0) }

// prepare is Prepare with the context and the goroutines of what is decided there: a donor's topology, and plans of a
// collective. 0 is for one of many cells: one for a donor, and for plans, which cells wait for together, all processors.
func prepare(ctx context.Context, s *Scenario, workers int) (_ *Prepared, err error) {
	defer func() { err = assembly.OrEnded(ctx, err) }()
	sys, err := builders[s.decision()](ctx, s, workers)
	return &Prepared{s, sys}, err
}

// builders make a scenario into a system, by the decision that it leaves open.
var builders = map[string]func(ctx context.Context, s *Scenario, workers int) (assembly.System, error){
	"allocators": buildPods, "planners": buildDomain,
	"arbiters": func(ctx context.Context, s *Scenario, _ int) (assembly.System, error) { return buildJobs(ctx, s) },
	"routers":  func(ctx context.Context, s *Scenario, _ int) (assembly.System, error) { return buildRouted(ctx, s) },
}

// document is the result of no policy.
func (p *Prepared) document() result.Document {
	return result.Document{
		Schema: result.Schema, Scenario: p.s.Name, Digest: p.s.Digest(), Seed: p.s.Seed, Version: result.Version,
		Reference: p.Reference(),
	}
}

// Decide lets one policy decide, plays its decision and measures it, as a row
// of Run's document: a policy that cannot serve the scenario has one that says so. It
// returns the context's error when ctx is cancelled, and fails where the simulation
// comes to no end, of which Run keeps a row.
func (p *Prepared) Decide(ctx context.Context, policy string, workers int) (result.Row, result.PolicyTimings, error) {
	rows, timings, err := p.DecideFor(ctx, policy, workers, p.s)
	if err != nil {
		return result.Row{}, result.PolicyTimings{}, err
	}
	return rows[0], timings, nil
}

// DecideFor is Decide for scenarios of the same DecisionKey as that which was prepared:
// the policy decides and is simulated once, and each has a row.
func (p *Prepared) DecideFor(ctx context.Context, policy string, workers int, of ...*Scenario) ([]result.Row, result.PolicyTimings, error) {
	for _, s := range of {
		if err := s.Only(policy).Ready(); err != nil {
			return nil, result.PolicyTimings{}, err
		}
	}
	d, err := p.System.Decide(ctx, policy, workers)
	err = assembly.OrEnded(ctx, err)
	if err == nil {
		err = assembly.Failure(d)
	}
	if err != nil {
		return nil, result.PolicyTimings{}, assembly.OfPolicy(policy, err)
	}
	row, timings := d.Measured()
	rows := make([]result.Row, len(of))
	for i, s := range of {
		rows[i] = row
		if a, ok := d.(interface{ MeasuredFor(*Step) result.Row }); ok {
			rows[i] = a.MeasuredFor(&s.Workload.Step)
		}
	}
	return rows, timings, nil
}

// Run lets every policy of s decide and gathers the results, as assembly.Run does.
func Run(ctx context.Context, s *Scenario, opt RunOptions) (*Outcome, error) {
	begin := time.Now()
	if err := s.Ready(); err != nil {
		return nil, err
	}
	names := s.PolicyNames()
	if opt.Progress != nil {
		opt.Progress("reference", 0, len(names))
	}
	p, err := prepare(ctx, s, opt.Workers)
	if err != nil {
		return nil, err
	}
	return assembly.Run(ctx, p.System, names, p.document(), s.Words(), begin, opt)
}

// allTimed reports whether every allocator of s has a time limit, within which
// it looks for what allocators share, too.
func (s *Scenario) allTimed() bool {
	limits := map[string]engine.Time{
		"delta-fast": s.Policy.DeltaFast.TimeLimit, "delta-topo": s.Policy.DeltaTopo.TimeLimit, "delta-joint": s.Policy.DeltaJoint.TimeLimit,
	}
	return !slices.ContainsFunc(s.Policy.Allocators, func(name string) bool { return limits[name] == 0 })
}

// settings returns the options of the allocators.
func (s *Scenario) settings(workers int) (topology.Options, error) {
	p := &s.Policy
	o := topology.Options{
		Seed: s.Seed, Workers: workers, PortTolerance: p.PortTolerance, PortEvaluations: p.PortEvaluations, Fixed: p.Fixed.Circuits,
		Topo:  topology.SearchOptions{MaxEvaluations: p.DeltaTopo.MaxEvaluations, TimeLimit: wall(p.DeltaTopo.TimeLimit)},
		Joint: topology.SearchOptions{MaxEvaluations: p.DeltaJoint.MaxEvaluations, TimeLimit: wall(p.DeltaJoint.TimeLimit)},
		Fast: topology.FastOptions{
			Population: p.DeltaFast.Population, Elites: p.DeltaFast.Elites, Tournament: p.DeltaFast.Tournament,
			Crossover: p.DeltaFast.Crossover, Mutation: p.DeltaFast.Mutation,
			StallGenerations: p.DeltaFast.StallGenerations, MaxGenerations: p.DeltaFast.MaxGenerations,
			TimeLimit: wall(p.DeltaFast.TimeLimit),
		},
	}
	o.MILP = p.MILP.topology()
	if p.Service != "" {
		v, err := flow.ParseService(p.Service)
		if err != nil {
			return o, err
		}
		o.Service = &v
	}
	return o, nil
}

// wall converts a span of the scenario to wall-clock time, of which 0 is no
// limit: less than a nanosecond is one.
func wall(t engine.Time) time.Duration {
	return time.Duration((t + engine.Nanosecond - 1) / engine.Nanosecond)
}

// decided is a decision with its play on the complete DAG and what was
// measured of it.
type decided struct {
	*topology.Decision
	in      *instance
	fluid   *engine.Trace
	packets *podPackets // nil at level flow
	row     result.Row
	timings result.PolicyTimings
}

func (d *decided) Measured() (result.Row, result.PolicyTimings) { return d.row, d.timings }

func (d *decided) Describe(ctx context.Context, o *Outcome) {
	trace := d.fluid
	if d.packets != nil {
		trace = d.packets.trace
	}
	p := d.in.describe(ctx, d.row.Policy, trace, d.Service, d.Circuits)
	if d.packets != nil {
		d.packets.Describe(&p, o)
	}
	o.Detail.Policies = append(o.Detail.Policies, p)
	if d.Service != flow.MaxMin {
		o.Plans[d.row.Policy] = d.in.plan(d.fluid)
	}
	if d.in.replay != nil {
		d.in.replay.addReference(o.Document.Reference)
	}
}

// begin describes the play on the ideal fabric.
func (in *instance) Begin(ctx context.Context, o *Outcome) error {
	o.Detail.Reference = in.describe(ctx, "", in.best, in.Service, nil)
	var err error
	if err := ctx.Err(); err != nil {
		return err
	}
	o.Detail.Windows, err = in.windows(ctx)
	return err
}

func (in *instance) Tasks() int {
	n := len(in.graph.Tasks)
	if r := in.replay; r != nil && r.it != in.it {
		n += len(r.it.Graph.Tasks)
	}
	return n
}

// decide lets one allocator decide, plays its decision on the complete DAG and
// measures it.
func (in *instance) Decide(ctx context.Context, name string, workers int) (assembly.Answer, error) {
	settings, err := in.s.settings(workers)
	if err != nil {
		return nil, err
	}
	policy, err := topology.ByName(name)
	if err != nil {
		return nil, err
	}
	settings.Tails = in.tailed()
	begin := time.Now()
	var d *topology.Decision
	if in.s.Workload.ReplicaMode == "decomposed" {
		settings = settings.Started() // of all replicas together
		d, err = in.decompose(ctx, policy, settings)
	} else {
		d, err = policy.Choose(ctx, in.problem, settings)
	}
	if err != nil {
		return nil, err
	}
	solved := time.Now()
	trace, err := in.play(ctx, d)
	if err != nil {
		return nil, err
	}
	end, seen := d.Makespan, trace
	var packets *podPackets
	if in.s.Engine.Level == "packet" {
		if packets, err = in.packets(ctx, d, trace); err != nil {
			return nil, err
		}
		end, seen = packets.trace.Makespan, packets.trace
	}
	row := in.row(name, d, end, seen)
	if packets != nil {
		packets.measure(&row)
	}
	if in.donor != nil {
		if err := in.donor.measure(ctx, in, policy, settings, &row); err != nil {
			return nil, err
		}
	}
	if in.replay != nil {
		err := in.replay.measure(ctx, d, &row, settings.Workers)
		if dark := (*tooDark)(nil); errors.As(err, &dark) {
			return in.unlit(name, dark), nil
		}
		if err != nil {
			return nil, err
		}
	}
	return &decided{d, in, trace, packets, row, result.PolicyTimings{
		SolveS: solved.Sub(begin).Seconds(), PlayS: time.Since(solved).Seconds(),
	}}, nil
}

// play plays a decision on the complete DAG. It fails where that does not end
// when the decision says.
func (in *instance) play(ctx context.Context, d *topology.Decision) (*engine.Trace, error) {
	n, err := in.optical.Light(d.Circuits)
	if err != nil {
		return nil, err
	}
	trace, err := flow.Run(ctx, in.graph, n, in.optical.Routes, flow.Options{Service: d.Service, Tails: in.tails(d), Rates: true})
	if err != nil {
		return nil, err
	}
	if off := trace.Makespan - d.Makespan; max(off, -off) > engine.Time(len(in.graph.Tasks)) {
		return nil, fmt.Errorf("the complete DAG ends at %v, the reduced one at %v: they must agree to a tick a task", trace.Makespan, d.Makespan)
	}
	return trace, nil
}

// tailed reports whether decisions may have tails of their own: those of one
// job, played as they are.
func (in *instance) tailed() bool {
	return in.s.Workload.ReplicaMode != "decomposed" && !in.s.hasDonor() && in.s.Replay.Seeds == 0
}

// tails returns what levels go by on the complete DAG, nil for its own tails.
// Only those of transfers between pods matter, which the reduced one has all.
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
func (in *instance) plan(t *engine.Trace) []PlanRow {
	var rows []PlanRow
	for i := range in.graph.Tasks {
		id := int32(i)
		if !in.crosses(id) {
			continue
		}
		steps := t.Rates(id)
		for k := 0; k+1 < len(steps); k++ {
			if steps[k].Rate > 0 {
				rows = append(rows, PlanRow{Task: in.graph.Name(id), FromS: steps[k].At.Seconds(), ToS: steps[k+1].At.Seconds(), Rate: steps[k].Rate})
			}
		}
	}
	return rows
}

// crosses reports whether task id moves data between pods.
func (in *instance) crosses(id int32) bool { return in.pods.Moves(&in.graph.Tasks[id]) }
