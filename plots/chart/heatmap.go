// This file lays out and draws heat maps. File twists.go adds maps of twist patterns.

package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
)

// logTilesReason is the reason for rejecting log_x and log_y in charts with tiles.
const logTilesReason = "tiles stand side by side, so log_x and log_y mean nothing there"

// heatKind is the kind of heat maps.
var heatKind = kind{
	name:  "heatmap",
	draw:  (*view).heatmap,
	takes: []string{"aggregation"},
	tiles: true,
	needs: map[string]string{
		"x": "",
		"y": "",
		"z": "the metric that colours the heat map",
	},
	without: map[string]string{
		"series": "a heat map has no series; y names the y axis, panels what there is a map for",
		"log_x":  logTilesReason, "log_y": logTilesReason,
	},
	roles: func(v *view) error {
		return cmp.Or(v.assign(&v.series, "y", v.spec.Y),
			v.assign(&v.x, "x", v.spec.X), v.assignPanels())
	},
}

// heatChart is a chart with one heat map per panel. The series of the table are the rows, the x
// categories the columns.
type heatChart struct {
	*table       // data.go
	v      *view // the plot
	// q is the metric, with the unit of the colour bar.
	q quantity
	// lo and hi are the values at the ends of the colour scale.
	lo, hi float64
	// ranges has the minimum and the maximum of each panel.
	ranges     [][2]float64
	isTwistMap bool // tiles are twist patterns
	// hasSeparateColors reports whether each panel has its own colour scale.
	hasSeparateColors bool
}

// heatmap draws heat maps, including maps of twist patterns.
func (v *view) heatmap() (*sheet.Sheet, error) {
	m, tab, err := v.tableOf(v.spec.Z)
	if err != nil {
		return nil, err
	}
	h := &heatChart{
		table:      tab,
		v:          v,
		isTwistMap: v.spec.Kind == "twists",
	}

	h.setRanges()
	defaultLabel := "" // the colour bar has no option for its label
	h.q = v.newQuantity(m.name, defaultLabel, h.lo, h.hi, plotScale)
	const (
		// colorBarHeight is the height in points for which the colour bar is laid out.
		colorBarHeight = 300
		// maxTileHeight is the maximum height of a tile in points.
		maxTileHeight = 44
		// minMapHeight is the minimum height of a map in points.
		minMapHeight = 60
	)

	// Arrange the panels, with space for the colour bar and the labels of rows.
	bar := h.colorBar(colorBarHeight)
	// minWidth is the minimum width of a map, minTileHeight the minimum height of a tile with a
	// number, both in points. A tile of a twist map also has its pattern.
	minWidth := vg.Length(120)
	minTileHeight := vg.Length(15)
	what := " over " + v.x.text + " and " + v.series.text
	if h.isTwistMap {
		minWidth, minTileHeight, what = 215, 26, " under every twist"
		for p := range h.ranges {
			v.headingSuffixes = append(v.headingSuffixes, h.rangeText(p))
		}
	}

	panels := v.newPanels()
	columns, across := v.x.tickLabels(v.spec.XLabel)
	rows, up := v.series.tickLabels(v.spec.YLabel)
	// maxLabelWidth is the maximum width of a row label. layoutPanels has space for
	// defaultLabelWidth. Both are in points.
	const maxLabelWidth, defaultLabelWidth = 120, 30
	// Measure the labels of rows.
	style := sheet.Sans(sheet.TickSize, sheet.Ink)
	labelWidth := vg.Length(defaultLabelWidth)
	for r := range rows {
		rows[r] = sheet.Fit(style, rows[r], maxLabelWidth)
		labelWidth = max(labelWidth, style.Width(rows[r]))
	}

	g := layoutPanels(len(panels), minWidth,
		sheet.ColorBarWidth(bar)+labelWidth-defaultLabelWidth)

	// Tiles are nearly square if there is space.
	tile := max(min(g.width/vg.Length(h.columns)*0.8, maxTileHeight),
		min(minTileHeight, colorBarHeight/vg.Length(h.series)))
	g.height = max(min(tile*vg.Length(h.series), colorBarHeight), minMapHeight)

	// Add axes and tiles.
	for i, p := range panels {
		sheet.SetCategories(p, columns, g.width)
		sheet.SetRange(&p.Y, -0.5, float64(len(rows))-0.5)
		p.X.Width, p.Y.Width, p.Y.Tick.Length = 0, 0, 0

		// Name every step-th row of the first panel of each row of panels.
		var ticks plot.ConstantTicks
		step := max(1, int(math.Ceil(sheet.TickSize*1.1*float64(len(rows))/float64(g.height))))
		for r := 0; r < len(rows) && i%g.cols == 0; r += step {
			ticks = append(ticks, plot.Tick{Value: float64(r), Label: rows[r]})
		}
		p.Y.Tick.Marker = ticks
		p.Add(sheet.PlotFunc(func(c draw.Canvas, _ *plot.Plot) { h.draw(c, i) }))
	}

	// Add the title, the colour bar and notes. The bar is as high as the panels in total.
	s := v.newSheet(h.q.name+what, panels, g, across, up)
	s.Blocks[0].AddColorBar(h.colorBar(min(g.height*vg.Length(1+(len(panels)-1)/g.cols), sheet.MaxColorBarLength)))
	v.noteSpread(tab, "A tile is")
	s.Notes = v.notes
	if h.hasSeparateColors {
		s.Notes = append(s.Notes, "Values of the panels lie far apart: each panel "+
			"has colours of its own, from its least value to its greatest.")
	}

	// Explain tiles without a value.
	blank := slices.ContainsFunc(tab.cells, func(s cellSummary) bool {
		return s.n == 0
	})

	switch {
	case h.isTwistMap:
		h.legend(s, m.name)
		if blank {
			s.Notes = append(s.Notes, "Blank tiles are patterns that the sweep "+
				"lacks or that have no value.")
		}

	case blank:
		s.Notes = append(s.Notes, "Crossed tiles have no value.")
	}
	return s, nil
}

// setRanges determines the ranges of the colour scales: of each panel, and of all panels.
func (h *heatChart) setRanges() {
	h.lo, h.hi = minMax(h.means(allPanels))
	widest := 0.0 // largest range of a panel
	for p := range h.v.panels.categories {
		lo, hi := minMax(h.means(p))
		h.ranges = append(h.ranges, [2]float64{lo, hi})
		widest = max(widest, hi-lo)
	}

	if from := h.v.spec.YMin; from != nil {
		h.lo = min(h.lo, *from)
		h.hi = max(h.hi, *from)
	}

	// Panels of twist patterns get separate colours if the common range hides the differences
	// within panels. maxRangeRatio is the common range divided by the largest range of a panel.
	const maxRangeRatio = 2
	h.hasSeparateColors = h.isTwistMap && h.v.spec.YMin == nil &&
		h.hi-h.lo > maxRangeRatio*widest && widest > 0
}

// colorBar returns the colour bar with a height in points. If panels have separate colours, its
// ends are "least" and "greatest" instead of values.
func (h *heatChart) colorBar(height vg.Length) *plot.Plot {
	if !h.hasSeparateColors {
		return sheet.ColorBar(h.q.label, h.q.unit, h.lo, h.hi, height)
	}

	// Panels may have different units.
	bar := sheet.ColorBar(h.q.name, sheet.NoUnit, 0, 1, height)
	bar.Y.Tick.Marker = sheet.FixedTicks([]float64{0, 1},
		[]string{"least", "greatest"})
	return bar
}

// quantity returns the quantity for a panel. Panels with separate colours have their own time
// units.
func (h *heatChart) quantity(panel int) quantity {
	q := h.q
	if q.hasTickUnits && h.hasSeparateColors {
		q.unit = sheet.TimeUnit(h.ranges[panel][1])
	}
	return q
}

// color returns the colour of value v in a panel. Low values are dark.
func (h *heatChart) color(panel int, v float64) color.Color {
	lo, hi := h.lo, h.hi
	if h.hasSeparateColors {
		lo = h.ranges[panel][0]
		hi = h.ranges[panel][1]
	}

	if sheet.NearlyEqual(lo, hi) {
		return sheet.Heat(0)
	}
	return sheet.Heat((v - lo) / (hi - lo))
}

// draw draws the tiles of a panel. A tile shows its mean as a colour and, if all numbers fit, as
// a number.
func (h *heatChart) draw(c draw.Canvas, panel int) {
	// w and high are the size of a tile, up is the height of its number as a share of high. The
	// number of decimals depends on the values of all panels, or of this one for twist patterns.
	size := c.Size()
	w := size.X / vg.Length(h.columns)
	high := size.Y / vg.Length(h.series)
	q := h.quantity(panel)
	span := h.hi - h.lo
	shown := allPanels
	up := vg.Length(0.5)
	if h.isTwistMap { // the tile also shows the pattern, below the number
		span = h.ranges[panel][1] - h.ranges[panel][0]
		up = 0.64
		shown = panel
	}

	note := chooseTileLabel(q, h.means(shown), span, w, high*2*(1-up))
	for s := h.series - 1; s >= 0; s-- {
		for g := range h.columns {
			// Tiles are whole pixels, so that there are no seams between them.
			x0 := sheet.Snap(c.Min.X + w*vg.Length(g))
			x1 := sheet.Snap(c.Min.X + w*vg.Length(g+1))
			y0 := sheet.Snap(c.Min.Y + high*vg.Length(s))
			y1 := sheet.Snap(c.Min.Y + high*vg.Length(s+1))

			cell := h.cell(panel, s, g)
			switch {
			case cell.n == 0 && h.isTwistMap:
				c.StrokeLines(sheet.Line(sheet.Faint, 0.6),
					sheet.RectanglePath(x0+1, x1-1, y0+1, y1-1))
				continue

			case cell.n == 0:
				sheet.FillBox(c, sheet.Band, x0, x1, y0, y1)
				c.StrokeLines(sheet.Line(sheet.Dim, 0.5),
					sheet.Cross(x0, x1, y0, y1)...)
				continue
			}

			clr := h.color(panel, cell.mean)
			sheet.FillBox(c, clr, x0, x1, y0, y1)
			if note.shown {
				style := note.style
				style.Color = sheet.Legible(clr)
				c.FillText(style, sheet.Point((x0+x1)/2, y0+(y1-y0)*up+1),
					q.format(cell.mean, note.decimals))
			}

			if h.isTwistMap {
				small := sheet.Centered(min(sheet.NumberSize, w*0.24, high*0.3),
					sheet.Legible(clr))
				c.FillText(small, sheet.Point((x0+x1)/2, y0+high*0.24),
					bitsOf(twistAt(g, s), twistBits))
			}
		}
	}

	if h.isTwistMap {
		h.outlineExtremes(c, panel, w, high)
	}
}

// chooseTileLabel selects the largest style and the largest number of digits with which all
// values fit into tiles of the given size. span is the range of the values. If no style fits,
// tiles have no numbers.
func chooseTileLabel(q quantity, values []float64, span float64, width, height vg.Length) numberLabel {
	for _, try := range []struct {
		size   vg.Length
		digits int
	}{{sheet.TickSize, 4}, {sheet.TickSize, 3}, {sheet.SmallSize, 3},
		{sheet.NumberSize, 3}, {sheet.NumberSize, 2}} {
		n := numberLabel{
			style:    sheet.Centered(try.size, sheet.Ink),
			decimals: decimals(q, span, try.digits),
			shown:    true,
		}

		if height >= try.size*1.15 && !slices.ContainsFunc(values,
			func(v float64) bool {
				return n.style.Width(q.format(v, n.decimals)) > width-3
			}) {
			return n
		}
	}

	return numberLabel{}
}

// rangeText returns the range of a panel for its heading, or "" if it has at most one value.
func (h *heatChart) rangeText(panel int) string {
	ends := h.ranges[panel]
	u := h.quantity(panel).unit
	if !(ends[0] < ends[1]) {
		return ""
	}
	text := strings.TrimSpace(fmt.Sprintf(": %s to %s %s",
		sheet.Digits(ends[0]*u.Per, 4), sheet.Digits(ends[1]*u.Per, 4), u.Name))
	if h.v.panels.index < 0 {
		return sheet.Capitalise(h.q.name) + text
	}
	return text
}
