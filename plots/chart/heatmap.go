package chart

import (
	"image/color"
	"math"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// HeatChart is a heat map, or several.
type HeatChart struct {
	*table
	v      *view
	Q      Quantity
	Colors *Scale // its ends are the least and the greatest
	least  float64
	Most   float64
	blank  bool // some tile has no value
}

const (
	barWidth   = 13 // of the colour bar, in points
	barGap     = 16
	tallest    = 44 // a tile
	heatHeight = 300
	BarLength  = 220
)

func (v *view) heatmap(t *result.SweepTimings) (*lattice, error) {
	m, err := v.measure(v.spec.Z, t)
	if err != nil {
		return nil, err
	}
	tab, err := v.tabulate(m)
	if err != nil {
		return nil, err
	}
	h := &HeatChart{table: tab, v: v}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range tab.at {
		if s.n == 0 {
			h.blank = true
			continue
		}
		lo, hi = min(lo, s.mean), max(hi, s.mean)
	}
	if from := v.spec.From; from != nil {
		lo, hi = min(lo, *from), max(hi, *from)
	}
	h.Q = v.quantityOf(m.name, "", lo, hi, true)
	h.Colors, h.least, h.Most = &Scale{Lo: lo, Hi: hi, Unit: h.Q.Unit}, lo, hi
	l := &lattice{across: categories(v.x, v.spec.XLabel), up: categories(v.series, v.spec.YLabel)}
	l.across.bare, l.yTitle = true, l.up.title
	l.Title, l.Subtitle = v.headings(h.Q.words + " over " + v.x.words + " and " + v.series.words)
	for i := range v.panels.levels {
		l.panes = append(l.panes, pane{head: v.panels.head(v.panels.levels[i]), draw: func(c draw.Canvas, x, y func(float64) vg.Length) { h.draw(c, i) }})
	}
	h.mark(heatHeight)
	l.aside = h.Bar
	h.size(l)
	h.mark(min(l.bodyHeight(), BarLength))
	l.side = h.side()
	v.noteSpread(tab, "A tile is")
	l.Notes = v.notes
	if h.blank {
		l.Notes = append(l.Notes, "Crossed tiles have no value.")
	}
	return l, nil
}

// size chooses columns and the height of the tiles, no flatter than need be.
func (h *HeatChart) size(l *lattice) {
	const least = 120 // points, of a map
	l.side = h.side()
	l.setColumns(least)
	tile := min(l.width/vg.Length(h.width)*0.8, tallest)
	const flat = 15 // points, for a number
	tile = max(tile, min(flat, heatHeight/vg.Length(h.series)))
	l.height = min(tile*vg.Length(h.series), heatHeight)
	const lowest = 60 // points, for the colour bar
	l.height = max(l.height, lowest)
	l.up.fitUp(l.height)
	l.measure()
}

// side is the room for the colour bar.
func (h *HeatChart) side() vg.Length {
	return barGap + barWidth + 8 + h.Colors.width() + sheet.LabelSize*sheet.LineSpacing
}

// mark sets the ticks of a colour bar of a height.
func (h *HeatChart) mark(height vg.Length) {
	const each, alike = 26, 1e-6 // points; of a value: closer ones cannot be labelled apart
	lo, hi := h.least, h.Most
	h.Colors.Mark(max(2, int(height/each)))
	if room := max(math.Abs(lo), math.Abs(hi)) * alike; hi-lo <= room {
		h.Colors.Hi = lo + max(room, alike)
		h.Colors.Ticks = []plot.Tick{{Value: lo, Label: sheet.Digits(lo*h.Q.Unit.Per, 4)}}
	}
}

// fitUp thins the labels of rows.
func (a *across) fitUp(height vg.Length) {
	a.style = sheet.Aligned(sheet.Sans(sheet.TickSize, sheet.Ink), draw.XRight, draw.YCenter)
	const longest = 120
	for i, l := range a.labels {
		a.labels[i] = sheet.Fit(a.style, l, longest)
	}
	a.shown = a.thin(height, func(int) vg.Length { return sheet.TickSize * 1.1 })
}

// left is the room that labels of rows take.
func (a *across) left() vg.Length {
	style, w := sheet.Sans(sheet.TickSize, sheet.Ink), vg.Length(0)
	for _, l := range a.labels {
		w = max(w, style.Width(l))
	}
	return w
}

// drawUp draws the labels of rows left of c.
func (a *across) drawUp(c draw.Canvas) {
	for i, at := range a.at {
		if a.shown[i] {
			y := c.Min.Y + (c.Max.Y-c.Min.Y)*vg.Length((at-a.Lo)/(a.Hi-a.Lo))
			c.FillText(a.style, sheet.Point(c.Min.X-sheet.TickRoom, y+1), a.labels[i])
		}
	}
}

// draw draws a panel's tiles.
func (h *HeatChart) draw(c draw.Canvas, panel int) {
	size := c.Size()
	edge := func(from, length vg.Length, i, n int) vg.Length { // whole pixels, or tiles would have seams
		return vg.Length(math.Round(float64((from+length*vg.Length(i)/vg.Length(n))/sheet.Pixel)) * sheet.Pixel)
	}
	w, ht := size.X/vg.Length(h.width), size.Y/vg.Length(h.series)
	note := h.chooseNumber(w, ht)
	for s := range h.series {
		for g := range h.width {
			r := sheet.Bars{}
			x0, x1 := edge(c.Min.X, size.X, g, h.width), edge(c.Min.X, size.X, g+1, h.width)
			y0, y1 := edge(c.Min.Y, size.Y, s, h.series), edge(c.Min.Y, size.Y, s+1, h.series)
			r.Add(x0, x1, y0, y1)
			cell := h.cell(panel, s, g)
			if cell.n == 0 {
				r.Fill(c, sheet.Band)
				c.StrokeLines(draw.LineStyle{Color: sheet.Dim, Width: 0.5}, []vg.Point{sheet.Point(x0, y0), sheet.Point(x1, y1)}, []vg.Point{sheet.Point(x0, y1), sheet.Point(x1, y0)})
				continue
			}
			clr := h.color(cell.mean)
			r.Fill(c, clr)
			if note.shown {
				style := note.style
				style.Color = sheet.Legible(clr)
				c.FillText(style, sheet.Point((x0+x1)/2, (y0+y1)/2+1), h.Q.number(cell.mean, note.decimals))
			}
		}
	}
}

// color is that of a value: dark is low.
func (h *HeatChart) color(v float64) color.Color {
	return sheet.Heat((v - h.Colors.Lo) / (h.Colors.Hi - h.Colors.Lo))
}

// chooseNumber decides how values stand in tiles, if at all.
func (h *HeatChart) chooseNumber(w, height vg.Length) numberNote {
	for _, try := range []struct {
		size   vg.Length
		digits int
	}{{sheet.TickSize, 4}, {sheet.TickSize, 3}, {sheet.SmallSize, 3}, {sheet.NumberSize, 3}, {sheet.NumberSize, 2}} {
		n := numberNote{style: sheet.Aligned(sheet.Sans(try.size, sheet.Ink), draw.XCenter, draw.YCenter), decimals: decimals(h.Q, h.Colors.Hi-h.Colors.Lo, try.digits), shown: true}
		fits := height >= try.size*1.15
		for i := range h.at {
			fits = fits && (h.at[i].n == 0 || n.style.Width(h.Q.number(h.at[i].mean, n.decimals)) <= w-3)
		}
		if fits {
			return n
		}
	}
	return numberNote{}
}

// Bar draws the colour bar at the left of c.
func (h *HeatChart) Bar(c draw.Canvas) {
	c.Min.X += barGap
	c.Min.Y = max(c.Min.Y, c.Max.Y-BarLength)
	height := c.Max.Y - c.Min.Y
	steps := int(max(2, height/sheet.Pixel))
	for i := range steps {
		var r sheet.Bars
		y := c.Min.Y + height*vg.Length(i)/vg.Length(steps)
		r.Add(c.Min.X, c.Min.X+barWidth, y, y+height/vg.Length(steps)+sheet.Pixel/2)
		r.Fill(c, sheet.Heat((float64(i)+0.5)/float64(steps)))
	}
	style := sheet.Aligned(sheet.Sans(sheet.TickSize, sheet.Ink), draw.XLeft, draw.YCenter)
	for _, t := range h.Colors.Ticks {
		y := c.Min.Y + height*vg.Length((t.Value-h.Colors.Lo)/(h.Colors.Hi-h.Colors.Lo))
		c.StrokeLine2(draw.LineStyle{Color: sheet.Ink, Width: 0.75}, c.Min.X+barWidth, y, c.Min.X+barWidth+3, y)
		c.FillText(style, sheet.Point(c.Min.X+barWidth+6, y+1), t.Label)
	}
	title := sheet.Aligned(sheet.Sans(sheet.LabelSize, sheet.Ink), draw.XCenter, draw.YTop)
	title.Rotation = math.Pi / 2
	c.FillText(title, sheet.Point(c.Max.X-sheet.LabelSize*sheet.LineSpacing, (c.Min.Y+c.Max.Y)/2), sheet.Fit(title, h.Q.Label, height))
}
