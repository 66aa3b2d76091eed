package fleets

import (
	"context"
	"math"
	"testing"

	"sim/fabric/torus"
	"sim/scenarios/assembly/fleets/slowdown"
	"sim/workloads/fleet"
)

// sourceOf returns a source of jobs, and numbers them.
func sourceOf(list ...fleet.Job) func() fleet.Source {
	for i := range list {
		list[i].Number = i
	}
	return func() fleet.Source { return &fleet.List{Jobs: list} }
}

// mixOf returns a mix of one shape.
func mixOf(t testing.TB, text string) fleet.Mix {
	t.Helper()
	mix, err := fleet.ParseMix(text+" 1", torus.TPUv4Pod())
	if err != nil {
		t.Fatal(err)
	}
	return mix
}

// parseShape returns the shape of a slice.
func parseShape(t testing.TB, text string) fleet.Shape {
	t.Helper()
	s, err := fleet.ParseShape(text, torus.TPUv4Pod())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPreemption checks that a job of a higher band replaces the running job that
// loses the least time. The preempted job writes a checkpoint, returns to the
// queue and completes. It is not preempted again for a minimum time. Jobs of band
// prod do not preempt each other.
func TestPreemption(t *testing.T) {
	half, whole := parseShape(t, "8x16x16"), parseShape(t, "16x16x16")
	for _, c := range []struct {
		name   string
		second fleet.Band
		spared fleet.Time // minimum time between preemptions of a job
		want   int        // minimum number of preemptions
		wait   fleet.Time // wait of the last job
	}{
		{"prod preempts batch", fleet.Batch, 0, 2, 2 * fleet.Minute},
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
			t.Errorf("%s: got %d completed jobs, %d preemptions and %d chip-ms of rework, want 4 "+
				"jobs and no rework", c.name, o.Ended, o.Preemptions, o.TimeByUse[Rework])
		}

		if got := o.Waits[len(o.Waits)-1]; c.want != 1 &&
			math.Abs(float64(got-c.wait)) > float64(waitTolerance(c.want)) {
			t.Errorf("%s: got a longest wait of %v, want %v", c.name, got, c.wait)
		}
	}
}

// waitTolerance returns the maximum difference between a wait and its expected
// value.
func waitTolerance(preempted int) fleet.Time {
	if preempted == 0 {
		return 3 * fleet.Hour
	}
	return fleet.Second
}

// TestDefragmentation checks that jobs smaller than a cube move together, or to
// another pod, if a job of complete cubes then fits.
func TestDefragmentation(t *testing.T) {
	// Half cubes fill a pod. Every other one ends soon, which leaves half of each
	// cube free.
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
			t.Errorf("defragmentation %v: the last job waits %v, want 1m0s only with it; got "+
				"%d moves and %d of %d completed jobs",
				defragment, longest, o.Migrations, o.Ended, len(list))
		}
	}

	// Half of each of two pods is used. A slice of a complete pod fits after one
	// job has moved.
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
		t.Errorf("between pods: got %d moves, waits %v and %d completed jobs; want 1, a last "+
			"wait of 1m0s and 4", o.Migrations, o.Waits, o.Ended)
	}
}

// TestRollingMaintenance checks that rolling maintenance never has two switches
// down. Each switch is maintained for 10.7 h per year, as in reading B of the
// paper's 94 %. A campaign maintains each switch once.
func TestRollingMaintenance(t *testing.T) {
	for _, rolling := range []bool{true, false} {
		c := quietFleet(func() fleet.Source { return &fleet.List{} }, 3000*fleet.Day)
		c.Rates[fleet.SwitchWork] = fleet.Process{PerDay: 10.7 / 4 / 365.25, Weibull: 1,
			Repair: fleet.Spread{Form: fleet.Constant, Mean: 4 * fleet.Hour}}
		c.Rolling = rolling
		o := simulate(t, c, "reconfigurable")
		if rolling != (o.TolerableShare == 1) {
			t.Errorf("rolling %v: at most one switch is down for a share of %v of the time, want "+
				"1 only if rolling", rolling, o.TolerableShare)
		}

		n, want := float64(o.Failures[fleet.SwitchWork]), 48*3000*10.7/4/365.25
		if math.Abs(n-want) > 4*math.Sqrt(want) {
			t.Errorf("got %g maintenances, want about %g", n, want)
		}
	}

	// A campaign maintains all switches, one after the other.
	c := quietFleet(func() fleet.Source { return &fleet.List{} }, 100*fleet.Day)
	c.Rates[fleet.SwitchWork] = fleet.Process{Weibull: 1,
		Repair: fleet.Spread{Form: fleet.Constant, Mean: 4 * fleet.Hour}}
	c.CampaignStart = 60 * fleet.Day
	if o := simulate(t, c, "reconfigurable"); o.Failures[fleet.SwitchWork] != 48 ||
		o.TolerableShare != 1 {
		t.Errorf("a campaign maintains %d switches, at most one for a share of %g of the time; "+
			"want 48 and 1", o.Failures[fleet.SwitchWork], o.TolerableShare)
	}
}

// TestCheapestReaction checks the reaction to a failed switch that is expected to
// lose the least time. Jobs that are slow on paths around the switch wait for a
// short outage, others run on them. Jobs leave such paths if a move is worthwhile.
func TestCheapestReaction(t *testing.T) {
	job := fleet.Job{Shape: parseShape(t, "8x8x8"), Work: 100 * fleet.Hour,
		Estimate:            100 * fleet.Hour,
		AcceptsFaultRouting: true}
	for _, c := range []struct {
		slowdown float64 // on paths around the switch
		outage   fleet.Time
		rerouted bool // whether the job uses paths around the switch
		moves    bool
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
		q.RouteSlowdown = func(context.Context, *fleet.Job, int) (float64, error) { return c.slowdown, nil }
		o := simulate(t, q, "reconfigurable")
		if o.Interrupts == 0 {
			t.Fatal("got no failure of a switch that the job uses")
		}
		if rerouted, moves := o.MeanRerouted > 0, o.Migrations > 0; rerouted != c.rerouted ||
			moves != c.moves {
			t.Errorf("slowdown %g for %v: got rerouted %v and moved %v, want %v and %v",
				c.slowdown, c.outage, rerouted, moves, c.rerouted, c.moves)
		}
	}
}

// TestAwarePlacement checks placement "aware". A job of 128 chips with all-to-all
// traffic gets the twisted slice, whose links have a load of 74 instead of 128
// (Table 2 of the paper). A job without all-to-all traffic gets the requested
// slice.
func TestAwarePlacement(t *testing.T) {
	for share, gain := range map[float64]float64{0: 1, 0.3: 1 / (1 + 0.3*(74./128-1))} {
		c := quietFleet(sourceOf(fleet.Job{Shape: parseShape(t, "4x4x8"), Work: 100 * fleet.Hour,
			Estimate: 100 * fleet.Hour, Traffic: fleet.Traffic{AllToAll: share}}), 10*fleet.Day)
		c.Times.Interval = 1000 * fleet.Hour
		o := simulate(t, c, "aware")
		if got := o.RequestedWork / float64(o.TimeByUse[Work]); math.Abs(got-gain) > 1e-6 ||
			math.Abs(o.RequestedWork/128/(100*fleet.Hour.Seconds()*1000)-1) > 1e-6 {
			t.Errorf("all-to-all share %g: got %g times the requested work, want %g", share, got, gain)
		}
	}

	// Check a small slice with a failed switch, and a slice without chips.
	factor, err := (&Scenario{}).routeSlowdown(context.Background(),
		&fleet.Job{Shape: parseShape(t, "4x4x4"),
			Traffic: fleet.Traffic{AllToAll: 0.2, Neighbours: 0.1}}, 1)
	if want := 1 + 0.2*(34./32-1) + 0.1; err != nil || math.Abs(factor-want) > 1e-12 {
		t.Errorf("a step on 4x4x4 around a switch takes %g times as long, want %g; error %v",
			factor, want, err)
	}
	if _, err := slowdown.LoadsOf(context.Background(),
		slowdown.Slice{Shape: fleet.Shape{Dims: [3]int{0, 4, 4}}, FailedDim: 0}); err == nil {
		t.Error("got no error for a slice without chips")
	}
}

// TestMeanSlowdown compares the mean slowdown of the mix, with the default shares
// of traffic, with Table 3 of the paper, 4.0 %.
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
		t.Errorf("got a mean slowdown of %.4f, want 0.036 to 0.044", mean)
	} else {
		t.Logf("mean slowdown %.4f", mean)
	}
}
