package plots

import (
	"image/color"
	"math"
	"sync"

	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// look is how a series is drawn.
type look struct {
	color  color.Color
	line   draw.LineStyle
	shape  []vg.Point // of a marker, about the origin, 1 high and wide
	hollow bool
}

// looks returns how the levels of f look, by level: policies and names as
// lineStyles has them, numbers by a scale of colours. A level looks the same
// whichever others are drawn.
func (v *view) looks(f *factor) []look {
	out := make([]look, len(f.labels))
	const few = 2 // numbers, which need no scale
	ordered := f.numbers != nil && len(f.labels) > few
	for i := range out {
		style := lineStyles[i%len(lineStyles)]
		l := look{color: style.Color, line: style, shape: shapes[i%len(shapes)], hollow: i/len(lineStyles)%2 == 1}
		if ordered {
			const dark, light = 0.05, 0.86 // of the scale; beyond it is too light for white paper
			l.color = heat(dark + (light-dark)*float64(i)/float64(len(out)-1))
			l.line = draw.LineStyle{Color: l.color, Width: 2}
			l.hollow = false
		} else if l.hollow { // bars have colour alone
			l.color = mix(toRGBA(style.Color), 0.45)
		}
		out[i] = l
	}
	if f.index < 0 {
		out[0] = look{color: skyBlue, line: draw.LineStyle{Color: blue, Width: 2}, shape: shapes[0]}
	}
	return out
}

func toRGBA(c color.Color) color.RGBA {
	r, g, b, a := c.RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), uint8(a >> 8)}
}

// shapes of markers, of about the same area.
var shapes = [][]vg.Point{
	polygon(24, 0), polygon(4, 0.5), scaled(polygon(3, 0), 1.15), scaled(polygon(3, 0.5), 1.15),
	polygon(6, 0), plus(), polygon(5, 0), scaled(star(5), 1.2),
}

// hollowShapes are those of figures that others state.
var hollowShapes = [][]vg.Point{polygon(4, 0), polygon(24, 0), polygon(4, 0.5), polygon(3, 0), polygon(3, 0.5)}

// polygon is a regular polygon with a corner at the top, turned by so many
// sides.
func polygon(n int, turn float64) []vg.Point {
	out := make([]vg.Point, n)
	for i := range out {
		at := 2 * math.Pi * (float64(i) + turn) / float64(n)
		out[i] = point(vg.Length(math.Sin(at)), vg.Length(math.Cos(at)))
	}
	return out
}

// star has n rays.
func star(n int) []vg.Point {
	const inner = 0.5
	out := make([]vg.Point, 2*n)
	for i := range out {
		r := vg.Length(1)
		if i%2 == 1 {
			r = inner
		}
		at := math.Pi * float64(i) / float64(n)
		out[i] = point(r*vg.Length(math.Sin(at)), r*vg.Length(math.Cos(at)))
	}
	return out
}

// plus is a cross of two bars.
func plus() []vg.Point {
	const half, long = 0.42, 1.1
	return []vg.Point{
		point(-half, long), point(half, long), point(half, half), point(long, half), point(long, -half), point(half, -half),
		point(half, -long), point(-half, -long), point(-half, -half), point(-long, -half), point(-long, half), point(-half, half),
	}
}

func scaled(shape []vg.Point, by vg.Length) []vg.Point { return shapeAt(shape, vg.Point{}, by) }

// shapeAt is a shape of radius r at p.
func shapeAt(shape []vg.Point, p vg.Point, r vg.Length) []vg.Point {
	out := make([]vg.Point, len(shape))
	for i, q := range shape {
		out[i] = point(p.X+q.X*r, p.Y+q.Y*r)
	}
	return out
}

// marker draws a series' marker at p.
func (l *look) marker(c draw.Canvas, p vg.Point, r vg.Length) {
	outline := shapeAt(l.shape, p, r)
	if l.hollow {
		c.FillPolygon(white, outline)
		c.StrokeLines(draw.LineStyle{Color: l.line.Color, Width: 1.4}, closed(outline))
		return
	}
	c.FillPolygon(l.color, outline)
	c.StrokeLines(draw.LineStyle{Color: white, Width: 0.4}, closed(outline))
}

func closed(pts []vg.Point) []vg.Point { return append(pts, pts[0]) }

// stated draws a figure that somebody else states: hollow, so that what lies
// below it is seen, with a light edge, so that it is seen on what lies below.
func stated(c draw.Canvas, shape []vg.Point, clr color.Color, p vg.Point, r vg.Length) {
	const edge = 1.3
	c.StrokeLines(draw.LineStyle{Color: white, Width: edge}, closed(shapeAt(shape, p, r+edge)))
	c.StrokeLines(draw.LineStyle{Color: clr, Width: 1.4}, closed(shapeAt(shape, p, r)))
}

// parts are what a series is drawn of.
type parts struct{ bars, lines, markers bool }

// sample is a series' entry in a legend.
func (l *look) sample(of parts) func(c draw.Canvas, lo, hi vg.Point) {
	return func(c draw.Canvas, lo, hi vg.Point) {
		if of.bars {
			box(fill{l.color, 1})(c, lo, hi)
		}
		if of.lines {
			stroke(l.line)(c, lo, hi)
		}
		if of.markers {
			l.marker(c, point((lo.X+hi.X)/2, (lo.Y+hi.Y)/2), markerRadius)
		}
	}
}

// heatControls are colours of rising luminance, which heat goes through: those
// of the map viridis, which colour-blind readers can tell apart.
var heatControls = []color.Color{
	color.RGBA{0x44, 0x01, 0x54, 0xff}, color.RGBA{0x3b, 0x52, 0x8b, 0xff}, color.RGBA{0x21, 0x91, 0x8c, 0xff},
	color.RGBA{0x5e, 0xc9, 0x62, 0xff}, color.RGBA{0xfd, 0xe7, 0x25, 0xff},
}

// heatColors are the colours of heat: luminance is linear in the share.
var heatColors = sync.OnceValue(func() []color.Color {
	m, err := moreland.NewLuminance(heatControls)
	if err != nil {
		return heatControls // which are in order too
	}
	m.SetMin(0)
	m.SetMax(1)
	const steps = 256
	return m.Palette(steps).Colors()
})

// heat is the colour of a share from 0, dark, to 1, light.
func heat(share float64) color.Color {
	all := heatColors()
	i := int(math.Round(min(max(share, 0), 1) * float64(len(all)-1)))
	return toRGBA(all[i])
}

// legible is the colour of text on c.
func legible(c color.Color) color.Color {
	r := toRGBA(c)
	if 0.299*float64(r.R)+0.587*float64(r.G)+0.114*float64(r.B) > 140 {
		return ink
	}
	return white
}
