package baselines

import (
	"math"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
)

// StaticRing keeps a Hamiltonian cycle on every switch: the ring of shift 1, with a second switch the same the other
// way round, and on further ones rings of such shifts coprime to n, unlike the others as long as there are any, as make
// the sum of all distances least. Default schedule: Packed, so that all its candidates have plans. Errors:
// plan.ErrProblem, ErrOptions, those of graph.MinCongestion.
func StaticRing(p *plan.Problem, o Options) ([]plan.Candidate, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if o.Schedule == "" {
		o.Schedule = SchedulePacked
	}
	return staticCandidates(p, o, staticNetwork{"rings", Rings(p.GPUs, p.Degree)})
}

// Rings is the topology of StaticRing.
func Rings(n, k int) scaleup.Topology { return scaleup.Circulant(n, ringShifts(n, k)...) }

func ringShifts(n, k int) []int {
	unused := coprimes(n)
	take := func(i int) int {
		s := unused[i]
		unused = append(unused[:i], unused[i+1:]...)
		return s
	}
	shifts := []int{take(0)}
	if k > 1 && len(unused) > 0 {
		shifts = append(shifts, take(len(unused)-1))
	}
	for len(shifts) < k {
		if len(unused) == 0 {
			shifts = append(shifts, shifts[len(shifts)%totient(n)])
			continue
		}
		best, minSum := 0, math.MaxInt
		for i, s := range unused {
			if sum := hopSum(n, append(shifts, s)); sum < minSum {
				best, minSum = i, sum
			}
		}
		shifts = append(shifts, take(best))
	}
	return shifts
}

// TopoOpt keeps the union of k rings of shifts coprime to n (TotientPerms), those nearest to the geometric sequence 1,
// n^(1/k), n^(2/k) .. (SelectPermutations; Wang et al., NSDI 2023, Sec. 4.3; paper Sec. 5.1). Where fewer than k shifts
// are coprime to n, they serve again in turn. Its own routing is the single shortest path (Simulated, or idealised
// Paths); the default is the stronger. Errors: plan.ErrProblem, ErrOptions, those of graph.MinCongestion.
func TopoOpt(p *plan.Problem, o Options) ([]plan.Candidate, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	return staticCandidates(p, o, staticNetwork{"union of shifted rings", ShiftedRings(p.GPUs, p.Degree)})
}

// ShiftedRings is the topology of TopoOpt.
func ShiftedRings(n, k int) scaleup.Topology { return scaleup.Circulant(n, geometricShifts(n, k)...) }

func geometricShifts(n, k int) []int {
	all := coprimes(n)
	unused := append([]int(nil), all...)
	shifts := make([]int, 0, k)
	for i := range k {
		if len(unused) == 0 {
			shifts = append(shifts, shifts[i%len(all)])
			continue
		}
		want := math.Pow(float64(n), float64(i)/float64(k))
		best := 0
		for j, s := range unused {
			if math.Abs(float64(s)-want) < math.Abs(float64(unused[best])-want) {
				best = j
			}
		}
		shifts = append(shifts, unused[best])
		unused = append(unused[:best], unused[best+1:]...)
	}
	return shifts
}

// coprimes lists the shifts 1..n-1 that are coprime to n: each makes a ring of all n GPUs.
func coprimes(n int) []int {
	var list []int
	for s := 1; s < n; s++ {
		if plan.GCD(s, n) == 1 {
			list = append(list, s)
		}
	}
	return list
}

func totient(n int) int { return len(coprimes(n)) }

// hopSum is the sum of the hops from GPU 0 to all others over the offsets, which is every GPU's; math.MaxInt where
// they do not reach all.
func hopSum(n int, offsets []int) int {
	sum := 0
	for _, h := range plan.Reach(n, offsets) {
		if int(h) >= n {
			return math.MaxInt
		}
		sum += int(h)
	}
	return sum
}
