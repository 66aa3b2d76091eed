// This file draws the topologies of a plan.

package plots

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/internal/text"
	"sim/plots/sheet"
)

// topology draws the links of topology i: as arrows between GPUs on a circle, or as a matrix if
// there are many GPUs. high is the maximum height in points. If the plan does not list the
// links, the picture has only their number.
func (p *planPicture) topology(c draw.Canvas, i int, high vg.Length) {
	set := &p.Topologies[i]
	size := c.Size()

	// side is the same in all pictures of a figure.
	const minSide = 40
	side := max(min(size.X, size.Y, high), minSide)
	switch {
	case set.Unlisted > 0:
		style := sheet.Aligned(sheet.Sans(sheet.NoteSize, sheet.Dim), draw.XLeft,
			draw.YTop)
		c.FillText(style, sheet.Point(c.Min.X, c.Max.Y-6),
			sheet.Fit(style, text.Plural(set.Unlisted, "link")+", too many to draw",
				size.X))
		return

	case p.GPUs > maxCircleGPUs:
		p.matrix(c, set.Links)
		return
	}

	// Place the GPUs on a circle, clockwise from the top. node is the radius of a GPU in points.
	n := p.GPUs
	radius := side/2 - 10
	mid := c.Center()
	at := func(g int) vg.Point {
		sin, cos := math.Sincos(math.Pi/2 - 2*math.Pi*float64(g)/float64(n))
		return sheet.Point(mid.X+radius*vg.Length(cos), mid.Y+radius*vg.Length(sin))
	}

	node := min(9, radius*math.Pi/vg.Length(n)*0.9)

	// Draw the links. Links are sorted, so parallel ones are adjacent and become one arrow.
	links, offsets := set.Links, set.Offsets
	for i := 0; i < len(links); {
		j := i + 1
		for j < len(links) && links[j] == links[i] {
			j++
		}
		p.arrow(c, at(links[i][0]), at(links[i][1]), mid, node,
			offsetColor(links[i], offsets, n), j-i)
		i = j
	}

	// Draw the GPUs on top.
	style := sheet.Centered(min(sheet.SmallSize, node*1.05), sheet.Ink)
	for g := range n {
		disc(c, at(g), node, sheet.BlueTint)
		c.FillText(style, sheet.Point(at(g).X, at(g).Y+0.5), strconv.Itoa(g))
	}
}

// offsetColor returns the colour of a link by its offset in a circulant topology of n GPUs.
// Links without such an offset are blue.
func offsetColor(link [2]int, offsets []int, n int) color.Color {
	colors := []color.Color{sheet.Blue, sheet.Vermillion, sheet.Green, sheet.Purple}
	for i, o := range offsets {
		if (link[1]-link[0]+n)%n == o {
			return colors[i]
		}
	}
	return sheet.Blue
}

// disc draws a filled circle with an outline.
func disc(c draw.Canvas, at vg.Point, radius vg.Length, clr color.Color) {
	sheet.Disc(c, at, radius, clr)
	c.SetLineStyle(draw.LineStyle{Width: 0.8})
	c.DrawGlyphNoClip(draw.GlyphStyle{
		Color:  sheet.Ink,
		Radius: radius,
		Shape:  draw.RingGlyph{},
	}, at)
}

// arrow draws parallel links between two GPUs as one arrow whose width grows with their number.
// The arrow is to the right of the line between the GPUs, so that the two directions are
// separate. A link from a GPU to itself is a loop on the outside of the circle around mid.
func (p *planPicture) arrow(c draw.Canvas, a, b, mid vg.Point, node vg.Length, clr color.Color, links int) {
	style := sheet.Line(clr, 1.1+0.9*vg.Length(links-1))
	if a == b {
		var ring vg.Path
		ring.Arc(a.Add(sheet.WithLength(a.Sub(mid), node)), node*0.6, 0, 2*math.Pi)
		c.SetLineStyle(style)
		c.Stroke(ring)
		return
	}

	const (
		sideOffset = 1.6 // distance from the line between the GPUs, in points
		long       = 6   // length of the arrow head
		half       = 2.6 // half the width of the arrow head
	)
	d := b.Sub(a)
	off := sheet.WithLength(sheet.Point(d.Y, -d.X), sideOffset)
	from := a.Add(off).Add(sheet.WithLength(d, node))
	neck := sheet.ArrowHead(c, clr, b.Add(off).Sub(sheet.WithLength(d, node)), d,
		long, half)
	c.StrokeLine2(style, from.X, from.Y, neck.X, neck.Y)
}

// matrix marks the links in a matrix of sender and receiver. Parallel links have another
// colour.
func (p *planPicture) matrix(c draw.Canvas, links [][2]int) {
	var names []string
	for g := range p.GPUs {
		names = append(names, strconv.Itoa(g))
	}

	var all []matrixCell
	for i, l := range links {
		s := matrixCell{
			row:    l[0],
			column: l[1],
			color:  circuitColor,
		}

		if i > 0 && links[i-1] == l {
			s.color = sheet.Vermillion
		}
		all = append(all, s)
	}

	const noExtraColumn = ""
	drawMatrix(c, names, noExtraColumn, all)
}
