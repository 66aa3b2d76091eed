// This file draws the bars of a panel, with their numbers and marks.

package chart

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
)

// barCanvas is the drawing area of a panel with its coordinate transforms.
type barCanvas struct {
	draw.Canvas
	*barChart // bars.go
	panel     int
	x, y      func(float64) vg.Length // from data to canvas
	pitch     vg.Length               // width of a bar
	foot      vg.Length               // y coordinate of the base
}

// draw draws the bars of a panel, followed by their numbers and the marks.
func (b *barChart) draw(c draw.Canvas, p *plot.Plot, panel int) {
	x, y := p.Transforms(&c)
	pitch, spacing := b.pitch(c.Size().X)
	foot := c.Min.Y
	if !math.IsInf(b.base, -1) {
		foot = min(max(y(b.base), c.Min.Y), c.Max.Y)
	}

	// Draw the bars first, so that numbers and marks are on top.
	cv := &barCanvas{Canvas: c, barChart: b, panel: panel, x: x, y: y, pitch: pitch, foot: foot}
	cv.forEachBar(cv.drawBar)
	if foot < c.Max.Y {
		sheet.HLine(c, sheet.Line(sheet.Ink, 0.75), foot)
	}
	if b.label.shown && spacing > b.label.across {
		cv.forEachBar(cv.drawNumber)
	}

	for _, m := range b.v.panelMarks(panel) { // sorted by height
		cv.drawMark(&m)
	}
}

// forEachBar calls do for each bar with its summary, series and group. Positions without values
// have no bar.
func (b *barCanvas) forEachBar(do func(cell *cellSummary, series, group int)) {
	for s := range b.series {
		for g := range b.columns {
			if cell := b.cell(b.panel, s, g); cell.n > 0 {
				do(cell, s, g)
			}
		}
	}
}

// barLeft returns the left edge of a bar. The bars of a group are centred on its position.
func (b *barCanvas) barLeft(series, group int) vg.Length {
	return b.x(float64(group)) + b.pitch*(vg.Length(series)-vg.Length(b.series)/2)
}

// drawBar draws a bar, and a whisker if the cell summarises several values.
func (b *barCanvas) drawBar(cell *cellSummary, series, group int) {
	gap := min(b.pitch*0.1, 1.5)
	left := b.barLeft(series, group)
	end := b.y(cell.mean)
	low, high := min(end, b.foot), max(end, b.foot)

	// Bars without length remain visible.
	if high-low < 1 {
		low, high = b.foot, b.foot+1
	}

	// The best bar has its own colour.
	clr := b.styles[b.v.series.categories[series]].color
	if b.best != nil && sheet.NearlyEqual(cell.mean, b.best[b.panel]) {
		clr = sheet.Vermillion
	}
	sheet.FillBox(b.Canvas, clr, left+gap/2, left+b.pitch-gap/2, low, high)

	if cell.max > cell.min {
		lines := whiskerLines(left+b.pitch/2, b.y(cell.min), b.y(cell.max),
			min(3, b.pitch/4))
		b.StrokeLines(sheet.Line(sheet.White, 2.6), lines...)
		b.StrokeLines(sheet.Line(sheet.Ink, 1), lines...)
	}
}

// drawNumber prints the value of a bar at its end, next to whiskers and marks.
func (b *barCanvas) drawNumber(cell *cellSummary, series, group int) {
	// off is the distance of a number from its bar, sideGap from a whisker, in points.
	const off, sideGap = 3, 5
	style := sheet.Aligned(b.label.style, draw.XCenter, draw.YBottom)
	mid := b.barLeft(series, group) + b.pitch/2
	text := b.text(cell.mean, b.label.decimals)

	// If there is space, print the number next to the whisker.
	if cell.max > cell.min && !b.label.upright &&
		style.Width(text)+sideGap <= b.pitch/2+6 {
		// Right of the whisker, at the height of the mean.
		style.XAlign = draw.XLeft
		b.FillText(style, sheet.Point(mid+sideGap, max(b.y(cell.mean), b.foot+1)+off),
			text)
		return
	}

	// Otherwise print it beyond the whisker: above bars that go up, below bars that go down. at
	// is the near end of the text, sign the direction away from the bar.
	at := max(b.y(cell.max), b.foot+1) + off
	sign := vg.Length(1)

	down := cell.mean < b.base
	if down {
		at = min(b.y(cell.min), b.foot) - off
		sign = -1
		style.YAlign = draw.YTop
	}

	// Move it beyond marks that it would overlap. Marks are in order of height, so one pass
	// suffices.
	for _, m := range b.v.panelMarks(b.panel) {
		if m.x == group && (m.ofGroup() || m.series == series) {
			if d := (b.y(m.y) - at) * sign; d > -markRadius-off &&
				d < b.label.length+markRadius {
				at = b.y(m.y) + sign*(markRadius+off)
			}
		}
	}

	// Clear the grid behind a horizontal number.
	if w := style.Width(text) / 2; !b.label.upright {
		low := at
		if down {
			low = at - b.label.length
		}
		sheet.FillBox(b.Canvas, sheet.White, mid-w-1, mid+w+1, low-1, low+b.label.length+2)
	}

	// Rotate upright numbers.
	if b.label.upright {
		style.XAlign = draw.XLeft
		style.YAlign = draw.YCenter
		style.Rotation = math.Pi / 2
		if down {
			style.XAlign = draw.XRight
		}

		// Digits have no descender, so the visual centre is higher.
		mid -= 0.6
	}

	b.FillText(style, sheet.Point(mid, at), text)
}

// drawMark draws a mark: as a beam across a group, as a symbol on a bar, or as a line across the
// panel with its symbol at the right.
func (b *barCanvas) drawMark(m *placedMark) {
	y := b.y(m.y)
	switch {
	case m.ofGroup():
		const overhang = 3 // of the beam beyond the bars, in points
		drawBeam(b.Canvas, b.barLeft(0, m.x)-overhang, b.barLeft(b.series-1, m.x)+b.pitch+overhang, y)
	case m.x >= 0:
		drawStatedMark(b.Canvas, m.shape, sheet.Ink,
			sheet.Point(b.barLeft(m.series, m.x)+b.pitch/2, y),
			min(markRadius, max(b.pitch*0.45, 3)))

	default:
		sheet.HLine(b.Canvas, statedLine, y)
		drawStatedMark(b.Canvas, m.shape, sheet.Ink,
			sheet.Point(b.Max.X-markRadius-2, y), markRadius)
	}
}

// whiskerLines returns the lines of a vertical whisker at x from lo to hi. half is half the
// width of its end caps.
func whiskerLines(x, lo, hi, half vg.Length) [][]vg.Point {
	return [][]vg.Point{
		{sheet.Point(x, lo), sheet.Point(x, hi)},
		{sheet.Point(x-half, lo), sheet.Point(x+half, lo)},
		{sheet.Point(x-half, hi), sheet.Point(x+half, hi)},
	}
}

// drawBeam draws a horizontal line with end caps.
func drawBeam(c draw.Canvas, x0, x1, y vg.Length) {
	const end = 4
	c.StrokeLines(sheet.Line(sheet.Black, 2.2),
		[]vg.Point{sheet.Point(x0, y), sheet.Point(x1, y)},
		[]vg.Point{sheet.Point(x0, y-end), sheet.Point(x0, y+end)},
		[]vg.Point{sheet.Point(x1, y-end), sheet.Point(x1, y+end)})
}
