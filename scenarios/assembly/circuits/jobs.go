// This file builds and simulates several training jobs in shared pods. Each job is a
// circuitSystem of its own. A multi-job allocator chooses the circuits of all jobs within
// the ports of the shared pods.

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

// jobsSystem is several training jobs in shared pods. Multi-job allocators divide the
// ports of the pods and choose the circuits of each job. It implements assembly.System.
type jobsSystem struct {
	scenario *Scenario
	jobs     []*circuitSystem // each job as if it were alone
	shared   *topology.SharedPods
	pool     *circuitPool // shared circuits; nil if every job has circuits of its own

	optimum once.Value[jobsOptimum] // result of jointOptimum

	podSearch *mapping.GroupingResult // search for the pods of the jobs; nil if they are given
}

// buildJobs builds the systems of all jobs of s and simulates the reference times of each
// job. If reference is not nil, the reference times of its jobs are used instead.
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
		// jobInPods is the job as multi-job allocators need it: its problem, its reference
		// times and its shared pods.
		jobInPods := topology.Job{
			Name:    job.Name,
			Problem: sys.problem,
			Weight:  job.Weight,
			Compute: sys.Times.Compute,
			Ideal:   sys.Times.Ideal,
			Pods:    m.sharedPodsOf(job, len(sys.pods.Pods)),
		}
		for range sys.pods.Pods {
			jobInPods.GPUs = append(jobInPods.GPUs, job.Standalone.Fabric.GPUsPerPodPerReplica)
		}
		m.jobs, jobs = append(m.jobs, sys), append(jobs, jobInPods)
	}

	// The ports of a shared pod bound the circuits of all jobs together.
	goal, err := topology.ParseObjective(s.Policy.Objective)
	if err != nil {
		return nil, err
	}
	if m.shared, err = topology.NewSharedPods(jobs, s.PodPorts(), goal); err != nil {
		return nil, err
	}
	// Jobs may use each other's circuits. They are then also simulated together.
	if s.Policy.Circuits == "shared" {
		if m.pool, err = m.newPool(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// sharedPodsOf returns the shared pod of each of the given number of pods of a job's
// system. Both number pods row by row, with one row per simulated replica. A row has
// len(job.Pods) pods of the job, and PodsInRow shared pods.
func (m *jobsSystem) sharedPodsOf(job *input.Job, pods int) []int {
	shared := make([]int, pods)
	for k := range shared {
		row, column := k/len(job.Pods), k%len(job.Pods)
		shared[k] = row*m.scenario.PodsInRow() + job.Pods[column]
	}
	return shared
}

// jobsOptimum is the result of the joint search.
type jobsOptimum struct {
	*topology.JobsOptimum
	elapsed time.Duration
}

// jointOptimum returns the result of the joint search, which runs once for all multi-job
// allocators.
func (m *jobsSystem) jointOptimum(
	ctx context.Context, o topology.JobsOptions,
) (jobsOptimum, error) {
	return m.optimum.Get(ctx, func() (jobsOptimum, error) {
		start := time.Now()
		best, err := m.shared.Optimise(ctx, o)
		return jobsOptimum{best, time.Since(start)}, err
	})
}

// jobsOptions returns the options of multi-job allocators.
func (s *Scenario) jobsOptions(workers int) (o topology.JobsOptions, err error) {
	single, err := topology.Find(s.Policy.Allocator)
	if err == nil {
		o = topology.JobsOptions{
			Options: s.allocatorOptions(workers),
			Single:  single.Policy,
			Search:  s.Policy.Joint,
		}
	}
	return o, err
}

// jobSimulation is the simulation of one job on its complete DAG.
type jobSimulation struct {
	trace    *engine.Trace
	service  flow.Service
	circuits []int // indexed by bundle of the job; nil for the ideal fabric
}

// Decide calls one multi-job allocator, simulates its decision and measures it. It
// ignores the limit on the time of the work.
func (m *jobsSystem) Decide(
	ctx context.Context, name string, workers int, _ float64,
) (*assembly.PolicyResult, error) {
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
	// All rows have the gap to the bound of the joint search, so it always runs.
	o.Optimum = best.JobsOptimum

	// The decision fits the ports of all shared pods. Fits verifies this independently.
	start := time.Now()
	d, err := allocator.Policy.ChooseAll(ctx, m.shared, o)
	if err != nil {
		return nil, err
	}
	decisionEnd := time.Now()
	timings := result.PolicyTimings{SolveS: decisionEnd.Sub(start).Seconds()}
	// Only the joint allocator is charged for the joint search.
	if allocator.Joint {
		timings.SolveS += best.elapsed.Seconds()
	}
	if !m.shared.Fits(d.Circuits()) {
		return nil, fmt.Errorf("circuits %v exceed the ports %v", d.Circuits(), m.shared.Ports)
	}

	// With circuits of their own, jobs do not affect each other and are simulated
	// separately.
	var runs []jobSimulation
	for j, decision := range d.Jobs {
		t, err := m.jobs[j].simulate(ctx, decision)
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", m.scenario.Jobs[j].Name, err)
		}
		run := jobSimulation{t.Result.Trace, decision.Service, decision.Circuits}
		runs = append(runs, run)
	}
	result := &assembly.PolicyResult{Timings: timings}
	if result.Row, err = m.row(ctx, name, d, best.JobsOptimum); err != nil {
		return nil, err
	}
	result.Timings.SimulateS = time.Since(decisionEnd).Seconds()

	result.Describe = func(ctx context.Context, o *assembly.Outcome) {
		// Rate schedules name the job of each transfer.
		policy := result.Row.Policy // a system that wraps this one may have renamed the row
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

// Begin adds the simulations of all jobs on the ideal fabric to an outcome.
func (m *jobsSystem) Begin(ctx context.Context, o *assembly.Outcome) error {
	var ideal []jobSimulation
	for _, sys := range m.jobs {
		ideal = append(ideal, jobSimulation{trace: sys.referenceTrace, service: sys.Service})
	}
	const noPolicy = ""
	o.Detail.Reference = m.describe(ctx, noPolicy, ideal)
	return nil
}

// describe combines the descriptions of all jobs. Names of tracks and series start with
// the name of their job. Each job keeps its own critical path and topology.
func (m *jobsSystem) describe(
	ctx context.Context, policy string, runs []jobSimulation,
) result.Simulation {
	p := result.Simulation{Policy: policy}
	var services []string
	var circuits [][]int
	for _, run := range runs {
		circuits = append(circuits, run.circuits)
	}

	for j, sys := range m.jobs {
		run := &runs[j]
		detail := sys.describeTrace(ctx, policy, run.trace, run.service, run.circuits)
		// The job's own part keeps its critical path, makespan and topology.
		jobDetail := result.Simulation{
			Policy:    m.scenario.Jobs[j].Name,
			Service:   detail.Service,
			MakespanS: detail.MakespanS,
			Path:      detail.Path,
		}
		if run.circuits != nil {
			jobDetail.Topology = m.jobTopology(j, circuits)
		}
		p.Jobs = append(p.Jobs, jobDetail)

		name := m.scenario.Jobs[j].Name + " "
		for _, l := range detail.Tracks {
			l.Name = name + strings.TrimPrefix(l.Name, "stage ")
			p.Tracks = append(p.Tracks, l)
		}
		// Figures of all jobs combine the tracks and rates of each, and sum the demand of
		// shared pods.
		addPrefix(name, detail.Rates)
		addPrefix(name, detail.Circuits)
		p.Rates = append(p.Rates, detail.Rates...)
		p.Circuits = append(p.Circuits, detail.Circuits...)
		p.Demand = sumSeries(p.Demand, detail.Demand)
		p.MakespanS = max(p.MakespanS, detail.MakespanS)
		services = append(services, m.scenario.Jobs[j].Name+" "+detail.Service)
	}

	// Simulations on the ideal fabric have no circuits.
	p.Service = strings.Join(services, ", ")
	if circuits[0] != nil {
		p.Topology = m.topology(circuits)
	}
	return p
}

// addPrefix puts a prefix before the names and groups of series.
func addPrefix(prefix string, series []result.Series) {
	for i := range series {
		s := &series[i]
		if s.Name = prefix + s.Name; s.Group != "" {
			s.Group = prefix + s.Group
		}
	}
}

// sumSeries adds each step function of added to the function of the same name in sums.
// Functions without such a counterpart are appended.
func sumSeries(sums, added []result.Series) []result.Series {
	for _, s := range added {
		k := slices.IndexFunc(sums, func(o result.Series) bool { return o.Name == s.Name })
		if k < 0 {
			sums = append(sums, s)
			continue
		}

		// The sum may change at the steps of either function.
		times := slices.Sorted(slices.Values(slices.Concat(sums[k].TimeS, s.TimeS)))
		var sum result.Series
		for _, time := range slices.Compact(times) {
			v := valueAt(&sums[k], time) + valueAt(&s, time)
			if n := len(sum.Value); n == 0 || sum.Value[n-1] != v {
				sum.TimeS, sum.Value = append(sum.TimeS, time), append(sum.Value, v)
			}
		}
		sums[k].TimeS, sums[k].Value = sum.TimeS, sum.Value
	}
	return sums
}

// valueAt returns the value of a step function at a time; 0 before its first step.
func valueAt(s *result.Series, time float64) float64 {
	i, found := slices.BinarySearch(s.TimeS, time)
	switch {
	case found:
		return s.Value[i]
	case i == 0:
		return 0
	}
	return s.Value[i-1]
}
