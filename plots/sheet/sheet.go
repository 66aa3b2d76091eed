// Package sheet is what all pictures share: a figure is a sheet with a title, a legend above the data, panels with their
// axes aligned, and notes below. It also has the style, units and ticks of axes, words, and writes PNG and SVG files.
package sheet

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

const (
	Inside    = FigureWidth - 2*Margin
	RowGap    = 12 // below a row of panes
	ColGap    = 16
	Overhang  = 12 // right of the data, for a tick's label
	HeadRoom  = HeadSize*LineSpacing + 4
	TitleRoom = LabelSize*LineSpacing + 3
	LowGap    = 14 // above a lower pane
	TickRoom  = 7  // between a tick's label and the data
)

// Frame is the height of what stands round the body.
func (s *Sheet) Frame() vg.Length {
	const high = 10000
	c := draw.NewCanvas(new(recorder.Canvas), FigureWidth, high)
	c = draw.Crop(c, Margin, -Margin, Margin, -Margin)
	top := c.Max.Y
	s.header(&c)
	h := top - c.Max.Y + 2*Margin
	style := Sans(NoteSize, Dim)
	for _, note := range s.Notes {
		h += NoteSize * LineSpacing * vg.Length(len(wrap(style, note, Inside, 2)))
	}
	if len(s.Notes) > 0 {
		h += Padding
	}
	return h
}

// FigureWidth is the width of every figure: a page's, with text as in print.
const FigureWidth = 9 * vg.Inch

const (
	Margin  = 12 // round the sheet, in points
	Gutter  = 14 // between panels
	Swatch  = 22 // width of a sample in a legend
	Padding = 6
)

// Sheet is the content of a figure, from top to bottom.
type Sheet struct {
	Title    string
	Subtitle string
	Legend   []Entry
	Panels   []Panel
	Notes    []string // below the panels

	SubtitleLines int // at most; 0 is 2
}

// Entry is a line of a legend with a sample, drawn between two corners.
type Entry struct {
	Text   string
	Sample func(c draw.Canvas, lo, hi vg.Point)
}

// Panel is a part of a sheet: a plot, or a picture without axes.
type Panel struct {
	Head           string // above it
	X0, X1, Y0, Y1 float64
	// The place is in fractions of the sheet's body, y downwards.
	Right vg.Length // room to the right of the plot, for notes
	Below vg.Length // and below it
	Plot  *plot.Plot
	Paint func(c draw.Canvas) // where there is no plot
}

// Figure makes a figure of height points from s.
func (s *Sheet) Figure(name string, height vg.Length) Figure {
	height = vg.Length(math.Ceil(float64(height))) // whole pixels, so that snapped edges are sharp
	return Figure{Name: name, Title: s.Title, Width: FigureWidth, Height: height, Draw: s.draw}
}

// draw draws s on all of c.
func (s *Sheet) draw(c draw.Canvas) {
	c = draw.Crop(c, Margin, -Margin, Margin, -Margin)
	s.header(&c)
	style := Sans(NoteSize, Dim)
	for _, note := range slices.Backward(s.Notes) {
		for _, line := range slices.Backward(wrap(style, note, c.Max.X-c.Min.X, 2)) {
			c.FillText(style, Point(c.Min.X, c.Min.Y+2), line)
			c.Min.Y += NoteSize * LineSpacing
		}
	}
	if len(s.Notes) > 0 {
		c.Min.Y += Padding
	}
	areas := make([]draw.Canvas, len(s.Panels))
	for i := range s.Panels {
		areas[i] = s.Panels[i].area(c)
	}
	align(s.Panels, areas)
	for i, p := range s.Panels {
		if p.Plot != nil {
			p.Plot.Draw(areas[i])
		} else {
			p.Paint(areas[i])
		}
	}
}

// header draws title, subtitle and legend and takes their room off c.
func (s *Sheet) header(c *draw.Canvas) {
	width := c.Max.X - c.Min.X
	line := func(style draw.TextStyle, size vg.Length, text string) {
		c.Max.Y -= size * LineSpacing
		c.FillText(style, Point(c.Min.X, c.Max.Y+size*0.25), text)
	}
	for _, l := range wrap(Bold(titleSize, Ink), s.Title, width, 2) {
		line(Bold(titleSize, Ink), titleSize, l)
	}
	for _, l := range wrap(Sans(NoteSize, Dim), s.Subtitle, width, max(s.SubtitleLines, 2)) {
		line(Sans(NoteSize, Dim), NoteSize, l)
	}
	c.Max.Y -= Padding
	if len(s.Legend) == 0 {
		return
	}
	style := Aligned(Sans(TickSize, Ink), draw.XLeft, draw.YCenter)
	const row, gap = 15, 16
	x := c.Min.X
	c.Max.Y -= row
	for _, e := range s.Legend {
		text := Fit(style, e.Text, width-Swatch-Padding)
		need := Swatch + Padding + style.Width(text)
		if x > c.Min.X && x+need > c.Max.X {
			x = c.Min.X
			c.Max.Y -= row
		}
		mid := c.Max.Y + row/2
		e.Sample(*c, Point(x, mid-4), Point(x+Swatch, mid+4))
		c.FillText(style, Point(x+Swatch+Padding, mid+1), text)
		x += need + gap
	}
	c.Max.Y -= Padding
}

// area is the part of c that p covers, without its heading, which it draws.
func (p *Panel) area(c draw.Canvas) draw.Canvas {
	size := c.Size()
	at := func(lo, hi vg.Length, f float64) vg.Length { return lo + (hi-lo)*vg.Length(f) }
	a := c
	a.Min.X, a.Max.X = at(c.Min.X, c.Max.X, p.X0), at(c.Min.X, c.Max.X, p.X1)
	a.Max.Y, a.Min.Y = c.Max.Y-size.Y*vg.Length(p.Y0), c.Max.Y-size.Y*vg.Length(p.Y1)
	if p.X0 > 0 {
		a.Min.X += Gutter / 2
	}
	if p.X1 < 1 {
		a.Max.X -= Gutter / 2
	}
	if p.Y1 < 1 {
		a.Min.Y += Gutter / 2
	}
	if p.Head != "" {
		style := Bold(HeadSize, Ink)
		a.Max.Y -= HeadSize * LineSpacing
		a.FillText(style, Point(a.Min.X, a.Max.Y+HeadSize*0.25), Fit(style, p.Head, a.Max.X-a.Min.X))
		a.Max.Y -= 2
	}
	a.Max.X -= p.Right
	a.Min.Y += p.Below
	return a
}

// align narrows the areas of plots that share a left edge until their data
// start at the same place, and likewise to the right.
func align(panels []Panel, areas []draw.Canvas) {
	const rounds = 2 // moving an edge moves the labels that hang over it
	for range rounds {
		data := make([]draw.Canvas, len(panels))
		for i, p := range panels {
			if p.Plot != nil {
				data[i] = p.Plot.DataCanvas(areas[i])
			}
		}
		for i, p := range panels {
			if p.Plot == nil {
				continue
			}
			left, right := data[i].Min.X, data[i].Max.X
			for j, q := range panels {
				if q.Plot != nil && q.X0 == p.X0 {
					left = max(left, data[j].Min.X)
				}
				if q.Plot != nil && q.X1 == p.X1 {
					right = min(right, data[j].Max.X)
				}
			}
			areas[i].Min.X += left - data[i].Min.X
			areas[i].Max.X += right - data[i].Max.X
		}
	}
}

// Box is the sample of a bar.
func Box(style Fill) func(c draw.Canvas, lo, hi vg.Point) {
	return func(c draw.Canvas, lo, hi vg.Point) {
		mid := (lo.Y + hi.Y) / 2
		r := Bars{}
		r.Add(lo.X, hi.X, mid-style.Height*4, mid+style.Height*4)
		r.Fill(c, style.Color)
	}
}

// Stroke is the sample of a line.
func Stroke(style draw.LineStyle) func(c draw.Canvas, lo, hi vg.Point) {
	return func(c draw.Canvas, lo, hi vg.Point) {
		mid := (lo.Y + hi.Y) / 2
		c.StrokeLine2(style, lo.X, mid, hi.X, mid)
	}
}
