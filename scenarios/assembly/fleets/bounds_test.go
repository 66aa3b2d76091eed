package fleets

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/fabric/torus"
	"sim/scenarios/assembly/fleets/slowdown"
	"sim/workloads/fleet"
)

// TestSRPTBound checks the bound on the time in the system, a single server with
// all chips under shortest remaining processing time. If all jobs arrive
// simultaneously, it equals the minimum over all orders of complete jobs without
// preemption. With other arrivals it is at most that minimum.
func TestSRPTBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "jobs")
		arrivals, work := make([]float64, n), make([]float64, n)
		simultaneous := rapid.Bool().Draw(t, "together")
		for i := range n {
			if !simultaneous {
				arrivals[i] = float64(rapid.IntRange(0, 20).Draw(t, "at"))
			}
			work[i] = float64(rapid.IntRange(1, 20).Draw(t, "work"))
		}

		// Try all orders of jobs. Two chips work on each job.
		slices.Sort(arrivals)
		until := float64(rapid.SampledFrom([]int{30, 1000}).Draw(t, "until"))
		optimum := math.Inf(1)
		var order func(used int, now, sum float64)
		order = func(used int, now, sum float64) {
			if used == 1<<n-1 {
				optimum = min(optimum, sum)
				return
			}
			for i := range n {
				if used>>i&1 == 0 {
					end := max(now, arrivals[i]) + work[i]/2
					order(used|1<<i, end, sum+min(end, until)-arrivals[i])
				}
			}
		}

		order(0, 0, 0)
		r := srptServer{chips: 2, remaining: engine.NewQueue(0)}
		for i := range n {
			r.arrive(arrivals[i], work[i])
		}
		got := r.finish(until)
		if got > optimum+1e-9 || simultaneous && got < optimum-1e-9 {
			t.Fatalf("got a total time of %g, want at most the minimum over all orders, %g, and "+
				"equality if jobs arrive simultaneously", got, optimum)
		}
	})
}

// TestExpectedDuration compares jobs that run alone, fail at random and restart
// immediately with the closed form of their duration, within three standard
// errors. Long jobs have Daly's efficiency.
func TestExpectedDuration(t *testing.T) {
	const runs = 400
	m, d, r, interval, work := 3*fleet.Hour, 2*fleet.Minute, 10*fleet.Minute,
		fleet.Hour, 10*fleet.Hour
	c := quietFleet(nil, 3000*fleet.Day)
	c.Rates[fleet.Cable] = fleet.Process{PerDay: fleet.Day.Seconds() / m.Seconds() / cubeLinks / 64, Weibull: 1, Repair: fleet.Spread{Form: fleet.Constant, Mean: 1}}
	c.Times = Times{Session: r, Checkpoint: d, Interval: interval}
	var list []fleet.Job
	for i := range runs {
		list = append(list, fleet.Job{Submit: fleet.Time(i) * 7 * fleet.Day,
			Shape: parseShape(t, "16x16x16"), Work: work, Estimate: work})
	}

	c.Jobs = sourceOf(list...)
	o := simulate(t, c, "reconfigurable")
	want := (r + fleet.ExpectedDuration(work, interval, d, r, m)).Seconds()

	// The standard deviation of a job's duration follows approximately from its
	// number of interruptions. Each costs half an interval and a restart.
	se := math.Sqrt(work.Seconds()/m.Seconds()) * (interval.Seconds() + r.Seconds()) / math.Sqrt(runs)
	if o.Ended != runs || math.Abs(o.Turnaround-want) > 3*se {
		t.Errorf("got %d jobs with a mean turnaround of %.0f s, want %.0f s within %.0f s", o.Ended,
			o.Turnaround, want, 3*se)
	}

	long := 1_000_000 * interval
	if e, want := long.Seconds()/fleet.ExpectedDuration(long, interval, d, r,
		m).Seconds(), fleet.Efficiency(interval, d, r, m); math.Abs(e/want-1) > 1e-5 {
		t.Errorf("got efficiency %g, want Daly's %g", e, want)
	}
}

// TestNewsvendorSpares checks that jobs need the spare cubes of equal jobs of their mean size,
// weighted by cube-time. Without jobs no cube is spare.
func TestNewsvendorSpares(t *testing.T) {
	job := func(cubes int, work fleet.Time) fleet.Job {
		return fleet.Job{Shape: fleet.NewShape(torus.TPUCube, [3]int{4, 4, 4 * cubes}), Work: work}
	}
	spares := func(jobs ...fleet.Job) int {
		c := paperPod(0.8)
		c.Jobs = sourceOf(jobs...)
		return newsvendorSpares(c)
	}
	if got := spares(); got != 0 {
		t.Errorf("without jobs: got %d spares", got)
	}
	mixed := spares(job(1, 3*fleet.Day), job(9, fleet.Day))
	equal, small, large := spares(job(7, fleet.Day)), spares(job(1, fleet.Day)), spares(job(9, fleet.Day))
	if mixed != equal || small >= equal || equal > large {
		t.Errorf("got %d spares for jobs of 1 and 9 cubes, %d of 1, %d of 7 and %d of 9; want as many as of 7, and more for larger jobs",
			mixed, small, equal, large)
	}
}

// TestStepRatio checks the ratio of the durations of a step on two slices. It is an error if the
// step takes no time or never ends on the first one.
func TestStepRatio(t *testing.T) {
	for from, want := range map[float64]float64{2: 1.5, 0: -1, math.Inf(1): -1} {
		durations := []float64{from, 3}
		step := &Step{Chips: 64, Seconds: func(context.Context, fleet.Shape, int) (seconds float64, err error) {
			seconds, durations = durations[0], durations[1:]
			return seconds, nil
		}}
		got, err := step.ratio(t.Context(), slowdown.Slice{}, slowdown.Slice{})
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%g s and 3 s: got ratio %g and error %v, want %g", from, got, err, want)
		}
	}
}
