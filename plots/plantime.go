package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// stepKind is how steps of a kind look.
type stepKind struct {
	kind, text string
	color      color.Color
}

// stepKinds are what phases of steps do, in the order of the legend; the last is any other.
var stepKinds = []stepKind{
	{"scatter", "scatter: sums of pieces", sheet.Orange},
	{"exchange", "exchange: sums, each by itself", sheet.Purple},
	{"fold", "fold: sums to all successors", sheet.Green},
	{"gather", "gather: complete pieces", sheet.Blue},
	{"", "other steps", sheet.Vermillion},
}

// stepKindOf is an index into stepKinds.
func stepKindOf(kind string) int {
	i := slices.IndexFunc(stepKinds, func(k stepKind) bool { return k.kind == kind })
	if i < 0 {
		return len(stepKinds) - 1
	}
	return i
}

func (p *planPicture) legend() []sheet.Entry {
	legend := []sheet.Entry{{Text: "reconfiguration", Sample: sheet.Box(bandColor, 1)}}
	if p.LatencyS > 0 {
		legend = append(legend, sheet.Entry{Text: "latency of a step", Sample: sheet.Box(sheet.Faint, 1)})
	}
	has := func(kind int) bool {
		return slices.ContainsFunc(p.Phases, func(ph result.SchedulePhase) bool { return stepKindOf(ph.Kind) == kind && len(ph.Steps) > 0 })
	}
	for i, k := range stepKinds {
		if has(i) {
			legend = append(legend, sheet.Entry{Text: k.text, Sample: sheet.Box(k.color, 1)})
		}
	}
	return legend
}

// timePanel is the plan in time, to scale.
func (p *planPicture) timePanel() *plot.Plot {
	q := sheet.NewPlot("", "")
	sheet.TimeAxis(&q.X, "time", 0, p.end, 6)
	sheet.SetRange(&q.Y, 0, 1)
	q.Y.Tick.Marker = sheet.Marks(nil, nil)
	q.Y.Width = 0
	q.Add(sheet.PlotFunc(p.drawTime))
	sheet.Head(q, "Time")
	return q
}

// drawTime draws reconfigurations, and of every step its latency and its bytes.
func (p *planPicture) drawTime(c draw.Canvas, q *plot.Plot) {
	x, y := q.Transforms(&c)
	lo, hi := y(0), y(1)
	var dark, late sheet.Bars
	var darkFrom []float64
	kinds := make([]sheet.Bars, len(stepKinds))
	at := 0.0
	for i := range p.Phases {
		ph := &p.Phases[i]
		if !ph.Reused {
			if p.DelayS > 0 {
				dark.Add(x(at), x(at+p.DelayS), lo, hi)
				darkFrom = append(darkFrom, at)
			}
			at += p.DelayS
		}
		k := stepKindOf(ph.Kind)
		for _, r := range ph.Steps {
			if x(at+r.StepS)-x(at) < 2*sheet.Pixel { // not to be told apart
				kinds[k].Add(x(at), x(at+r.StepS*float64(r.Count)), lo, hi)
				at += r.StepS * float64(r.Count)
				continue
			}
			for s := range r.Count {
				from := at + r.StepS*float64(s)
				mid := min(p.LatencyS, r.StepS)
				if mid > 0 {
					late.Add(x(from), x(from+mid), lo, hi)
				}
				if mid < r.StepS {
					kinds[k].Add(x(from+mid), x(from+r.StepS), lo, hi)
				}
			}
			at += r.StepS * float64(r.Count)
		}
	}
	late.Fill(c, sheet.Faint)
	for k := range kinds {
		kinds[k].Fill(c, stepKinds[k].color)
	}
	dark.Fill(c, bandColor)
	style := sheet.Aligned(sheet.Sans(sheet.SmallSize, sheet.Legible(bandColor)), draw.XCenter, draw.YCenter)
	if text := sheet.Duration(p.DelayS); x(p.DelayS)-x(0) >= style.Width(text)+4 {
		for _, from := range darkFrom { // where there is room
			c.FillText(style, sheet.Point(x(from+p.DelayS/2), (lo+hi)/2+0.5), text)
		}
	}
}

// merged reports whether the strip of time has steps that cannot be told apart; its width is about that of the sheet.
func (p *planPicture) merged() bool {
	return slices.ContainsFunc(p.Phases, func(ph result.SchedulePhase) bool {
		return slices.ContainsFunc(ph.Steps, func(r result.ScheduleRun) bool { return sheet.Inside*vg.Length(r.StepS/p.end) < 2*sheet.Pixel })
	})
}

// byteText words bytes with so many digits.
func byteText(bytes int64, digits int) string {
	u := sheet.Thousands(float64(bytes), "B")
	return sheet.Digits(float64(bytes)*u.Per, digits) + " " + u.Name
}

// bytesPanel is the longest message of every step.
func (p *planPicture) bytesPanel() *plot.Plot {
	u := sheet.Thousands(float64(p.longest), "B")
	q := sheet.NewPlot("step", "longest, "+u.Name)
	sheet.SetRange(&q.X, 0, float64(max(p.total, 1)))
	q.X.Tick.Marker = stepMarks(p.total)
	const room = 1.16 // above the bars, for figures
	sheet.SetRange(&q.Y, 0, max(float64(p.longest), 1)*room)
	q.Y.Tick.Marker = sheet.Ticker{Unit: u, Count: 4}
	q.Add(sheet.Grid(true, false), sheet.PlotFunc(p.drawBytes))
	sheet.Head(q, fmt.Sprintf("Bytes of the longest message, step by step: %s in all%s", byteText(p.bytes, 4), p.lines()))
	return q
}

// stepMarks number steps below their middles.
func stepMarks(steps int) plot.ConstantTicks {
	var at []float64
	var text []string
	step, count := 1, 12.0
	switch { // long numbers need room
	case steps >= 1e7:
		count = 4
	case steps >= 1e4:
		count = 8
	}
	if steps > 16 {
		step = max(1, int(math.Round(sheet.RoundStep(float64(steps)/count))))
	}
	for s := step; s <= steps; s += step {
		at, text = append(at, float64(s)-0.5), append(text, strconv.Itoa(s))
	}
	return sheet.Marks(at, text)
}

// mostNamed bounds the bars of a run that have figures of their own.
const mostNamed = 64

// drawBytes draws a bar a step, those that are too narrow in one, with figures where they fit.
func (p *planPicture) drawBytes(c draw.Canvas, q *plot.Plot) {
	x, y := q.Transforms(&c)
	style := sheet.Aligned(sheet.Sans(sheet.NumberSize+0.5, sheet.Ink), draw.XCenter, draw.YBottom)
	wide := x(1) - x(0)
	gap := vg.Length(0)
	if wide >= 4 {
		gap = min(wide/10, 2)
	}
	p.drawSetUps(c, x)
	first := 0
	for i := range p.Phases {
		ph := &p.Phases[i]
		var b sheet.Bars
		for _, r := range ph.Steps {
			x0, x1 := x(float64(first)), x(float64(first+r.Count))
			top := max(y(float64(r.Bytes)), y(0)+sheet.Pixel)
			if gap == 0 {
				b.Add(x0, x1, y(0), top)
			} else {
				for s := range r.Count {
					left := x(float64(first + s))
					b.Add(left+gap, left+wide-gap, y(0), top)
				}
			}
			text := byteText(r.Bytes, 3)
			switch need := style.Width(text) + 2; {
			case need <= wide && r.Count <= mostNamed:
				for s := range r.Count {
					c.FillText(style, sheet.Point(x(float64(first+s)+0.5), top+2), text)
				}
			case need <= x1-x0:
				c.FillText(style, sheet.Point((x0+x1)/2, top+2), text)
			}
			first += r.Count
		}
		b.Fill(c, stepKinds[stepKindOf(ph.Kind)].color)
	}
}

// busyPanel is how many of the links carry a chunk in each slot; nil where the plan does not say.
func (p *planPicture) busyPanel() *plot.Plot {
	mean := p.share()
	if math.IsNaN(mean) {
		return nil
	}
	q := sheet.NewPlot("slot", "links busy")
	sheet.SetRange(&q.X, 0, float64(p.total))
	q.X.Tick.Marker = sheet.Ticker{Unit: sheet.Plainly, Count: 10, Whole: true}
	sheet.SetRange(&q.Y, 0, 1)
	q.Y.Tick.Marker = sheet.Marks([]float64{0, 0.5, 1}, []string{"0 %", "50 %", "100 %"})
	q.Add(sheet.Grid(true, false), sheet.PlotFunc(p.drawBusy))
	sheet.Head(q, fmt.Sprintf("Links that carry a chunk: %s of all slots%s", sheet.Percent(mean), p.lines()))
	return q
}

// lines explains the lines of a panel over rounds.
func (p *planPicture) lines() string {
	if len(p.set) > 1 {
		return "; lines are reconfigurations"
	}
	return ""
}

// share is the mean of how many links carry a chunk, over all slots.
func (p *planPicture) share() float64 {
	busy, links := 0.0, 0.0
	for i := range p.Phases {
		for _, b := range p.Phases[i].Busy {
			busy += float64(b)
			links += float64(len(p.Phases[i].Edges))
		}
	}
	if links == 0 {
		return math.NaN()
	}
	return busy / links
}

// drawBusy fills each slot up to its share, or where slots are narrower than a dot, each dot up to the mean of its
// slots.
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
	p.drawSetUps(c, x)
}

// drawSetUps draws a line at the first round of each topology but the first.
func (p *planPicture) drawSetUps(c draw.Canvas, x func(float64) vg.Length) {
	const apart = 3 // points, of lines that can be told apart
	last := vg.Length(math.Inf(-1))
	for i, s := range p.start {
		if at := x(float64(s)); i > 0 && !p.Phases[i].Reused && at-last >= apart {
			c.StrokeLine2(draw.LineStyle{Color: sheet.Ink, Width: 0.8}, at, c.Min.Y, at, c.Max.Y)
			last = at
		}
	}
}
