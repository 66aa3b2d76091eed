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

	"sim/scenarios/result"
)

// stepKind is how steps of a kind look.
type stepKind struct {
	kind, text string
	color      color.Color
}

// stepKinds are what phases of steps do, in the order of the legend; the last
// is any other.
var stepKinds = []stepKind{
	{"scatter", "scatter: sums of pieces", orange},
	{"exchange", "exchange: sums, each by itself", purple},
	{"fold", "fold: sums to all successors", green},
	{"gather", "gather: complete pieces", blue},
	{"", "other steps", vermillion},
}

// stepKindOf is an index into stepKinds.
func stepKindOf(kind string) int {
	i := slices.IndexFunc(stepKinds, func(k stepKind) bool { return k.kind == kind })
	if i < 0 {
		return len(stepKinds) - 1
	}
	return i
}

func (p *stepsPicture) legend() []entry {
	legend := []entry{{"reconfiguration", box(fill{bandColor, 1})}}
	if p.LatencyS > 0 {
		legend = append(legend, entry{"latency of a step", box(fill{faint, 1})})
	}
	has := func(kind int) bool {
		return slices.ContainsFunc(p.Phases, func(ph result.SchedulePhase) bool { return stepKindOf(ph.Kind) == kind && len(ph.Steps) > 0 })
	}
	for i, k := range stepKinds {
		if has(i) {
			legend = append(legend, entry{k.text, box(fill{k.color, 1})})
		}
	}
	return legend
}

// timePanel is the plan in time, to scale.
func (p *stepsPicture) timePanel() panel {
	q := newPlot("", "")
	timeAxis(&q.X, "time", 0, p.end, 6)
	setRange(&q.Y, 0, 1)
	q.Y.Tick.Marker = marks(nil, nil)
	q.Y.Width = 0
	q.Add(plotFunc(p.drawTime))
	return panel{head: "Time", x1: 1, plot: q}
}

// drawTime draws reconfigurations, and of every step its latency and its bytes.
func (p *stepsPicture) drawTime(c draw.Canvas, q *plot.Plot) {
	x, y := q.Transforms(&c)
	lo, hi := y(0), y(1)
	var dark, late bars
	kinds := make([]bars, len(stepKinds))
	at := 0.0
	for i := range p.Phases {
		ph := &p.Phases[i]
		if !ph.Reused {
			if p.DelayS > 0 {
				dark.add(x(at), x(at+p.DelayS), lo, hi)
			}
			at += p.DelayS
		}
		k := stepKindOf(ph.Kind)
		for _, r := range ph.Steps {
			if x(at+r.StepS)-x(at) < 2*pixel { // not to be told apart
				kinds[k].add(x(at), x(at+r.StepS*float64(r.Count)), lo, hi)
				at += r.StepS * float64(r.Count)
				continue
			}
			for s := range r.Count {
				from := at + r.StepS*float64(s)
				mid := min(p.LatencyS, r.StepS)
				if mid > 0 {
					late.add(x(from), x(from+mid), lo, hi)
				}
				if mid < r.StepS {
					kinds[k].add(x(from+mid), x(from+r.StepS), lo, hi)
				}
			}
			at += r.StepS * float64(r.Count)
		}
	}
	late.fill(c, faint)
	for k := range kinds {
		kinds[k].fill(c, stepKinds[k].color)
	}
	dark.fill(c, bandColor)
	p.nameDark(c, x, (lo+hi)/2)
}

// nameDark writes how long links are dark, where there is room.
func (p *stepsPicture) nameDark(c draw.Canvas, x func(float64) vg.Length, y vg.Length) {
	style := aligned(sans(smallSize, legible(bandColor)), draw.XCenter, draw.YCenter)
	text := duration(p.DelayS)
	at := 0.0
	for i := range p.Phases {
		if !p.Phases[i].Reused {
			if x(at+p.DelayS)-x(at) >= style.Width(text)+4 {
				c.FillText(style, point(x(at+p.DelayS/2), y+0.5), text)
			}
			at += p.DelayS
		}
		_, _, timeS := p.Phases[i].Totals()
		at += timeS
	}
}

// bytesPanel is the longest message of every step.
func (p *stepsPicture) bytesPanel() panel {
	u := byteUnit(float64(p.longest))
	q := newPlot("step", "longest, "+u.name)
	setRange(&q.X, 0, float64(max(p.steps, 1)))
	q.X.Tick.Marker = stepMarks(p.steps)
	const room = 1.16 // above the bars, for figures
	setRange(&q.Y, 0, max(float64(p.longest), 1)*room)
	q.Y.Tick.Marker = ticker{unit: u, count: 4}
	q.Add(grid(true, false), plotFunc(p.drawBytes))
	all := byteUnit(float64(p.bytes))
	head := fmt.Sprintf("Bytes of the longest message, step by step: %s %s in all", digits(float64(p.bytes)*all.per, 4), all.name)
	if len(p.used) > 1 {
		head += "; lines are reconfigurations"
	}
	return panel{head: head, x1: 1, plot: q}
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
		step = max(1, int(math.Round(roundStep(float64(steps)/count))))
	}
	for s := step; s <= steps; s += step {
		at, text = append(at, float64(s)-0.5), append(text, strconv.Itoa(s))
	}
	return marks(at, text)
}

// mostNamed bounds the bars of a run that have figures of their own.
const mostNamed = 64

// drawBytes draws a bar a step, those that are too narrow in one, with figures where they fit.
func (p *stepsPicture) drawBytes(c draw.Canvas, q *plot.Plot) {
	x, y := q.Transforms(&c)
	style := aligned(sans(numberSize+0.5, ink), draw.XCenter, draw.YBottom)
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
			c.StrokeLine2(draw.LineStyle{Color: ink, Width: 1}, at, c.Min.Y, at, c.Max.Y)
		}
		var b bars
		for _, r := range ph.Steps {
			x0, x1 := x(float64(first)), x(float64(first+r.Count))
			top := max(y(float64(r.Bytes)), y(0)+pixel)
			if gap == 0 {
				b.add(x0, x1, y(0), top)
			} else {
				for s := range r.Count {
					left := x(float64(first + s))
					b.add(left+gap, left+wide-gap, y(0), top)
				}
			}
			u := byteUnit(float64(r.Bytes))
			text := digits(float64(r.Bytes)*u.per, 3) + " " + u.name
			switch need := style.Width(text) + 2; {
			case need <= wide && r.Count <= mostNamed:
				for s := range r.Count {
					c.FillText(style, point(x(float64(first+s)+0.5), top+2), text)
				}
			case need <= x1-x0:
				c.FillText(style, point((x0+x1)/2, top+2), text)
			}
			first += r.Count
		}
		b.fill(c, stepKinds[stepKindOf(ph.Kind)].color)
	}
}
