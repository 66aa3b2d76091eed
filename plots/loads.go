package plots

import (
	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// loadsFigure shows for each policy the load of its most loaded link, with the
// lower bound proved for it, and the throughput of all to all where it is known.
func loadsFigure(doc *result.Document, d *result.Detail) []sheet.Figure {
	metric, head := "max_link_load", "Load of the most loaded link"
	loads := metricBars(doc, "max_load_over_rate", "bound_max_load_over_rate")
	if loads != nil {
		metric, head = "max_load_over_rate", "Largest load of a link over its rate"
	} else {
		loads = metricBars(doc, metric, "bound_max_link_load")
	}
	rates := metricBars(doc, "all_to_all_bytes_per_s", "")
	if loads == nil {
		return nil
	}
	s := sheet.Sheet{Title: head + " by policy", Subtitle: d.Title}
	best := doc.Best(metric)
	s.Legend = []sheet.Entry{{Text: "lowest", Sample: sheet.Box(sheet.Fill{Color: sheet.Vermillion, Height: 1})}}
	if len(loads) > 1 {
		s.Legend = append(s.Legend, sheet.Entry{Text: "other policies", Sample: sheet.Box(sheet.Fill{Color: sheet.SkyBlue, Height: 1})})
	}
	for _, b := range loads {
		if b.hasBound {
			s.Legend = append(s.Legend, sheet.Entry{Text: "lower bound proved for the policy", Sample: func(c draw.Canvas, lo, hi vg.Point) { markBound(c, lo.X, hi.X, (lo.Y+hi.Y)/2) }})
			break
		}
	}
	names := newNameRow(loads)
	most := 0.0
	for _, b := range loads {
		most = max(most, b.value, b.bound)
	}
	first := sheet.Panel{Head: head, X1: 1, Y1: 1, Below: names.depth, Plot: barPlot(loads, names, "load", most, sheet.Unit{Name: "", Per: 1}, best)}
	s.Panels = []sheet.Panel{first}
	height := vg.Length(3.1*vg.Inch) + names.depth
	if rates != nil {
		most, fastest := 0.0, -1
		for i, b := range rates {
			if b.defined && b.value > most {
				most, fastest = b.value, i
			}
		}
		u := sheet.Thousands(most, "B/s")
		s.Title = "Load of links and throughput of all to all by policy"
		s.Legend[0].Text = "best"
		s.Panels[0].Y1 = 0.5
		s.Panels = append(s.Panels, sheet.Panel{Head: "Throughput of all to all", X1: 1, Y0: 0.5, Y1: 1, Below: names.depth, Plot: barPlot(rates, names, u.Name, most, u, fastest)})
		height *= 1.8
	}
	return []sheet.Figure{s.Figure("loads", s.Frame()+height)}
}

// metricBars are the bars of a metric, nil where no row has it.
func metricBars(doc *result.Document, metric, bound string) []nctBar {
	var all []nctBar
	some := false
	for _, r := range doc.Rows {
		b := nctBar{policy: r.Policy}
		b.value, b.defined = r.Metrics[metric]
		if b.defined && bound != "" {
			b.bound, b.hasBound = r.Metrics[bound]
		}
		some = some || b.defined
		all = append(all, b)
	}
	if !some {
		return nil
	}
	return all
}

// barPlot draws bars from 0 with their values, in a unit.
func barPlot(all []nctBar, names *nameRow, label string, most float64, u sheet.Unit, best int) *plot.Plot {
	p := sheet.NewPlot("", label)
	sheet.SetRange(&p.X, -0.5, float64(len(all))-0.5)
	p.X.Tick.Marker = plot.ConstantTicks{}
	const room = 0.14 // above the bars, for their values
	sheet.SetRange(&p.Y, 0, max(most, 0)*(1+room))
	p.Y.Tick.Marker = sheet.Ticker{Unit: u, Count: 5}
	p.Add(sheet.Grid(true, false), sheet.PlotFunc(func(c draw.Canvas, p *plot.Plot) { drawBars(c, p, all, u, best) }), sheet.PlotFunc(names.draw))
	return p
}

func drawBars(c draw.Canvas, p *plot.Plot, all []nctBar, u sheet.Unit, best int) {
	x, y := p.Transforms(&c)
	slot := (c.Max.X - c.Min.X) / vg.Length(len(all))
	half := min(slot*0.32, 30)
	label := sheet.Aligned(sheet.Sans(min(sheet.LabelSize, max(slot*0.25, sheet.NumberSize)), sheet.Ink), draw.XCenter, draw.YBottom)
	for i, b := range all {
		mid, top, text := x(float64(i)), y(0), "undefined"
		if b.defined {
			text = loadText(sheet.RoundTo(b.value*u.Per, 4))
			top = y(max(b.value, 0))
			clr := sheet.SkyBlue
			if i == best || b.value == all[max(best, 0)].value {
				clr = sheet.Vermillion
			}
			var r sheet.Bars
			r.Add(mid-half, mid+half, y(0), max(top, y(0)+1)) // at least a point
			r.Fill(c, clr)
		}
		if b.hasBound && b.bound >= 0 {
			at := y(b.bound)
			markBound(c, mid-half-3, mid+half+3, at)
			top = max(top, at)
		}
		c.FillText(label, sheet.Point(mid, top+5), sheet.Fit(label, text, slot))
	}
}
