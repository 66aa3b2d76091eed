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

// blocks returns, by block of stages of all jobs, whose it is; blocks of a job follow each other.
func (s *Scenario) blocks() (job []int) {
	for j := range s.Jobs {
		job = append(job, slices.Repeat([]int{j}, len(s.Jobs[j].Pods))...)
	}
	return job
}

// jobsIn returns s with the blocks of its jobs in other pods of the same row.
func (s *Scenario) jobsIn(at []int32) *Scenario {
	one := *s
	one.Fabric.Pods, one.Mapping = s.PodsInRow(), mapping.Keys{}
	one.Jobs = slices.Clone(s.Jobs)
	for j := range one.Jobs {
		n := len(one.Jobs[j].Pods)
		one.Jobs[j].Pods = make([]int, n)
		for b := range n {
			one.Jobs[j].Pods[b] = int(at[b])
		}
		at = at[n:]
	}
	return &one
}

// jobsListed is the placement that a file lists, a line for each block of stages of all jobs, or the one that the jobs
// name. The text of the error is "what is wrong; want what would be right".
func (s *Scenario) jobsListed(text string) (at []int32, err error) {
	for j := range s.Jobs {
		for _, pod := range s.Jobs[j].Pods {
			at = append(at, int32(pod))
		}
	}
	if text == mapping.Default {
		return at, nil
	}
	jobs, pods := s.blocks(), s.PodsInRow()
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
		if !fitsJob(jobs, list[:u], int32(u), pod) {
			return nil, fmt.Errorf("it has two blocks of job %s in pod %d; want different pods", s.Jobs[jobs[u]].Name, pod)
		}
	}
	return list, nil
}

// fitsJob reports whether a pod has no other block of the same job.
func fitsJob(jobs []int, at []int32, unit, pod int32) bool {
	for u, p := range at {
		if p == pod && jobs[u] == jobs[unit] {
			return false
		}
	}
	return true
}

// buildJobsPlaced makes the instance of several jobs where a mapping has them, whose references are those of the pods
// that the jobs name.
func buildJobsPlaced(ctx context.Context, s *Scenario) (*jobsInstance, error) {
	usual := *s
	usual.Mapping = mapping.Keys{}
	m, err := buildJobs(ctx, &usual, nil)
	if err != nil {
		return nil, err
	}
	var at []int32
	var found *mapping.GroupingResult
	if mapping.IsSearch(s.Mapping.Mapping) {
		if found, err = m.search(ctx, s); err == nil {
			at = found.At
		}
	} else {
		at, err = s.jobsListed(s.Mapping.Mapping)
	}
	if err != nil {
		return nil, err
	}
	placed, err := buildJobs(ctx, s.jobsIn(at), m)
	if err == nil {
		placed.found = found
	}
	return placed, err
}

// search looks for the pods of jobs that are best under the first multi-job allocator.
func (m *jobsInstance) search(ctx context.Context, s *Scenario) (*mapping.GroupingResult, error) {
	z := &jobsPlacement{m: m, s: s, jobs: s.blocks()}
	row, err := topology.FindJobs(s.Policy.Arbiters[0])
	if err != nil {
		return nil, err
	}
	z.row = row
	if z.options, err = s.jobsOptions(1); err != nil {
		return nil, err
	}
	for j := range s.Jobs {
		z.most += s.Jobs[j].Standalone.Fabric.GPUsPerPodPerReplica
	}
	if s.Fabric.PortsPerPod > 0 {
		z.most = s.Fabric.PortsPerPod
	}
	for j := range s.Jobs {
		least, err := m.shared.BoundAlone(ctx, j, z.most)
		if err != nil {
			return nil, err
		}
		z.alone = append(z.alone, least)
	}
	start, err := s.jobsListed(mapping.Default)
	if err != nil {
		return nil, err
	}
	g := &mapping.Grouping{
		Units: len(z.jobs), Pods: s.PodsInRow(), Starts: [][]int32{start}, Bound: z.bound, Guess: z.guess, Value: z.value,
		Fits: func(at []int32, unit, pod int32) bool { return fitsJob(z.jobs, at, unit, pod) },
	}
	found, err := g.Search(ctx, mapping.Options{Trials: s.Mapping.Trials, Seed: s.Seed})
	if err != nil {
		return nil, err
	}
	return found, g.Settle(ctx, found)
}

// jobsPlacement evaluates placements of jobs in pods.
type jobsPlacement struct {
	m       *jobsInstance
	s       *Scenario
	jobs    []int // by block
	row     *topology.JobsRow
	options topology.JobsOptions
	most    int           // ports that a pod may have
	alone   []engine.Time // by job: what it takes at least with all of them
}

// shared is what a multi-job allocator decides on for a placement.
func (z *jobsPlacement) shared(at []int32) (*topology.SharedPods, error) {
	one := &jobsInstance{s: z.s.jobsIn(at)}
	jobs := slices.Clone(z.m.shared.Jobs)
	for j := range jobs {
		jobs[j].Pods = one.podsOf(&one.s.Jobs[j], len(jobs[j].Pods))
	}
	return topology.NewSharedPods(jobs, one.s.PodPorts(), z.m.shared.Goal)
}

// bound is one on the objective wherever blocks without a pod are: each job has the ports of its pods that are left
// beside one circuit for everything that others, which are known to be there, must connect.
func (z *jobsPlacement) bound(ctx context.Context, at []int32) (float64, error) {
	need := make([]int, len(at)) // by block
	first := 0
	for j := range z.s.Jobs {
		n := len(z.s.Jobs[j].Pods)
		p := z.m.shared.Jobs[j].Problem
		for i, ports := range p.Fabric.Ports(slices.Repeat([]int{1}, len(p.Fabric.Bundles))) {
			need[first+i%n] = max(need[first+i%n], ports)
		}
		first += n
	}
	ports := make([][]int, len(z.s.Jobs))
	first = 0
	for j := range z.s.Jobs {
		n := len(z.s.Jobs[j].Pods)
		for i := range z.m.shared.Jobs[j].Pods {
			left, pod := z.most, at[first+i%n]
			for v, other := range at {
				if pod >= 0 && other == pod && z.jobs[v] != j {
					left -= need[v]
				}
			}
			ports[j] = append(ports[j], left)
		}
		first += n
	}
	return z.m.shared.QuickBound(ctx, ports, z.alone)
}

func (z *jobsPlacement) guess(ctx context.Context, at []int32) (float64, error) {
	s, err := z.shared(at)
	if err != nil {
		return math.Inf(1), none(err)
	}
	return s.EstimateValue(ctx)
}

func (z *jobsPlacement) value(ctx context.Context, at []int32, thorough bool) (value, bound float64, err error) {
	s, err := z.shared(at)
	if err != nil {
		return math.Inf(1), math.Inf(1), none(err)
	}
	o := z.options
	if !thorough {
		o.Options = o.Brief()
		o.Search.MaxEvaluations = min(o.Search.MaxEvaluations, o.Joint.MaxEvaluations)
	}
	if z.row.Joint {
		if o.Optimum, err = s.Optimise(ctx, o); err != nil {
			return 0, 0, err
		}
		bound = o.Optimum.Bound
	}
	d, err := z.row.Policy.ChooseAll(ctx, s, o)
	if err != nil {
		return 0, 0, err
	}
	return d.Value, bound, nil
}
