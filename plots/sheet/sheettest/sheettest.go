// Package sheettest examines figures in tests. It extracts texts with their positions and
// filled areas, detects overlapping text, and compares figures with stored images, digests and
// texts.
package sheettest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"pgregory.net/rapid"

	"sim/plots/sheet"
)

// Record draws f on a canvas that records all drawing operations, for the other functions of
// this package.
func Record(f sheet.Figure) *recorder.Canvas {
	rec := new(recorder.Canvas)
	f.Draw(draw.NewCanvas(rec, f.Width, f.Height))
	return rec
}

// Boxes returns the bounding boxes of all filled shapes in drawing order, indexed by colour.
func Boxes(rec *recorder.Canvas) map[color.Color][]vg.Rectangle {
	all := map[color.Color][]vg.Rectangle{}

	// now is the current colour. A path contributes the bounding box of each of its parts.
	var now color.Color
	for _, a := range rec.Actions {
		switch a := a.(type) {
		case *recorder.SetColor:
			now = sheet.ToRGBA(a.Color)
		case *recorder.Fill:
			for _, p := range a.Path {
				switch p.Type {
				case vg.MoveComp:
					all[now] = append(all[now], vg.Rectangle{Min: p.Pos, Max: p.Pos})
				case vg.LineComp, vg.CurveComp:
					r := &all[now][len(all[now])-1]
					r.Min, r.Max = sheet.Point(min(r.Min.X, p.Pos.X),
						min(r.Min.Y, p.Pos.Y)), sheet.Point(max(r.Max.X, p.Pos.X),
						max(r.Max.Y, p.Pos.Y))
				}
			}
		}
	}

	return all
}

// PlacedText is a text with its position: the corners of a rectangle, which may be rotated by
// an angle.
type PlacedText struct {
	Text    string
	Corners [4]vg.Point
	angle   float64 // in radians
}

// Texts returns all texts of f with their positions, in drawing order. It follows the rotations
// of the recorded canvas.
func Texts(f sheet.Figure) []PlacedText {
	var out []PlacedText

	// angles is a stack of the current rotation and the saved ones.
	angles := []float64{0}
	for _, a := range Record(f).Actions {
		last := len(angles) - 1
		switch a := a.(type) {
		case *recorder.Push:
			angles = append(angles, angles[last])
		case *recorder.Pop:
			angles = angles[:last]
		case *recorder.Rotate:
			angles[last] += a.Angle
		case *recorder.FillString:
			if a.String == "" {
				continue
			}

			// The box of a text reaches from slightly below the baseline to the height of a
			// capital letter.
			style := text.Style{
				Font:    font.From(a.Font, a.Size),
				Handler: sheet.Sans(1, sheet.Ink).Handler,
			}

			w := style.Width(a.String)
			down := a.Size * 0.15
			up := a.Size * 0.72
			p := PlacedText{Text: a.String, angle: angles[last]}
			corners := []vg.Point{
				{X: 0, Y: -down}, {X: w, Y: -down}, {X: w, Y: up}, {X: 0, Y: up},
			}
			for i, q := range corners {
				p.Corners[i] = rotate(q.Add(a.Point), p.angle)
			}

			out = append(out, p)
		}
	}

	return out
}

// rotate rotates p around the origin by an angle in radians.
func rotate(p vg.Point, angle float64) vg.Point {
	sin, cos := math.Sincos(angle)
	return sheet.Point(p.X*vg.Length(cos)-p.Y*vg.Length(sin),
		p.X*vg.Length(sin)+p.Y*vg.Length(cos))
}

// overlap reports whether the rectangles of two texts overlap by more than a hair's width. By
// the separating axis theorem, disjoint rectangles have disjoint projections on a side of one of
// them.
func overlap(a, b PlacedText) bool {
	const hair = 0.3
	for _, angle := range []float64{a.angle, a.angle + math.Pi/2, b.angle,
		b.angle + math.Pi/2} {
		// Project both rectangles on the direction of the angle.
		var ends [2][]vg.Length
		for i, p := range []PlacedText{a, b} {
			for _, q := range p.Corners {
				ends[i] = append(ends[i], rotate(q, -angle).X)
			}
		}

		if slices.Max(ends[0]) < slices.Min(ends[1])+hair ||
			slices.Max(ends[1]) < slices.Min(ends[0])+hair {
			return false
		}
	}

	return true
}

// MisplacedTexts describes the texts of a figure that are partly outside it or overlap other
// text. The result is sorted, without duplicates, and empty for a correct figure.
func MisplacedTexts(f sheet.Figure) (out []string) {
	all := Texts(f)
	for i, a := range all {
		if slices.ContainsFunc(a.Corners[:], func(q vg.Point) bool {
			return q.X < 0 || q.Y < 0 || q.X > f.Width || q.Y > f.Height
		}) {
			out = append(out, fmt.Sprintf("%q leaves the figure", a.Text))
		}

		// Compare each pair of texts once.
		for _, b := range all[:i] {
			if overlap(a, b) {
				out = append(out, fmt.Sprintf("%q lies on %q", a.Text, b.Text))
			}
		}
	}

	slices.Sort(out)
	return slices.Compact(out)
}

// Text returns all texts of f from top to bottom, separated by spaces, for tests that search for
// words.
func Text(f sheet.Figure) string {
	placed := Texts(f)
	slices.SortStableFunc(placed, func(a, b PlacedText) int {
		return -cmp.Compare(a.Corners[0].Y, b.Corners[0].Y)
	})
	var all []string
	for _, p := range placed {
		all = append(all, p.Text)
	}

	return strings.Join(all, " ")
}

// Contains reports whether the text of f contains part.
func Contains(f sheet.Figure, part string) bool {
	return strings.Contains(Text(f), part)
}

// update replaces the stored files by the current figures.
var update = flag.Bool("update", false, "write the golden images anew; look at each")

// goldenDPI is the resolution of golden images. Text is just legible, and files are small.
const goldenDPI = 60

// Image draws f at a low resolution.
func Image(f sheet.Figure) *image.RGBA { return f.Image(goldenDPI) }

// CompareImage compares f with the image in file. With -update it writes that file instead.
func CompareImage(t *testing.T, f sheet.Figure, file string) {
	t.Helper()
	got := Image(f)

	// write stores the drawn image in a file.
	write := func(file string) error {
		var b bytes.Buffer
		e := png.Encoder{CompressionLevel: png.BestCompression}
		if err := e.Encode(&b, got); err != nil {
			return err
		}
		return os.WriteFile(file, b.Bytes(), 0o666)
	}

	// Accept the image as the new reference.
	if *update {
		if err := write(file); err != nil {
			t.Fatal(err)
		}
	}

	saved, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	want, err := png.Decode(saved)
	if err != nil {
		t.Fatal(err)
	}

	if why := imageDifference(got, want.(*image.RGBA)); why != "" {
		// Store the differing image for visual inspection.
		drawn := filepath.Join(os.TempDir(), "figure-"+filepath.Base(file))
		write(drawn)
		t.Errorf("differs from %s: %s; drawn as %s; -update accepts it", file, why, drawn)
	}
}

// CompareDigests compares figures with the digests in file: one digest of the texts and one of
// the shapes of each SVG, whose coordinates have five digits. With -update it rewrites the
// file. To see a difference, draw the figure before and after the change.
func CompareDigests(t *testing.T, file string, figures iter.Seq2[string, sheet.Figure]) {
	t.Helper()
	var got strings.Builder
	for name, f := range figures {
		var b bytes.Buffer
		if err := f.Write(&b, "svg"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		// Texts and shapes have separate digests, so that a difference shows which of them
		// changed.
		texts, shapes := sha256.New(), sha256.New()
		for line := range bytes.Lines(b.Bytes()) {
			if bytes.HasPrefix(line, []byte("<text")) {
				texts.Write(line)
			} else {
				shapes.Write(line)
			}
		}

		fmt.Fprintf(&got, "%s %s texts=%x shapes=%x\n", name,
			strings.Join(strings.Fields(f.Name), "_"), texts.Sum(nil)[:4],
			shapes.Sum(nil)[:4])
	}

	CompareText(t, file, got.String())
}

// CompareText compares got with the text in file and reports the differing lines. With -update
// it writes that file instead.
func CompareText(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if changes := diff.Diff(strings.Split(string(want), "\n"),
		strings.Split(got, "\n")); changes != "" {
		t.Errorf("%s differs (-want +got):\n%s", file, changes)
	}
}

// Processors may round the last digit of a coordinate differently, which changes the shade of
// pixels on edges.
const (
	shadeTolerance = 24 // of 255, in any channel
	// pixelTolerance is the share of pixels that may differ by more than shadeTolerance.
	pixelTolerance = 0.001
)

// imageDifference describes the difference between two images, "" if it is within the
// tolerances.
func imageDifference(a, b *image.RGBA) string {
	if a.Bounds() != b.Bounds() {
		return "size " + a.Bounds().String() + ", want " + b.Bounds().String()
	}

	// Count the pixels with a channel that differs too much.
	off := 0
	for i := 0; i < len(a.Pix); i += 4 {
		for c := i; c < i+3; c++ {
			if p, q := a.Pix[c], b.Pix[c]; max(p, q)-min(p, q) > shadeTolerance {
				off++
				break
			}
		}
	}

	if share := float64(4*off) / float64(len(a.Pix)); share > pixelTolerance {
		return fmt.Sprintf("%.3g of the pixels", share)
	}
	return ""
}

// minShapes is the number of shapes of the smallest figure, a title and one plot.
const minShapes = 4

// CheckSVG fails the test unless b is well-formed XML with at least minShapes shapes and
// without invalid numbers. name is the name of the figure in messages.
func CheckSVG(t interface{ Fatalf(string, ...any) }, name string, b []byte) {
	var err error
	for d := xml.NewDecoder(bytes.NewReader(b)); err == nil; {
		_, err = d.Token()
	}

	shapes := bytes.Count(b, []byte("<path")) + bytes.Count(b, []byte("<text"))
	switch {
	case !errors.Is(err, io.EOF):
		t.Fatalf("%s is no XML: %v", name, err)
	case shapes < minShapes:
		t.Fatalf("%s has %d shapes", name, shapes)
	case bytes.Contains(b, []byte("NaN")) || bytes.Contains(b, []byte("Inf")):
		i := max(bytes.Index(b, []byte("NaN")), bytes.Index(b, []byte("Inf")))
		t.Fatalf("%s contains an invalid number: %.200q", name, b[max(0, i-100):])
	}
}

// AnyName and AnyNumber draw extreme names and numbers for property tests of figures.
var (
	// AnyName includes names that a canvas or an SVG file cannot contain.
	AnyName = rapid.OneOf(rapid.SampledFrom([]string{"", "stage 1", "pod 0",
		"pod 1 - twin", "<&>\"", "a\nb\x00", "\xff", "\uffff"}), rapid.String())
	AnyNumber = rapid.OneOf(rapid.SampledFrom([]float64{0, 1e-15, 1, 4e11, 1e24}),
		rapid.Float64Range(0, 10))
)
