package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/scenarios/result"
)

// heatChart is a heat map, or several.
type heatChart struct {
	*table
	v      *view
	q      quantity
	colors *scale // its ends are the least and the greatest
	least  float64
	most   float64
	blank  bool // some tile has no value
}

const (
	barWidth   = 13 // of the colour bar, in points
	barGap     = 16
	tallest    = 44 // a tile
	heatHeight = 300
	barLength  = 220
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
	h := &heatChart{table: tab, v: v}
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
	h.q = v.quantityOf(m.name, "", lo, hi, true)
	h.colors, h.least, h.most = &scale{lo: lo, hi: hi, unit: h.q.unit}, lo, hi
	l := &lattice{across: categories(v.x, v.spec.XLabel), up: categories(v.series, v.spec.YLabel)}
	l.across.bare, l.yTitle = true, l.up.title
	l.title, l.subtitle = v.headings(h.q.words + " over " + v.x.words + " and " + v.series.words)
	for i := range v.panels.levels {
		l.panes = append(l.panes, pane{head: v.panels.head(v.panels.levels[i]), draw: func(c draw.Canvas, x, y func(float64) vg.Length) { h.draw(c, i) }})
	}
	h.mark(heatHeight)
	l.aside = h.bar
	h.size(l)
	h.mark(min(l.bodyHeight(), barLength))
	l.side = h.side()
	v.noteSpread(tab, "A tile is")
	l.notes = v.notes
	if h.blank {
		l.notes = append(l.notes, "Crossed tiles have no value.")
	}
	return l, nil
}

// size chooses columns and the height of the tiles, no flatter than need be.
func (h *heatChart) size(l *lattice) {
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
func (h *heatChart) side() vg.Length {
	return barGap + barWidth + 8 + h.colors.width() + labelSize*lineSpacing
}

// mark sets the ticks of a colour bar of a height.
func (h *heatChart) mark(height vg.Length) {
	const each, alike = 26, 1e-6 // points; of a value: closer ones cannot be labelled apart
	lo, hi := h.least, h.most
	h.colors.mark(max(2, int(height/each)))
	if room := max(math.Abs(lo), math.Abs(hi)) * alike; hi-lo <= room {
		h.colors.hi = lo + max(room, alike)
		h.colors.ticks = []plot.Tick{{Value: lo, Label: digits(lo*h.q.unit.per, 4)}}
	}
}

// fitUp thins the labels of rows.
func (a *across) fitUp(height vg.Length) {
	a.style = aligned(sans(tickSize, ink), draw.XRight, draw.YCenter)
	const longest = 120
	for i, l := range a.labels {
		a.labels[i] = fit(a.style, l, longest)
	}
	a.shown = a.thin(height, func(int) vg.Length { return tickSize * 1.1 })
}

// left is the room that labels of rows take.
func (a *across) left() vg.Length {
	style, w := sans(tickSize, ink), vg.Length(0)
	for _, l := range a.labels {
		w = max(w, style.Width(l))
	}
	return w
}

// drawUp draws the labels of rows left of c.
func (a *across) drawUp(c draw.Canvas) {
	for i, at := range a.at {
		if a.shown[i] {
			y := c.Min.Y + (c.Max.Y-c.Min.Y)*vg.Length((at-a.lo)/(a.hi-a.lo))
			c.FillText(a.style, point(c.Min.X-tickRoom, y+1), a.labels[i])
		}
	}
}

// draw draws a panel's tiles.
func (h *heatChart) draw(c draw.Canvas, panel int) {
	size := c.Size()
	edge := func(from, length vg.Length, i, n int) vg.Length { // whole pixels, or tiles would have seams
		return vg.Length(math.Round(float64((from+length*vg.Length(i)/vg.Length(n))/pixel)) * pixel)
	}
	w, ht := size.X/vg.Length(h.width), size.Y/vg.Length(h.series)
	note := h.chooseNumber(w, ht)
	for s := range h.series {
		for g := range h.width {
			r := bars{}
			x0, x1 := edge(c.Min.X, size.X, g, h.width), edge(c.Min.X, size.X, g+1, h.width)
			y0, y1 := edge(c.Min.Y, size.Y, s, h.series), edge(c.Min.Y, size.Y, s+1, h.series)
			r.add(x0, x1, y0, y1)
			cell := h.cell(panel, s, g)
			if cell.n == 0 {
				r.fill(c, band)
				c.StrokeLines(draw.LineStyle{Color: dim, Width: 0.5}, []vg.Point{point(x0, y0), point(x1, y1)}, []vg.Point{point(x0, y1), point(x1, y0)})
				continue
			}
			clr := h.color(cell.mean)
			r.fill(c, clr)
			if note.shown {
				style := note.style
				style.Color = legible(clr)
				c.FillText(style, point((x0+x1)/2, (y0+y1)/2+1), h.q.number(cell.mean, note.decimals))
			}
		}
	}
}

// color is that of a value: dark is low.
func (h *heatChart) color(v float64) color.Color {
	return heat((v - h.colors.lo) / (h.colors.hi - h.colors.lo))
}

// chooseNumber decides how values stand in tiles, if at all.
func (h *heatChart) chooseNumber(w, height vg.Length) numberNote {
	for _, try := range []struct {
		size   vg.Length
		digits int
	}{{tickSize, 4}, {tickSize, 3}, {smallSize, 3}, {numberSize, 3}, {numberSize, 2}} {
		n := numberNote{style: aligned(sans(try.size, ink), draw.XCenter, draw.YCenter), decimals: decimals(h.q, h.colors.hi-h.colors.lo, try.digits), shown: true}
		fits := height >= try.size*1.15
		for i := range h.at {
			fits = fits && (h.at[i].n == 0 || n.style.Width(h.q.number(h.at[i].mean, n.decimals)) <= w-3)
		}
		if fits {
			return n
		}
	}
	return numberNote{}
}

// bar draws the colour bar at the left of c.
func (h *heatChart) bar(c draw.Canvas) {
	c.Min.X += barGap
	c.Min.Y = max(c.Min.Y, c.Max.Y-barLength)
	height := c.Max.Y - c.Min.Y
	steps := int(max(2, height/pixel))
	for i := range steps {
		var r bars
		y := c.Min.Y + height*vg.Length(i)/vg.Length(steps)
		r.add(c.Min.X, c.Min.X+barWidth, y, y+height/vg.Length(steps)+pixel/2)
		r.fill(c, heat((float64(i)+0.5)/float64(steps)))
	}
	style := aligned(sans(tickSize, ink), draw.XLeft, draw.YCenter)
	for _, t := range h.colors.ticks {
		y := c.Min.Y + height*vg.Length((t.Value-h.colors.lo)/(h.colors.hi-h.colors.lo))
		c.StrokeLine2(draw.LineStyle{Color: ink, Width: 0.75}, c.Min.X+barWidth, y, c.Min.X+barWidth+3, y)
		c.FillText(style, point(c.Min.X+barWidth+6, y+1), t.Label)
	}
	title := aligned(sans(labelSize, ink), draw.XCenter, draw.YTop)
	title.Rotation = math.Pi / 2
	c.FillText(title, point(c.Max.X-labelSize*lineSpacing, (c.Min.Y+c.Max.Y)/2), fit(title, h.q.label, height))
}
