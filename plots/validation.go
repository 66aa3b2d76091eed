// This file draws predictions over measurements.

package plots

import (
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
)

// ValidationClass is a set of predictions that one plot of Validation shows.
type ValidationClass struct {
	Title  string
	Points []ValidationPoint
}

// ValidationPoint is a prediction and the measurement, both greater than 0 and in one unit.
type ValidationPoint struct {
	Measured, Predicted float64
	Fitted              bool // the model was fitted to the measurement
}

// Validation draws the predictions of each class over their measurements on logarithmic axes, a
// plot per class.
func Validation(title string, classes []ValidationClass) sheet.Figure {
	page := &sheet.Sheet{Title: title}
	colors := []color.Color{sheet.LineStyles[0].Color, sheet.LineStyles[1].Color} // not fitted, fitted
	page.AddLegend("predicted", sheet.DotSample(colors[0]))
	page.AddLegend("fitted", sheet.DotSample(colors[1]))
	page.Note("Points on the diagonal are exact; the dashed lines are a factor of 1.25 from it. " +
		"Values have the units of their sources, such as us or tokens/s per GPU.")

	const columns, height = 3, 150
	var grid []*plot.Plot
	for _, c := range classes {
		grid = append(grid, validationPlot(c, colors))
	}
	page.Blocks = append(page.Blocks, sheet.Block{
		Plots: grid, Cols: min(columns, len(grid)), Height: height, XTitle: "measured", YTitle: "predicted",
	})
	return page.Figure("validation")
}

// validationPlot draws one class. colors are the colours of predicted and of fitted points.
func validationPlot(c ValidationClass, colors []color.Color) *plot.Plot {
	p := sheet.NewPlot()
	sheet.AddHeading(p, c.Title)
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, point := range c.Points {
		lo, hi = min(lo, point.Measured, point.Predicted), max(hi, point.Measured, point.Predicted)
	}
	const margin = 1.3
	lo, hi = lo/margin, hi*margin
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Min, a.Max, a.Scale = lo, hi, plot.LogScale{}
		a.Tick.Marker = decadeTicker{sheet.LogTicker{Unit: sheet.Unit{Per: 1}, Count: 4}}
	}
	p.Add(sheet.FullGrid(), sheet.PlotFunc(func(canvas draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&canvas)
		line := func(factor float64, style draw.LineStyle) {
			canvas.StrokeLines(style, canvas.ClipLinesXY([]vg.Point{sheet.Point(x(lo), y(lo*factor)), sheet.Point(x(hi), y(hi*factor))})...)
		}
		const tolerance = 1.25
		line(1, sheet.Line(sheet.Ink, 0.75))
		line(tolerance, sheet.Line(sheet.Ink, 0.5, 2, 2))
		line(1/tolerance, sheet.Line(sheet.Ink, 0.5, 2, 2))
		for _, fitted := range []bool{true, false} { // predictions lie above fitted points
			clr := colors[0]
			if fitted {
				clr = colors[1]
			}
			for _, point := range c.Points {
				if point.Fitted == fitted {
					const radius = 1.8
					sheet.Disc(canvas, sheet.Point(x(point.Measured), y(point.Predicted)), radius, clr)
				}
			}
		}
	}))
	return p
}

// decadeTicker is a LogTicker that labels only powers of ten on wide axes, where the labels of a
// narrow plot would overlap.
type decadeTicker struct{ sheet.LogTicker }

// Ticks implements plot.Ticker.
func (t decadeTicker) Ticks(lo, hi float64) []plot.Tick {
	ticks := t.LogTicker.Ticks(lo, hi)
	const maxDetailed = 20 // ratio of the ends of an axis
	for i := range ticks {
		if hi > maxDetailed*lo && !strings.HasPrefix(strings.TrimLeft(ticks[i].Label, "0."), "1") {
			ticks[i].Label = ""
		}
	}
	return ticks
}
