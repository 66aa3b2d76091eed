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

// Directory of the pictures of gallery.md, and their width in pixels.
const (
	galleryDir   = "img/gallery"
	galleryWidth = 900
)

// TestGallery checks that the pictures of gallery.md exist, and that no others do. With -update
// it draws the missing pictures with the command before them. Picture NAME-FIGURE.png is
// plots/FIGURE.png of that run.
func TestGallery(t *testing.T) {
	text, err := os.ReadFile("gallery.md")
	must(t, err)
	shown := map[string]bool{}
	plots := map[string]string{} // directories of figures, indexed by command
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

			writeReduced(t, figureOf(t, plots[command], m[2]), m[2])
		}

		if _, err := os.Stat(m[2]); err != nil {
			t.Errorf("gallery.md shows a missing picture: %v", err)
		}
	}

	files, err := filepath.Glob(galleryDir + "/*")
	must(t, err)
	for _, path := range files {
		if !shown[path] {
			t.Errorf("gallery.md does not show %s", path)
		}
	}
}

// figureOf returns the figure in dir that a picture shows: the longest file name with which the
// name of the picture ends.
func figureOf(t *testing.T, dir, picture string) (path string) {
	all, err := filepath.Glob(filepath.Join(dir, "*.png"))
	must(t, err)
	for _, f := range all {
		if strings.HasSuffix(picture, "-"+filepath.Base(f)) && len(f) > len(path) {
			path = f
		}
	}
	if path == "" {
		t.Fatalf("%s shows none of the figures %v", picture, all)
	}
	return path
}

// writeReduced writes a picture at galleryWidth with 16 shades per channel and its 256 most
// frequent colours. The file is a quarter as large.
func writeReduced(t *testing.T, from, to string) {
	f, err := os.Open(from)
	must(t, err)
	defer f.Close()
	src, err := png.Decode(f)
	must(t, err)
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
	must(t, os.MkdirAll(galleryDir, 0o777))
	out, err := os.Create(to)
	must(t, err)
	must(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(out, reduced))
	must(t, out.Close())
}
