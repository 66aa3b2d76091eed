// This file evaluates time series and converts them to polylines. A result.Series is a step
// function: value i holds from time i to time i+1.

package plots

import (
	"sort"

	"gonum.org/v1/plot/vg"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// stepLine returns s between lo and hi seconds as a polyline. x and y convert seconds and
// values to the canvas. The result has at most a few points per pixel.
func stepLine(s *result.Series, lo, hi float64, x, y func(float64) vg.Length) []vg.Point {
	value := valueAt(s, lo)
	pts := []vg.Point{sheet.Point(x(lo), y(value))}
	for i, t := range s.TimeS {
		if t > lo && t < hi {
			// Each step is a horizontal and a vertical segment.
			pts = append(pts, sheet.Point(x(t), y(value)),
				sheet.Point(x(t), y(s.Value[i])))
			value = s.Value[i]
		}
	}

	return sheet.ThinPoints(append(pts, sheet.Point(x(hi), y(value))))
}

// valueAt returns the value of s at time t in seconds; it is 0 before the first step.
func valueAt(s *result.Series, t float64) float64 {
	// next is the index of the first step after t.
	if next := sort.Search(len(s.TimeS), func(i int) bool {
		return s.TimeS[i] > t
	}); next > 0 {
		return s.Value[next-1]
	}
	return 0
}

// nonZeroSeries returns the series that are not always 0.
func nonZeroSeries(all []result.Series) []*result.Series {
	var out []*result.Series
	for i := range all {
		if _, _, ok := activeRange(&all[i]); ok {
			out = append(out, &all[i])
		}
	}
	return out
}

// activeRange returns the first and the last time in seconds at which s is positive. If s is
// always 0, ok is false.
func activeRange(s *result.Series) (from, to float64, ok bool) {
	for i, v := range s.Value {
		if v <= 0 {
			continue
		}
		if !ok {
			from, ok = s.TimeS[i], true
		}

		// The last positive step ends where the next one starts.
		to = s.TimeS[min(i+1, len(s.TimeS)-1)]
	}

	return from, to, ok
}

// peak returns the maximum of s and the time when s first reaches it.
func peak(s *result.Series) (at, value float64) {
	for i, v := range s.Value {
		if v > value {
			at, value = s.TimeS[i], v
		}
	}
	return at, value
}

// minStepsPerRange is the number of steps in the plotted time from which a step is omitted:
// shorter steps are narrower than a pixel and would look like spikes.
const minStepsPerRange = 2000

// withoutShortSteps returns s without steps shorter than minSeconds; the preceding step is
// extended.
func withoutShortSteps(s *result.Series, minSeconds float64) *result.Series {
	out := &result.Series{}
	for i, t := range s.TimeS {
		if i+1 == len(s.TimeS) || s.TimeS[i+1]-t >= minSeconds {
			out.TimeS = append(out.TimeS, t)
			out.Value = append(out.Value, s.Value[i])
		}
	}

	return out
}
