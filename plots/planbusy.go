package plots

import (
	"fmt"
	"math"

	"sim/plots/sheet"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// busy is the panel of how many of the links carry a chunk in each slot; false
// where the plan does not say.
func (p *planPicture) busy() (sheet.Panel, bool) {
	mean := p.share()
	if math.IsNaN(mean) {
		return sheet.Panel{}, false
	}
	q := sheet.NewPlot("slot", "links busy")
	sheet.SetRange(&q.X, 0, float64(p.total))
	q.X.Tick.Marker = sheet.Ticker{Unit: sheet.Unit{Name: "", Per: 1}, Count: 10, Whole: true}
	sheet.SetRange(&q.Y, 0, 1)
	q.Y.Tick.Marker = sheet.Marks([]float64{0, 0.5, 1}, []string{"0 %", "50 %", "100 %"})
	q.Add(sheet.Grid(true, false), sheet.PlotFunc(p.drawBusy))
	head := fmt.Sprintf("Links that carry a chunk: %s of all slots", sheet.Percent(mean))
	if len(p.Phases) > 1 {
		head += "; lines are reconfigurations"
	}
	return sheet.Panel{Head: head, X1: 1, Plot: q}, true
}

// drawBusy fills each slot up to its share, or where slots are narrower than a
// dot, each dot up to the mean of its slots.
func (p *planPicture) drawBusy(c draw.Canvas, q *plot.Plot) {
	x, y := q.Transforms(&c)
	dots := max(1, int((c.Max.X-c.Min.X)/sheet.Pixel))
	per := max(1, (p.total+dots-1)/dots) // slots that share a bar
	for i := range p.Phases {
		ph := &p.Phases[i]
		if len(ph.Edges) == 0 {
			continue
		}
		var outline vg.Path // one, without seams
		outline.Move(sheet.Point(x(float64(p.start[i])), y(0)))
		for s := 0; s < len(ph.Busy); s += per {
			sum, n := 0, min(per, len(ph.Busy)-s)
			for _, v := range ph.Busy[s : s+n] {
				sum += v
			}
			from := p.start[i] + s
			high := y(float64(sum) / float64(n*len(ph.Edges)))
			outline.Line(sheet.Point(x(float64(from)), high))
			outline.Line(sheet.Point(x(float64(from+n)), high))
		}
		outline.Line(sheet.Point(x(float64(p.start[i]+len(ph.Busy))), y(0)))
		outline.Close()
		c.SetColor(sheet.SkyBlue)
		c.Fill(outline)
	}
	const apart = 3 // points, of lines that can be told apart
	last := vg.Length(math.Inf(-1))
	for _, s := range p.start {
		if at := x(float64(s)); s > 0 && at-last >= apart {
			c.StrokeLine2(draw.LineStyle{Color: sheet.Ink, Width: 0.8}, at, c.Min.Y, at, c.Max.Y)
			last = at
		}
	}
}
