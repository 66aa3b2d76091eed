// This file declares the colours of figures, and draws colour bars.

package sheet

import (
	"image/color"
	"math"
	"strings"
	"sync"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// ToRGBA converts a colour to 8 bits per channel.
func ToRGBA(c color.Color) color.RGBA {
	r, g, b, a := c.RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(a >> 8)}
}

// heatColorStops are colours of increasing luminance from the colour map viridis, which
// colour-blind readers can distinguish. Heat interpolates between them.
var heatColorStops = []color.Color{
	color.RGBA{0x44, 0x01, 0x54, 0xff}, color.RGBA{0x3b, 0x52, 0x8b, 0xff},
	color.RGBA{0x21, 0x91, 0x8c, 0xff},
	color.RGBA{0x5e, 0xc9, 0x62, 0xff}, color.RGBA{0xfd, 0xe7, 0x25, 0xff},
}

// heatMap returns the colour map for values from lo to hi. Luminance is linear in the value.
func heatMap(lo, hi float64) palette.ColorMap {
	m, err := moreland.NewLuminance(heatColorStops)
	if err != nil {
		// Only if luminance does not increase.
		panic(err)
	}
	m.SetMin(lo)
	m.SetMax(hi)
	return m
}

// heatColors returns the colours of the colour map in numHeatColors steps, computed once.
var heatColors = sync.OnceValue(func() []color.Color {
	const numHeatColors = 256 // readers cannot distinguish more
	return heatMap(0, 1).Palette(numHeatColors).Colors()
})

// Heat returns the colour of a share between 0 (dark) and 1 (light).
func Heat(share float64) color.Color {
	all := heatColors()
	i := int(math.Round(min(max(share, 0), 1) * float64(len(all)-1)))
	return ToRGBA(all[i])
}

// Legible returns a text colour with sufficient contrast to the background c.
func Legible(c color.Color) color.Color {
	r := ToRGBA(c)
	const maxDark = 140 // largest luma (ITU-R BT.601), of 255, at which white text is legible
	if 0.299*float64(r.R)+0.587*float64(r.G)+0.114*float64(r.B) > maxDark {
		return Ink
	}
	return White
}

// Colours of Okabe and Ito (Color Universal Design, 2008), which colour-blind readers can
// distinguish.
var (
	Black      = color.RGBA{0x00, 0x00, 0x00, 0xff}
	Orange     = color.RGBA{0xe6, 0x9f, 0x00, 0xff}
	SkyBlue    = color.RGBA{0x56, 0xb4, 0xe9, 0xff}
	Green      = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	Blue       = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	Vermillion = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	Purple     = color.RGBA{0xcc, 0x79, 0xa7, 0xff}
	Yellow     = color.RGBA{0xf0, 0xe4, 0x42, 0xff}
)

// Brown can be distinguished from the colours of Okabe and Ito by its luminance.
var Brown = color.RGBA{0x66, 0x33, 0x00, 0xff}

// Greys for text, axes and backgrounds, and tints for areas behind data.
var (
	Ink      = color.RGBA{0x22, 0x22, 0x22, 0xff} // text and axes
	Dim      = color.RGBA{0x5c, 0x5c, 0x5c, 0xff} // notes
	Faint    = color.RGBA{0xdd, 0xdd, 0xdd, 0xff} // grid
	Band     = color.RGBA{0xf3, 0xf3, 0xf3, 0xff} // background of every other group of tracks
	White    = color.RGBA{0xff, 0xff, 0xff, 0xff}
	BlueTint = color.RGBA{0xc5, 0xe3, 0xf6, 0xff}
)

// Tint mixes c with white: a light tint at share 0, c at share 1. Shares outside this range
// count as 0 or 1.
func Tint(c color.RGBA, share float64) color.RGBA {
	// Even the lightest tint differs from white.
	const minShare = 0.12
	share = min(max(share, 0), 1)
	share = minShare + (1-minShare)*share
	f := func(v uint8) uint8 { return uint8(255 - (255-float64(v))*share) }
	return color.RGBA{f(c.R), f(c.G), f(c.B), 0xff}
}

// MaxColorBarLength is the maximum length of a colour bar in points.
const MaxColorBarLength = 220

// ColorBar returns a plot with the colour scale of Heat for values from lo to hi. title is the
// axis title and u the unit of the labels. The number of ticks suits the height in points.
func ColorBar(title string, u Unit, lo, hi float64, height vg.Length) *plot.Plot {
	const (
		pointsPerTick = 26 // points per tick
		// relTol is the relative difference below which two values have the same label.
		relTol = 1e-6
	)
	p := NewPlot()
	p.HideX()
	const titleShare, titleLines = 0.95, 3 // of the height
	p.Y.Label.Text = strings.Join(Wrap(p.Y.Label.TextStyle, title, height*titleShare, titleLines), "\n")
	p.Y.Tick.Marker = Ticker{Unit: u, Count: max(2, int(height/pointsPerTick))}
	if width := max(math.Abs(lo), math.Abs(hi)) * relTol; hi-lo <= width {
		p.Y.Tick.Marker = FixedTicks([]float64{lo}, []string{Digits(lo*u.Per, 4)})
		hi = lo + max(width, relTol)
	}

	p.Add(&plotter.ColorBar{ColorMap: heatMap(lo, hi), Vertical: true})
	SetRange(&p.Y, lo, hi)
	return p
}

// ColorBarWidth returns the width of a colour bar in points, including its labels and the gap to
// its left.
func ColorBarWidth(bar *plot.Plot) vg.Length {
	const barWidth, gap = 13, 14
	c := draw.NewCanvas(new(recorder.Canvas), Width, Width)
	return bar.DataCanvas(c).Min.X + barWidth + gap
}

// AddColorBar puts a colour bar to the right of the plots, at the top.
func (b *Block) AddColorBar(bar *plot.Plot) {
	width := ColorBarWidth(bar)
	b.SideWidth = width
	b.DrawSide = func(c draw.Canvas) {
		c.Min, c.Max.X = Point(c.Min.X+14,
			max(c.Min.Y, c.Max.Y-MaxColorBarLength)), c.Min.X+width
		bar.Draw(c)
	}
}
