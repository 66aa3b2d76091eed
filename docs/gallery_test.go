package docs_test

import (
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/draw"
)

// Pictures of gallery.md, and how wide they are.
const (
	galleryDir   = "img/gallery"
	galleryWidth = 900
)

// TestGallery: gallery.md has the pictures that it shows, and there are no others. With -update those that are
// missing are drawn, by the command before them: NAME-FIGURE.png is the run's plots/FIGURE.png.
func TestGallery(t *testing.T) {
	text, err := os.ReadFile("gallery.md")
	fail(t, err)
	shown := map[string]bool{}
	plots := map[string]string{} // directories by command
	command := ""
	for _, m := range regexp.MustCompile("`sim ((?:run|sweep) [^`]+)`|!\\[[^]]+\\]\\(([^)]*)\\)").FindAllStringSubmatch(string(text), -1) {
		if m[1] != "" {
			command = strings.Join(strings.Fields(m[1]), " ")
			continue
		}
		shown[m[2]] = true
		if _, err := os.Stat(m[2]); err != nil && *update {
			if plots[command] == "" {
				dir := filepath.Join(t.TempDir(), "run")
				sim(t, append(strings.Fields(command), "--out", dir)...)
				plots[command] = filepath.Join(dir, "plots")
			}
			reduce(t, figureOf(t, plots[command], m[2]), m[2])
		}
		if _, err := os.Stat(m[2]); err != nil {
			t.Error(err)
		}
	}
	there, err := filepath.Glob(galleryDir + "/*")
	fail(t, err)
	for _, path := range there {
		if !shown[path] {
			t.Errorf("%s is not shown", path)
		}
	}
}

// figureOf returns the figure of a directory whose name a picture's ends in.
func figureOf(t *testing.T, dir, picture string) (path string) {
	all, err := filepath.Glob(filepath.Join(dir, "*.png"))
	fail(t, err)
	for _, f := range all {
		if strings.HasSuffix(picture, "-"+filepath.Base(f)) && len(f) > len(path) {
			path = f
		}
	}
	if path == "" {
		t.Fatalf("%s draws none of %v", picture, all)
	}
	return path
}

// reduce writes a picture at galleryWidth, in its 256 most frequent colours, of sixteen shades each: a quarter of the size.
func reduce(t *testing.T, from, to string) {
	f, err := os.Open(from)
	fail(t, err)
	defer f.Close()
	src, err := png.Decode(f)
	fail(t, err)
	b := src.Bounds()
	dst := image.NewRGBA(image.Rect(0, 0, galleryWidth, b.Dy()*galleryWidth/b.Dx()))
	draw.CatmullRom.Scale(dst, dst.Bounds(), src, b, draw.Src, nil)
	shade := func(v uint8) uint8 { return uint8((int(v) + 8) / 17 * 17) }
	count := map[color.RGBA]int{}
	for i := 0; i < len(dst.Pix); i += 4 {
		c := color.RGBA{shade(dst.Pix[i]), shade(dst.Pix[i+1]), shade(dst.Pix[i+2]), 255}
		copy(dst.Pix[i:], []uint8{c.R, c.G, c.B, c.A})
		count[c]++
	}
	colours := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	var palette color.Palette
	for _, c := range colours[:min(256, len(colours))] {
		palette = append(palette, c)
	}
	reduced := image.NewPaletted(dst.Bounds(), palette)
	draw.Draw(reduced, dst.Bounds(), dst, image.Point{}, draw.Src)
	fail(t, os.MkdirAll(galleryDir, 0o777))
	out, err := os.Create(to)
	fail(t, err)
	fail(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(out, reduced))
	fail(t, out.Close())
}
