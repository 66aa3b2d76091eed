package topology

import (
	"context"
	"slices"

	"sim/internal/numbers"
)

// evenSplitAllocator gives each job ports of every pod in proportion to its GPUs there,
// and decides each job on its own.
type evenSplitAllocator struct{}

func (evenSplitAllocator) ChooseAll(ctx context.Context, s *SharedPods, o JobsOptions) (*JobsDecision, error) {
	return s.decideSeparately(ctx, &o, s.EvenShares())
}

// EvenShares returns the ports of each job, indexed by job and shared pod. They are
// proportional to its GPUs in the pod, but at least the ports that the job needs to
// connect.
func (s *SharedPods) EvenShares() [][]int {
	shares := make([][]int, len(s.Jobs))
	for j := range shares {
		shares[j] = make([]int, len(s.Ports))
	}
	for pod, ports := range s.Ports {
		need, gpus := make([]int, len(s.Jobs)), make([]int, len(s.Jobs))
		for j := range s.Jobs {
			job := &s.Jobs[j]
			if i := slices.Index(job.Pods, pod); i >= 0 {
				need[j], gpus[j] = job.Problem.Fabric.Ports(job.Problem.ones())[i], job.GPUs[i]
			}
		}
		for j, n := range apportion(ports, gpus, need) {
			shares[j][pod] = n
		}
	}

	return shares
}

// apportion divides number among claims by the method of largest remainders; ties go to
// the first. Each claim gets at least its minimum, and a claim of 0 gets exactly its
// minimum. The minimums must not exceed number in total.
func apportion(number int, claims, minimums []int) []int {
	shares, fixed := make([]int, len(claims)), make([]bool, len(claims))
	for {
		// Claims that are fixed get their minimum.
		remaining, sum := number, 0
		for i := range claims {
			if fixed[i] = fixed[i] || claims[i] == 0; fixed[i] {
				shares[i] = minimums[i]
				remaining -= shares[i]
			} else {
				sum += claims[i]
			}
		}
		// The others get the floor of their proportional share.
		rest := remaining
		var open []int
		for i := range claims {
			if !fixed[i] {
				open = append(open, i)
				shares[i] = remaining * claims[i] / sum
				rest -= shares[i]
			}
		}
		// Largest remainders first.
		slices.SortStableFunc(open, func(a, b int) int { return remaining*claims[b]%sum - remaining*claims[a]%sum })
		for _, i := range open[:min(rest, len(open))] {
			shares[i]++
		}
		// Claims below their minimum are fixed, and the division is repeated.
		short := false
		for _, i := range open {
			if shares[i] < minimums[i] {
				fixed[i], short = true, true
			}
		}
		if !short {
			return shares
		}
	}
}

// surplusAllocator decides jobs one after the other. Each job gets its even share and the
// ports that the jobs before it do not need (DELTA, Sec. V-D). It then goes back from the
// last job to the first, so that earlier jobs can use what later jobs released.
type surplusAllocator struct{}

func (surplusAllocator) ChooseAll(ctx context.Context, s *SharedPods, o JobsOptions) (*JobsDecision, error) {
	held := s.EvenShares() // indexed by job and shared pod; the even share of a job without a decision
	free := slices.Clone(s.Ports)
	for _, portsOfJob := range held {
		for pod, n := range portsOfJob {
			free[pod] -= n
		}
	}

	// Decide forward through the jobs, then backward.
	jobs := make([]*Decision, len(s.Jobs))
	evaluations := int64(0)
	back := numbers.Below(len(jobs) - 1)
	slices.Reverse(back)
	for _, j := range append(numbers.Below(len(jobs)), back...) {
		job := &s.Jobs[j]
		open := make([]int, len(free))
		for pod := range open {
			open[pod] = held[j][pod] + free[pod]
		}
		d, err := s.decideAlone(ctx, &o, j, open)
		if err != nil {
			return nil, err
		}
		evaluations += d.Evaluations
		if jobs[j] == nil || d.Makespan < jobs[j].Makespan {
			jobs[j] = d
		}
		for i, used := range job.Problem.Fabric.Ports(jobs[j].Circuits) {
			pod := job.Pods[i]
			held[j][pod], free[pod] = used, open[pod]-used
		}
	}

	d := s.combine(jobs)
	d.Evaluations = evaluations
	return d, nil
}
