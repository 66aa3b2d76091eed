package collective

import (
	"sim/engine"
	"sim/policies/collective"
)

// Bound returns a lower bound on the cost of any plan, also of families unknown to this package.
// It is the minimum over d of d R + steps * latency, plus the time of the bytes at full rate.
// Every step costs the latency and the time of its longest message, so both can be added. Errors:
// from Problem.Check.
//
// Steps: the contribution of a GPU must reach all n, in reverse for a reduce-scatter. In a phase
// of s steps, data of m GPUs reaches at most m (1 + k + .. + k^s) GPUs (Moore bound). The product
// over d phases must be at least n. With enough phases, this is ceil(log_{k+1} n) steps.
//
// Bytes: a GPU receives or sends all shards but its own over k links. In an all-reduce every byte
// crosses at least 2(n-1) of the n k links (Patarasuk and Yuan, 2009).
func Bound(p *Problem) (engine.Time, error) {
	if err := p.Check(); err != nil {
		return 0, err
	}
	best := engine.Never
	for i, steps := range minSteps(p.GPUs, p.Degree) {
		topologies := i + 1
		best = min(best, engine.Time(topologies)*p.Delay+engine.Time(steps)*p.Latency)
	}
	n, k := int64(p.GPUs), int64(p.Degree)
	bytes := (p.Bytes - p.Bytes/n + k - 1) / k
	if p.Op == collective.AllReduce {
		bytes = ceilShare(p.Bytes, 2*(n-1), n*k)
	}

	// The time of a step is rounded down to a tick, so the sum may be lower than the time of all
	// bytes by one tick per step that carries bytes. There are at most as many such steps as bytes.
	// No useful plan has more than 4n steps: a ring takes 2(n-1) for an all-reduce.
	serial := p.StepTime(bytes) - p.Latency
	maxSteps := min(bytes, 4*n)
	return best + max(0, serial-engine.Time(maxSteps)), nil
}

// ceilShare returns b*x/y rounded up, without overflow for x <= 2y.
func ceilShare(b, x, y int64) int64 {
	whole, rest := b/y, b%y
	return whole*x + (rest*x+y-1)/y
}

// minSteps returns, for d = 1, 2, .. topologies of degree k, a lower bound on the steps in which
// data of one GPU can reach all n GPUs. It ends when d equals this bound, because more topologies
// than steps are useless. The Moore bound is log-concave in the steps of a phase, so phases of
// equal length reach the maximum.
func minSteps(n, k int) []int {
	var minimum []int
	for d := 1; len(minimum) == 0 || d <= minimum[len(minimum)-1]; d++ {
		t := d
		for ; ; t++ {
			short := mooreBound(n, k, t/d)
			long := mooreBound(n, k, t/d+1)
			reach := 1
			for i := range d {
				if i < t%d {
					reach *= long
				} else {
					reach *= short
				}
				reach = min(reach, n)
			}

			if reach == n {
				break
			}
		}

		minimum = append(minimum, t)
	}

	return minimum
}

// mooreBound returns the maximum number of GPUs, at most n, that a GPU reaches on one topology of
// degree k in the given steps, including itself.
func mooreBound(n, k, steps int) int {
	sum, ball := 1, 1
	for range steps {
		ball = min(n, ball*k)
		if sum += ball; sum >= n {
			return n
		}
	}

	return sum
}
