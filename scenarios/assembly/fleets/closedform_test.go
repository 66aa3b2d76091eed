package fleets

import (
	"context"
	"flag"
	"fmt"
	"math"
	"testing"

	"sim/workloads/fleet"
)

var long = flag.Bool("long", false, "hold closed forms to twice as many runs")

// checkClosedForm holds a figure of runs of several seeds to a closed form, within three standard errors, which must be less
// than a share of it.
func checkClosedForm(
	t *testing.T, name string, want, maxError float64, seeds int, run func(seed uint64) float64,
) {
	t.Helper()
	if !*long {
		seeds = (seeds + 1) / 2 // three standard errors are half as much again
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
		t.Errorf("%s: %.5g with a standard error of %.2g, want %.5g", name, got, se, want)
	}
	t.Logf("%s: %.5g with a standard error of %.2g, closed form %.5g", name, got, se, want)
}

// idleFleet is a fleet without jobs.
func idleFleet(seed uint64, days int) *Config {
	c := quietFleet(sourceOf(), fleet.Time(days)*fleet.Day)
	c.Seed, c.SilentShare = seed, 0
	return c
}

// addDailyJobs is a job a day, at random moments, that takes no time.
func addDailyJobs(t *testing.T, c *Config, slice string) {
	t.Helper()
	d := &fleet.Demand{Seed: c.Seed, Mix: mixOf(t, slice), PerDay: 1, Until: c.End, Chips: 1,
		Load: 1e-9, Durations: fleet.Constant, Bands: [fleet.NumBands]float64{1},
		EstimateFactor: 1}
	c.Jobs = d.Jobs
}

// shareWithoutWait is the share of jobs that do not wait.
func shareWithoutWait(o *Outcome) float64 {
	n := 0
	for _, w := range o.Waits {
		if w == 0 {
			n++
		}
	}
	return float64(n) / float64(len(o.Waits))
}

// setMachineAvailability has machines available so much of the time, nothing else failing.
func setMachineAvailability(c *Config, availability float64) {
	r := tpuv4Rates()[fleet.Machine]
	r.Repair = fleet.Spread{Form: fleet.Exponential, Mean: 2 * fleet.Day}
	r.PerDay = (1/availability - 1) / r.MeanRepair().Days()
	c.Rates[fleet.Machine] = r
	c.Times = Times{Session: 1} // a job that is hit begins again
}

// TestInterruptedShare: of jobs so many are hit by a failure as their times on chips and the rates say, some 0.4 % at a
// load of 0.5: the paper's "~1 %".
func TestInterruptedShare(t *testing.T) {
	for _, load := range []float64{0.5} {
		d := &fleet.Demand{Mix: fleet.Mixes()["tpuv4-2022"], ByDay: fleet.Fig13(),
			Until: 240 * fleet.Day, Chips: 4096, Load: load,
			Durations: fleet.Lognormal, Sigma: 1.5, Bands: [fleet.NumBands]float64{1},
			FaultRoutingShare: 1, EstimateFactor: 1}
		rates := tpuv4Rates()
		work := fleet.Spread{Form: fleet.Lognormal,
			Mean: d.MeanWork(fleet.Shape{Dims: [3]int{4, 4, 4}}), Sigma: 1.5}
		s := &simulation{config: &Config{Rates: rates}}
		want := d.Mix.Mean(func(x fleet.Shape) float64 {
			sum, m := 0.0, s.meanTimeToInterruption(&fleetJob{Job: fleet.Job{Shape: x}}).Seconds()
			for z := -6.0; z < 6; z += 0.01 { // over the normal logarithm
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
			t.Errorf("%.4f of jobs, want 0.3 to 0.5 %%", want)
		}
	}
}

// TestConnections: slices take 48 connections a cube, 42,200 a day.
func TestConnections(t *testing.T) {
	checkClosedForm(t, "connections a day", 42200, 0.02, 8, func(seed uint64) float64 {
		d := &fleet.Demand{Seed: seed, Mix: fleet.Mixes()["tpuv4-2022"], ByDay: fleet.Fig13(),
			Until: 60 * fleet.Day, Chips: 4096, Load: 0.1,
			Durations: fleet.Constant, Bands: [fleet.NumBands]float64{1}, EstimateFactor: 1}
		c := idleFleet(seed, 60)
		c.Jobs = d.Jobs
		return float64(simulate(t, c, "reconfigurable").Links) / 60
	})
}

// TestReadingA: with switches repaired in 25.1 h two are down 0.02 % of the time, one 2.0 %, and 1.33 % of running jobs,
// of which 70 % have whole cubes and 95 % opted in, are on routes round it.
func TestReadingA(t *testing.T) {
	switches := tpuv4Rates()[fleet.Switch]
	u := switches.Unavailability()
	noneDown, oneDown := math.Pow(1-u, fleet.PodSwitches),
		fleet.PodSwitches*u*math.Pow(1-u, fleet.PodSwitches-1)
	checkClosedForm(t, "two switches down", 1-noneDown-oneDown, 0.3, 10, func(seed uint64) float64 {
		c := idleFleet(seed, 40_000)
		c.Rates[fleet.Switch] = switches
		return 1 - simulate(t, c, "reconfigurable").TolerableShare
	})

	checkClosedForm(t, "jobs on routes round a switch", 0.701*0.95*oneDown, 0.2, 6, func(seed uint64) float64 {
		d := &fleet.Demand{Seed: seed, Mix: fleet.Mixes()["tpuv4-2022"], PerDay: 20,
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

// TestCubesUp: 50 of 64 cubes can be had 95.4 % of the time where machines are available 99 %; 1024 machines of 99.9 %
// are all there 35.9 % of it.
func TestCubeAvailability(t *testing.T) {
	for _, x := range []struct {
		slice string
		cubes int
		host  float64
	}{{"8x20x20", 50, 0.99}, {"16x16x16", 64, 0.999}, {"8x16x16", 32, 0.97}} {
		want := fleet.BinomialTail(x.cubes, fleet.PodCubes, fleet.CubeAvailability(x.host))
		checkClosedForm(t, fmt.Sprintf("%d cubes of hosts of %g", x.cubes, x.host), want, 0.1, 30, func(seed uint64) float64 {
			c := idleFleet(seed, 400)
			c.Start = 20 * fleet.Day
			setMachineAvailability(c, x.host)
			addDailyJobs(t, c, x.slice)
			return shareWithoutWait(simulate(t, c, "reconfigurable"))
		})
	}
}

// TestSliceGoodput: a pod that has more work than it can do of slices of c cubes uses floor(up/c) c of them (ISCA 23,
// Fig. 4).
func TestSliceGoodput(t *testing.T) {
	for slice, cubes := range map[string]int{"8x8x16": 16, "8x16x16": 32, "12x16x16": 48} {
		want := fleet.SliceGoodput(cubes, fleet.PodCubes, fleet.CubeAvailability(0.99))
		checkClosedForm(t, slice, want, 0.02, 12, func(seed uint64) float64 {
			c := idleFleet(seed, 220)
			c.Start = 20 * fleet.Day
			setMachineAvailability(c, 0.99)
			d := &fleet.Demand{Seed: seed, Mix: mixOf(t, slice), PerDay: 12, Until: c.End,
				Chips: 4096, Load: 3, Durations: fleet.Constant,
				Bands:          [fleet.NumBands]float64{1},
				EstimateFactor: 1}
			c.Jobs = d.Jobs
			return simulate(t, c, "reconfigurable").Utilisation()
		})
	}
}

// TestReadingB: planned maintenance that waits until no switch is down, 5.86 % of the time, meets only failures that
// come during it, each until one of the two ends.
func TestReadingB(t *testing.T) {
	const window, repair = 4 * fleet.Hour, 415 * fleet.Hour / 100
	w, m := window.Days(), repair.Days()
	failures := fleet.Process{PerDay: 4e-4, Weibull: 1,
		Repair: fleet.Spread{Form: fleet.Exponential, Mean: repair}}
	maintenance := fleet.PodSwitches * 10.7 / 24 / 365.25
	overlap := m * (1 - m/w*(1-math.Exp(-w/m)))
	want := maintenance * fleet.PodSwitches * failures.PerDay * overlap
	if math.Abs(maintenance-0.0586) > 1e-4 || want > 2e-4 {
		t.Errorf("planned %.4f, two down %.2g", maintenance, want)
	}
	checkClosedForm(t, "two switches down", want, 0.3, 10, func(seed uint64) float64 {
		c := idleFleet(seed, 40_000)
		c.Rates[fleet.Switch] = failures
		c.Rates[fleet.SwitchWork] = fleet.Process{PerDay: maintenance / fleet.PodSwitches / w,
			Weibull: 1, Repair: fleet.Spread{Form: fleet.Constant, Mean: window}}
		return 1 - simulate(t, c, "reconfigurable").TolerableShare
	})
}

// TestInterruptions: jobs of 1, 8, 16, 50 and 64 cubes are hit every 652, 150, 79.8, 26.7 and 20.9 h.
func TestInterruptions(t *testing.T) {
	for slice, hours := range map[string]float64{"4x4x4": 652, "8x8x8": 150, "8x8x16": 79.8, "8x20x20": 26.7, "16x16x16": 20.9} {
		s := parseShape(t, slice)
		c := quietFleet(sourceOf(fleet.Job{Shape: s, Work: fleet.MaxTime / 2, Estimate: fleet.Day, AcceptsFaultRouting: true}), 4000*fleet.Day)
		c.Rates = tpuv4Rates()
		c.Rates[fleet.Cube].PerDay = 0
		for k := range c.Rates {
			c.Rates[k].Repair = fleet.Spread{Form: fleet.Constant, Mean: 1}
			c.Rates[k].QuickShare = 0
		}
		c.Times, c.OCS, c.Machine = Times{Session: 1, Interval: fleet.Hour}, ReactionRoute,
			ReactionReschedule
		c.RouteSlowdown = func(context.Context, *fleet.Job, int) (float64, error) { return 1, nil }
		o := simulate(t, c, "reconfigurable")
		want := c.End.Seconds() / c.Rates.MeanTimeToInterruption(s.Cubes()).Seconds()
		if n := float64(o.Interrupts); math.Abs(n-want) > 3*math.Sqrt(want) ||
			math.Abs(c.End.Seconds()/3600/hours/want-1) > 0.006 {
			t.Errorf("%s: hit %g times, want %.0f, every %g h", slice, n, want, hours)
		}
	}
}

// TestMonotone: on the same jobs and failures fewer failures, quicker repairs, more crews, and not to wait for switches
// do no less work, but for noise: 0.3 % of it.
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
			t.Errorf("%s: %.4f of chip-time is work, %.4f without", name, got, unchanged)
		}
	}

	if waits := workShare(func(c *Config) { c.OCS = ReactionWait }); waits > unchanged+0.003 {
		t.Errorf("jobs wait for switches: %.4f of chip-time is work, %.4f if not",
			waits, unchanged)
	}
}

// TestUnsaved: the time of a run since its last checkpoint was written is not saved; of a job that does not run, none.
func TestUnsaved(t *testing.T) {
	const interval, checkpoint = fleet.Hour, 2 * fleet.Minute
	s := &simulation{config: &Config{Times: Times{Checkpoint: checkpoint}},
		now: 10*fleet.Hour + 5*fleet.Minute}
	j := &fleetJob{phase: phaseRunning, phaseStart: 7 * fleet.Hour, interval: interval,
		slowdown: 1}
	j.Work = 100 * fleet.Hour
	if got, want := s.unsavedTime(j), 3*fleet.Hour+5*fleet.Minute-2*(interval+checkpoint); got != want {
		t.Errorf("%v of a run is not saved, want %v", got, want)
	}
	j.phase = phaseQueued
	if got := s.unsavedTime(j); got != 0 {
		t.Errorf("%v of a job that waits is not saved", got)
	}
}
