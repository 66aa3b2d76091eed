package plots

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"

	"sim/scenarios/result"
)

// traceFigures shows who works when: the play on the ideal fabric and that of
// the policy with the least makespan.
func traceFigures(doc *result.Document, d *result.Detail) []Figure {
	var out []Figure
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
		if f, ok := traceFigure(best, d.Title, "trace-"+fileName(best.Policy), title); ok {
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

func traceFigure(p *result.Play, subtitle, name, title string) (Figure, bool) {
	if !hasSpans(p) {
		return Figure{}, false
	}
	lanes := p.Lanes[:min(len(p.Lanes), lanesShown)]
	s := sheet{title: title, subtitle: subtitle, legend: kindLegend(lanes)}
	if len(p.Lanes) > len(lanes) {
		s.notes = append(s.notes, fmt.Sprintf("The first %d of %d stages are shown.", len(lanes), len(p.Lanes)))
	}
	end := max(p.MakespanS, lastEnd(lanes))
	labels := groupWidth(lanes)
	lane := min(max(laneLeast, lanesPerPanel/vg.Length(len(lanes))), laneMost)
	height := lane*vg.Length(len(lanes)) + panelFrame
	z := zoom(lanes, end)
	whole := fmt.Sprintf("The whole iteration: %s", duration(p.MakespanS))
	s.notes = append(s.notes, "Numbers count micro-batches. Thin bars are what the stage sends to other pods.")
	if z == nil {
		s.panels = []panel{{head: whole, x1: 1, y1: 1, right: labels, plot: lanePlot(lanes, 0, end, 10, p.MakespanS, true)}}
		return s.figure(name, max(height+traceFrame, 3*vg.Inch)), true
	}
	s.panels = []panel{
		{head: whole, x1: 1, y1: 0.5, right: labels, plot: lanePlot(lanes, 0, end, 10, p.MakespanS, true)},
		{head: "Start of the iteration", x1: 0.5, y0: 0.5, y1: 1, plot: lanePlot(lanes, z.start[0], z.start[1], 5, p.MakespanS, false)},
		{head: "End of the iteration", x0: 0.5, x1: 1, y0: 0.5, y1: 1, right: labels, plot: lanePlot(lanes, z.end[0], z.end[1], 4, p.MakespanS, true)},
	}
	return s.figure(name, 2*height+traceFrame), true
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
