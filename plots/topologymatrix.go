package plots

import (
	"image/color"
	"maps"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// paintMatrix draws the pods as rows and columns; the last column is the
// twins'.
func (c *chart) paintMatrix(cv draw.Canvas) {
	n := len(c.topology.Pods)
	size := cv.Size()
	const labels = 18
	cell := min((size.X-labels)/vg.Length(n+2), (size.Y-labels)/vg.Length(n), 26)
	at := func(r, col int) (x, y vg.Length) {
		return cv.Min.X + labels + cell*vg.Length(col), cv.Max.Y - labels - cell*vg.Length(r+1)
	}
	put := func(r, col, circuits int) {
		share := float64(circuits) / float64(max(1, c.most))
		x, y := at(r, col)
		var b bars
		b.add(x, x+cell, y, y+cell)
		b.fill(cv, mix(circuitColor, share))
		if cell >= 13 {
			ink := ink
			if share > 0.5 {
				ink = white
			}
			cv.FillText(aligned(sans(min(cell*0.5, tickSize), ink), draw.XCenter, draw.YCenter), point(x+cell/2, y+cell/2+1), strconv.Itoa(circuits))
		}
	}
	for _, pair := range c.pairs() {
		if m := c.count[pair]; m > 0 {
			put(pair[0], pair[1], m)
			put(pair[1], pair[0], m)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(c.twin)) {
		put(i, n+1, c.twin[i].circuits)
	}
	c.matrixFrame(cv, n, cell, at)
}

func (c *chart) matrixFrame(cv draw.Canvas, n int, cell vg.Length, at func(r, col int) (x, y vg.Length)) {
	left, bottom := at(n-1, 0)
	right, top := at(-1, n)
	line := draw.LineStyle{Color: dim, Width: 0.75}
	frame := vg.Rectangle{Min: point(left, bottom), Max: point(right, top)}
	cv.SetLineStyle(line)
	cv.Stroke(frame.Path())
	style := sans(smallSize, ink)
	step := max(1, int(math.Ceil(float64(style.Width("000")+2)/float64(cell))))
	names := make([]string, n)
	for i, p := range c.topology.Pods {
		names[i] = plain(p.Name)
	}
	_, short := commonPrefix(names)
	for i := 0; i < n; i += step {
		x, y := at(i, i)
		text := fit(style, short[i], 30)
		cv.FillText(aligned(style, draw.XCenter, draw.YBottom), point(x+cell/2, top+2), text)
		cv.FillText(aligned(style, draw.XRight, draw.YCenter), point(left-3, y+cell/2+1), text)
	}
	if len(c.twin) > 0 {
		x, _ := at(0, n+1)
		cv.SetLineStyle(line)
		twins := vg.Rectangle{Min: point(x, bottom), Max: point(x+cell, top)}
		cv.Stroke(twins.Path())
		cv.FillText(aligned(style, draw.XCenter, draw.YBottom), point(x+cell/2, top+2), "twins")
	}
}

// mix is a tint of c: white at share 0, c at 1.
func mix(c color.RGBA, share float64) color.Color {
	const least = 0.12 // one circuit must differ from none
	share = min(max(share, 0), 1)
	share = least + (1-least)*share
	f := func(v uint8) uint8 { return uint8(255 - (255-float64(v))*share) }
	return color.RGBA{f(c.R), f(c.G), f(c.B), 0xff}
}
