package fleet

import "math"

// BinomialTail returns the probability that at least c of n parts are up, each with probability p on its own.
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

// choose returns the binomial coefficient, within 1e-12 of it.
func choose(n, k int) float64 {
	c := 1.0
	for i := range min(k, n-k) {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// PoissonTail returns the probability of k or more events of a Poisson distribution.
func PoissonTail(k int, mean float64) float64 {
	below, term := 0.0, math.Exp(-mean)
	for i := range k {
		below += term
		term *= mean / float64(i+1)
	}
	return max(0, 1-below)
}

// CubeAvailability returns the share of time in which a cube is up whose machines are, each on its own.
func CubeAvailability(host float64) float64 { return math.Pow(host, CubeHosts) }

// CubeAvailability returns the share of time in which a cube is up whose machines and optical links are, each on its own, and that
// is not maintained.
func (r *Rates) CubeAvailability() float64 {
	return CubeAvailability(1-r[Machine].Unavailability()) * (1 - r[Cube].Unavailability()) * math.Pow(1-r[Cable].Unavailability(), CubeLinks)
}

// SliceGoodput returns the expected share of a pod that slices of c cubes can use, of any cubes that are up: the
// expectation of floor(up/c) c / n (Jouppi et al., ISCA 23, Fig. 4).
func SliceGoodput(c, n int, up float64) float64 {
	sum := 0.0
	for k := c; k <= n; k += c {
		sum += BinomialTail(k, n, up) * float64(c)
	}
	return sum / float64(n)
}

// MeanTimeToInterruption returns the mean time until a job of so many cubes is hit by a failure of its machines, its optical
// links or a switch of its pod; Longest where nothing fails.
func (r *Rates) MeanTimeToInterruption(cubes int) Time {
	perDay := float64(cubes)*(CubeHosts*r[Machine].PerDay+CubeLinks*r[Cable].PerDay) + PodSwitches*r[Switch].PerDay
	if perDay == 0 {
		return MaxTime
	}
	return FromSeconds(Day.Seconds() / perDay)
}

// DalyInterval returns the interval between checkpoints of length d that loses least, with interruptions every m on average, to
// a higher order than Young's sqrt(2 d m) (Daly, "A higher order estimate of the optimum checkpoint interval for restart
// dumps", 2006, Eq. 37); m where a checkpoint takes 2 m or longer.
func DalyInterval(d, m Time) Time {
	x, y := d.Seconds(), m.Seconds()
	if x >= 2*y {
		return m
	}
	r := math.Sqrt(x / (2 * y))
	return FromSeconds(math.Sqrt(2*x*y)*(1+r/3+r*r/9) - x)
}

// Efficiency returns the share of time that is work which is kept, with checkpoints of length d after every t of work,
// interruptions every m on average and r to restart after each: t / (m e^(r/m) (e^((t+d)/m) - 1)) (Daly, Eq. 20).
func Efficiency(t, d, r, m Time) float64 {
	x := m.Seconds()
	return t.Seconds() / (x * math.Exp(r.Seconds()/x) * math.Expm1((t+d).Seconds()/x))
}

// ExpectedDuration returns how long a job of so much work is expected to take with checkpoints of length d after every t of
// work but at its end, interruptions every m on average and r to restart after each: m e^(r/m) (e^(x/m) - 1) for each
// stretch x between checkpoints (Daly, Sec. 3).
func ExpectedDuration(work, t, d, r, m Time) Time {
	n := float64((work - 1) / t)
	x := m.Seconds()
	stretch := func(s float64) float64 { return x * math.Exp(r.Seconds()/x) * math.Expm1(s/x) }
	return FromSeconds(n*stretch((t+d).Seconds()) + stretch(work.Seconds()-n*t.Seconds()))
}

// Newsvendor returns how many of n parts, each up with probability up on its own, are best held as spares where one
// that is short costs so many times as much as one that idles: the least r with P(at most r are down) at least k / (k +
// 1).
func Newsvendor(n int, up, k float64) int {
	for r := range n {
		if BinomialTail(n-r, n, up) >= k/(k+1) {
			return r
		}
	}
	return n
}
