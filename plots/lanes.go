package plots

import (
	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// lanePlot is the plot of lanes between two times in seconds, the first lane
// on top, with about count ticks, a line at the end of the iteration, and the groups
// named to its right if grouped.
func lanePlot(lanes []result.Lane, from, to float64, count int, makespan float64, grouped bool) *plot.Plot {
	names := make([]string, len(lanes))
	at := make([]float64, len(lanes))
	for i, l := range lanes {
		names[i] = sheet.Plain(l.Name)
		at[i] = float64(len(lanes) - 1 - i)
	}
	prefix, rests := sheet.CommonPrefix(names)
	short := sheet.Sans(sheet.TickSize, sheet.Ink)
	for i := range rests {
		rests[i] = sheet.Fit(short, rests[i], 80)
	}
	p := sheet.NewPlot("", prefix)
	p.Y.Tick.Marker = sheet.Marks(at, rests)
	p.Y.Tick.Length = 0
	sheet.SetRange(&p.Y, -0.5, float64(len(lanes))-0.5)
	sheet.TimeAxis(&p.X, "time", from, to, count)
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

// groupWidth is the room that the names of groups take beside a plot.
func groupWidth(lanes []result.Lane) vg.Length {
	width := vg.Length(0)
	groups(lanes, func(_, _ int, name string) {
		width = max(width, sheet.Sans(sheet.NoteSize, sheet.Dim).Width(sheet.Plain(name)))
	})
	return min(width+8, 90)
}

// endLine is where an iteration ends.
var endLine = draw.LineStyle{Color: sheet.Black, Width: 1, Dashes: []vg.Length{3, 2}}

func drawLanes(c draw.Canvas, p *plot.Plot, lanes []result.Lane, makespan float64, grouped bool) {
	x, y := p.Transforms(&c)
	top := func(i int) vg.Length { return y(float64(len(lanes)-i) - 0.5) }
	edge := draw.LineStyle{Color: sheet.Dim, Width: 0.6}
	nth := 0
	groups(lanes, func(first, last int, name string) {
		if nth++; nth%2 == 1 {
			var b sheet.Bars
			b.Add(c.Min.X, c.Max.X, top(last+1), top(first))
			b.Fill(c, sheet.Band)
		}
		if first > 0 {
			c.StrokeLine2(edge, c.Min.X, top(first), c.Max.X, top(first))
		}
		style := sheet.Aligned(sheet.Sans(sheet.NoteSize, sheet.Dim), draw.XLeft, draw.YCenter)
		room := top(first) - top(last+1)
		if grouped && room >= sheet.NoteSize {
			c.FillText(style, sheet.Point(c.Max.X+6, (top(first)+top(last+1))/2+1), sheet.Fit(style, name, 90))
		}
	})
	// The end comes first, so that work is never hidden by it.
	if end := x(makespan); end >= c.Min.X && end <= c.Max.X+sheet.Pixel {
		c.StrokeLine2(endLine, end, c.Min.Y, end, c.Max.Y)
	}
	kinds := kindsOf(lanes)
	thin := false
	for _, k := range kinds {
		thin = thin || kindOf(k).transfer
	}
	for _, name := range kinds {
		drawKind(c, x, top, lanes, name, thin)
	}
	numbers(c, x, top, lanes, thin)
}

// workRow and thinRow are the vertical places of bars in a lane between lo and
// hi: work above, three rows of transfers below.
func workRow(lo, hi vg.Length, thin bool) (vg.Length, vg.Length) {
	if !thin {
		return lo + 0.1*(hi-lo), hi - 0.1*(hi-lo)
	}
	return lo + 0.42*(hi-lo), hi - 0.06*(hi-lo)
}

func thinRow(lo, hi vg.Length, row int) (vg.Length, vg.Length) {
	size := 0.36 * (hi - lo) / thinRows
	at := lo + 0.04*(hi-lo) + size*vg.Length(thinRows-1-row)
	return at, at + size*0.9
}

// drawKind draws all spans of a kind. Between bars with room for it there is a
// hair's breadth.
func drawKind(c draw.Canvas, x func(float64) vg.Length, top func(int) vg.Length, lanes []result.Lane, name string, thin bool) {
	k := kindOf(name)
	var b sheet.Bars
	for i, l := range lanes {
		y0, y1 := workRow(top(i+1), top(i), thin)
		if k.transfer {
			y0, y1 = thinRow(top(i+1), top(i), k.row)
		}
		for _, s := range l.Spans {
			if s.Kind != name {
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
		y0, y1 := workRow(top(i+1), top(i), thin)
		size := min(sheet.NumberSize+1.5, (y1-y0)*0.9)
		if size < sheet.NumberSize*0.9 {
			return // all lanes are alike
		}
		for _, s := range l.Spans {
			k := kindOf(s.Kind)
			lo, hi := x(s.StartS), x(s.EndS)
			if k.transfer || s.Label == "" || lo < c.Min.X || hi > c.Max.X || hi-lo < sheet.NumberSize*0.6 {
				continue
			}
			style := sheet.Aligned(sheet.Sans(size, k.number), draw.XCenter, draw.YCenter)
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
