package report

import (
	"math"

	"sim/internal/text"
	"sim/scenarios/result"
)

// tiers tells what each tier of a machine carries and costs, and which is worth the most when its links are twice as fast;
// nothing where there are none.
func (p *page) tiers(row *result.Row) {
	if row == nil {
		return
	}
	list := result.Tiers(row)
	if len(list) == 0 {
		return
	}
	end := row.Metrics["makespan_s"]
	if v, ok := row.Metrics["fluid_s"]; ok && row.Metrics["packet_slack_s"] > 0 { // pods, whose tiers are measured as fluid
		end = v
	}
	u := text.UnitFor(end)
	t := text.NewTable("tier, from the inside out", "carries", "busy", "exposed", "of the\niteration", "iteration, its\nrates doubled").Left(0)
	best := 0
	for i, tier := range list {
		t.Row(tier.Name, text.Thousands(math.Round(tier.Bytes/1e9))+" GB", text.Percent(tier.Busy), u.Of(tier.ExposedS), text.Percent(tier.ExposedS/end), u.Of(tier.DoubledS))
		if tier.DoubledS < list[best].DoubledS {
			best = i
		}
	}
	p.table(t)
	if saved := end - list[best].DoubledS; saved > 0 {
		p.wrapped("Improve tier %s first: with its rates doubled an iteration takes %s, %s less.", list[best].Name, text.Seconds(list[best].DoubledS), text.Percent(saved/end))
	} else {
		p.line("No tier makes the iteration shorter with its rates doubled.")
	}
	if calls := row.Labels["tier_calls"]; calls != "" {
		p.note("calls of inner tiers: %s", calls)
	}
}
