// This file draws figures as images, for PNG files and for tests.

package sheet

import (
	"image"

	"git.sr.ht/~sbinet/gg"
	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// Image draws f with the given number of pixels per inch.
func (f Figure) Image(dpi int) *image.RGBA {
	dots := func(l vg.Length) int { return int(l.Dots(float64(dpi)) + 0.5) }
	img := image.NewRGBA(image.Rect(0, 0, dots(f.Width), dots(f.Height)))
	ctx := gg.NewContextForRGBA(img)
	ctx.SetLineCapButt()
	ctx.InvertY()
	c := &cachingCanvas{
		Canvas: vgimg.NewWith(vgimg.UseImageWithContext(img, ctx), vgimg.UseDPI(dpi)),
		ctx:    ctx,
		height: f.Height,
		faces:  map[font.Font]xfont.Face{},
	}
	f.Draw(draw.NewCanvas(c, f.Width, f.Height))

	return img
}

// cachingCanvas is a vgimg.Canvas that caches font faces, whose construction dominates the
// drawing of text, and converts heights that are not a whole number of pixels exactly.
type cachingCanvas struct {
	*vgimg.Canvas
	ctx    *gg.Context              // drawing context of the embedded canvas
	height vg.Length                // height of the figure
	faces  map[font.Font]xfont.Face // indexed by font
}

// FillString implements vg.Canvas. Text is drawn with the y axis down, because the context would
// otherwise draw it upside down.
func (c *cachingCanvas) FillString(f font.Face, at vg.Point, s string) {
	if c.faces[f.Font] == nil {
		c.faces[f.Font] = f.FontFace(c.DPI())
	}
	c.ctx.Push()
	c.ctx.SetFontFace(c.faces[f.Font])
	c.ctx.InvertY()
	c.ctx.DrawString(s, at.X.Dots(c.DPI()), c.height.Dots(c.DPI())-at.Y.Dots(c.DPI()))
	c.ctx.Pop()
}
