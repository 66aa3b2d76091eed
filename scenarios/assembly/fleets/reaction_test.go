package fleets

import (
	"context"
	"math"
	"testing"

	"sim/scenarios/assembly/fleets/slowdown"
	"sim/workloads/fleet"
)

func sourceOf(list ...fleet.Job) func() fleet.Source {
	for i := range list {
		list[i].Number = i
	}
	return func() fleet.Source { return &fleet.List{Jobs: list} }
}

// mixOf is a mix of one shape.
func mixOf(t testing.TB, text string) fleet.Mix {
	t.Helper()
	mix, err := fleet.ParseMix(text + " 1")
	if err != nil {
		t.Fatal(err)
	}
	return mix
}

func parseShape(t testing.TB, text string) fleet.Shape {
	t.Helper()
	s, err := fleet.ParseShape(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPreempts: a job of a higher band takes the place of the job that loses least, which writes a checkpoint, goes to
// the queue and ends; one that was preempted is spared for a while, and prod never makes way for prod.
func TestPreemption(t *testing.T) {
	half, whole := parseShape(t, "8x16x16"), parseShape(t, "16x16x16")
	for _, c := range []struct {
		name   string
		second fleet.Band
		spared fleet.Time
		want   int
		wait   fleet.Time // of the last job
	}{
		{"batch makes way for prod", fleet.Batch, 0, 2, 2 * fleet.Minute},
		{"once", fleet.Batch, 4 * fleet.Hour, 1, 9*fleet.Hour + 2*fleet.Minute},
		{"not for the same band", fleet.Prod, 0, 0, 8 * fleet.Hour},
	} {
		q := quietFleet(sourceOf(
			fleet.Job{Shape: half, Work: 10 * fleet.Hour, Estimate: 10 * fleet.Hour,
				Band: c.second},
			fleet.Job{Shape: half, Work: 10 * fleet.Hour, Estimate: 10 * fleet.Hour,
				Band: c.second},
			fleet.Job{Submit: fleet.Hour, Shape: half, Work: fleet.Hour, Estimate: fleet.Hour,
				Band: fleet.Prod},
			fleet.Job{Submit: 2*fleet.Hour + 10*fleet.Minute, Shape: whole, Work: fleet.Hour,
				Estimate: fleet.Hour, Band: fleet.Prod},
		), 5*fleet.Day)
		q.Preemption, q.MinPreemptionGap = true, c.spared
		q.Times.Checkpoint, q.Times.Notice, q.Times.Interval = 2*fleet.Minute,
			fleet.Hour, 100*fleet.Hour
		o := simulate(t, q, "reconfigurable")
		if o.Ended != 4 || o.Preemptions < c.want || c.want == 0 && o.Preemptions > 0 ||
			o.TimeByUse[Rework] != 0 {
			t.Errorf("%s: %d ended, %d preempted, rework %d", c.name, o.Ended, o.Preemptions,
				o.TimeByUse[Rework])
		}
		if got := o.Waits[len(o.Waits)-1]; c.want != 1 &&
			math.Abs(float64(got-c.wait)) > float64(waitTolerance(c.want)) {
			t.Errorf("%s: the longest wait is %v, want %v", c.name, got, c.wait)
		}
	}
}

// waitTolerance is how far a wait may be from what is wanted.
func waitTolerance(preempted int) fleet.Time {
	if preempted == 0 {
		return 3 * fleet.Hour
	}
	return fleet.Second
}

// TestDefragments: jobs below a cube move together, and to another pod, so that one of whole cubes fits.
func TestDefragmentation(t *testing.T) {
	// 65 halves of cubes fill a pod by halves but for what ends soon.
	var list []fleet.Job
	for i := range 128 {
		work := 50 * fleet.Hour
		if i%2 == 0 {
			work = fleet.Hour
		}
		list = append(list, fleet.Job{Shape: parseShape(t, "2x4x4"), Work: work, Estimate: work})
	}

	list = append(list, fleet.Job{Submit: 2 * fleet.Hour, Shape: parseShape(t, "8x8x8"),
		Work: fleet.Hour, Estimate: fleet.Hour})
	for _, defragment := range []bool{false, true} {
		c := quietFleet(sourceOf(list...), 10*fleet.Day)
		c.Defragment = defragment
		c.Times.Checkpoint, c.Times.Interval = fleet.Minute, 100*fleet.Hour
		o := simulate(t, c, "reconfigurable")
		longest := o.Waits[len(o.Waits)-1]
		if defragment != (longest == fleet.Minute) || defragment != (o.Migrations == 8) ||
			o.Ended != len(list) {
			t.Errorf("moving %v: the last job waits %v, %d moves, %d of %d jobs end",
				defragment, longest,
				o.Migrations, o.Ended, len(list))
		}
	}

	// Two pods with half of each taken: a slice of a whole pod fits when one job moves.
	list = []fleet.Job{
		{Shape: parseShape(t, "8x16x16"), Work: fleet.Hour, Estimate: fleet.Hour},
		{Shape: parseShape(t, "8x16x16"), Work: 50 * fleet.Hour, Estimate: 50 * fleet.Hour},
		{Shape: parseShape(t, "8x16x16"), Work: 50 * fleet.Hour, Estimate: 50 * fleet.Hour},
		{Submit: 2 * fleet.Hour, Shape: parseShape(t, "16x16x16"), Work: fleet.Hour,
			Estimate: fleet.Hour},
	}

	c := quietFleet(sourceOf(list...), 10*fleet.Day)
	c.Pods, c.Defragment = 2, true
	c.Times.Checkpoint, c.Times.Interval = fleet.Minute, 100*fleet.Hour
	if o := simulate(t, c, "reconfigurable"); o.Migrations != 1 ||
		o.Waits[3] != fleet.Minute ||
		o.Ended != 4 {
		t.Errorf("%d moves between pods, waits %v, %d end", o.Migrations, o.Waits, o.Ended)
	}
}

// TestRolling: planned maintenance of switches never has two down where it is rolling, and the share of time with a
// switch down is that of reading B of the paper's 94 %: 10.7 h a switch and year.
func TestRollingMaintenance(t *testing.T) {
	for _, rolling := range []bool{true, false} {
		c := quietFleet(func() fleet.Source { return &fleet.List{} }, 3000*fleet.Day)
		c.Rates[fleet.SwitchWork] = fleet.Process{PerDay: 10.7 / 4 / 365.25, Weibull: 1,
			Repair: fleet.Spread{Form: fleet.Constant, Mean: 4 * fleet.Hour}}
		c.Rolling = rolling
		o := simulate(t, c, "reconfigurable")
		if rolling != (o.TolerableShare == 1) {
			t.Errorf("rolling %v: at most one is down %v of the time", rolling,
				o.TolerableShare)
		}
		if n, want := float64(o.Failures[fleet.SwitchWork]), 48*3000*10.7/4/365.25; math.Abs(n-want) > 4*math.Sqrt(want) {
			t.Errorf("%g maintenances, want about %g", n, want)
		}
	}

	c := quietFleet(func() fleet.Source { return &fleet.List{} }, 100*fleet.Day)
	c.Rates[fleet.SwitchWork] = fleet.Process{Weibull: 1,
		Repair: fleet.Spread{Form: fleet.Constant, Mean: 4 * fleet.Hour}}
	c.CampaignStart = 60 * fleet.Day
	if o := simulate(t, c, "reconfigurable"); o.Failures[fleet.SwitchWork] != 48 ||
		o.TolerableShare != 1 {
		t.Errorf("a campaign maintains %d switches, at most one at a time for %g of the time",
			o.Failures[fleet.SwitchWork], o.TolerableShare)
	}
}

// TestCheapest: what is expected to lose least is done about a switch: jobs that lose much on routes round it wait out a
// short outage, the others run; jobs leave such routes when that pays.
func TestCheapestReaction(t *testing.T) {
	job := fleet.Job{Shape: parseShape(t, "8x8x8"), Work: 100 * fleet.Hour,
		Estimate:            100 * fleet.Hour,
		AcceptsFaultRouting: true}
	for _, c := range []struct {
		slow   float64
		outage fleet.Time
		routed bool
		moves  bool
	}{
		{1.04, 25 * fleet.Hour, true, true},
		{1.0001, 25 * fleet.Hour, true, false},
		{9, 2 * fleet.Minute, false, false},
	} {
		q := quietFleet(sourceOf(job), 20*fleet.Day)
		q.Rates[fleet.Switch] = fleet.Process{PerDay: 0.02, Weibull: 1,
			Repair: fleet.Spread{Form: fleet.Constant, Mean: c.outage}}
		q.Times.Session, q.Times.Checkpoint, q.Times.Interval = 5*fleet.Minute,
			fleet.Minute, fleet.Hour
		q.OCS = ReactionCheapest
		q.RouteSlowdown = func(context.Context, *fleet.Job, int) (float64, error) { return c.slow, nil }
		o := simulate(t, q, "reconfigurable")
		if o.Interrupts == 0 {
			t.Fatal("no switch fails under the job")
		}
		if rerouted, moves := o.MeanRerouted > 0, o.Migrations > 0; rerouted != c.routed ||
			moves != c.moves {
			t.Errorf("%g times as slow for %v: routed %v, moved %v", c.slow, c.outage,
				rerouted, moves)
		}
	}
}

// TestAware: for all to all a job of 128 chips gets the twisted slice, whose links have 74 for 128 (Table 2 of the
// paper), and one without traffic among all what it asked for.
func TestAwarePlacement(t *testing.T) {
	for share, gain := range map[float64]float64{0: 1, 0.3: 1 / (1 + 0.3*(74./128-1))} {
		c := quietFleet(sourceOf(fleet.Job{Shape: parseShape(t, "4x4x8"), Work: 100 * fleet.Hour, Estimate: 100 * fleet.Hour, Traffic: fleet.Traffic{AllToAll: share}}), 10*fleet.Day)
		c.Times.Interval = 1000 * fleet.Hour
		o := simulate(t, c, "aware")
		if got := o.RequestedWork / float64(o.TimeByUse[Work]); math.Abs(got-gain) > 1e-6 ||
			math.Abs(o.RequestedWork/128/(100*fleet.Hour.Seconds()*1000)-1) > 1e-6 {
			t.Errorf("share %g: %g times the work in the time, want %g", share, got, gain)
		}
	}

	factor, err := (&Scenario{}).routeSlowdown(context.Background(),
		&fleet.Job{Shape: parseShape(t, "4x4x4"),
			Traffic: fleet.Traffic{AllToAll: 0.2, Neighbours: 0.1}}, 1)
	if want := 1 + 0.2*(34./32-1) + 0.1; err != nil || math.Abs(factor-want) > 1e-12 {
		t.Errorf("a step on 4x4x4 takes %g times as long, want %g; %v", factor, want, err)
	}
	if _, err := slowdown.LoadsOf(context.Background(),
		slowdown.Slice{Shape: fleet.Shape{Dims: [3]int{0, 4, 4}}, FailedDim: 0}); err == nil {
		t.Error("no slice, and no error")
	}
}

// TestMeanSlowdown: with the default shares of traffic the mean slowdown of the mix is about that of Table 3, 4.0 %.
func TestMeanSlowdown(t *testing.T) {
	sum, weight := 0.0, 0.0
	for _, m := range fleet.Mixes()["tpuv4-2022"] {
		if m.Shape.Cubes() == 0 {
			continue
		}
		for dim := range 3 {
			x, err := (&Scenario{}).routeSlowdown(context.Background(),
				&fleet.Job{Shape: m.Shape,
					Traffic: fleet.Traffic{AllToAll: 0.1, Neighbours: 0.035}}, dim)
			if err != nil || x < 1.035 {
				t.Fatal(m.Shape, x, err)
			}
			sum += m.Weight * (x - 1)
			weight += m.Weight
		}
	}

	if mean := sum / weight; mean < 0.036 || mean > 0.044 {
		t.Errorf("steps take %.4f longer on average, want about 0.04", mean)
	} else {
		t.Logf("%.4f", mean)
	}
}
