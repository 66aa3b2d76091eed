// This file prints the loads of the tiers of a machine, for explanations and results
// of runs.

package report

import (
	"math"

	"sim/internal/text"
	"sim/scenarios/result"
)

// printTiers prints the load and cost of each tier of a machine, and the tier whose faster links
// save the most time. It prints nothing for other fabrics. row may be nil.
func (p *writer) printTiers(row *result.Row) {
	if row == nil {
		return
	}
	list := result.Tiers(row)
	if len(list) == 0 {
		return
	}
	ends, _ := row.End()
	end, what := ends.S, ends.Span
	t := text.NewTable("tier, from the inside out", "carries", "busy", "exposed",
		"of the\n"+what, what+", its\nrates doubled").In(text.UnitFor(end))

	// best is the tier with the shortest time after its rates are doubled.
	best := 0
	for i, tier := range list {
		// A row has the load, the busy share, the exposed time, and the time with doubled rates.
		t.Row(tier.Name, formatBytes(tier.Bytes), text.Percent(tier.Busy),
			tier.ExposedS, text.Percent(tier.ExposedS/end), tier.DoubledS)
		if tier.DoubledS < list[best].DoubledS {
			best = i
		}
	}

	p.table(t)
	if saved := end - list[best].DoubledS; saved > 0 {
		p.paragraph("Improve tier %s first: with its rates doubled %s takes %s, %s less.", list[best].Name, map[string]string{
			"iteration":  "an iteration",
			"completion": "all of it",
		}[what], text.Seconds(list[best].DoubledS), text.Percent(saved/end))
	} else {
		p.line("No tier makes the " + what + " shorter with its rates doubled.")
	}
	if calls := row.Labels["tier_calls"]; calls != "" {
		p.indented("calls of inner tiers: %s", calls)
	}
}

// formatBytes formats bytes in kB, MB or GB, without decimals.
func formatBytes(bytes float64) string {
	switch {
	case bytes >= 1e9:
		return text.Thousands(math.Round(bytes/1e9)) + " GB"
	case bytes >= 1e6:
		return text.Thousands(math.Round(bytes/1e6)) + " MB"
	}
	return text.Thousands(math.Round(bytes/1e3)) + " kB"
}
