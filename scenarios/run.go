package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/reconfigure/plan"
	"sim/policies/topology"
	"sim/scenarios/result"
)

// RunOptions says how a scenario is run; none of it changes a result.
type RunOptions struct {
	Workers  int                                  // goroutines, at least 1
	Progress func(policy string, done, total int) // called as policies are decided and played; may be nil; called from one goroutine at a time
}

// Outcome is all that a run found out.
type Outcome struct {
	Document result.Document
	Timings  result.Timings
	Detail   result.Detail
	// Plans holds, for each policy that schedules rates, its schedule: the
	// rate of every transfer from time to time.
	Plans map[string][]PlanRow
	// Files are further files for the run directory.
	Files []result.File
	// Routes are those of every router.
	Routes []Routes
	// Schedules are the plans of all planners that have one.
	Planned   bool // by planners
	Schedules []*plan.Plan
	// Failed says of each policy whose simulation came to no end why; its row holds
	// what was measured before, and the label failed.
	Failed []error
}

// PlanRow is a line of an exported rate schedule: Task runs at Rate from FromS
// to ToS.
type PlanRow struct {
	Task       string
	FromS, ToS float64
	Rate       float64 // bits per second over all flows of the task
}

// failing is an answer whose simulation may have come to no end.
type failing interface {
	failure() error // nil where it ended
}

// failure returns why the simulation of an answer came to no end, nil where it did.
func failure(a answer) error {
	if f, ok := a.(failing); ok {
		return f.failure()
	}
	return nil
}

// Prepared is a scenario built, with its references played: what the decisions
// of all its policies have in common. It is safe for concurrent use.
type Prepared struct {
	s *Scenario
	system
}

// system is what a scenario of some kinds is built into. It is safe for
// concurrent use.
type system interface {
	// referenceMetrics are those of what policies are compared with.
	referenceMetrics() map[string]float64
	// tasks counts what memory grows by.
	tasks() int
	// begin adds to an outcome what does not depend on policies.
	begin(ctx context.Context, o *Outcome) error
	// decide lets one policy decide, plays its decision and measures it.
	decide(ctx context.Context, policy string, workers int) (answer, error)
}

// answer is a decision that was played and measured.
type answer interface {
	measured() (result.Row, result.PolicyTimings)
	// describe adds to an outcome what figures, explanations and exports need, or
	// part of it where ctx ends.
	describe(ctx context.Context, o *Outcome)
}

// orEnded returns ctx's error in place of err where ctx has ended: what is wrong
// then, or seems right, may be its doing.
func orEnded(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	return err
}

// Prepare builds s and plays its references. It does not look at the policies.
// What a policy needs beside is looked for when it decides. It returns the
// context's error when ctx is cancelled.
func Prepare(ctx context.Context, s *Scenario) (*Prepared, error) { return prepare(ctx, s, 0) }

// prepare is Prepare with the context and the goroutines of what is decided there: a donor's topology, and plans of a
// collective. 0 is for one of many cells: one for a donor, and for plans, which cells wait for together, all processors.
func prepare(ctx context.Context, s *Scenario, workers int) (_ *Prepared, err error) {
	defer func() { err = orEnded(ctx, err) }()
	switch {
	case s.routes():
		r, err := buildRouted(ctx, s)
		return &Prepared{s, r}, err
	case s.plans():
		built, err := buildDomain(ctx, s, cmp.Or(workers, runtime.GOMAXPROCS(0)))
		return &Prepared{s, built}, err
	case len(s.Jobs) > 0:
		jobs, err := buildJobs(ctx, s)
		return &Prepared{s, jobs}, err
	}
	in, err := build(ctx, s, max(1, workers))
	if err != nil {
		return nil, err
	}
	if !s.allTimed() {
		if _, err := in.problem.Bound(ctx); err != nil { // shared by all rows: no allocator's time
			return nil, err
		}
	}
	return &Prepared{s, in}, nil
}

// document is the result of no policy.
func (p *Prepared) document() result.Document {
	return result.Document{
		Schema: result.Schema, Scenario: p.s.Name, Digest: p.s.Digest(), Seed: p.s.Seed, Version: result.Version,
		Reference: p.Reference(),
	}
}

// Reference returns the metrics of what policies are compared with: of a
// training the ideal fabric and compute alone, of traffic the fabric by itself.
func (p *Prepared) Reference() map[string]float64 { return p.referenceMetrics() }

// Tasks returns the number of tasks or flows, by which memory grows.
func (p *Prepared) Tasks() int { return p.tasks() }

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
	d, err := p.decide(ctx, policy, workers)
	err = orEnded(ctx, err)
	if err == nil {
		err = failure(d)
	}
	if err != nil {
		return nil, result.PolicyTimings{}, ofPolicy(policy, err)
	}
	row, timings := d.measured()
	rows := make([]result.Row, len(of))
	for i, s := range of {
		rows[i] = row
		if a, ok := d.(*routedAnswer); ok {
			rows[i] = a.measuredFor(s)
		}
	}
	return rows, timings, nil
}

// Run plays every policy of s and gathers the results. It returns early with
// the context's error when ctx is cancelled. A policy whose simulation comes to no end
// does not keep others from theirs: see Outcome.Failed. One that cannot serve s has a
// row that says so; where none can, the error is of type Diagnostics.
func Run(ctx context.Context, s *Scenario, opt RunOptions) (*Outcome, error) {
	begin := time.Now()
	progress := opt.Progress
	if progress == nil {
		progress = func(string, int, int) {}
	}
	if err := s.Ready(); err != nil {
		return nil, err
	}
	names := s.PolicyNames()
	progress("reference", 0, len(names))
	p, err := prepare(ctx, s, opt.Workers)
	if err != nil {
		return nil, err
	}
	o := &Outcome{
		Document: p.document(),
		Timings:  result.Timings{Policies: map[string]result.PolicyTimings{}},
		Detail:   result.Detail{Title: s.Words()},
		Plans:    map[string][]PlanRow{},
	}
	if err := p.begin(ctx, o); err != nil {
		return nil, orEnded(ctx, err)
	}
	var none []unserved
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		progress(name, i, len(names))
		d, err := p.decide(ctx, name, opt.Workers)
		if err = orEnded(ctx, err); err != nil {
			return nil, ofPolicy(name, err)
		}
		if err := failure(d); err != nil {
			o.Failed = append(o.Failed, ofPolicy(name, err))
		}
		row, timings := d.measured()
		o.Document.Rows = append(o.Document.Rows, row)
		o.Timings.Policies[name] = timings
		d.describe(ctx, o)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if u, ok := d.(unserved); ok {
			none = append(none, u)
		}
	}
	if len(none) == len(names) {
		return nil, noneServes(none)
	}
	result.ShareBounds(o.Document.Rows)
	for i := range o.Document.Rows {
		r := &o.Document.Rows[i]
		r.Metrics = result.Derive(r.Metrics, o.Document.Reference)
	}
	progress("done", len(names), len(names))
	o.Timings.WallS = time.Since(begin).Seconds()
	return o, nil
}

// allTimed reports whether every allocator of s has a time limit, within which
// it looks for what allocators share, too.
func (s *Scenario) allTimed() bool {
	limits := map[string]engine.Time{
		"delta-fast": s.Policy.DeltaFast.TimeLimit, "delta-topo": s.Policy.DeltaTopo.TimeLimit, "delta-joint": s.Policy.DeltaJoint.TimeLimit,
	}
	return !slices.ContainsFunc(s.Policy.Allocators, func(name string) bool { return limits[name] == 0 })
}

// ofPolicy says which policy failed; a fault of the input says so by itself.
func ofPolicy(policy string, err error) error {
	if errors.Is(err, ErrInput) {
		return err
	}
	return fmt.Errorf("%s: %w", policy, err)
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

func (d *decided) measured() (result.Row, result.PolicyTimings) { return d.row, d.timings }

func (d *decided) describe(ctx context.Context, o *Outcome) {
	trace := d.fluid
	if d.packets != nil {
		trace = d.packets.trace
	}
	p := d.in.describe(ctx, d.row.Policy, trace, d.Service, d.Circuits)
	if d.packets != nil {
		d.packets.describe(&p, o)
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
func (in *instance) begin(ctx context.Context, o *Outcome) error {
	o.Detail.Reference = in.describe(ctx, "", in.best, in.service, nil)
	var err error
	if err := ctx.Err(); err != nil {
		return err
	}
	o.Detail.Windows, err = in.windows(ctx)
	return err
}

func (in *instance) tasks() int {
	n := len(in.graph.Tasks)
	if r := in.replay; r != nil && r.it != in.it {
		n += len(r.it.Graph.Tasks)
	}
	return n
}

// decide lets one allocator decide, plays its decision on the complete DAG and
// measures it.
func (in *instance) decide(ctx context.Context, name string, workers int) (answer, error) {
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
				rows = append(rows, PlanRow{in.graph.Name(id), steps[k].At.Seconds(), steps[k+1].At.Seconds(), steps[k].Rate})
			}
		}
	}
	return rows
}

// crosses reports whether task id moves data between pods.
func (in *instance) crosses(id int32) bool { return in.pods.Moves(&in.graph.Tasks[id]) }
