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

func ToRGBA(c color.Color) color.RGBA {
	r, g, b, a := c.RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(a >> 8)}
}

// heatColorStops are colours of rising luminance, which heat goes through: those of the map viridis, which colour-blind
// readers can tell apart.
var heatColorStops = []color.Color{
	color.RGBA{0x44, 0x01, 0x54, 0xff}, color.RGBA{0x3b, 0x52, 0x8b, 0xff}, color.RGBA{0x21, 0x91, 0x8c, 0xff},
	color.RGBA{0x5e, 0xc9, 0x62, 0xff}, color.RGBA{0xfd, 0xe7, 0x25, 0xff},
}

// heatMap is the map of colours of heat between two values: luminance is linear in the share.
func heatMap(lo, hi float64) palette.ColorMap {
	m, err := moreland.NewLuminance(heatColorStops)
	if err != nil {
		panic(err) // the controls are not of rising luminance
	}
	m.SetMin(lo)
	m.SetMax(hi)
	return m
}

var heatColors = sync.OnceValue(func() []color.Color { return heatMap(0, 1).Palette(256).Colors() })

// Heat is the colour of a share from 0, dark, to 1, light.
func Heat(share float64) color.Color {
	all := heatColors()
	i := int(math.Round(min(max(share, 0), 1) * float64(len(all)-1)))
	return ToRGBA(all[i])
}

// Legible is the colour of text on c.
func Legible(c color.Color) color.Color {
	r := ToRGBA(c)
	if 0.299*float64(r.R)+0.587*float64(r.G)+0.114*float64(r.B) > 140 {
		return Ink
	}
	return White
}

// Colours of Okabe and Ito, which colour-blind readers can tell apart.
var (
	Black      = color.RGBA{0x00, 0x00, 0x00, 0xff}
	Orange     = color.RGBA{0xe6, 0x9f, 0x00, 0xff}
	SkyBlue    = color.RGBA{0x56, 0xb4, 0xe9, 0xff}
	Green      = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	Blue       = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	Vermillion = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	Purple     = color.RGBA{0xcc, 0x79, 0xa7, 0xff}
)

// Greys for what is no data, and tints for areas behind data.
var (
	Ink      = color.RGBA{0x22, 0x22, 0x22, 0xff} // text and axes
	Dim      = color.RGBA{0x5c, 0x5c, 0x5c, 0xff} // notes
	Faint    = color.RGBA{0xdd, 0xdd, 0xdd, 0xff} // grid
	Band     = color.RGBA{0xf3, 0xf3, 0xf3, 0xff} // every other group of tracks
	White    = color.RGBA{0xff, 0xff, 0xff, 0xff}
	BlueTint = color.RGBA{0xc5, 0xe3, 0xf6, 0xff}
)

// Tint is a tint of c: white at share 0, c at 1.
func Tint(c color.RGBA, share float64) color.RGBA {
	const least = 0.12 // one circuit must differ from none
	share = min(max(share, 0), 1)
	share = least + (1-least)*share
	f := func(v uint8) uint8 { return uint8(255 - (255-float64(v))*share) }
	return color.RGBA{f(c.R), f(c.G), f(c.B), 0xff}
}

// MaxColorBarLength is the most that a colour bar is long, in points.
const MaxColorBarLength = 220

// ColorBar is the scale of the colours of Heat for values from lo to hi, with ticks for a height.
func ColorBar(title string, u Unit, lo, hi float64, height vg.Length) *plot.Plot {
	const each, nearlyEqual = 26, 1e-6 // points; of a value: closer ones cannot be labelled apart
	p := NewPlot("", "")
	p.HideX()
	p.Y.Label.Text = strings.Join(Wrap(p.Y.Label.TextStyle, title, height*0.95, 3), "\n")
	p.Y.Tick.Marker = Ticker{Unit: u, Count: max(2, int(height/each))}
	if room := max(math.Abs(lo), math.Abs(hi)) * nearlyEqual; hi-lo <= room {
		p.Y.Tick.Marker = FixedTicks([]float64{lo}, []string{Digits(lo*u.Per, 4)})
		hi = lo + max(room, nearlyEqual)
	}
	p.Add(&plotter.ColorBar{ColorMap: heatMap(lo, hi), Vertical: true})
	SetRange(&p.Y, lo, hi)
	return p
}

// ColorBarWidth is how wide a colour bar is with the gap left of it.
func ColorBarWidth(bar *plot.Plot) vg.Length {
	const wide, gap = 13, 14
	c := draw.NewCanvas(new(recorder.Canvas), Width, Width)
	return bar.DataCanvas(c).Min.X + wide + gap
}

// AddColorBar puts a colour bar beside b, at the top.
func (b *Block) AddColorBar(bar *plot.Plot) {
	room := ColorBarWidth(bar)
	b.AsideWidth = room
	b.Aside = func(c draw.Canvas) {
		c.Min, c.Max.X = Point(c.Min.X+14, max(c.Min.Y, c.Max.Y-MaxColorBarLength)), c.Min.X+room
		bar.Draw(c)
	}
}
