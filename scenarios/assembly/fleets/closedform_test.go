package fleets

import (
	"context"
	"flag"
	"fmt"
	"math"
	"testing"

	"sim/fabric/torus"
	"sim/workloads/fleet"
)

// long doubles the number of runs that are compared with closed forms.
var long = flag.Bool("long", false, "compare closed forms with twice as many runs")

// checkClosedForm compares the mean of runs with different seeds with a closed
// form, within three standard errors. The standard error must be at most maxError
// times the closed form.
func checkClosedForm(
	t *testing.T, name string, want, maxError float64, seeds int, run func(seed uint64) float64,
) {
	t.Helper()
	if !*long {
		seeds = (seeds + 1) / 2 // three standard errors are 1.4 times as large
	}
	sum, squares := 0.0, 0.0
	for seed := range uint64(seeds) {
		x := run(seed + 1)
		sum += x
		squares += x * x
	}

	n := float64(seeds)
	got := sum / n
	se := math.Sqrt(max(0, squares/n-got*got) / (n - 1))
	if math.Abs(got-want) > 3*se+1e-4*want || se > maxError*want {
		t.Errorf("%s: got %.5g with a standard error of %.2g, want %.5g", name, got, se, want)
	}
	t.Logf("%s: %.5g with a standard error of %.2g, closed form %.5g", name, got, se, want)
}

// idleFleet returns a fleet without jobs.
func idleFleet(seed uint64, days int) *Config {
	c := quietFleet(sourceOf(), fleet.Time(days)*fleet.Day)
	c.Seed, c.SilentShare = seed, 0
	return c
}

// addDailyJobs adds one job per day, at random times, with negligible duration.
func addDailyJobs(t *testing.T, c *Config, slice string) {
	t.Helper()
	mix, err := fleet.ParseMix(slice+" 1", &c.Pod)
	if err != nil {
		t.Fatal(err)
	}
	d := &fleet.Demand{Pod: c.Pod, Seed: c.Seed, Mix: mix, PerDay: 1, Until: c.End, Chips: 1,
		Load: 1e-9, Durations: fleet.Constant, Bands: [fleet.NumBands]float64{1},
		EstimateFactor: 1}
	c.Jobs = d.Jobs
}

// shareWithoutWait returns the share of jobs that start immediately.
func shareWithoutWait(o *Outcome) float64 {
	n := 0
	for _, w := range o.Waits {
		if w == 0 {
			n++
		}
	}
	return float64(n) / float64(len(o.Waits))
}

// setMachineAvailability sets failures of machines for a given availability. No
// other part fails.
func setMachineAvailability(c *Config, availability float64) {
	r := tpuv4Rates()[fleet.Machine]
	r.Repair = fleet.Spread{Form: fleet.Exponential, Mean: 2 * fleet.Day}
	r.PerDay = (1/availability - 1) / r.MeanRepair().Days()
	c.Rates[fleet.Machine] = r
	c.Times = Times{Session: 1} // a job restarts after a failure
}

// TestInterruptedShare compares the share of jobs that a failure interrupts with
// an integral over their durations. At a load of 0.5 it is about 0.4 %, the
// paper's "~1 %".
func TestInterruptedShare(t *testing.T) {
	for _, load := range []float64{0.5} {
		d := &fleet.Demand{Pod: *torus.TPUv4Pod(), Mix: fleet.Mixes()["tpuv4-2022"], ByDay: fleet.Fig13(),
			Until: 240 * fleet.Day, Chips: 4096, Load: load,
			Durations: fleet.Lognormal, Sigma: 1.5, Bands: [fleet.NumBands]float64{1},
			FaultRoutingShare: 1, EstimateFactor: 1}
		rates := tpuv4Rates()
		work := fleet.Spread{Form: fleet.Lognormal,
			Mean: d.MeanWork(fleet.Shape{Dims: [3]int{4, 4, 4}}), Sigma: 1.5}
		s := &simulation{config: &Config{Pod: *torus.TPUv4Pod(), Rates: rates}}
		want := d.Mix.Mean(func(x fleet.Shape) float64 {
			sum, m := 0.0, s.meanTimeToInterruption(&fleetJob{Job: fleet.Job{Shape: x}}).Seconds()
			// Integrate over the logarithm of the duration, which is normally
			// distributed.
			for z := -6.0; z < 6; z += 0.01 {
				hit := -math.Expm1(-work.Mean.Seconds() * math.Exp(work.Sigma*z-work.Sigma*work.Sigma/2) / m)
				sum += 0.01 * hit * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
			}
			return sum
		})

		checkClosedForm(t, fmt.Sprintf("share interrupted at load %g", load), want, 0.1, 10, func(seed uint64) float64 {
			c := idleFleet(seed, 240)
			demand := *d
			demand.Seed = seed
			c.Jobs, c.Rates, c.SilentShare, c.Discipline, c.OCS = demand.Jobs, rates, 0,
				Backfill,
				ReactionRoute
			c.Times.Interval = fleet.Hour
			o := simulate(t, c, "reconfigurable")
			return float64(o.Interrupted) / float64(o.Submitted)
		})

		if load == 0.5 && (want < 0.003 || want > 0.005) {
			t.Errorf("a share of %.4f of jobs is interrupted, want 0.003 to 0.005", want)
		}
	}
}

// TestConnections checks that slices use 48 optical connections per cube, 42,200
// per day.
func TestConnections(t *testing.T) {
	checkClosedForm(t, "connections a day", 42200, 0.02, 8, func(seed uint64) float64 {
		d := &fleet.Demand{Pod: *torus.TPUv4Pod(), Seed: seed, Mix: fleet.Mixes()["tpuv4-2022"], ByDay: fleet.Fig13(),
			Until: 60 * fleet.Day, Chips: 4096, Load: 0.1,
			Durations: fleet.Constant, Bands: [fleet.NumBands]float64{1}, EstimateFactor: 1}
		c := idleFleet(seed, 60)
		c.Jobs = d.Jobs
		return float64(simulate(t, c, "reconfigurable").Links) / 60
	})
}

// TestReadingA checks reading A of the paper's 94 %: unplanned failures of
// switches. With a mean repair time of 25.1 h one switch is down for 2.0 % of the
// time and two for 0.02 %. Then 1.33 % of running jobs use paths around a failed
// switch; 70 % of the jobs have complete cubes and 95 % accept such paths.
func TestReadingA(t *testing.T) {
	switches := tpuv4Rates()[fleet.Switch]
	u := switches.Unavailability()
	noneDown, oneDown := math.Pow(1-u, podSwitches),
		podSwitches*u*math.Pow(1-u, podSwitches-1)

	// The number of failed switches is binomially distributed.
	checkClosedForm(t, "two switches down", 1-noneDown-oneDown, 0.3, 10, func(seed uint64) float64 {
		c := idleFleet(seed, 40_000)
		c.Rates[fleet.Switch] = switches
		return 1 - simulate(t, c, "reconfigurable").TolerableShare
	})

	// Jobs use these paths if they have complete cubes and accept them.
	checkClosedForm(t, "jobs on paths around a switch", 0.701*0.95*oneDown, 0.2, 6, func(seed uint64) float64 {
		d := &fleet.Demand{Pod: *torus.TPUv4Pod(), Seed: seed, Mix: fleet.Mixes()["tpuv4-2022"], PerDay: 20,
			Until: 1000 * fleet.Day, Chips: 4096, Load: 0.02,
			Durations: fleet.Constant, Bands: [fleet.NumBands]float64{1},
			FaultRoutingShare: 0.95,
			EstimateFactor:    1}

		c := idleFleet(seed, 1000)
		c.Jobs, c.Discipline, c.OCS = d.Jobs, Backfill, ReactionRoute
		c.Rates[fleet.Switch] = switches
		o := simulate(t, c, "reconfigurable")
		return o.MeanRerouted / o.MeanRunning
	})
}

// TestCubeAvailability compares the availability of slices of any cubes with the
// binomial tail. 50 of 64 cubes are available for 95.4 % of the time if machines
// are up for 99 %. 1024 machines of 99.9 % are all up for 35.9 % of the time.
func TestCubeAvailability(t *testing.T) {
	ironwood, _ := torus.FindPreset("ironwood")
	flat := torus.Pod{Cubes: 40, Cube: torus.Box{4, 4, 2}, Host: torus.Box{2, 2, 2}, MaxSlice: 40 * 32}
	for _, x := range []struct {
		pod   torus.Pod
		slice string
		cubes int
		host  float64
	}{
		{*torus.TPUv4Pod(), "8x20x20", 50, 0.99}, {*torus.TPUv4Pod(), "16x16x16", 64, 0.999},
		{*torus.TPUv4Pod(), "8x16x16", 32, 0.97}, {ironwood.Pod, "16x16x32", 128, 0.995}, {flat, "8x8x16", 32, 0.97},
	} {
		want := fleet.BinomialTail(x.cubes, x.pod.Cubes, math.Pow(x.host, float64(x.pod.HostsPerCube())))
		checkClosedForm(t, fmt.Sprintf("%d cubes of hosts of %g", x.cubes, x.host), want, 0.1, 30, func(seed uint64) float64 {
			c := idleFleet(seed, 400)
			c.Pod = x.pod
			c.Start = 20 * fleet.Day
			setMachineAvailability(c, x.host)
			addDailyJobs(t, c, x.slice)
			return shareWithoutWait(simulate(t, c, "reconfigurable"))
		})
	}
}

// TestSliceGoodput checks a pod that is overloaded with slices of c cubes. It uses
// floor(up/c) c cubes (ISCA 2023, Fig. 4), where up is the number of available
// cubes.
func TestSliceGoodput(t *testing.T) {
	for slice, cubes := range map[string]int{"8x8x16": 16, "8x16x16": 32, "12x16x16": 48} {
		want := fleet.SliceGoodput(cubes, podCubes, math.Pow(0.99, 16))
		checkClosedForm(t, slice, want, 0.02, 12, func(seed uint64) float64 {
			c := idleFleet(seed, 220)
			c.Start = 20 * fleet.Day
			setMachineAvailability(c, 0.99)
			d := &fleet.Demand{Pod: *torus.TPUv4Pod(), Seed: seed, Mix: mixOf(t, slice), PerDay: 12, Until: c.End,
				Chips: 4096, Load: 3, Durations: fleet.Constant,
				Bands:          [fleet.NumBands]float64{1},
				EstimateFactor: 1}
			c.Jobs = d.Jobs
			return simulate(t, c, "reconfigurable").Utilisation()
		})
	}
}

// TestReadingB checks reading B of the paper's 94 %: planned maintenance, which
// waits until no switch is down, for 5.86 % of the time. Two switches are down
// only if another one fails during maintenance, until one of the two ends.
func TestReadingB(t *testing.T) {
	const window, repair = 4 * fleet.Hour, 415 * fleet.Hour / 100
	w, m := window.Days(), repair.Days()
	failures := fleet.Process{PerDay: 4e-4, Weibull: 1,
		Repair: fleet.Spread{Form: fleet.Exponential, Mean: repair}}
	maintenance := podSwitches * 10.7 / 24 / 365.25
	overlap := m * (1 - m/w*(1-math.Exp(-w/m)))
	want := maintenance * podSwitches * failures.PerDay * overlap
	if math.Abs(maintenance-0.0586) > 1e-4 || want > 2e-4 {
		t.Errorf("got a maintenance share of %.4f, want 0.0586; two switches down for %.2g, want "+
			"at most 0.0002", maintenance, want)
	}
	checkClosedForm(t, "two switches down", want, 0.3, 10, func(seed uint64) float64 {
		c := idleFleet(seed, 40_000)
		c.Rates[fleet.Switch] = failures
		c.Rates[fleet.SwitchWork] = fleet.Process{PerDay: maintenance / podSwitches / w,
			Weibull: 1, Repair: fleet.Spread{Form: fleet.Constant, Mean: window}}
		return 1 - simulate(t, c, "reconfigurable").TolerableShare
	})
}

// TestInterruptions checks the mean time between failures of jobs of 1, 8, 16, 50
// and 64 cubes: 652, 150, 79.8, 26.7 and 20.9 h.
func TestInterruptions(t *testing.T) {
	for slice, hours := range map[string]float64{
		"4x4x4":    652,
		"8x8x8":    150,
		"8x8x16":   79.8,
		"8x20x20":  26.7,
		"16x16x16": 20.9,
	} {
		s := parseShape(t, slice)
		c := quietFleet(sourceOf(fleet.Job{Shape: s, Work: fleet.MaxTime / 2, Estimate: fleet.Day,
			AcceptsFaultRouting: true}), 4000*fleet.Day)

		// Failures are repaired at once, and the job restarts at once.
		c.Rates = tpuv4Rates()
		c.Rates[fleet.Cube].PerDay = 0
		for k := range c.Rates {
			c.Rates[k].Repair = fleet.Spread{Form: fleet.Constant, Mean: 1}
			c.Rates[k].RemoteShare = 0
		}
		c.Times, c.OCS, c.Machine = Times{Session: 1, Interval: fleet.Hour}, ReactionRoute,
			ReactionReschedule
		c.RouteSlowdown = func(context.Context, *fleet.Job, int) (float64, error) { return 1, nil }

		o := simulate(t, c, "reconfigurable")
		want := c.End.Seconds() / c.Rates.MeanTimeToInterruption(torus.TPUv4Pod(), s.Cubes()).Seconds()
		if n := float64(o.Interrupts); math.Abs(n-want) > 3*math.Sqrt(want) ||
			math.Abs(c.End.Seconds()/3600/hours/want-1) > 0.006 {
			t.Errorf("%s: got %g interruptions, want %.0f, one per %g h", slice, n, want, hours)
		}
	}
}

// TestMonotone checks that fewer failures, faster repairs, more crews and paths
// around failed switches do not reduce the work for the same jobs, except by noise
// of 0.3 %.
func TestMonotone(t *testing.T) {
	base := func() *Config {
		c := paperPod(0.8)
		c.Crews = 2
		for k := range c.Rates {
			c.Rates[k].PerDay *= 4
		}
		return c
	}

	workShare := func(change func(c *Config)) float64 {
		sum := 0.0
		for seed := range uint64(2) {
			c := base()
			c.Seed = seed
			change(c)
			sum += simulate(t, c, "reconfigurable").Share(Work)
		}

		return sum / 2
	}

	unchanged := workShare(func(*Config) {})
	for name, change := range map[string]func(c *Config){
		"more crews":          func(c *Config) { c.Crews = 0 },
		"no failures":         func(c *Config) { c.Rates = fleet.Rates{} },
		"fewer failures":      func(c *Config) { c.Rates[fleet.Machine].PerDay /= 4 },
		"quicker repairs":     func(c *Config) { c.Rates[fleet.Machine].Repair.Mean /= 4 },
		"hot standby":         func(c *Config) { c.Machine = ReactionStandby },
		"no switch":           func(c *Config) { c.Rates[fleet.Switch].PerDay = 0 },
		"another pod's cubes": func(c *Config) { c.Rates[fleet.Cube].PerDay = 0 },
	} {
		if got := workShare(change); got < unchanged-0.003 {
			t.Errorf("%s: the share of work is %.4f, want at least %.4f as without",
				name, got, unchanged)
		}
	}

	// Waiting for switches does not increase the work.
	if waits := workShare(func(c *Config) { c.OCS = ReactionWait }); waits > unchanged+0.003 {
		t.Errorf("jobs wait for switches: the share of work is %.4f, want at most %.4f as on "+
			"paths around them", waits, unchanged)
	}
}

// TestUnsaved checks the time since the last checkpoint of a running job. It is 0
// if the job does not run.
func TestUnsaved(t *testing.T) {
	const interval, checkpoint = fleet.Hour, 2 * fleet.Minute
	s := &simulation{config: &Config{Pod: *torus.TPUv4Pod(), Times: Times{Checkpoint: checkpoint}},
		now: 10*fleet.Hour + 5*fleet.Minute}
	j := &fleetJob{phase: phaseRunning, phaseStart: 7 * fleet.Hour, interval: interval,
		slowdown: 1}
	j.Work = 100 * fleet.Hour
	if got, want := s.unsavedTime(j), 3*fleet.Hour+5*fleet.Minute-2*(interval+checkpoint); got != want {
		t.Errorf("running: got an unsaved time of %v, want %v", got, want)
	}
	j.phase = phaseQueued
	if got := s.unsavedTime(j); got != 0 {
		t.Errorf("queued: got an unsaved time of %v, want 0", got)
	}
}
