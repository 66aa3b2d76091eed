package fleet

import (
	"math"
	"testing"

	"sim/fabric/torus"
)

// checkNear compares two numbers.
func checkNear(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s = %g, want %g within %g", what, got, want, within)
	}
}

// TestPublished compares the closed forms with numbers printed in the papers.
func TestPublished(t *testing.T) {
	rates := tpuv4Rates()
	const podCubes, switches = 64, 48
	const machines, cables = podCubes * 16, podCubes * 96
	perDay := machines*rates[Machine].PerDay + cables*rates[Cable].PerDay + switches*rates[Switch].PerDay
	checkNear(t, "faults of a pod in a day", perDay, 1.15, 0.01)
	checkNear(t, "machines a week", 7*machines*rates[Machine].PerDay, 5.73, 0.01)
	checkNear(t, "cables a week", 7*cables*rates[Cable].PerDay, 2.15, 0.01)
	checkNear(t, "switches a week", 7*switches*rates[Switch].PerDay, 0.134, 0.001)

	mix := Mixes()["tpuv4-2022"]
	cubes := mix.Mean(func(s Shape) float64 { return float64(s.Cubes()) })
	checkNear(t, "cubes of a job", cubes, 6.31, 0.01)
	checkNear(t, "chips of a job", mix.Mean(func(s Shape) float64 { return float64(s.Chips()) }), 408.7, 0.1)
	checkNear(t, "jobs below a cube", mix.Mean(func(s Shape) float64 { return indicator(s.Cubes() == 0) }), 0.299, 0.001)
	checkNear(t, "twisted", mix.Mean(func(s Shape) float64 { return indicator(s.Twisted) }), 0.291, 0.001)
	checkNear(t, "above 192 chips", mix.Mean(func(s Shape) float64 { return indicator(s.Chips() > 192) }), 0.371, 0.001)
	checkNear(t, "a side above 16", mix.Mean(func(s Shape) float64 { return indicator(s.Dims[2] > 16) }), 0.014, 0.001)
	d := &Demand{Pod: *torus.TPUv4Pod(), Mix: mix, ByDay: Fig13(), Chips: 4096, Load: 0.8}
	checkNear(t, "jobs a day", d.MeanPerDay(), 139.2, 0.05)
	checkNear(t, "connections a day", cubes*switches*d.MeanPerDay(), 42200, 150)
	checkNear(t, "mean duration", d.MeanWork(Shape{Dims: [3]int{4, 4, 4}}).Seconds()/3600, 1.38, 0.01)

	// Reading A of Fig. 1: one switch out is tolerated, two are not.
	out := switches * rates[Switch].PerDay * rates[Switch].MeanRepair().Days()
	checkNear(t, "two switches out", PoissonTail(2, out), 2e-4, 2e-6)
	checkNear(t, "a switch out", PoissonTail(1, out), 0.0199, 1e-4)
	checkNear(t, "50 cubes up", BinomialTail(50, podCubes, math.Pow(0.99, 16)), 0.954, 5e-4)
	checkNear(t, "50 cubes up, hosts 0.98958", BinomialTail(50, podCubes, math.Pow(0.98958, 16)), 0.94, 5e-4)
	// Reading B: independent outages cannot give 99.98 %.
	checkNear(t, "two out of 0.0619", 1-PoissonTail(2, -math.Log(0.94)), 0.9982, 5e-5)

	checkNear(t, "1024 hosts of 99.9 %", math.Pow(0.999, 1024), 0.359, 5e-4)
	for i, c := range []int{16, 32, 48} {
		checkNear(t, "goodput", SliceGoodput(c, podCubes, math.Pow(0.99, 16)), []float64{0.748, 0.500, 0.744}[i], 2.1e-3) // read off a figure
		checkNear(t, "static", math.Pow(math.Pow(0.99, 16), float64(c)), []float64{0.076, 0.006, 0.0004}[i], 5e-4)
	}
	for c, h := range map[int]float64{1: 652, 8: 150, 16: 79.8, 50: 26.7, 64: 20.9} {
		checkNear(t, "hours to interruption", rates.MeanTimeToInterruption(torus.TPUv4Pod(), c).Seconds()/3600, h, 0.006*h)
	}
	m := rates.MeanTimeToInterruption(torus.TPUv4Pod(), 50)
	interval := DalyInterval(2*Minute, m)
	checkNear(t, "Daly, min", interval.Seconds()/60, 78.7, 0.1)
	checkNear(t, "efficiency", Efficiency(interval, 2*Minute, 10*Minute, m), 0.9449, 2e-4)
}

// indicator returns 1 if b is true, else 0.
func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// TestDalyIsBest checks that no other interval improves on Daly's by more than 1e-4.
func TestDalyIsBest(t *testing.T) {
	for _, d := range []Time{Second, Minute, 10 * Minute} {
		for _, m := range []Time{5 * Hour, Day, Week} {
			of := Efficiency(DalyInterval(d, m), d, Minute, m)
			for f := 0.5; f < 2; f *= 1.05 {
				if e := Efficiency(FromSeconds(f*DalyInterval(d, m).Seconds()), d, Minute, m); e > of+1e-4 {
					t.Errorf("checkpoints of %v, interruptions every %v: %g times Daly's interval gives %g, Daly's %g", d, m, f, e, of)
				}
			}
		}
	}
}

// TestMaintenance checks that planned maintenance and failures together give the
// requested availability.
func TestMaintenance(t *testing.T) {
	for _, h := range []float64{0.98, 0.99, 0.995} {
		r := tpuv4Rates()
		if err := r.SetMaintenance(h); err != nil {
			t.Fatal(err)
		}
		checkNear(t, "availability", (1-r[Machine].Unavailability())*(1-r[Cube].Unavailability()), h, 1e-9)
	}
	r := tpuv4Rates()
	if r.SetMaintenance(0.9999) == nil {
		t.Error("failures alone take more than 0.0001, and no error says so")
	}
}

// tpuv4Rates returns the paper's failure rates with the default times to repair.
func tpuv4Rates() Rates {
	spread := func(mean, median Time) Spread {
		s, err := WithMedian(mean, median)
		if err != nil {
			panic(err)
		}
		return s
	}
	return Rates{
		Machine: {PerDay: 8e-4, Weibull: 1, Repair: spread(48*Hour, 168*Hour/10)},
		Cable:   {PerDay: 5e-5, Weibull: 1, Repair: spread(Day, Day/2), RemoteShare: 0.7, RemoteRepair: Spread{Form: Constant, Mean: Hour}},
		Switch:  {PerDay: 4e-4, Weibull: 1, Repair: spread(251*Hour/10, 18*Hour)},
		Cube:    {Weibull: 1, Repair: Spread{Form: Constant, Mean: 4 * Hour}},
	}
}

// TestLlama3 checks the preset of the Llama 3 report: with the default time of a
// checkpoint and 8 minutes per restart, the job on 2,048 servers exceeds the reported 90
// % of effective time.
func TestLlama3(t *testing.T) {
	p := Presets()["llama3"]
	between := FromSeconds(Day.Seconds() / (2048 * p.PerDay))
	checkNear(t, "unexpected interruptions in 54 days", (54*Day).Seconds()/between.Seconds(), 419, 0.5)
	got := Efficiency(DalyInterval(p.Checkpoint, between), p.Checkpoint, 8*Minute, between)
	checkNear(t, "efficiency", got, 0.92, 0.01)
	if slow := Presets()["tpuv4"].Checkpoint; Efficiency(DalyInterval(slow, between), slow, 8*Minute, between) > 0.85 {
		t.Error("stops of two minutes leave as much")
	}
}
