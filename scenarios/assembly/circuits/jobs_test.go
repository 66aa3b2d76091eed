package circuits

import (
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/scenarios/result"
)

// TestDrift checks the drift of a job's iterations against the cycle of another: the maximum
// change of phase, as a part of the cycle.
func TestDrift(t *testing.T) {
	spans := func(from, each engine.Time, n int) (out []iterationSpan) {
		for k := range n {
			out = append(out, iterationSpan{from + engine.Time(k)*each, from + engine.Time(k+1)*each})
		}
		return out
	}

	for _, c := range []struct {
		iterations, cycles []iterationSpan
		want               float64
	}{
		{spans(50, 100, 5), spans(0, 100, 9), 0},
		{spans(0, 110, 2), spans(0, 100, 9), 0.1},
		{spans(90, 110, 3), spans(0, 100, 9), 0.2}, // 0.9, 0, 0.1 of the cycle
		{spans(0, 150, 2), spans(0, 100, 9), 0.5},
	} {
		if got := drift(c.iterations, c.cycles); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("iterations %v, cycles %v: got a drift of %v, want %v",
				c.iterations, c.cycles, got, c.want)
		}
	}
}

// TestAddSeries checks that the sum of random step functions with the same name equals the sum
// of their values at each time. Series with other names are kept.
func TestAddSeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) result.Series {
			steps := map[float64]float64{}
			for range rapid.IntRange(0, 6).Draw(t, "steps") {
				time := float64(rapid.IntRange(0, 9).Draw(t, "time"))
				steps[time] = float64(rapid.IntRange(0, 3).Draw(t, "value"))
			}
			s := result.Series{Name: name}
			for _, time := range slices.Sorted(maps.Keys(steps)) {
				s.TimeS, s.Value = append(s.TimeS, time), append(s.Value, steps[time])
			}
			return s
		}

		valueAt := func(s result.Series, time float64) (v float64) {
			for i := range s.TimeS {
				if s.TimeS[i] <= time {
					v = s.Value[i]
				}
			}

			return v
		}

		a, b, c := draw("a"), draw("a"), draw("c")
		sum := sumSeries([]result.Series{a}, []result.Series{b, c})
		if len(sum) != 2 || sum[0].Name != "a" || sum[1].Name != "c" {
			t.Fatalf("got series %v, want a and c", sum)
		}
		for x := -0.5; x < 10; x += 0.5 {
			if got, want := valueAt(sum[0], x), valueAt(a, x)+valueAt(b, x); got != want {
				t.Fatalf("sum of %v and %v is %v: got %v at %v, want %v", a, b, sum[0], got, x, want)
			}
		}
	})
}
