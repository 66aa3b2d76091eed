package plots

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
)

// trackChart is rows of bars over an axis, the first on top: work of stages, windows of transfers, chunks on links. It
// is a plot.Plotter.
type trackChart struct {
	count       int
	bars        []bar     // of one colour and track in order; a colour that comes first lies below the others
	barGap      vg.Length // between bars that have room for it, half at each side
	minBarWidth vg.Length // of a bar's width, so that it is seen
	labelSize   vg.Length // of labels
	labelsAbove bool      // labels stand above their bars
}

// bar is an interval of a track, and of the track's height.
type bar struct {
	track    int
	lo, hi   float64
	from, to float64
	color    color.RGBA
	label    string // shown where there is room
}

// stackBar adds a bar on those that it has added before to the interval of a track; foot is their height.
func (t *trackChart) stackBar(track int, lo, hi float64, foot *float64, high float64, clr color.RGBA) {
	if high > 0 {
		t.bars = append(t.bars, bar{track, lo, hi, *foot, *foot + high, clr, ""})
		*foot += high
	}
}

// plot is a plot of t, over what lies below it, without ticks up.
func (t *trackChart) plot(below ...plot.Plotter) *plot.Plot {
	p := sheet.NewPlot("", "")
	sheet.SetRange(&p.Y, 0, float64(t.count))
	p.Y.Tick.Marker = plot.ConstantTicks{}
	p.Y.Tick.Length = 0
	p.Add(append(below, t)...)
	return p
}

// nameTracks writes names of tracks, cut to a width, beside p; an empty one leaves its track without.
func (t *trackChart) nameTracks(p *plot.Plot, width vg.Length, name func(track int) string) {
	var ticks plot.ConstantTicks
	for i := range t.count {
		if n := name(i); n != "" {
			ticks = append(ticks, plot.Tick{Value: t.trackMiddle(i), Label: sheet.Fit(p.Y.Tick.Label, n, width)})
		}
	}
	p.Y.Tick.Marker = ticks
}

// trackMiddle is where the middle of a track is on the axis that goes up.
func (t *trackChart) trackMiddle(track int) float64 { return float64(t.count-track) - 0.5 }

// Plot implements plot.Plotter.
func (t *trackChart) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	box := func(b *bar) (x0, x1, y0, y1 vg.Length) {
		foot := float64(t.count - b.track - 1)
		return x(b.lo), x(b.hi), sheet.Snap(y(foot + b.from)), sheet.Snap(y(foot + b.to)) // so that rows that meet leave no seam
	}
	var all sheet.ColoredBars
	for i := range t.bars {
		b := &t.bars[i]
		x0, x1, y0, y1 := box(b)
		if b.hi < b.lo || b.to <= b.from || x1 < c.Min.X || x0 > c.Max.X {
			continue
		}
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
	type text struct {
		label string
		size  vg.Length
	}
	width := map[text]vg.Length{}
	for i := range t.bars {
		b := &t.bars[i]
		x0, x1, y0, y1 := box(b)
		if b.label == "" || x0 < c.Min.X-sheet.Pixel || x1 > c.Max.X+sheet.Pixel || x1-x0 < t.labelSize/2 {
			continue
		}
		style, at := sheet.Centered(t.labelSize, sheet.Ink), sheet.Point((x0+x1)/2, y1+2)
		if style.YAlign = draw.YBottom; !t.labelsAbove {
			size := min(t.labelSize, (y1-y0)*0.9)
			if size < sheet.NumberSize*0.9 {
				continue
			}
			style, at.Y = sheet.Centered(size, sheet.Legible(b.color)), (y0+y1)/2+size*0.1
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
