package plots

import (
	"fmt"
	"slices"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot/vg"
)

// traceFigures shows who works when: the play on the ideal fabric and that of
// the policy with the least makespan.
func traceFigures(doc *result.Document, d *result.Detail) []sheet.Figure {
	var out []sheet.Figure
	if f, ok := traceFigure(&d.Reference, d.Title, "trace-reference", "Execution trace on the ideal fabric"); ok {
		out = append(out, f)
	}
	if best := fastest(doc, d, func(p *result.Play) bool { return hasSpans(p) }); best != nil {
		title := "Execution trace under " + best.Policy
		if len(d.Policies) > 1 {
			word := "fastest"
			if objective(doc) {
				word = "best"
			}
			title += ", the " + word + " policy"
		}
		if f, ok := traceFigure(best, d.Title, "trace-"+sheet.FileName(best.Policy), title); ok {
			out = append(out, f)
		}
	}
	return out
}

// fastest returns the play of least makespan among those wanted, as the
// document ranks them, nil when there is none.
func fastest(doc *result.Document, d *result.Detail, wanted func(*result.Play) bool) *result.Play {
	i := doc.Best("makespan_s")
	if i < 0 {
		i = doc.Best("objective") // of several jobs
	}
	if i >= 0 {
		if p := d.Play(doc.Rows[i].Policy); p != nil && wanted(p) {
			return p
		}
	}
	var best *result.Play
	for i := range d.Policies {
		if p := &d.Policies[i]; wanted(p) && (best == nil || p.MakespanS < best.MakespanS) {
			best = p
		}
	}
	return best
}

func hasSpans(p *result.Play) bool {
	return slices.ContainsFunc(p.Lanes, func(l result.Lane) bool { return len(l.Spans) > 0 })
}

// Heights of a trace's parts in points.
const (
	lanesShown    = 24 // more cannot be read; the note says how many there are
	laneLeast     = 14 // of a lane among many
	laneMost      = 40 // of a lane among few
	traceFrame    = 112
	panelFrame    = 58 // heading, axis
	lanesPerPanel = 220
)

func traceFigure(p *result.Play, subtitle, name, title string) (sheet.Figure, bool) {
	if !hasSpans(p) {
		return sheet.Figure{}, false
	}
	lanes := p.Lanes[:min(len(p.Lanes), lanesShown)]
	s := sheet.Sheet{Title: title, Subtitle: subtitle, Legend: kindLegend(lanes)}
	if len(p.Lanes) > len(lanes) {
		s.Notes = append(s.Notes, fmt.Sprintf("The first %d of %d stages are shown.", len(lanes), len(p.Lanes)))
	}
	end := max(p.MakespanS, lastEnd(lanes))
	labels := groupWidth(lanes)
	lane := min(max(laneLeast, lanesPerPanel/vg.Length(len(lanes))), laneMost)
	height := lane*vg.Length(len(lanes)) + panelFrame
	z := zoom(lanes, end)
	whole := fmt.Sprintf("The whole iteration: %s", sheet.Duration(p.MakespanS))
	s.Notes = append(s.Notes, "Numbers count micro-batches. Thin bars are what the stage sends to other pods.")
	if z == nil {
		s.Panels = []sheet.Panel{{Head: whole, X1: 1, Y1: 1, Right: labels, Plot: lanePlot(lanes, 0, end, 10, p.MakespanS, true)}}
		return s.Figure(name, max(height+traceFrame, 3*vg.Inch)), true
	}
	s.Panels = []sheet.Panel{
		{Head: whole, X1: 1, Y1: 0.5, Right: labels, Plot: lanePlot(lanes, 0, end, 10, p.MakespanS, true)},
		{Head: "Start of the iteration", X1: 0.5, Y0: 0.5, Y1: 1, Plot: lanePlot(lanes, z.start[0], z.start[1], 5, p.MakespanS, false)},
		{Head: "End of the iteration", X0: 0.5, X1: 1, Y0: 0.5, Y1: 1, Right: labels, Plot: lanePlot(lanes, z.end[0], z.end[1], 4, p.MakespanS, true)},
	}
	return s.Figure(name, 2*height+traceFrame), true
}

func lastEnd(lanes []result.Lane) float64 {
	end := 0.0
	for _, l := range lanes {
		for _, s := range l.Spans {
			end = max(end, s.EndS)
		}
	}
	return end
}

// zooms are two windows of time, in seconds.
type zooms struct{ start, end [2]float64 }

// zoom returns windows at both ends of a trace in which a piece of work has
// room for its number; nil where the whole trace gives it that room.
func zoom(lanes []result.Lane, end float64) *zooms {
	work := shortWork(lanes)
	const (
		wholeWorks = 60 // pieces of work side by side on the whole width of a figure
		zoomWorks  = 30 // and on half of it
		before     = 0.6
	)
	if work <= 0 || end <= wholeWorks*work {
		return nil
	}
	width := min(zoomWorks*work, end/2)
	lastWork := 0.0
	for _, l := range lanes {
		for _, s := range l.Spans {
			if !kindOf(s.Kind).transfer {
				lastWork = max(lastWork, s.EndS)
			}
		}
	}
	from := max(0, min(end-width, lastWork-before*width)) // some work is seen before the transfers at the end
	return &zooms{[2]float64{0, width}, [2]float64{from, end}}
}

// shortWork is the median duration of the shortest kind of work, 0 when there
// is none.
func shortWork(lanes []result.Lane) float64 {
	byKind := map[string][]float64{}
	for _, l := range lanes {
		for _, s := range l.Spans {
			if d := s.EndS - s.StartS; !kindOf(s.Kind).transfer && d > 0 {
				byKind[s.Kind] = append(byKind[s.Kind], d)
			}
		}
	}
	least := 0.0
	for _, ds := range byKind { // in any order: it takes the least
		slices.Sort(ds)
		if m := ds[len(ds)/2]; least == 0 || m < least {
			least = m
		}
	}
	return least
}
