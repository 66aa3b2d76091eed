package circuits

import (
	"context"
	"errors"
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
		Topo:  topology.SearchOptions{MaxEvaluations: p.DeltaTopo.MaxEvaluations, Limit: topology.Limit{TimeLimit: assembly.Wall(p.DeltaTopo.TimeLimit)}},
		Joint: topology.SearchOptions{MaxEvaluations: p.DeltaJoint.MaxEvaluations, Limit: topology.Limit{TimeLimit: assembly.Wall(p.DeltaJoint.TimeLimit)}},
		Fast: topology.FastOptions{
			Population: p.DeltaFast.Population, Elites: p.DeltaFast.Elites, Tournament: p.DeltaFast.Tournament,
			Crossover: p.DeltaFast.Crossover, Mutation: p.DeltaFast.Mutation,
			StallGenerations: p.DeltaFast.StallGenerations, MaxGenerations: p.DeltaFast.MaxGenerations,
			Limit: topology.Limit{TimeLimit: assembly.Wall(p.DeltaFast.TimeLimit)},
		},
	}
	o.MILP = p.MILP.Topology()
	if p.Service != "" {
		v, err := flow.ParseService(p.Service)
		if err != nil {
			return o, err
		}
		o.Service = &v
	}
	return o, nil
}

// decided is a decision with its simulation on the complete DAG and what was measured of it.
type decided struct {
	*topology.Decision
	in      *instance
	fluid   *engine.Trace
	packets *podPackets // nil at level flow
	row     result.Row
	timings result.PolicyTimings
}

func (d *decided) Measured() (result.Row, result.PolicyTimings) { return d.row, d.timings }

func (d *decided) Describe(ctx context.Context, o *assembly.Outcome) {
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

// begin describes the simulation on the ideal fabric.
func (in *instance) Begin(ctx context.Context, o *assembly.Outcome) error {
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

// decide lets one allocator decide, simulates its decision on the complete DAG and measures it.
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
	if in.s.Level == "packet" {
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

// play simulates a decision on the complete DAG. It fails where that does not end when the decision says.
func (in *instance) play(ctx context.Context, d *topology.Decision) (*engine.Trace, error) {
	n, err := in.optical.Provision(d.Circuits)
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

// tailed reports whether decisions may have tails of their own: those of one job, simulated as they are.
func (in *instance) tailed() bool {
	return in.s.Workload.ReplicaMode != "decomposed" && !in.s.Policy.HasDonor() && in.s.Replay.Seeds == 0
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
	policies := s.Policy.Allocators
	if len(s.Jobs) > 0 {
		policies = s.Policy.Arbiters
	}
	settings, err := s.settings(1)
	if err != nil {
		return "", err
	}
	for _, name := range policies {
		schedules, err := s.schedulesRates(name, settings)
		if schedules || err != nil {
			return "", err
		}
	}
	why := "under " + strings.Join(policies, ", ") + " rates are those of fair sharing"
	switch {
	case s.Policy.Service != "":
		return fmt.Sprintf("%s, as policy.service = %q asks; leave it out, or set \"level-priority\"", why, s.Policy.Service), nil
	case len(s.Jobs) > 0:
		return why + "; set policy.allocator = \"delta-joint\" or policy.service = \"level-priority\", or add the arbiter joint", nil
	}
	return why + "; add delta-joint, or set policy.service = \"level-priority\"", nil
}

// schedulesRates reports whether an allocator or arbiter may schedule rates.
func (s *Scenario) schedulesRates(name string, settings topology.Options) (bool, error) {
	if len(s.Jobs) == 0 {
		p, err := topology.ByName(name)
		return topology.SchedulesRates(p, &settings), err
	}
	a, err := topology.ArbiterByName(name)
	if err != nil {
		return false, err
	}
	o, err := s.arbiterOptions(settings)
	return o.SchedulesRates(a), err
}
