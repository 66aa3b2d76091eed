package plots

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// chipShades are the colours of parts of a whole, the first being the largest after what is wanted.
var chipShades = []color.RGBA{
	sheet.Faint, sheet.Orange, sheet.SkyBlue, sheet.Vermillion, sheet.Purple, sheet.Green, sheet.Mix(sheet.Blue, 0.5), sheet.Black, sheet.Dim,
	sheet.Mix(sheet.Vermillion, 0.5), sheet.Mix(sheet.Green, 0.5), sheet.Mix(sheet.Purple, 0.5),
}

// chipTimeFigure shows, by policy, what chip-time went to: bars that are 100 % wide.
func chipTimeFigure(doc *result.Document, d *result.Detail) []sheet.Figure {
	parts := result.PartsOf(result.ChipTime, doc.Rows)
	if len(parts) == 0 {
		return nil
	}
	t := &trackChart{count: len(doc.Rows), size: sheet.NumberSize + 1.5}
	s := sheet.Sheet{Title: "Where chip-time goes", Subtitle: d.Title}
	var ticks plot.ConstantTicks
	ends := make([]float64, len(doc.Rows))
	for k, part := range parts {
		shade := sheet.Blue
		if k > 0 {
			shade = chipShades[(k-1)%len(chipShades)]
		}
		s.Legend = append(s.Legend, sheet.Entry{Text: part.Words, Sample: sheet.Box(shade, 1)})
		for i, v := range part.Values {
			t.bars = append(t.bars, bar{i, ends[i], ends[i] + 100*v, 0.12, 0.88, shade, fmt.Sprintf("%.1f", 100*v)})
			ends[i] += 100 * v
		}
	}
	p := t.plot()
	for i := range doc.Rows {
		ticks = append(ticks, plot.Tick{Value: t.middle(i), Label: sheet.Fit(sheet.Sans(sheet.TickSize, sheet.Ink), sheet.Plain(doc.Rows[i].Policy), 120)})
	}
	p.Y.Tick.Marker = ticks
	p.X.Label.Text = "share of chip-time, %"
	sheet.SetRange(&p.X, 0, 100)
	s.Blocks = []sheet.Block{{Plots: []*plot.Plot{p}, Height: vg.Length(max(60, 36*len(doc.Rows)))}}
	return []sheet.Figure{s.Figure("chip-time")}
}

// cubesFigure shows who had each cube, day by day, under a policy.
func cubesFigure(_ *result.Document, d *result.Detail) []sheet.Figure {
	var out []sheet.Figure
	for i := range d.Policies {
		if f := d.Policies[i].Fleet; f != nil && len(f.Cubes) > 0 && f.UntilS > f.FromS {
			out = append(out, cubesOf(d.Policies[i].Policy, d.Title, f))
		}
	}
	return out
}

func cubesOf(policy, title string, f *result.Fleet) sheet.Figure {
	const day = 86400
	t := &trackChart{count: len(f.Cubes), size: sheet.NumberSize}
	s := sheet.Sheet{
		Title: "Jobs on the cubes of a pod under " + policy, Subtitle: title,
		Notes: []string{"A row is a cube. Jobs are coloured by the size of their slice; white is free."},
	}
	s.Legend = kindLegend(f.Cubes)
	known, others := kindsOf(f.Cubes)
	for _, k := range slices.Concat(known, others) {
		for i, x := range spans(f.Cubes) {
			if x.Kind == k.Name {
				t.bars = append(t.bars, bar{i, x.StartS / day, x.EndS / day, 0, 0.9, k.Color, ""})
			}
		}
	}
	p := t.plot()
	var ticks plot.ConstantTicks
	const each = 8
	for i := 0; i < len(f.Cubes); i += each {
		ticks = append(ticks, plot.Tick{Value: t.middle(i), Label: sheet.Plain(f.Cubes[i].Name)})
	}
	p.Y.Tick.Marker = ticks
	day0, all := f.UntilS-f.FromS, 0.0
	for _, x := range spans(f.Cubes) {
		if x.Label != "" { // of a job
			all += min(x.EndS, f.UntilS) - max(x.StartS, f.FromS)
		}
	}
	s.Notes = append(s.Notes, fmt.Sprintf("Jobs have the cubes of the first pod for %s of these %s.", sheet.Percent(all/day0/float64(len(f.Cubes))), sheet.Duration(day0, 3)))
	p.X.Label.Text = "day"
	sheet.SetRange(&p.X, f.FromS/day, f.UntilS/day)
	s.Blocks = []sheet.Block{{Plots: []*plot.Plot{p}, Height: vg.Length(8 * len(f.Cubes))}}
	return s.Figure("cubes-" + sheet.FileName(policy))
}

// stillFigure shows the cubes of a pod as a grid, under each policy, when most of what is free under some does not fit
// one slice.
func stillFigure(_ *result.Document, d *result.Detail) []sheet.Figure {
	whose, look := d.Fragmented()
	if whose == "" {
		return nil
	}
	worst, at := look.Free-look.Largest, look.AtS
	s := sheet.Sheet{
		Title: fmt.Sprintf("What is free of a pod on day %.2f", at/86400), Subtitle: d.Title,
		Notes: []string{fmt.Sprintf("At that moment the most free cubes are outside the largest slice that fits: %d under %s.", worst, sheet.Plain(whose)), "A square is a cube, four layers of a grid of 4x4x4 side by side. Jobs are coloured by the size of their slice; white is free."},
	}
	var shown []result.Track
	for i := range d.Policies {
		if f := d.Policies[i].Fleet; f != nil {
			cubes := f.CubesAt(at)
			shown = append(shown, cubes...)
			s.Blocks = append(s.Blocks, stillOf(d.Policies[i].Policy, f, cubes, at))
		}
	}
	s.Legend = kindLegend(shown)
	return []sheet.Figure{s.Figure("fragmentation")}
}

// stillOf draws the cubes of a pod at a moment.
func stillOf(policy string, f *result.Fleet, cubes []result.Track, at float64) sheet.Block {
	const side, gap = 4, 1
	t := &trackChart{count: side, size: sheet.NumberSize}
	for cube, track := range cubes {
		x, y, z := cube/(side*side), cube/side%side, cube%side
		lo := float64(x*(side+gap) + z)
		t.bars = append(t.bars, bar{y, lo, lo + 0.92, 0.04, 0.96, sheet.Faint, ""}, bar{y, lo + 0.03, lo + 0.89, 0.07, 0.93, color.RGBA{255, 255, 255, 255}, ""})
		for _, span := range track.Spans {
			t.bars = append(t.bars, bar{y, lo, lo + 0.92, 0.04, 0.96, kindOf(span.Kind).Color, ""})
		}
	}
	p := t.plot()
	words := "no cube is free"
	for _, l := range f.Looks {
		if l.AtS == at {
			words = fmt.Sprintf("%d free, the largest slice %d", l.Free, l.Largest)
		}
	}
	p.Y.Tick.Marker = plot.ConstantTicks{
		{Value: t.middle(1), Label: sheet.Fit(sheet.Sans(sheet.TickSize, sheet.Ink), sheet.Plain(policy), 150)}, {Value: t.middle(2), Label: words},
	}
	p.X.Tick.Marker, p.X.Tick.Length = plot.ConstantTicks{}, 0
	sheet.SetRange(&p.X, 0, side*(side+gap)-gap)
	return sheet.Block{Plots: []*plot.Plot{p}, Height: 90}
}
