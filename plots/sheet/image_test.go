package sheet

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"testing"

	pixels "golang.org/x/image/draw"
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
