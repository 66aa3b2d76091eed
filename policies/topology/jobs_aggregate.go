package topology

import (
	"context"
	"math"
	"slices"
)

// aggregateAllocator decides each job as if it had all ports, and then scales these
// decisions by weight until they fit together (DELTA, Sec. VI). The paper does not state
// the scaling; scaleToFit defines it.
type aggregateAllocator struct{}

func (aggregateAllocator) ChooseAll(ctx context.Context, s *SharedPods, o JobsOptions) (*JobsDecision, error) {
	wanted, err := s.decideSeparately(ctx, &o, slices.Repeat([][]int{s.Ports}, len(s.Jobs)))
	if err != nil {
		return nil, err
	}
	d, err := s.simulateAndRelease(ctx, s.scaleToFit(wanted.Circuits()), &o)
	if err != nil {
		return nil, err
	}
	d.Evaluations += wanted.Evaluations
	d.Stopped = wanted.Stopped
	return d, nil
}

// simulateAndRelease simulates given circuits of all jobs and keeps the fastest service
// of each job. It then removes the circuits that no job needs. Jobs are visited in order,
// and each may use the ports that earlier jobs released.
func (s *SharedPods) simulateAndRelease(ctx context.Context, circuits [][]int, o *JobsOptions) (*JobsDecision, error) {
	jobs := make([]*Decision, len(s.Jobs))
	free := s.freePorts(s.join(circuits))
	for j := range s.Jobs {
		job := &s.Jobs[j]
		d, err := job.Problem.evaluateBest(ctx, circuits[j], o.services())
		if err != nil {
			return nil, err
		}
		used := job.Problem.Fabric.Ports(d.Circuits)
		open := job.localPorts(free)
		for i := range open {
			open[i] += used[i]
		}
		p, err := job.Problem.withPorts(open)
		if err != nil {
			return nil, err
		}
		p.MinimisePorts(ctx, d, o.Options)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i, now := range p.Fabric.Ports(d.Circuits) {
			free[job.Pods[i]] += used[i] - now
		}
		jobs[j] = d
	}

	return s.combine(jobs), nil
}

// scaleToFit scales requested circuits until they fit the ports:
//
//   - Each pod divides its ports by waterFill, in proportion to weight times requested
//     ports.
//   - Each bundle gets its requested circuits times the smaller factor of its two pods,
//     rounded down, but at least one.
//   - If a pod still uses too many ports, its largest bundle loses circuits.
//   - Remaining ports go one by one to the bundle that lacks the largest fraction of its
//     request, by weight. Ties go to the first bundle.
func (s *SharedPods) scaleToFit(wanted [][]int) [][]int {
	want := s.join(wanted)
	// Requested ports and scaling factors, indexed by job and shared pod.
	requested, scale := make([][]int, len(s.Jobs)), make([][]float64, len(s.Jobs))
	for j := range s.Jobs {
		requested[j], scale[j] = make([]int, len(s.Ports)), make([]float64, len(s.Ports))
	}
	for e, n := range want {
		s.allocate(requested[s.jobOf[e]], e, -n)
	}

	// Divide the ports of each pod among the jobs.
	for pod, ports := range s.Ports {
		demands := make([]float64, len(s.Jobs))
		for j := range demands {
			demands[j] = float64(requested[j][pod])
		}
		for j, got := range waterFill(float64(ports), demands, s.weights) {
			if scale[j][pod] = 1; demands[j] > 0 {
				scale[j][pod] = got / demands[j]
			}
		}
	}

	// Scale each bundle by the smaller factor of its two pods.
	x := make([]int, len(want))
	for e, n := range want {
		factors := scale[s.jobOf[e]]
		factor := min(factors[s.endPods[e][0]], factors[s.endPods[e][1]])
		// 1e-9 prevents a product just below a whole number from being rounded down.
		x[e] = min(n, max(1, int(math.Floor(float64(n)*factor+1e-9))))
	}

	s.reduceToFit(x)
	s.addByWeight(x, func(e int) float64 {
		if x[e] >= want[e] {
			return -1
		}
		return s.weights[s.jobOf[e]] * float64(want[e]-x[e]) / float64(want[e])
	})

	return s.split(x)
}

// waterFill divides an amount in proportion to weight times demand by weighted
// water-filling: no entry gets more than its demand, and the others share what remains.
func waterFill(amount float64, demands, weights []float64) []float64 {
	amounts, isFull := slices.Clone(demands), make([]bool, len(demands))
	for {
		// What remains for the entries whose demand is not met yet.
		remaining, sum := amount, 0.0
		for i, d := range demands {
			if isFull[i] {
				remaining -= d
			} else {
				sum += weights[i] * d
			}
		}
		changed := false
		for i, d := range demands {
			if !isFull[i] {
				amounts[i] = remaining * weights[i] * d / sum
				if isFull[i] = sum == 0 || amounts[i] >= d; isFull[i] {
					amounts[i], changed = d, true
				}
			}
		}
		if !changed {
			return amounts
		}
	}
}
