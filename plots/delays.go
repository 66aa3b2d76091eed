package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/chart"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// delaysFigure shows the cumulative distribution of packet delays of each policy, with the means marked.
func delaysFigure(_ *result.Document, d *result.Detail) []sheet.Figure {
	s := sheet.Sheet{Title: "Delay of packets by policy: cumulative distribution", Subtitle: d.Title}
	var curves []*chart.Curve
	var means []float64
	wide, lo, hi := false, math.Inf(1), 0.0
	for i := range d.Policies {
		delay := d.Policies[i].Delay
		c := delayCurve(delay)
		if c == nil {
			continue
		}
		const tail = 20 // from which ratio of 99th percentile to median a linear axis hides the most
		wide = wide || delay.P99S > tail*delay.P50S && delay.P50S > 0
		for _, v := range c.X[1:] {
			if v > 0 {
				lo = min(lo, v)
			}
			hi = max(hi, v)
		}
		text := fmt.Sprintf("%s: mean %s, 99 %% within %s", d.Policies[i].Policy, sheet.Duration(delay.MeanS), sheet.Coarse(delay.P99S))
		style := sheet.LineStyles[len(curves)%len(sheet.LineStyles)]
		s.Legend = append(s.Legend, sheet.Entry{Text: text, Sample: func(c draw.Canvas, a, b vg.Point) {
			sheet.Stroke(style)(c, a, b)
			sheet.Dot(style.Color, true)(c, a, b)
		}})
		curves, means = append(curves, c), append(means, delay.MeanS)
	}
	if len(curves) == 0 {
		return nil
	}
	p := sheet.NewPlot("", "share of packets")
	if wide && lo < hi {
		chart.LogAxis(&p.X, lo, hi)
		p.X.Label.Text = "delay"
	} else {
		sheet.TimeAxis(&p.X, "delay", 0, hi*1.02, 8)
	}
	chart.ShareAxis(p, true)
	p.Add(sheet.Grid(true, true), sheet.PlotFunc(func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		placed := func(v float64) float64 { return max(v, p.X.Min) } // what a logarithmic axis lacks stands at its end
		for i, k := range curves {
			shown := chart.Curve{Y: k.Y}
			for _, v := range k.X {
				shown.X = append(shown.X, placed(v))
			}
			shown.Draw(c, p, sheet.LineStyles[i%len(sheet.LineStyles)])
		}
		for i, k := range curves {
			at := sheet.Point(x(placed(means[i])), y(k.Share(means[i])))
			sheet.Dot(sheet.LineStyles[i%len(sheet.LineStyles)].Color, true)(c, at, at)
		}
	}))
	s.Blocks = []sheet.Block{{Plots: []*plot.Plot{p}, Height: 3.4 * vg.Inch}}
	s.Notes = []string{"Markers stand at the means. Only packets that arrived count."}
	return []sheet.Figure{s.Figure("delays")}
}

// delayCurve adds up the bins; nil without packets. It ends where all have arrived, and goes on at 1.
func delayCurve(d *result.Delay) *chart.Curve {
	if d == nil {
		return nil
	}
	total := 0.0
	for _, b := range d.Bins {
		total += float64(b.Packets)
	}
	if total == 0 {
		return nil
	}
	c, sum := &chart.Curve{}, 0.0
	for _, b := range d.Bins {
		if n := len(c.X); n == 0 || b.FromS > c.X[n-1] { // flat between bins
			c.X, c.Y = append(c.X, b.FromS), append(c.Y, sum/total)
		}
		sum += float64(b.Packets)
		// No packet took longer than the longest, although its bin reaches further.
		c.X, c.Y = append(c.X, max(min(b.ToS, d.MaxS), b.FromS)), append(c.Y, sum/total)
	}
	return c
}
