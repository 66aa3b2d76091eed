package fleets

import (
	"context"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/torus"
	_ "sim/internal/testseed"
	"sim/policies/placement"
	"sim/workloads/fleet"
)

// Numbers of a pod of TPU v4.
const (
	podCubes    = 64
	podSwitches = 48
	cubeHosts   = 16
	cubeLinks   = 96
)

// paperPod returns 60 days of one pod with the jobs and failures of the TPU v4
// paper.
func paperPod(load float64) *Config {
	rates := tpuv4Rates()
	if err := rates.SetMaintenance(0.99); err != nil {
		panic(err)
	}
	d := &fleet.Demand{
		Pod: *torus.TPUv4Pod(), Seed: 1, Mix: fleet.Mixes()["tpuv4-2022"], ByDay: fleet.Fig13(),
		Until: 60 * fleet.Day,
		Chips: 4096, Load: load,
		Durations: fleet.Lognormal, Sigma: 1.5, Bands: [fleet.NumBands]float64{2, 5, 3},
		FaultRoutingShare: 0.95, EstimateFactor: 1,
	}

	return &Config{
		Pod: *torus.TPUv4Pod(), Seed: 1, Pods: 1, Jobs: d.Jobs, Rates: rates, Start: 5 * fleet.Day,
		End: 60 * fleet.Day,
		Times: Times{
			Detect: 30 * fleet.Second, Poll: 5 * fleet.Second, Switch: 10,
			LinkTraining: 10 * fleet.Second, Preflight: 2 * fleet.Minute,
			Session: 5 * fleet.Minute, Checkpoint: 2 * fleet.Minute, Standby: fleet.Minute,
		},
		Queue: Queue{Discipline: Backfill},
		FaultPolicy: FaultPolicy{OCS: ReactionRoute, Machine: ReactionReschedule,
			Maintenance: MaintenanceDrain, Order: RepairSwitchesFirst, Rolling: true},
		SilentShare: 0.2, MissedShare: 0.05,
		RouteSlowdown: func(context.Context, *fleet.Job, int) (float64, error) { return 1.04, nil },
		ShapeSlowdown: (&Scenario{}).shapeSlowdown, MinPreemptionGap: 4 * fleet.Hour,
	}
}

// simulate simulates a fleet under a placement.
func simulate(t testing.TB, c *Config, name string) *Outcome {
	t.Helper()
	for _, row := range placement.Table() {
		if row.Name == name {
			o, err := Simulate(context.Background(), c, row.New())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return o
		}
	}
	t.Fatalf("placement %s does not exist", name)
	return nil
}

// quietFleet returns a fleet without failures and delays.
func quietFleet(jobs func() fleet.Source, until fleet.Time) *Config {
	c := paperPod(0.8)
	c.Jobs, c.Rates, c.Times, c.Start, c.End, c.Discipline = jobs, fleet.Rates{},
		Times{}, 0, until, FCFS
	return c
}

// meanSeconds returns the mean of times in seconds.
func meanSeconds(waits []fleet.Time) float64 {
	sum := 0.0
	for _, w := range waits {
		sum += w.Seconds()
	}
	return sum / float64(len(waits))
}

// TestErlang compares the mean wait of one-cube jobs with Poisson arrivals and
// exponential durations with an M/M/64 queue (Erlang's C formula), within three
// standard errors over runs.
func TestErlang(t *testing.T) {
	const load = 0.95
	demand := fleet.Demand{Pod: *torus.TPUv4Pod(), Mix: mixOf(t, "4x4x4"), PerDay: 2000, Until: 60 * fleet.Day,
		Chips: 4096,
		Load:  load, Durations: fleet.Exponential, Bands: [fleet.NumBands]float64{1},
		EstimateFactor: 1}
	work := demand.MeanWork(parseShape(t, "4x4x4")).Seconds()
	want := erlangC(podCubes, load*podCubes) * work / (podCubes * (1 - load))
	checkClosedForm(t, "mean wait", want, 0.1, 9, func(seed uint64) float64 {
		d := demand
		d.Seed = seed
		c := quietFleet(d.Jobs, d.Until)
		c.Start = 10 * fleet.Day
		return meanSeconds(simulate(t, c, "reconfigurable").Waits)
	})
}

// erlangC returns the probability of waiting for one of c servers under an offered
// load, in Erlangs.
func erlangC(c int, load float64) float64 {
	b := 1.0 // Erlang's B formula, computed recursively
	for n := 1; n <= c; n++ {
		b = load * b / (float64(n) + load*b)
	}
	rho := load / float64(c)
	return b / (1 - rho*(1-b))
}

// TestOneJob checks that the time of a single job consists of its work,
// checkpoints and setup times.
func TestOneJob(t *testing.T) {
	for _, shape := range []string{"4x4x4", "4x4x8T", "2x2x4"} {
		s, err := fleet.ParseShape(shape, torus.TPUv4Pod())
		if err != nil {
			t.Fatal(err)
		}
		j := fleet.Job{Submit: fleet.Hour + 1, Shape: s, Work: 10*fleet.Hour + 7,
			Estimate: fleet.Hour}
		c := quietFleet(func() fleet.Source { return &fleet.List{Jobs: []fleet.Job{j}} },
			3*fleet.Day)
		c.Times = paperPod(0.8).Times
		c.Times.Interval = fleet.Hour
		o := simulate(t, c, "reconfigurable")
		want := [NumUses]fleet.Time{Work: j.Work, Checkpoint: 20 * fleet.Minute,
			Preflight: c.Times.Preflight, Session: c.Times.Session}
		if s.Cubes() > 0 {
			want[Connection] = 5*fleet.Second - 1 + c.Times.Switch + c.Times.LinkTraining
		}
		for u, w := range want {
			if u := TimeUse(u); u < Reservation &&
				o.TimeByUse[u] != int64(w)*int64(s.Chips()) {
				t.Errorf("%s: got %v of %v, want %v", shape,
					fleet.Time(o.TimeByUse[u]/int64(s.Chips())), u, w)
			}
		}

		// The job ends within the second of ten parts of three days.
		if o.BatchWork[0] <= 0 || o.BatchWork[0]+o.BatchWork[1] != o.RequestedWork {
			t.Errorf("%s: got work of %v in parts of the time, want %g in the first two", shape,
				o.BatchWork, o.RequestedWork)
		}

		if o.Ended != 1 || o.Connections > 48*s.Cubes() {
			t.Errorf("%s: got %d completed jobs and %d connections, want 1 and at most 48 per cube",
				shape, o.Ended, o.Connections)
		}
	}
}

// TestRefusedJobs checks that jobs which do not fit an empty pod and leave its reserve free are
// refused, and that jobs behind them start. The first refused job is known.
func TestRefusedJobs(t *testing.T) {
	for reserve, refused := range []int{0, 1, 1, 2} {
		var jobs []fleet.Job
		for number, shape := range []string{"16x16x16", "4x4x248", "4x4x4"} {
			s, err := fleet.ParseShape(shape, torus.TPUv4Pod())
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, fleet.Job{Number: number, Shape: s, Work: fleet.Hour, Estimate: fleet.Hour})
		}
		c := quietFleet(func() fleet.Source { return &fleet.List{Jobs: jobs} }, fleet.Day)
		c.Reserve, c.Discipline = reserve, FCFS
		o := simulate(t, c, "reconfigurable")
		if o.Rejected != refused || o.Ended != len(jobs)-refused || o.FirstRejected.Number != 0 {
			t.Errorf("reserve %d: got %d refused jobs, the first %d, and %d that ended; want %d and %d",
				reserve, o.Rejected, o.FirstRejected.Number, o.Ended, refused, len(jobs)-refused)
		}
	}
}

// TestEfficiency compares the share of work of a job that fills the pod, fails at
// random and restarts immediately with Daly's closed form, within three standard
// errors.
func TestEfficiency(t *testing.T) {
	s, err := fleet.ParseShape("16x16x16", torus.TPUv4Pod())
	if err != nil {
		t.Fatal(err)
	}
	const runs = 6
	sum, squares, want := 0.0, 0.0, 0.0
	for seed := range uint64(runs) {
		j := fleet.Job{Shape: s, Work: 100000 * fleet.Day, Estimate: fleet.Day}
		c := quietFleet(func() fleet.Source { return &fleet.List{Jobs: []fleet.Job{j}} },
			2000*fleet.Day)
		c.Seed = seed
		c.Rates[fleet.Cable] = fleet.Process{PerDay: 2e-4, Weibull: 1,
			Repair: fleet.Spread{Form: fleet.Constant, Mean: 1}}
		c.Times = Times{Session: 10 * fleet.Minute, Checkpoint: 2 * fleet.Minute}
		o := simulate(t, c, "reconfigurable")
		x := o.Share(Work)
		sum += x
		squares += x * x
		m := c.Rates.MeanTimeToInterruption(torus.TPUv4Pod(), 64)
		want = fleet.Efficiency(fleet.DalyInterval(c.Times.Checkpoint, m), c.Times.Checkpoint,
			c.Times.Session, m)
	}

	got := sum / runs
	se := math.Sqrt((squares/runs - got*got) / (runs - 1))
	if math.Abs(got-want) > 3*se+5e-4 {
		t.Errorf("got efficiency %.5f with a standard error of %.5f, want %.5f", got, se, want)
	}
}

// TestTolerableShare compares the share of time with at most one switch down with
// independent outages. Parts fail at their rates. Jobs that start while a switch
// is down use paths around it.
func TestTolerableShare(t *testing.T) {
	c := quietFleet(func() fleet.Source { return &fleet.List{} }, 30_000*fleet.Day)
	c.Rates = tpuv4Rates()
	c.Rates[fleet.Switch].PerDay *= 40
	c.Rates[fleet.Switch].Repair = fleet.Spread{Form: fleet.Exponential, Mean: 6 * fleet.Hour}
	c.SilentShare = 0
	o := simulate(t, c, "reconfigurable")
	meanDown := podSwitches * c.Rates[fleet.Switch].Unavailability()
	if want := fleet.PoissonTail(2, meanDown); math.Abs(1-o.TolerableShare-want) > 0.08*want {
		t.Errorf("two switches are down for a share of %.5f of the time, want %.5f",
			1-o.TolerableShare, want)
	}
	for kind, perDay := range map[fleet.Part]float64{
		fleet.Machine: 0.819,
		fleet.Cable:   0.307,
		fleet.Switch:  0.768,
	} {
		n := perDay * o.Span.Days()
		if got := float64(o.Failures[kind]); math.Abs(got-n) > 4*math.Sqrt(n)+0.01*n {
			t.Errorf("got %.0f failures of part %d, want about %.0f", got, kind, n)
		}
	}

	d := &fleet.Demand{
		Pod: *torus.TPUv4Pod(), Seed: 3, Mix: fleet.Mixes()["tpuv4-2022"], ByDay: fleet.Fig13(),
		Until: 300 * fleet.Day,
		Chips: 4096, Load: 0.3,
		Durations: fleet.Lognormal, Sigma: 1, Bands: [fleet.NumBands]float64{1, 1, 1},
		FaultRoutingShare: 1, EstimateFactor: 1,
	}

	c.Jobs, c.End = d.Jobs, d.Until
	o = simulate(t, c, "reconfigurable")
	down := 1 - math.Exp(-meanDown)
	if got, want := o.MeanRerouted/o.MeanRunning, 0.70*down; math.Abs(got-want) > 0.3*want {
		t.Errorf("a share of %.4f of jobs uses paths around a switch, want about %.4f", got, want)
	}
}

// testPods are pods of TPU v4 and Ironwood, and of other cubes.
var testPods = []torus.Pod{
	*torus.TPUv4Pod(), *torus.TPUv4Pod(),
	{Cubes: 144, Cube: torus.TPUCube, Host: torus.Box{2, 2, 1}, MaxSlice: 144 * 64},
	{Cubes: 30, Cube: torus.Box{4, 4, 2}, Host: torus.Box{2, 2, 2}, MaxSlice: 20 * 32},
	{Cubes: 11, Cube: torus.Box{2, 2, 2}, Host: torus.Box{1, 2, 1}, MaxSlice: 11 * 8},
}

// slicesOf returns a mix of slices of a pod: a chip, a half of a cube, and all shapes of slices of
// up to as many cubes as the largest.
func slicesOf(pod *torus.Pod) (mix fleet.Mix) {
	cube := pod.Cube
	for _, sides := range [][3]int{{1, 1, 1}, {cube[0], cube[1], cube[2] / 2}} {
		mix = append(mix, fleet.Share{Shape: fleet.NewShape(cube, sides), Weight: 5})
	}
	for n := 1; n*cube.Chips() <= pod.MaxSlice; n = 2*n + 1 {
		for _, s := range fleet.SlicesOf(cube, n) {
			mix = append(mix, fleet.Share{Shape: s, Weight: 1 / float64(n)})
		}
	}
	return mix
}

// TestChipTimeIsConserved simulates random fleets under random policies. Simulate
// verifies that the uses of chip-time add up, and so does the work of all parts of the
// time. Turnarounds respect their bound,
// placements in grids fit at most the maximum number of slices, and a second
// simulation has the same outcome.
func TestChipTimeIsConserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := paperPod(rapid.SampledFrom([]float64{0.2, 0.7, 1.5}).Draw(t, "load"))
		seed := rapid.Uint64Range(0, 1000).Draw(t, "seed")
		pod := rapid.SampledFrom(testPods).Draw(t, "pod")
		mix := fleet.Mixes()["tpuv4-2022"]
		if pod != *torus.TPUv4Pod() {
			mix = slicesOf(&pod)
		}
		c.Pod = pod
		d := &fleet.Demand{
			Pod: pod, Seed: seed, Mix: mix, PerDay: 150, Until: 3 * fleet.Day,
			Chips: pod.Chips(), Load: rapid.SampledFrom([]float64{0.3, 0.8, 2}).Draw(t, "load"),
			Durations: rapid.SampledFrom([]fleet.Form{fleet.Lognormal, fleet.Exponential,
				fleet.Constant}).Draw(t, "durations"), Sigma: 1,
			Bands: [fleet.NumBands]float64{1, 1, 1}, FaultRoutingShare: 0.5,
			EstimateFactor: 2,
		}

		c.Seed, c.Jobs, c.Start, c.End = seed, d.Jobs,
			rapid.SampledFrom([]fleet.Time{0, fleet.Day, 2 * fleet.Day}).Draw(t,
				"from"), d.Until
		c.Pods = rapid.IntRange(1, 3).Draw(t, "pods")
		factor := rapid.SampledFrom([]float64{0, 10, 100}).Draw(t, "factor of failures")
		for k := range c.Rates {
			c.Rates[k].PerDay *= factor
		}
		c.Discipline = rapid.SampledFrom([]string{FCFS, Backfill, EASY}).Draw(t, "discipline")
		c.OCS = rapid.SampledFrom([]string{ReactionWait, ReactionRoute, ReactionInPlace,
			ReactionCheapest}).Draw(t, "ocs")
		c.Machine = rapid.SampledFrom([]string{ReactionReschedule, ReactionStandby,
			ReactionCheapest}).Draw(t, "machine")
		c.Maintenance = rapid.SampledFrom([]string{MaintenanceDrain,
			MaintenanceAtJobEnd}).Draw(t,
			"maintenance")
		c.Preemption, c.Defragment, c.Rolling, c.Order = rapid.Bool().Draw(t, "preempt"),
			rapid.Bool().Draw(t, "defragment"), rapid.Bool().Draw(t, "rolling"),
			rapid.SampledFrom([]string{RepairSwitchesFirst, RepairByArrival}).Draw(t, "order")
		c.MinPreemptionGap, c.Times.Notice = rapid.SampledFrom([]fleet.Time{0,
			fleet.Hour}).Draw(t,
			"spared"), rapid.SampledFrom([]fleet.Time{0, fleet.Hour}).Draw(t, "notice")
		if rapid.Bool().Draw(t, "work on switches") {
			c.Rates[fleet.SwitchWork] = fleet.Process{PerDay: 0.05, Weibull: 1,
				Repair: fleet.Spread{Form: fleet.Constant, Mean: 2 * fleet.Hour}}
			c.CampaignStart = 2 * fleet.Day
		}

		c.Reserve = rapid.IntRange(0, 3).Draw(t, "reserve")
		c.Crews = rapid.IntRange(0, 3).Draw(t, "crews")
		c.SilentShare = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "silent")
		if rapid.Bool().Draw(t, "no times") {
			c.Times = Times{}
		}
		row := rapid.SampledFrom(placement.Table()).Draw(t, "placement")
		a, err := Simulate(context.Background(), c, row.New())
		if err != nil {
			t.Fatal(err)
		}
		if a.Turnaround < a.BoundTurnaround*(1-1e-9) {
			t.Fatalf("got a turnaround of %g s, want at least the bound of %g s", a.Turnaround,
				a.BoundTurnaround)
		}
		// Slices along a Hilbert curve are not boxes.
		if !row.New().Rewires() && row.Name != "static-hilbert" && a.SlicesFit > a.MaxSlicesFit {
			t.Fatalf("%s: got %g more slices that fit, want at most %g", row.Name, a.SlicesFit,
				a.MaxSlicesFit)
		}
		sum := 0.0
		for _, work := range a.BatchWork {
			sum += work
		}
		if math.Abs(sum-a.RequestedWork) > 1e-9*a.RequestedWork {
			t.Fatalf("got work of %g chip-ms in all parts of the time, want %g", sum, a.RequestedWork)
		}
		b, err := Simulate(context.Background(), c, row.New())
		if err != nil || !reflect.DeepEqual(a, b) {
			t.Fatalf("got another outcome when simulated again, or error %v", err)
		}
	})
}

// TestReconfigurableIsBest checks that, with FCFS and without failures, no static
// placement does more work than the reconfigurable one.
func TestReconfigurableIsBest(t *testing.T) {
	for seed := range uint64(5) {
		d := &fleet.Demand{
			Pod: *torus.TPUv4Pod(), Seed: seed, Mix: fleet.Mixes()["tpuv4-2022"], PerDay: 140, Until: 20 * fleet.Day,
			Chips: 4096, Load: 0.6,
			Durations: fleet.Lognormal, Sigma: 1, Bands: [fleet.NumBands]float64{1},
			EstimateFactor: 1,
		}
		c := quietFleet(d.Jobs, d.Until)
		reconfigurable := simulate(t, c, "reconfigurable")
		for _, name := range []string{"static-first-fit", "static-best-fit", "static-hilbert", "folding"} {
			if o := simulate(t, c, name); o.Share(Work) > reconfigurable.Share(Work)+1e-9 {
				t.Errorf("seed %d: %s has a share of work of %.4f, want at most %.4f as "+
					"reconfigurable", seed, name, o.Share(Work), reconfigurable.Share(Work))
			}
		}
	}
}

// tpuv4Rates returns the failure rates of the TPU v4 paper, with the default
// repair times.
func tpuv4Rates() fleet.Rates {
	spread := func(mean, median fleet.Time) fleet.Spread {
		s, err := fleet.WithMedian(mean, median)
		if err != nil {
			panic(err)
		}
		return s
	}
	return fleet.Rates{
		fleet.Machine: {PerDay: 8e-4, Weibull: 1,
			Repair: spread(48*fleet.Hour, 168*fleet.Hour/10)},
		fleet.Cable: {PerDay: 5e-5, Weibull: 1, Repair: spread(fleet.Day, fleet.Day/2),
			RemoteShare: 0.7, RemoteRepair: fleet.Spread{Form: fleet.Constant,
				Mean: fleet.Hour}},
		fleet.Switch: {PerDay: 4e-4, Weibull: 1,
			Repair: spread(251*fleet.Hour/10, 18*fleet.Hour)},
		fleet.Cube: {Weibull: 1, Repair: fleet.Spread{Form: fleet.Constant,
			Mean: 4 * fleet.Hour}},
	}
}
