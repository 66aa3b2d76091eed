// Package sheettest looks at figures for tests: their texts and where these stand, what is filled, and golden images.
package sheettest

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"pgregory.net/rapid"

	"sim/plots/sheet"
)

// Filled returns the heights of what is filled with a colour, in order.
func Filled(f sheet.Figure, clr color.Color) []float64 {
	rec := new(recorder.Canvas)
	f.Draw(draw.NewCanvas(rec, f.Width, f.Height))
	var out []float64
	fills(rec, func(now color.Color, path vg.Path) {
		lo, hi := vg.Length(math.Inf(1)), vg.Length(math.Inf(-1))
		for _, p := range path {
			if p.Type != vg.CloseComp {
				lo, hi = min(lo, p.Pos.Y), max(hi, p.Pos.Y)
			}
		}
		if sheet.ToRGBA(now) == sheet.ToRGBA(clr) {
			out = append(out, float64(hi-lo))
		}
	})
	return out
}

// fills calls f with each path that is filled, and its colour.
func fills(rec *recorder.Canvas, f func(clr color.Color, path vg.Path)) {
	var now color.Color
	for _, a := range rec.Actions {
		switch a := a.(type) {
		case *recorder.SetColor:
			now = a.Color
		case *recorder.Fill:
			f(now, a.Path)
		}
	}
}

// PlacedText is a text where it is drawn: a rectangle, turned by an angle.
type PlacedText struct {
	Text    string
	Corners [4]vg.Point
	angle   float64
}

// Texts returns what f writes, and where.
func Texts(f sheet.Figure) []PlacedText {
	rec := new(recorder.Canvas)
	f.Draw(draw.NewCanvas(rec, f.Width, f.Height))
	var out []PlacedText
	angle, stack := 0.0, []float64{}
	for _, a := range rec.Actions {
		switch a := a.(type) {
		case *recorder.Push:
			stack = append(stack, angle)
		case *recorder.Pop:
			angle, stack = stack[len(stack)-1], stack[:len(stack)-1]
		case *recorder.Rotate:
			angle += a.Angle
		case *recorder.FillString:
			if a.String == "" {
				continue
			}
			style := text.Style{Font: font.From(a.Font, a.Size), Handler: sheet.Sans(1, sheet.Ink).Handler}
			w, down, up := style.Width(a.String), a.Size*0.15, a.Size*0.72
			p := PlacedText{Text: a.String, angle: angle}
			sin, cos := math.Sincos(angle)
			for i, q := range []vg.Point{{X: 0, Y: -down}, {X: w, Y: -down}, {X: w, Y: up}, {X: 0, Y: up}} {
				q = q.Add(a.Point)
				p.Corners[i] = vg.Point{X: q.X*vg.Length(cos) - q.Y*vg.Length(sin), Y: q.X*vg.Length(sin) + q.Y*vg.Length(cos)}
			}
			out = append(out, p)
		}
	}
	return out
}

// overlap reports whether two texts share more than a hair: along the sides of one of them they are always apart when
// they do not.
func overlap(a, b PlacedText) bool {
	const hair = 0.3
	for _, angle := range []float64{a.angle, a.angle + math.Pi/2, b.angle, b.angle + math.Pi/2} {
		sin, cos := math.Sincos(angle)
		span := func(p PlacedText) (lo, hi vg.Length) {
			lo, hi = vg.Length(math.Inf(1)), vg.Length(math.Inf(-1))
			for _, q := range p.Corners {
				at := q.X*vg.Length(cos) + q.Y*vg.Length(sin)
				lo, hi = min(lo, at), max(hi, at)
			}
			return lo, hi
		}
		lo1, hi1 := span(a)
		lo2, hi2 := span(b)
		if hi1 < lo2+hair || hi2 < lo1+hair {
			return false
		}
	}
	return true
}

// Misplaced says what of a figure's text leaves it or lies on other text.
func Misplaced(f sheet.Figure) (out []string) {
	all := Texts(f)
	for i, a := range all {
		for _, q := range a.Corners {
			if q.X < 0 || q.Y < 0 || q.X > f.Width || q.Y > f.Height {
				out = append(out, fmt.Sprintf("%q leaves the figure", a.Text))
				break
			}
		}
		for _, b := range all[:i] {
			if overlap(a, b) {
				out = append(out, fmt.Sprintf("%q lies on %q", a.Text, b.Text))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var update = flag.Bool("update", false, "write the golden images anew; look at each")

const goldenDPI = 60 // text can just be read, files stay small

// Image is f in few pixels.
func Image(t *testing.T, f sheet.Figure) image.Image {
	t.Helper()
	return decode(t, raster(t, f))
}

func raster(t *testing.T, f sheet.Figure) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.WritePNG(&b, goldenDPI); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Golden fails where f differs from the image in file, or with -update writes that anew.
func Golden(t *testing.T, f sheet.Figure, file string) {
	t.Helper()
	got := raster(t, f)
	if *update {
		var small bytes.Buffer
		e := png.Encoder{CompressionLevel: png.BestCompression}
		if err := e.Encode(&small, decode(t, got)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, small.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if why := differs(t, got, want); why != "" {
		drawn := filepath.Join(os.TempDir(), "figure-"+filepath.Base(file))
		os.WriteFile(drawn, got, 0o666) // for a person to look at
		t.Errorf("differs from %s: %s; drawn as %s; -update accepts it", file, why, drawn)
	}
}

// Processors may round the last digit of a coordinate differently, which shifts the shade of a pixel on an edge.
const (
	shadeTolerance = 24    // of 255, in any channel
	pixelTolerance = 0.001 // share of pixels that may differ by more
)

// Boxes are the rectangles that are filled, by colour, in order of x.
func Boxes(rec *recorder.Canvas) map[color.Color][]vg.Rectangle {
	all := map[color.Color][]vg.Rectangle{}
	fills(rec, func(clr color.Color, path vg.Path) {
		for i, c := range path {
			if c.Type == vg.MoveComp && i+2 < len(path) {
				all[clr] = append(all[clr], vg.Rectangle{Min: c.Pos, Max: path[i+2].Pos})
			}
		}
	})
	for _, list := range all {
		slices.SortFunc(list, func(a, b vg.Rectangle) int { return cmp.Compare(float64(a.Min.X), float64(b.Min.X)) })
	}
	return all
}

func differs(t *testing.T, got, want []byte) string {
	a, b := decode(t, got), decode(t, want)
	if a.Bounds() != b.Bounds() {
		return "size " + a.Bounds().String() + ", want " + b.Bounds().String()
	}
	off, r := 0, a.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			r1, g1, b1, _ := a.At(x, y).RGBA()
			r2, g2, b2, _ := b.At(x, y).RGBA()
			for _, d := range []int{int(r1>>8) - int(r2>>8), int(g1>>8) - int(g2>>8), int(b1>>8) - int(b2>>8)} {
				if d > shadeTolerance || d < -shadeTolerance {
					off++
					break
				}
			}
		}
	}
	if share := float64(off) / float64(r.Dx()*r.Dy()); share > pixelTolerance {
		return fmt.Sprintf("%.3g of the pixels", share)
	}
	return ""
}

func decode(t *testing.T, b []byte) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// CheckSVG fails unless b is well-formed and draws something.
func CheckSVG(t interface{ Fatalf(string, ...any) }, name string, b []byte) {
	shapes := 0
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%s is no XML: %v", name, err)
		}
		if e, ok := tok.(xml.StartElement); ok && (e.Name.Local == "path" || e.Name.Local == "text") {
			shapes++
		}
	}
	if shapes < 5 { // a title, and a panel
		t.Fatalf("%s has %d shapes", name, shapes)
	}
	if bytes.Contains(b, []byte("NaN")) || bytes.Contains(b, []byte("Inf")) {
		t.Fatalf("%s has coordinates that are no numbers", name)
	}
}

var (
	AnyName   = rapid.OneOf(rapid.SampledFrom([]string{"", "stage 1", "pod 0", "pod 1 - twin", "<&>\"", "a\nb\x00", "\xff", "\uffff"}), rapid.String())
	AnyNumber = rapid.OneOf(rapid.SampledFrom([]float64{0, 1e-15, 1, 4e11, 1e24}), rapid.Float64Range(0, 10))
	AnyKind   = rapid.SampledFrom([]string{"forward", "backward", "pp-forward", "pp-backward", "dp", "compute", ""})
	AnyCount  = rapid.OneOf(rapid.IntRange(-2, 40), rapid.SampledFrom([]int{1 << 40}))
)

// Text is all that f writes, from the top.
func Text(f sheet.Figure) string {
	placed := Texts(f)
	slices.SortStableFunc(placed, func(a, b PlacedText) int { return -cmp.Compare(a.Corners[0].Y, b.Corners[0].Y) })
	var all []string
	for _, p := range placed {
		all = append(all, p.Text)
	}
	return strings.Join(all, " ")
}

// Says reports whether f has a text with part in it.
func Says(f sheet.Figure, part string) bool { return strings.Contains(Text(f), part) }
