package plots

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/scenarios/result"
)

// loadsFigure shows for each policy the load of its most loaded link, with the
// lower bound proved for it, and the throughput of all to all where it is known.
func loadsFigure(doc *result.Document, d *result.Detail) []Figure {
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
	s := sheet{title: head + " by policy", subtitle: d.Title}
	best := doc.Best(metric)
	s.legend = []entry{{"lowest", box(fill{vermillion, 1})}}
	if len(loads) > 1 {
		s.legend = append(s.legend, entry{"other policies", box(fill{skyBlue, 1})})
	}
	for _, b := range loads {
		if b.hasBound {
			s.legend = append(s.legend, entry{"lower bound proved for the policy", func(c draw.Canvas, lo, hi vg.Point) { markBound(c, lo.X, hi.X, (lo.Y+hi.Y)/2) }})
			break
		}
	}
	names := newNameRow(loads)
	most := 0.0
	for _, b := range loads {
		most = max(most, b.value, b.bound)
	}
	first := panel{head: head, x1: 1, y1: 1, below: names.depth, plot: barPlot(loads, names, "load", most, unit{"", 1}, best)}
	s.panels = []panel{first}
	height := vg.Length(3.1*vg.Inch) + names.depth
	if rates != nil {
		most, fastest := 0.0, -1
		for i, b := range rates {
			if b.defined && b.value > most {
				most, fastest = b.value, i
			}
		}
		u := thousands(most, "B/s")
		s.title = "Load of links and throughput of all to all by policy"
		s.legend[0].text = "best"
		s.panels[0].y1 = 0.5
		s.panels = append(s.panels, panel{head: "Throughput of all to all", x1: 1, y0: 0.5, y1: 1, below: names.depth, plot: barPlot(rates, names, u.name, most, u, fastest)})
		height *= 1.8
	}
	return []Figure{s.figure("loads", s.frame()+height)}
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
func barPlot(all []nctBar, names *nameRow, label string, most float64, u unit, best int) *plot.Plot {
	p := newPlot("", label)
	setRange(&p.X, -0.5, float64(len(all))-0.5)
	p.X.Tick.Marker = plot.ConstantTicks{}
	const room = 0.14 // above the bars, for their values
	setRange(&p.Y, 0, max(most, 0)*(1+room))
	p.Y.Tick.Marker = ticker{unit: u, count: 5}
	p.Add(grid(true, false), plotFunc(func(c draw.Canvas, p *plot.Plot) { drawBars(c, p, all, u, best) }), plotFunc(names.draw))
	return p
}

func drawBars(c draw.Canvas, p *plot.Plot, all []nctBar, u unit, best int) {
	x, y := p.Transforms(&c)
	slot := (c.Max.X - c.Min.X) / vg.Length(len(all))
	half := min(slot*0.32, 30)
	label := aligned(sans(min(labelSize, max(slot*0.25, numberSize)), ink), draw.XCenter, draw.YBottom)
	for i, b := range all {
		mid, top, text := x(float64(i)), y(0), "undefined"
		if b.defined {
			text = loadText(roundTo(b.value*u.per, 4))
			top = y(max(b.value, 0))
			clr := skyBlue
			if i == best || b.value == all[max(best, 0)].value {
				clr = vermillion
			}
			var r bars
			r.add(mid-half, mid+half, y(0), max(top, y(0)+1)) // at least a point
			r.fill(c, clr)
		}
		if b.hasBound && b.bound >= 0 {
			at := y(b.bound)
			markBound(c, mid-half-3, mid+half+3, at)
			top = max(top, at)
		}
		c.FillText(label, point(mid, top+5), fit(label, text, slot))
	}
}
