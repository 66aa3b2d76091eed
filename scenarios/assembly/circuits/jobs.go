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

// jobsSystem is a scenario of several jobs built: each as if it were alone, and what they share.
type jobsSystem struct {
	scenario *Scenario
	jobs     []*circuitSystem
	shared   *topology.SharedPods
	pool     *circuitPool // nil where every job has circuits of its own

	optimum once.Value[jobsOptimum] // see best

	podSearch *mapping.GroupingResult // by the search for the pods of the jobs; nil where there was none
}

// buildJobs makes the instances of the jobs of s and simulates their references, which are the usual ones where these
// are given.
func buildJobs(ctx context.Context, s *Scenario, reference *jobsSystem) (*jobsSystem, error) {
	m := &jobsSystem{scenario: s}
	var jobs []topology.Job
	for i := range s.Jobs {
		job := &s.Jobs[i]
		sys, err := buildInPods(ctx, s.standaloneJob(i), job.Pods)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", job.Name, err)
		}
		if reference != nil {
			sys.IdealReference = reference.jobs[i].IdealReference
		}
		shared := topology.Job{
			Name: job.Name, Problem: sys.problem, Weight: job.Weight, Compute: sys.Times.Compute, Ideal: sys.Times.Ideal,
			Pods: m.sharedPodsOf(job, len(sys.pods.Pods)),
		}
		for range sys.pods.Pods {
			shared.GPUs = append(shared.GPUs, job.Standalone.Fabric.GPUsPerPodPerReplica)
		}
		m.jobs, jobs = append(m.jobs, sys), append(jobs, shared)
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

// sharedPodsOf returns the shared pods of a job's own, of all its replicas that are simulated.
func (m *jobsSystem) sharedPodsOf(job *input.Job, pods int) []int {
	n := m.scenario.PodsInRow()
	out := make([]int, pods)
	for k := range out {
		out[k] = k/len(job.Pods)*n + job.Pods[k%len(job.Pods)]
	}
	return out
}

// jobsOptimum is what the joint search finds, and how long it took.
type jobsOptimum struct {
	*topology.JobsOptimum
	elapsed time.Duration
}

// jointOptimum searches once for all arbiters.
func (m *jobsSystem) jointOptimum(ctx context.Context, o topology.JobsOptions) (jobsOptimum, error) {
	return m.optimum.Get(ctx, func() (jobsOptimum, error) {
		begin := time.Now()
		best, err := m.shared.Optimise(ctx, o)
		return jobsOptimum{best, time.Since(begin)}, err
	})
}

// jobsOptions returns the options of arbiters.
func (s *Scenario) jobsOptions(workers int) (o topology.JobsOptions, err error) {
	single, err := topology.Find(s.Policy.Allocator)
	if err == nil {
		o = topology.JobsOptions{Options: s.allocatorOptions(workers), Single: single.Policy, Search: s.Policy.Joint}
	}
	return o, err
}

// jobSimulation is a job's simulation on its complete DAG.
type jobSimulation struct {
	trace    *engine.Trace
	service  flow.Service
	circuits []int // nil for the ideal fabric
}

// decide lets one arbiter decide, simulates its decision and measures it.
func (m *jobsSystem) Decide(ctx context.Context, name string, workers int, _ float64) (*assembly.PolicyResult, error) {
	allocator, err := topology.FindJobs(name)
	if err != nil {
		return nil, err
	}
	o, err := m.scenario.jobsOptions(workers)
	if err != nil {
		return nil, err
	}
	best, err := m.jointOptimum(ctx, o)
	if err != nil {
		return nil, err
	}
	o.Optimum = best.JobsOptimum
	start := time.Now()
	d, err := allocator.Policy.ChooseAll(ctx, m.shared, o)
	if err != nil {
		return nil, err
	}
	decisionEnd := time.Now()
	result := &assembly.PolicyResult{Timings: result.PolicyTimings{SolveS: decisionEnd.Sub(start).Seconds()}}
	if allocator.Joint {
		result.Timings.SolveS += best.elapsed.Seconds()
	}
	if !m.shared.Fits(d.Circuits()) {
		return nil, fmt.Errorf("the circuits %v overrun the ports %v", d.Circuits(), m.shared.Ports)
	}
	var runs []jobSimulation
	for j, decision := range d.Jobs {
		t, err := m.jobs[j].simulate(ctx, decision)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", m.scenario.Jobs[j].Name, err)
		}
		runs = append(runs, jobSimulation{t.Result.Trace, decision.Service, decision.Circuits})
	}
	if result.Row, err = m.row(ctx, name, d, best.JobsOptimum); err != nil {
		return nil, err
	}
	result.Timings.SimulateS = time.Since(decisionEnd).Seconds()
	result.Describe = func(ctx context.Context, o *assembly.Outcome) {
		policy := result.Row.Policy // which systems around this one may rename
		for j, run := range runs {
			if run.service == flow.MaxMin {
				continue
			}
			for _, row := range m.jobs[j].rateSchedule(run.trace) {
				row.Task = m.scenario.Jobs[j].Name + ": " + row.Task
				o.RateSchedules[policy] = append(o.RateSchedules[policy], row)
			}
		}
		o.Detail.Policies = append(o.Detail.Policies, m.describe(ctx, policy, runs))
	}
	return result, nil
}

// begin describes the simulations on the ideal fabric.
func (m *jobsSystem) Begin(ctx context.Context, o *assembly.Outcome) error {
	var ideal []jobSimulation
	for _, sys := range m.jobs {
		ideal = append(ideal, jobSimulation{trace: sys.referenceTrace, service: sys.Service})
	}
	o.Detail.Reference = m.describe(ctx, "", ideal)
	return nil
}

// describe is instance.describe of all jobs, whose names it puts before what is theirs. Critical paths are each job's
// own.
func (m *jobsSystem) describe(ctx context.Context, policy string, runs []jobSimulation) result.Simulation {
	p := result.Simulation{Policy: policy}
	var services []string
	var circuits [][]int
	for _, run := range runs {
		circuits = append(circuits, run.circuits)
	}
	for j, sys := range m.jobs {
		jobDetail := result.Simulation{Policy: m.scenario.Jobs[j].Name}
		if circuits[j] != nil {
			jobDetail.Topology = m.jobTopology(j, circuits)
		}
		detail := sys.describeTrace(ctx, policy, runs[j].trace, runs[j].service, circuits[j])
		jobDetail.Service, jobDetail.MakespanS, jobDetail.Path = detail.Service, detail.MakespanS, detail.Path
		name := m.scenario.Jobs[j].Name + " "
		for _, l := range detail.Tracks {
			l.Name = name + strings.TrimPrefix(l.Name, "stage ")
			p.Tracks = append(p.Tracks, l)
		}
		prefix := func(series []result.Series) []result.Series {
			for i := range series {
				s := &series[i]
				if s.Name = name + s.Name; s.Group != "" {
					s.Group = name + s.Group
				}
			}
			return series
		}
		p.Rates, p.Circuits = append(p.Rates, prefix(detail.Rates)...), append(p.Circuits, prefix(detail.Circuits)...)
		p.Jobs = append(p.Jobs, jobDetail)
		p.Demand = sumSeries(p.Demand, detail.Demand)
		p.MakespanS = max(p.MakespanS, detail.MakespanS)
		services = append(services, m.scenario.Jobs[j].Name+" "+detail.Service)
	}
	p.Service = strings.Join(services, ", ")
	if circuits[0] != nil {
		p.Topology = m.topology(circuits)
	}
	return p
}

// sumSeries adds step functions to those of the same names.
func sumSeries(sums, added []result.Series) []result.Series {
	for _, s := range added {
		k := slices.IndexFunc(sums, func(o result.Series) bool { return o.Name == s.Name })
		if k < 0 {
			sums = append(sums, s)
			continue
		}
		times := slices.Compact(slices.Sorted(slices.Values(slices.Concat(sums[k].TimeS, s.TimeS))))
		var sum result.Series
		for _, time := range times {
			v := valueAt(&sums[k], time) + valueAt(&s, time)
			if n := len(sum.Value); n == 0 || sum.Value[n-1] != v {
				sum.TimeS, sum.Value = append(sum.TimeS, time), append(sum.Value, v)
			}
		}
		sums[k].TimeS, sums[k].Value = sum.TimeS, sum.Value
	}
	return sums
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
