package circuits

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sim/engine"
	"sim/engine/flow"
	"sim/internal/once"
	"sim/policies/mapping"
	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/input"
	"sim/scenarios/result"
)

// jobsInstance is a scenario of several jobs built: each as if it were alone, and what they share.
type jobsInstance struct {
	s      *Scenario
	jobs   []*instance
	shared *topology.SharedPods
	pool   *pool // nil where every job has circuits of its own

	optimum once.Value[jobsOptimum] // see best

	found *mapping.GroupingResult // by the search for the pods of the jobs; nil where there was none
}

// buildJobs makes the instances of the jobs of s and simulates their references, which are the usual ones where these
// are given.
func buildJobs(ctx context.Context, s *Scenario, usual *jobsInstance) (*jobsInstance, error) {
	m := &jobsInstance{s: s}
	var jobs []topology.Job
	for i := range s.Jobs {
		job := &s.Jobs[i]
		in, err := buildIn(ctx, s.alone(i), job.Pods)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", job.Name, err)
		}
		if usual != nil {
			in.IdealReference = usual.jobs[i].IdealReference
		}
		one := topology.Job{
			Name: job.Name, Problem: in.problem, Weight: job.Weight, Compute: in.Times.Compute, Ideal: in.Times.Ideal,
			Pods: m.podsOf(job, len(in.pods.Pods)),
		}
		for range in.pods.Pods {
			one.GPUs = append(one.GPUs, job.Standalone.Fabric.GPUsPerPodPerReplica)
		}
		m.jobs, jobs = append(m.jobs, in), append(jobs, one)
	}
	goal, err := topology.ParseObjective(s.Policy.Objective)
	if err != nil {
		return nil, err
	}
	if m.shared, err = topology.NewSharedPods(jobs, s.PodPorts(), goal); err != nil {
		return nil, err
	}
	if s.Policy.Circuits == "shared" {
		if m.pool, err = m.newPool(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// podsOf returns the shared pods of a job's own, of all its replicas that are simulated.
func (m *jobsInstance) podsOf(job *input.Job, pods int) []int {
	n := m.s.PodsInRow()
	out := make([]int, pods)
	for k := range out {
		out[k] = k/len(job.Pods)*n + job.Pods[k%len(job.Pods)]
	}
	return out
}

// jobsOptimum is what the joint search finds, and how long it took.
type jobsOptimum struct {
	*topology.JobsOptimum
	took time.Duration
}

// best searches once for all arbiters.
func (m *jobsInstance) best(ctx context.Context, o topology.JobsOptions) (jobsOptimum, error) {
	return m.optimum.Get(ctx, func() (jobsOptimum, error) {
		begin := time.Now()
		found, err := m.shared.Optimise(ctx, o)
		return jobsOptimum{found, time.Since(begin)}, err
	})
}

// jobsOptions returns the options of arbiters.
func (s *Scenario) jobsOptions(workers int) (o topology.JobsOptions, err error) {
	single, err := topology.Find(s.Policy.Allocator)
	if err == nil {
		o = topology.JobsOptions{Options: s.options(workers), Single: single.Policy, Search: s.Policy.Joint}
	}
	return o, err
}

// jobRun is a job's simulation on its complete DAG.
type jobRun struct {
	trace    *engine.Trace
	service  flow.Service
	circuits []int // nil for the ideal fabric
}

// decide lets one arbiter decide, simulates its decision and measures it.
func (m *jobsInstance) Decide(ctx context.Context, name string, workers int, _ float64) (*assembly.PolicyResult, error) {
	by, err := topology.FindJobs(name)
	if err != nil {
		return nil, err
	}
	o, err := m.s.jobsOptions(workers)
	if err != nil {
		return nil, err
	}
	best, err := m.best(ctx, o)
	if err != nil {
		return nil, err
	}
	o.Optimum = best.JobsOptimum
	begin := time.Now()
	d, err := by.Policy.ChooseAll(ctx, m.shared, o)
	if err != nil {
		return nil, err
	}
	solved := time.Now()
	out := &assembly.PolicyResult{Timings: result.PolicyTimings{SolveS: solved.Sub(begin).Seconds()}}
	if by.Joint {
		out.Timings.SolveS += best.took.Seconds()
	}
	if !m.shared.Fits(d.Circuits()) {
		return nil, fmt.Errorf("the circuits %v overrun the ports %v", d.Circuits(), m.shared.Ports)
	}
	var runs []jobRun
	for j, one := range d.Jobs {
		t, err := m.jobs[j].simulate(ctx, one)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", m.s.Jobs[j].Name, err)
		}
		runs = append(runs, jobRun{t.Result.Trace, one.Service, one.Circuits})
	}
	if out.Row, err = m.row(ctx, name, d, best.JobsOptimum); err != nil {
		return nil, err
	}
	out.Timings.SimulateS = time.Since(solved).Seconds()
	out.Describe = func(ctx context.Context, o *assembly.Outcome) {
		policy := out.Row.Policy // which systems around this one may rename
		for j, run := range runs {
			if run.service == flow.MaxMin {
				continue
			}
			for _, row := range m.jobs[j].plan(run.trace) {
				row.Task = m.s.Jobs[j].Name + ": " + row.Task
				o.RateSchedules[policy] = append(o.RateSchedules[policy], row)
			}
		}
		o.Detail.Policies = append(o.Detail.Policies, m.describe(ctx, policy, runs))
	}
	return out, nil
}

// begin describes the simulations on the ideal fabric.
func (m *jobsInstance) Begin(ctx context.Context, o *assembly.Outcome) error {
	var ideal []jobRun
	for _, in := range m.jobs {
		ideal = append(ideal, jobRun{trace: in.best, service: in.Service})
	}
	o.Detail.Reference = m.describe(ctx, "", ideal)
	return nil
}

// describe is instance.describe of all jobs, whose names it puts before what is theirs. Critical paths are each job's
// own.
func (m *jobsInstance) describe(ctx context.Context, policy string, runs []jobRun) result.Simulation {
	p := result.Simulation{Policy: policy}
	var how []string
	var circuits [][]int
	for _, run := range runs {
		circuits = append(circuits, run.circuits)
	}
	for j, in := range m.jobs {
		alone := result.Simulation{Policy: m.s.Jobs[j].Name}
		if circuits[j] != nil {
			alone.Topology = m.ownTopology(j, circuits)
		}
		one := in.describe(ctx, policy, runs[j].trace, runs[j].service, circuits[j])
		alone.Service, alone.MakespanS, alone.Path = one.Service, one.MakespanS, one.Path
		name := m.s.Jobs[j].Name + " "
		for _, l := range one.Tracks {
			l.Name = name + strings.TrimPrefix(l.Name, "stage ")
			p.Tracks = append(p.Tracks, l)
		}
		named := func(series []result.Series) []result.Series {
			for i := range series {
				s := &series[i]
				if s.Name = name + s.Name; s.Group != "" {
					s.Group = name + s.Group
				}
			}
			return series
		}
		p.Rates, p.Circuits = append(p.Rates, named(one.Rates)...), append(p.Circuits, named(one.Circuits)...)
		p.Jobs = append(p.Jobs, alone)
		p.Demand = addSeries(p.Demand, one.Demand)
		p.MakespanS = max(p.MakespanS, one.MakespanS)
		how = append(how, m.s.Jobs[j].Name+" "+one.Service)
	}
	p.Service = strings.Join(how, ", ")
	if circuits[0] != nil {
		p.Topology = m.topology(circuits)
	}
	return p
}

// addSeries adds step functions to those of the same names.
func addSeries(to, more []result.Series) []result.Series {
	for _, s := range more {
		k := slices.IndexFunc(to, func(o result.Series) bool { return o.Name == s.Name })
		if k < 0 {
			to = append(to, s)
			continue
		}
		times := slices.Compact(slices.Sorted(slices.Values(slices.Concat(to[k].TimeS, s.TimeS))))
		var sum result.Series
		for _, at := range times {
			v := valueAt(&to[k], at) + valueAt(&s, at)
			if n := len(sum.Value); n == 0 || sum.Value[n-1] != v {
				sum.TimeS, sum.Value = append(sum.TimeS, at), append(sum.Value, v)
			}
		}
		to[k].TimeS, to[k].Value = sum.TimeS, sum.Value
	}
	return to
}

// valueAt returns the value of a step function at a time.
func valueAt(s *result.Series, at float64) float64 {
	i, found := slices.BinarySearch(s.TimeS, at)
	switch {
	case found:
		return s.Value[i]
	case i == 0:
		return 0
	}
	return s.Value[i-1]
}
