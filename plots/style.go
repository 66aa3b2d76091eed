package plots

import (
	"image/color"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colours of Okabe and Ito, which colour-blind readers can tell apart.
var (
	black      = color.RGBA{0x00, 0x00, 0x00, 0xff}
	orange     = color.RGBA{0xe6, 0x9f, 0x00, 0xff}
	skyBlue    = color.RGBA{0x56, 0xb4, 0xe9, 0xff}
	green      = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	blue       = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	vermillion = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	purple     = color.RGBA{0xcc, 0x79, 0xa7, 0xff}
)

// Greys for what is no data, and tints for areas behind data.
var (
	ink      = color.RGBA{0x22, 0x22, 0x22, 0xff} // text and axes
	dim      = color.RGBA{0x5c, 0x5c, 0x5c, 0xff} // notes
	faint    = color.RGBA{0xdd, 0xdd, 0xdd, 0xff} // grid
	band     = color.RGBA{0xf3, 0xf3, 0xf3, 0xff} // every other group of lanes
	white    = color.RGBA{0xff, 0xff, 0xff, 0xff}
	blueTint = color.RGBA{0xc5, 0xe3, 0xf6, 0xff}
)

// lineStyles tell lines apart by colour and by dash; more lines than styles
// begin again.
var lineStyles = []draw.LineStyle{
	{Color: vermillion, Width: 2},
	{Color: blue, Width: 2, Dashes: []vg.Length{7, 3}},
	{Color: green, Width: 2, Dashes: []vg.Length{2, 2}},
	{Color: purple, Width: 2, Dashes: []vg.Length{8, 2, 2, 2}},
	{Color: black, Width: 1.5, Dashes: []vg.Length{4, 4}},
	{Color: orange, Width: 2, Dashes: []vg.Length{12, 3}},
	{Color: skyBlue, Width: 2, Dashes: []vg.Length{1, 3}},
	{Color: dim, Width: 1.5, Dashes: []vg.Length{8, 2, 2, 2, 2, 2}},
}

// Sizes of text in points, for a figure 9 inches wide.
const (
	titleSize   = 15
	headSize    = 11 // above a panel
	labelSize   = 11 // of an axis
	tickSize    = 10
	noteSize    = 9.5
	smallSize   = 8.5
	numberSize  = 7 // inside bars; smaller is not readable
	lineSpacing = 1.25
)

// sans is a text style of a size in points, left-aligned on its baseline.
func sans(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color:   c,
		Font:    font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		XAlign:  draw.XLeft,
		YAlign:  draw.YBottom,
		Handler: plot.DefaultTextHandler,
	}
}

// bold is sans in bold.
func bold(size vg.Length, c color.Color) text.Style {
	s := sans(size, c)
	s.Font.Weight = xfont.WeightBold
	return s
}

// aligned returns s with other alignments.
func aligned(s text.Style, x draw.XAlignment, y draw.YAlignment) text.Style {
	s.XAlign, s.YAlign = x, y
	return s
}

// newPlot returns an empty plot in the style of this package: axes that touch
// the data, no title, no background of its own.
func newPlot(xLabel, yLabel string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = 0
		a.Width, a.Color = 0.75, ink
		a.Tick.Width, a.Tick.Color, a.Tick.Length = 0.75, ink, 4
		tick, label := sans(tickSize, ink), sans(labelSize, ink)
		tick.XAlign, tick.YAlign = a.Tick.Label.XAlign, a.Tick.Label.YAlign
		label.XAlign, label.YAlign = a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign
		a.Tick.Label, a.Label.TextStyle = tick, label
		a.Label.Padding = 3
	}
	p.X.Label.Text, p.Y.Label.Text = xLabel, yLabel
	return p
}

// plotFunc is a plot.Plotter that is a function.
type plotFunc func(c draw.Canvas, p *plot.Plot)

// Plot implements plot.Plotter.
func (f plotFunc) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }
