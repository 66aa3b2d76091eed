package cli

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"sim/scenarios/result"
)

// phaseLines is how many phases of a plan are printed.
const phaseLines = 24

// printPlan prints where the time of a collective's plan goes: to reconfigurations and to slots or steps, phase by phase. false where
// the play has no plan.
func printPlan(b *strings.Builder, run *result.Run, p *result.Play, paint paints) bool {
	s := p.Schedule
	if s == nil {
		return false
	}
	if s.InSteps() {
		fmt.Fprintf(b, "%s\n\n", wrap(fmt.Sprintf("%s takes %s, by this plan: %s.", paint.bold(p.Policy), seconds(p.MakespanS), s.Origin), tableWidth))
		printSteps(b, s)
		return true
	}
	slots := 0
	for _, f := range s.Phases {
		slots += f.Slots
	}
	fmt.Fprintf(b, "%s takes %s, by this plan: %s.\n\n", paint.bold(p.Policy), seconds(p.MakespanS), s.Origin)
	dark, lit := float64(len(s.Phases))*s.DelayS, float64(slots)*s.SlotS
	if row := run.Document.Row(p.Policy); row != nil && row.Labels["reconfigure"] == "independent" {
		fmt.Fprintf(b, "  %s in %s, in which switches go dark one by one\n", plural(slots, "slot", "slots"), plural(len(s.Phases), "interval", "intervals"))
	} else {
		u := unitFor(dark + lit)
		line := func(v float64, what string) {
			fmt.Fprintf(b, "  %*s  %8s  %s\n", len(u.of(dark+lit)), u.of(v), percent(v/(dark+lit)), what)
		}
		line(dark, fmt.Sprintf("%s of %s", plural(len(s.Phases), "reconfiguration", "reconfigurations"), seconds(s.DelayS)))
		line(lit, fmt.Sprintf("%s of %s", plural(slots, "slot", "slots"), seconds(s.SlotS)))
	}
	tw := newTable(table.Row{"phase", "slots", "links", "in use"})
	for i, f := range s.Phases {
		if i == phaseLines {
			break
		}
		busy := 0
		for _, n := range f.Busy {
			busy += n
		}
		use := "-"
		if all := f.Slots * len(f.Edges); all > 0 {
			use = percent(float64(busy) / float64(all))
		}
		tw.AppendRow(table.Row{fmt.Sprint(i + 1), count(float64(f.Slots)), count(float64(len(f.Edges))), use})
	}
	fmt.Fprintf(b, "\n%s\n", tw.Render())
	if more := len(s.Phases) - phaseLines; more > 0 {
		fmt.Fprintf(b, "and %s\n", plural(more, "phase more", "phases more"))
	}
	return true
}
