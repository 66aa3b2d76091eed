package fleet

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/torus"
	_ "sim/internal/testseed"
)

// checkError checks that an error contains want, or that it is nil if want is empty.
func checkError(t *testing.T, what string, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// TestDemandBounds checks that values at the bounds are accepted and values just outside
// are rejected by name.
func TestDemandBounds(t *testing.T) {
	above := math.Nextafter
	for _, c := range []struct {
		want    string
		corrupt func(d *Demand)
	}{
		{"", func(*Demand) {}},
		{"", func(d *Demand) { d.PerDay, d.Load, d.FaultRoutingShare, d.Chips = 1e7, 100, 1, 1 }},
		{"", func(d *Demand) { d.Traffic = Traffic{AllToAll: 0.5} }},
		{"", func(d *Demand) { d.Traffic = Traffic{Neighbours: 0.5} }},
		{"", func(d *Demand) { d.PerDay, d.ByDay = 0, []int{0, 1} }},
		{"", func(d *Demand) { d.Bands = [NumBands]float64{0, 0, 1} }},
		{"want more than 0, at most 1e7", func(d *Demand) { d.PerDay = 0 }},
		{"want more than 0, at most 1e7", func(d *Demand) { d.PerDay = above(1e7, 1e8) }},
		{"NaN jobs a day", func(d *Demand) { d.PerDay = math.NaN() }},
		{"no job on any of 2 days", func(d *Demand) { d.ByDay = []int{0, 0} }},
		{"no job on any of 0 days", func(d *Demand) { d.ByDay = []int{} }},
		{"a fleet of 0 chips", func(d *Demand) { d.Chips = 0 }},
		{"a load of 0;", func(d *Demand) { d.Load = 0 }},
		{"want more than 0, at most 100", func(d *Demand) { d.Load = above(100, 200) }},
		{"a load of NaN", func(d *Demand) { d.Load = math.NaN() }},
		{"no priority band", func(d *Demand) { d.Bands = [NumBands]float64{} }},
		{"a share of -1 of the jobs", func(d *Demand) { d.FaultRoutingShare = -1 }},
		{"accepts fault routing; want 0 to 1", func(d *Demand) { d.FaultRoutingShare = above(1, 2) }},
		{"want 1 or more", func(d *Demand) { d.EstimateFactor = above(1, 0) }},
		{"wait for traffic", func(d *Demand) { d.Traffic = Traffic{AllToAll: -0.1, Neighbours: 0.2} }},
		{"wait for traffic", func(d *Demand) { d.Traffic = Traffic{AllToAll: 0.2, Neighbours: -0.1} }},
		{"wait for traffic", func(d *Demand) { d.Traffic = Traffic{AllToAll: 0.3, Neighbours: 0.3} }},
		{"the mix sum to nothing", func(d *Demand) { d.Mix = Mix{{d.Mix[0].Shape, 0}} }},
		{"has weight -1", func(d *Demand) { d.Mix = Mix{{d.Mix[0].Shape, -1}} }},
		{"has weight 1e+18", func(d *Demand) { d.Mix = Mix{{d.Mix[0].Shape, 1e18}} }},
		{"3x1x1; sides are multiples of 4", func(d *Demand) { d.Mix = Mix{{Shape{Dims: [3]int{3, 1, 1}}, 1}} }},
	} {
		d := Demand{Pod: *torus.TPUv4Pod(), Mix: Mix{{mustMix("4x4x4 1")[0].Shape, 1}}, PerDay: 1, Chips: 64, Load: 1, Bands: [NumBands]float64{1, 0, 0}, EstimateFactor: 1}
		c.corrupt(&d)
		checkError(t, "demand", d.Check(), c.want)
	}
	for text, want := range map[string]string{
		"4x4x4 1, 4x4x8T 2": "", "4x4x4": "not a slice and how often", "4x4x4 1 2": "not a slice and how often", "4x4 1": "fleet: ",
		"4x4x4 much": "is not a number; it says how often 4x4x4", "4x4x4 -1": "has weight -1", "4x4x4 0": "sum to nothing",
	} {
		_, err := ParseMix(text, torus.TPUv4Pod())
		checkError(t, text, err, want)
	}
}

// TestProcessBounds is TestDemandBounds for failure processes.
func TestProcessBounds(t *testing.T) {
	above := math.Nextafter
	for _, c := range []struct {
		p    Process
		want string
	}{
		{Process{PerDay: 0, Weibull: 0.2, RemoteShare: 0}, ""},
		{Process{PerDay: 1e4, Weibull: 20, RemoteShare: 1}, ""},
		{Process{PerDay: -1, Weibull: 1}, "-1 failures a day; want 0 to 1e4"},
		{Process{PerDay: above(1e4, 1e5), Weibull: 1}, "failures a day"},
		{Process{PerDay: math.NaN(), Weibull: 1}, "NaN failures a day"},
		{Process{Weibull: above(0.2, 0)}, "a Weibull shape"},
		{Process{Weibull: above(20, 30)}, "a Weibull shape"},
		{Process{Weibull: 1, RemoteShare: -0.1}, "a share of -0.1 of repairs"},
		{Process{Weibull: 1, RemoteShare: above(1, 2)}, "of repairs is remote"},
	} {
		checkError(t, "process", c.p.Check(), c.want)
	}
	for availability, want := range map[float64]string{1: "", 0: "more than 0", above(1, 2): "at most 1", math.NaN(): "host availability of NaN"} {
		checkError(t, "without failures", (&Rates{Cube: {Repair: Spread{Form: Constant, Mean: Hour}}}).SetMaintenance(availability), want)
	}
	for _, c := range []struct {
		mean, median Time
		want         string
		form         Form
	}{{Hour, Hour, "", Constant}, {Hour, Hour / 2, "", Lognormal}, {Hour, 0, "a median of", ""}, {Hour, Hour + 1, "a median of", ""}} {
		s, err := WithMedian(c.mean, c.median)
		checkError(t, "median", err, c.want)
		if s.Form != c.form || err == nil && s.Mean != c.mean {
			t.Errorf("a mean of %v and a median of %v is %+v", c.mean, c.median, s)
		}
	}
}

// TestNothingFails checks rates and means of zero.
func TestNothingFails(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	if got := drawGap(r, 0, 1); got != MaxTime {
		t.Errorf("the gap between events that do not come is %v", got)
	}
	if got := (Spread{Form: Exponential}).Draw(r); got != 0 {
		t.Errorf("a span with a mean of 0 is %v", got)
	}
	rates := &Rates{}
	if got := rates.MeanTimeToInterruption(torus.TPUv4Pod(), 3); got != MaxTime {
		t.Errorf("without failures a job is interrupted after %v", got)
	}
	rates[Machine].PerDay, rates[Cable].PerDay, rates[Switch].PerDay = 0.5, 0.25, 0.125
	if got, want := rates.MeanTimeToInterruption(torus.TPUv4Pod(), 3).Days(), 1/(3*(0.5*16+0.25*96)+0.125*48.); math.Abs(got-want) > 1e-4*want {
		t.Errorf("a job of 3 cubes is interrupted after %v days, want %v", got, want)
	}
	if got := DalyInterval(2*Hour, Hour); got != Hour {
		t.Errorf("checkpoints that last twice as long as between failures are made after %v", got)
	}
	if BinomialTail(0, 3, 0.1) != 1 || BinomialTail(-1, 3, 0.1) != 1 || BinomialTail(4, 3, 0.9) != 0 {
		t.Error("none of 3 parts is always up, and 4 never are")
	}
}

// TestExpected checks that the expected duration is the sum over the stretches between
// checkpoints, each its work divided by the efficiency of such stretches. The last one
// has no checkpoint. Without failures it is the work plus the checkpoints.
func TestExpected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := func(name string, from, to int) Time { return Time(rapid.IntRange(from, to).Draw(t, name)) * Second }
		every, d, r, m := seconds("every", 1, 1000), seconds("checkpoint", 0, 100), seconds("restart", 0, 100), seconds("between failures", 100, 100000)
		n, last := rapid.IntRange(0, 9).Draw(t, "checkpoints"), seconds("last", 1, 1000)
		last = min(last, every)
		work := Time(n)*every + last
		want := float64(n)*every.Seconds()/Efficiency(every, d, r, m) + last.Seconds()/Efficiency(last, 0, r, m)
		if got := ExpectedDuration(work, every, d, r, m).Seconds(); math.Abs(got-want) > 1e-6*want+0.01 {
			t.Fatalf("got %v s, want %v s", got, want)
		}
		want = (work + Time(n)*d).Seconds()
		if got := ExpectedDuration(work, every, d, r, MaxTime).Seconds(); math.Abs(got-want) > 1e-4*want+0.01 {
			t.Fatalf("without failures got %v s, want %v s", got, want)
		}
	})
}

// TestNewsvendor compares the number of spares with the minimum of the expected cost,
// found by enumeration.
func TestNewsvendor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "parts")
		up, k := rapid.Float64Range(0.05, 0.95).Draw(t, "up"), rapid.Float64Range(0.1, 20).Draw(t, "cost")
		cost := func(spares int) (sum float64) {
			for down := range n + 1 {
				p := choose(n, down) * math.Pow(1-up, float64(down)) * math.Pow(up, float64(n-down))
				sum += p * (k*float64(max(0, down-spares)) + float64(max(0, spares-down)))
			}
			return sum
		}
		got := Newsvendor(n, up, k)
		for r := range n + 1 {
			if cost(r) < cost(got)-1e-9 {
				t.Fatalf("%d spares cost %v, and %d cost %v", got, cost(got), r, cost(r))
			}
		}
	})
}

// TestResidual compares the mean remaining time with a sum over the quantiles of the
// distribution.
func TestResidual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Spread{Form: Lognormal, Mean: Hour, Sigma: rapid.Float64Range(0.1, 1.5).Draw(t, "sigma")}
		lasted := Time(rapid.IntRange(0, 120).Draw(t, "minutes")) * Minute
		sum, weight := 0.0, 0.0
		const steps = 20000
		for i := range steps {
			z := -10 + 20*(float64(i)+0.5)/steps
			x := s.Mean.Seconds() * math.Exp(s.Sigma*z-s.Sigma*s.Sigma/2)
			if x > lasted.Seconds() {
				p := math.Exp(-z * z / 2)
				sum += p * (x - lasted.Seconds())
				weight += p
			}
		}
		if weight < 1e-6 {
			t.Skip("no span lasts so long")
		}
		if got, want := s.Residual(lasted).Seconds(), sum/weight; math.Abs(got-want) > 0.02*want+1 {
			t.Fatalf("%v s are left after %v, want %v s", got, lasted, want)
		}
	})
	for _, c := range []struct {
		s            Spread
		lasted, want Time
	}{
		{Spread{Form: Exponential, Mean: Hour}, 3 * Hour, Hour}, {Spread{Form: Constant, Mean: Hour}, Minute, 59 * Minute},
		{Spread{Form: Constant, Mean: Hour}, 2 * Hour, 0}, {Spread{Form: Lognormal, Sigma: 1}, Hour, 0},
		{Spread{Form: Lognormal, Mean: Hour, Sigma: 0.01}, 2 * Hour, 2 * Hour}, {Spread{Form: Lognormal, Mean: Hour, Sigma: 1}, 0, Hour},
	} {
		if got := c.s.Residual(c.lasted); got != c.want {
			t.Errorf("%v are left of %+v after %v, want %v", got, c.s, c.lasted, c.want)
		}
	}
}

// TestList checks that a list returns its jobs in order, then none.
func TestList(t *testing.T) {
	l := &List{Jobs: []Job{{Work: 1}, {Work: 2}}}
	for want := range Time(2) {
		if j, ok := l.Next(); !ok || j.Work != want+1 {
			t.Errorf("job %d is %+v, %v", want, j, ok)
		}
	}
	if j, ok := l.Next(); ok {
		t.Errorf("a third job is %+v", j)
	}
}

// TestChance checks that HashUniform is uniform over [0, 1) for any seed and depends on
// all three arguments.
func TestChance(t *testing.T) {
	const n = 10000
	var count [10]int
	for i := range uint64(n) {
		x := HashUniform(7, 3, i)
		count[int(x*10)]++
		if x == HashUniform(8, 3, i) || x == HashUniform(7, 4, i) || x != HashUniform(7, 3, i) {
			t.Fatalf("number %d is %v whatever the seed", i, x)
		}
	}
	for k, c := range count {
		if c < n/10-150 || c > n/10+150 {
			t.Errorf("%d of %d numbers are in tenth %d", c, n, k)
		}
	}
}

// TestExpectedWithoutFailures checks that an uninterrupted job takes its work plus the
// checkpoints between its stretches.
func TestExpectedWithoutFailures(t *testing.T) {
	const every, d = Hour, 2 * Minute
	for _, c := range []struct{ work, checkpoints Time }{{1, 0}, {every, 0}, {every + 1, 1}, {2 * every, 1}, {2*every + 1, 2}} {
		got, want := ExpectedDuration(c.work, every, d, 0, MaxTime), c.work+c.checkpoints*d
		checkNear(t, "time in s", got.Seconds(), want.Seconds(), 0.01)
	}
}
