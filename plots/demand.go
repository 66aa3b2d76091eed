// This file draws the bandwidth that pods use on the ideal fabric over an iteration.

package plots

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// Limits of the figure of demands.
const (
	// maxPods limits the plots below one another; more plots would be too flat.
	maxPods = 4
	// minDenseSteps is the number of steps in a series from which the end of the iteration gets
	// its own plots: single transfers are then invisible in a plot of the whole iteration.
	minDenseSteps = 150
)

// demandFigure shows the bandwidth that each pod uses to send on the ideal fabric, and for
// long iterations also an enlarged view of the end.
func demandFigure(_ *result.Document, d *result.Detail, add addFigure) {
	ref := &d.Reference
	pods := nonZeroSeries(ref.Demand)
	if len(pods) == 0 {
		return
	}
	s := &sheet.Sheet{Title: "Bandwidth that leaves each pod on the ideal fabric"}
	s.AddLegend("bandwidth used", func(c draw.Canvas) {
		sheet.FillBox(c, sheet.BlueTint, c.Min.X, c.Max.X, c.Min.Y, c.Max.Y)
		sheet.HLine(c, demandLine, c.Max.Y)
	})

	s.AddLegend("peak", sheet.DotSample(sheet.Vermillion))
	pods = sheet.First(s, pods, maxPods, "pods")

	// All pods share the ranges of time (end, in seconds) and bandwidth (top, in bits per
	// second), so that their plots are comparable. steps is the length of the longest series.
	end, top, steps := ref.MakespanS, 0.0, 0
	for _, p := range pods {
		_, to, _ := activeRange(p)
		_, v := peak(p)
		end = max(end, to)
		top = max(top, v)
		steps = max(steps, len(p.TimeS))
	}

	rate := portRate(d)
	if rate > 0 {
		s.Note("In brackets: how many ports of %s Gb/s that fills.",
			sheet.Digits(rate*sheet.GigabitsPerSecond.Per, 4))
	}

	// Long iterations get a second column of plots with their end. It starts shortly before the
	// gradient synchronisation, whose peaks are the subject of the figure.
	block := sheet.Block{Height: 72, YTitle: "Gb/s"}
	var tail *[2]float64
	if z := zoom(ref.Tracks, end); z != nil && steps > minDenseSteps {
		tail, block.Cols = &z.end, 2
		if from, ok := firstSync(ref.Tracks); ok {
			// leadShare is the share of the shown time that precedes the first synchronisation.
			const leadShare = 0.15
			tail[0] = max(0, min(tail[0], from-leadShare*(end-from)))
		}
	}

	// One row per pod.
	for i, pod := range pods {
		add := func(head string, from, to float64, count int) {
			p := demandPlot(pod, from, to, top, rate, count)
			if i < len(pods)-1 {
				p.X.Label.Text = ""
			}
			sheet.AddHeading(p, pod.Name+head)
			block.Plots = append(block.Plots, p)
		}

		if tail == nil {
			add("", 0, end, 10)
			continue
		}

		add(", whole iteration", 0, end, 6)
		add(", end of the iteration", tail[0], tail[1], 4)
	}

	s.Blocks = []sheet.Block{block}
	add("demand", s)
}

// firstSync returns the time at which the first gradient synchronisation starts.
func firstSync(tracks []result.Track) (from float64, ok bool) {
	for _, s := range allSpans(tracks) {
		if s.Kind == "dp" && (!ok || s.StartS < from) {
			from, ok = s.StartS, true
		}
	}
	return from, ok
}

// demandLine is the style of the demand curve.
var demandLine = sheet.Line(sheet.Blue, 1)

// demandPlot plots the demand of a pod between two times in seconds, with an axis up to top bits
// per second and about count ticks of time. rate is the bandwidth of a port, or 0.
func demandPlot(pod *result.Series, from, to, top, rate float64, count int) *plot.Plot {
	p := sheet.NewPlot()
	sheet.TimeAxis(&p.X, "time", from, to, count)

	const labelSpace = 1.28 // times the peak, for its label
	sheet.SetRange(&p.Y, 0, top*labelSpace)
	p.Y.Tick.Marker = rateTicker(top, rate)
	p.Add(sheet.HorizontalGrid(), sheet.PlotFunc(func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		line := stepLine(pod, from, to, x, y)
		c.FillPolygon(sheet.BlueTint, append(slices.Clone(line),
			sheet.Point(line[len(line)-1].X, y(0)), sheet.Point(line[0].X, y(0))))

		// pointsPerPath is the number of points per path. In each row, the rasteriser searches all
		// edges of a path, so long paths are slow.
		const pointsPerPath = 64
		for i := 0; i+1 < len(line); i += pointsPerPath {
			c.StrokeLines(demandLine, line[i:min(i+pointsPerPath+1, len(line))])
		}
		markPeak(c, pod, x, y, from, to, rate)
	}))

	return p
}

// markPeak marks the maximum demand, if it is reached inside the plot: with its bandwidth and,
// if the bandwidth of a port is known, with the number of ports that it fills. x and y convert
// seconds and bits per second to the canvas.
func markPeak(c draw.Canvas, pod *result.Series, x, y func(float64) vg.Length, from, to, rate float64) {
	at, v := peak(pod)

	// Prefer an occurrence inside the plot.
	for i, w := range pod.Value {
		if w == v && pod.TimeS[i] >= from {
			at = pod.TimeS[i]
			break
		}
	}

	if v <= 0 || at < from || at > to {
		return
	}
	sheet.Disc(c, sheet.Point(x(at), y(v)), 3.5, sheet.Vermillion)
	text := "peak " + sheet.Digits(v*sheet.GigabitsPerSecond.Per, 5) + " Gb/s"
	if rate > 0 {
		text += " = " + sheet.Digits(v/rate, 4) + " ports"
	}
	drawBoxedText(c, sheet.Sans(sheet.NoteSize, sheet.Ink),
		sheet.Point(x(at), y(v)+6), text)
}

// portRate infers the bandwidth of a port in bits per second, or 0 if the data are not
// conclusive.
//
// A bundle of n circuits carries at most n times the bandwidth of a port. The maximum rate per
// circuit therefore equals that bandwidth if any bundle was ever full. The value is accepted
// only if every peak of the demand is an integer multiple of it, and not more than the number
// of ports of a pod. A smaller rate would satisfy this only by coincidence.
func portRate(d *result.Detail) float64 {
	// Find the maximum rate per circuit and the maximum number of ports of a pod.
	rate, ports := 0.0, 0
	for i := range d.Policies {
		p := &d.Policies[i]
		if p.Topology == nil {
			continue
		}
		for _, pod := range p.Topology.Pods {
			ports = max(ports, pod.Total)
		}

		for k := range p.Circuits {
			_, v := peak(&p.Circuits[k])
			if n := circuits(p, p.Circuits[k].Name); n > 0 {
				rate = max(rate, v/float64(n))
			}
		}
	}

	// Accept the rate only if every peak is an integer number of ports, up to slack:
	// serialisation times are rounded to picoseconds.
	const slack = 1e-6
	for i := range d.Reference.Demand {
		_, v := peak(&d.Reference.Demand[i])
		if n := v / rate; !(math.Abs(n-math.Round(n)) <= slack*max(1, n) &&
			n <= float64(ports)+slack) {
			return 0
		}
	}

	return rate
}

// circuits returns the maximum number of circuits of a bundle during the iteration. name is the
// name of a series of the bundle; the result is 0 if it matches no pair of pods.
func circuits(p *result.Simulation, name string) int {
	pair := p.Topology.FindPair(name)
	if pair == nil {
		return 0
	}

	maxCircuits := pair.Circuits
	for _, m := range p.Moves {
		for _, c := range m.Circuits {
			if c.A == pair.A && c.B == pair.B && c.DP == pair.DP {
				maxCircuits = max(maxCircuits, c.To)
			}
		}
	}

	return maxCircuits
}

// rateTicker returns ticks in Gb/s for rates up to top, at round multiples of the port
// bandwidth if that is known.
func rateTicker(top, rate float64) plot.Ticker {
	const maxTicks, maxPorts = 4, 1e6 // a larger number of ports is an error of the data
	if rate <= 0 || top/rate > maxPorts {
		return sheet.Ticker{Unit: sheet.GigabitsPerSecond, Count: maxTicks}
	}

	// Ports per tick: a power of two, as in most fabrics.
	n := 1.0
	for top/(rate*n) > maxTicks {
		n *= 2
	}

	return plot.TickerFunc(func(_, hi float64) (out []plot.Tick) {
		for i := 0.0; i*n*rate <= hi; i++ {
			label := sheet.Digits(i*n*rate*sheet.GigabitsPerSecond.Per, 5)
			if i > 0 {
				label += " (" + sheet.Digits(i*n, 4) + ")"
			}
			out = append(out, plot.Tick{Value: i * n * rate, Label: label})
		}

		return out
	})
}
