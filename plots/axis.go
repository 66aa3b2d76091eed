package plots

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// unit is a unit of an axis: a value in the base unit times per is a value in
// it.
type unit struct {
	name string
	per  float64
}

var timeUnits = []unit{{"s", 1}, {"ms", 1e3}, {"µs", 1e6}, {"ns", 1e9}}

// timeUnit is the largest unit that shows s seconds as one or more.
func timeUnit(s float64) unit {
	for _, u := range timeUnits {
		if math.Abs(s)*u.per >= 1-1e-9 { // a second less rounding is a second
			return u
		}
	}
	return timeUnits[0] // nothing, or nothing measurable
}

// gigabits shows bits per second as Gb/s, gigabytes as GB/s.
var (
	gigabits  = unit{"Gb/s", 1e-9}
	gigabytes = unit{"GB/s", 1e-9 / 8}
)

// ticker is a plot.Ticker that marks about count round values of a unit.
type ticker struct {
	unit  unit
	count int
	whole bool // only whole numbers
}

// ticksLimit stops a ticker whose step is lost in rounding.
const ticksLimit = 64

// Ticks implements plot.Ticker.
func (t ticker) Ticks(lo, hi float64) []plot.Tick {
	lo, hi = lo*t.unit.per, hi*t.unit.per
	step := roundStep((hi - lo) / float64(max(1, t.count)))
	if t.whole {
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
			label = digits(v, 4)
		}
		if math.Abs(v) < eps {
			v, label = 0, "0"
		}
		out = append(out, plot.Tick{Value: min(max(v, lo), hi) / t.unit.per, Label: label})
	}
	return out
}

// roundStep rounds x to 1, 2 or 5 times a power of ten; 0 when it cannot.
func roundStep(x float64) float64 {
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

// setRange sets an axis to [lo, hi], widened where that is no range.
func setRange(a *plot.Axis, lo, hi float64) {
	const least = 1e-9 // of the greater end; ticks closer than that cannot be labelled
	if room := least * max(math.Abs(lo), math.Abs(hi)); hi-lo <= room {
		hi = lo + max(room, 1e-9)
	}
	a.Min, a.Max = lo, hi
}

// timeAxis makes a the axis of time from lo to hi seconds, labelled with what
// it measures, with about count ticks.
func timeAxis(a *plot.Axis, what string, lo, hi float64, count int) {
	setRange(a, lo, hi)
	u := timeUnit(max(math.Abs(a.Min), math.Abs(a.Max)))
	a.Label.Text = what + ", " + u.name
	a.Tick.Marker = ticker{unit: u, count: count}
}

// grid draws faint lines at the ticks of an axis.
func grid(horizontal, vertical bool) plotFunc {
	return func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		style := draw.LineStyle{Color: faint, Width: 0.6}
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

// marks is a fixed set of ticks.
func marks(values []float64, labels []string) plot.ConstantTicks {
	out := make(plot.ConstantTicks, len(values))
	for i := range values {
		out[i] = plot.Tick{Value: values[i], Label: labels[i]}
	}
	return out
}

// point makes a vg.Point.
func point(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: y} }
