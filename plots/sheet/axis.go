package sheet

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// Unit is a unit of an axis: a value in the base unit times per is a value in it.
type Unit struct {
	Name string
	Per  float64
}

// Plainly shows values as they are, Percents shares.
var (
	NoUnit      = Unit{"", 1}
	PercentUnit = Unit{"%", 100}
)

var TimeUnits = []Unit{{"s", 1}, {"ms", 1e3}, {"µs", 1e6}, {"ns", 1e9}}

// TimeUnit is the largest unit that shows s seconds as one or more, hours and days as two; a second where nothing is
// measurable.
func TimeUnit(s float64) Unit {
	const hour, day = 3600, 86400
	switch s := math.Abs(s); {
	case s >= 2*day:
		return Unit{"d", 1.0 / day}
	case s >= 2*hour:
		return Unit{"h", 1.0 / hour}
	}
	return largestUnit(s, TimeUnits, TimeUnits[0])
}

// PrefixedUnit is the multiple of a unit that shows most as one or more.
func PrefixedUnit(most float64, name string) Unit {
	return largestUnit(most, []Unit{{"P" + name, 1e-15}, {"T" + name, 1e-12}, {"G" + name, 1e-9}, {"M" + name, 1e-6}, {"k" + name, 1e-3}}, Unit{name, 1})
}

// largestUnit is the first of units that shows v as one or more, else another.
func largestUnit(v float64, units []Unit, other Unit) Unit {
	for _, u := range units {
		if math.Abs(v)*u.Per >= 1-1e-9 { // one less rounding is one
			return u
		}
	}
	return other
}

// Gigabits shows bits per second as Gb/s, gigabytes as GB/s.
var (
	GigabitsPerSecond  = Unit{"Gb/s", 1e-9}
	GigabytesPerSecond = Unit{"GB/s", 1e-9 / 8}
)

// Ticker is a plot.Ticker that marks about count round values of a unit.
type Ticker struct {
	Unit         Unit
	Count        int
	IntegersOnly bool // only whole numbers
}

// maxTicks stops a ticker whose step is lost in rounding.
const maxTicks = 64

// Ticks implements plot.Ticker.
func (t Ticker) Ticks(lo, hi float64) []plot.Tick {
	lo, hi = lo*t.Unit.Per, hi*t.Unit.Per
	step := RoundStep((hi - lo) / float64(max(1, t.Count)))
	if t.IntegersOnly {
		step = max(1, step)
	}
	if !(step > 0) {
		return nil
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	eps := step * 1e-6 // a tick on the end counts as inside
	first := math.Ceil((lo - eps) / step)
	var out []plot.Tick
	for i := range maxTicks {
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

// LogTicker marks a logarithmic axis at about Count round values of a unit, or each in a unit of time of its own.
type LogTicker struct {
	Unit        Unit
	UnitPerTick bool
	Count       int
}

// Ticks implements plot.Ticker.
func (t LogTicker) Ticks(lo, hi float64) []plot.Tick {
	const eps, widest = 1e-9, 700 // decades, more than numbers have
	from, to := math.Log10(lo), math.Log10(hi)
	span := to - from
	if !(span < widest) {
		return nil
	}
	var out []plot.Tick
	stride := max(1, int(math.Ceil(span/float64(max(1, t.Count)))))
	for d := int(math.Floor(from)); float64(d) <= to+eps; d++ {
		for m := 1; m < 10; m++ {
			at := float64(d) + math.Log10(float64(m))
			if at < from-eps || at > to+eps {
				continue
			}
			v := float64(m) * math.Pow(10, float64(d))
			tick := plot.Tick{Value: min(max(v, lo), hi)}
			switch {
			case m == 1 && d%stride == 0, span <= 3 && (m == 2 || m == 5), span <= 0.8 && m != 9 && m != 7:
				u := t.Unit
				if t.UnitPerTick {
					u = TimeUnit(v)
				}
				tick.Label = ShortNumber(v * u.Per)
				if t.UnitPerTick {
					tick.Label = strings.Replace(tick.Label, "+", "", 1) + " " + u.Name
				}
			}
			if tick.Label != "" || stride == 1 && span <= 6 || m == 1 {
				out = append(out, tick)
			}
		}
	}
	return out
}

// UnlabelledTicker has the ticks and grid of a ticker without its labels, which stand beside another plot.
type UnlabelledTicker struct{ plot.Ticker }

// Ticks implements plot.Ticker.
func (u UnlabelledTicker) Ticks(lo, hi float64) []plot.Tick {
	ticks := u.Ticker.Ticks(lo, hi)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = " "
		}
	}
	return ticks
}

// maxLabelLength is the most that a label below an axis may take, in points.
const maxLabelLength = 125

// minLabelGap is how far apart level labels are at least, in points.
const minLabelGap = 8

// slantedPitch is how far apart lines at 30 degrees start, in their height: twice, and a little.
const slantedPitch = 2.3

// SetCategories writes labels at 0, 1, 2 ... below p, whose data is about so wide: level where they fit, else slanted,
// else upright. What is too many is thinned.
func SetCategories(p *plot.Plot, labels []string, width vg.Length) {
	SetRange(&p.X, -0.5, float64(len(labels))-0.5)
	style, slot := &p.X.Tick.Label, width/vg.Length(max(1, len(labels)))
	longest, widest, numbers := vg.Length(maxLabelLength), vg.Length(0), true
	if len(labels) == 1 { // plot.Plot cannot place a label that hangs over on both sides
		longest = min(longest, width/2)
	}
	ticks := make([]plot.Tick, len(labels))
	for i, l := range labels {
		ticks[i] = plot.Tick{Value: float64(i), Label: Fit(*style, l, longest)}
		widest = max(widest, style.Width(ticks[i].Label))
		_, err := strconv.ParseFloat(l, 64)
		numbers = numbers && err == nil
	}
	p.X.Tick.Color, p.X.Tick.Length = color.Transparent, 6
	if widest > slot-minLabelGap && !numbers {
		style.XAlign, style.YAlign, style.Rotation = draw.XRight, draw.YCenter, math.Pi/6
		over := vg.Length(0) // of the axis, that labels reach to the left of it
		for i, t := range ticks {
			at := (vg.Length(i) + 0.5) / vg.Length(len(ticks)) // of what is left of the axis
			over = max(over, (style.Width(t.Label)*vg.Length(math.Cos(style.Rotation))-width*at)/(1-at))
		}
		if (width-over)/vg.Length(len(labels)) >= slantedPitch*TickSize {
			width -= over
		} else {
			style.Rotation = math.Pi / 2
		}
	}
	SetTicks(p, ticks, width)
}

// SetTicks sets the ticks of p's axis across, whose data is about so wide, without labels that would touch others if all
// were as wide as the widest: of evenly spaced ones each k-th has one.
func SetTicks(p *plot.Plot, ticks []plot.Tick, width vg.Length) {
	style := &p.X.Tick.Label
	at := func(i int) vg.Length { return width * vg.Length(p.X.Norm(ticks[i].Value)) }
	size := func(i int) vg.Length {
		switch {
		case ticks[i].Label == "":
			return 0
		case style.Rotation > 1: // upright
			return style.Height(ticks[i].Label) * 1.15
		case style.Rotation > 0:
			return style.Height(ticks[i].Label) * slantedPitch
		}
		return style.Width(ticks[i].Label) + minLabelGap
	}
	widest := vg.Length(0)
	for i := range ticks {
		widest = max(widest, size(i))
	}
	slices.SortStableFunc(ticks, func(a, b plot.Tick) int { return cmp.Compare(a.Value, b.Value) })
	last := vg.Length(math.Inf(-1))
	var room reservedSpace
	for i, t := range ticks {
		if t.Label == "" || at(i)-last < widest {
			ticks[i].Label = ""
			continue
		}
		last = at(i)
		r := style.Rectangle(t.Label)
		r.Min.Y, r.Max.Y = 0, 0 // none is needed below
		room = append(room, plot.GlyphBox{X: p.X.Norm(t.Value), Rectangle: r})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	p.Add(room)
}

// reservedSpace keep room within a plot's part of the sheet.
type reservedSpace []plot.GlyphBox

// Plot implements plot.Plotter.
func (reservedSpace) Plot(draw.Canvas, *plot.Plot) {}

// GlyphBoxes implements plot.GlyphBoxer.
func (b reservedSpace) GlyphBoxes(*plot.Plot) []plot.GlyphBox { return b }

// ReserveRight keeps room of a width to the right of p's data.
func ReserveRight(p *plot.Plot, width vg.Length) {
	p.Add(reservedSpace{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: Point(width, 1)}}})
}

// AlignSides keeps room at the sides of two plots so that their data are equally far from both.
func AlignSides(a, b *plot.Plot) {
	c := draw.NewCanvas(new(recorder.Canvas), ContentWidth/2, ContentWidth)
	data := [2]draw.Canvas{a.DataCanvas(c), b.DataCanvas(c)}
	left, right := max(data[0].Min.X, data[1].Min.X), min(data[0].Max.X, data[1].Max.X)
	for _, p := range []*plot.Plot{a, b} {
		bare := plot.New()
		bare.Y = p.Y
		bare.HideX()
		p.Add(reservedSpace{
			{X: 0, Y: 0.5, Rectangle: vg.Rectangle{Min: Point(bare.DataCanvas(c).Min.X-left, 0), Max: Point(0, 1)}},
			{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: Point(c.Max.X-right, 1)}},
		})
	}
}

// AddHeading writes a heading above p.
func AddHeading(p *plot.Plot, text string) {
	if text == "" {
		return
	}
	style := Bold(HeadingSize, Ink)
	p.Add(reservedSpace{{Y: 1, Rectangle: vg.Rectangle{Max: Point(0, headingHeight)}}}, PlotFunc(func(c draw.Canvas, _ *plot.Plot) {
		c.FillText(style, Point(c.Min.X, c.Max.Y+7), Fit(style, text, c.Max.X-c.Min.X+gap/2))
	}))
}

// NewPicture is a plot without axes.
func NewPicture(head string, paint func(c draw.Canvas)) *plot.Plot {
	p := NewPlot("", "")
	p.HideAxes()
	SetRange(&p.X, 0, 1)
	SetRange(&p.Y, 0, 1)
	AddHeading(p, head)
	p.Add(PlotFunc(func(c draw.Canvas, _ *plot.Plot) { paint(c) }))
	return p
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

// TimeAxis makes a the axis of time from lo to hi seconds, labelled with what it measures, with about count ticks.
func TimeAxis(a *plot.Axis, what string, lo, hi float64, count int) {
	SetRange(a, lo, hi)
	u := TimeUnit(max(math.Abs(a.Min), math.Abs(a.Max)))
	a.Label.Text = what + ", " + u.Name
	a.Tick.Marker = Ticker{Unit: u, Count: count}
}

// Grid draws faint lines at the labelled ticks.
func Grid(horizontal, vertical bool) *plotter.Grid {
	style, g := Line(Faint, 0.6), &plotter.Grid{}
	if horizontal {
		g.Horizontal = style
	}
	if vertical {
		g.Vertical = style
	}
	return g
}

// FixedTicks is a fixed set of ticks.
func FixedTicks(values []float64, labels []string) plot.ConstantTicks {
	out := make(plot.ConstantTicks, len(values))
	for i := range values {
		out[i] = plot.Tick{Value: values[i], Label: labels[i]}
	}
	return out
}

// Point makes a vg.Point.
func Point(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: y} }

// DrawableLimit bounds every number drawn, in seconds, bits per second or counts: far above any network, far below
// where sums overflow or ticks can no longer be told apart.
const DrawableLimit = 1e24

// ThinPoints leaves of each pixel column's points the first, the least, the greatest and the last, which look the same.
func ThinPoints(pts []vg.Point) []vg.Point {
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

// RectanglePath is the closed outline of a rectangle.
func RectanglePath(x0, x1, y0, y1 vg.Length) []vg.Point {
	return []vg.Point{Point(x0, y0), Point(x1, y0), Point(x1, y1), Point(x0, y1), Point(x0, y0)}
}

// Cross is the diagonals of a rectangle.
func Cross(x0, x1, y0, y1 vg.Length) [][]vg.Point {
	return [][]vg.Point{{Point(x0, y0), Point(x1, y1)}, {Point(x0, y1), Point(x1, y0)}}
}

// NearlyEqual tells whether two values are the same but for rounding.
func NearlyEqual(a, b float64) bool {
	const rounding = 1e-9
	return math.Abs(a-b) <= rounding*max(math.Abs(a), math.Abs(b))
}
