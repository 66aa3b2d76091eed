// This file draws the exposed time of each tier of a machine.

package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// tiersFigure divides the iteration under each policy into the exposed time of each tier and the
// rest. Runs with one tier have no such figure.
func tiersFigure(doc *result.Document, _ *result.Detail, add addFigure) {
	// Rows of policies that failed have no tiers.
	rows := slices.DeleteFunc(slices.Clone(doc.Rows), func(r result.Row) bool {
		return result.Tiers(&r) == nil
	})

	// The first part is the rest. Each other part is a tier.
	totals := make([]float64, len(rows))
	rest := result.WholePart{
		Words:  "the rest: computing, and communication of several tiers at once",
		Values: make([]float64, len(rows)),
	}
	parts := []result.WholePart{rest}
	for i := range rows {
		r := &rows[i]
		totals[i] = cmp.Or(r.Metrics[result.IterationTime], r.Metrics[result.CompletionTime])
		rest.Values[i] = totals[i]
		for k, t := range result.Tiers(r) {
			if k+1 == len(parts) {
				parts = append(parts, result.WholePart{
					Words:  "exposed by tier " + t.Name,
					Values: make([]float64, len(rows)),
				})
			}
			parts[k+1].Values[i] = t.ExposedS
			rest.Values[i] -= t.ExposedS
		}
		rest.Values[i] = max(rest.Values[i], 0)
	}
	if len(parts) == 1 || len(parts) > len(partColors) {
		return
	}

	s := &sheet.Sheet{Title: "Time by tier"}
	s.Note("Exposed by a tier is how much shorter the iteration would be if the tier took no time.")
	longest := slices.Max(totals)
	u := sheet.TimeUnit(longest)
	// The rest is inconspicuous.
	colors := slices.Clone(partColors)
	colors[0], colors[1] = colors[1], colors[0]
	p := addParts(s, parts, colors,
		func(v float64) string { return sheet.Digits(v*u.Per, 4) },
		func(i int) string {
			return fmt.Sprintf("%s: %s", rows[i].Policy, sheet.Duration(totals[i], 4))
		})
	sheet.TimeAxis(&p.X, "iteration time", 0, math.Max(longest, 1e-12), 8)
	add("tiers", s)
}
