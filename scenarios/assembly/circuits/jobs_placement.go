package circuits

import (
	"context"
	"fmt"
	"math"
	"slices"

	"sim/engine"
	"sim/policies/mapping"
	"sim/policies/topology"
)

// blockJobs returns, by block of stages of all jobs, whose it is; blocks of a job follow each other.
func (s *Scenario) blockJobs() (job []int) {
	for j := range s.Jobs {
		job = append(job, slices.Repeat([]int{j}, len(s.Jobs[j].Pods))...)
	}
	return job
}

// withJobsInPods returns s with the blocks of its jobs in other pods of the same row.
func (s *Scenario) withJobsInPods(pods []int32) *Scenario {
	out := *s
	out.Fabric.Pods, out.Mapping = s.PodsInRow(), mapping.Keys{}
	out.Jobs = slices.Clone(s.Jobs)
	for j := range out.Jobs {
		n := len(out.Jobs[j].Pods)
		out.Jobs[j].Pods = make([]int, n)
		for b := range n {
			out.Jobs[j].Pods[b] = int(pods[b])
		}
		pods = pods[n:]
	}
	return &out
}

// parseJobPlacement is the placement that a file lists, a line for each block of stages of all jobs, or the one that the jobs
// name. The text of the error is "what is wrong; want what would be right".
func (s *Scenario) parseJobPlacement(text string) (at []int32, err error) {
	for j := range s.Jobs {
		for _, pod := range s.Jobs[j].Pods {
			at = append(at, int32(pod))
		}
	}
	if text == mapping.Default {
		return at, nil
	}
	jobs, pods := s.blockJobs(), s.PodsInRow()
	list, read := s.Mapping.FileEndpoints()[text]
	switch {
	case !read:
		return nil, fmt.Errorf("of several jobs each has its blocks of stages where job.pods says; want %s, which is that, \"optimised\", or a file", mapping.Default)
	case len(list) != len(jobs):
		return nil, fmt.Errorf("it lists %d pods for %d blocks of stages of all jobs; want a line for each block", len(list), len(jobs))
	}
	for u, pod := range list {
		if int(pod) >= pods {
			return nil, fmt.Errorf("it names pod %d, and a row has %d; want pods from 0 to %d, or a larger fabric.pods", pod, pods, pods-1)
		}
		if !isFreeOfJob(jobs, list[:u], int32(u), pod) {
			return nil, fmt.Errorf("it has two blocks of job %s in pod %d; want different pods", s.Jobs[jobs[u]].Name, pod)
		}
	}
	return list, nil
}

// isFreeOfJob reports whether a pod has no other block of the same job.
func isFreeOfJob(jobs []int, at []int32, unit, pod int32) bool {
	for u, p := range at {
		if p == pod && jobs[u] == jobs[unit] {
			return false
		}
	}
	return true
}

// buildMappedJobs makes the instance of several jobs where a mapping has them, whose references are those of the pods
// that the jobs name.
func buildMappedJobs(ctx context.Context, s *Scenario) (*jobsSystem, error) {
	reference := *s
	reference.Mapping = mapping.Keys{}
	inOrder, err := buildJobs(ctx, &reference, nil)
	if err != nil {
		return nil, err
	}
	var pods []int32
	var search *mapping.GroupingResult
	if mapping.IsSearch(s.Mapping.Mapping) {
		if search, err = inOrder.searchPods(ctx, s); err == nil {
			pods = search.At
		}
	} else {
		pods, err = s.parseJobPlacement(s.Mapping.Mapping)
	}
	if err != nil {
		return nil, err
	}
	placed, err := buildJobs(ctx, s.withJobsInPods(pods), inOrder)
	if err == nil {
		placed.podSearch = search
	}
	return placed, err
}

// searchPods looks for the pods of jobs that are best under the first multi-job allocator.
func (m *jobsSystem) searchPods(ctx context.Context, s *Scenario) (*mapping.GroupingResult, error) {
	evaluator := &podEvaluator{system: m, scenario: s, blockJobs: s.blockJobs()}
	row, err := topology.FindJobs(s.Policy.Arbiters[0])
	if err != nil {
		return nil, err
	}
	evaluator.allocator = row
	if evaluator.options, err = s.jobsOptions(1); err != nil {
		return nil, err
	}
	for j := range s.Jobs {
		evaluator.maxPodPorts += s.Jobs[j].Standalone.Fabric.GPUsPerPodPerReplica
	}
	if s.Fabric.PortsPerPod > 0 {
		evaluator.maxPodPorts = s.Fabric.PortsPerPod
	}
	for j := range s.Jobs {
		bound, err := m.shared.BoundAlone(ctx, j, evaluator.maxPodPorts)
		if err != nil {
			return nil, err
		}
		evaluator.minDurations = append(evaluator.minDurations, bound)
	}
	start, err := s.parseJobPlacement(mapping.Default)
	if err != nil {
		return nil, err
	}
	g := &mapping.Grouping{
		Units: len(evaluator.blockJobs), Pods: s.PodsInRow(), Starts: [][]int32{start}, Bound: evaluator.lowerBound, Guess: evaluator.estimate, Value: evaluator.evaluate,
		Fits: func(at []int32, unit, pod int32) bool { return isFreeOfJob(evaluator.blockJobs, at, unit, pod) },
	}
	best, err := g.Search(ctx, mapping.Options{Trials: s.Mapping.Trials, Seed: s.Seed})
	if err != nil {
		return nil, err
	}
	return best, g.Settle(ctx, best)
}

// podEvaluator evaluates placements of jobs in pods.
type podEvaluator struct {
	system       *jobsSystem
	scenario     *Scenario
	blockJobs    []int // by block
	allocator    *topology.JobsRow
	options      topology.JobsOptions
	maxPodPorts  int           // ports that a pod may have
	minDurations []engine.Time // by job: what it takes at least with all of them
}

// sharedPods is what a multi-job allocator decides on for a placement.
func (z *podEvaluator) sharedPods(pods []int32) (*topology.SharedPods, error) {
	placed := &jobsSystem{scenario: z.scenario.withJobsInPods(pods)}
	jobs := slices.Clone(z.system.shared.Jobs)
	for j := range jobs {
		jobs[j].Pods = placed.sharedPodsOf(&placed.scenario.Jobs[j], len(jobs[j].Pods))
	}
	return topology.NewSharedPods(jobs, placed.scenario.PodPorts(), z.system.shared.Goal)
}

// lowerBound is one on the objective wherever blocks without a pod are: each job has the ports of its pods that are left
// beside one circuit for everything that others, which are known to be there, must connect.
func (z *podEvaluator) lowerBound(ctx context.Context, pods []int32) (float64, error) {
	required := make([]int, len(pods)) // by block
	first := 0
	for j := range z.scenario.Jobs {
		n := len(z.scenario.Jobs[j].Pods)
		p := z.system.shared.Jobs[j].Problem
		for i, ports := range p.Fabric.Ports(slices.Repeat([]int{1}, len(p.Fabric.Bundles))) {
			required[first+i%n] = max(required[first+i%n], ports)
		}
		first += n
	}
	ports := make([][]int, len(z.scenario.Jobs))
	first = 0
	for j := range z.scenario.Jobs {
		n := len(z.scenario.Jobs[j].Pods)
		for i := range z.system.shared.Jobs[j].Pods {
			free, pod := z.maxPodPorts, pods[first+i%n]
			for v, other := range pods {
				if pod >= 0 && other == pod && z.blockJobs[v] != j {
					free -= required[v]
				}
			}
			ports[j] = append(ports[j], free)
		}
		first += n
	}
	return z.system.shared.QuickBound(ctx, ports, z.minDurations)
}

func (z *podEvaluator) estimate(ctx context.Context, pods []int32) (float64, error) {
	s, err := z.sharedPods(pods)
	if err != nil {
		return math.Inf(1), ignoreInfeasible(err)
	}
	return s.EstimateValue(ctx)
}

func (z *podEvaluator) evaluate(ctx context.Context, pods []int32, thorough bool) (value, bound float64, err error) {
	s, err := z.sharedPods(pods)
	if err != nil {
		return math.Inf(1), math.Inf(1), ignoreInfeasible(err)
	}
	o := z.options
	if !thorough {
		o.Options = o.Brief()
		o.Search.MaxEvaluations = min(o.Search.MaxEvaluations, o.Joint.MaxEvaluations)
	}
	if z.allocator.Joint {
		if o.Optimum, err = s.Optimise(ctx, o); err != nil {
			return 0, 0, err
		}
		bound = o.Optimum.Bound
	}
	d, err := z.allocator.Policy.ChooseAll(ctx, s, o)
	if err != nil {
		return 0, 0, err
	}
	return d.Value, bound, nil
}
