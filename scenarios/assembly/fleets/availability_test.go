package fleets

import (
	"fmt"
	"math"
	"testing"

	"sim/fabric/torus"
	"sim/workloads/fleet"
)

// TestAvailability compares the share of time in which a slice is available with
// closed forms, within three standard errors over runs. The cases are any cubes,
// cubes to which a slice is bound, and the number of slices for which there are
// cubes. A box of 16 cubes in a static grid is available for about 78.5 % of the
// time if machines are up for 99 %.
func TestAvailability(t *testing.T) {
	const runs = 12
	for _, tt := range []struct {
		cubes     int
		ocs       string
		placement string
		host      float64
		want      float64 // availability in a static grid; 0 uses the closed form
	}{
		{1, ReactionWait, "reconfigurable", 0.98958, 0},
		{50, ReactionWait, "reconfigurable", 0.98958, 0},
		{50, ReactionRoute, "reconfigurable", 0.98958, 0},
		{56, ReactionRoute, "reconfigurable", 0.98958, 0},
		{16, ReactionRoute, "reconfigurable", 0.99, 0},
		{16, ReactionWait, "static-first-fit", 0.99, 0.785},
	} {
		sums := map[string][2]float64{}
		var m map[string]float64
		for seed := range runs {
			// The repair time of machines follows from their availability.
			c := quietFleet(func() fleet.Source { return &fleet.List{} }, 1500*fleet.Day)
			c.Seed, c.Start, c.MeasuredCubes, c.OCS, c.SilentShare = uint64(seed),
				100*fleet.Day,
				tt.cubes, tt.ocs, 0
			mean := fleet.FromSeconds((1/tt.host - 1) / 8e-4 * fleet.Day.Seconds())
			c.Rates = fleet.Rates{
				fleet.Machine: {PerDay: 8e-4, Weibull: 1,
					Repair: fleet.Spread{Form: fleet.Exponential, Mean: mean}},
				fleet.Switch: {PerDay: 1.2e-3, Weibull: 1,
					Repair: fleet.Spread{Form: fleet.Exponential, Mean: fleet.Day}},
			}

			// Add up the values and their squares over runs.
			o := simulate(t, c, tt.placement)
			m = map[string]float64{}
			o.availability.addMetrics(c, o.rewires, m)
			for _, name := range []string{"availability", "availability_fixed", "slice_goodput"} {
				s := sums[name]
				sums[name] = [2]float64{s[0] + m[name], s[1] + m[name]*m[name]}
			}
			if share := m["machine_availability"]; math.Abs(share-tt.host) > 1e-6 {
				t.Fatalf("got a machine availability of %g, want %g", share, tt.host)
			}
		}

		// Compare the means with the closed forms, if there are any.
		for name, s := range sums {
			want, ok := m["expected_"+name]
			if tt.want > 0 && name == "availability" {
				want, ok = tt.want, true
			}
			got := s[0] / runs
			se := math.Sqrt(max(0, s[1]/runs-got*got)/(runs-1)) + 1e-3
			if ok && math.Abs(got-want) > 3*se {
				t.Errorf("%s of %d cubes, %s, %s: got %.4f with a standard error of %.4f, want %.4f",
					name, tt.cubes, tt.ocs, tt.placement, got, se, want)
			}
		}
	}
}

// TestFragmentation checks the fragmentation of free cubes. It is 0 if any cubes
// form a slice, and more than 0 in a static grid under load. Boxes of the grid are
// listed once, in order of decreasing size.
func TestFragmentation(t *testing.T) {
	c := paperPod(0.7)
	c.End = 20 * fleet.Day
	for name, minFragmentation := range map[string]float64{"reconfigurable": 0, "static-first-fit": 0.2} {
		m := map[string]float64{}
		o := simulate(t, c, name)
		if o.availability.addMetrics(c, o.rewires, m); m["fragmentation"] < minFragmentation ||
			m["fragmentation"] > minFragmentation+0.5 || minFragmentation == 0 && m["fragmentation"] != 0 {
			t.Errorf("fragmentation of %s: got %.3f, want at least %g; 0 if reconfigurable",
				name, m["fragmentation"], minFragmentation)
		}

		if m["starts"] < float64(o.Ended) {
			t.Errorf("%s: got %g starts, want at least one for each of %d jobs that ended",
				name, m["starts"], o.Ended)
		}
	}

	// The boxes are listed by size, and each once.
	previous, visited := 65, map[string]bool{}
	for _, b := range gridBoxes(torus.TPUv4Pod()) {
		if b.Cubes() > previous || visited[fmt.Sprint(b)] {
			t.Errorf("box %s follows one of %d cubes, want decreasing sizes without repetition",
				b, previous)
		}
		previous, visited[fmt.Sprint(b)] = b.Cubes(), true
	}

	if len(visited) != 20 || previous != 1 {
		t.Errorf("got %d boxes, the last of %d cubes; want 20 and 1", len(visited), previous)
	}
}
