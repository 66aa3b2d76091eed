// This file sets the labels, ticks and ranges of axes, and has the shapes that plots
// are drawn with.

package sheet

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// maxLabelLength is the maximum length in points of a label below an axis. Slanted labels are
// then lower than most plots.
const maxLabelLength = 125

// minLabelGap is the minimum distance in points between horizontal labels.
const minLabelGap = 8

// slantedPitch is the minimum distance between labels at 30 degrees, divided by their height:
// 1/sin(30°) = 2, and a little more.
const slantedPitch = 2.3

// SetCategories places labels at 0, 1, 2, ... on the x axis of p, whose data area is about
// width points wide. The labels are horizontal if they fit, otherwise slanted, otherwise
// vertical. If they still do not fit, some are omitted.
func SetCategories(p *plot.Plot, labels []string, width vg.Length) {
	SetRange(&p.X, -0.5, float64(len(labels))-0.5)
	style := &p.X.Tick.Label
	slot := width / vg.Length(max(1, len(labels)))
	longest := vg.Length(maxLabelLength)
	widest := vg.Length(0)
	numbers := true

	// plot.Plot cannot place a label that is wider than the data on both sides.
	if len(labels) == 1 {
		longest = min(longest, width/2)
	}

	// Shorten the labels and measure them.
	ticks := make([]plot.Tick, len(labels))
	for i, l := range labels {
		ticks[i] = plot.Tick{Value: float64(i), Label: Fit(*style, l, longest)}
		widest = max(widest, style.Width(ticks[i].Label))
		_, err := strconv.ParseFloat(l, 64)
		numbers = numbers && err == nil
	}

	// Slant labels that do not fit. Numbers stay horizontal, because some of them can be
	// omitted.
	p.X.Tick.Color, p.X.Tick.Length = color.Transparent, 6
	if widest > slot-minLabelGap && !numbers {
		style.XAlign = draw.XRight
		style.YAlign = draw.YCenter
		style.Rotation = math.Pi / 6
		// Slanted labels start to the left of the axis. over is the space that they need there, which
		// reduces the distance between labels.
		over := vg.Length(0)
		for i, t := range ticks {
			// Position as a share of the axis.
			at := (vg.Length(i) + 0.5) / vg.Length(len(ticks))
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

// SetTicks sets the ticks of the x axis of p, whose data area is about width points wide. The
// style of the labels must be set before.
//
// Labels that would overlap, if all were as wide as the widest one, are omitted. Of evenly
// spaced labels, every k-th remains.
func SetTicks(p *plot.Plot, ticks []plot.Tick, width vg.Length) {
	style := &p.X.Tick.Label
	// at returns the position of a tick in points, size the space that its label needs along the
	// axis.
	at := func(i int) vg.Length { return width * vg.Length(p.X.Norm(ticks[i].Value)) }
	size := func(i int) vg.Length {
		switch {
		case ticks[i].Label == "":
			return 0
		case style.Rotation > 1: // vertical
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
	slices.SortStableFunc(ticks, func(a, b plot.Tick) int {
		return cmp.Compare(a.Value, b.Value)
	})
	// last is the position of the last label.
	last := vg.Length(math.Inf(-1))

	var space reservedSpace
	for i, t := range ticks {
		if t.Label == "" || at(i)-last < widest {
			ticks[i].Label = ""
			continue
		}

		last = at(i)
		r := style.Rectangle(t.Label)

		// The axis already reserves the height.
		r.Min.Y, r.Max.Y = 0, 0
		space = append(space, plot.GlyphBox{X: p.X.Norm(t.Value), Rectangle: r})
	}

	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	p.Add(space)
}

// reservedSpace is a plotter that draws nothing, but makes gonum/plot keep space around the
// data area.
type reservedSpace []plot.GlyphBox

// Plot implements plot.Plotter.
func (reservedSpace) Plot(draw.Canvas, *plot.Plot) {}

// GlyphBoxes implements plot.GlyphBoxer.
func (b reservedSpace) GlyphBoxes(*plot.Plot) []plot.GlyphBox { return b }

// ReserveRight reserves space of a width in points to the right of the data area of p.
func ReserveRight(p *plot.Plot, width vg.Length) {
	p.Add(reservedSpace{{
		X:         1,
		Y:         0.5,
		Rectangle: vg.Rectangle{Max: Point(width, 1)},
	}})
}

// AlignSides reserves space at the sides of two plots so that their data areas have the same
// horizontal position.
func AlignSides(a, b *plot.Plot) {
	c := draw.NewCanvas(new(recorder.Canvas), ContentWidth/2, ContentWidth)

	// Measure both data areas. The common one is their intersection.
	data := [2]draw.Canvas{a.DataCanvas(c), b.DataCanvas(c)}
	left := max(data[0].Min.X, data[1].Min.X)
	right := min(data[0].Max.X, data[1].Max.X)
	for _, p := range []*plot.Plot{a, b} {
		// Reserve the difference on both sides. bare has the y axis without labels below it.
		bare := plot.New()
		bare.Y = p.Y
		bare.HideX()
		p.Add(reservedSpace{
			{
				X: 0,
				Y: 0.5,
				Rectangle: vg.Rectangle{
					Min: Point(bare.DataCanvas(c).Min.X-left, 0),
					Max: Point(0, 1),
				},
			},
			{
				X:         1,
				Y:         0.5,
				Rectangle: vg.Rectangle{Max: Point(c.Max.X-right, 1)},
			},
		})
	}
}

// AddHeading adds a heading above p, unless text is empty.
func AddHeading(p *plot.Plot, text string) {
	if text == "" {
		return
	}
	style := Bold(HeadingSize, Ink)
	p.Add(reservedSpace{{
		Y:         1,
		Rectangle: vg.Rectangle{Max: Point(0, headingHeight)},
	}}, PlotFunc(func(c draw.Canvas, _ *plot.Plot) {
		c.FillText(style, Point(c.Min.X, c.Max.Y+7),
			Fit(style, text, c.Max.X-c.Min.X+gap/2))
	}))
}

// NewPicture returns a plot without axes whose data area is drawn by paint. head is the heading.
func NewPicture(head string, paint func(c draw.Canvas)) *plot.Plot {
	p := NewPlot()
	p.HideAxes() // paint draws on the whole area
	SetRange(&p.X, 0, 1)
	SetRange(&p.Y, 0, 1)
	AddHeading(p, head)
	p.Add(PlotFunc(func(c draw.Canvas, _ *plot.Plot) { paint(c) }))
	return p
}

// RoundStep rounds x to 1, 2 or 5 times a power of ten. It returns 0 if x is not positive and
// finite.
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

// SetRange sets the range of an axis to [lo, hi]. An empty range is widened, because plots
// need a positive one.
func SetRange(a *plot.Axis, lo, hi float64) {
	// minWidth is relative to the greater end; ticks cannot be labelled on a smaller range.
	const minWidth = 1e-9
	if width := minWidth * max(math.Abs(lo), math.Abs(hi)); hi-lo <= width {
		hi = lo + max(width, 1e-9)
	}
	a.Min, a.Max = lo, hi
}

// TimeAxis makes a a time axis from lo to hi seconds with the title what, a suitable unit and
// about count ticks.
func TimeAxis(a *plot.Axis, what string, lo, hi float64, count int) {
	SetRange(a, lo, hi)
	u := TimeUnit(max(math.Abs(a.Min), math.Abs(a.Max)))
	a.Label.Text = what + ", " + u.Name
	a.Tick.Marker = Ticker{Unit: u, Count: count}
}

// gridLine is the style of grids: faint, so that they do not hide data.
var gridLine = Line(Faint, 0.6)

// HorizontalGrid returns lines at the labelled ticks of the y axis.
func HorizontalGrid() *plotter.Grid { return &plotter.Grid{Horizontal: gridLine} }

// VerticalGrid returns lines at the labelled ticks of the x axis.
func VerticalGrid() *plotter.Grid { return &plotter.Grid{Vertical: gridLine} }

// FullGrid returns lines at the labelled ticks of both axes.
func FullGrid() *plotter.Grid { return &plotter.Grid{Horizontal: gridLine, Vertical: gridLine} }

// Point returns a vg.Point.
func Point(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: y} }

// DrawableLimit is the maximum absolute value of a number in a figure, in seconds, bits per
// second or counts. It is far above all values of networks, and far below the values at which
// sums overflow or ticks coincide.
const DrawableLimit = 1e24

// ThinPoints reduces a polyline: in each column of pixels it keeps the first, lowest, highest
// and last point. The result looks the same.
func ThinPoints(pts []vg.Point) []vg.Point {
	column := func(p vg.Point) float64 { return math.Floor(float64(p.X / Pixel)) }
	// Points i to end-1 are in the same column; lo and hi are the lowest and the highest of
	// them.
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

		// Keep each of the four points once, in order.
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

// RectanglePath returns the closed outline of a rectangle.
func RectanglePath(x0, x1, y0, y1 vg.Length) []vg.Point {
	return []vg.Point{Point(x0, y0), Point(x1, y0), Point(x1, y1), Point(x0, y1),
		Point(x0, y0)}
}

// Cross returns the diagonals of a rectangle.
func Cross(x0, x1, y0, y1 vg.Length) [][]vg.Point {
	return [][]vg.Point{{Point(x0, y0), Point(x1, y1)},
		{Point(x0, y1), Point(x1, y0)}}
}

// NearlyEqual reports whether two values are equal except for rounding errors.
func NearlyEqual(a, b float64) bool {
	const rounding = 1e-9
	return math.Abs(a-b) <= rounding*max(math.Abs(a), math.Abs(b))
}
