package scenarios

import (
	"context"
	"fmt"
	"time"

	"sim/engine"
	"sim/engine/flow"
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
}

// PlanRow is a line of an exported rate schedule: Task runs at Rate from FromS
// to ToS.
type PlanRow struct {
	Task       string
	FromS, ToS float64
	Rate       float64 // bits per second over all flows of the task
}

// Run plays every policy of s and gathers the results. It returns early with
// the context's error when ctx is cancelled.
func Run(ctx context.Context, s *Scenario, opt RunOptions) (*Outcome, error) {
	begin := time.Now()
	progress := opt.Progress
	if progress == nil {
		progress = func(string, int, int) {}
	}
	progress("reference", 0, len(s.Policy.Allocators))
	in, err := build(s)
	if err != nil {
		return nil, err
	}
	in.problem.Bound() // shared by all rows: no allocator's time
	settings, err := s.settings(opt.Workers)
	if err != nil {
		return nil, err
	}
	o := &Outcome{
		Document: result.Document{
			Schema: result.Schema, Scenario: s.Name, Digest: s.Digest(), Seed: s.Seed, Version: result.Version,
			Reference: in.referenceMetrics(),
		},
		Timings: result.Timings{Policies: map[string]result.PolicyTimings{}},
		Detail:  result.Detail{Title: s.Words(), Reference: in.describe("", in.ideal, in.service, nil)},
		Plans:   map[string][]PlanRow{},
	}
	if o.Detail.Windows, err = in.windows(); err != nil {
		return nil, err
	}
	for i, name := range s.Policy.Allocators {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		progress(name, i, len(s.Policy.Allocators))
		if err := in.decide(ctx, name, settings, o); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	progress("done", len(s.Policy.Allocators), len(s.Policy.Allocators))
	o.Timings.WallS = time.Since(begin).Seconds()
	return o, nil
}

// settings returns the options of the allocators.
func (s *Scenario) settings(workers int) (topology.Options, error) {
	p := &s.Policy
	o := topology.Options{
		Seed: s.Seed, Workers: workers, PortTolerance: p.PortTolerance, Fixed: p.Fixed.Circuits,
		Topo:  topology.SearchOptions{MaxEvaluations: p.DeltaTopo.MaxEvaluations, TimeLimit: wall(p.DeltaTopo.TimeLimit)},
		Joint: topology.SearchOptions{MaxEvaluations: p.DeltaJoint.MaxEvaluations, TimeLimit: wall(p.DeltaJoint.TimeLimit)},
		Fast: topology.FastOptions{
			Population: p.DeltaFast.Population, Elites: p.DeltaFast.Elites, Tournament: p.DeltaFast.Tournament,
			Crossover: p.DeltaFast.Crossover, Mutation: p.DeltaFast.Mutation,
			StallGenerations: p.DeltaFast.StallGenerations, MaxGenerations: p.DeltaFast.MaxGenerations,
			TimeLimit: wall(p.DeltaFast.TimeLimit),
		},
	}
	if p.Service != "" {
		v, err := flow.ParseService(p.Service)
		if err != nil {
			return o, err
		}
		o.Service = &v
	}
	return o, nil
}

// wall converts a span of the scenario to wall-clock time.
func wall(t engine.Time) time.Duration { return time.Duration(t / engine.Nanosecond) }

// decide lets one allocator decide, plays its decision on the complete DAG and
// adds what came of it to o.
func (in *instance) decide(ctx context.Context, name string, settings topology.Options, o *Outcome) error {
	policy, err := topology.ByName(name)
	if err != nil {
		return err
	}
	begin := time.Now()
	var d *topology.Decision
	if in.s.Workload.ReplicaMode == "decomposed" {
		d, err = in.decompose(ctx, policy, settings)
	} else {
		d, err = policy.Choose(ctx, in.problem, settings)
	}
	if err != nil {
		return err
	}
	solved := time.Now()
	n, err := in.optical.Light(d.Circuits)
	if err != nil {
		return err
	}
	trace, err := flow.Run(in.it.Graph, n, in.optical.Routes, flow.Options{Service: d.Service, Rates: true})
	if err != nil {
		return err
	}
	if off := trace.Makespan - d.Makespan; max(off, -off) > engine.Time(len(in.it.Graph.Tasks)) {
		return fmt.Errorf("the complete DAG ends at %v, the reduced one at %v: they must agree to a tick a task", trace.Makespan, d.Makespan)
	}
	row, err := in.row(name, d, trace)
	if err != nil {
		return err
	}
	o.Document.Rows = append(o.Document.Rows, row)
	o.Detail.Policies = append(o.Detail.Policies, in.describe(name, trace, d.Service, d.Circuits))
	if d.Service != flow.MaxMin {
		o.Plans[name] = in.plan(trace)
	}
	o.Timings.Policies[name] = result.PolicyTimings{
		SolveS: solved.Sub(begin).Seconds(), PlayS: time.Since(solved).Seconds(),
	}
	return nil
}

// plan lists the rates of every transfer between pods.
func (in *instance) plan(t *engine.Trace) []PlanRow {
	var rows []PlanRow
	for i := range in.it.Graph.Tasks {
		id := int32(i)
		if !in.crosses(id) {
			continue
		}
		steps := t.Rates(id)
		for k := 0; k+1 < len(steps); k++ {
			if steps[k].Rate > 0 {
				rows = append(rows, PlanRow{in.it.Graph.Name(id), steps[k].At.Seconds(), steps[k+1].At.Seconds(), steps[k].Rate})
			}
		}
	}
	return rows
}

// crosses reports whether task id moves data between pods.
func (in *instance) crosses(id int32) bool {
	t := &in.it.Graph.Tasks[id]
	return t.Kind == engine.Transfer && in.pods.Crosses(t.Src, t.Dst)
}
