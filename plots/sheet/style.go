// This file declares the styles of lines and texts, and the style of plots.

package sheet

import (
	"image/color"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// LineStyles are distinguishable by colour and by dash pattern. With more lines than styles,
// the styles repeat.
var LineStyles = []draw.LineStyle{
	Line(Vermillion, 2),
	Line(Blue, 2, 7, 3),
	Line(Green, 2, 2, 2),
	Line(Purple, 2, 8, 2, 2, 2),
	Line(Black, 1.5, 4, 4),
	Line(Orange, 2, 12, 3),
	Line(SkyBlue, 2, 1, 3),
	Line(Dim, 1.5, 8, 2, 2, 2, 2, 2),
}

// Text sizes in points, for a figure 9 inches wide.
const (
	titleSize   = 15
	HeadingSize = 11 // headings of plots
	LabelSize   = 11 // axis titles
	TickSize    = 10
	NoteSize    = 9.5
	SmallSize   = 8.5
	NumberSize  = 7    // numbers inside bars; smaller text is illegible
	LineSpacing = 1.25 // line height divided by text size
)

// Sans returns a text style with a size in points, aligned to the left and to the baseline.
func Sans(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color:   c,
		Font:    font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size),
		XAlign:  draw.XLeft,
		YAlign:  draw.YBottom,
		Handler: plot.DefaultTextHandler,
	}
}

// Bold returns the style of Sans in bold.
func Bold(size vg.Length, c color.Color) text.Style {
	s := Sans(size, c)
	s.Font.Weight = xfont.WeightBold
	return s
}

// Centered returns the style of Sans, centred at a point.
func Centered(size vg.Length, c color.Color) text.Style {
	return Aligned(Sans(size, c), draw.XCenter, draw.YCenter)
}

// Line returns a line style with a width and dash lengths.
func Line(c color.Color, width vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width, Dashes: dashes}
}

// Aligned returns s with other alignments.
func Aligned(s text.Style, x draw.XAlignment, y draw.YAlignment) text.Style {
	s.XAlign, s.YAlign = x, y
	return s
}

// NewPlot returns an empty plot in the style of this package: the axes touch the data, and
// there are no titles and no background.
func NewPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = 0
		a.Width, a.Color = 0.75, Ink
		a.Tick.Width, a.Tick.Color, a.Tick.Length = 0.75, Ink, 4
		tick := Sans(TickSize, Ink)
		label := Sans(LabelSize, Ink)
		tick.XAlign = a.Tick.Label.XAlign
		tick.YAlign = a.Tick.Label.YAlign
		label.XAlign = a.Label.TextStyle.XAlign
		label.YAlign = a.Label.TextStyle.YAlign
		a.Tick.Label, a.Label.TextStyle = tick, label
		a.Label.Padding = 3
	}
	return p
}

// PlotFunc is a function that implements plot.Plotter.
type PlotFunc func(c draw.Canvas, p *plot.Plot)

// Plot implements plot.Plotter.
func (f PlotFunc) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }
