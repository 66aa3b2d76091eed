package plots

import (
	"bytes"
	"flag"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden images anew; look at each")

// goldens are the figures held as images, by run.
var goldens = map[string][]string{
	"small":  {"nct", "trace-reference", "demand", "dp-rates", "windows", "index"},
	"large":  {"trace-joint", "demand", "dp-rates", "windows", "index", "topology"},
	"many":   {"nct"},
	"near":   {"nct"},
	"ring":   {"topology"},
	"matrix": {"topology"},
	"grid":   {"topology"},
	"one":    {"trace-only"},

	"twisted": {"links-dor", "routes-dor", "delays", "loads"},
	"eight":   {"links-wild-first", "routes-wild-first", "delays"},
	"four":    {"links-dor"},
	"flat":    {"links-shortest", "routes-shortest"},
	"line":    {"links-shortest"},

	"plans": {"plan-ring", "plan-three", "plan-many", "plan-bare", "plan-kautz", "plan-steps", "plan-turns"},
}

const goldenDPI = 60 // text can just be read, files stay small

// Processors may round the last digit of a coordinate differently, which
// shifts the shade of a pixel on an edge.
const (
	shadeTolerance = 24    // of 255, in any channel
	pixelTolerance = 0.001 // share of pixels that may differ by more
)

func TestGolden(t *testing.T) {
	for name, wanted := range goldens {
		figs, err := All(runs[name]())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, w := range wanted {
			t.Run(name+"-"+w, func(t *testing.T) {
				i := slices.IndexFunc(figs, func(f Figure) bool { return f.Name == w })
				if i < 0 {
					t.Fatalf("the run has no figure %s", w)
				}
				var b bytes.Buffer
				if err := figs[i].writePNG(&b, goldenDPI); err != nil {
					t.Fatal(err)
				}
				file := filepath.Join("testdata", name+"-"+w+".png")
				if *update {
					var small bytes.Buffer
					e := png.Encoder{CompressionLevel: png.BestCompression}
					if err := e.Encode(&small, decode(t, b.Bytes())); err != nil {
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
				got := filepath.Join(os.TempDir(), "plots-"+name+"-"+w+".png")
				if why := differs(t, b.Bytes(), want); why != "" {
					os.WriteFile(got, b.Bytes(), 0o666) // for a person to look at
					t.Errorf("differs from %s: %s; drawn as %s; -update accepts it", file, why, got)
				}
			})
		}
	}
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
		return percent(share) + " of the pixels"
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

// A stale golden would be believed for ever.
func TestGoldenFilesAreUsed(t *testing.T) {
	files, err := filepath.Glob("testdata/*.png")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		run, fig, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".png"), "-")
		if !slices.Contains(goldens[run], fig) {
			t.Errorf("no test uses %s", f)
		}
	}
}
