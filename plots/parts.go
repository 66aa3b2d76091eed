// This file divides bars into the parts of a whole.

package plots

import (
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// partColors are the colours of the parts of a whole. Colour-blind readers can distinguish all of
// them, and neighbours differ clearly.
var partColors = []color.RGBA{
	sheet.Blue, sheet.Faint, sheet.Vermillion, sheet.Dim, sheet.Orange, sheet.SkyBlue,
	sheet.Brown, sheet.Yellow, sheet.Green, sheet.Black, sheet.Purple,
}

// addParts adds to s a chart with one bar per value of the parts, such as one bar per policy, that
// stacks the parts, and a legend. Each part of a bar has a label, if it fits, and each bar a name.
// The caller sets the x axis.
func addParts(
	s *sheet.Sheet,
	parts []result.WholePart,
	colors []color.RGBA,
	label func(v float64) string,
	name func(bar int) string,
) *plot.Plot {
	ends := make([]float64, len(parts[0].Values)) // end of the last part, indexed by bar
	t := &trackChart{
		count:     len(ends),
		labelSize: sheet.NumberSize + 1.5,
		barGap:    sheet.Pixel,
	}
	for k, part := range parts {
		s.AddLegend(part.Words, sheet.BoxSample(colors[k]))
		for i, v := range part.Values {
			t.bars = append(t.bars, bar{
				track: i,
				lo:    ends[i],
				hi:    ends[i] + v,
				from:  0.12,
				to:    0.88,
				color: colors[k],
				label: label(v),
			})
			ends[i] += v
		}
	}

	p := t.plot()
	const nameWidth, barHeight, minHeight = 150, 36, 60 // points
	t.nameTracks(p, nameWidth, name)
	s.Add(vg.Length(max(minHeight, barHeight*t.count)), p)
	return p
}

// mergeSmallParts merges the last parts into one if a bar could not show them: parts of less than
// half a percent in every bar, and parts for which no colour remains.
func mergeSmallParts(parts []result.WholePart) []result.WholePart {
	const minShare = 0.005
	n := len(parts)
	for n > 0 && (n > len(partColors) || slices.Max(parts[n-1].Values) < minShare) {
		n--
	}
	if n = min(n, len(partColors)-1); len(parts)-n < 2 {
		return parts
	}
	rest := result.WholePart{Values: make([]float64, len(parts[n].Values))}
	var names []string
	for _, p := range parts[n:] {
		names = append(names, p.Words)
		floats.Add(rest.Values, p.Values)
	}
	rest.Words = strings.Join(names, ", ")
	return append(slices.Clone(parts[:n]), rest)
}
