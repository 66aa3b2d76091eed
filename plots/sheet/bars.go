// This file draws thousands of bars fast, by merging bars that are smaller than a
// pixel.

package sheet

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Pixel is the size of a pixel of a PNG file in points. Smaller shapes are merged: they would
// be invisible, and drawing them would take most of the time.
const Pixel = 72.0 / dpi

// maxBarsPerPath is the number of bars that are filled as one path. Filling a path costs one
// pass over the image, and the time to search its edges grows with their number.
const maxBarsPerPath = 64

// Bars collects rectangles of one colour, to draw many of them at once.
type Bars []vg.Rectangle

// Add adds a bar. The bars of a row must be added in order of x0. A narrow bar that is less
// than half a pixel from the previous one is merged with it.
func (b *Bars) Add(x0, x1, y0, y1 vg.Length) {
	// Narrower bars would be invisible.
	x1 = max(x1, x0+Pixel/2)
	// Merge bars of the same row if one of them is narrow, or if the previous one covers this
	// one.
	if n := len(*b); n > 0 {
		if l := &(*b)[n-1]; l.Min.Y == y0 && l.Max.Y == y1 && x0 >= l.Min.X &&
			(x0-l.Max.X < Pixel/2 && (x1-x0 < 2*Pixel || l.Max.X-l.Min.X < 2*Pixel) ||
				x1 <= l.Max.X) {
			l.Max.X = max(l.Max.X, x1)
			return
		}
	}

	*b = append(*b, vg.Rectangle{Min: Point(x0, y0), Max: Point(x1, y1)})
}

// Fill draws the bars. Each path lists its bars from the last to the first, because the
// rasteriser inserts each edge into its row by a search from the left.
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

// ColoredBars collects rectangles of several colours. A colour that was added first is drawn
// below the others.
type ColoredBars struct {
	order []color.RGBA // colours in the order of their first bar
	bars  map[color.RGBA]*Bars
}

// Add adds a bar of a colour, as Bars.Add does.
func (b *ColoredBars) Add(clr color.RGBA, x0, x1, y0, y1 vg.Length) {
	if b.bars[clr] == nil {
		if b.bars == nil {
			b.bars = map[color.RGBA]*Bars{}
		}
		b.order, b.bars[clr] = append(b.order, clr), new(Bars)
	}
	b.bars[clr].Add(x0, x1, y0, y1)
}

// Fill draws the bars.
func (b *ColoredBars) Fill(c draw.Canvas) {
	for _, clr := range b.order {
		b.bars[clr].Fill(c, clr)
	}
}

// FillBox fills a rectangle.
func FillBox(c draw.Canvas, clr color.Color, x0, x1, y0, y1 vg.Length) {
	c.FillPolygon(clr, RectanglePath(x0, x1, y0, y1)[:4])
}

// Snap rounds a length to whole pixels, so that there is no visible seam between adjacent
// rows.
func Snap(l vg.Length) vg.Length {
	return vg.Length(math.Round(float64(l/Pixel))) * Pixel
}
