package plots

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// kind is how spans of a kind look.
type kind struct {
	name, text string // in spans, and in the legend
	color      color.Color
	number     color.Color // of the label on work; transfers have none
	row        int         // of a transfer: of the thin bars below the work
}

func (k kind) transfer() bool { return k.number == nil }

// kinds are the known kinds of spans, in the order of the legend. Others are work, in grey.
var kinds = []kind{
	{name: "forward", text: "forward pass", color: sheet.SkyBlue, number: sheet.Black},
	{name: "backward", text: "backward pass", color: sheet.Vermillion, number: sheet.White},
	{name: "pp-forward", text: "activations to the next stage", color: sheet.Blue, row: 0},
	{name: "pp-backward", text: "gradients to the stage before", color: sheet.Purple, row: 1},
	{name: "dp", text: "gradient synchronisation", color: sheet.Green, row: 2},
}

// thinRows is how many rows of thin bars there are.
const thinRows = 3

// kindOf returns how spans of a kind look.
func kindOf(name string) kind {
	if at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name }); at >= 0 {
		return kinds[at]
	}
	return kind{name: name, color: sheet.Dim, number: sheet.White}
}

// kindsOf lists the kinds that lanes have, the known ones first.
func kindsOf(lanes []result.Lane) (known, others []kind) {
	seen := map[string]bool{}
	for _, l := range lanes {
		for _, s := range l.Spans {
			seen[s.Kind] = true
		}
	}
	for _, k := range kinds {
		if seen[k.name] {
			known = append(known, k)
		}
		delete(seen, k.name)
	}
	for name := range seen { // sorted below
		others = append(others, kindOf(name))
	}
	slices.SortFunc(others, func(a, b kind) int { return strings.Compare(a.name, b.name) })
	return known, others
}

// kindLegend explains the kinds that lanes have. More unknown kinds than a few share a look and a line.
func kindLegend(lanes []result.Lane) []sheet.Entry {
	var legend []sheet.Entry
	known, others := kindsOf(lanes)
	for _, k := range known {
		height := vg.Length(1)
		if k.transfer() {
			height = 0.5
		}
		legend = append(legend, sheet.Entry{Text: k.text, Sample: sheet.Box(k.color, height)})
	}
	if len(others) > 0 {
		var names []string
		for _, k := range others {
			names = append(names, sheet.Plain(k.name))
		}
		text := strings.Join(names, ", ")
		if len(others) > 3 || strings.Trim(text, ", ") == "" {
			text = "other work"
		}
		legend = append(legend, sheet.Entry{Text: text, Sample: sheet.Box(sheet.Dim, 1)})
	}
	return append(legend, sheet.Entry{Text: "end of the iteration", Sample: sheet.Stroke(endLine)})
}

// traceFigures shows who works when: the simulation on the ideal fabric and that of the policy with the least makespan.
func traceFigures(doc *result.Document, d *result.Detail) []sheet.Figure {
	out := traceFigure(&d.Reference, d.Title, "trace-reference", "Execution trace on the ideal fabric")
	if best := fastest(doc, d, hasSpans); best != nil {
		title := "Execution trace under " + best.Policy
		if len(d.Policies) > 1 {
			title += ", the best policy"
		}
		out = append(out, traceFigure(best, d.Title, "trace-"+sheet.FileName(best.Policy), title)...)
	}
	return out
}

// fastest returns the simulation that is best of those wanted, as the document ranks them by the metrics that tell
// most, nil when there is none.
func fastest(doc *result.Document, d *result.Detail, wanted func(*result.Play) bool) *result.Play {
	for _, m := range result.MainMetrics() {
		if i := doc.Best(m.Name); i >= 0 && m.Wins != "" {
			if p := d.Play(doc.Rows[i].Policy); p != nil && wanted(p) {
				return p
			}
			break
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

func traceFigure(p *result.Play, subtitle, name, title string) []sheet.Figure {
	const (
		shown       = 24     // more cannot be read; the note says how many there are
		least, most = 14, 40 // points of a lane, among many and among few
		panel       = 220    // points of a panel of many
	)
	if !hasSpans(p) {
		return nil
	}
	lanes := p.Lanes[:min(len(p.Lanes), shown)]
	s := sheet.Sheet{Title: title, Subtitle: subtitle, Legend: kindLegend(lanes)}
	if len(p.Lanes) > len(lanes) {
		s.Notes = append(s.Notes, fmt.Sprintf("The first %d of %d stages are shown.", len(lanes), len(p.Lanes)))
	}
	s.Notes = append(s.Notes, "Numbers count micro-batches. Thin bars are what the stage sends to other pods.")
	end := max(p.MakespanS, lastEnd(lanes, func(result.Span) bool { return true }))
	height := max(min(max(least, panel/vg.Length(len(lanes))), most)*vg.Length(len(lanes)), 72)
	add := func(head string, from, to float64, count int, grouped bool) *plot.Plot {
		q := lanePlot(lanes, from, to, count, p.MakespanS, grouped)
		sheet.Head(q, head)
		return q
	}
	whole := add("The whole iteration: "+sheet.Duration(p.MakespanS), 0, end, 10, true)
	s.Blocks = []sheet.Block{{Plots: []*plot.Plot{whole}, Height: height}}
	if z := zoom(lanes, end); z != nil {
		first := add("Start of the iteration", z.start[0], z.start[1], 5, false)
		last := add("End of the iteration", z.end[0], z.end[1], 4, true)
		s.Blocks = append(s.Blocks, sheet.Block{Plots: []*plot.Plot{first, last}, Cols: 2, Height: height})
	}
	return []sheet.Figure{s.Figure(name)}
}

// lastEnd is when the last of the spans that count ends.
func lastEnd(lanes []result.Lane, counts func(result.Span) bool) float64 {
	end := 0.0
	for _, l := range lanes {
		for _, s := range l.Spans {
			if counts(s) {
				end = max(end, s.EndS)
			}
		}
	}
	return end
}

func isWork(s result.Span) bool { return !kindOf(s.Kind).transfer() }

// zooms are two windows of time, in seconds.
type zooms struct{ start, end [2]float64 }

// zoom returns windows at both ends of a trace in which a piece of work has room for its number; nil where the whole
// trace gives it that room.
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
	from := max(0, min(end-width, lastEnd(lanes, isWork)-before*width)) // some work is seen before the transfers at the end
	return &zooms{[2]float64{0, width}, [2]float64{from, end}}
}

// shortWork is the median duration of the shortest kind of work, 0 when there is none.
func shortWork(lanes []result.Lane) float64 {
	byKind := map[string][]float64{}
	for _, l := range lanes {
		for _, s := range l.Spans {
			if d := s.EndS - s.StartS; isWork(s) && d > 0 {
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

// endLine is where an iteration ends.
var endLine = draw.LineStyle{Color: sheet.Black, Width: 1, Dashes: []vg.Length{3, 2}}

// lanePlot is the plot of lanes between two times in seconds, the first lane on top, with about count ticks, a line at
// the end of the iteration, and the groups named to its right if grouped.
func lanePlot(lanes []result.Lane, from, to float64, count int, makespan float64, grouped bool) *plot.Plot {
	names := make([]string, len(lanes))
	at := make([]float64, len(lanes))
	for i, l := range lanes {
		names[i] = sheet.Plain(l.Name)
		at[i] = float64(len(lanes) - 1 - i)
	}
	prefix, rests := sheet.CommonPrefix(names)
	for i := range rests {
		rests[i] = sheet.Fit(sheet.Sans(sheet.TickSize, sheet.Ink), rests[i], 80)
	}
	p := sheet.NewPlot("", sheet.Fit(sheet.Sans(sheet.LabelSize, sheet.Ink), prefix, 60))
	p.Y.Tick.Marker = sheet.Marks(at, rests)
	p.Y.Tick.Length = 0
	sheet.SetRange(&p.Y, -0.5, float64(len(lanes))-0.5)
	sheet.TimeAxis(&p.X, "time", from, to, count)
	if grouped {
		style, widest := sheet.Sans(sheet.NoteSize, sheet.Dim), vg.Length(0)
		groups(lanes, func(_, _ int, name string) { widest = max(widest, style.Width(sheet.Plain(name))) })
		sheet.Beside(p, min(widest+8, groupRoom))
	}
	p.Add(sheet.PlotFunc(func(c draw.Canvas, p *plot.Plot) { drawLanes(c, p, lanes, makespan, grouped) }))
	return p
}

// groups calls f for each run of lanes of one group.
func groups(lanes []result.Lane, f func(first, last int, name string)) {
	for i := 0; i < len(lanes); {
		j := i
		for j+1 < len(lanes) && lanes[j+1].Group == lanes[i].Group {
			j++
		}
		f(i, j, lanes[i].Group)
		i = j + 1
	}
}

// groupRoom is the most that the names of groups take beside a plot.
const groupRoom = 90

func drawLanes(c draw.Canvas, p *plot.Plot, lanes []result.Lane, makespan float64, grouped bool) {
	x, y := p.Transforms(&c)
	top := func(i int) vg.Length { return y(float64(len(lanes)-i) - 0.5) }
	nth := 0
	groups(lanes, func(first, last int, name string) {
		if nth++; nth%2 == 1 {
			sheet.FillBox(c, sheet.Band, c.Min.X, c.Max.X, top(last+1), top(first))
		}
		if first > 0 {
			c.StrokeLine2(draw.LineStyle{Color: sheet.Dim, Width: 0.6}, c.Min.X, top(first), c.Max.X, top(first))
		}
		style := sheet.Aligned(sheet.Sans(sheet.NoteSize, sheet.Dim), draw.XLeft, draw.YCenter)
		if grouped && top(first)-top(last+1) >= sheet.NoteSize {
			c.FillText(style, sheet.Point(c.Max.X+6, (top(first)+top(last+1))/2+1), sheet.Fit(style, name, groupRoom))
		}
	})
	// The end comes first, so that work is never hidden by it.
	if end := x(makespan); end >= c.Min.X && end <= c.Max.X+sheet.Pixel {
		c.StrokeLine2(endLine, end, c.Min.Y, end, c.Max.Y)
	}
	known, others := kindsOf(lanes)
	thin := slices.ContainsFunc(known, kind.transfer)
	for _, k := range slices.Concat(known, others) {
		drawKind(c, x, top, lanes, k, thin)
	}
	numbers(c, x, top, lanes, thin)
}

// rowOf is the vertical place of the bars of a kind in a lane between lo and hi: work above, three rows of transfers
// below.
func rowOf(k kind, lo, hi vg.Length, thin bool) (vg.Length, vg.Length) {
	high := hi - lo
	switch {
	case k.transfer():
		size := 0.36 * high / thinRows
		at := lo + 0.04*high + size*vg.Length(thinRows-1-k.row)
		return at, at + size*0.9
	case thin:
		return lo + 0.42*high, hi - 0.06*high
	}
	return lo + 0.1*high, hi - 0.1*high
}

// drawKind draws all spans of a kind. Between bars with room for it there is a hair's breadth.
func drawKind(c draw.Canvas, x func(float64) vg.Length, top func(int) vg.Length, lanes []result.Lane, k kind, thin bool) {
	var b sheet.Bars
	for i, l := range lanes {
		y0, y1 := rowOf(k, top(i+1), top(i), thin)
		for _, s := range l.Spans {
			if s.Kind != k.name {
				continue
			}
			x0, x1, ok := sheet.Clipped(c, x(s.StartS), x(s.EndS))
			if !ok {
				continue
			}
			if x1-x0 > 4*sheet.Pixel {
				x0, x1 = x0+sheet.Pixel/2, x1-sheet.Pixel/2
			}
			b.Add(x0, x1, y0, y1)
		}
	}
	b.Fill(c, k.color)
}

// numbers writes the labels of work where they fit.
func numbers(c draw.Canvas, x func(float64) vg.Length, top func(int) vg.Length, lanes []result.Lane, thin bool) {
	width := map[string]vg.Length{}
	for i, l := range lanes {
		y0, y1 := rowOf(kinds[0], top(i+1), top(i), thin)
		size := min(sheet.NumberSize+1.5, (y1-y0)*0.9)
		if size < sheet.NumberSize*0.9 {
			return // all lanes are identical
		}
		for _, s := range l.Spans {
			lo, hi := x(s.StartS), x(s.EndS)
			if s.Label == "" || lo < c.Min.X || hi > c.Max.X || hi-lo < sheet.NumberSize*0.6 || !isWork(s) {
				continue
			}
			style := sheet.Aligned(sheet.Sans(size, kindOf(s.Kind).number), draw.XCenter, draw.YCenter)
			w, ok := width[s.Label]
			if !ok {
				w = style.Width(sheet.Plain(s.Label))
				width[s.Label] = w
			}
			if w <= hi-lo-2*sheet.Pixel {
				c.FillText(style, sheet.Point((lo+hi)/2, (y0+y1)/2+size*0.1), sheet.Plain(s.Label))
			}
		}
	}
}
