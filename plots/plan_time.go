// This file draws the phases of a plan over time, and the use of the links by slot.

package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// stepKind describes how the steps of phases of one kind are drawn.
type stepKind struct {
	// kind is the kind of the phase in the plan.
	kind  string
	text  string // description in the legend
	color color.RGBA
}

// stepKinds lists the kinds of phases in the order of the legend. The last one stands for all
// others.
var stepKinds = []stepKind{
	{"scatter", "scatter: sums of pieces", sheet.Orange},
	{"exchange", "exchange: sums, each by itself", sheet.Purple},
	{"fold", "fold: sums to all successors", sheet.Green},
	{"gather", "gather: complete pieces", sheet.Blue},
	{"", "other steps", sheet.Vermillion},
}

// stepKindOf returns the description of a kind.
func stepKindOf(kind string) stepKind {
	last := len(stepKinds) - 1
	for _, k := range stepKinds[:last] {
		if k.kind == kind {
			return k
		}
	}
	return stepKinds[last]
}

// addLegend explains the colours of steps.
func (p *planPicture) addLegend(s *sheet.Sheet) {
	s.AddLegend("reconfiguration", sheet.BoxSample(bandColor))
	if p.LatencyS > 0 {
		s.AddLegend("latency of a step", sheet.BoxSample(sheet.Faint))
	}
	for _, k := range stepKinds {
		if slices.ContainsFunc(p.Phases, func(ph result.SchedulePhase) bool {
			return len(ph.Steps) > 0 && stepKindOf(ph.Kind) == k
		}) {
			s.AddLegend(k.text, sheet.BoxSample(k.color))
		}
	}
}

// timePanel plots the plan over time, to scale, as one row of bars.
func (p *planPicture) timePanel() *plot.Plot {
	q := p.timeTracks().plot()
	sheet.TimeAxis(&q.X, "time", 0, p.EndS, 6)
	q.Y.Width = 0
	sheet.AddHeading(q, "Time")
	return q
}

// timeTracks returns a track with the reconfigurations and, for each step, its latency and its
// transmission. For short steps, both have the same colour.
func (p *planPicture) timeTracks() *trackChart {
	t := &trackChart{count: 1, labelSize: sheet.SmallSize}

	// put appends a bar of the given length in seconds.
	at := 0.0
	put := func(length float64, clr color.RGBA, label string) {
		if length > 0 {
			t.bars = append(t.bars, bar{
				track: 0,
				lo:    at,
				hi:    at + length,
				from:  0,
				to:    1,
				color: clr,
				label: label,
			})
		}

		at += length
	}

	// Each phase has a reconfiguration, unless it reuses a topology, and then its steps.
	for i := range p.Phases {
		ph := &p.Phases[i]
		if !ph.Reused {
			put(p.DelayS, bandColor, sheet.Duration(p.DelayS, 4))
		}

		k := stepKindOf(ph.Kind)
		for _, r := range ph.Steps {
			if p.short(r) {
				put(r.StepS*float64(r.Count), k.color, "")
				continue
			}

			for range r.Count {
				put(min(p.LatencyS, r.StepS), sheet.Faint, "")
				put(r.StepS-min(p.LatencyS, r.StepS), k.color, "")
			}
		}
	}

	return t
}

// short reports whether the steps of r would be narrower than two pixels on the time axis.
func (p *planPicture) short(r result.ScheduleRun) bool {
	return sheet.ContentWidth*vg.Length(r.StepS/p.EndS) < 2*sheet.Pixel
}

// byteText formats bytes with a number of significant digits.
func byteText(bytes int64, digits int) string {
	u := sheet.PrefixedUnit(float64(bytes), "B")
	return sheet.Digits(float64(bytes)*u.Per, digits) + " " + u.Name
}

// bytesPanel plots the size of the longest message of each step. The steps are equally wide.
func (p *planPicture) bytesPanel() *plot.Plot {
	u := sheet.PrefixedUnit(float64(p.MaxBytes), "B")

	// headroom is the factor that leaves space above the bars for numbers.
	const headroom = 1.16
	top := max(float64(p.MaxBytes), 1) * headroom
	q := p.bytesTracks(top).plot(sheet.HorizontalGrid())
	q.X.Label.Text, q.Y.Label.Text = "step", "longest, "+u.Name
	sheet.SetRange(&q.X, 0, float64(max(p.Rounds, 1)))
	q.X.Tick.Marker = stepMarks(p.Rounds)
	q.Y.Tick.Length = q.X.Tick.Length

	// Bars have heights relative to top, so the ticks are scaled by hand.
	for _, tick := range (sheet.Ticker{Unit: u, Count: 4}).Ticks(0, top) {
		q.Y.Tick.Marker = append(q.Y.Tick.Marker.(plot.ConstantTicks), plot.Tick{
			Value: tick.Value / top,
			Label: tick.Label,
		})
	}

	q.Add(sheet.PlotFunc(p.drawSetUps))
	sheet.AddHeading(q, fmt.Sprintf("Bytes of the longest message, step by step: %s in all%s", byteText(p.Bytes, 4), p.lines()))
	return q
}

// stepMarks returns ticks with step numbers at the centres of steps: all numbers of up to
// maxNumbers steps, else about count of them.
func stepMarks(steps int) plot.ConstantTicks {
	const maxNumbers = 16
	step, count := 1, 12

	// Fewer ticks for long numbers.
	switch {
	case steps >= 1e7:
		count = 4
	case steps >= 1e4:
		count = 8
	}

	if steps > maxNumbers {
		step = max(1, int(math.Round(sheet.RoundStep(float64(steps)/float64(count)))))
	}
	var out plot.ConstantTicks
	for s := step; s <= steps; s += step {
		out = append(out, plot.Tick{
			Value: float64(s) - 0.5,
			Label: strconv.Itoa(s),
		})
	}

	return out
}

// bytesTracks returns one bar per step with the height of its bytes relative to top. Steps of
// a run that are too narrow share a bar. The bytes are printed above each bar, or once above a
// run, if they fit.
func (p *planPicture) bytesTracks(top float64) *trackChart {
	t := &trackChart{
		count:       1,
		labelSize:   sheet.NumberSize + 0.5,
		labelsAbove: true,
	}

	// wide is the width of a step in points.
	wide := sheet.ContentWidth / vg.Length(max(p.Rounds, 1))
	// Steps narrower than this many points share a bar.
	const minSeparateWidth = 4
	if wide >= minSeparateWidth {
		t.barGap = min(wide/5, 4)
	}

	at := 0.0
	for i := range p.Phases {
		ph := &p.Phases[i]
		clr := stepKindOf(ph.Kind).color
		for _, r := range ph.Steps {
			// Print the bytes above each step if they fit (each), otherwise once above the run,
			// with a bar of no height.
			high := float64(r.Bytes) / top
			n := r.Count
			text := byteText(r.Bytes, 3)
			end := at + float64(n)
			each := wide >= minSeparateWidth && sheet.Sans(t.labelSize,
				sheet.Ink).Width(text) <= wide-4

			if !each {
				t.bars = append(t.bars, bar{
					track: 0,
					lo:    at,
					hi:    end,
					from:  high,
					to:    high,
					color: clr,
					label: text,
				})

				text = ""
			}

			// Divide the run into n bars of equal width.
			if wide < minSeparateWidth {
				n = 1
			}
			for at < end {
				next := at + (end-at)/float64(n)
				t.bars = append(t.bars,
					bar{
						track: 0,
						lo:    at,
						hi:    next,
						from:  0,
						to:    max(high, 0.005),
						color: clr,
						label: text,
					})

				at, n = next, n-1
			}
		}
	}

	return t
}

// timed reports whether the duration of a slot is known and the end of the plan can be drawn.
// Plans read from files may lack durations.
func (p *planPicture) timed() bool {
	return p.SlotS > 0 && p.EndS >= minPlottedTime && p.EndS <= sheet.DrawableLimit
}

// busyPanel plots the share of links that carry a chunk over time, with reconfigurations to
// scale if their duration is known, otherwise over slots. It returns nil if the plan lacks the
// number of busy links.
func (p *planPicture) busyPanel() *plot.Plot {
	mean := p.share()
	if math.IsNaN(mean) {
		return nil
	}

	// Plot over time if the duration of a slot is known, otherwise over slots.
	q := sheet.NewPlot()
	q.X.Label.Text, q.Y.Label.Text = "slot", "links busy"
	sheet.SetRange(&q.Y, 0, 1)
	q.Y.Tick.Marker = sheet.FixedTicks([]float64{0, 0.5, 1},
		[]string{"0 %", "50 %", "100 %"})
	head := fmt.Sprintf("Links that carry a chunk: %s of all slots%s",
		sheet.Percent(mean), p.lines())

	marks := p.drawSetUps
	if p.timed() {
		head = fmt.Sprintf("Links that carry a chunk, in time: %s of all slots; "+
			"grey are reconfigurations, to scale", sheet.Percent(mean))
		marks = p.drawDelays
		sheet.TimeAxis(&q.X, "time", 0, p.EndS, 10)
	} else {
		sheet.SetRange(&q.X, 0, float64(p.Rounds))
		q.X.Tick.Marker = sheet.Ticker{
			Unit:         sheet.NoUnit,
			Count:        10,
			IntegersOnly: true,
		}
	}

	q.Add(sheet.HorizontalGrid(), p.busyLine(), sheet.PlotFunc(marks))
	sheet.AddHeading(q, head)
	return q
}

// drawDelays draws the reconfigurations to scale.
func (p *planPicture) drawDelays(c draw.Canvas, q *plot.Plot) {
	x, _ := q.Transforms(&c)
	var bars sheet.Bars
	for i, part := range p.Parts {
		if !p.Phases[i].Reused && !p.Intervals && p.DelayS > 0 {
			bars.Add(x(part.FromS-p.DelayS), x(part.FromS), c.Min.Y, c.Max.Y)
		}
	}

	bars.Fill(c, bandColor)
}

// lines explains the vertical lines of drawSetUps, for a heading. It returns "" if there are no
// such lines.
func (p *planPicture) lines() string {
	if len(p.Topologies) > 1 {
		return "; lines are reconfigurations"
	}
	return ""
}

// share returns the mean share of links that carry a chunk over all slots, or NaN if unknown.
func (p *planPicture) share() float64 {
	busy, links := 0, 0
	for i, part := range p.Parts {
		busy = busy + part.Busy
		links = links + len(p.Phases[i].Busy)*len(p.Phases[i].Edges)
	}
	return float64(busy) / float64(links)
}

// busyLine returns the share of busy links as a step function. If slots are narrower than a
// pixel, each pixel shows the mean of its slots.
func (p *planPicture) busyLine() *plotter.Line {
	timed := p.timed()
	// at returns the position of a slot on the x axis, in seconds or slots.
	at := func(phase, slot int) float64 {
		if timed {
			return p.Parts[phase].FromS + float64(slot)*p.SlotS
		}
		return float64(p.Parts[phase].FirstRound + slot)
	}

	line := &plotter.Line{StepStyle: plotter.PostStep, FillColor: sheet.SkyBlue}

	// Slots that share a pixel become one step with their mean; per is their number.
	const pixels = sheet.ContentWidth / sheet.Pixel
	per := max(1, int(math.Ceil(float64(p.Rounds)/float64(pixels))))
	for i := range p.Phases {
		ph := &p.Phases[i]
		for s := 0; s < len(ph.Busy); s += per {
			sum, n := 0, min(per, len(ph.Busy)-s)
			for _, v := range ph.Busy[s : s+n] {
				sum += v
			}
			line.XYs = append(line.XYs, plotter.XY{
				X: at(i, s),
				Y: float64(sum) / float64(n*max(1, len(ph.Edges))),
			})
		}

		// The line is 0 during the following reconfiguration.
		line.XYs = append(line.XYs, plotter.XY{X: at(i,
			max(len(ph.Busy), ph.Slots))})
	}

	return line
}

// drawSetUps draws a line at the first slot or step of each topology except the first. Phases
// that reuse the previous topology have no line.
func (p *planPicture) drawSetUps(c draw.Canvas, q *plot.Plot) {
	// minDistance is in points: closer lines would be indistinguishable.
	const minDistance = 3
	x, _ := q.Transforms(&c)
	last := vg.Length(math.Inf(-1))
	for i, part := range p.Parts {
		if at := x(float64(part.FirstRound)); i > 0 && !p.Phases[i].Reused &&
			at-last >= minDistance {
			sheet.VLine(c, sheet.Line(sheet.Ink, 0.8), at)
			last = at
		}
	}
}
