// This file draws timelines: the work and the transfers of each stage over an
// iteration.

package plots

import (
	"image/color"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// SpanKind describes how spans of a kind are drawn.
type SpanKind struct {
	// Name is the kind of the spans in the data.
	Name  string
	Text  string     // description in legends
	Color color.RGBA // colour of the bars
	// Row is 0 for work. Transfers are thin bars below the work, in rows numbered from 1.
	Row int
}

// SpanKinds returns the kinds of spans with their own colour, in the order of legends. All
// other kinds are drawn as work, in grey.
func SpanKinds() []SpanKind { return slices.Clone(spanKinds) }

// spanKinds lists the kinds of training, followed by the kinds of fleets.
var spanKinds = []SpanKind{
	{"forward", "forward pass", sheet.SkyBlue, 0},
	{"backward", "backward pass", sheet.Vermillion, 0},
	{"pp-forward", "activations to the next stage", sheet.Blue, 1},
	{"pp-backward", "gradients to the stage before", sheet.Purple, 2},
	{"dp", "gradient synchronisation", sheet.Green, 3},
	{"part of a cube", "part of a cube", sheet.BlueTint, 0},
	{"one cube", "one cube", sheet.SkyBlue, 0},
	{"2 to 4 cubes", "2 to 4 cubes", sheet.Green, 0},
	{"5 to 16 cubes", "5 to 16 cubes", sheet.Blue, 0},
	{"more than 16 cubes", "more than 16 cubes", sheet.Purple, 0},
	{"down", "down", sheet.Vermillion, 0},
	{"maintenance", "maintenance", sheet.Orange, 0},
}

// findSpanKind returns the description of a kind.
func findSpanKind(name string) SpanKind {
	if at := slices.IndexFunc(spanKinds, func(k SpanKind) bool {
		return k.Name == name
	}); at >= 0 {
		return spanKinds[at]
	}
	return SpanKind{Name: name, Color: sheet.Dim}
}

// allSpans iterates over the spans of all tracks, each with the index of its track.
func allSpans(tracks []result.Track) iter.Seq2[int, result.Span] {
	return func(yield func(int, result.Span) bool) {
		for i, l := range tracks {
			for _, s := range l.Spans {
				if !yield(i, s) {
					return
				}
			}
		}
	}
}

// usedKinds returns the kinds that occur in tracks: first the kinds in spanKinds, then all
// others.
func usedKinds(tracks []result.Track) (known, others []SpanKind) {
	seen := map[string]bool{}
	for _, s := range allSpans(tracks) {
		seen[s.Kind] = true
	}
	for _, k := range spanKinds {
		if seen[k.Name] {
			known = append(known, k)
			delete(seen, k.Name)
		}
	}

	for _, name := range slices.Sorted(maps.Keys(seen)) {
		others = append(others, findSpanKind(name))
	}
	return known, others
}

// addKindLegend adds the kinds of tracks to the legend. Kinds without their own colour share an
// entry, which lists their names if they are few.
func addKindLegend(s *sheet.Sheet, tracks []result.Track) {
	known, others := usedKinds(tracks)
	for _, k := range known {
		height := vg.Length(1)
		if k.Row > 0 {
			height = 0.5
		}
		s.AddLegend(k.Text, sheet.ThinBoxSample(k.Color, height))
	}

	var names []string
	for _, k := range others {
		names = append(names, sheet.Plain(k.Name))
	}
	if text := strings.Join(names, ", "); len(others) > 0 {
		if len(others) > 3 || strings.Trim(text, ", ") == "" {
			text = "other work"
		}
		s.AddLegend(text, sheet.BoxSample(sheet.Dim))
	}
}

// traceFigures draws the timeline on the ideal fabric and under the best policy.
func traceFigures(doc *result.Document, d *result.Detail, add addFigure) {
	traceFigure(&d.Reference, "trace-reference",
		"Execution trace on the ideal fabric", add)
	if best := fastest(doc, d, hasSpans); best != nil {
		title := "Execution trace under " + best.Policy
		if len(d.Policies) > 1 {
			title += ", the best policy"
		}
		traceFigure(best, "trace-"+sheet.FileName(best.Policy), title, add)
	}
}

// fastest returns the best simulation that wanted accepts, or nil if it accepts none. The best
// simulation is the winner of the document if wanted accepts it, else the one with the shortest
// makespan.
func fastest(
	doc *result.Document,
	d *result.Detail,
	wanted func(*result.Simulation) bool,
) *result.Simulation {
	if i, _ := doc.Winner(); i >= 0 {
		if p := d.Simulation(doc.Rows[i].Policy); p != nil && wanted(p) {
			return p
		}
	}

	var best *result.Simulation
	for i := range d.Policies {
		if p := &d.Policies[i]; wanted(p) &&
			(best == nil || p.MakespanS < best.MakespanS) {
			best = p
		}
	}

	return best
}

// hasSpans reports whether a simulation has a timeline.
func hasSpans(p *result.Simulation) bool {
	return slices.ContainsFunc(p.Tracks, func(l result.Track) bool {
		return len(l.Spans) > 0
	})
}

// traceFigure draws the timeline of a simulation, if it has one. name is the file name.
func traceFigure(p *result.Simulation, name, title string, add addFigure) {
	const (
		// maxTracks is the maximum number of tracks. More would be illegible; a note has their
		// number.
		maxTracks = 24
		// minHeight is the height of a track in points, with many tracks.
		minHeight = 14
		// maxHeight is the height of a track in points, with few tracks.
		maxHeight = 40
		// panelHeight is the height of a plot with many tracks, in points.
		panelHeight = 220
		// minPanelHeight is the height of a plot with one track, in points: enough for its axes.
		minPanelHeight = 72
	)

	if !hasSpans(p) {
		return
	}

	// Start the sheet with legend and notes.
	s := &sheet.Sheet{Title: title}
	tracks := sheet.First(s, p.Tracks, maxTracks, "stages")
	addKindLegend(s, tracks)
	s.AddLegend("end of the iteration", sheet.LineSample(endLine))
	s.Note("Numbers count micro-batches. Thin bars are what the stage sends to other pods.")

	// Choose the range of time and the height of a plot.
	end := max(p.MakespanS, lastEnd(tracks, func(result.Span) bool { return true }))
	count := vg.Length(len(tracks))
	trackHeight := min(max(minHeight, panelHeight/count), maxHeight)
	height := max(trackHeight*count, minPanelHeight)
	const withGroups, withoutGroups = true, false
	// part plots a part of the iteration, with about the given number of ticks.
	part := func(head string, from, to float64, ticks int, grouped bool) *plot.Plot {
		q := trackPlot(tracks, from, to, ticks, p.MakespanS, grouped)
		sheet.AddHeading(q, head)
		return q
	}

	// Draw the whole iteration, and below it both ends enlarged if numbers would not fit.
	s.Add(height, part("The whole iteration: "+sheet.Duration(p.MakespanS,
		4)+computing(p), 0, end, 10, withGroups))
	if z := zoom(tracks, end); z != nil {
		s.Add(height, part("Start of the iteration", z.start[0], z.start[1], 5,
			withoutGroups), part("End of the iteration", z.end[0], z.end[1], 4, withGroups))
	}

	add(name, s)
}

// computing describes the mean share of the iteration in which stages compute. It returns "" if
// tasks of a stage overlap, as in traces of other tools, because the share would exceed 1.
func computing(p *result.Simulation) string {
	busy := 0.0
	for _, s := range allSpans(p.Tracks) {
		if isWork(s) {
			busy += s.EndS - s.StartS
		}
	}

	// The share exceeds 1 if tasks of a stage overlap.
	share := busy / p.MakespanS / float64(len(p.Tracks))
	if !(share <= 1) {
		return ""
	}

	return ", of which stages compute for " + sheet.Percent(share)
}

// lastEnd returns the end of the last span that counts accepts, in seconds.
func lastEnd(tracks []result.Track, counts func(result.Span) bool) float64 {
	end := 0.0
	for _, s := range allSpans(tracks) {
		if counts(s) {
			end = max(end, s.EndS)
		}
	}
	return end
}

// isWork reports whether a span is work, not a transfer.
func isWork(s result.Span) bool { return findSpanKind(s.Kind).Row == 0 }

// zoomWindows are two time windows in seconds, at the start and at the end of a trace.
type zoomWindows struct{ start, end [2]float64 }

// zoom returns windows at both ends of a trace in which the number of a span fits into its
// bar. It returns nil if the numbers fit without enlargement.
func zoom(tracks []result.Track, end float64) *zoomWindows {
	work := shortestWork(tracks)
	const (
		// wholeWorks and zoomWorks are the numbers of spans that fit side by side on the width of
		// a figure and on half the width, each with a legible number.
		wholeWorks = 60
		zoomWorks  = 30
		// leadShare is the share of the last window that precedes the end of all work.
		leadShare = 0.6
	)

	if end <= wholeWorks*work {
		return nil
	}
	width := min(zoomWorks*work, end/2)

	// The window at the end includes some work before the last transfers.
	from := max(0, min(end-width, lastEnd(tracks, isWork)-leadShare*width))

	return &zoomWindows{start: [2]float64{0, width}, end: [2]float64{from, end}}
}

// shortestWork returns a typical short duration of work in seconds: the smallest median duration
// of all kinds of work. Without work it returns infinity.
func shortestWork(tracks []result.Track) float64 {
	byKind := map[string][]float64{}
	for _, s := range allSpans(tracks) {
		if d := s.EndS - s.StartS; isWork(s) && d > 0 {
			byKind[s.Kind] = append(byKind[s.Kind], d)
		}
	}

	shortest := math.Inf(1)
	for _, ds := range byKind { // in any order, because the result is a minimum
		slices.Sort(ds)
		shortest = min(shortest, ds[len(ds)/2])
	}

	return shortest
}

// endLine is the style of the line at the end of the iteration.
var endLine = sheet.Line(sheet.Black, 1, 3, 2)

// trackPlot plots tracks between two times in seconds, the first track on top, with about
// the given number of ticks and a line at the end of the iteration. If grouped is set, the names of groups
// are at the right.
func trackPlot(
	tracks []result.Track,
	from, to float64,
	ticks int,
	makespan float64,
	grouped bool,
) *plot.Plot {
	t := newTrackChart(tracks)
	names := make([]string, len(tracks))
	for i, l := range tracks {
		names[i] = sheet.Plain(l.Name)
	}

	// The common prefix of all names becomes the label of the axis, to save space.
	prefix, rests := sheet.CommonPrefix(names)
	p := t.plot(sheet.PlotFunc(func(c draw.Canvas, p *plot.Plot) {
		drawGroups(c, p, tracks, makespan, grouped)
	}))
	const prefixWidth, nameWidth = 60, 80 // points
	p.Y.Label.Text = sheet.Fit(p.Y.Label.TextStyle, prefix, prefixWidth)
	t.nameTracks(p, nameWidth, func(i int) string { return rests[i] })
	sheet.TimeAxis(&p.X, "time", from, to, ticks)

	// Reserve space for the names of groups.
	if grouped {
		style := sheet.Sans(sheet.NoteSize, sheet.Dim)
		widest := vg.Length(0)
		forEachGroup(tracks, func(_, _ int, name string) {
			widest = max(widest, style.Width(sheet.Plain(name)))
		})
		sheet.ReserveRight(p, min(widest+8, maxGroupWidth))
	}

	return p
}

// forEachGroup calls f for each maximal sequence of tracks with the same group.
func forEachGroup(tracks []result.Track, f func(first, last int, name string)) {
	for i := 0; i < len(tracks); {
		j := i
		for j+1 < len(tracks) && tracks[j+1].Group == tracks[i].Group {
			j++
		}
		f(i, j, tracks[i].Group)
		i = j + 1
	}
}

// maxGroupWidth is the maximum width in points of the names of groups.
const maxGroupWidth = 90

// drawGroups draws a background behind every other group, lines between groups, the names of
// groups if grouped is set, and a line at the end of the iteration. makespan is in seconds.
func drawGroups(c draw.Canvas, p *plot.Plot, tracks []result.Track, makespan float64, grouped bool) {
	x, y := p.Transforms(&c)
	nth := 0
	forEachGroup(tracks, func(first, last int, name string) {
		// Track i is between the heights len(tracks)-i-1 and len(tracks)-i of the vertical axis.
		top := y(float64(len(tracks) - first))
		foot := y(float64(len(tracks) - last - 1))
		if nth++; nth%2 == 1 {
			sheet.FillBox(c, sheet.Band, c.Min.X, c.Max.X, foot, top)
		}
		if first > 0 {
			sheet.HLine(c, sheet.Line(sheet.Dim, 0.6), top)
		}
		style := sheet.Aligned(sheet.Sans(sheet.NoteSize, sheet.Dim), draw.XLeft,
			draw.YCenter)
		if grouped && top-foot >= sheet.NoteSize {
			c.FillText(style, sheet.Point(c.Max.X+6, (top+foot)/2+1),
				sheet.Fit(style, name, maxGroupWidth))
		}
	})

	if end := x(makespan); end >= c.Min.X && end <= c.Max.X+sheet.Pixel {
		sheet.VLine(c, endLine, end)
	}
}

// newTrackChart returns a chart of the spans of tracks. In each track, work with its numbers is
// above three rows of transfers.
func newTrackChart(tracks []result.Track) *trackChart {
	const second = 1 // unit of the time axis
	t := spansChart(tracks, second, func(k SpanKind, thin bool) (from, to float64) {
		switch {
		case k.Row > 0:
			// Transfers: row 1 is the upper one.
			const rows, high = 3, 0.12
			from = 0.04 + high*float64(rows-k.Row)
			return from, from + high*0.9

		case thin:
			// Work above transfers.
			return 0.42, 0.94
		}

		return 0.1, 0.9
	})

	t.barGap = sheet.Pixel
	t.labelSize = sheet.NumberSize + 1.5
	return t
}

// spansChart returns a chart of the spans of tracks. unit is the time unit of the axis in
// seconds. place returns the lower and upper edge of a kind within a track of height 1; thin is
// true if the tracks contain transfers. Only work has labels.
func spansChart(
	tracks []result.Track,
	unit float64,
	place func(k SpanKind, thin bool) (from, to float64),
) *trackChart {
	t := &trackChart{count: len(tracks)}
	known, others := usedKinds(tracks)
	thin := slices.ContainsFunc(known, func(k SpanKind) bool { return k.Row > 0 })

	// Bars of the same colour must be adjacent, so the outer loop is over kinds.
	for _, k := range slices.Concat(known, others) {
		from, to := place(k, thin)
		for i, s := range allSpans(tracks) {
			if s.Kind != k.Name {
				continue
			}
			b := bar{
				track: i,
				lo:    s.StartS / unit,
				hi:    s.EndS / unit,
				from:  from,
				to:    to,
				color: k.Color,
			}

			if k.Row == 0 {
				b.label = sheet.Plain(s.Label)
			}
			t.bars = append(t.bars, b)
		}
	}

	return t
}
