package plots

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"pgregory.net/rapid"
)

// placedText is a text where it is drawn: a rectangle, turned by an angle.
type placedText struct {
	text    string
	corners [4]vg.Point
	angle   float64
}

// texts returns what f writes, and where.
func texts(f Figure) []placedText {
	rec := new(recorder.Canvas)
	f.draw(draw.NewCanvas(rec, f.width, f.height))
	var out []placedText
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
			style := text.Style{Font: font.From(a.Font, a.Size), Handler: sans(1, ink).Handler}
			w, down, up := style.Width(a.String), a.Size*0.15, a.Size*0.72
			p := placedText{text: a.String, angle: angle}
			sin, cos := math.Sincos(angle)
			for i, q := range []vg.Point{{X: 0, Y: -down}, {X: w, Y: -down}, {X: w, Y: up}, {X: 0, Y: up}} {
				q = q.Add(a.Point)
				p.corners[i] = vg.Point{X: q.X*vg.Length(cos) - q.Y*vg.Length(sin), Y: q.X*vg.Length(sin) + q.Y*vg.Length(cos)}
			}
			out = append(out, p)
		}
	}
	return out
}

// overlap reports whether two texts share more than a hair: along the sides of
// one of them they are always apart when they do not.
func overlap(a, b placedText) bool {
	const hair = 0.3
	for _, angle := range []float64{a.angle, a.angle + math.Pi/2, b.angle, b.angle + math.Pi/2} {
		sin, cos := math.Sincos(angle)
		span := func(p placedText) (lo, hi vg.Length) {
			lo, hi = vg.Length(math.Inf(1)), vg.Length(math.Inf(-1))
			for _, q := range p.corners {
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

// misplaced says what of a figure's text leaves it or lies on other text.
func misplaced(f Figure) (out []string) {
	all := texts(f)
	for i, a := range all {
		for _, q := range a.corners {
			if q.X < 0 || q.Y < 0 || q.X > f.width || q.Y > f.height {
				out = append(out, fmt.Sprintf("%q leaves the figure", a.text))
				break
			}
		}
		for _, b := range all[:i] {
			if overlap(a, b) {
				out = append(out, fmt.Sprintf("%q lies on %q", a.text, b.text))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestChartText(t *testing.T) {
	for _, c := range chartCases() {
		s, times := c.data()
		f, err := Chart(&c.spec, s, times)
		if err != nil {
			t.Fatalf("%s: %v", c.spec.Name, err)
		}
		if n := len(texts(f)); n < 10 {
			t.Errorf("%s has %d texts", c.spec.Name, n)
		}
		for _, m := range misplaced(f) {
			t.Errorf("%s: %s", c.spec.Name, m)
		}
	}
}

// Text stays on the sheet and apart whatever is drawn.
func TestAnyChartText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, times := anySweep(t)
		spec := anyPlot(t, s)
		mend(t, &spec, s)
		f, err := Chart(&spec, s, times)
		if err != nil {
			return
		}
		if m := misplaced(f); len(m) > 0 {
			t.Fatalf("%s: %q", spec.Kind, m)
		}
	})
}
