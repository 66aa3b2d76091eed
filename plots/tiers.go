// This file draws the exposed time of each tier of a machine.

package plots

import (
	"slices"

	"sim/plots/chart"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// tiersFigure compares the exposed communication of each tier by policy. Runs with one tier have
// no such figure.
func tiersFigure(doc *result.Document, d *result.Detail, add addFigure) {
	page, err := barsBy(doc, d, "tier",
		func(r *result.Row, add func(tier, metric string, v float64)) {
			for _, t := range result.Tiers(r) {
				add(t.Name, result.TierExposed, t.ExposedS)
			}
		})
	if err != nil {
		// No tiers, or too many policies for bars.
		return
	}
	page.Title = "Time by tier"
	page.Notes = append([]string{"Exposed by a tier is how much shorter the " +
		"iteration would be if the tier took no time."}, page.Notes...)
	add("tiers", page)
}

// barsBy returns a bar chart by policy with one series per part, such as a tier or a job. list
// calls add with the name of each part of a row, the metric and its value. All rows must use the
// same metric. An error means that there is nothing to draw, or too much.
func barsBy(
	doc *result.Document,
	d *result.Detail,
	part string,
	list func(r *result.Row, add func(part, metric string, v float64)),
) (*sheet.Sheet, error) {
	// The parts become the labels of an axis of a sweep.
	by := result.Axis{Name: part, Keys: []string{part}}
	s := &result.Sweep{Name: doc.Scenario, Title: d.Title}
	spec := &result.Plot{Kind: "bars", X: "policy", Series: part}
	for i := range doc.Rows {
		list(&doc.Rows[i], func(part, metric string, v float64) {
			at := slices.Index(by.Labels, part)
			if at < 0 {
				at = len(by.Labels)
				by.Labels = append(by.Labels, part)
			}

			// Each part of a row becomes a cell of the sweep.
			spec.Y = metric
			s.Cells = append(s.Cells, result.Cell{
				At:      []int{at},
				Policy:  doc.Rows[i].Policy,
				Metrics: map[string]float64{metric: v},
			})
		})
	}

	s.Axes = []result.Axis{by}
	return chart.Sheet(spec, s, noTimings)
}
