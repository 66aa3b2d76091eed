// This file declares the colours, lines and markers of the series of a chart.

package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
)

// seriesStyle describes how a series is drawn as bars, as a line and with markers.
type seriesStyle struct {
	color color.Color    // of bars and markers
	line  draw.LineStyle // style of the line
	// shape is the outline of the marker, around the origin, with a radius of 1.
	shape []vg.Point
	// hollow reports whether markers are filled with white.
	hollow bool
}

// styles returns the style of each label of f. Numbers get colours of a scale; policies and
// names get sheet.LineStyles. The style of a label does not depend on which labels are drawn, so
// that figures of the same sweep are comparable.
func (v *view) styles(f *dimension) []seriesStyle {
	out := make([]seriesStyle, len(f.labels))

	// With at most two numbers, no scale is needed.
	const maxUnscaled = 2
	ordered := f.numbers != nil && len(f.labels) > maxUnscaled
	for i := range out {
		style := sheet.LineStyles[i%len(sheet.LineStyles)]
		l := seriesStyle{
			color:  style.Color,
			line:   style,
			shape:  markerShapes[i%len(markerShapes)],
			hollow: i/len(sheet.LineStyles)%2 == 1,
		}

		if ordered {
			// minShare and maxShare are the ends of the scale. Lighter colours are invisible on
			// white paper.
			const minShare, maxShare = 0.05, 0.86
			l.color = sheet.Heat(minShare + (maxShare-minShare)*float64(i)/float64(len(out)-1))
			l.line = sheet.Line(l.color, 2)
			l.hollow = false
		} else if l.hollow { // bars differ only by colour
			l.color = sheet.Tint(sheet.ToRGBA(style.Color), 0.45)
		}

		out[i] = l
	}

	if f.index < 0 {
		out[0] = seriesStyle{
			color: sheet.SkyBlue,
			line:  sheet.Line(sheet.Blue, 2),
			shape: markerShapes[0],
		}
	}
	return out
}

// circleCorners is the number of corners of a polygon that looks like a circle.
const circleCorners = 24

// markerShapes are the shapes of the markers of series: circle, squares, triangles, hexagon and
// pentagons. They have about the same area.
var markerShapes = [][]vg.Point{
	polygon(circleCorners, 0), polygon(4, 0.5), polygon(3, 0), polygon(3, 0.5), polygon(4, 0),
	polygon(6, 0), polygon(5, 0), polygon(5, 0.5),
}

// statedShapes are the shapes of marks, whose values come from the plot and not from the
// cells.
var statedShapes = [][]vg.Point{polygon(4, 0), polygon(circleCorners, 0), polygon(4, 0.5),
	polygon(3, 0), polygon(3, 0.5)}

// markedPointShape is the shape of the points that the option x_mark selects.
var markedPointShape = polygon(circleCorners, 0)

// polygon returns a regular polygon with n corners and a radius of 1. It has a corner at the
// top, but is rotated by turn times the angle of a side: polygon(4, 0) stands on a corner, and
// polygon(4, 0.5) on a side.
func polygon(n int, turn float64) []vg.Point {
	out := make([]vg.Point, n)
	for i := range out {
		at := 2 * math.Pi * (float64(i) + turn) / float64(n)
		out[i] = sheet.Point(vg.Length(math.Sin(at)), vg.Length(math.Cos(at)))
	}
	return out
}

// scaleShape returns a shape with radius r around p.
func scaleShape(shape []vg.Point, p vg.Point, r vg.Length) []vg.Point {
	out := make([]vg.Point, len(shape))
	for i, q := range shape {
		out[i] = sheet.Point(p.X+q.X*r, p.Y+q.Y*r)
	}
	return out
}

// marker draws the marker of a series at p.
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

// closedPath returns a polyline that ends at its first point.
func closedPath(pts []vg.Point) []vg.Point { return append(pts, pts[0]) }

// drawStatedMark draws a mark: hollow, so that the value below it remains visible, and with a
// light edge, so that it is visible on any background.
func drawStatedMark(c draw.Canvas, shape []vg.Point, clr color.Color, p vg.Point, r vg.Length) {
	const edgeWidth = 1.3
	c.StrokeLines(sheet.Line(sheet.White, edgeWidth),
		closedPath(scaleShape(shape, p, r+edgeWidth)))
	c.StrokeLines(sheet.Line(clr, 1.4), closedPath(scaleShape(shape, p, r)))
}

// seriesParts selects the parts of a series that are drawn.
type seriesParts struct{ bars, lines, markers bool }

// sample returns the legend symbol of a series.
func (l *seriesStyle) sample(of seriesParts) sheet.Sample {
	return func(c draw.Canvas) {
		if of.bars {
			sheet.BoxSample(l.color)(c)
		}
		if of.lines {
			sheet.LineSample(l.line)(c)
		}
		if of.markers {
			l.marker(c, c.Center(), markerRadius)
		}
	}
}
