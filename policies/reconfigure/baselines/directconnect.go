package baselines

import (
	"sim/fabric/scaleup"
	"sim/policies/reconfigure/halt"
	"sim/policies/reconfigure/plan"
)

// Kautz keeps the generalised Kautz graph of degree k (DirectConnect: Basu et al., Zhao et al.; paper Secs. 4.2, 5.1).
// Of degree 1 that graph only pairs GPUs up (-(-u-1)-1 = u), so there it is the ring, as in the paper (Sec. 5.2).
// Errors: plan.ErrProblem, ErrOptions, those of fluid.Optimum.
func Kautz(p *plan.Problem, o Options) ([]plan.Candidate, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if p.Degree == 1 {
		return static(p, o, network{"ring", scaleup.Circulant(p.GPUs, 1)})
	}
	return static(p, o, network{"generalised Kautz graph", scaleup.GeneralizedKautz(p.GPUs, p.Degree)})
}

// Circulant keeps a circulant graph: of degree 1 the ring, of degree 2 that of offsets {m, m+1} with the smallest m for
// which 2m^2+2m+1 >= n (paper Sec. 4.2), and of other degrees that of the least average distance which a local search
// finds. Errors: plan.ErrProblem, ErrOptions, those of fluid.Optimum.
func Circulant(p *plan.Problem, o Options) (_ []plan.Candidate, err error) {
	defer halt.Caught(&err)
	if err := p.Check(); err != nil {
		return nil, err
	}
	offsets := nearOffsets(p.GPUs, p.Degree, o.Stop)
	if p.Degree == 2 {
		m := 1
		for 2*m*m+2*m+1 < p.GPUs {
			m++
		}
		offsets = []int{m, m + 1}
	}
	return static(p, o, network{"circulant graph", scaleup.Circulant(p.GPUs, offsets...)})
}

// nearOffsets looks for k offsets of the least sum of distances: 1, so that all are reached, then each time the offset
// that gains most, then exchanges of one other than 1 for another as long as one gains. It ends early where the sum is
// as small as commuting offsets allow.
func nearOffsets(n, k int, stop halt.When) []int {
	offsets, used := []int{1}, make([]bool, n)
	used[1] = true
	// improve puts the best unused offset at i and returns the sum with it.
	improve := func(i, least int) int {
		best := offsets[i]
		for s := 2; s < n; s++ {
			if used[s] {
				continue
			}
			stop.Check()
			old := offsets[i]
			offsets[i] = s
			if sum := distances(n, offsets); sum < least || best == 0 {
				best, least = s, sum
			}
			offsets[i] = old
		}
		if offsets[i] != 0 {
			used[offsets[i]] = false
		}
		offsets[i] = best
		used[best] = true
		return least
	}
	least, floor := distances(n, offsets), int(plan.LeastHops(n, 1, k))
	for len(offsets) < k {
		offsets = append(offsets, 0)
		least = improve(len(offsets)-1, least)
	}
	for again := true; again && least > floor; {
		again = false
		for i := 1; i < k && least > floor; i++ {
			if sum := improve(i, least); sum < least {
				least, again = sum, true
			}
		}
	}
	return offsets
}
