package report

import (
	"cmp"
	"fmt"
	"slices"

	"sim/internal/text"
	"sim/scenarios/result"
)

// printFleet prints the use of a fleet's chip-time under each policy.
func (p *writer) printFleet(run *result.Run, row *result.Row) {
	p.paragraph("%s turns %s of all chip-time into work that is kept.",
		p.emphasize(row.Policy), text.Percent(row.Metrics[result.Goodput]))
	heads := []string{"chip-time, %"}
	parts := result.PartsOf(result.ChipTime, run.Document.Rows)

	cells := make([][]string, len(parts)+1)
	for i := range run.Document.Rows {
		heads = append(heads, run.Document.Rows[i].Policy)
		var shares []float64
		for _, part := range parts {
			shares = append(shares, 100*part.Values[i])
		}
		rounded := text.AddUp(100, shares...) // rounded so that the sum is exact
		for k, v := range append(rounded, sum(rounded)) {
			cells[k] = append(cells[k], fmt.Sprintf("%.2f", v))
		}
	}

	t := text.NewTable(heads...)
	for k, part := range parts {
		t.Row(part.Words, cells[k])
	}
	t.Row("all", cells[len(parts)])
	p.table(t)
}

// Gains lists the effects of single changes for a policy, the largest first, as means
// over seeds.
func Gains(policy string, gains []result.Gain, seeds int, bold func(string) string) string {
	p := &writer{bold: bold}
	slices.SortStableFunc(gains, func(a, b result.Gain) int {
		return cmp.Or(cmp.Compare(a.Failed, b.Failed), -cmp.Compare(a.Mean, b.Mean))
	})
	p.line("\n%s", p.emphasize("What single changes would give "+policy))

	t := text.NewTable("change", "goodput,\npoints", "standard\nerror")
	for i, g := range gains {
		mean, se, add := "-", "-", t.Row
		if g.Failed == "" {
			mean = fmt.Sprintf("%+.2f", 100*g.Mean)
			if seeds > 1 {
				se = fmt.Sprintf("%.2f", 100*g.SE)
			}
			if i == 0 && g.Mean > 0 {
				add = t.BoldRow
			}
		}

		add(g.Change, mean, se)
	}

	p.table(t)
	p.indented("Each is simulated with the same jobs and the same failures of "+
		"parts as without it, over %s.", text.Plural(seeds, "seed"))
	for _, g := range gains {
		if g.Failed != "" {
			p.indented("%s: %s", g.Change, g.Failed)
		}
	}

	return p.String()
}
