package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// shades are the colours of parts of a whole, the first being the largest after what is wanted.
var shades = []color.RGBA{
	sheet.Faint, sheet.Orange, sheet.SkyBlue, sheet.Vermillion, sheet.Purple, sheet.Green, sheet.Mix(sheet.Blue, 0.5), sheet.Black, sheet.Dim,
	sheet.Mix(sheet.Vermillion, 0.5), sheet.Mix(sheet.Green, 0.5), sheet.Mix(sheet.Purple, 0.5),
}

// chipTimeFigure shows, by policy, what chip-time went to: bars that are 100 % wide.
func chipTimeFigure(doc *result.Document, d *result.Detail) []sheet.Figure {
	const wanted, part = "goodput", "share_"
	sums := map[string]float64{}
	for i := range doc.Rows {
		for name, v := range doc.Rows[i].Metrics {
			if strings.HasPrefix(name, part) {
				sums[name] += v
			}
		}
	}
	if len(sums) == 0 {
		return nil
	}
	names := []string{wanted}
	for name, v := range sums {
		if v > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names[1:], func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	t := &trackChart{count: len(doc.Rows), size: sheet.NumberSize + 1.5}
	s := sheet.Sheet{Title: "Where chip-time goes", Subtitle: d.Title}
	var ticks plot.ConstantTicks
	for k, name := range names {
		shade, words := sheet.Blue, "work that is kept"
		if k > 0 {
			shade, words = shades[(k-1)%len(shades)], strings.TrimPrefix(name, part)
		}
		s.Legend = append(s.Legend, sheet.Entry{Text: words, Sample: sheet.Box(shade, 1)})
		for i := range doc.Rows {
			at := 0.0
			for _, before := range names[:k] {
				at += 100 * doc.Rows[i].Metrics[before]
			}
			v := 100 * doc.Rows[i].Metrics[name]
			t.bars = append(t.bars, bar{i, at, at + v, 0.12, 0.88, shade, fmt.Sprintf("%.1f", v)})
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

// looks are those of spans of cubes, in the order of the legend.
var looks = []struct {
	kind  string
	color color.RGBA
}{
	{"part of a cube", sheet.BlueTint}, {"one cube", sheet.SkyBlue}, {"2 to 4 cubes", sheet.Green}, {"5 to 16 cubes", sheet.Blue},
	{"more than 16 cubes", sheet.Purple}, {"down", sheet.Vermillion}, {"maintenance", sheet.Orange},
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
	for _, l := range looks {
		seen := false
		for i, x := range spans(f.Cubes) {
			if x.Kind == l.kind {
				t.bars, seen = append(t.bars, bar{i, x.StartS / day, x.EndS / day, 0, 0.9, l.color, ""}), true
			}
		}
		if seen {
			s.Legend = append(s.Legend, sheet.Entry{Text: l.kind, Sample: sheet.Box(l.color, 1)})
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
		if x.Kind != "down" && x.Kind != "maintenance" {
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
	worst, at, whose := 0, 0.0, ""
	for i := range d.Policies {
		if f := d.Policies[i].Fleet; f != nil {
			for _, l := range f.Looks {
				if l.Free-l.Largest > worst {
					worst, at, whose = l.Free-l.Largest, l.AtS, sheet.Plain(d.Policies[i].Policy)
				}
			}
		}
	}
	if worst == 0 {
		return nil
	}
	s := sheet.Sheet{
		Title: fmt.Sprintf("What is free of a pod on day %.2f", at/86400), Subtitle: d.Title,
		Notes: []string{fmt.Sprintf("Most free cubes are outside the largest slice that fits on that day: %d under %s.", worst, whose), "A square is a cube, four layers of a grid of 4x4x4 side by side. Jobs are coloured by the size of their slice; white is free."},
	}
	seen := map[string]bool{}
	for i := range d.Policies {
		if f := d.Policies[i].Fleet; f != nil {
			s.Blocks = append(s.Blocks, stillOf(d.Policies[i].Policy, f, at, seen))
		}
	}
	for _, l := range looks {
		if seen[l.kind] {
			s.Legend = append(s.Legend, sheet.Entry{Text: l.kind, Sample: sheet.Box(l.color, 1)})
		}
	}
	return []sheet.Figure{s.Figure("fragmentation")}
}

// stillOf draws the cubes of a pod at a moment, and notes whom it shows.
func stillOf(policy string, f *result.Fleet, at float64, seen map[string]bool) sheet.Block {
	const side, gap = 4, 1
	t := &trackChart{count: side, size: sheet.NumberSize}
	for cube, track := range f.Cubes {
		x, y, z := cube/(side*side), cube/side%side, cube%side
		lo := float64(x*(side+gap) + z)
		t.bars = append(t.bars, bar{y, lo, lo + 0.92, 0.04, 0.96, sheet.Faint, ""}, bar{y, lo + 0.03, lo + 0.89, 0.07, 0.93, color.RGBA{255, 255, 255, 255}, ""})
		for _, l := range looks {
			for _, span := range track.Spans {
				if span.Kind == l.kind && span.StartS <= at && at < span.EndS {
					seen[l.kind] = true
					t.bars = append(t.bars, bar{y, lo, lo + 0.92, 0.04, 0.96, l.color, ""})
				}
			}
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
