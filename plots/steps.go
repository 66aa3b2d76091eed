package plots

import (
	"gonum.org/v1/plot/vg"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// stepLine returns s from lo to hi seconds as a polyline, through x and y, which map seconds and values to the canvas.
// It has at most a few points a pixel.
func stepLine(s *result.Series, lo, hi float64, x, y func(float64) vg.Length) []vg.Point {
	var pts []vg.Point
	put := func(t, v float64) { pts = append(pts, sheet.Point(x(t), y(v))) }
	value := 0.0 // before the first step nothing is carried
	put(lo, valueAt(s, lo))
	for i, t := range s.TimeS {
		if t > lo && t < hi {
			put(t, value)
			put(t, s.Value[i])
		}
		if t < hi {
			value = s.Value[i]
		}
	}
	put(hi, value)
	return sheet.Thin(pts)
}

// valueAt is what s carries at time t.
func valueAt(s *result.Series, t float64) float64 {
	v := 0.0
	for i := range s.TimeS {
		if s.TimeS[i] > t {
			break
		}
		v = s.Value[i]
	}
	return v
}

// active returns when s first and last carries something, ok when it does.
func active(s *result.Series) (from, to float64, ok bool) {
	for i, v := range s.Value {
		if v <= 0 {
			continue
		}
		if !ok {
			from, ok = s.TimeS[i], true
		}
		to = s.TimeS[min(i+1, len(s.TimeS)-1)]
	}
	return from, to, ok
}

// peak returns the greatest value of s and when it is first reached.
func peak(s *result.Series) (at, value float64) {
	for i, v := range s.Value {
		if v > value {
			at, value = s.TimeS[i], v
		}
	}
	return at, value
}

// sliver is the part of the time shown, one in so many, below which a step is left out: less than a pixel, it would
// stand there as a spike.
const sliver = 2000

// steady is s without steps shorter than least seconds; the step before takes their place.
func steady(s *result.Series, least float64) *result.Series {
	out := &result.Series{Name: s.Name, Group: s.Group}
	for i, t := range s.TimeS {
		if i+1 < len(s.TimeS) && s.TimeS[i+1]-t < least {
			continue
		}
		out.TimeS, out.Value = append(out.TimeS, t), append(out.Value, s.Value[i])
	}
	return out
}
