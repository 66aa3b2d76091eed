package sheet

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"slices"
	"testing"

	pixels "golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
)

func TestWritePNG(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []image.Point{{1, 1}, {7, 3}, {300, 40}} {
		m := image.NewRGBA(image.Rectangle{Max: size})
		pixels.Draw(m, m.Rect, image.White, image.Point{}, pixels.Src)
		for y := range size.Y { // rows equal to the one above, others with some changes, and with many
			copy(m.Pix[y*m.Stride:], m.Pix[max(0, y-1)*m.Stride:][:m.Stride])
			for range []int{0, 1, 5, 400}[y%4] {
				m.SetRGBA(r.IntN(size.X), y, color.RGBA{uint8(r.IntN(256)), uint8(r.IntN(256)), uint8(r.IntN(256)), 255})
			}
		}
		var b bytes.Buffer
		if err := writePNG(&b, m); err != nil {
			t.Fatal(err)
		}
		got, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		if rgba, ok := got.(*image.RGBA); !ok || rgba.Rect != m.Rect || !bytes.Equal(rgba.Pix, m.Pix) {
			t.Errorf("an image of %v reads back as another", size)
		}
	}
}

// Letters are drawn as by interpolation: in place, over an edge, not at all, and turned.
func TestGlyphs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	mask := image.NewAlpha(image.Rect(0, 0, 9, 12))
	for range 300 {
		for i := range mask.Pix {
			mask.Pix[i] = uint8(max(0, min(255, r.IntN(512)-128)))
		}
		want := image.NewRGBA(image.Rect(0, 0, 30, 30))
		for i := range want.Pix {
			want.Pix[i] = uint8(r.IntN(256)) | uint8(i%4/3*255) // opaque
		}
		got := &image.RGBA{Pix: slices.Clone(want.Pix), Stride: want.Stride, Rect: want.Rect}
		at := f64.Aff3{1, 0, float64(r.IntN(60) - 20), 0, 1, float64(r.IntN(60) - 20)}
		if r.IntN(4) == 0 {
			at[0], at[1], at[3], at[4] = 0, 1, -1, 0
		}
		a := uint8(r.IntN(256))
		clr := image.NewUniform(color.RGBA{a / 2, a / 3, a, a})
		for to, with := range map[*image.RGBA]pixels.Transformer{want: pixels.BiLinear, got: glyphs{pixels.BiLinear}} {
			with.Transform(to, at, clr, mask.Rect, pixels.Over, &pixels.Options{SrcMask: mask})
		}
		if !bytes.Equal(got.Pix, want.Pix) {
			t.Fatalf("with %v, a glyph of %v differs", at, clr.C)
		}
	}
}
