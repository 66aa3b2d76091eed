package plots

import (
	"fmt"
	"slices"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// replayed is a policy's replays.
type replayed struct {
	policy  string
	nct     []float64 // of the plays that ended, in ascending order
	plays   int
	planned float64 // the NCT of the plan, where hasPlan
	hasPlan bool
}

// replayFigure shows how the NCT of each policy is distributed over its
// replays. Plays that never end count as infinitely slow: such a policy's line
// ends below 100 %.
func replayFigure(doc *result.Document, d *result.Detail) []sheet.Figure {
	var all []replayed
	lo, hi, stalls := 1.0, 1.0, false
	for _, r := range doc.Rows {
		if len(r.Samples["nct"]) == 0 {
			continue
		}
		p := replayed{policy: r.Policy, nct: slices.Sorted(slices.Values(r.Samples["nct"]))}
		p.plays = max(len(p.nct), int(r.Metrics["replay_plays"]))
		p.planned, p.hasPlan = r.Metrics["nct"]
		lo, hi, stalls = min(lo, p.nct[0]), max(hi, p.nct[len(p.nct)-1]), stalls || r.Metrics["replay_stalled"] > 0
		if p.hasPlan {
			lo, hi = min(lo, p.planned), max(hi, p.planned)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil
	}
	s := sheet.Sheet{Title: "NCT over replays, by policy", Subtitle: d.Title}
	s.Notes = []string{"A line's height is the share of plays with at most that NCT; a dot is the NCT of the plan. Each play is held against the ideal fabric under the same compute times."}
	if stalls {
		s.Notes = append(s.Notes, "Plays in which pods lose their last circuit never end: the line of such a policy stays below 100 %.")
	}
	if len(all) > len(sheet.LineStyles) {
		s.Notes = append(s.Notes, fmt.Sprintf("The first %d of %d policies are shown.", len(sheet.LineStyles), len(all)))
		all = all[:len(sheet.LineStyles)]
	}
	for i, r := range all {
		s.Legend = append(s.Legend, sheet.Entry{Text: r.policy, Sample: sheet.Stroke(sheet.LineStyles[i])})
	}
	const leastRoom = 0.01 // of NCT: plays that are all alike should look so
	room := max(hi-lo, leastRoom) * 0.03
	p := sheet.NewPlot("NCT (1 = ideal fabric)", "plays, %")
	sheet.SetRange(&p.X, lo-room, hi+room)
	p.X.Tick.Marker = sheet.Ticker{Unit: sheet.Unit{Name: "", Per: 1}, Count: 10, Whole: false}
	sheet.SetRange(&p.Y, 0, 1.02)
	p.Y.Tick.Marker = sheet.Ticker{Unit: sheet.Unit{Name: "%", Per: 100}, Count: 5, Whole: false}
	p.Add(sheet.Grid(true, true), sheet.PlotFunc(func(c draw.Canvas, p *plot.Plot) {
		x, y := p.Transforms(&c)
		c.StrokeLine2(idealLine, x(1), c.Min.Y, x(1), c.Max.Y)
		for i := range all {
			all[i].draw(c, sheet.LineStyles[i], p.X.Max, x, y)
		}
	}))
	s.Panels = []sheet.Panel{{X1: 1, Y1: 1, Plot: p}}
	return []sheet.Figure{s.Figure("replay", 4.8*vg.Inch)}
}

// share is the fraction of all plays whose NCT is at most v.
func (r *replayed) share(v float64) float64 {
	n, _ := slices.BinarySearchFunc(r.nct, v, func(a, v float64) int {
		if a <= v {
			return -1
		}
		return 1
	})
	return float64(n) / float64(r.plays)
}

// draw draws the cumulative distribution, up to the axis's end where it stays
// below 100 %, and the dot of the plan.
func (r *replayed) draw(c draw.Canvas, style draw.LineStyle, end float64, x, y func(float64) vg.Length) {
	line := []vg.Point{sheet.Point(x(r.nct[0]), y(0))}
	at := 0.0
	for i, v := range r.nct {
		line = append(line, sheet.Point(x(v), y(at)))
		at = float64(i+1) / float64(r.plays)
		line = append(line, sheet.Point(x(v), y(at)))
	}
	if at < 1 {
		line = append(line, sheet.Point(x(end), y(at)))
	}
	c.StrokeLines(style, sheet.Thin(line))
	if r.hasPlan {
		dot := draw.GlyphStyle{Color: style.Color, Radius: 4, Shape: draw.CircleGlyph{}}
		c.DrawGlyph(dot, sheet.Point(x(r.planned), y(r.share(r.planned))))
	}
}
