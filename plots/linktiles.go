package plots

import (
	"fmt"
	"image/color"
	"math"

	"sim/plots/sheet"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// corner is the lower left corner of a node's tile.
func (k *linkLoads) corner(c draw.Canvas, node int) vg.Point {
	dims := k.dims
	z := node % dims[2]
	y := node / dims[2] % dims[1]
	x := node / dims[2] / dims[1]
	g := &k.tile
	block := sheet.Point(
		c.Min.X+vg.Length(z%g.columns)*g.tile*(vg.Length(dims[0])+sliceGap),
		c.Max.Y-vg.Length(z/g.columns)*(g.tile*vg.Length(dims[1])+sliceLabel)-g.tile*vg.Length(dims[1]))
	return sheet.Point(block.X+g.tile*vg.Length(x), block.Y+g.tile*vg.Length(y))
}

// paint draws the panel of a direction.
func (k *linkLoads) paint(c draw.Canvas, dir int) {
	const shades = 128
	var tiles [shades + 1]sheet.Bars // tiles of one colour are drawn at once
	side := k.tile.tile
	edge := func(v vg.Length) (lo, hi vg.Length) { return v + 0.35, v + side - 0.35 }
	if side < 2.5 { // no room for gaps; whole pixels, or tiles would have seams
		snap := func(v vg.Length) vg.Length { return vg.Length(math.Round(float64(v/sheet.Pixel))) * sheet.Pixel }
		edge = func(v vg.Length) (lo, hi vg.Length) { return snap(v), snap(v + side) }
	}
	add := func(b *sheet.Bars, p vg.Point) {
		x0, x1 := edge(p.X)
		y0, y1 := edge(p.Y)
		b.Add(x0, x1, y0, y1)
	}
	absent := sheet.Bars{}
	var dead, drained, peaks []vg.Point
	for node, i := range k.at[dir] {
		p := k.corner(c, node)
		if i < 0 {
			add(&absent, p)
			continue
		}
		l := &k.lattice.Links[i]
		switch {
		case l.State == "down":
			dead = append(dead, p)
		case l.State == "drained" && l.Load == 0:
			drained = append(drained, p)
		default:
			share := 0.0
			if k.most > 0 {
				share = l.Load / k.most
			}
			add(&tiles[int(share*shades+0.5)], p)
			if l.State == "drained" {
				drained = append(drained, p)
			}
		}
		if sheet.Near(l.Load, k.most) {
			peaks = append(peaks, p)
		}
	}
	absent.Fill(c, sheet.Band)
	for i := range tiles {
		tiles[i].Fill(c, sheet.Heat(float64(i)/shades))
	}
	for _, p := range drained {
		drainedTile(c, p.X, p.Y, side)
	}
	for _, p := range dead {
		deadTile(c, p.X, p.Y, side)
	}
	if k.outlined() {
		for _, p := range peaks {
			outlineTile(c, p.X, p.Y, side)
		}
	}
	k.slices(c)
}

// slices labels the blocks.
func (k *linkLoads) slices(c draw.Canvas) {
	if len(k.lattice.Dims) < 3 {
		return
	}
	wide := k.tile.tile * vg.Length(k.dims[0])
	style := sheet.Aligned(sheet.Sans(min(sheet.SmallSize, max(wide*0.45, 5)), sheet.Dim), draw.XCenter, draw.YTop)
	for z := range k.dims[2] {
		text := fmt.Sprintf("z = %d", z)
		if style.Width(text) > wide {
			text = fmt.Sprint(z)
		}
		p := k.corner(c, z) // of the node at x = y = 0
		c.FillText(style, sheet.Point(p.X+wide/2, p.Y-1), text)
	}
}

func paintTile(c draw.Canvas, x, y, side vg.Length, clr color.Color) {
	r := sheet.Bars{}
	r.Add(x, x+side, y, y+side)
	r.Fill(c, clr)
}

// deadTile is black with a cross.
func deadTile(c draw.Canvas, x, y, side vg.Length) {
	paintTile(c, x, y, side, sheet.Black)
	if side < 3 {
		return
	}
	in := side * 0.22
	c.StrokeLines(draw.LineStyle{Color: sheet.White, Width: max(0.5, side*0.08)},
		[]vg.Point{sheet.Point(x+in, y+in), sheet.Point(x+side-in, y+side-in)}, []vg.Point{sheet.Point(x+in, y+side-in), sheet.Point(x+side-in, y+in)})
}

// drainedTile is grey with stripes.
func drainedTile(c draw.Canvas, x, y, side vg.Length) {
	paintTile(c, x, y, side, color.RGBA{0xbb, 0xbb, 0xbb, 0xff})
	if side < 3 {
		return
	}
	style := draw.LineStyle{Color: sheet.Ink, Width: max(0.4, side*0.06)}
	half := side / 2
	c.StrokeLines(style, []vg.Point{sheet.Point(x, y+half), sheet.Point(x+half, y+side)}, []vg.Point{sheet.Point(x, y), sheet.Point(x+side, y+side)},
		[]vg.Point{sheet.Point(x+half, y), sheet.Point(x+side, y+half)})
}

// outlineTile marks the most loaded.
func outlineTile(c draw.Canvas, x, y, side vg.Length) {
	width := min(max(side*0.16, 0.5), 1.6)
	c.StrokeLines(draw.LineStyle{Color: sheet.Vermillion, Width: width}, sheet.Ring4(x+width/2, x+side-width/2, y+width/2, y+side-width/2))
}
