package plots

import (
	"math"

	"sim/plots/sheet"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// nameRow writes policies' names below the bars: level where they fit, else
// slanted.
type nameRow struct {
	names []string
	style draw.TextStyle
	slant bool
	depth vg.Length // below the axis
}

// nameLength is the most that a slanted name may take, in points.
const nameLength = 130

func newNameRow(all []nctBar) *nameRow {
	r := &nameRow{style: sheet.Aligned(sheet.Sans(sheet.TickSize, sheet.Ink), draw.XCenter, draw.YTop)}
	const frame = 80 // margins and the y axis
	slot := (sheet.FigureWidth - frame) / vg.Length(len(all))
	for _, b := range all {
		r.names = append(r.names, sheet.Fit(r.style, b.policy, nameLength))
		r.slant = r.slant || r.style.Width(sheet.Plain(b.policy)) > slot-6
	}
	if !r.slant {
		r.depth = 22
		return r
	}
	angle := math.Pi / 6
	if slot < 2*sheet.TickSize { // at 30 degrees lines need twice their height
		angle = math.Pi / 2
	}
	r.style = sheet.Aligned(sheet.Sans(min(sheet.TickSize, slot*0.9), sheet.Ink), draw.XRight, draw.YCenter)
	r.style.Rotation = angle
	for _, n := range r.names {
		r.depth = max(r.depth, r.style.Width(n)*vg.Length(math.Sin(angle))+14)
	}
	return r
}

func (r *nameRow) draw(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for i, n := range r.names {
		c.FillText(r.style, sheet.Point(x(float64(i)), c.Min.Y-6), n)
	}
}
