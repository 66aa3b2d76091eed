package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// stepKind is how steps of a kind look.
type stepKind struct {
	kind, text string
	color      color.Color
}

// stepKinds are what phases of steps do, in the order of the legend; the last
// is any other.
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

func (p *stepsPicture) legend() []sheet.Entry {
	legend := []sheet.Entry{{Text: "reconfiguration", Sample: sheet.Box(sheet.Fill{Color: bandColor, Height: 1})}}
	if p.LatencyS > 0 {
		legend = append(legend, sheet.Entry{Text: "latency of a step", Sample: sheet.Box(sheet.Fill{Color: sheet.Faint, Height: 1})})
	}
	has := func(kind int) bool {
		return slices.ContainsFunc(p.Phases, func(ph result.SchedulePhase) bool { return stepKindOf(ph.Kind) == kind && len(ph.Steps) > 0 })
	}
	for i, k := range stepKinds {
		if has(i) {
			legend = append(legend, sheet.Entry{Text: k.text, Sample: sheet.Box(sheet.Fill{Color: k.color, Height: 1})})
		}
	}
	return legend
}

// timePanel is the plan in time, to scale.
func (p *stepsPicture) timePanel() sheet.Panel {
	q := sheet.NewPlot("", "")
	sheet.TimeAxis(&q.X, "time", 0, p.end, 6)
	sheet.SetRange(&q.Y, 0, 1)
	q.Y.Tick.Marker = sheet.Marks(nil, nil)
	q.Y.Width = 0
	q.Add(sheet.PlotFunc(p.drawTime))
	return sheet.Panel{Head: "Time", X1: 1, Plot: q}
}

// drawTime draws reconfigurations, and of every step its latency and its bytes.
func (p *stepsPicture) drawTime(c draw.Canvas, q *plot.Plot) {
	x, y := q.Transforms(&c)
	lo, hi := y(0), y(1)
	var dark, late sheet.Bars
	kinds := make([]sheet.Bars, len(stepKinds))
	at := 0.0
	for i := range p.Phases {
		ph := &p.Phases[i]
		if !ph.Reused {
			if p.DelayS > 0 {
				dark.Add(x(at), x(at+p.DelayS), lo, hi)
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
	p.nameDark(c, x, (lo+hi)/2)
}

// nameDark writes how long links are dark, where there is room.
func (p *stepsPicture) nameDark(c draw.Canvas, x func(float64) vg.Length, y vg.Length) {
	style := sheet.Aligned(sheet.Sans(sheet.SmallSize, sheet.Legible(bandColor)), draw.XCenter, draw.YCenter)
	text := sheet.Duration(p.DelayS)
	at := 0.0
	for i := range p.Phases {
		if !p.Phases[i].Reused {
			if x(at+p.DelayS)-x(at) >= style.Width(text)+4 {
				c.FillText(style, sheet.Point(x(at+p.DelayS/2), y+0.5), text)
			}
			at += p.DelayS
		}
		_, _, timeS := p.Phases[i].Totals()
		at += timeS
	}
}

// bytesPanel is the longest message of every step.
func (p *stepsPicture) bytesPanel() sheet.Panel {
	u := byteUnit(float64(p.longest))
	q := sheet.NewPlot("step", "longest, "+u.Name)
	sheet.SetRange(&q.X, 0, float64(max(p.steps, 1)))
	q.X.Tick.Marker = stepMarks(p.steps)
	const room = 1.16 // above the bars, for figures
	sheet.SetRange(&q.Y, 0, max(float64(p.longest), 1)*room)
	q.Y.Tick.Marker = sheet.Ticker{Unit: u, Count: 4}
	q.Add(sheet.Grid(true, false), sheet.PlotFunc(p.drawBytes))
	all := byteUnit(float64(p.bytes))
	head := fmt.Sprintf("Bytes of the longest message, step by step: %s %s in all", sheet.Digits(float64(p.bytes)*all.Per, 4), all.Name)
	if len(p.used) > 1 {
		head += "; lines are reconfigurations"
	}
	return sheet.Panel{Head: head, X1: 1, Plot: q}
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
func (p *stepsPicture) drawBytes(c draw.Canvas, q *plot.Plot) {
	x, y := q.Transforms(&c)
	style := sheet.Aligned(sheet.Sans(sheet.NumberSize+0.5, sheet.Ink), draw.XCenter, draw.YBottom)
	wide := x(1) - x(0)
	gap := vg.Length(0)
	if wide >= 4 {
		gap = min(wide/10, 2)
	}
	first := 0
	for i := range p.Phases {
		ph := &p.Phases[i]
		if i > 0 && !ph.Reused {
			at := x(float64(first))
			c.StrokeLine2(draw.LineStyle{Color: sheet.Ink, Width: 1}, at, c.Min.Y, at, c.Max.Y)
		}
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
			u := byteUnit(float64(r.Bytes))
			text := sheet.Digits(float64(r.Bytes)*u.Per, 3) + " " + u.Name
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
