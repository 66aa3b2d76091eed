package sheet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"pgregory.net/rapid"

	_ "sim/internal/testseed"
	"sim/plots/sheet"
	"sim/plots/sheet/sheettest"
)

// page returns a sheet with the given number of plots in rows of two, a colour bar, a legend
// and a note.
func page(plots int, labels ...string) *sheet.Sheet {
	s := &sheet.Sheet{Title: "Title", Subtitle: "subtitle", Notes: []string{"A note."}}
	block := sheet.Block{Cols: 2, Height: 100, XTitle: "across", YTitle: "up"}
	for i := range plots {
		p := sheet.NewPlot()
		sheet.AddHeading(p, fmt.Sprint("plot ", i))
		sheet.SetCategories(p, labels, 250)
		sheet.TimeAxis(&p.Y, "time", 0, 1, 4)
		p.Add(sheet.HorizontalGrid(), sheet.PlotFunc(func(c draw.Canvas, p *plot.Plot) {
			sheet.FillBox(c, sheet.Purple, c.Min.X, c.Max.X, c.Min.Y, c.Max.Y)
		}))
		block.Plots = append(block.Plots, p)
	}
	block.AddColorBar(sheet.ColorBar("heat", sheet.NoUnit, 0, 1, 80))
	s.Blocks = []sheet.Block{block}
	for _, l := range labels {
		s.AddLegend(l, sheet.DotSample(sheet.Blue))
	}
	return s
}

// TestBlockAligned: the data areas of all plots of a block have the same size, with the
// requested height.
func TestBlockAligned(t *testing.T) {
	f := page(3, "a", "b", "a rather long name").Figure("f")
	rec := new(recorder.Canvas)
	f.Draw(draw.NewCanvas(rec, f.Width, f.Height))
	data := sheettest.Boxes(rec)[sheet.Purple]
	if len(data) != 3 {
		t.Fatalf("%d plots are drawn", len(data))
	}
	for _, d := range data {
		if size := d.Size(); math.Abs(float64(size.X-data[0].Size().X)) > 1e-6 || math.Abs(float64(size.Y-100)) > 1 {
			t.Errorf("the data of a plot is %v, the first %v", size, data[0].Size())
		}
	}
	for _, part := range []string{"Title", "subtitle", "across", "up", "heat", "plot 2", "A note.", "a rather long name"} {
		if !sheettest.Contains(f, part) {
			t.Errorf("the figure does not say %q", part)
		}
	}
}

// TestAnySheet: on sheets with random text, no text overlaps another or leaves the figure.
func TestAnySheet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.OneOf(sheettest.AnyName, rapid.StringN(0, 60, -1))
		s := page(rapid.IntRange(1, 5).Draw(t, "plots"), rapid.SliceOfN(label, 1, 40).Draw(t, "labels")...)
		s.Title, s.Subtitle = label.Draw(t, "title"), strings.Repeat(label.Draw(t, "subtitle")+" ", rapid.IntRange(0, 20).Draw(t, "times"))
		if m := sheettest.MisplacedTexts(s.Figure("f")); len(m) > 0 {
			t.Fatalf("%q", m)
		}
	})
}

// TestTicks: ticks are round values of their unit within the axis, and their number is near
// Count.
func TestTicks(t *testing.T) {
	text := func(ticks []plot.Tick) string {
		var out []string
		for _, tick := range ticks {
			if tick.Label != "" {
				out = append(out, tick.Label)
			}
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct {
		ticker plot.Ticker
		lo, hi float64
		want   string
	}{
		{sheet.Ticker{Unit: sheet.NoUnit, Count: 5}, 0, 1, "0 0.2 0.4 0.6 0.8 1.0"},
		{sheet.Ticker{Unit: sheet.PercentUnit, Count: 4}, 0, 1, "0 20 40 60 80 100"},
		{sheet.Ticker{Unit: sheet.NoUnit, Count: 9, IntegersOnly: true}, 1, 4, "1 2 3 4"},
		{sheet.Ticker{Unit: sheet.NoUnit, Count: 5}, 1, math.NaN(), ""},
		{sheet.LogTicker{Unit: sheet.NoUnit, Count: 6}, 1, 1000, "1 2 5 10 20 50 100 200 500 1000"},
		{sheet.LogTicker{UnitPerTick: true, Count: 4}, 1e-6, 1, "1 µs 100 µs 10 ms 1 s"},
		{sheet.LogTicker{Unit: sheet.NoUnit, Count: 6}, 0, 1, ""},
	} {
		if got := text(c.ticker.Ticks(c.lo, c.hi)); got != c.want {
			t.Errorf("%+v from %g to %g: %s, want %s", c.ticker, c.lo, c.hi, got, c.want)
		}
	}
}

// TestScales compares the ticks of axes of all magnitudes, and the units and formats of
// numbers, with a stored file.
func TestScales(t *testing.T) {
	var lines strings.Builder
	write := func(name string, ticks []plot.Tick) {
		fmt.Fprintf(&lines, "%s:", name)
		for _, tick := range ticks {
			fmt.Fprintf(&lines, " %.9g=%q", tick.Value, tick.Label)
		}
		fmt.Fprintln(&lines)
	}
	for k := -9; k <= 9; k += 2 {
		for _, m := range []float64{1, 1.49, 1.5, 3.49, 3.5, 7.5, 9} {
			v := m * math.Pow10(k)
			unit := sheet.TimeUnit(v)
			name := fmt.Sprintf("%.4g", v)
			fmt.Fprintf(&lines, "%s: %s %s %s %s %s %s %.6g\n", name, sheet.ShortNumber(v), sheet.Digits(v, 4), sheet.Duration(v, 3), sheet.Percent(v), unit.Name, sheet.PrefixedUnit(v, "B").Name, sheet.RoundStep(v))
			write(name+" linear", sheet.Ticker{Unit: unit, Count: 4}.Ticks(-v/3, v))
			write(name+" whole", sheet.Ticker{Unit: sheet.NoUnit, Count: 5, IntegersOnly: true}.Ticks(0, v))
			write(name+" log", sheet.LogTicker{Unit: unit, Count: 4}.Ticks(v, v*math.Pow(4, m)))
			write(name+" named", sheet.LogTicker{UnitPerTick: true, Count: 3}.Ticks(v, 5*v))
		}
	}
	for _, s := range []float64{59, 3599, 3600, 7199, 7200, 86400, 172799, 172800, 0.999999999, 1 - 1e-8, 0} {
		fmt.Fprintf(&lines, "%.10g s: %+v\n", s, sheet.TimeUnit(s))
	}
	sheettest.CompareText(t, filepath.Join("testdata", "scales.txt"), lines.String())
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		sheet.Digits(1234.5678, 6): "1234.57", sheet.Digits(0.1, 4): "0.1", sheet.Digits(0, 3): "0", sheet.Digits(2.5e12, 3): "2.5e+12",
		sheet.ShortNumber(1e9): "1e9", sheet.ShortNumber(0.25): "0.25", sheet.Duration(1.5e-5, 4): "15 µs", sheet.Duration(0, 4): "0 s",
		sheet.Percent(0.125): "12.5 %", sheet.Plain("a\nb\x00"): "a b", sheet.Capitalise("über"): "Über", sheet.FileName("a/b ü"): "a_b__",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if prefix, rests := sheet.CommonPrefix([]string{"stage 1", "stage 12"}); prefix != "stage" || !slices.Equal(rests, []string{"1", "12"}) {
		t.Errorf("%q and %q", prefix, rests)
	}
	style := sheet.Sans(10, sheet.Ink)
	for _, line := range sheet.Wrap(style, strings.Repeat("word ", 50), 100, 3) {
		if style.Width(line) > 100 {
			t.Errorf("the line %q is too wide", line)
		}
	}
}

// TestFine: thinned points have the same ends and extremes in each column of pixels, and
// adjacent narrow bars are merged.
func TestFine(t *testing.T) {
	var pts []vg.Point
	for i := range 1000 {
		pts = append(pts, sheet.Point(vg.Length(i)/100, vg.Length(math.Sin(float64(i)))))
	}
	thin := sheet.ThinPoints(pts)
	compareHeight := func(a, b vg.Point) int { return int(math.Copysign(1, float64(a.Y-b.Y))) }
	if len(thin) > 4*21 || thin[0] != pts[0] || thin[len(thin)-1] != pts[999] || slices.MinFunc(thin, compareHeight) != slices.MinFunc(pts, compareHeight) {
		t.Errorf("%d points are left", len(thin))
	}
	var b sheet.Bars
	for i := range 100 {
		b.Add(vg.Length(i)/100, vg.Length(i+1)/100, 0, 1)
	}
	rec := new(recorder.Canvas)
	b.Fill(draw.NewCanvas(rec, 10, 10), sheet.Blue)
	if boxes := sheettest.Boxes(rec)[sheet.Blue]; len(boxes) != 1 || boxes[0].Max.X > 1+sheet.Pixel {
		t.Errorf("bars are drawn as %v", boxes)
	}
}

// TestWriteAll: files do not depend on the number of workers, and errors are returned.
func TestWriteAll(t *testing.T) {
	figs := []sheet.Figure{page(1, "a").Figure("one"), page(2, "b").Figure("two")}
	read := func(workers int) (all []byte) {
		dir := t.TempDir()
		if err := sheet.WriteAll(t.Context(), dir, sheet.Formats, figs, workers); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"one.png", "one.svg", "two.png", "two.svg"} {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
		return all
	}
	if !bytes.Equal(read(1), read(3)) {
		t.Error("files depend on the number of workers")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := sheet.WriteAll(ended, t.TempDir(), sheet.Formats, figs, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := sheet.WriteAll(t.Context(), t.TempDir(), []string{"gif"}, figs, 1); err == nil || !strings.Contains(err.Error(), "want png or svg") {
		t.Errorf("error %v", err)
	}
}

func TestGolden(t *testing.T) {
	sheettest.CompareImage(t, page(3, "a", "b", "a rather long name").Figure("page"), filepath.Join("testdata", "page.png"))
}
