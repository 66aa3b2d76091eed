package sheet

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Unit is a unit of an axis: a value in the base unit times per is a value in
// it.
type Unit struct {
	Name string
	Per  float64
}

var TimeUnits = []Unit{{"s", 1}, {"ms", 1e3}, {"µs", 1e6}, {"ns", 1e9}}

// TimeUnit is the largest unit that shows s seconds as one or more.
func TimeUnit(s float64) Unit {
	for _, u := range TimeUnits {
		if math.Abs(s)*u.Per >= 1-1e-9 { // a second less rounding is a second
			return u
		}
	}
	return TimeUnits[0] // nothing, or nothing measurable
}

// Gigabits shows bits per second as Gb/s, gigabytes as GB/s.
var (
	Gigabits  = Unit{"Gb/s", 1e-9}
	Gigabytes = Unit{"GB/s", 1e-9 / 8}
)

// Ticker is a plot.Ticker that marks about count round values of a unit.
type Ticker struct {
	Unit  Unit
	Count int
	Whole bool // only whole numbers
}

// ticksLimit stops a ticker whose step is lost in rounding.
const ticksLimit = 64

// Ticks implements plot.Ticker.
func (t Ticker) Ticks(lo, hi float64) []plot.Tick {
	lo, hi = lo*t.Unit.Per, hi*t.Unit.Per
	step := RoundStep((hi - lo) / float64(max(1, t.Count)))
	if t.Whole {
		step = max(1, step)
	}
	if !(step > 0) {
		return nil
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	eps := step * 1e-6 // a tick on the end counts as inside
	first := math.Ceil((lo - eps) / step)
	var out []plot.Tick
	for i := range ticksLimit {
		v := (first + float64(i)) * step
		if v > hi+eps {
			break
		}
		label := strconv.FormatFloat(v+0, 'f', decimals, 64)
		if math.Abs(v) >= 1e7 || decimals > 6 {
			label = Digits(v, 4)
		}
		if math.Abs(v) < eps {
			v, label = 0, "0"
		}
		out = append(out, plot.Tick{Value: min(max(v, lo), hi) / t.Unit.Per, Label: label})
	}
	return out
}

// RoundStep rounds x to 1, 2 or 5 times a power of ten; 0 when it cannot.
func RoundStep(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 0) {
		return 0
	}
	p := math.Pow(10, math.Floor(math.Log10(x)))
	switch m := x / p; {
	case m < 1.5:
		return p
	case m < 3.5:
		return 2 * p
	case m < 7.5:
		return 5 * p
	}
	return 10 * p
}

// SetRange sets an axis to [lo, hi], widened where that is no range.
func SetRange(a *plot.Axis, lo, hi float64) {
	const least = 1e-9 // of the greater end; ticks closer than that cannot be labelled
	if room := least * max(math.Abs(lo), math.Abs(hi)); hi-lo <= room {
		hi = lo + max(room, 1e-9)
	}
	a.Min, a.Max = lo, hi
}

// TimeAxis makes a the axis of time from lo to hi seconds, labelled with what
// it measures, with about count ticks.
func TimeAxis(a *plot.Axis, what string, lo, hi float64, count int) {
	SetRange(a, lo, hi)
	u := TimeUnit(max(math.Abs(a.Min), math.Abs(a.Max)))
	a.Label.Text = what + ", " + u.Name
	a.Tick.Marker = Ticker{Unit: u, Count: count}
}

// Grid draws faint lines at the ticks of an axis.
func Grid(horizontal, vertical bool) PlotFunc {
	return func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		style := draw.LineStyle{Color: Faint, Width: 0.6}
		if horizontal {
			for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
				at := y(t.Value)
				c.StrokeLine2(style, c.Min.X, at, c.Max.X, at)
			}
		}
		if vertical {
			for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
				at := x(t.Value)
				c.StrokeLine2(style, at, c.Min.Y, at, c.Max.Y)
			}
		}
	}
}

// Marks is a fixed set of ticks.
func Marks(values []float64, labels []string) plot.ConstantTicks {
	out := make(plot.ConstantTicks, len(values))
	for i := range values {
		out[i] = plot.Tick{Value: values[i], Label: labels[i]}
	}
	return out
}

// Point makes a vg.Point.
func Point(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: y} }

// Thousands is the multiple of a unit that shows most as one or more.
func Thousands(most float64, name string) Unit {
	for _, u := range []Unit{{"T", 1e-12}, {"G", 1e-9}, {"M", 1e-6}, {"K", 1e-3}} {
		if math.Abs(most)*u.Per >= 1-1e-9 {
			return Unit{u.Name + name, u.Per}
		}
	}
	return Unit{name, 1}
}

// DrawableLimit bounds every number drawn, in seconds, bits per second or
// counts: far above any network, far below where sums overflow or ticks
// can no longer be told apart.
const DrawableLimit = 1e24

// Thin leaves of each pixel column's points the first, the least, the greatest
// and the last, which look the same.
func Thin(pts []vg.Point) []vg.Point {
	column := func(p vg.Point) float64 { return math.Floor(float64(p.X / Pixel)) }
	var out []vg.Point
	for i := 0; i < len(pts); {
		lo, hi, end := i, i, i
		for ; end < len(pts) && column(pts[end]) == column(pts[i]); end++ {
			if pts[end].Y < pts[lo].Y {
				lo = end
			}
			if pts[end].Y > pts[hi].Y {
				hi = end
			}
		}
		last := -1
		for _, k := range []int{i, min(lo, hi), max(lo, hi), end - 1} {
			if k > last {
				out = append(out, pts[k])
				last = k
			}
		}
		i = end
	}
	return out
}

// Ring4 is the closed outline of a rectangle.
func Ring4(x0, x1, y0, y1 vg.Length) []vg.Point {
	return []vg.Point{Point(x0, y0), Point(x1, y0), Point(x1, y1), Point(x0, y1), Point(x0, y0)}
}

// Near tells whether two values are the same but for rounding.
func Near(a, b float64) bool {
	const rounding = 1e-9
	return math.Abs(a-b) <= rounding*max(math.Abs(a), math.Abs(b))
}
