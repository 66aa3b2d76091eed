package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/internal/text"
	"sim/scenarios/result"
)

// fleet explains where the chip-time of a fleet goes, under each policy.
func (p *page) fleet(run *result.Run, row *result.Row) {
	const part = "share_"
	p.wrapped("%s turns %s of all chip-time into work that is kept.", p.strong(row.Policy), text.Percent(row.Metrics["goodput"]))
	sums := map[string]float64{}
	heads := []string{"chip-time, %"}
	for i := range run.Document.Rows {
		r := &run.Document.Rows[i]
		heads = append(heads, r.Policy)
		for name, v := range r.Metrics {
			if strings.HasPrefix(name, part) {
				sums[name] += v
			}
		}
	}
	names := []string{"goodput"}
	for name, v := range sums {
		if v > 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names[1:], func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	t := text.NewTable(heads...)
	var columns [][]float64
	for i := range run.Document.Rows {
		var parts []float64
		for _, name := range names {
			parts = append(parts, 100*run.Document.Rows[i].Metrics[name])
		}
		columns = append(columns, addUp(parts))
	}
	for k, name := range names {
		words := strings.TrimPrefix(name, part)
		if k == 0 {
			words = "work that is kept"
		}
		cells := []string{words}
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
