package plots

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"sim/plots/sheet"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// paintMatrix draws the pods as rows and columns; the last column is the
// twins'.
func (c *wiring) paintMatrix(cv draw.Canvas) {
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
		var b sheet.Bars
		b.Add(x, x+cell, y, y+cell)
		b.Fill(cv, sheet.Mix(circuitColor, share))
		if cell >= 13 {
			ink := sheet.Ink
			if share > 0.5 {
				ink = sheet.White
			}
			cv.FillText(sheet.Aligned(sheet.Sans(min(cell*0.5, sheet.TickSize), ink), draw.XCenter, draw.YCenter), sheet.Point(x+cell/2, y+cell/2+1), strconv.Itoa(circuits))
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

func (c *wiring) matrixFrame(cv draw.Canvas, n int, cell vg.Length, at func(r, col int) (x, y vg.Length)) {
	left, bottom := at(n-1, 0)
	right, top := at(-1, n)
	line := draw.LineStyle{Color: sheet.Dim, Width: 0.75}
	frame := vg.Rectangle{Min: sheet.Point(left, bottom), Max: sheet.Point(right, top)}
	cv.SetLineStyle(line)
	cv.Stroke(frame.Path())
	style := sheet.Sans(sheet.SmallSize, sheet.Ink)
	step := max(1, int(math.Ceil(float64(style.Width("000")+2)/float64(cell))))
	names := make([]string, n)
	for i, p := range c.topology.Pods {
		names[i] = sheet.Plain(p.Name)
	}
	_, short := sheet.CommonPrefix(names)
	for i := 0; i < n; i += step {
		x, y := at(i, i)
		text := sheet.Fit(style, short[i], 30)
		cv.FillText(sheet.Aligned(style, draw.XCenter, draw.YBottom), sheet.Point(x+cell/2, top+2), text)
		cv.FillText(sheet.Aligned(style, draw.XRight, draw.YCenter), sheet.Point(left-3, y+cell/2+1), text)
	}
	if len(c.twin) > 0 {
		x, _ := at(0, n+1)
		cv.SetLineStyle(line)
		twins := vg.Rectangle{Min: sheet.Point(x, bottom), Max: sheet.Point(x+cell, top)}
		cv.Stroke(twins.Path())
		cv.FillText(sheet.Aligned(style, draw.XCenter, draw.YBottom), sheet.Point(x+cell/2, top+2), "twins")
	}
}
