package plots

import (
	"sim/plots/chart"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// tiersFigure compares, by policy, the time that each tier of a machine exposes, and for how much of the iteration it is busy.
func tiersFigure(doc *result.Document, d *result.Detail) []sheet.Figure {
	by := result.Axis{Name: "tier", Keys: []string{"tier"}}
	s := &result.Sweep{Name: doc.Scenario, Title: d.Title}
	for i := range doc.Rows {
		row := &doc.Rows[i]
		for k, t := range result.Tiers(row) {
			if k == len(by.Labels) {
				by.Labels = append(by.Labels, t.Name)
			}
			s.Cells = append(s.Cells, result.Cell{At: []int{k}, Policy: row.Policy, Metrics: map[string]float64{result.TierExposed: t.ExposedS}})
		}
	}
	if s.Axes = []result.Axis{by}; len(s.Cells) == 0 {
		return nil
	}
	page, err := chart.Sheet(&result.Plot{Kind: "bars", X: "policy", Y: result.TierExposed, Series: "tier"}, s, nil)
	if err != nil {
		return nil // more policies than bars could show
	}
	page.Title = "Time by tier"
	page.Notes = append([]string{"Exposed by a tier is how much shorter the iteration would be if the tier took no time."}, page.Notes...)
	return []sheet.Figure{page.Figure("tiers")}
}
