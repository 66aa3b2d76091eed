// This file draws the chunks of a plan in slots, slot by slot.

package plots

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"sim/plots/sheet"
)

// chunkStrips draws the transmissions of a plan: one track per link, one column per slot. The
// columns are divided into strips, one below another.
type chunkStrips struct {
	*planPicture
	// onlyFirstGPU reports whether only the links of GPU 0 are drawn.
	onlyFirstGPU bool
	gpus         int // GPUs whose links are drawn
	degree       int // tracks per GPU
	// row is the height of a track in points.
	row  vg.Length
	cell vg.Length // width of a slot in points
	// strips has the ranges of slots of each strip.
	strips [][]slotRange
	left   int // slots that are not drawn
}

// transmission is a chunk in a cell: the GPUs where the chunk starts and ends, and the number of
// its hop, from 1. The zero value is an idle cell.
type transmission struct{ src, dst, hop int }

// slotRange is a range of slots of a phase within a strip. first is counted within the phase.
type slotRange struct{ phase, first, slots int }

// Sizes in points, except maxLinkRows.
const (
	// maxLinkRows is the maximum number of links. Plans with more are drawn for GPU 0 only.
	maxLinkRows = 24
	// bandWidth is the width of a reconfiguration, for a label such as "→63".
	bandWidth = 19
	// gpuLabelWidth is the width of the labels to the left of the tracks.
	gpuLabelWidth = 42
	maxSlotWidth  = 26 // wider slots would look like areas
	// stripMargin is the vertical space around a strip.
	stripMargin     = 34
	maxStripsHeight = 460 // height of all strips
)

// Colours of a reconfiguration, and of the beginning of a strip that continues with the
// previous topology.
var (
	bandColor      = color.RGBA{0x77, 0x77, 0x77, 0xff}
	continuedColor = color.RGBA{0xbb, 0xbb, 0xbb, 0xff}
)

// newChunkStrips lays out the transmissions of a plan. If all links would need too many tracks,
// it draws only the links of GPU 0, with higher tracks.
func newChunkStrips(p *planPicture) *chunkStrips {
	const rowHeight, onlyGPURowHeight = 11, 16
	r := &chunkStrips{planPicture: p, gpus: p.GPUs, row: rowHeight}
	for i := range p.Phases {
		for g := range p.GPUs {
			r.degree = max(r.degree, len(p.linksOf(i, g)))
		}
	}

	if r.gpus*r.degree > maxLinkRows {
		r.onlyFirstGPU, r.gpus, r.row = true, 1, onlyGPURowHeight
	}
	r.chooseLayout()

	return r
}

// minSlotWidths are the preferred minimum widths of a slot in points: to read destinations, to
// distinguish slots, to see colours.
var minSlotWidths = []vg.Length{13, 9, 3, 1}

// chooseLayout divides the slots into as few strips as possible, with the largest of
// minSlotWidths that fits. For each minimum width and number of strips, it tries slot widths
// from the largest down. Slots that do not fit even with the smallest width are omitted.
func (r *chunkStrips) chooseLayout() {
	maxStrips := max(1, int(maxStripsHeight/(vg.Length(r.gpus*r.degree)*r.row+stripMargin)))
	for _, minWidth := range minSlotWidths {
		for n := 1; n <= maxStrips; n++ {
			for r.cell = maxSlotWidth; r.cell >= minWidth; r.cell-- {
				if r.strips, r.left = r.splitIntoStrips(r.cell, n); r.left == 0 {
					return
				}
			}
			r.cell = minWidth
		}
	}
}

// stripWidth is the width of the data of a strip in points.
const stripWidth = sheet.ContentWidth - gpuLabelWidth - 1

// splitIntoStrips divides the slots into at most n strips with slots of the given width. left
// is the number of slots that do not fit.
func (r *chunkStrips) splitIntoStrips(width vg.Length, n int) (strips [][]slotRange, left int) {
	// space is the free width of the last strip.
	space := vg.Length(0)
	for i := range r.Phases {
		for s := 0; s < r.Phases[i].Slots; {
			// A reconfiguration is followed by at least one slot.
			if space < bandWidth+width {
				if len(strips) == n {
					return strips, r.Rounds - r.Parts[i].FirstRound - s
				}
				strips = append(strips, nil)
				space = stripWidth
			}

			// Put as many slots of the phase into this strip as fit.
			space -= bandWidth
			take := min(r.Phases[i].Slots-s, int(space/width))
			last := &strips[len(strips)-1]
			*last = append(*last, slotRange{phase: i, first: s, slots: take})
			s += take
			space -= vg.Length(take) * width
		}
	}

	return strips, 0
}

// block returns a block with one plot per strip.
func (r *chunkStrips) block() sheet.Block {
	b := sheet.Block{Height: vg.Length(r.gpus*r.degree) * r.row}
	for i, strip := range r.strips {
		p := r.plot(strip)
		if i == 0 {
			sheet.AddHeading(p, r.head())
		}
		b.Plots = append(b.Plots, p)
	}

	return b
}

// head returns the heading of the first strip.
func (r *chunkStrips) head() string {
	what := "Chunks on every link, slot by slot"
	if r.onlyFirstGPU {
		what = "Chunks on the links of GPU 0, slot by slot"
	}
	if r.left > 0 {
		what += fmt.Sprintf(": the first %d of %d slots", r.Rounds-r.left, r.Rounds)
	}

	return what
}

// plot plots a strip.
//
// Each range of slots begins with a bar for the reconfiguration, or for the continued topology,
// with the destinations of the links. Then follow the cells. Cells are drawn by hop, so that
// idle cells are below all others. Ticks have the numbers of topologies and slots.
func (r *chunkStrips) plot(strip []slotRange) *plot.Plot {
	t := &trackChart{
		count:     r.gpus * r.degree,
		barGap:    0.8,
		labelSize: sheet.NumberSize,
	}

	if r.cell < 5 { // the usual gap would hide narrow cells
		t.barGap = r.cell / 10
	}

	// cells has the bars of each hop; index 0 has idle cells.
	cells := make([][]bar, r.MaxHops+1)
	var ticks []plot.Tick

	// both reports whether a cell has space for source and destination. last is the right end of
	// the last tick label, so that labels do not overlap.
	both := r.fitsCell("→", 2)
	last := math.Inf(-1)
	style := sheet.Sans(sheet.NumberSize, sheet.Dim)
	step := r.numberInterval()

	x := 0.0
	for _, s := range strip {
		// Number the topology below its reconfiguration.
		clr := bandColor
		if s.first > 0 {
			clr = continuedColor
		} else if len(r.Phases) > 1 {
			ticks = append(ticks, plot.Tick{
				Value: x + bandWidth/2,
				Label: fmt.Sprintf("T%d", s.phase+1),
			})
			last = x + bandWidth/2 + float64(style.Width(ticks[len(ticks)-1].Label))/2
		}

		// Draw the reconfiguration behind all tracks.
		t.bars = append(t.bars, bar{
			track: t.count - 1,
			lo:    x,
			hi:    x + bandWidth - 1,
			from:  0,
			to:    float64(t.count),
			color: clr,
		})

		from := x + bandWidth
		wide := float64(r.cell)

		sentIn := r.phaseCells(s.phase)

		// Draw the links of each GPU: the destination in the bar, then a cell per slot.
		for g := range r.gpus {
			for k, l := range r.linksOf(s.phase, g) {
				row := g*r.degree + k
				t.bars = append(t.bars,
					bar{
						track: row,
						lo:    x,
						hi:    x + bandWidth - 1,
						from:  0.05,
						to:    0.95,
						color: clr,
						label: "→" + strconv.Itoa(l[1]),
					})

				for slot := range s.slots {
					c := sentIn[row*r.Phases[s.phase].Slots+s.first+slot]
					b := bar{
						track: row,
						lo:    from + wide*float64(slot),
						hi:    from + wide*float64(slot+1),
						from:  0.04,
						to:    0.96,
						color: sheet.Faint,
					}

					if c.hop > 0 {
						b.color = sheet.ToRGBA(r.hopColor(c.hop))
						b.label = strconv.Itoa(c.dst)
						if both {
							b.label = strconv.Itoa(c.src) + "→" + b.label
						}
					}

					cells[c.hop] = append(cells[c.hop], b)
				}
			}
		}

		// Number the slots. end is the right end of the space for slot numbers; the next
		// topology follows.
		end := from + wide*float64(s.slots)
		for i := range s.slots {
			slot := r.Parts[s.phase].FirstRound + s.first + i + 1
			label := strconv.Itoa(slot)
			mid := from + wide*(float64(i)+0.5)
			half := float64(style.Width(label)) / 2
			if (slot == 1 || slot%step == 0) && mid-half > last+3 &&
				mid+half <= end {
				ticks = append(ticks, plot.Tick{Value: mid, Label: label})
				last = mid + half
			}
		}

		x = end
	}

	// Idle cells first, so that they are below.
	for _, list := range cells {
		t.bars = append(t.bars, list...)
	}

	// Set up the axes: a fixed scale without lines, the numbers below, the GPUs to the left.
	p := t.plot()
	sheet.SetRange(&p.X, 0, float64(stripWidth))
	p.X.Width, p.Y.Width, p.X.Tick.Length, p.X.Tick.Color = 0, 0, 1, color.Transparent
	p.X.Tick.Label.Font, p.X.Tick.Label.Color, p.X.Tick.Marker = style.Font, style.Color, plot.ConstantTicks(ticks)

	// Name each GPU at the middle of its tracks.
	var names plot.ConstantTicks
	for g := range r.gpus {
		names = append(names, plot.Tick{
			Value: float64(t.count) - float64(r.degree)*(float64(g)+0.5),
			Label: "GPU " + strconv.Itoa(g),
		})
	}

	p.Y.Tick.Marker, p.Y.Tick.Label.Font = names, sheet.Sans(min(sheet.SmallSize,
		r.row*vg.Length(r.degree)*0.9), sheet.Ink).Font
	return p
}

// phaseCells assigns the transmissions of a phase to cells, indexed by row*slots + slot. Row
// g*degree + k is link k of GPU g. With parallel links, the first free one is used.
func (r *chunkStrips) phaseCells(phase int) map[int]transmission {
	ph := &r.Phases[phase]
	cells := map[int]transmission{}
	for j, t := range ph.Sent {
		slot, sender, receiver, src, dst := t[0], t[1], t[2], t[3], t[4]
		if sender >= r.gpus {
			continue
		}
		for k, l := range r.linksOf(phase, sender) {
			at := (sender*r.degree+k)*ph.Slots + slot
			if _, taken := cells[at]; l[1] == receiver && !taken {
				cells[at] = transmission{src: src, dst: dst, hop: r.Parts[phase].Hops[j]}
				break
			}
		}
	}

	return cells
}

// hopColor returns the colour of a hop, counted from 1: light for the first, darker for later
// ones.
func (r *chunkStrips) hopColor(hop int) color.Color {
	// Shares of the colour scale.
	const first, last = 0.9, 0.12
	return sheet.Heat(first + (last-first)*float64(hop-1)/float64(max(1,
		r.MaxHops-1)))
}

// addLegend explains the colours of hops; many hops share one sample with all their colours.
func (r *chunkStrips) addLegend(s *sheet.Sheet) {
	const maxSeparateHops = 5
	if r.MaxHops > maxSeparateHops {
		s.AddLegend(fmt.Sprintf("hops 1 to %d of a chunk, from light to dark",
			r.MaxHops), colorScale(func(share float64) color.Color {
			return r.hopColor(1 + int(share*float64(r.MaxHops-1)+0.5))
		}))
	} else {
		for hop := 1; hop <= r.MaxHops; hop++ {
			text := "hop " + strconv.Itoa(hop)
			if hop == 1 {
				text = "first hop of a chunk"
			}
			s.AddLegend(text, sheet.BoxSample(r.hopColor(hop)))
		}
	}

	s.AddLegend("idle", sheet.BoxSample(sheet.Faint))
	s.AddLegend("reconfiguration", sheet.BoxSample(bandColor))
}

// readingNote returns a note that explains how to read the strips. It mentions only parts that
// are in the figure.
func (r *chunkStrips) readingNote() string {
	owner := "a GPU"
	if r.onlyFirstGPU {
		owner = "GPU 0"
	}
	note := "A row is a link of " + owner +
		"; in the grey bar of a reconfiguration stands the GPU that it leads to from then on"
	if len(r.Phases) > 1 {
		note += ", below it the number of the topology"
	}

	switch {
	case r.fitsCell("→", 2):
		note += ". Cells say where a chunk comes from and where it is to go"
	case r.fitsCell("", 1):
		note += ". Cells say where a chunk is to go"
	}

	if r.timed() {
		note += ". Below, reconfigurations are to scale"
	}
	if len(r.strips) > 1 {
		note += "; a light bar goes on with the topology before"
	}

	return note + "."
}

// fitsCell reports whether a cell can contain the numbers of the given number of GPUs, with a
// sign between them.
func (r *chunkStrips) fitsCell(sign string, gpus vg.Length) bool {
	style := sheet.Sans(sheet.NumberSize, sheet.Ink)
	return gpus*style.Width(strconv.Itoa(max(8,
		r.GPUs-1)))+style.Width(sign) <= r.cell-1
}

// numberInterval returns the interval between numbered slots: the smallest of 1, 2, 5, 10, ...
// at which the numbers do not touch.
func (r *chunkStrips) numberInterval() int {
	minSpacing := (sheet.Sans(sheet.NumberSize,
		sheet.Dim).Width(strconv.Itoa(r.Rounds)) + 5) / r.cell
	step := 1
	for vg.Length(step) < minSpacing {
		step = int(sheet.RoundStep(float64(step) * 2.1))
	}
	return step
}
