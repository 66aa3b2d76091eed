package plots

import (
	"fmt"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// services are the ways to share rates that the figure compares, as Play has
// them, with what they mean.
var services = []struct{ name, text string }{
	{"level-priority", "rates by priority, the urgent first"},
	{"max-min", "rates shared fairly (max-min)"},
}

// ratesFigure shows the rates at which the stages that compete for a bundle of
// circuits synchronise their gradients, under joint and fair service one above
// the other.
func ratesFigure(doc *result.Document, d *result.Detail) []sheet.Figure {
	var chosen []*result.Play
	var texts []string
	for _, sv := range services {
		p := fastest(doc, d, func(p *result.Play) bool { return p.Service == sv.name && len(p.Rates) > 0 })
		if p == nil {
			continue
		}
		chosen = append(chosen, p)
		texts = append(texts, sv.text)
	}
	if len(chosen) == 0 {
		return nil
	}
	// Under fair service the flows of a group overlap whenever they can.
	group, ok := mostCompeting(chosen[len(chosen)-1])
	if !ok {
		return nil
	}
	names := seriesNames(chosen, group)
	s := sheet.Sheet{Title: "Rates of gradient synchronisations", Subtitle: d.Title}
	if group != "" {
		s.Title = "Rates of gradient synchronisations that share circuits: " + sheet.Plain(group)
	}
	if len(names) > len(sheet.LineStyles) {
		s.Notes = append(s.Notes, fmt.Sprintf("The first %d of %d stages are shown.", len(sheet.LineStyles), len(names)))
		names = names[:len(sheet.LineStyles)]
	}
	for i, n := range names {
		s.Legend = append(s.Legend, sheet.Entry{Text: n, Sample: sheet.Stroke(nested(i, len(names)))})
	}
	from, to, top := extents(chosen, group)
	u := rateTime(to - from)
	for i, p := range chosen {
		y := 1 / float64(len(chosen))
		pl := ratesPlot(p, group, names, from, to, top)
		if i < len(chosen)-1 {
			pl.X.Label.Text = ""
		}
		_, done, _ := extents([]*result.Play{p}, group)
		head := fmt.Sprintf("%s: %s; done after %s %s", sheet.Plain(p.Policy), texts[i], sheet.Digits((done-from)*u.Per, 4), u.Name)
		s.Panels = append(s.Panels, sheet.Panel{Head: head, X1: 1, Y0: y * float64(i), Y1: y * float64(i+1), Plot: pl})
	}
	s.Notes = append(s.Notes, fmt.Sprintf("Time 0 is when the first of these begins, %s into the iteration.", sheet.Duration(from)))
	if len(names) > 1 {
		s.Notes[len(s.Notes)-1] += " Of equal rates the wider lines are seen beside the narrower."
	}
	return []sheet.Figure{s.Figure("dp-rates", 5.4*vg.Inch)}
}

// rateTime is the unit for times from the first start: milliseconds, or less
// where that is nothing.
func rateTime(span float64) sheet.Unit {
	if u := sheet.TimeUnit(span); u.Per > 1e3 {
		return u
	}
	return sheet.Unit{Name: "ms", Per: 1e3}
}

// Widths in points of lines that lie on each other.
const (
	narrowest = 2.0
	wider     = 1.3 // of each line than of the next
)

// nested is the style of line i of n: whole, and wider than those after it, which are drawn over it, so that all are seen where their rates are
// equal and each stays at its rate.
func nested(i, n int) draw.LineStyle {
	return draw.LineStyle{Color: sheet.LineStyles[i].Color, Width: narrowest + wider*vg.Length(n-1-i)}
}

// ratesPlot is one play's plot; times count from from.
func ratesPlot(play *result.Play, group string, names []string, from, to, top float64) *plot.Plot {
	p := sheet.NewPlot("", "rate, GB/s")
	sheet.SetRange(&p.X, 0, (to-from)*1.02)
	u := rateTime(to - from)
	p.X.Label.Text = "time, " + u.Name
	p.X.Tick.Marker = sheet.Ticker{Unit: u, Count: 10, Whole: false}
	sheet.SetRange(&p.Y, -0.03*top, top*1.08) // room for wide lines
	p.Y.Tick.Marker = sheet.Ticker{Unit: sheet.Gigabytes, Count: 5, Whole: false}
	p.Add(sheet.Grid(true, true), sheet.PlotFunc(func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		for at, name := range names { // the narrowest last
			for i := range play.Rates {
				s := &play.Rates[i]
				if s.Group != group || s.Name != name {
					continue
				}
				a, b, ok := active(s)
				if !ok {
					continue
				}
				// Only where it runs: lines along 0 would hide each other.
				line := stepLine(steady(s, (to-from)/sliver), a, b, func(t float64) vg.Length { return x(t - from) }, y)
				line = append([]vg.Point{sheet.Point(line[0].X, y(0))}, append(line, sheet.Point(line[len(line)-1].X, y(0)))...)
				c.StrokeLines(nested(at, len(names)), line)
			}
		}
	}))
	return p
}
