package chart

import (
	"math"

	"sim/plots/sheet"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// pane is a panel of a chart, with axes.
type pane struct {
	head string
	y    *Scale
	draw func(c draw.Canvas, x, y func(v float64) vg.Length) // c is the area of data
}

// lattice is a chart: panes of one size in rows, which share the axis across
// and mostly the one that goes up. Other than a sheet's panels they have equal
// areas of data, whatever their labels take.
type lattice struct {
	sheet.Sheet
	panes    []pane
	across   *across
	up       *across // of a heat map, whose rows have labels
	yTitle   string
	apart    bool   // panes have y axes of their own
	low      []pane // a lower pane below each, with the same axis across; nil without
	lowTitle string // of their y axes
	cols     int
	width    vg.Length // of a pane's data, by fit
	height   vg.Length
	left     vg.Length // room for the y axis
	extra    vg.Length // more room there, for what slants below it
	wider    vg.Length // more room between panes, for labels that hang over
	side     vg.Length // room to the right of all, for side
	aside    func(c draw.Canvas)
}

// columns is how many panes stand side by side, of n.
func columns(n int) int {
	switch {
	case n <= 3:
		return max(1, n)
	case n == 4:
		return 2
	case n <= 6, n == 9:
		return 3
	}
	return 4
}

// dataHeights are heights of data by the number of panes side by side.
var dataHeights = [...]vg.Length{0, 250, 175, 150, 130}

// setColumns places panes side by side, fewer where each would be narrower
// than least points.
func (l *lattice) setColumns(least vg.Length) {
	for l.cols = columns(len(l.panes)); ; l.cols-- {
		l.measure()
		if l.cols == 1 || l.width >= least {
			break
		}
	}
	l.height = dataHeights[l.cols]
}

// measure finds the width of the data from what the y axes take.
func (l *lattice) measure() {
	l.left = 0
	for _, p := range l.panes {
		if p.y != nil {
			l.left = max(l.left, p.y.width())
		}
	}
	for _, p := range l.low {
		l.left = max(l.left, p.y.width())
	}
	if l.up != nil {
		l.left = l.up.left()
	}
	l.left += sheet.TickRoom + l.extra
	l.width = (sheet.Inside - l.indent() - l.left - l.side - sheet.Overhang - l.between()*vg.Length(l.cols-1)) / vg.Length(l.cols)
}

// between is the room between the data of neighbours.
func (l *lattice) between() vg.Length {
	if l.apart {
		return sheet.ColGap + l.wider + l.left
	}
	return sheet.ColGap + l.wider
}

// indent is the room for the titles of the y axes.
func (l *lattice) indent() vg.Length {
	if l.yTitle == "" && l.lowTitle == "" {
		return 0
	}
	return sheet.TitleRoom
}

func (l *lattice) rows() int { return (len(l.panes) + l.cols - 1) / l.cols }

// rowHeight is the height of a row with what stands above and below its data.
func (l *lattice) rowHeight() vg.Length {
	h := l.height + l.lower() + l.across.depth + 6 + sheet.RowGap
	if l.panes[0].head != "" {
		h += sheet.HeadRoom
	}
	return h
}

// lower is the height of a lower pane and of the gap above it.
func (l *lattice) lower() vg.Length {
	const share, least = 0.45, 75 // of a pane's height; points
	if l.low == nil {
		return 0
	}
	return sheet.LowGap + max(l.height*share, least)
}

// bodyHeight is from the lowest data to the highest.
func (l *lattice) bodyHeight() vg.Length {
	return l.rowHeight()*vg.Length(l.rows()-1) + l.height + l.lower()
}

// figure makes the figure: as high as its parts need.
func (l *lattice) figure(name string) sheet.Figure {
	l.measure()
	labels := l.across.labels
	l.across.fit(l.width, l.left)
	if need := l.across.sticksOut(l.width); need > l.left && l.up == nil {
		l.extra = need - l.left
		l.measure()
		l.across.labels = labels
		l.across.fit(l.width, l.left)
	}
	if need := l.across.hangsOver(l.width) + 6; need > l.between() && l.cols > 1 { // neighbours' labels would touch
		l.wider = need - l.between()
		l.measure()
		l.across.labels = labels
		l.across.fit(l.width, l.left)
	}
	body := l.rowHeight()*vg.Length(l.rows()) - sheet.RowGap
	if l.across.title != "" {
		body += sheet.TitleRoom
	}
	if l.apart {
		l.Notes = append(l.Notes, "Each panel has a y axis of its own.")
	}
	l.Panels = []sheet.Panel{{X1: 1, Y1: 1, Paint: l.paint}}
	return l.Sheet.Figure(name, l.Frame()+body)
}

// paint draws the panes on c.
func (l *lattice) paint(c draw.Canvas) {
	between := l.between()
	x0 := c.Min.X + l.indent() + l.left
	top := c.Max.Y
	var low, high, right vg.Length = top, c.Min.Y, x0
	for i, p := range l.panes {
		row, col := i/l.cols, i%l.cols
		d := c
		d.Min.X = x0 + (l.width+between)*vg.Length(col)
		d.Max.X = d.Min.X + l.width
		d.Max.Y = top - l.rowHeight()*vg.Length(row)
		if p.head != "" {
			d.Max.Y -= sheet.HeadRoom
			style := sheet.Bold(sheet.HeadSize, sheet.Ink)
			d.FillText(style, sheet.Point(d.Min.X, d.Max.Y+5), sheet.Fit(style, p.head, l.width+sheet.ColGap/2))
		}
		d.Min.Y = d.Max.Y - l.height
		low, high, right = min(low, d.Min.Y-l.lower()), max(high, d.Max.Y), max(right, d.Max.X)
		l.pane(d, p, l.apart || col == 0, l.low == nil)
		if l.low == nil {
			continue
		}
		if col == 0 {
			l.upTitle(c, l.yTitle, d.Min.Y-sheet.LowGap/2, d.Max.Y+sheet.HeadRoom/2)
		}
		d.Max.Y = d.Min.Y - sheet.LowGap
		d.Min.Y -= l.lower()
		l.pane(d, l.low[i], col == 0, true)
		if col == 0 {
			l.upTitle(c, l.lowTitle, d.Min.Y-l.across.depth, d.Max.Y+sheet.LowGap/2)
		}
	}
	title := sheet.Aligned(sheet.Sans(sheet.LabelSize, sheet.Ink), draw.XCenter, draw.YTop)
	if l.across.title != "" {
		text := sheet.Fit(title, l.across.title, right-c.Min.X)
		mid := (x0 + right) / 2
		mid = max(mid, c.Min.X+title.Width(text)/2)
		c.FillText(title, sheet.Point(mid, low-l.across.depth-8), text)
	}
	if l.low == nil {
		l.upTitle(c, l.yTitle, low-sheet.HeadRoom/2, high+sheet.HeadRoom/2)
	}
	if l.aside != nil {
		s := c
		s.Min.X, s.Min.Y, s.Max.Y = right, low, high
		l.aside(s)
	}
}

// upTitle writes the title of a y axis beside low to high.
func (l *lattice) upTitle(c draw.Canvas, text string, low, high vg.Length) {
	if text == "" {
		return
	}
	title := sheet.Aligned(sheet.Sans(sheet.LabelSize, sheet.Ink), draw.XCenter, draw.YTop)
	title.Rotation = math.Pi / 2
	text = sheet.Fit(title, text, high-low)
	mid := min((low+high)/2, c.Max.Y-title.Width(text)/2)
	c.FillText(title, sheet.Point(c.Min.X, mid), text)
}

// pane draws one pane with its axes; the ticks of the y axis are labelled, and
// those of the axis across, or not.
func (l *lattice) pane(c draw.Canvas, p pane, labelled, acrossLabelled bool) {
	gridLine := draw.LineStyle{Color: sheet.Faint, Width: 0.6}
	axis := draw.LineStyle{Color: sheet.Ink, Width: 0.75}
	if p.y == nil {
		p.draw(c, l.across.onto(c.Min.X, c.Max.X), l.up.onto(c.Min.Y, c.Max.Y))
		l.across.draw(c, acrossLabelled)
		if labelled {
			l.up.drawUp(c)
		}
		return
	}
	at := func(v float64) vg.Length { return c.Min.Y + (c.Max.Y-c.Min.Y)*vg.Length((v-p.y.Lo)/(p.y.Hi-p.y.Lo)) }
	for _, t := range p.y.Ticks {
		if t.Label != "" {
			c.StrokeLine2(gridLine, c.Min.X, at(t.Value), c.Max.X, at(t.Value))
		}
	}
	if !l.across.category {
		for i, v := range l.across.at {
			if l.across.shown[i] {
				x := c.Min.X + (c.Max.X-c.Min.X)*vg.Length((v-l.across.Lo)/(l.across.Hi-l.across.Lo))
				c.StrokeLine2(gridLine, x, c.Min.Y, x, c.Max.Y)
			}
		}
	}
	c.StrokeLine2(axis, c.Min.X, c.Min.Y, c.Min.X, c.Max.Y)
	style := sheet.Aligned(sheet.Sans(sheet.TickSize, sheet.Ink), draw.XRight, draw.YCenter)
	for _, t := range p.y.Ticks {
		length := vg.Length(4)
		if t.Label == "" {
			length = 2
		}
		c.StrokeLine2(axis, c.Min.X-length, at(t.Value), c.Min.X, at(t.Value))
		if labelled {
			c.FillText(style, sheet.Point(c.Min.X-sheet.TickRoom, at(t.Value)+1), t.Label)
		}
	}
	l.across.draw(c, acrossLabelled)
	p.draw(c, l.across.onto(c.Min.X, c.Max.X), p.y.onto(c.Min.Y, c.Max.Y)) // over the axes, which hide nothing
}

// share sets the y axes of the panes: one for all, unless their values span so
// unlike ranges that some would be flat. extent is the range of a pane, or of
// all for -1, with lo > hi where there is nothing; make makes the axis of a range.
func (l *lattice) share(extent func(pane int) (lo, hi float64), make func(lo, hi float64) *Scale) {
	const unlike = 6 // times as wide
	all := make(extent(-1))
	least := all.Hi - all.Lo
	for i := range l.panes {
		l.panes[i].y = make(extent(-1))
		if lo, hi := extent(i); lo <= hi {
			l.panes[i].y = make(lo, hi)
		}
		least = min(least, l.panes[i].y.Hi-l.panes[i].y.Lo)
	}
	l.apart = !all.Log && all.Hi-all.Lo > unlike*least
	for i := range l.panes {
		if !l.apart {
			l.panes[i].y = all
		}
		l.panes[i].y.Mark(ticksFor(l.height))
	}
	l.measure()
}

// shareLow sets the y axes of the lower panes, one for all.
func (l *lattice) shareLow(y *Scale) {
	y.Mark(max(3, ticksFor(l.lower())))
	for i := range l.low {
		l.low[i].y = y
	}
	l.measure()
}

// ticksFor is how many ticks serve an axis of a height.
func ticksFor(height vg.Length) int {
	const each = 36
	return max(4, int(height/each))
}
