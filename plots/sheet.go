package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// figureWidth is the width of every figure: a page's, with text as in print.
const figureWidth = 9 * vg.Inch

const (
	margin  = 12 // round the sheet, in points
	gutter  = 14 // between panels
	swatch  = 22 // width of a sample in a legend
	padding = 6
)

// sheet is the content of a figure, from top to bottom.
type sheet struct {
	title    string
	subtitle string
	legend   []entry
	panels   []panel
	notes    []string // below the panels

	subtitleLines int // at most; 0 is 2
}

// entry is a line of a legend with a sample, drawn between two corners.
type entry struct {
	text   string
	sample func(c draw.Canvas, lo, hi vg.Point)
}

// panel is a part of a sheet: a plot, or a picture without axes.
type panel struct {
	head           string // above it
	x0, x1, y0, y1 float64
	// The place is in fractions of the sheet's body, y downwards.
	right vg.Length // room to the right of the plot, for notes
	below vg.Length // and below it
	plot  *plot.Plot
	paint func(c draw.Canvas) // where there is no plot
}

// figure makes a figure of height points from s.
func (s *sheet) figure(name string, height vg.Length) Figure {
	height = vg.Length(math.Ceil(float64(height))) // whole pixels, so that snapped edges are sharp
	return Figure{Name: name, Title: s.title, width: figureWidth, height: height, draw: s.draw}
}

// draw draws s on all of c.
func (s *sheet) draw(c draw.Canvas) {
	c = draw.Crop(c, margin, -margin, margin, -margin)
	s.header(&c)
	style := sans(noteSize, dim)
	for _, note := range slices.Backward(s.notes) {
		for _, line := range slices.Backward(wrap(style, note, c.Max.X-c.Min.X, 2)) {
			c.FillText(style, point(c.Min.X, c.Min.Y+2), line)
			c.Min.Y += noteSize * lineSpacing
		}
	}
	if len(s.notes) > 0 {
		c.Min.Y += padding
	}
	areas := make([]draw.Canvas, len(s.panels))
	for i := range s.panels {
		areas[i] = s.panels[i].area(c)
	}
	align(s.panels, areas)
	for i, p := range s.panels {
		if p.plot != nil {
			p.plot.Draw(areas[i])
		} else {
			p.paint(areas[i])
		}
	}
}

// header draws title, subtitle and legend and takes their room off c.
func (s *sheet) header(c *draw.Canvas) {
	width := c.Max.X - c.Min.X
	line := func(style draw.TextStyle, size vg.Length, text string) {
		c.Max.Y -= size * lineSpacing
		c.FillText(style, point(c.Min.X, c.Max.Y+size*0.25), text)
	}
	for _, l := range wrap(bold(titleSize, ink), s.title, width, 2) {
		line(bold(titleSize, ink), titleSize, l)
	}
	for _, l := range wrap(sans(noteSize, dim), s.subtitle, width, max(s.subtitleLines, 2)) {
		line(sans(noteSize, dim), noteSize, l)
	}
	c.Max.Y -= padding
	if len(s.legend) == 0 {
		return
	}
	style := aligned(sans(tickSize, ink), draw.XLeft, draw.YCenter)
	const row, gap = 15, 16
	x := c.Min.X
	c.Max.Y -= row
	for _, e := range s.legend {
		text := fit(style, e.text, width-swatch-padding)
		need := swatch + padding + style.Width(text)
		if x > c.Min.X && x+need > c.Max.X {
			x = c.Min.X
			c.Max.Y -= row
		}
		mid := c.Max.Y + row/2
		e.sample(*c, point(x, mid-4), point(x+swatch, mid+4))
		c.FillText(style, point(x+swatch+padding, mid+1), text)
		x += need + gap
	}
	c.Max.Y -= padding
}

// area is the part of c that p covers, without its heading, which it draws.
func (p *panel) area(c draw.Canvas) draw.Canvas {
	size := c.Size()
	at := func(lo, hi vg.Length, f float64) vg.Length { return lo + (hi-lo)*vg.Length(f) }
	a := c
	a.Min.X, a.Max.X = at(c.Min.X, c.Max.X, p.x0), at(c.Min.X, c.Max.X, p.x1)
	a.Max.Y, a.Min.Y = c.Max.Y-size.Y*vg.Length(p.y0), c.Max.Y-size.Y*vg.Length(p.y1)
	if p.x0 > 0 {
		a.Min.X += gutter / 2
	}
	if p.x1 < 1 {
		a.Max.X -= gutter / 2
	}
	if p.y1 < 1 {
		a.Min.Y += gutter / 2
	}
	if p.head != "" {
		style := bold(headSize, ink)
		a.Max.Y -= headSize * lineSpacing
		a.FillText(style, point(a.Min.X, a.Max.Y+headSize*0.25), fit(style, p.head, a.Max.X-a.Min.X))
		a.Max.Y -= 2
	}
	a.Max.X -= p.right
	a.Min.Y += p.below
	return a
}

// align narrows the areas of plots that share a left edge until their data
// start at the same place, and likewise to the right.
func align(panels []panel, areas []draw.Canvas) {
	const rounds = 2 // moving an edge moves the labels that hang over it
	for range rounds {
		data := make([]draw.Canvas, len(panels))
		for i, p := range panels {
			if p.plot != nil {
				data[i] = p.plot.DataCanvas(areas[i])
			}
		}
		for i, p := range panels {
			if p.plot == nil {
				continue
			}
			left, right := data[i].Min.X, data[i].Max.X
			for j, q := range panels {
				if q.plot != nil && q.x0 == p.x0 {
					left = max(left, data[j].Min.X)
				}
				if q.plot != nil && q.x1 == p.x1 {
					right = min(right, data[j].Max.X)
				}
			}
			areas[i].Min.X += left - data[i].Min.X
			areas[i].Max.X += right - data[i].Max.X
		}
	}
}

// box is the sample of a bar.
func box(style fill) func(c draw.Canvas, lo, hi vg.Point) {
	return func(c draw.Canvas, lo, hi vg.Point) {
		mid := (lo.Y + hi.Y) / 2
		r := bars{}
		r.add(lo.X, hi.X, mid-style.height*4, mid+style.height*4)
		r.fill(c, style.color)
	}
}

// stroke is the sample of a line.
func stroke(style draw.LineStyle) func(c draw.Canvas, lo, hi vg.Point) {
	return func(c draw.Canvas, lo, hi vg.Point) {
		mid := (lo.Y + hi.Y) / 2
		c.StrokeLine2(style, lo.X, mid, hi.X, mid)
	}
}
