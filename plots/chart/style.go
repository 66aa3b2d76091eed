package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
)

// seriesStyle is how a series is drawn.
type seriesStyle struct {
	color  color.Color
	line   draw.LineStyle
	shape  []vg.Point // of a marker, about the origin, 1 high and wide
	hollow bool
}

// styles returns how the categories of f look: policies and names as lineStyles has them, numbers by a scale of
// colours. A category looks the same whichever others are drawn.
func (v *view) styles(f *dimension) []seriesStyle {
	out := make([]seriesStyle, len(f.labels))
	const few = 2 // numbers, which need no scale
	ordered := f.numbers != nil && len(f.labels) > few
	for i := range out {
		style := sheet.LineStyles[i%len(sheet.LineStyles)]
		l := seriesStyle{color: style.Color, line: style, shape: markerShapes[i%len(markerShapes)], hollow: i/len(sheet.LineStyles)%2 == 1}
		if ordered {
			const dark, light = 0.05, 0.86 // of the scale; beyond it is too light for white paper
			l.color = sheet.Heat(dark + (light-dark)*float64(i)/float64(len(out)-1))
			l.line = sheet.Line(l.color, 2)
			l.hollow = false
		} else if l.hollow { // bars have colour alone
			l.color = sheet.Tint(sheet.ToRGBA(style.Color), 0.45)
		}
		out[i] = l
	}
	if f.index < 0 {
		out[0] = seriesStyle{color: sheet.SkyBlue, line: sheet.Line(sheet.Blue, 2), shape: markerShapes[0]}
	}
	return out
}

// markerShapes of markers, of about the same area.
var markerShapes = [][]vg.Point{
	polygon(24, 0), polygon(4, 0.5), polygon(3, 0), polygon(3, 0.5), polygon(4, 0), polygon(6, 0), polygon(5, 0), polygon(5, 0.5),
}

// statedShapes are those of figures that others state.
var statedShapes = [][]vg.Point{polygon(4, 0), polygon(24, 0), polygon(4, 0.5), polygon(3, 0), polygon(3, 0.5)}

// markedPointShape is that of places which a plot has marked.
var markedPointShape = polygon(24, 0)

// polygon is a regular polygon with a corner at the top, turned by so many sides.
func polygon(n int, turn float64) []vg.Point {
	out := make([]vg.Point, n)
	for i := range out {
		at := 2 * math.Pi * (float64(i) + turn) / float64(n)
		out[i] = sheet.Point(vg.Length(math.Sin(at)), vg.Length(math.Cos(at)))
	}
	return out
}

// scaleShape is a shape of radius r at p.
func scaleShape(shape []vg.Point, p vg.Point, r vg.Length) []vg.Point {
	out := make([]vg.Point, len(shape))
	for i, q := range shape {
		out[i] = sheet.Point(p.X+q.X*r, p.Y+q.Y*r)
	}
	return out
}

// marker draws a series' marker at p.
func (l *seriesStyle) marker(c draw.Canvas, p vg.Point, r vg.Length) {
	outline := scaleShape(l.shape, p, r)
	if l.hollow {
		c.FillPolygon(sheet.White, outline)
		c.StrokeLines(sheet.Line(l.line.Color, 1.4), closedPath(outline))
		return
	}
	c.FillPolygon(l.color, outline)
	c.StrokeLines(sheet.Line(sheet.White, 0.4), closedPath(outline))
}

func closedPath(pts []vg.Point) []vg.Point { return append(pts, pts[0]) }

// drawStatedMark draws a figure that somebody else states: hollow, so that what lies below it is seen, with a light edge, so
// that it is seen on what lies below.
func drawStatedMark(c draw.Canvas, shape []vg.Point, clr color.Color, p vg.Point, r vg.Length) {
	const edge = 1.3
	c.StrokeLines(sheet.Line(sheet.White, edge), closedPath(scaleShape(shape, p, r+edge)))
	c.StrokeLines(sheet.Line(clr, 1.4), closedPath(scaleShape(shape, p, r)))
}

// seriesParts are what a series is drawn of.
type seriesParts struct{ bars, lines, markers bool }

// sample is a series' entry in a legend.
func (l *seriesStyle) sample(of seriesParts) sheet.Sample {
	return func(c draw.Canvas) {
		if of.bars {
			sheet.BoxSample(l.color, 1)(c)
		}
		if of.lines {
			sheet.LineSample(l.line)(c)
		}
		if of.markers {
			l.marker(c, c.Center(), markerRadius)
		}
	}
}
