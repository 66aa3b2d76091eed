package plots

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// fill is how bars of a kind look: a colour, and a height as a fraction of
// what there is.
type fill struct {
	color  color.Color
	height vg.Length
}

// pixel is a dot of a PNG file in points. What is finer is merged: it could
// not be seen, and drawing it would take most of the time.
const pixel = 72.0 / dpi

// together is how many bars are drawn as one path: each path costs a pass over
// the image, and the rasteriser searches a row's bars one by one.
const together = 64

// bars collects rectangles of one colour and draws many at once.
type bars struct {
	paths []vg.Path
	count int
	last  vg.Rectangle // the bar being added to
	some  bool
}

// add adds a bar. Bars of one row come in order of x0; those that are closer
// than a pixel and narrow are joined.
func (b *bars) add(x0, x1, y0, y1 vg.Length) {
	x1 = max(x1, x0+pixel/2) // else it would vanish
	if l := &b.last; b.some && l.Min.Y == y0 && l.Max.Y == y1 && x0 >= l.Min.X &&
		(x0-l.Max.X < pixel/2 && (x1-x0 < 2*pixel || l.Max.X-l.Min.X < 2*pixel) || x1 <= l.Max.X) {
		l.Max.X = max(l.Max.X, x1)
		return
	}
	b.flush()
	b.last = vg.Rectangle{Min: point(x0, y0), Max: point(x1, y1)}
	b.some = true
}

func (b *bars) flush() {
	if !b.some {
		return
	}
	if b.count%together == 0 {
		b.paths = append(b.paths, nil)
	}
	b.count++
	l, path := b.last, &b.paths[len(b.paths)-1]
	path.Move(l.Min)
	path.Line(point(l.Max.X, l.Min.Y))
	path.Line(l.Max)
	path.Line(point(l.Min.X, l.Max.Y))
	path.Close()
	b.some = false
}

// fill draws what was added.
func (b *bars) fill(c draw.Canvas, clr color.Color) {
	b.flush()
	c.SetColor(clr)
	for _, p := range b.paths {
		c.Fill(p)
	}
}

// clipped cuts [lo, hi] to the width of c and reports whether something is
// left. A bar of no width inside is left.
func clipped(c draw.Canvas, lo, hi vg.Length) (vg.Length, vg.Length, bool) {
	if hi < c.Min.X || lo > c.Max.X {
		return lo, hi, false
	}
	return max(lo, c.Min.X), min(hi, c.Max.X), true
}
