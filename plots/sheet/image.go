package sheet

import (
	"image"
	"math"

	"git.sr.ht/~sbinet/gg"
	pixels "golang.org/x/image/draw"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/math/f64"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Image draws f at so many pixels an inch.
func (f Figure) Image(dpi int) *image.RGBA {
	dots := func(l vg.Length) int { return int(l.Dots(float64(dpi)) + 0.5) }
	img := image.NewRGBA(image.Rect(0, 0, dots(f.Width), dots(f.Height)))
	ctx := gg.NewContextForRGBA(img)
	ctx.SetLineCapButt()
	ctx.SetInterpolator(glyphs{pixels.BiLinear})
	ctx.InvertY()
	c := &canvas{vgimg.NewWith(vgimg.UseImageWithContext(img, ctx), vgimg.UseDPI(dpi)), ctx, f.Height, map[font.Font]xfont.Face{}}
	f.Draw(draw.NewCanvas(c, f.Width, f.Height))
	return img
}

// canvas is a vgimg.Canvas that keeps the faces of fonts, and knows its height where that is not whole pixels.
type canvas struct {
	*vgimg.Canvas
	ctx    *gg.Context
	height vg.Length
	faces  map[font.Font]xfont.Face
}

// FillString implements vg.Canvas.
func (c *canvas) FillString(f font.Face, at vg.Point, s string) {
	if c.faces[f.Font] == nil {
		c.faces[f.Font] = f.FontFace(c.DPI())
	}
	c.ctx.Push()
	c.ctx.SetFontFace(c.faces[f.Font])
	c.ctx.InvertY()
	c.ctx.DrawString(s, at.X.Dots(c.DPI()), c.height.Dots(c.DPI())-at.Y.Dots(c.DPI()))
	c.ctx.Pop()
}

// glyphs draws letters that are not turned pixel by pixel, without interpolation, which would return the same.
type glyphs struct{ pixels.Interpolator }

// Transform implements draw.Transformer.
func (g glyphs) Transform(dst pixels.Image, m f64.Aff3, src image.Image, sr image.Rectangle, op pixels.Op, o *pixels.Options) {
	to, onRGBA := dst.(*image.RGBA)
	clr, plain := src.(*image.Uniform)
	var mask *image.Alpha
	if o != nil && o.DstMask == nil {
		mask, _ = o.SrcMask.(*image.Alpha)
	}
	x, y := math.Round(m[2]), math.Round(m[5])
	if !onRGBA || !plain || mask == nil || m != (f64.Aff3{1, 0, x, 0, 1, y}) || op != pixels.Over {
		g.Interpolator.Transform(dst, m, src, sr, op, o)
		return
	}
	const most = 0xffff
	r, gr, b, a := clr.RGBA()
	place := image.Pt(int(x), int(y))
	at := sr.Add(place).Intersect(to.Rect)
	for y := at.Min.Y; y < at.Max.Y; y++ {
		pix := to.Pix[to.PixOffset(at.Min.X, y):]
		for _, share := range mask.Pix[mask.PixOffset(at.Min.X-place.X+o.SrcMaskP.X, y-place.Y+o.SrcMaskP.Y):][:at.Dx()] {
			if share := uint32(share) * 0x101; share > 0 {
				rest := most - a*share/most
				for i, v := range [4]uint32{r, gr, b, a} {
					pix[i] = uint8((uint32(pix[i])*0x101*rest/most + v*share/most) >> 8)
				}
			}
			pix = pix[4:]
		}
	}
}
