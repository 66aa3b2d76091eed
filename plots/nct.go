package plots

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// nctBar is a policy's bar.
type nctBar struct {
	policy   string
	value    float64
	bound    float64 // the least NCT that its bound on the makespan allows
	defined  bool
	hasBound bool
}

// nctFigure shows the normalised communication time of each policy. Bars grow
// from 1, the ideal fabric, so that their lengths may be compared although the
// axis does not begin at 0. Of several jobs it shows the objective, a mean or
// the largest of their NCT.
func nctFigure(doc *result.Document, d *result.Detail) []sheet.Figure {
	s := sheet.Sheet{
		Title:    "Normalised communication time (NCT) by policy",
		Subtitle: d.Title,
	}
	metric, lowest, axis := "nct", "lowest NCT", "NCT (1 = ideal fabric)"
	words := "NCT is the communication time that computing does not hide, over that on the ideal fabric."
	if objective(doc) {
		metric, lowest, axis = "objective", "best", "objective (1 = ideal fabric)"
		s.Title = "Objective over all jobs by policy"
		words = "The objective is the " + doc.Rows[0].Labels["objective"] + "."
	}
	var all []nctBar
	some := false
	var models []model
	for _, r := range doc.Rows {
		b := nctBar{policy: r.Policy}
		b.value, b.defined = r.Metrics[metric]
		if b.defined {
			if b.bound, b.hasBound = nctBound(doc, &r); b.hasBound {
				models = addModel(models, r.Policy, r.Labels["gap_model"])
			}
		}
		if why := r.Labels[metric]; !b.defined && why != "" {
			s.Notes = append(s.Notes, r.Policy+" has no NCT: "+why)
		}
		some = some || b.defined
		all = append(all, b)
	}
	const notesShown = 2 // more would leave no room for the bars
	if len(s.Notes) > notesShown {
		s.Notes = append(s.Notes[:notesShown], fmt.Sprintf("... and so on for %d more", len(s.Notes)-notesShown))
	}
	if !some && len(s.Notes) == 0 {
		return nil
	}
	lo, hi := nctRange(all)
	p := sheet.NewPlot("", axis)
	sheet.SetRange(&p.X, -0.5, float64(len(all))-0.5)
	p.X.Tick.Marker = plot.ConstantTicks{}
	sheet.SetRange(&p.Y, lo, hi)
	p.Y.Tick.Marker = sheet.Ticker{Unit: sheet.Unit{Name: "", Per: 1}, Count: 6, Whole: false}
	names := newNameRow(all)
	best := doc.Best(metric)
	p.Add(sheet.Grid(true, false), sheet.PlotFunc(func(c draw.Canvas, p *plot.Plot) { drawNCT(c, p, all, best) }), sheet.PlotFunc(names.draw))
	s.Panels = []sheet.Panel{{X1: 1, Y1: 1, Below: names.depth, Plot: p}}
	s.Legend = nctLegend(all, lowest, best >= 0)
	if note := boundNote(models); note != "" {
		s.Notes = append([]string{note}, s.Notes...)
	}
	s.Notes = append([]string{words + " Bars start at 1, not at 0: their length is what a policy adds."}, s.Notes...)
	return []sheet.Figure{s.Figure("nct", nctHeight+names.depth+sheet.NoteSize*sheet.LineSpacing*vg.Length(len(s.Notes)))}
}

// model is what lower bounds hold for, and whose they are.
type model struct {
	name     string
	policies []string
}

func addModel(models []model, policy, name string) []model {
	at := slices.IndexFunc(models, func(m model) bool { return m.name == name })
	if at < 0 {
		at = len(models)
		models = append(models, model{name: name})
	}
	models[at].policies = append(models[at].policies, policy)
	return models
}

// boundNote says what the lower bounds hold for: what most policies have, and who has another.
func boundNote(models []model) string {
	models = slices.DeleteFunc(models, func(m model) bool { return m.name == "" })
	if len(models) == 0 {
		return ""
	}
	slices.SortStableFunc(models, func(a, b model) int { return len(b.policies) - len(a.policies) })
	note := "No policy is below its lower bound, which holds for " + models[0].name
	for _, m := range models[1:] {
		note += "; that of " + strings.Join(m.policies, ", ") + " for " + m.name
	}
	return note + "."
}

// objective reports whether policies are compared by an objective over several
// jobs.
func objective(doc *result.Document) bool {
	if len(doc.Rows) == 0 {
		return false
	}
	_, ok := doc.Rows[0].Metrics["objective"]
	return ok
}

// nctHeight is without the names and notes, which vary.
const nctHeight = 4.5 * vg.Inch

func nctLegend(all []nctBar, lowest string, best bool) []sheet.Entry {
	var legend []sheet.Entry
	if best {
		legend = append(legend, sheet.Entry{Text: lowest, Sample: sheet.Box(sheet.Fill{Color: sheet.Vermillion, Height: 1})})
	}
	if len(all) > 1 {
		legend = append(legend, sheet.Entry{Text: "other policies", Sample: sheet.Box(sheet.Fill{Color: sheet.SkyBlue, Height: 1})})
	}
	legend = append(legend, sheet.Entry{Text: "ideal non-blocking fabric", Sample: sheet.Stroke(idealLine)})
	for _, b := range all {
		if b.hasBound {
			return append(legend, sheet.Entry{Text: "lower bound", Sample: func(c draw.Canvas, lo, hi vg.Point) { markBound(c, lo.X, hi.X, (lo.Y+hi.Y)/2) }})
		}
	}
	return legend
}

var (
	idealLine = draw.LineStyle{Color: sheet.Black, Width: 1.2, Dashes: []vg.Length{6, 3}}
	boundLine = draw.LineStyle{Color: sheet.Black, Width: 2.2}
)

// markBound draws a bound: a line with ends, unlike the ideal's.
func markBound(c draw.Canvas, x0, x1, y vg.Length) {
	const end = 4
	c.StrokeLines(boundLine, []vg.Point{sheet.Point(x0, y), sheet.Point(x1, y)},
		[]vg.Point{sheet.Point(x0, y-end), sheet.Point(x0, y+end)}, []vg.Point{sheet.Point(x1, y-end), sheet.Point(x1, y+end)})
}

// nctBound is the bound on a row's makespan as NCT, or on the objective.
func nctBound(doc *result.Document, r *result.Row) (float64, bool) {
	if v, ok := r.Metrics["bound_objective"]; ok {
		return v, math.Abs(v) <= sheet.DrawableLimit
	}
	ideal, ok1 := doc.Reference["makespan_s"]
	compute, ok2 := doc.Reference["compute_makespan_s"]
	bound, ok3 := r.Metrics["bound_makespan_s"]
	if !ok1 || !ok2 || !ok3 || ideal <= compute {
		return 0, false
	}
	v := (bound - compute) / (ideal - compute)
	return v, math.Abs(v) <= sheet.DrawableLimit
}

// nctRange is the axis: 1 and all values, with room for labels.
func nctRange(all []nctBar) (lo, hi float64) {
	lo, hi = 1, 1
	for _, b := range all {
		if b.defined {
			lo, hi = min(lo, b.value), max(hi, b.value)
		}
	}
	const least = 0.02 // below that every policy is as good as ideal, and should look so
	room := max(hi-lo, least)
	if lo < 1 {
		lo -= 0.12 * room
	} else {
		lo -= 0.03 * room // the line at 1 stays off the axis
	}
	return lo, max(hi, 1+least/2) + 0.15*room
}

// drawNCT draws bars, bounds, the ideal's line and the values.
func drawNCT(c draw.Canvas, p *plot.Plot, all []nctBar, best int) {
	x, y := p.Transforms(&c)
	slot := (c.Max.X - c.Min.X) / vg.Length(len(all))
	half := min(slot*0.32, 30)
	label := sheet.Aligned(sheet.Sans(sheet.LabelSize, sheet.Ink), draw.XCenter, draw.YBottom)
	decimals := nctDecimals(all)
	if upright := label.Width("0.") + label.Width("0")*vg.Length(decimals); upright > slot {
		label = sheet.Aligned(sheet.Sans(min(sheet.SmallSize, slot*0.9), sheet.Ink), draw.XLeft, draw.YCenter)
		label.Rotation = math.Pi / 2
	}
	for i, b := range all {
		mid := x(float64(i))
		top := y(1)
		if b.defined {
			top = y(b.value)
			var r sheet.Bars
			r.Add(mid-half, mid+half, min(top, y(1)), max(top, y(1)+1)) // at least a point
			color := sheet.SkyBlue
			if i == best {
				color = sheet.Vermillion
			}
			r.Fill(c, color)
		}
		if at := y(b.bound); b.hasBound && at >= c.Min.Y && at <= c.Max.Y {
			markBound(c, mid-half-3, mid+half+3, at)
			top = max(top, at)
		}
		text := "undefined"
		if b.defined {
			text = strconv.FormatFloat(b.value, 'f', decimals, 64)
			if math.Abs(b.value) >= 1e6 {
				text = sheet.Digits(b.value, 3)
			}
		}
		style := label
		if i == best { // its bar may be too short to see
			style.Color = sheet.Vermillion
			style.Font = sheet.Bold(style.Font.Size, sheet.Ink).Font
		}
		c.FillText(style, sheet.Point(mid, max(top, y(1))+5), text)
	}
	c.StrokeLine2(idealLine, c.Min.X, y(1), c.Max.X, y(1))
}

// nctDecimals is how many decimals tell the values apart: three, or more when
// they lie close to each other.
func nctDecimals(all []nctBar) int {
	spread := 0.0
	for _, b := range all {
		if b.defined {
			spread = max(spread, math.Abs(b.value-1))
		}
	}
	if spread > 0 && spread < 0.01 {
		return 5
	}
	return 3
}
