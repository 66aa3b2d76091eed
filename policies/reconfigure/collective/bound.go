package collective

import (
	"sim/engine"
	"sim/policies/collective"
)

// Bound is a lower bound on the cost of any plan, not of this package's families alone: the least over d of d R + steps
// x alpha, and what the links take at full rate. Every step costs alpha and the time of its longest message, so the two
// add up. Errors: those of Problem.Check.
//
// Steps: what one GPU contributes has to reach all n (backwards, in a reduce-scatter), and in a phase of s steps what m
// GPUs know is known to at most m (1 + k + .. + k^s), the Moore bound; the product over d phases must reach n. With
// phases enough this is ceil(log_{k+1} n).
//
// Bytes: a GPU takes in, or sends off, all shards but its own over k links. In an all-reduce every byte crosses at
// least 2(n-1) links (Patarasuk and Yuan, 2009), of the nk that there are.
func Bound(p *Problem) (engine.Time, error) {
	if err := p.Check(); err != nil {
		return 0, err
	}
	best := engine.Never
	for d, steps := range minSteps(p.GPUs, p.Degree) {
		best = min(best, engine.Time(d+1)*p.Delay+engine.Time(steps)*p.Latency)
	}
	n, k := int64(p.GPUs), int64(p.Degree)
	bytes := (p.Bytes - p.Bytes/n + k - 1) / k
	if p.Op == collective.AllReduce {
		bytes = ceilShare(p.Bytes, 2*(n-1), n*k)
	}
	// A step's time is rounded down to a tick, so the sum may be below that of all bytes by as many ticks; each step
	// that carries bytes carries one at least.
	serial := p.StepTime(bytes) - p.Latency
	return best + max(0, serial-engine.Time(min(bytes, 4*n))), nil
}

// ceilShare is b*x/y rounded up, without overflow for x <= y*2.
func ceilShare(b, x, y int64) int64 {
	whole, rest := b/y, b%y
	return whole*x + (rest*x+y-1)/y
}

// minSteps returns for d = 1, 2, .. topologies of degree k the fewest steps in which something may get from one to all
// of n GPUs, until d is that number: more topologies than steps are of no use. The Moore bound is log-concave in the
// steps of a phase, so equal phases reach most.
func minSteps(n, k int) []int {
	var minimum []int
	for d := 1; len(minimum) == 0 || d <= minimum[len(minimum)-1]; d++ {
		t := d
		for ; ; t++ {
			short, long := mooreBound(n, k, t/d), mooreBound(n, k, t/d+1)
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

// mooreBound is the most GPUs of n that so many steps on one topology of degree k reach from one, itself included.
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
