package plots

import (
	"image/color"
	"math"

	"sim/plots/chart"
	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// delayCurve is the distribution of a policy's packet delays.
type delayCurve struct {
	policy string
	delay  *result.Delay
	at     []float64 // seconds
	share  []float64 // of packets with at most that delay
	style  draw.LineStyle
}

// delaysFigure shows the cumulative distribution of packet delays of each
// policy, with the means marked.
func delaysFigure(_ *result.Document, d *result.Detail) []sheet.Figure {
	var all []*delayCurve
	wide := false
	for i := range d.Policies {
		p := &d.Policies[i]
		c := newDelayCurve(p)
		if c == nil {
			continue
		}
		c.style = sheet.LineStyles[len(all)%len(sheet.LineStyles)]
		all = append(all, c)
		const tail = 20 // from which ratio of 99th percentile to median a linear axis hides the most
		wide = wide || p.Delay.P99S > tail*p.Delay.P50S && p.Delay.P50S > 0
	}
	if len(all) == 0 {
		return nil
	}
	s := sheet.Sheet{Title: "Delay of packets by policy: cumulative distribution", Subtitle: d.Title}
	lo, hi := math.Inf(1), 0.0
	for _, c := range all {
		for i, v := range c.at {
			if v > 0 && (i > 0 || !wide) {
				lo = min(lo, v)
			}
			hi = max(hi, v)
		}
		s.Legend = append(s.Legend, sheet.Entry{Text: c.policy + ": mean " + sheet.Duration(c.delay.MeanS) + ", 99 % within " + sheet.Coarse(c.delay.P99S), Sample: func(cv draw.Canvas, a, b vg.Point) {
			sheet.Stroke(c.style)(cv, a, b)
			meanMark(cv, c.style.Color, sheet.Point((a.X+b.X)/2, (a.Y+b.Y)/2))
		}})
	}
	wide = wide && lo < hi
	p := sheet.NewPlot("", "share of packets")
	axis := &chart.Scale{Log: wide}
	if wide {
		axis.Lo, axis.Hi = chart.LogRange(lo, hi)
		axis.Named = true
		axis.Mark(8)
		p.X.Tick.Marker = plot.ConstantTicks(axis.Ticks)
		p.X.Label.Text = "delay"
		sheet.SetRange(&p.X, axis.Lo, axis.Hi)
	} else {
		sheet.TimeAxis(&p.X, "delay", 0, hi*1.02, 8)
	}
	sheet.SetRange(&p.Y, 0, 1.02)
	p.Y.Tick.Marker = sheet.Marks([]float64{0, 0.2, 0.4, 0.6, 0.8, 1}, []string{"0 %", "20 %", "40 %", "60 %", "80 %", "100 %"})
	p.Add(sheet.Grid(true, true), sheet.PlotFunc(func(c draw.Canvas, p *plot.Plot) {
		for _, curve := range all {
			curve.draw(c, p, axis)
		}
		for _, curve := range all {
			curve.mark(c, p, axis)
		}
	}))
	s.Panels = []sheet.Panel{{X1: 1, Y1: 1, Plot: p}}
	s.Notes = []string{"Markers stand at the means. Only packets that arrived count."}
	return []sheet.Figure{s.Figure("delays", s.Frame()+4*vg.Inch)}
}

// newDelayCurve adds up the bins; nil without packets.
func newDelayCurve(p *result.Play) *delayCurve {
	if p.Delay == nil {
		return nil
	}
	total := 0.0
	for _, b := range p.Delay.Bins {
		total += float64(b.Packets)
	}
	if total == 0 {
		return nil
	}
	c, sum := &delayCurve{policy: p.Policy, delay: p.Delay}, 0.0
	for _, b := range p.Delay.Bins {
		if n := len(c.at); n == 0 || b.FromS > c.at[n-1] { // flat between bins
			c.at, c.share = append(c.at, b.FromS), append(c.share, sum/total)
		}
		sum += float64(b.Packets)
		// No packet took longer than the longest, although its bin reaches further.
		c.at, c.share = append(c.at, max(min(b.ToS, p.Delay.MaxS), b.FromS)), append(c.share, sum/total)
	}
	return c
}

// below is the share of packets with a delay of at most s, within a bin in
// proportion.
func (c *delayCurve) below(s float64) float64 {
	if s < c.at[0] {
		return 0
	}
	for i := 1; i < len(c.at); i++ {
		if s < c.at[i] {
			return c.share[i-1] + (c.share[i]-c.share[i-1])*(s-c.at[i-1])/(c.at[i]-c.at[i-1])
		}
	}
	return 1
}

// placed is where a delay stands on the axis; what a logarithmic one lacks, at
// its end.
func placed(p *plot.Plot, axis *chart.Scale, s float64) float64 {
	if axis.Log {
		if s <= 0 {
			return p.X.Min
		}
		return max(math.Log10(s), p.X.Min)
	}
	return s
}

func (c *delayCurve) draw(cv draw.Canvas, p *plot.Plot, axis *chart.Scale) {
	x, y := p.Transforms(&cv)
	pts := make([]vg.Point, 0, len(c.at)+1)
	for i, s := range c.at {
		pts = append(pts, sheet.Point(x(placed(p, axis, s)), y(c.share[i])))
	}
	pts = append(pts, sheet.Point(cv.Max.X, y(1)))
	cv.StrokeLines(c.style, pts)
}

// mark marks the mean on the curve.
func (c *delayCurve) mark(cv draw.Canvas, p *plot.Plot, axis *chart.Scale) {
	x, y := p.Transforms(&cv)
	meanMark(cv, c.style.Color, sheet.Point(x(placed(p, axis, c.delay.MeanS)), y(c.below(c.delay.MeanS))))
}

// meanMark is the marker of a mean.
func meanMark(c draw.Canvas, clr color.Color, at vg.Point) {
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: sheet.White, Radius: 5, Shape: draw.CircleGlyph{}}, at)
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: clr, Radius: 3.6, Shape: draw.CircleGlyph{}}, at)
}
