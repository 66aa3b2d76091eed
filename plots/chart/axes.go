package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"sim/plots/sheet"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// across is the axis that goes across, the same for all panes.
type across struct {
	Scale
	title    string
	at       []float64 // placed
	labels   []string
	category bool // labels of places in a row, which need no ticks
	bare     bool // what is drawn needs no line either

	style draw.TextStyle // chosen by fit
	full  []string       // the labels, uncut
	shown []bool
	depth vg.Length // of the labels
	under vg.Length // below them, for what a pane writes there
}

// categories is the axis of the drawn levels of f, side by side.
func categories(f *factor, label string) *across {
	ticks, title := f.ticksOf(label)
	a := &across{title: title, labels: ticks, category: true}
	a.Lo, a.Hi = -0.5, float64(len(ticks))-0.5
	for i := range ticks {
		a.at = append(a.at, float64(i))
	}
	if f.index < 0 {
		a.title, a.labels = sheet.Plain(label), []string{""}
	}
	return a
}

// numbered is the axis of the drawn levels of f, each at its number.
func numbered(f *factor, label string, log bool) *across {
	ticks, title := f.ticksOf(label)
	a := &across{title: title, labels: ticks}
	a.Log = log
	a.Lo, a.Hi = math.Inf(1), math.Inf(-1)
	for _, l := range f.levels {
		at := a.place(f.numbers[l])
		a.at = append(a.at, at)
		a.Lo, a.Hi = min(a.Lo, at), max(a.Hi, at)
	}
	a.pad()
	const many = 14 // values that are not each worth a tick
	switch per, ok := f.unitOf(ticks); {
	case len(ticks) <= many:
	case ok:
		a.Unit = sheet.Unit{Name: "", Per: per}
		a.Mark(8)
		a.label()
	case log && label == "" && f.times(): // each in a unit of its own
		a.Unit, a.Named = sheet.Unit{Name: "s", Per: 1}, true
		a.Mark(8)
		a.label()
	}
	return a
}

// measured is the axis of a metric.
func measured(q Quantity, lo, hi float64, from *float64, log bool) *across {
	a := &across{Scale: *values(q, lo, hi, from, log, false), title: q.Label}
	if log && q.named {
		a.title = q.words
	}
	a.Mark(7)
	a.label()
	return a
}

// label labels the ticks that have one.
func (a *across) label() {
	a.at, a.labels = nil, nil
	for _, t := range a.Ticks {
		if t.Label != "" {
			a.at, a.labels = append(a.at, t.Value), append(a.labels, t.Label)
		}
	}
}

// pad keeps what is drawn off the ends.
func (a *across) pad() {
	const margin = 0.04
	room := margin * (a.Hi - a.Lo)
	if least := 1e-9 * max(math.Abs(a.Lo), math.Abs(a.Hi)); !(room > least) {
		room = max(math.Abs(a.Hi)*0.1, 1e-9)
		if a.Hi == 0 {
			room = 1
		}
	}
	a.Lo, a.Hi = a.Lo-room, a.Hi+room
}

// unitOf returns what numbers of f are multiplied with where their labels are
// nothing but that.
func (f *factor) unitOf(ticks []string) (per float64, ok bool) {
	for i, l := range f.levels {
		v, err := strconv.ParseFloat(ticks[i], 64)
		if err != nil {
			return 0, false
		}
		n := f.numbers[l]
		switch {
		case n == 0 && v == 0:
		case n == 0 || v == 0:
			return 0, false
		case per == 0:
			per = v / n
		case math.Abs(v/n-per) > 1e-9*math.Abs(per):
			return 0, false
		}
	}
	return per, per > 0
}

// labelLength is the most that a slanted label may take, in points.
const labelLength = 110

// fit chooses how labels stand below an axis of a width, with so much room
// left of it: level where they fit, else slanted, else upright; numbers and
// what is too many are thinned.
func (a *across) fit(width, left vg.Length) {
	a.fitLabels(width, left)
	a.depth += a.under
}

func (a *across) fitLabels(width, left vg.Length) {
	a.style = sheet.Aligned(sheet.Sans(sheet.TickSize, sheet.Ink), draw.XCenter, draw.YTop)
	a.depth = sheet.TickSize * sheet.LineSpacing
	a.full = slices.Clone(a.labels)
	for i, l := range a.labels {
		if !a.category {
			a.labels[i] = sheet.Fit(a.style, l, labelLength)
		}
	}
	widest := vg.Length(0)
	for _, l := range a.labels {
		widest = max(widest, a.style.Width(l))
	}
	slot := width / vg.Length(max(1, len(a.labels)))
	if !a.category || widest <= slot-6 || isNumbers(a.labels) {
		a.shown = a.thin(width, func(i int) vg.Length { return a.style.Width(a.labels[i]) + 8 })
		return
	}
	angle := math.Pi / 6
	if slot < 2*sheet.TickSize { // at 30 degrees lines need twice their height
		angle = math.Pi / 2
	}
	a.style = sheet.Aligned(sheet.Sans(sheet.TickSize, sheet.Ink), draw.XRight, draw.YCenter)
	a.style.Rotation = angle
	longest := vg.Length(labelLength)
	if angle < math.Pi/2 { // the first must not leave the sheet
		longest = min(longest, (left+slot/2)/vg.Length(math.Cos(angle)))
	}
	labels := make([]string, len(a.labels))
	for i, l := range a.labels {
		labels[i] = sheet.Fit(a.style, l, longest)
		a.depth = max(a.depth, a.style.Width(labels[i])*vg.Length(math.Sin(angle))+8)
	}
	a.labels = labels
	a.shown = a.thin(width, func(int) vg.Length { return sheet.TickSize * sheet.LineSpacing })
}

// sticksOut is how far slanted labels would reach to the left of the data, if
// none were cut.
func (a *across) sticksOut(width vg.Length) vg.Length {
	if a.style.Rotation == 0 {
		return 0
	}
	most := vg.Length(0)
	for i, l := range a.full {
		reach := min(a.style.Width(l), labelLength)*vg.Length(math.Cos(a.style.Rotation)) + sheet.TickSize/2
		most = max(most, reach-width*vg.Length((a.at[i]-a.Lo)/(a.Hi-a.Lo)))
	}
	return most
}

// hangsOver is how far level labels reach beyond the data, left and right
// together.
func (a *across) hangsOver(width vg.Length) vg.Length {
	if a.style.Rotation != 0 {
		return 0
	}
	var left, right vg.Length
	for i, l := range a.labels {
		if a.shown[i] {
			x, half := width*vg.Length((a.at[i]-a.Lo)/(a.Hi-a.Lo)), a.style.Width(l)/2
			left, right = max(left, half-x), max(right, x+half-width)
		}
	}
	return left + right
}

func isNumbers(labels []string) bool {
	for _, l := range labels {
		if _, err := strconv.ParseFloat(l, 64); err != nil {
			return false
		}
	}
	return true
}

// thin chooses which labels to show, so that none touches another: each k-th
// where they are evenly spaced, else from the end that leaves more.
func (a *across) thin(width vg.Length, size func(i int) vg.Length) []bool {
	x := func(i int) vg.Length { return width * vg.Length((a.at[i]-a.Lo)/(a.Hi-a.Lo)) }
	if a.even() {
		widest := vg.Length(0)
		for i := range a.at {
			widest = max(widest, size(i))
		}
		shown, step := make([]bool, len(a.at)), 1
		if len(a.at) > 1 {
			step = int(math.Ceil(float64(widest / max(x(1)-x(0), x(0)-x(1)))))
		}
		for i := 0; i < len(shown); i += max(1, step) {
			shown[i] = true
		}
		return shown
	}
	order := make([]int, len(a.at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(a.at[i], a.at[j]) })
	choose := func(order []int) (shown []bool, count int) {
		shown = make([]bool, len(a.at))
		last := -1
		for _, i := range order {
			if last >= 0 && max(x(i)-x(last), x(last)-x(i)) < (size(i)+size(last))/2 {
				continue
			}
			shown[i], last = true, i
			count++
		}
		return shown, count
	}
	up, n := choose(order)
	slices.Reverse(order)
	down, m := choose(order)
	if m > n {
		return down
	}
	return up
}

// even reports whether labels are evenly spaced.
func (a *across) even() bool {
	if len(a.at) > 1 && a.at[0] == a.at[1] {
		return false
	}
	for i := 2; i < len(a.at); i++ {
		if d := a.at[i] - a.at[i-1] - (a.at[1] - a.at[0]); !(math.Abs(d) <= 1e-3*math.Abs(a.at[1]-a.at[0])) {
			return false
		}
	}
	return true
}

// draw draws the axis below a pane's data, with labels or without.
func (a *across) draw(c draw.Canvas, labelled bool) {
	const length = 4
	axis := draw.LineStyle{Color: sheet.Ink, Width: 0.75}
	if !a.bare {
		c.StrokeLine2(axis, c.Min.X, c.Min.Y, c.Max.X, c.Min.Y)
	}
	for i, at := range a.at {
		x := c.Min.X + (c.Max.X-c.Min.X)*vg.Length((at-a.Lo)/(a.Hi-a.Lo))
		if !a.category {
			c.StrokeLine2(axis, x, c.Min.Y, x, c.Min.Y-length)
		}
		if a.shown[i] && labelled {
			if a.style.Rotation == 0 { // the last must not leave the sheet
				x = min(x, c.Max.X+sheet.Overhang+sheet.Margin-2-a.style.Width(a.labels[i])/2)
			}
			c.FillText(a.style, sheet.Point(x, c.Min.Y-length-2), a.labels[i])
		}
	}
	for _, t := range a.Ticks {
		if t.Label == "" {
			x := c.Min.X + (c.Max.X-c.Min.X)*vg.Length((t.Value-a.Lo)/(a.Hi-a.Lo))
			c.StrokeLine2(axis, x, c.Min.Y, x, c.Min.Y-length/2)
		}
	}
}
