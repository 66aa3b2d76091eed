package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

var heatKind = kind{
	name: "heatmap", draw: (*view).heatmap, takes: []string{"take"}, tiles: true,
	needs: map[string]string{"x": "", "y": "", "z": "the metric that colours the heat map"},
	without: map[string]string{
		"series": "a heat map has no series; y names the axis that goes up, panels what there is a map for",
		"log_x":  "a heat map has a row or column for each value, so log_x and log_y mean nothing there",
		"log_y":  "a heat map has a row or column for each value, so log_x and log_y mean nothing there",
	},
	roles: func(v *view) (err error) {
		if v.spec.Y != "" {
			if v.series, err = v.find("y", v.spec.Y); err != nil {
				return err
			}
		}
		if v.spec.X != "" {
			if v.x, err = v.find("x", v.spec.X); err != nil {
				return err
			}
		}
		return v.panelRole()
	},
}

// heatChart is a heat map, or several.
type heatChart struct {
	*table
	q      quantity
	lo, hi float64 // values at the ends of the scale of colours
}

const (
	tallest    = 44 // a tile, in points
	heatHeight = 300
)

func (v *view) heatmap(t *result.SweepTimings) (*sheet.Sheet, error) {
	m, err := v.measure(v.spec.Z, t)
	if err != nil {
		return nil, err
	}
	tab, err := v.tabulate(m)
	if err != nil {
		return nil, err
	}
	h := &heatChart{table: tab, lo: math.Inf(1), hi: math.Inf(-1)}
	blank := false
	for _, s := range tab.at {
		if s.n > 0 {
			h.lo, h.hi = min(h.lo, s.mean), max(h.hi, s.mean)
		}
		blank = blank || s.n == 0
	}
	if from := v.spec.From; from != nil {
		h.lo, h.hi = min(h.lo, *from), max(h.hi, *from)
	}
	h.q = v.quantityOf(m.name, "", h.lo, h.hi, true)
	panels := v.panelsOf()
	bar := h.bar(heatHeight)
	const least, lowest, flat = 120, 60, 15 // points: of a map, for the colour bar, for a number
	g := layout(len(panels), least, sheet.ColorRoom(bar))
	tile := max(min(g.width/vg.Length(h.width)*0.8, tallest), min(flat, heatHeight/vg.Length(h.series)))
	g.height = max(min(tile*vg.Length(h.series), heatHeight), lowest)
	bar = h.bar(min(g.height*vg.Length(1+(len(panels)-1)/g.cols), sheet.BarLength))
	labels, _ := v.x.ticksOf(v.spec.XLabel)
	rows, up := v.series.ticksOf(v.spec.YLabel)
	for i, p := range panels {
		tileAxes(p, g, i, labels, rows)
		p.Add(sheet.PlotFunc(func(c draw.Canvas, _ *plot.Plot) { h.draw(c, i) }))
	}
	s := v.page(h.q.words+" over "+v.x.words+" and "+v.series.words, panels, g, v.x.title(v.spec.XLabel), up)
	s.Blocks[0].AddColors(bar)
	v.noteSpread(tab, "A tile is")
	s.Notes = v.notes
	if blank {
		s.Notes = append(s.Notes, "Crossed tiles have no value.")
	}
	return s, nil
}

// tileAxes labels the columns of a panel of tiles, and the rows where it is the first of its row.
func tileAxes(p *plot.Plot, g grid, panel int, columns, rows []string) {
	sheet.Categories(p, columns, g.width)
	sheet.SetRange(&p.Y, -0.5, float64(len(rows))-0.5)
	p.X.Width, p.Y.Width, p.Y.Tick.Length = 0, 0, 0
	const longest = 120
	var ticks plot.ConstantTicks
	step := max(1, int(math.Ceil(sheet.TickSize*1.1*float64(len(rows))/float64(g.height))))
	for i := 0; i < len(rows) && panel%g.cols == 0; i += step {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: sheet.Fit(p.Y.Tick.Label, rows[i], longest)})
	}
	p.Y.Tick.Marker = ticks
}

// bar is the colour bar, of a height.
func (h *heatChart) bar(height vg.Length) *plot.Plot {
	return sheet.ColorBar(h.q.label, h.q.unit, h.lo, h.hi, height)
}

// draw draws a panel's tiles.
func (h *heatChart) draw(c draw.Canvas, panel int) {
	size := c.Size()
	edge := func(from, length vg.Length, i, n int) vg.Length { // whole pixels, or tiles would have seams
		return sheet.Snap(from + length*vg.Length(i)/vg.Length(n))
	}
	var values []float64
	for _, s := range h.at {
		if s.n > 0 {
			values = append(values, s.mean)
		}
	}
	note := tileNumber(h.q, values, h.hi-h.lo, size.X/vg.Length(h.width)-3, size.Y/vg.Length(h.series))
	for s := range h.series {
		for g := range h.width {
			x0, x1 := edge(c.Min.X, size.X, g, h.width), edge(c.Min.X, size.X, g+1, h.width)
			y0, y1 := edge(c.Min.Y, size.Y, s, h.series), edge(c.Min.Y, size.Y, s+1, h.series)
			cell := h.cell(panel, s, g)
			if cell.n == 0 {
				sheet.FillBox(c, sheet.Band, x0, x1, y0, y1)
				c.StrokeLines(draw.LineStyle{Color: sheet.Dim, Width: 0.5}, []vg.Point{sheet.Point(x0, y0), sheet.Point(x1, y1)}, []vg.Point{sheet.Point(x0, y1), sheet.Point(x1, y0)})
				continue
			}
			clr := h.color(cell.mean)
			sheet.FillBox(c, clr, x0, x1, y0, y1)
			note.write(c, clr, sheet.Point((x0+x1)/2, (y0+y1)/2+1), h.q, cell.mean)
		}
	}
}

// color is that of a value: dark is low.
func (h *heatChart) color(v float64) color.Color {
	if sheet.Near(h.lo, h.hi) {
		return sheet.Heat(0)
	}
	return sheet.Heat((v - h.lo) / (h.hi - h.lo))
}

// tileNumber decides how values that span so much stand in tiles of a size, if at all.
func tileNumber(q quantity, values []float64, span float64, width, height vg.Length) numberNote {
	for _, try := range []struct {
		size   vg.Length
		digits int
	}{{sheet.TickSize, 4}, {sheet.TickSize, 3}, {sheet.SmallSize, 3}, {sheet.NumberSize, 3}, {sheet.NumberSize, 2}} {
		n := numberNote{style: sheet.Aligned(sheet.Sans(try.size, sheet.Ink), draw.XCenter, draw.YCenter), decimals: decimals(q, span, try.digits), shown: true}
		fits := height >= try.size*1.15
		for _, v := range values {
			fits = fits && n.style.Width(q.number(v, n.decimals)) <= width
		}
		if fits {
			return n
		}
	}
	return numberNote{}
}

// write writes a value on a tile of a colour.
func (n *numberNote) write(c draw.Canvas, clr color.Color, at vg.Point, q quantity, v float64) {
	if n.shown {
		style := n.style
		style.Color = sheet.Legible(clr)
		c.FillText(style, at, q.number(v, n.decimals))
	}
}
