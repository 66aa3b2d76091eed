// This file draws the lines of a panel, with their points and marks.

package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
)

// draw draws the lines of a panel and its marks. Reference lines are at the bottom, then come
// the series in order, then marks.
func (c *lineChart) draw(cv draw.Canvas, p *plot.Plot, panel int) {
	x, y := p.Transforms(&cv)
	// of returns the style of a series.
	of := func(s int) *seriesStyle { return &c.styles[c.v.series.categories[s]] }
	// strokeWhisker draws the whisker of a point. Positions are on the canvas.
	strokeWhisker := func(style draw.LineStyle, at, lo, hi vg.Length) {
		cv.StrokeLines(sheet.Line(style.Color, 1), whiskerLines(at, lo, hi, 2)...)
	}

	// Draw the reference lines, then the lines of the series.
	for _, a := range c.references {
		c.stroke(cv, a.style, a.lines[panel], x, y)
		for _, p := range a.lines[panel] {
			// The metric depends on the series after all, and the line is the mean over them.
			if p.max > p.min {
				strokeWhisker(a.style, x(p.x), y(p.min), y(p.max))
			}
		}
	}

	lines := c.lines[panel]
	for s, line := range lines {
		if c.isJoined {
			c.stroke(cv, of(s).line, line, x, y)
		}
	}

	for s, line := range lines {
		// Draw whiskers, and markers at points without neighbours or at all points.
		for i, p := range line {
			if p.max > p.min {
				strokeWhisker(of(s).line, x(p.x), y(p.min), y(p.max))
			}

			// A point is alone if no line touches it.
			alone := !c.isJoined || (i == 0 || p.afterGap) &&
				(i == len(line)-1 || line[i+1].afterGap)
			if (c.hasMarkers || alone) && !p.isEdge {
				of(s).marker(cv, sheet.Point(x(p.x), y(p.mean)), markerRadius)
			}
		}
	}

	// Draw the points that x_mark selects and the marks of the plot.
	if c.markedPoints != nil {
		for s, q := range c.markedPoints[panel] {
			if q != nil {
				drawStatedMark(cv, markedPointShape, of(s).line.Color,
					sheet.Point(x(q.x), y(q.mean)), markRadius+2)
			}
		}
	}

	for _, m := range c.v.panelMarks(panel) {
		// A mark without x and series is a line across the panel with its symbol at the right
		// end.
		style := statedLine
		at := sheet.Point(cv.Max.X-markRadius-2, y(m.y))
		if m.series >= 0 {
			style.Color = of(m.series).line.Color
		}

		switch {
		case c.v.kind.across && m.series >= 0:
			// On the curve of the series.
			at = sheet.Point(x(m.y), y(shareAt(lines[m.series], m.y)))
		case c.v.kind.across:
			at = sheet.Point(x(m.y), cv.Max.Y-markRadius-2)
			sheet.VLine(cv, style, at.X)
		case m.x >= 0:
			at.X = x(m.number)
		default:
			sheet.HLine(cv, style, at.Y)
		}

		drawStatedMark(cv, m.shape, style.Color, at, markRadius+0.8)
	}
}

// stroke draws a line with its gaps. x and y convert values to the canvas. A distribution
// function that ends below 1 is extended to the right end of the axis.
func (c *lineChart) stroke(
	cv draw.Canvas,
	style draw.LineStyle,
	line []linePoint,
	x, y func(float64) vg.Length,
) {
	var parts [][]vg.Point
	for i, p := range line {
		if i == 0 || p.afterGap {
			parts = append(parts, nil)
		}
		last := &parts[len(parts)-1]
		*last = append(*last, sheet.Point(x(p.x), y(p.mean)))
		if c.v.kind.across && i == len(line)-1 && p.mean < 1 {
			*last = append(*last, sheet.Point(cv.Max.X, y(p.mean)))
		}
	}

	for _, pts := range parts {
		if len(pts) > 1 {
			cv.StrokeLines(style, sheet.ThinPoints(pts))
		}
	}
}

// noteCoincidence adds a note about series whose lines coincide, because one hides the other.
func (c *lineChart) noteCoincidence() {
	// Points coincide if they are closer than the width of a line.
	left, right := c.xRange()
	lo, hi := c.yRange(allPanels)
	sameX := sameWithin(left, right, c.v.spec.LogX)
	sameY := sameWithin(lo, hi, c.v.spec.LogY)

	what := "Lines"
	switch {
	case c.v.kind.across:
		what = "Curves"
		sameY = func(a, b float64) bool { return a == b }
	case !c.isJoined:
		what = "Points"
	}

	c.v.noteSame(what, len(c.v.series.categories), func(a, b int) bool {
		points := 0
		for _, lines := range c.lines {
			points += len(lines[a])
			if !slices.EqualFunc(lines[a], lines[b], func(p, q linePoint) bool {
				return sameX(p.x, q.x) && sameY(p.mean, q.mean)
			}) {
				return false
			}
		}

		return points > 0
	})
}

// sameWithin returns a function that reports whether two values on an axis from lo to hi are
// too close to distinguish.
func sameWithin(lo, hi float64, log bool) func(a, b float64) bool {
	// hairline is relative to the axis; less than the width of a line.
	const hairline = 2e-3
	place := axisTransform(log)
	near := hairline * (place(hi) - place(lo))
	return func(a, b float64) bool { return math.Abs(place(a)-place(b)) <= near }
}

// noteSame adds a note that lists the groups of equal series. what names the lines, n is the
// number of series, and same reports whether two series are equal.
func (v *view) noteSame(what string, n int, same func(a, b int) bool) {
	// in marks the series that belong to the group of an earlier one.
	in := make([]bool, n)
	var groups []string
	for a := range n {
		var group []string
		for b := a; b < n && !in[a]; b++ {
			if b == a || !in[b] && same(a, b) {
				in[b] = b > a
				group = append(group, v.series.categoryText(v.series.categories[b]))
			}
		}

		if len(group) > 1 {
			groups = append(groups, andList(group))
		}
	}

	if len(groups) > 0 {
		v.notes = append(v.notes, fmt.Sprintf("%s that lie on each other: %s.", what,
			strings.Join(groups, "; ")))
	}
}
