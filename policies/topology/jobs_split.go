package topology

import (
	"context"
	"slices"
)

// evenSplit gives each job a share of every pod's ports in proportion to its GPUs there, and lets each decide alone.
type evenSplit struct{}

func (evenSplit) Arbitrate(ctx context.Context, s *Shared, o JobsOptions) (*JobsDecision, error) {
	shares := s.EvenShares()
	jobs := make([]*Decision, len(s.Jobs))
	for j := range jobs {
		var err error
		if jobs[j], err = s.alone(ctx, &o, j, s.Jobs[j].of(shares[j])); err != nil {
			return nil, err
		}
	}
	return s.decision(jobs), nil
}

// EvenShares returns, by job, its even share of the ports of every shared pod: in proportion to its GPUs there, but as
// many as it needs to connect.
func (s *Shared) EvenShares() [][]int {
	need, gpus, out := make([][]int, len(s.Jobs)), make([][]int, len(s.Jobs)), make([][]int, len(s.Jobs))
	for j := range s.Jobs {
		job := &s.Jobs[j]
		need[j], gpus[j], out[j] = make([]int, len(s.Ports)), make([]int, len(s.Ports)), make([]int, len(s.Ports))
		for i, used := range job.Problem.Fabric.Ports(job.Problem.ones()) {
			need[j][job.Pods[i]], gpus[j][job.Pods[i]] = used, job.GPUs[i]
		}
	}
	column := func(of [][]int, pod int) []int {
		c := make([]int, len(of))
		for j := range of {
			c[j] = of[j][pod]
		}
		return c
	}
	for pod, ports := range s.Ports {
		for j, n := range apportion(ports, column(gpus, pod), column(need, pod)) {
			out[j][pod] = n
		}
	}
	return out
}

// apportion divides a number in proportion to claims, each getting at least its least, by largest remainders; equal
// ones go to the first. The leasts must fit the number. A claim of 0 gets its least and no more.
func apportion(number int, claims, least []int) []int {
	got := make([]int, len(claims))
	fixed := make([]bool, len(claims))
	for {
		left, sum := number, 0
		for i := range claims {
			if fixed[i] || claims[i] == 0 {
				fixed[i] = true
				got[i] = least[i]
				left -= got[i]
			} else {
				sum += claims[i]
			}
		}
		rest := left
		var open []int
		short := false
		for i := range claims {
			if fixed[i] {
				continue
			}
			open = append(open, i)
			got[i] = left * claims[i] / sum
			rest -= got[i]
		}
		// the largest remainders first
		slices.SortStableFunc(open, func(a, b int) int { return left*claims[b]%sum - left*claims[a]%sum })
		for _, i := range open[:min(rest, len(open))] {
			got[i]++
		}
		for _, i := range open {
			if got[i] < least[i] {
				fixed[i], short = true, true
			}
		}
		if !short {
			return got
		}
	}
}

// surplus lets one job after the other decide on its even share and what is left over: ports that the jobs before it
// have saved (DELTA, Sec. V-D). It then goes back from the last job to the first, so that those before gain from what
// those after them save.
type surplus struct{}

func (surplus) Arbitrate(ctx context.Context, s *Shared, o JobsOptions) (*JobsDecision, error) {
	held := s.EvenShares() // by job and shared pod; what a job has not decided on is its share
	left := make([]int, len(s.Ports))
	for pod, ports := range s.Ports {
		left[pod] = ports
		for j := range held {
			left[pod] -= held[j][pod]
		}
	}
	jobs := make([]*Decision, len(s.Jobs))
	evaluations := int64(0)
	turns := make([]int, 0, 2*len(jobs))
	for j := range jobs {
		turns = append(turns, j)
	}
	for j := len(jobs) - 2; j >= 0; j-- {
		turns = append(turns, j)
	}
	for _, j := range turns {
		job := &s.Jobs[j]
		open := make([]int, len(left))
		for pod := range open {
			open[pod] = held[j][pod] + left[pod]
		}
		d, err := s.alone(ctx, &o, j, job.of(open))
		if err != nil {
			return nil, err
		}
		evaluations += d.Evaluations
		if jobs[j] == nil || d.Makespan < jobs[j].Makespan {
			jobs[j] = d
		}
		for i, used := range job.Problem.Fabric.Ports(jobs[j].Circuits) {
			pod := job.Pods[i]
			held[j][pod], left[pod] = used, open[pod]-used
		}
	}
	d := s.decision(jobs)
	d.Evaluations = evaluations
	return d, nil
}
