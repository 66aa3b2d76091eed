package topology

import (
	"slices"

	"sim/engine"
)

// descent makes a first decision: from all circuits that could be useful it
// takes away, pod by pod where one is overrun, the one whose loss raises the
// objective's bound least.
func (z *jobsSearch) descent() []int {
	s := z.s
	x := make([]int, 0, len(s.job))
	for j := range s.Jobs {
		x = append(x, s.Jobs[j].Problem.Useful...)
	}
	free := s.room(x)
	for pod := range free {
		for free[pod] < 0 {
			best := -1
			var lowest score
			if z.cut() {
				return x
			}
			for e := range x {
				if !s.meets(e, pod) || x[e] == 1 {
					continue
				}
				x[e]--
				if v := z.bound(x); best < 0 || slices.Compare(v, lowest) < 0 {
					best, lowest = e, v
				}
				x[e]++
			}
			if best < 0 {
				return x
			}
			x[best]--
			s.take(free, best, -1)
		}
	}
	return x
}

// bound returns the objective of the jobs' bounds.
func (z *jobsSearch) bound(x []int) score {
	least := make([]engine.Time, len(z.tenants))
	for j, part := range z.s.split(x) {
		least[j] = z.tenants[j].bound(part)
	}
	return z.s.score(least)
}

// improve keeps x and what exchanges of circuits, within and between jobs,
// make of it for as long as they lower the objective's bound.
func (z *jobsSearch) improve(x []int) {
	s := z.s
	if slices.ContainsFunc(s.room(x), func(f int) bool { return f < 0 }) {
		return
	}
	x = slices.Clone(x)
	z.fill(x)
	z.keep(x)
	for here := z.bound(x); !z.half(); {
		var next []int
		for e := range x {
			if z.cut() {
				return
			}
			y, v := z.exchanged(x, e)
			if y != nil && compare(v, here, z.eps) < 0 {
				next, here = y, v
			}
		}
		if next == nil {
			return
		}
		x = next
		z.fill(x)
		here = z.bound(x)
		z.keep(x)
	}
}

// half reports whether half of the budget is used, or the search has been cut
// short.
func (z *jobsSearch) half() bool { return z.spent() >= z.o.MaxEvaluations/2 || z.cut() }

// cut reports whether the search has been cut short.
func (z *jobsSearch) cut() bool { return z.ctx.Err() != nil || z.o.late() }

// exchanged returns x with one more circuit of bundle e, where need be in place
// of one of another bundle at each of its pods: those whose loss costs least.
// nil where e can use no more or nothing can give way.
func (z *jobsSearch) exchanged(x []int, e int) ([]int, score) {
	s := z.s
	if x[e] >= s.Jobs[s.job[e]].Problem.Useful[e-s.first[s.job[e]]] {
		return nil, nil
	}
	y := slices.Clone(x)
	y[e]++
	free := s.room(y)
	for _, pod := range s.pods[e] {
		for free[pod] < 0 {
			give := -1
			var lowest score
			for o := range y {
				if o == e || !s.meets(o, pod) || y[o] == 1 {
					continue
				}
				y[o]--
				if v := z.bound(y); give < 0 || slices.Compare(v, lowest) < 0 {
					give, lowest = o, v
				}
				y[o]++
			}
			if give < 0 {
				return nil, nil
			}
			y[give]--
			s.take(free, give, -1)
		}
	}
	return y, z.bound(y)
}

// fill gives free ports to the bundles that can use them, one circuit at a time
// in turn: where rates are chosen more circuits do no harm.
func (z *jobsSearch) fill(x []int) {
	s := z.s
	free := s.room(x)
	for grew := true; grew; {
		grew = false
		for e := range x {
			if x[e] < s.Jobs[s.job[e]].Problem.Useful[e-s.first[s.job[e]]] && s.fits(free, e) > 0 {
				x[e]++
				s.take(free, e, 1)
				grew = true
			}
		}
	}
}
