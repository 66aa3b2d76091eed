// This file places the marks of a plot, values from other sources, in a chart.

package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
)

// Radii in points of marks, and of the markers of points.
const (
	markRadius   = 4.5
	markerRadius = 3.4
)

// statedLine is the style of the line from a mark to the values for which it holds, and of marks
// across a panel.
var statedLine = sheet.Line(sheet.Ink, 1, 4, 3)

// placedMark is a mark of the plot with its place in the chart.
type placedMark struct {
	// panel, series and x are indices of categories; -1 stands for all, such as allPanels.
	panel, series, x int
	// number is the value of x, if it is a number.
	number float64
	y      float64 // in units of the y axis
	label  string  // text in the legend
	// shape is the outline of the symbol; marks with the same label share one.
	shape []vg.Point
}

// ofGroup reports whether m applies to all bars of a group.
func (m *placedMark) ofGroup() bool { return m.x >= 0 && m.series < 0 }

// placeMarks resolves the categories of the marks and sorts the marks by y. It omits marks of
// categories that are not drawn, and returns an error for unknown ones.
func (v *view) placeMarks() error {
	var labels []string
	for i := range v.spec.Marks {
		m := &v.spec.Marks[i]

		// Check the values.
		role := fmt.Sprintf("mark[%d]", i)

		switch {
		case m.Label == "":
			return fmt.Errorf("%s has no label: say who states it", role)
		case !drawable(m.Y):
			return fmt.Errorf("%s is %g, which no figure can show", role, m.Y)
		case m.Y <= 0 && v.logarithmic():
			return fmt.Errorf("%s is %g, which a logarithmic axis does not have",
				role, m.Y)
		case m.X != "" && v.kind.across:
			return fmt.Errorf("%s: a cdf has no x; y is the metric's value", role)
		}

		// Each label has a shape.
		if !slices.Contains(labels, m.Label) {
			labels = append(labels, m.Label)
		}
		p := placedMark{
			y:     m.Y,
			label: m.Label,
			shape: statedShapes[slices.Index(labels, m.Label)%len(statedShapes)],
		}

		// Resolve the categories of the mark. drawn is false if the option where excludes one of
		// them.
		drawn := true
		for _, at := range []struct {
			name, label string
			f           *dimension
			place       *int
		}{{"x", m.X, v.x, &p.x}, {"series", m.Series, v.series, &p.series},
			{"panel", m.Panel, v.panels, &p.panel}} {
			*at.place = -1
			if at.label == "" || v.isXMetric && at.name == "x" {
				continue
			}
			if at.f.index < 0 {
				return fmt.Errorf("%s: %s is %q, but the plot has no %s", role,
					at.name, at.label, at.name)
			}

			place, err := at.f.categoryIndex(role+" "+at.name, at.label)
			if err != nil {
				return err
			}
			*at.place, drawn = place, drawn && place >= 0
		}

		switch {
		case v.isXMetric && m.X != "":
			// If x is a metric, the x of a mark is a number.
			n, err := strconv.ParseFloat(strings.TrimSpace(m.X), 64)
			if err != nil || !drawable(n) {
				return fmt.Errorf("%s: x is %q, where the axis has numbers", role, m.X)
			}
			drawn = drawn && !(v.spec.LogX && n <= 0)
			p.number, p.x = n, 0

		case v.x.numbers != nil && p.x >= 0:
			p.number = v.x.numbers[v.x.categories[p.x]]
		}

		if drawn {
			v.marks = append(v.marks, p)
		}
	}

	slices.SortStableFunc(v.marks, func(a, b placedMark) int {
		return cmp.Compare(a.y, b.y)
	})
	return nil
}

// panelMarks returns the marks of a panel, or of allPanels, in order of y. It includes marks
// that hold for all panels.
func (v *view) panelMarks(panel int) []placedMark {
	var out []placedMark
	for _, m := range v.marks {
		if panel == allPanels || m.panel == allPanels || m.panel == panel {
			out = append(out, m)
		}
	}
	return out
}

// markValues returns the y values of the marks of a panel, or of allPanels.
func (v *view) markValues(panel int) []float64 {
	var out []float64
	for _, m := range v.panelMarks(panel) {
		out = append(out, m.y)
	}
	return out
}

// legend adds the series and the labels of the marks to the legend. of selects how the series
// are shown.
func (v *view) legend(s *sheet.Sheet, styles []seriesStyle, of seriesParts) {
	if v.series.index >= 0 {
		for _, l := range v.series.categories {
			s.AddLegend(v.series.categoryText(l), styles[l].sample(of))
		}
	}

	// Add each label once, in the order of the plot.
	shown := map[string]bool{}
	for _, given := range v.spec.Marks {
		at := slices.IndexFunc(v.marks, func(m placedMark) bool {
			return m.label == given.Label
		})
		if at < 0 || shown[given.Label] {
			continue
		}
		shown[given.Label] = true
		m := &v.marks[at]
		s.AddLegend(m.label, func(c draw.Canvas) {
			if m.ofGroup() && v.kind.hasGroups {
				drawBeam(c, c.Min.X, c.Max.X, c.Center().Y)
			} else {
				drawStatedMark(c, m.shape, sheet.Ink, c.Center(), markRadius)
			}
		})
	}
}
