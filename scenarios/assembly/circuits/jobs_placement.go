// This file places several jobs in a row of shared pods. A block is the part of a job's
// stages that one pod holds. A placement holds the pod of each block of all jobs. It is
// given by job.pods, listed in a file, or searched for.

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

// blockJobs returns the job of each block of stages. The blocks of a job follow each
// other.
func (s *Scenario) blockJobs() (job []int) {
	for j := range s.Jobs {
		job = append(job, slices.Repeat([]int{j}, len(s.Jobs[j].Pods))...)
	}
	return job
}

// withJobsInPods returns s with its blocks in the given pods of the same row, indexed by
// block.
func (s *Scenario) withJobsInPods(pods []int32) *Scenario {
	out := *s
	// The row must keep its number of pods, even if the last pods remain empty.
	out.Fabric.Pods, out.Mapping = s.PodsInRow(), mapping.Keys{}
	out.Jobs = slices.Clone(s.Jobs)
	for j := range out.Jobs {
		n := len(out.Jobs[j].Pods)
		out.Jobs[j].Pods = make([]int, n)
		for b := range n {
			out.Jobs[j].Pods[b] = int(pods[b])
		}
		// The remaining pods belong to the next jobs.
		pods = pods[n:]
	}
	return &out
}

// parseJobPlacement returns the pod of each block, as job.pods sets it or as a file lists
// it, with one line per block of all jobs. Its errors have the form "problem; want
// remedy".
func (s *Scenario) parseJobPlacement(text string) (pods []int32, err error) {
	for j := range s.Jobs {
		for _, pod := range s.Jobs[j].Pods {
			pods = append(pods, int32(pod))
		}
	}
	if text == mapping.Default {
		return pods, nil
	}

	jobs, rowPods := s.blockJobs(), s.PodsInRow()
	list, isFile := s.Mapping.FileEndpoints()[text]
	switch {
	case !isFile:
		return nil, fmt.Errorf("job.pods places the blocks of stages of several jobs; "+
			"want %s, which keeps job.pods, \"optimised\", or a file", mapping.Default)
	case len(list) != len(jobs):
		return nil, fmt.Errorf("it lists %d pods for %d blocks of stages of all jobs; "+
			"want a line for each block", len(list), len(jobs))
	}

	for u, pod := range list {
		if int(pod) >= rowPods {
			return nil, fmt.Errorf("it names pod %d, and a row has %d; "+
				"want pods from 0 to %d, or a larger fabric.pods", pod, rowPods, rowPods-1)
		}
		if !isFreeOfJob(jobs, list[:u], int32(u), pod) {
			return nil, fmt.Errorf("it has two blocks of job %s in pod %d; want different pods",
				s.Jobs[jobs[u]].Name, pod)
		}
	}
	return list, nil
}

// isFreeOfJob reports whether a pod holds no other block of the job of block unit. The
// slice pods is indexed by block, and jobs holds the job of each block.
func isFreeOfJob(jobs []int, pods []int32, unit, pod int32) bool {
	for u, p := range pods {
		if p == pod && jobs[u] == jobs[unit] {
			return false
		}
	}
	return true
}

// buildMappedJobs builds the system of several jobs whose pods a mapping chooses. Its
// references are computed for the pods in job.pods, so that mappings can be compared.
func buildMappedJobs(ctx context.Context, s *Scenario) (*jobsSystem, error) {
	// Build the reference system first: the jobs in the pods of job.pods. A search also
	// uses its problems.
	reference := *s
	reference.Mapping = mapping.Keys{}
	var noReference *jobsSystem // this is the reference
	inOrder, err := buildJobs(ctx, &reference, noReference)
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

// searchPods searches for the pods of all jobs that are best under the first multi-job
// allocator.
func (m *jobsSystem) searchPods(
	ctx context.Context, s *Scenario,
) (*mapping.GroupingResult, error) {
	evaluator := &podEvaluator{system: m, scenario: s, blockJobs: s.blockJobs()}
	row, err := topology.FindJobs(s.Policy.MultiJobAllocators[0])
	if err != nil {
		return nil, err
	}
	evaluator.allocator = row
	const workers = 1 // placements are evaluated one after the other
	if evaluator.options, err = s.jobsOptions(workers); err != nil {
		return nil, err
	}

	// Without a given number of ports, a pod has a port per GPU. All jobs may share it.
	for j := range s.Jobs {
		evaluator.maxPodPorts += s.Jobs[j].Standalone.Fabric.GPUsPerPodPerReplica
	}
	if s.Fabric.PortsPerPod > 0 {
		evaluator.maxPodPorts = s.Fabric.PortsPerPod
	}
	for j := range s.Jobs {
		// A job is at least as fast with all ports of its pods as with any part of them.
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
		Units:  len(evaluator.blockJobs),
		Pods:   s.PodsInRow(),
		Starts: [][]int32{start},
		Bound:  evaluator.lowerBound,
		Guess:  evaluator.estimate,
		Value:  evaluator.evaluate,
		Fits: func(pods []int32, unit, pod int32) bool {
			return isFreeOfJob(evaluator.blockJobs, pods, unit, pod)
		},
	}
	best, err := g.Search(ctx, mapping.Options{Trials: s.Mapping.Trials, Seed: s.Seed})
	if err != nil {
		return nil, err
	}
	return best, g.Settle(ctx, best)
}

// podEvaluator evaluates placements of jobs for mapping.Grouping. A placement holds the
// pod of each block, or -1 if the block is not placed yet.
type podEvaluator struct {
	system       *jobsSystem // jobs in the pods of job.pods
	scenario     *Scenario
	blockJobs    []int // see Scenario.blockJobs
	allocator    *topology.JobsRow
	options      topology.JobsOptions
	maxPodPorts  int           // upper bound on the ports of a pod
	minDurations []engine.Time // lower bound on the makespan of each job with maxPodPorts
}

// sharedPods returns the problem of multi-job allocators for a placement.
func (z *podEvaluator) sharedPods(pods []int32) (*topology.SharedPods, error) {
	// Only the pods of jobs change. Their problems, weights and reference times stay.
	placed := &jobsSystem{scenario: z.scenario.withJobsInPods(pods)}
	jobs := slices.Clone(z.system.shared.Jobs)
	for j := range jobs {
		jobs[j].Pods = placed.sharedPodsOf(&placed.scenario.Jobs[j], len(jobs[j].Pods))
	}
	return topology.NewSharedPods(jobs, placed.scenario.PodPorts(), z.system.shared.Goal)
}

// lowerBound returns a lower bound on the objective of every placement that contains the
// given partial one. In the relaxation, the other blocks that are known to be in a pod
// use only one circuit per bundle. A job may use all remaining ports of its pods.
func (z *podEvaluator) lowerBound(ctx context.Context, pods []int32) (float64, error) {
	// The ports that each block needs for one circuit per bundle. Pod i of a job holds its
	// block i%n, because pods are numbered replica by replica and a replica has n blocks.
	required := make([]int, len(pods))
	first := 0 // first block of the job
	for j := range z.scenario.Jobs {
		n := len(z.scenario.Jobs[j].Pods)
		o := z.system.shared.Jobs[j].Problem.Fabric
		for i, ports := range o.Ports(slices.Repeat([]int{1}, len(o.Bundles))) {
			required[first+i%n] = max(required[first+i%n], ports)
		}
		first += n
	}

	// Ports that each job may use, indexed by job and pod of the job.
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

// estimate returns the objective of simple topologies.
func (z *podEvaluator) estimate(ctx context.Context, pods []int32) (float64, error) {
	s, err := z.sharedPods(pods)
	if err != nil {
		return math.Inf(1), ignoreInfeasible(err)
	}
	return s.EstimateValue(ctx)
}

// evaluate returns the objective of the allocator's decision, and a lower bound on all
// decisions; 0 if the allocator is not joint. If thorough is false, searches have small
// budgets.
func (z *podEvaluator) evaluate(
	ctx context.Context, pods []int32, thorough bool,
) (value, bound float64, err error) {
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
