// This file draws the use of a fleet's chips: chip-time, jobs on cubes, and free
// cubes.

package plots

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"sim/internal/numbers"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// secondsPerDay converts times to days, the unit of figures of fleets.
const secondsPerDay = 86400

// chipTimeFigure shows the uses of chip-time as bars of 100 %, one per policy.
func chipTimeFigure(doc *result.Document, d *result.Detail, add addFigure) {
	// Each use of chip-time is a part with one value per policy; the values of a policy add to
	// 1.
	parts := mergeSmallParts(result.PartsOf(result.ChipTime, doc.Rows))
	if len(parts) == 0 {
		return
	}
	s := &sheet.Sheet{Title: "Where chip-time goes"}
	p := addParts(s, parts, partColors,
		func(v float64) string { return fmt.Sprintf("%.1f", 100*v) },
		func(i int) string { return doc.Rows[i].Policy })
	p.X.Label.Text = "share of chip-time, %"
	sheet.SetRange(&p.X, 0, 1)
	p.X.Tick.Marker = sheet.Ticker{Unit: sheet.Unit{Per: 100}, Count: 5}
	add("chip-time", s)
}

// cubesFigure shows for each policy which job used each cube over time.
func cubesFigure(_ *result.Document, d *result.Detail, add addFigure) {
	for i := range d.Policies {
		if f := d.Policies[i].Fleet; f != nil && len(f.Cubes) > 0 &&
			f.UntilS > f.FromS {
			policy := d.Policies[i].Policy
			add("cubes-"+sheet.FileName(policy), cubesSheet(policy, f))
		}
	}
}

// cubesSheet returns the figure of the cubes of a pod under a policy: one row per cube, with the
// jobs that used it over time.
func cubesSheet(policy string, f *result.Fleet) *sheet.Sheet {
	// One row per cube, over days. A bar covers 0.9 of the height of its row.
	t := spansChart(f.Cubes, secondsPerDay, func(SpanKind, bool) (from, to float64) {
		return 0, 0.9
	})
	s := &sheet.Sheet{Title: "Jobs on the cubes of a pod under " + policy}
	s.Note("A row is a cube. Jobs are coloured by the size of their slice; white is free.")
	addKindLegend(s, f.Cubes)
	p := t.plot()
	const nameWidth, namedRows = 120, 8 // points; one in namedRows rows has a name
	t.nameTracks(p, nameWidth, func(i int) string {
		if i%namedRows > 0 {
			return ""
		}
		return f.Cubes[i].Name
	})

	// The share of cube-time that jobs use. Spans with a label are jobs; others are failures and
	// maintenance.
	shown, all := f.UntilS-f.FromS, 0.0
	for _, x := range allSpans(f.Cubes) {
		if x.Label != "" { // a job
			all += min(x.EndS, f.UntilS) - max(x.StartS, f.FromS)
		}
	}

	s.Note("Jobs have the cubes of the first pod for %s of these %s.",
		sheet.Percent(all/shown/float64(len(f.Cubes))), sheet.Duration(shown, 3))
	p.X.Label.Text = "day"
	sheet.SetRange(&p.X, f.FromS/secondsPerDay, f.UntilS/secondsPerDay)
	const rowHeight = 8 // points
	s.Add(vg.Length(rowHeight*len(f.Cubes)), p)

	return s
}

// podStateFigure shows the cubes of a pod as a grid under each policy. It selects the time at
// which the most free cubes are outside the largest slice that fits, under any policy.
func podStateFigure(_ *result.Document, d *result.Detail, add addFigure) {
	worstPolicy, look := d.WorstFragmentation()
	if worstPolicy == "" {
		return
	}
	at := look.AtS
	s := &sheet.Sheet{Title: fmt.Sprintf("What is free of a pod on day %.2f", at/secondsPerDay)}
	s.Note("At that moment the most free cubes are outside the largest slice that "+
		"fits: %d under %s.", look.Free-look.Largest, worstPolicy)
	var grid [3]int // of the pods of all policies
	for i := range d.Policies {
		if f := d.Policies[i].Fleet; f != nil {
			grid = numbers.Factors(len(f.Cubes))
		}
	}
	s.Note("A square is a cube; layers of the grid of %dx%dx%d stand side by side. Jobs "+
		"are coloured by the size of their slice; white is free.", grid[0], grid[1], grid[2])

	// One row of squares per policy. The legend has the kinds that occur under any policy.
	var shown []result.Track
	for i := range d.Policies {
		if f := d.Policies[i].Fleet; f != nil {
			cubes := f.CubesAt(at)
			shown = append(shown, cubes...)
			// A grid of 4x4x4 is 90 points high. Others have squares of the same proportions.
			height := vg.Length(max(24, 90*19*grid[1]/(4*podColumns(grid))))
			s.Add(height, podStatePlot(d.Policies[i].Policy, f, cubes, grid, at))
		}
	}

	addKindLegend(s, shown)
	add("fragmentation", s)
}

// layerGap is the distance between layers of a grid of cubes, in cubes.
const layerGap = 1

// podColumns returns the width of a grid of cubes as layers side by side, in cubes.
func podColumns(grid [3]int) int { return grid[0]*(grid[2]+layerGap) - layerGap }

// podStatePlot draws the cubes of a pod at a time in seconds, as layers of their grid side by
// side. To the left are the policy, the number of free cubes and the size of the largest free
// slice.
func podStatePlot(policy string, f *result.Fleet, cubes []result.Track, grid [3]int, at float64) *plot.Plot {
	rows := max(2, grid[1]) // for two lines of text
	t := &trackChart{count: rows, labelSize: sheet.NumberSize}
	for cube, track := range cubes {
		// A cube is a square with a faint border. Cubes are numbered layer by layer, and row by row
		// in a layer. The column of a cube is its place in the row, after all preceding layers.
		lo := float64(cube/(grid[1]*grid[2])*(grid[2]+layerGap) + cube%grid[2])
		add := func(edge float64, clr color.RGBA) {
			t.bars = append(t.bars, bar{
				track: cube / grid[2] % grid[1],
				lo:    lo + edge,
				hi:    lo + 0.92 - edge,
				from:  0.04 + edge,
				to:    0.96 - edge,
				color: clr,
			})
		}

		const whole, inside = 0, 0.03
		add(whole, sheet.Faint)
		add(inside, sheet.White)
		for _, span := range track.Spans {
			add(whole, findSpanKind(span.Kind).Color)
		}
	}

	p := t.plot()

	// Name the two rows in the middle: the policy, and words about its free cubes.
	words := "no cube is free"
	for _, l := range f.FreeSamples {
		if l.AtS == at {
			words = fmt.Sprintf("%d free, the largest slice %d", l.Free, l.Largest)
		}
	}

	const nameWidth = 150 // points
	t.nameTracks(p, nameWidth, func(i int) string {
		return map[int]string{rows/2 - 1: policy, rows / 2: words}[i]
	})
	p.X.Tick.Marker, p.X.Tick.Length = plot.ConstantTicks{}, 0
	sheet.SetRange(&p.X, 0, float64(podColumns(grid)))

	return p
}
