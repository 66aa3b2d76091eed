package sheet

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Pixel is a dot of a PNG file in points. What is finer is merged: it could not be seen, and drawing it would take most
// of the time.
const Pixel = 72.0 / dpi

// maxBarsPerPath is how many bars are drawn as one path: each path costs a pass over the image.
const maxBarsPerPath = 64

// Bars collects rectangles of one colour and draws many at once.
type Bars []vg.Rectangle

// Add adds a bar. Bars of one row come in order of x0; those that are closer than a pixel and narrow are joined.
func (b *Bars) Add(x0, x1, y0, y1 vg.Length) {
	x1 = max(x1, x0+Pixel/2) // else it would vanish
	if n := len(*b); n > 0 {
		if l := &(*b)[n-1]; l.Min.Y == y0 && l.Max.Y == y1 && x0 >= l.Min.X &&
			(x0-l.Max.X < Pixel/2 && (x1-x0 < 2*Pixel || l.Max.X-l.Min.X < 2*Pixel) || x1 <= l.Max.X) {
			l.Max.X = max(l.Max.X, x1)
			return
		}
	}
	*b = append(*b, vg.Rectangle{Min: Point(x0, y0), Max: Point(x1, y1)})
}

// Fill draws what was added. Of each path the last bar comes first: the rasteriser looks for the place of an edge from
// the left of its row on.
func (b Bars) Fill(c draw.Canvas, clr color.Color) {
	c.SetColor(clr)
	for bars := range slices.Chunk(b, maxBarsPerPath) {
		path := make(vg.Path, 0, 5*len(bars))
		for _, bar := range slices.Backward(bars) {
			path.Move(bar.Min)
			path.Line(Point(bar.Max.X, bar.Min.Y))
			path.Line(bar.Max)
			path.Line(Point(bar.Min.X, bar.Max.Y))
			path.Close()
		}
		c.Fill(path)
	}
}

// ColoredBars collects rectangles of several colours; a colour that comes first lies below the others.
type ColoredBars struct {
	order []color.RGBA
	bars  map[color.RGBA]*Bars
}

// Add adds a bar, as Add of Bars does.
func (b *ColoredBars) Add(clr color.RGBA, x0, x1, y0, y1 vg.Length) {
	if b.bars[clr] == nil {
		if b.bars == nil {
			b.bars = map[color.RGBA]*Bars{}
		}
		b.order, b.bars[clr] = append(b.order, clr), new(Bars)
	}
	b.bars[clr].Add(x0, x1, y0, y1)
}

// Fill draws what was added.
func (b *ColoredBars) Fill(c draw.Canvas) {
	for _, clr := range b.order {
		b.bars[clr].Fill(c, clr)
	}
}

// FillBox fills a rectangle.
func FillBox(c draw.Canvas, clr color.Color, x0, x1, y0, y1 vg.Length) {
	c.FillPolygon(clr, RectanglePath(x0, x1, y0, y1)[:4])
}

// Snap moves a length to the edge of a pixel: rows that meet there leave no seam.
func Snap(l vg.Length) vg.Length { return vg.Length(math.Round(float64(l/Pixel))) * Pixel }
