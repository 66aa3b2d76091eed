package baselines

import (
	"math"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
)

// StaticRing uses a Hamiltonian cycle on every switch: the ring of shift 1, and on a second
// switch its reverse. Further switches use rings with shifts coprime to n, different as long as
// possible, that minimise the sum of all distances. The default schedule is SchedulePacked, so
// that all candidates have plans. Errors: plan.ErrProblem, ErrOptions, and from
// graph.MinCongestion.
func StaticRing(p *plan.Problem, o Options) ([]plan.Candidate, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	if o.Schedule == "" {
		o.Schedule = SchedulePacked
	}
	return staticCandidates(p, o, staticNetwork{origin: "rings", topology: Rings(p.GPUs, p.Degree)})
}

// Rings returns the topology of StaticRing.
func Rings(n, k int) scaleup.Topology {
	return scaleup.Circulant(n, ringShifts(n, k)...)
}

// ringShifts returns the shifts of the k rings of StaticRing.
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

// TopoOpt uses the union of k rings with shifts coprime to n (TotientPerms), those nearest to the
// geometric sequence 1, n^(1/k), n^(2/k) .. (SelectPermutations; Wang et al., NSDI 2023, Sec.
// 4.3; paper Sec. 5.1). If fewer than k shifts are coprime to n, they repeat. Its authors use a
// single shortest path per flow (ScheduleSimulated, or the idealised SchedulePaths). The default
// schedule is better. Errors: plan.ErrProblem, ErrOptions, and from graph.MinCongestion.
func TopoOpt(p *plan.Problem, o Options) ([]plan.Candidate, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	return staticCandidates(p, o, staticNetwork{origin: "union of shifted rings",
		topology: ShiftedRings(p.GPUs, p.Degree)})
}

// ShiftedRings returns the topology of TopoOpt.
func ShiftedRings(n, k int) scaleup.Topology {
	return scaleup.Circulant(n, geometricShifts(n, k)...)
}

// geometricShifts returns the shifts of the k rings of TopoOpt.
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

// coprimes returns the shifts 1..n-1 that are coprime to n. Each yields a ring of all n GPUs.
func coprimes(n int) []int {
	var list []int
	for s := 1; s < n; s++ {
		if plan.GCD(s, n) == 1 {
			list = append(list, s)
		}
	}
	return list
}

// totient returns Euler's totient of n.
func totient(n int) int { return len(coprimes(n)) }

// hopSum returns the sum of the hops from a GPU to all others over the offsets, or math.MaxInt if
// they do not reach all.
func hopSum(n int, offsets []int) int {
	sum := 0
	for _, h := range plan.Reach(n, offsets) { // minimum hops to each offset, at least plan.Far if there is no path
		if int(h) >= n {
			return math.MaxInt
		}
		sum += int(h)
	}

	return sum
}
