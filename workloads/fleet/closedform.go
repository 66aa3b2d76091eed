// This file has closed forms of the availability of parts that fail independently, and of
// the time of jobs that write checkpoints. Simulations are compared with them. Equations
// of Daly refer to J. T. Daly, "A higher order estimate of the optimum checkpoint interval
// for restart dumps", Future Generation Computer Systems 22, 2006.

package fleet

import (
	"math"

	"sim/fabric/torus"
)

// BinomialTail returns the probability that at least c of n parts are up, if each is up
// with probability p independently.
func BinomialTail(c, n int, p float64) float64 {
	if c <= 0 {
		return 1
	}
	sum := 0.0
	for k := c; k <= n; k++ {
		sum += choose(n, k) * math.Pow(p, float64(k)) * math.Pow(1-p, float64(n-k))
	}
	return min(1, sum)
}

// choose returns the binomial coefficient of n and k, with a relative error of 1e-12.
func choose(n, k int) float64 {
	c := 1.0
	for i := range min(k, n-k) {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// PoissonTail returns the probability that a number with a Poisson distribution of the given
// mean is k or more.
func PoissonTail(k int, mean float64) float64 {
	below, term := 0.0, math.Exp(-mean) // probability of fewer than i events, and of i events
	for i := range k {
		below += term
		term *= mean / float64(i+1)
	}
	return max(0, 1-below)
}

// CubeAvailability returns the fraction of time for which all machines and optical links
// of a cube of a pod are up and the cube is not in maintenance.
func (r *Rates) CubeAvailability(pod *torus.Pod) float64 {
	return math.Pow(1-r[Machine].Unavailability(), float64(pod.HostsPerCube())) * (1 - r[Cube].Unavailability()) *
		math.Pow(1-r[Cable].Unavailability(), float64(pod.LinksPerCube()))
}

// SliceGoodput returns the expected fraction of a pod of n cubes that slices of c cubes
// can use, if any cubes that are up can form a slice. It is the expectation of
// floor(k/c) c / n, where k is the number of cubes that are up (Jouppi et al., "TPU v4",
// ISCA 23, Fig. 4). Each cube is up with probability up.
func SliceGoodput(c, n int, up float64) float64 {
	// The expectation of a number of slices is the sum over i >= 1 of the probability of at
	// least i slices, which need k = i c cubes.
	sum := 0.0
	for k := c; k <= n; k += c {
		sum += BinomialTail(k, n, up) * float64(c)
	}
	return sum / float64(n)
}

// MeanTimeToInterruption returns the mean time until a failure interrupts a job of the
// given number of cubes of a pod: a failure of one of its machines or optical links, or of a
// switch of its pod. It is MaxTime if nothing fails.
func (r *Rates) MeanTimeToInterruption(pod *torus.Pod, cubes int) Time {
	ofCube := float64(pod.HostsPerCube())*r[Machine].PerDay + float64(pod.LinksPerCube())*r[Cable].PerDay
	perDay := float64(cubes)*ofCube + float64(pod.Cube.Switches())*r[Switch].PerDay
	if perDay == 0 {
		return MaxTime
	}
	return FromSeconds(Day.Seconds() / perDay)
}

// DalyInterval returns the optimal interval between checkpoints of duration d with a mean
// time to interruption of m. It is of higher order than Young's sqrt(2 d m) (Daly, "A
// higher order estimate of the optimum checkpoint interval for restart dumps", 2006, Eq.
// 37). It is m if d is at least 2 m.
func DalyInterval(d, m Time) Time {
	x, y := d.Seconds(), m.Seconds()
	if x >= 2*y {
		return m
	}
	r := math.Sqrt(x / (2 * y))
	return FromSeconds(math.Sqrt(2*x*y)*(1+r/3+r*r/9) - x)
}

// Efficiency returns the fraction of time spent on work that is not lost, with a
// checkpoint of duration d after every t of work, a mean time to interruption of m, and a
// restart time of r: t / (m e^(r/m) (e^((t+d)/m) - 1)) (Daly, Eq. 20).
func Efficiency(t, d, r, m Time) float64 {
	x := m.Seconds()
	return t.Seconds() / (x * math.Exp(r.Seconds()/x) * math.Expm1((t+d).Seconds()/x))
}

// ExpectedDuration returns the expected duration of a job with the given work. It writes
// a checkpoint of duration d after every t of work except at its end; m is the mean time
// to interruption and r the restart time. Each stretch of length x between checkpoints
// takes m e^(r/m) (e^(x/m) - 1) (Daly, Sec. 3).
func ExpectedDuration(work, t, d, r, m Time) Time {
	n := float64((work - 1) / t)
	x := m.Seconds()
	stretch := func(s float64) float64 { return x * math.Exp(r.Seconds()/x) * math.Expm1(s/x) }
	return FromSeconds(n*stretch((t+d).Seconds()) + stretch(work.Seconds()-n*t.Seconds()))
}

// Newsvendor solves the newsvendor problem of operations research for spares: how many parts
// to keep in reserve if both a missing and an idle part cost something.
//
// It returns the optimal number of spares among n parts, each up with probability
// up independently, if a missing part costs k times as much as an idle spare. It is the
// minimum r with P(at most r are down) >= k / (k + 1).
func Newsvendor(n int, up, k float64) int {
	for r := range n {
		if BinomialTail(n-r, n, up) >= k/(k+1) {
			return r
		}
	}
	return n
}
