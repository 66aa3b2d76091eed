package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// busy is the panel of how many of the links carry a chunk in each slot; false
// where the plan does not say.
func (p *planPicture) busy() (panel, bool) {
	mean := p.share()
	if math.IsNaN(mean) {
		return panel{}, false
	}
	q := newPlot("slot", "links busy")
	setRange(&q.X, 0, float64(p.total))
	q.X.Tick.Marker = ticker{unit: unit{"", 1}, count: 10, whole: true}
	setRange(&q.Y, 0, 1)
	q.Y.Tick.Marker = marks([]float64{0, 0.5, 1}, []string{"0 %", "50 %", "100 %"})
	q.Add(grid(true, false), plotFunc(p.drawBusy))
	head := fmt.Sprintf("Links that carry a chunk: %s of all slots", percent(mean))
	if len(p.Phases) > 1 {
		head += "; lines are reconfigurations"
	}
	return panel{head: head, x1: 1, plot: q}, true
}

// drawBusy fills each slot up to its share, or where slots are narrower than a
// dot, each dot up to the mean of its slots.
func (p *planPicture) drawBusy(c draw.Canvas, q *plot.Plot) {
	x, y := q.Transforms(&c)
	dots := max(1, int((c.Max.X-c.Min.X)/pixel))
	per := max(1, (p.total+dots-1)/dots) // slots that share a bar
	for i := range p.Phases {
		ph := &p.Phases[i]
		if len(ph.Edges) == 0 {
			continue
		}
		var outline vg.Path // one, without seams
		outline.Move(point(x(float64(p.start[i])), y(0)))
		for s := 0; s < len(ph.Busy); s += per {
			sum, n := 0, min(per, len(ph.Busy)-s)
			for _, v := range ph.Busy[s : s+n] {
				sum += v
			}
			from := p.start[i] + s
			high := y(float64(sum) / float64(n*len(ph.Edges)))
			outline.Line(point(x(float64(from)), high))
			outline.Line(point(x(float64(from+n)), high))
		}
		outline.Line(point(x(float64(p.start[i]+len(ph.Busy))), y(0)))
		outline.Close()
		c.SetColor(skyBlue)
		c.Fill(outline)
	}
	const apart = 3 // points, of lines that can be told apart
	last := vg.Length(math.Inf(-1))
	for _, s := range p.start {
		if at := x(float64(s)); s > 0 && at-last >= apart {
			c.StrokeLine2(draw.LineStyle{Color: ink, Width: 0.8}, at, c.Min.Y, at, c.Max.Y)
			last = at
		}
	}
}
