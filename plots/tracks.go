// This file draws rows of horizontal bars, the base of all figures with a time axis.

package plots

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
)

// trackChart is a plot.Plotter for rows of horizontal bars over a common axis, the first row on
// top. It shows work of stages, windows of transfers, and chunks on links. All charts with a
// time axis use it.
type trackChart struct {
	count int // number of tracks
	// bars is sorted by start for each colour and track. Colours that occur first are drawn
	// below others.
	bars []bar
	// barGap is the gap in points between bars that are wide enough, half on each side.
	barGap vg.Length
	// minBarWidth is the minimum width in points, so that short bars are visible.
	minBarWidth vg.Length
	labelSize   vg.Length // text size of labels in points
	// labelsAbove reports whether labels are above the bars instead of inside.
	labelsAbove bool
}

// bar is a bar of a track.
type bar struct {
	track int
	// lo and hi are the ends along the axis, in its unit.
	lo, hi float64
	// from and to are the lower and the upper edge. The height of a track is 1.
	from, to float64
	color    color.RGBA
	label    string // printed if it fits
}

// stackBar adds a bar on top of the previous bars of the same interval. foot is their total
// height, which stackBar increases by high.
func (t *trackChart) stackBar(track int, lo, hi float64, foot *float64, high float64, clr color.RGBA) {
	if high > 0 {
		t.bars = append(t.bars, bar{
			track: track,
			lo:    lo,
			hi:    hi,
			from:  *foot,
			to:    *foot + high,
			color: clr,
		})

		*foot += high
	}
}

// plot returns a plot of t above the plotters below. The vertical axis goes from 0 to the number
// of tracks and has no ticks.
func (t *trackChart) plot(below ...plot.Plotter) *plot.Plot {
	p := sheet.NewPlot()
	sheet.SetRange(&p.Y, 0, float64(t.count))
	p.Y.Tick.Marker = plot.ConstantTicks{}
	p.Y.Tick.Length = 0
	p.Add(append(below, t)...)
	return p
}

// nameTracks writes the names of tracks to the left of p, shortened to width. Tracks with an
// empty name get none.
func (t *trackChart) nameTracks(p *plot.Plot, width vg.Length, name func(track int) string) {
	var ticks plot.ConstantTicks
	for i := range t.count {
		if n := name(i); n != "" {
			ticks = append(ticks, plot.Tick{
				Value: t.trackMiddle(i),
				Label: sheet.Fit(p.Y.Tick.Label, n, width),
			})
		}
	}

	p.Y.Tick.Marker = ticks
}

// trackMiddle returns the position of the centre of a track on the vertical axis.
func (t *trackChart) trackMiddle(track int) float64 {
	return float64(t.count-track) - 0.5
}

// Plot implements plot.Plotter. It draws all bars by colour, then the labels.
func (t *trackChart) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)

	// box returns the edges of a bar on the canvas. Horizontal edges are at whole pixels, so
	// that there is no seam between adjacent tracks.
	box := func(b *bar) (x0, x1, y0, y1 vg.Length) {
		foot := float64(t.count - b.track - 1)
		return x(b.lo), x(b.hi), sheet.Snap(y(foot + b.from)),
			sheet.Snap(y(foot + b.to))
	}

	// Draw the bars, clipped to c.
	var all sheet.ColoredBars
	for i := range t.bars {
		b := &t.bars[i]
		x0, x1, y0, y1 := box(b)
		if b.hi < b.lo || b.to <= b.from || x1 < c.Min.X || x0 > c.Max.X {
			continue
		}

		// Widen short bars around their centre; leave a gap between long ones.
		if x1-x0 < t.minBarWidth {
			x0 = min(max((x0+x1-t.minBarWidth)/2, c.Min.X), c.Max.X-t.minBarWidth)
			x1 = x0 + t.minBarWidth
		}

		if x0, x1 = max(x0, c.Min.X), min(x1, c.Max.X); x1-x0 > 4*sheet.Pixel {
			x0, x1 = x0+t.barGap/2, x1-t.barGap/2
		}
		all.Add(b.color, x0, x1, y0, y1)
	}

	all.Fill(c)

	// Print the labels. width caches the widths of texts, because many bars have equal labels.
	type text struct {
		label string
		size  vg.Length
	}
	width := map[text]vg.Length{}
	for i := range t.bars {
		b := &t.bars[i]
		x0, x1, y0, y1 := box(b)
		if b.label == "" || x0 < c.Min.X-sheet.Pixel || x1 > c.Max.X+sheet.Pixel ||
			x1-x0 < t.labelSize/2 {
			continue
		}

		// A label is above its bar, or inside it in a size that fits.
		style := sheet.Centered(t.labelSize, sheet.Ink)
		at := sheet.Point((x0+x1)/2, y1+2)
		if style.YAlign = draw.YBottom; !t.labelsAbove {
			size := min(t.labelSize, (y1-y0)*0.9)
			if size < sheet.NumberSize*0.9 {
				continue
			}
			style = sheet.Centered(size, sheet.Legible(b.color))
			at.Y = (y0+y1)/2 + size*0.1
		}

		key := text{b.label, style.Font.Size}
		if _, ok := width[key]; !ok {
			width[key] = style.Width(b.label)
		}

		if width[key] <= x1-x0-2*sheet.Pixel {
			c.FillText(style, at, b.label)
		}
	}
}
