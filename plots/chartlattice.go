package plots

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// pane is a panel of a chart, with axes.
type pane struct {
	head string
	y    *scale
	draw func(c draw.Canvas, x, y func(v float64) vg.Length) // c is the area of data
}

// lattice is a chart: panes of one size in rows, which share the axis across
// and mostly the one that goes up. Other than a sheet's panels they have equal
// areas of data, whatever their labels take.
type lattice struct {
	sheet
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

const (
	inside    = figureWidth - 2*margin
	rowGap    = 12 // below a row of panes
	colGap    = 16
	overhang  = 12 // right of the data, for a tick's label
	headRoom  = headSize*lineSpacing + 4
	titleRoom = labelSize*lineSpacing + 3
	lowGap    = 14 // above a lower pane
	tickRoom  = 7  // between a tick's label and the data
)

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
	l.left += tickRoom + l.extra
	l.width = (inside - l.indent() - l.left - l.side - overhang - l.between()*vg.Length(l.cols-1)) / vg.Length(l.cols)
}

// between is the room between the data of neighbours.
func (l *lattice) between() vg.Length {
	if l.apart {
		return colGap + l.wider + l.left
	}
	return colGap + l.wider
}

// indent is the room for the titles of the y axes.
func (l *lattice) indent() vg.Length {
	if l.yTitle == "" && l.lowTitle == "" {
		return 0
	}
	return titleRoom
}

func (l *lattice) rows() int { return (len(l.panes) + l.cols - 1) / l.cols }

// rowHeight is the height of a row with what stands above and below its data.
func (l *lattice) rowHeight() vg.Length {
	h := l.height + l.lower() + l.across.depth + 6 + rowGap
	if l.panes[0].head != "" {
		h += headRoom
	}
	return h
}

// lower is the height of a lower pane and of the gap above it.
func (l *lattice) lower() vg.Length {
	const share, least = 0.45, 75 // of a pane's height; points
	if l.low == nil {
		return 0
	}
	return lowGap + max(l.height*share, least)
}

// bodyHeight is from the lowest data to the highest.
func (l *lattice) bodyHeight() vg.Length {
	return l.rowHeight()*vg.Length(l.rows()-1) + l.height + l.lower()
}

// figure makes the figure: as high as its parts need.
func (l *lattice) figure(name string) Figure {
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
	body := l.rowHeight()*vg.Length(l.rows()) - rowGap
	if l.across.title != "" {
		body += titleRoom
	}
	if l.apart {
		l.notes = append(l.notes, "Each panel has a y axis of its own.")
	}
	l.panels = []panel{{x1: 1, y1: 1, paint: l.paint}}
	return l.sheet.figure(name, l.frame()+body)
}

// frame is the height of what stands round the body.
func (s *sheet) frame() vg.Length {
	const high = 10000
	c := draw.NewCanvas(new(recorder.Canvas), figureWidth, high)
	c = draw.Crop(c, margin, -margin, margin, -margin)
	top := c.Max.Y
	s.header(&c)
	h := top - c.Max.Y + 2*margin
	style := sans(noteSize, dim)
	for _, note := range s.notes {
		h += noteSize * lineSpacing * vg.Length(len(wrap(style, note, inside, 2)))
	}
	if len(s.notes) > 0 {
		h += padding
	}
	return h
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
			d.Max.Y -= headRoom
			style := bold(headSize, ink)
			d.FillText(style, point(d.Min.X, d.Max.Y+5), fit(style, p.head, l.width+colGap/2))
		}
		d.Min.Y = d.Max.Y - l.height
		low, high, right = min(low, d.Min.Y-l.lower()), max(high, d.Max.Y), max(right, d.Max.X)
		l.pane(d, p, l.apart || col == 0, l.low == nil)
		if l.low == nil {
			continue
		}
		if col == 0 {
			l.upTitle(c, l.yTitle, d.Min.Y-lowGap/2, d.Max.Y+headRoom/2)
		}
		d.Max.Y = d.Min.Y - lowGap
		d.Min.Y -= l.lower()
		l.pane(d, l.low[i], col == 0, true)
		if col == 0 {
			l.upTitle(c, l.lowTitle, d.Min.Y-l.across.depth, d.Max.Y+lowGap/2)
		}
	}
	title := aligned(sans(labelSize, ink), draw.XCenter, draw.YTop)
	if l.across.title != "" {
		text := fit(title, l.across.title, right-c.Min.X)
		mid := (x0 + right) / 2
		mid = max(mid, c.Min.X+title.Width(text)/2)
		c.FillText(title, point(mid, low-l.across.depth-8), text)
	}
	if l.low == nil {
		l.upTitle(c, l.yTitle, low-headRoom/2, high+headRoom/2)
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
	title := aligned(sans(labelSize, ink), draw.XCenter, draw.YTop)
	title.Rotation = math.Pi / 2
	text = fit(title, text, high-low)
	mid := min((low+high)/2, c.Max.Y-title.Width(text)/2)
	c.FillText(title, point(c.Min.X, mid), text)
}

// pane draws one pane with its axes; the ticks of the y axis are labelled, and
// those of the axis across, or not.
func (l *lattice) pane(c draw.Canvas, p pane, labelled, acrossLabelled bool) {
	gridLine := draw.LineStyle{Color: faint, Width: 0.6}
	axis := draw.LineStyle{Color: ink, Width: 0.75}
	if p.y == nil {
		p.draw(c, l.across.onto(c.Min.X, c.Max.X), l.up.onto(c.Min.Y, c.Max.Y))
		l.across.draw(c, acrossLabelled)
		if labelled {
			l.up.drawUp(c)
		}
		return
	}
	at := func(v float64) vg.Length { return c.Min.Y + (c.Max.Y-c.Min.Y)*vg.Length((v-p.y.lo)/(p.y.hi-p.y.lo)) }
	for _, t := range p.y.ticks {
		if t.Label != "" {
			c.StrokeLine2(gridLine, c.Min.X, at(t.Value), c.Max.X, at(t.Value))
		}
	}
	if !l.across.category {
		for i, v := range l.across.at {
			if l.across.shown[i] {
				x := c.Min.X + (c.Max.X-c.Min.X)*vg.Length((v-l.across.lo)/(l.across.hi-l.across.lo))
				c.StrokeLine2(gridLine, x, c.Min.Y, x, c.Max.Y)
			}
		}
	}
	c.StrokeLine2(axis, c.Min.X, c.Min.Y, c.Min.X, c.Max.Y)
	style := aligned(sans(tickSize, ink), draw.XRight, draw.YCenter)
	for _, t := range p.y.ticks {
		length := vg.Length(4)
		if t.Label == "" {
			length = 2
		}
		c.StrokeLine2(axis, c.Min.X-length, at(t.Value), c.Min.X, at(t.Value))
		if labelled {
			c.FillText(style, point(c.Min.X-tickRoom, at(t.Value)+1), t.Label)
		}
	}
	l.across.draw(c, acrossLabelled)
	p.draw(c, l.across.onto(c.Min.X, c.Max.X), p.y.onto(c.Min.Y, c.Max.Y)) // over the axes, which hide nothing
}

// share sets the y axes of the panes: one for all, unless their values span so
// unlike ranges that some would be flat. extent is the range of a pane, or of
// all for -1, with lo > hi where there is nothing; make makes the axis of a range.
func (l *lattice) share(extent func(pane int) (lo, hi float64), make func(lo, hi float64) *scale) {
	const unlike = 6 // times as wide
	all := make(extent(-1))
	least := all.hi - all.lo
	for i := range l.panes {
		l.panes[i].y = make(extent(-1))
		if lo, hi := extent(i); lo <= hi {
			l.panes[i].y = make(lo, hi)
		}
		least = min(least, l.panes[i].y.hi-l.panes[i].y.lo)
	}
	l.apart = !all.log && all.hi-all.lo > unlike*least
	for i := range l.panes {
		if !l.apart {
			l.panes[i].y = all
		}
		l.panes[i].y.mark(ticksFor(l.height))
	}
	l.measure()
}

// shareLow sets the y axes of the lower panes, one for all.
func (l *lattice) shareLow(y *scale) {
	y.mark(max(3, ticksFor(l.lower())))
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
