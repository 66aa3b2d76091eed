package plots

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
)

// chunks are the transmissions of a plan: a row for each link of the GPUs that are shown, a column for each slot, in
// strips below each other.
type chunks struct {
	*planPicture
	some   bool           // only GPU 0's links, of more
	gpus   int            // that are shown
	degree int            // rows of a GPU
	cells  []map[int]sent // by phase: what is sent, by row*slots + slot
	cell   vg.Length      // width of a slot
	row    vg.Length      // height of a row
	strips [][]stretch
	left   int // slots that are not drawn
}

// sent is a transmission in its cell.
type sent struct{ src, dst, hop int }

// stretch is a run of slots of a phase within a strip.
type stretch struct{ phase, first, slots int }

// Parts of the rounds, in points.
const (
	linkRows  = 24 // as many as all links of few GPUs have
	bandWide  = 19 // a reconfiguration, with room for "→63"
	gpuWide   = 42 // what stands left of the rows
	slotWide  = 26 // at most
	stripGap  = 9
	stripHead = 13  // above a strip
	stripFoot = 12  // below it
	roundHigh = 460 // of all strips, about
)

// newChunks lays the transmissions of a plan out.
func newChunks(p *planPicture) *chunks {
	r := &chunks{planPicture: p, gpus: p.GPUs}
	for i := range p.Phases {
		for g := range p.GPUs {
			r.degree = max(r.degree, len(p.linksOf(i, g)))
		}
	}
	r.row = 11
	if r.gpus*r.degree > linkRows {
		r.some, r.gpus, r.row = true, 1, 16
	}
	for i := range p.Phases {
		r.cells = append(r.cells, r.place(i))
	}
	r.lay()
	return r
}

// place puts the transmissions of a phase into cells: of parallel links the first that is free in the slot.
func (r *chunks) place(phase int) map[int]sent {
	ph := &r.Phases[phase]
	cells := map[int]sent{}
	for j, t := range ph.Sent {
		if t[1] >= r.gpus {
			continue
		}
		for k, l := range r.linksOf(phase, t[1]) {
			at := (t[1]*r.degree+k)*ph.Slots + t[0]
			if _, taken := cells[at]; l[1] == t[2] && !taken {
				cells[at] = sent{t[3], t[4], r.hops[phase][j]}
				break
			}
		}
	}
	return cells
}

// slotWidths are widths that a slot should have: where destinations can be read, where single slots can be told apart,
// and where colours can be seen.
var slotWidths = []vg.Length{13, 9.5, 3, 1}

// lay breaks the slots into strips: as few as leave slots a good width. What even narrow slots have no room for is left
// out.
func (r *chunks) lay() {
	most := max(1, int(roundHigh/r.stripHigh()))
	for _, least := range slotWidths {
		for n := 1; n <= most; n++ {
			for r.cell = slotWide; r.cell > least; r.cell-- {
				if r.strips, r.left = r.strip(r.cell, n); r.left == 0 {
					return
				}
			}
			r.cell = least
			if r.strips, r.left = r.strip(r.cell, n); r.left == 0 {
				return
			}
		}
	}
}

// strip breaks the slots into at most n strips of slots of a width.
func (r *chunks) strip(width vg.Length, n int) (strips [][]stretch, left int) {
	const wide = sheet.Inside - gpuWide - 1
	room := vg.Length(0)
	for i := range r.Phases {
		for s := 0; s < r.Phases[i].Slots; {
			if room < bandWide+width { // a reconfiguration needs a slot beside it
				if len(strips) == n {
					return strips, r.total - r.start[i] - s
				}
				strips = append(strips, nil)
				room = wide
			}
			room -= bandWide
			take := min(r.Phases[i].Slots-s, int(room/width))
			last := &strips[len(strips)-1]
			*last = append(*last, stretch{i, s, take})
			s += take
			room -= vg.Length(take) * width
		}
	}
	return strips, 0
}

func (r *chunks) stripHigh() vg.Length {
	return vg.Length(r.gpus*r.degree)*r.row + stripHead + stripFoot + stripGap
}

func (r *chunks) high() vg.Length { return vg.Length(len(r.strips))*r.stripHigh() - stripGap }

func (r *chunks) head() string {
	what := "Chunks on every link, slot by slot"
	if r.some {
		what = "Chunks on the links of GPU 0, slot by slot"
	}
	if r.left > 0 {
		what += fmt.Sprintf(": the first %d of %d slots", r.total-r.left, r.total)
	}
	return what
}

// hopColor is light for the first hop and darker for later ones.
func (r *chunks) hopColor(hop int) color.Color {
	const first, last = 0.9, 0.12 // of the scale
	if r.most == 1 {
		return sheet.Heat(first)
	}
	return sheet.Heat(first + (last-first)*float64(hop-1)/float64(r.most-1))
}

// legend explains the colours of the hops, of many in one sample that goes through all of them.
func (r *chunks) legend() []sheet.Entry {
	const few = 5
	var legend []sheet.Entry
	if r.most > few {
		text := fmt.Sprintf("hops 1 to %d of a chunk, from light to dark", r.most)
		legend = append(legend, sheet.Entry{Text: text, Sample: r.hopSample})
	} else {
		for hop := 1; hop <= r.most; hop++ {
			text := "hop " + strconv.Itoa(hop)
			if hop == 1 {
				text = "first hop of a chunk"
			}
			legend = append(legend, sheet.Entry{Text: text, Sample: sheet.Box(r.hopColor(hop), 1)})
		}
	}
	return append(legend, sheet.Entry{Text: "idle", Sample: sheet.Box(sheet.Faint, 1)}, sheet.Entry{Text: "reconfiguration", Sample: sheet.Box(bandColor, 1)})
}

// hopSample is a bar of the colours of all hops, of more than a sample has dots some.
func (r *chunks) hopSample(c draw.Canvas, lo, hi vg.Point) {
	parts := min(r.most, int(sheet.Swatch/sheet.Pixel))
	wide := (hi.X - lo.X) / vg.Length(parts)
	for i := range parts {
		hop := 1 + i*(r.most-1)/max(1, parts-1)
		at := lo.X + wide*vg.Length(i)
		sheet.Box(r.hopColor(hop), 1)(c, sheet.Point(at, lo.Y), sheet.Point(at+wide, hi.Y))
	}
}

// bandColor is that of a reconfiguration.
var bandColor = color.RGBA{0x77, 0x77, 0x77, 0xff}

func (r *chunks) reading() string {
	whose := "a GPU"
	if r.some {
		whose = "GPU 0"
	}
	note := "A row is a link of " + whose + "; in the grey bar of a reconfiguration stands the GPU that it leads to from then on"
	switch form := r.label(); form {
	case labelBoth:
		note += ". Cells say where a chunk comes from and where it is to go"
	case labelGoal:
		note += ". Cells say where a chunk is to go"
	}
	if len(r.strips) > 1 {
		note += "; a light bar goes on with the topology before"
	}
	return note + "."
}

// labelForm is what cells have room for.
type labelForm int

const (
	labelNone labelForm = iota
	labelGoal           // the destination
	labelBoth           // and the source
)

// label chooses what stands in cells.
func (r *chunks) label() labelForm {
	style := r.labelStyle()
	widest := strconv.Itoa(max(8, r.GPUs-1))
	switch {
	case style.Width(widest+"→"+widest) <= r.cell-2:
		return labelBoth
	case style.Width(widest) <= r.cell-1.5:
		return labelGoal
	}
	return labelNone
}

func (r *chunks) labelStyle() draw.TextStyle {
	return sheet.Aligned(sheet.Sans(sheet.NumberSize, sheet.Ink), draw.XCenter, draw.YCenter)
}

// paint draws the strips.
func (r *chunks) paint(c draw.Canvas) {
	named := -1 // the last phase whose number was written
	for i, strip := range r.strips {
		top := c.Max.Y - r.stripHigh()*vg.Length(i) - stripHead
		high := r.row * vg.Length(r.degree)
		style := sheet.Aligned(sheet.Sans(min(sheet.SmallSize, high*0.9), sheet.Ink), draw.XRight, draw.YCenter)
		for g := range r.gpus {
			c.FillText(style, sheet.Point(c.Min.X+gpuWide-4, top-high*(vg.Length(g)+0.5)+0.5), "GPU "+strconv.Itoa(g))
		}
		x := c.Min.X + gpuWide
		for _, t := range strip {
			r.band(c, t, x, top, named != t.phase)
			named = t.phase
			r.slots(c, t, x+bandWide, top)
			r.numbers(c, t, x+bandWide, top-high*vg.Length(r.gpus)-2)
			x += bandWide + r.cell*vg.Length(t.slots)
		}
	}
}

// rows calls f with each link of a phase and the middle of its row, counted from the top of a strip.
func (r *chunks) rows(phase int, f func(row int, link [2]int, below vg.Length)) {
	for g := range r.gpus {
		for k, l := range r.linksOf(phase, g) {
			f(g*r.degree+k, l, r.row*(vg.Length(g*r.degree+k)+0.5))
		}
	}
}

// band draws a reconfiguration, or where a strip goes on, where links lead.
func (r *chunks) band(c draw.Canvas, t stretch, x, top vg.Length, begins bool) {
	clr := bandColor
	if t.first > 0 { // the strip goes on
		clr = color.RGBA{0xbb, 0xbb, 0xbb, 0xff}
	}
	sheet.FillBox(c, clr, x, x+bandWide-1, top-r.row*vg.Length(r.gpus*r.degree), top)
	style := sheet.Aligned(sheet.Sans(sheet.NumberSize, sheet.Legible(clr)), draw.XCenter, draw.YCenter)
	r.rows(t.phase, func(_ int, l [2]int, below vg.Length) {
		c.FillText(style, sheet.Point(x+bandWide/2-0.5, top-below+0.5), sheet.Fit(style, "→"+strconv.Itoa(l[1]), bandWide))
	})
	if begins && len(r.Phases) > 1 {
		style := sheet.Aligned(sheet.Bold(sheet.SmallSize, sheet.Dim), draw.XLeft, draw.YBottom)
		name, room := fmt.Sprintf("topology %d", t.phase+1), bandWide+r.cell*vg.Length(t.slots)-6
		if style.Width(name) > room {
			name = strconv.Itoa(t.phase + 1)
		}
		if style.Width(name) <= room {
			c.FillText(style, sheet.Point(x, top+2), name)
		}
	}
}

// slots draws the cells of a stretch, with their chunks where there is room.
func (r *chunks) slots(c draw.Canvas, t stretch, x0, top vg.Length) {
	const edge = 0.4 // round a cell
	side := vg.Length(edge)
	if r.cell < 5 {
		side = r.cell / 20
	}
	all := make([]sheet.Bars, r.most+1) // by hop; those that are idle first
	each := func(do func(cell sent, x, y vg.Length)) {
		r.rows(t.phase, func(row int, _ [2]int, below vg.Length) {
			for s := range t.slots {
				do(r.cells[t.phase][row*r.Phases[t.phase].Slots+t.first+s], x0+r.cell*vg.Length(s), top-below)
			}
		})
	}
	each(func(cell sent, x, y vg.Length) {
		all[cell.hop].Add(x+side, x+r.cell-side, y-r.row/2+edge, y+r.row/2-edge)
	})
	all[0].Fill(c, sheet.Faint)
	for hop := 1; hop < len(all); hop++ {
		all[hop].Fill(c, r.hopColor(hop))
	}
	form, style := r.label(), r.labelStyle()
	each(func(cell sent, x, y vg.Length) {
		name := strconv.Itoa(cell.dst)
		switch {
		case form == labelNone || cell.hop == 0:
			return
		case form == labelBoth:
			name = strconv.Itoa(cell.src) + "→" + name
		}
		style.Color = sheet.Legible(r.hopColor(cell.hop))
		c.FillText(style, sheet.Point(x+r.cell/2, y+0.4), name)
	})
}

// numbers numbers some slots of a stretch, below it.
func (r *chunks) numbers(c draw.Canvas, t stretch, x0, y vg.Length) {
	style := sheet.Aligned(sheet.Sans(sheet.NumberSize, sheet.Dim), draw.XCenter, draw.YTop)
	last := vg.Length(math.Inf(-1))
	step := r.step()
	for s := range t.slots {
		slot := r.start[t.phase] + t.first + s + 1
		number := strconv.Itoa(slot)
		mid, half := x0+r.cell*(vg.Length(s)+0.5), style.Width(number)/2
		if (slot == 1 || slot%step == 0) && mid-half > last {
			c.FillText(style, sheet.Point(mid, y), number)
			last = mid + half + 3
		}
	}
}

// step is between slots that have numbers.
func (r *chunks) step() int {
	apart := float64((sheet.Sans(sheet.NumberSize, sheet.Dim).Width(strconv.Itoa(r.total)) + 5) / r.cell)
	step := 1
	for step < int(math.Ceil(apart)) { // 1, 2, 5, 10 ...
		step = int(sheet.RoundStep(float64(step) * 2.1))
	}
	return step
}
