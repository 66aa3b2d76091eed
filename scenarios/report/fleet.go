package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"sim/internal/text"
	"sim/scenarios/result"
)

// fleet explains where the chip-time of a fleet goes, under each policy.
func (p *page) fleet(run *result.Run, row *result.Row) {
	p.wrapped("%s turns %s of all chip-time into work that is kept.", p.strong(row.Policy), text.Percent(row.Kept()))
	heads := []string{"chip-time, %"}
	parts := result.PartsOf(result.ChipTime, run.Document.Rows)
	var columns [][]float64
	for i := range run.Document.Rows {
		heads = append(heads, run.Document.Rows[i].Policy)
		var own []float64
		for _, part := range parts {
			own = append(own, 100*part.Values[i])
		}
		columns = append(columns, addUp(own))
	}
	t := text.NewTable(heads...)
	for k, part := range parts {
		cells := []string{part.Words}
		for _, c := range columns {
			cells = append(cells, fmt.Sprintf("%.2f", c[k]))
		}
		t.Row(cells...)
	}
	cells := []string{"all"}
	for _, c := range columns {
		cells = append(cells, fmt.Sprintf("%.2f", sum(c)))
	}
	t.Row(cells...)
	p.table(t)
}

// addUp rounds parts to hundredths such that they add up to their sum: those that rounding took farthest go the other
// way.
func addUp(parts []float64) []float64 {
	out, left := make([]float64, len(parts)), math.Round(100*sum(parts))
	for i, v := range parts {
		out[i] = math.Round(100 * v)
		left -= out[i]
	}
	for ; left != 0; left -= math.Copysign(1, left) {
		at := 0
		for i, v := range parts {
			if sign := math.Copysign(1, left); (100*v-out[i])*sign > (100*parts[at]-out[at])*sign {
				at = i
			}
		}
		out[at] += math.Copysign(1, left)
	}
	for i := range out {
		out[i] /= 100
	}
	return out
}

// Gains lists what single changes give a policy, from the best, over so many seeds.
func Gains(policy string, gains []result.Gain, seeds int, bold func(string) string) string {
	p := &page{bold: bold}
	slices.SortStableFunc(gains, func(a, b result.Gain) int {
		return cmp.Or(cmp.Compare(a.Failed, b.Failed), -cmp.Compare(a.Mean, b.Mean))
	})
	p.line("\n%s", p.strong("What single changes would give "+policy))
	t := text.NewTable("change", "goodput,\npoints", "standard\nerror")
	for i, g := range gains {
		switch se := "-"; {
		case g.Failed != "":
			t.Row(g.Change, "-", "-")
		case seeds > 1:
			se = fmt.Sprintf("%.2f", 100*g.SE)
			fallthrough
		default:
			row := []string{g.Change, fmt.Sprintf("%+.2f", 100*g.Mean), se}
			if i == 0 && g.Mean > 0 {
				t.BoldRow(row...)
			} else {
				t.Row(row...)
			}
		}
	}
	p.table(t)
	p.note("Each is simulated with the same jobs and the same failures of parts as without it, over %s.", text.Plural(seeds, "seed"))
	for _, g := range gains {
		if g.Failed != "" {
			p.note("%s: %s", g.Change, g.Failed)
		}
	}
	return p.String()
}
