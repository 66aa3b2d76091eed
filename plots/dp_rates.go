// This file draws the rates of gradient synchronisations that compete for circuits.

package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// services lists the compared rate-sharing methods, as named in result.Simulation, with their
// descriptions.
var services = []struct{ name, text string }{
	{"level-priority", "rates by priority, the urgent first"},
	{"max-min", "rates shared fairly (max-min)"},
}

// ratesFigure shows the rates of the gradient synchronisations that compete for one bundle of
// circuits: under priorities and under max-min fair sharing, one above the other.
func ratesFigure(doc *result.Document, d *result.Detail, add addFigure) {
	// chosen has the fastest simulation of each rate-sharing method, texts its description.
	var chosen []*result.Simulation
	var texts []string
	for _, sv := range services {
		if p := fastest(doc, d, func(p *result.Simulation) bool {
			return p.Service == sv.name && len(p.Rates) > 0
		}); p != nil {
			chosen = append(chosen, p)
			texts = append(texts, sv.text)
		}
	}

	if len(chosen) == 0 {
		return
	}

	// Choose the group by the last simulation, which uses fair sharing if both are present: with
	// fair sharing, the flows of a group overlap whenever possible.
	r := rateFigure{group: busiestGroup(chosen[len(chosen)-1]), from: math.Inf(1)}

	// Find the series of the group and their common ranges. ends has the end of the last series
	// in seconds, indexed by simulation.
	ends := make([]float64, len(chosen))
	for i, p := range chosen {
		for _, s := range activeSeries(p, r.group) {
			from, to, _ := activeRange(s)
			_, v := peak(s)
			r.from, ends[i], r.top = min(r.from, from), max(ends[i], to), max(r.top, v)
			if !slices.Contains(r.names, s.Name) {
				// names has the names of the series, which are stages.
				r.names = append(r.names, s.Name)
			}
		}
	}

	if len(r.names) == 0 {
		return
	}
	r.span = slices.Max(ends) - r.from

	// Add a legend entry per series. Times are in milliseconds, or in a smaller unit if the
	// plotted time is short.
	s := &sheet.Sheet{Title: "Rates of gradient synchronisations"}
	if r.group != "" {
		s.Title += " that share circuits: " + r.group
	}
	r.names = sheet.First(s, r.names, len(sheet.LineStyles), "stages")
	for i, n := range r.names {
		s.AddLegend(n, sheet.LineSample(r.style(i)))
	}
	u := sheet.Unit{Name: "ms", Per: 1e3}
	if small := sheet.TimeUnit(r.span); small.Per > u.Per {
		u = small
	}
	block := sheet.Block{
		Height: 120,
		XTitle: "time, " + u.Name,
		YTitle: "rate, GB/s",
	}

	// Add one plot per simulation.
	for i, p := range chosen {
		q := r.plot(p)
		q.X.Tick.Marker = sheet.Ticker{Unit: u, Count: 10}
		sheet.AddHeading(q, fmt.Sprintf("%s: %s; done after %s %s", p.Policy,
			texts[i], sheet.Digits((ends[i]-r.from)*u.Per, 4), u.Name))
		block.Plots = append(block.Plots, q)
	}

	s.Blocks = []sheet.Block{block}
	// Explain how equal rates are drawn.
	wider := ""
	if len(r.names) > 1 {
		wider = " Of equal rates the wider lines are seen beside the narrower."
	}
	s.Note("Time 0 is when the first of these begins, %s into the iteration.%s",
		sheet.Duration(r.from, 4), wider)
	add("dp-rates", s)
}

// rateFigure describes the figure of the series of one group, which compete for circuits.
type rateFigure struct {
	group string // group of the series
	// names are the names of the series, which are stages.
	names []string
	// from and span are the start and the length of the plotted time in seconds. top is the
	// maximum rate.
	from, span, top float64
}

// style returns the line style of series i. Lines that are drawn later are narrower, so that
// all remain visible if their rates are equal.
func (r *rateFigure) style(i int) draw.LineStyle {
	// minWidth is the width of the last line in points, and widthStep the increase per line
	// before it.
	const minWidth, widthStep = 2.0, 1.3
	return sheet.Line(sheet.LineStyles[i].Color,
		minWidth+widthStep*vg.Length(len(r.names)-1-i))
}

// plot plots one simulation. Time 0 is the start of the first series of all simulations.
func (r *rateFigure) plot(sim *result.Simulation) *plot.Plot {
	p := sheet.NewPlot()
	sheet.SetRange(&p.X, 0, r.span*1.02)

	// Space for wide lines.
	sheet.SetRange(&p.Y, -0.03*r.top, r.top*1.08)
	p.Y.Tick.Marker = sheet.Ticker{Unit: sheet.GigabytesPerSecond, Count: 5}
	p.Add(sheet.FullGrid(), sheet.PlotFunc(func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)

		// The narrowest line last.
		for _, s := range activeSeries(sim, r.group) {
			if at := slices.Index(r.names, s.Name); at >= 0 {
				from, to, _ := activeRange(s)

				// Only while the series is active: lines at 0 would hide each other.
				line := stepLine(withoutShortSteps(s, r.span/minStepsPerRange), from,
					to, func(t float64) vg.Length {
						return x(t - r.from)
					}, y)

				// Rise from 0 at the start and return to 0 at the end.
				line = slices.Concat([]vg.Point{sheet.Point(line[0].X, y(0))}, line,
					[]vg.Point{sheet.Point(line[len(line)-1].X, y(0))})
				c.StrokeLines(r.style(at), line)
			}
		}
	}))

	return p
}

// activeSeries returns the series of a group of a simulation that are not always 0.
func activeSeries(p *result.Simulation, group string) []*result.Series {
	return slices.DeleteFunc(nonZeroSeries(p.Rates), func(s *result.Series) bool {
		return s.Group != group
	})
}

// busiestGroup returns the group of a simulation with the largest number of active series. Ties
// are resolved by the latest end, then by name.
func busiestGroup(p *result.Simulation) (best string) {
	maxSeries, last := 0, 0.0
	for _, r := range slices.SortedStableFunc(slices.Values(p.Rates),
		func(a, b result.Series) int {
			return cmp.Compare(a.Group, b.Group)
		}) {
		series := activeSeries(p, r.Group)
		end := 0.0
		for _, s := range series {
			_, to, _ := activeRange(s)
			end = max(end, to)
		}

		if n := len(series); n > maxSeries || n == maxSeries && end > last {
			best, maxSeries, last = r.Group, n, end
		}
	}

	return best
}
