package plots

import (
	"fmt"
	"image/color"
	"slices"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	podsShown    = 4   // one below the other; more would be too flat to read
	denseSteps   = 150 // steps from which the whole hides single transfers
	demandHeight = 105 // of a pod's panel, in points
	demandFrame  = 130
)

// demandFigure shows the bandwidth that leaves each pod on the ideal fabric,
// and for long iterations their end beside the whole.
func demandFigure(doc *result.Document, d *result.Detail) []sheet.Figure {
	ref := &d.Reference
	var pods []*result.Series
	for i := range ref.Demand {
		if _, _, ok := active(&ref.Demand[i]); ok {
			pods = append(pods, &ref.Demand[i])
		}
	}
	if len(pods) == 0 {
		return nil
	}
	s := sheet.Sheet{
		Title:    "Bandwidth that leaves each pod on the ideal fabric",
		Subtitle: d.Title,
		Legend:   []sheet.Entry{{Text: "bandwidth used", Sample: area(sheet.BlueTint, demandLine)}, {Text: "peak", Sample: dot(sheet.Vermillion)}},
	}
	if len(pods) > podsShown {
		s.Notes = append(s.Notes, fmt.Sprintf("The first %d of %d pods are shown.", podsShown, len(pods)))
		pods = pods[:podsShown]
	}
	end, top, steps := ref.MakespanS, 0.0, 0
	for _, p := range pods {
		_, to, _ := active(p)
		_, v := peak(p)
		end, top, steps = max(end, to), max(top, v), max(steps, len(p.TimeS))
	}
	rate := portRate(d)
	if rate > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("In brackets: how many ports of %s Gb/s that fills.", sheet.Digits(rate*sheet.Gigabits.Per, 4)))
	}
	var tail []float64
	if z := zoom(ref.Lanes, end); z != nil && steps > denseSteps {
		tail = z.end[:]
		if from, ok := firstSync(ref.Lanes); ok {
			const before = 0.15 // of what follows, to see what comes before it
			tail[0] = max(0, min(tail[0], from-before*(end-from)))
		}
	}
	for i, pod := range pods {
		y0, y1 := float64(i)/float64(len(pods)), float64(i+1)/float64(len(pods))
		row := func(head string, x0, x1, from, to float64, count int) {
			p := demandPlot(pod, from, to, top, rate, count)
			if i < len(pods)-1 {
				p.X.Label.Text = ""
			}
			if x0 > 0 {
				p.Y.Label.Text = ""
			}
			s.Panels = append(s.Panels, sheet.Panel{Head: head, X0: x0, X1: x1, Y0: y0, Y1: y1, Plot: p})
		}
		if tail == nil {
			row(pod.Name, 0, 1, 0, end, 10)
			continue
		}
		row(pod.Name+", whole iteration", 0, 0.55, 0, end, 6)
		row(pod.Name+", end of the iteration", 0.55, 1, tail[0], tail[1], 4)
	}
	return []sheet.Figure{s.Figure("demand", demandFrame+demandHeight*vg.Length(max(2, len(pods))))}
}

// firstSync is when the first gradient synchronisation begins.
func firstSync(lanes []result.Lane) (from float64, ok bool) {
	for _, l := range lanes {
		for _, s := range l.Spans {
			if s.Kind == "dp" && (!ok || s.StartS < from) {
				from, ok = s.StartS, true
			}
		}
	}
	return from, ok
}

var demandLine = draw.LineStyle{Color: sheet.Blue, Width: 1}

// demandPlot is a pod's demand between two times, on an axis up to top.
func demandPlot(pod *result.Series, from, to, top, rate float64, count int) *plot.Plot {
	p := sheet.NewPlot("", "Gb/s")
	sheet.TimeAxis(&p.X, "time", from, to, count)
	sheet.SetRange(&p.Y, 0, top*1.28) // room for the peak's label
	p.Y.Tick.Marker = rateTicker{top, rate}
	p.Add(sheet.Grid(true, false), sheet.PlotFunc(func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		line := stepLine(pod, from, to, x, y)
		under := append(slices.Clone(line), sheet.Point(line[len(line)-1].X, y(0)), sheet.Point(line[0].X, y(0)))
		c.FillPolygon(sheet.BlueTint, under)
		c.StrokeLines(demandLine, line)
		markPeak(c, pod, x, y, from, to, rate)
	}))
	return p
}

// markPeak marks the greatest value where it is first reached, if that is
// within the plot.
func markPeak(c draw.Canvas, pod *result.Series, x, y func(float64) vg.Length, from, to, rate float64) {
	at, v := peak(pod)
	for i, w := range pod.Value { // a peak that lasts is better marked where it can be seen
		if w == v && pod.TimeS[i] >= from {
			at = pod.TimeS[i]
			break
		}
	}
	if v <= 0 || at < from || at > to {
		return
	}
	px, py := x(at), y(v)
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: sheet.Vermillion, Radius: 3.5, Shape: draw.CircleGlyph{}}, sheet.Point(px, py))
	text := "peak " + sheet.Digits(v*sheet.Gigabits.Per, 5) + " Gb/s"
	if n := v / rate; rate > 0 {
		text += fmt.Sprintf(" = %s ports", sheet.Digits(n, 4))
	}
	style := sheet.Aligned(sheet.Sans(sheet.NoteSize, sheet.Ink), draw.XLeft, draw.YBottom)
	width := style.Width(text)
	px = max(min(px, c.Max.X-width-2), c.Min.X+2)
	var behind sheet.Bars
	behind.Add(px-1, px+width+1, py+5, py+5+sheet.NoteSize)
	behind.Fill(c, sheet.White)
	c.FillText(style, sheet.Point(px, py+6), text)
}

// area is the sample of a filled line, dot that of a mark.
func area(tint color.Color, line draw.LineStyle) func(c draw.Canvas, lo, hi vg.Point) {
	return func(c draw.Canvas, lo, hi vg.Point) {
		var b sheet.Bars
		b.Add(lo.X, hi.X, lo.Y, hi.Y)
		b.Fill(c, tint)
		c.StrokeLine2(line, lo.X, hi.Y, hi.X, hi.Y)
	}
}

func dot(clr color.Color) func(c draw.Canvas, lo, hi vg.Point) {
	return func(c draw.Canvas, lo, hi vg.Point) {
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: clr, Radius: 3.5, Shape: draw.CircleGlyph{}}, sheet.Point((lo.X+hi.X)/2, (lo.Y+hi.Y)/2))
	}
}
