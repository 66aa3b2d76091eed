package chart

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"sim/internal/text"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// lead says in a sentence what a chart of values at places shows: of several series, or policies side by side, which is
// best at how many places and how far off the others are; else where the values are least and greatest. It is "" of
// charts of two metrics, and of those with one value.
func (v *view) lead() string {
	if v.byMetric || v.spec.Kind == "gain" || v.spec.Scale < 0 {
		return ""
	}
	w := *v
	w.notes = nil
	m, err := w.measure(v.metric())
	if err != nil {
		return ""
	}
	known, _ := result.Find(m.name)
	if of := m.of; v.kind.across {
		known.Words = "mean " + known.Words
		m.of = func(c *result.Cell) (float64, bool) {
			if samples := c.Samples[m.name]; len(samples) > 0 {
				return stat.Mean(samples, nil), true
			}
			return of(c)
		}
	}
	t, err := w.tabulate(m)
	if err != nil {
		return ""
	}
	field := contest{words: known.Words, better: known.Better, shares: known.Format == result.Gap}
	cells := func(panel, s, x int) *spread { return t.cell(panel, s, x) }
	rivals, places := v.series, t.width
	switch {
	case v.kind.tiles || v.series == &none && v.x.name != policyName:
		return v.ends(t, &known)
	case v.series == &none:
		rivals, places = v.x, 1
		cells = func(panel, s, _ int) *spread { return t.cell(panel, 0, s) }
	}
	for _, l := range rivals.categories {
		name := rivals.head(l)
		if rivals.name == policyName {
			name = sheet.Plain(rivals.labels[l])
		}
		field.names = append(field.names, name)
	}
	for p := range v.panels.categories {
		for x := range places {
			values := make([]float64, len(field.names))
			for s := range values {
				values[s] = math.NaN()
				if c := cells(p, s, x); c.n > 0 {
					values[s] = c.mean
				}
			}
			field.add(values)
		}
	}
	return field.sentence()
}

// contest is values of rivals at several places.
type contest struct {
	words, better string
	names         []string
	shares        bool        // values are differences, whose ratios say nothing
	at            [][]float64 // by place and rival, NaN of none
}

// add adds a place where at least two have a value.
func (c *contest) add(values []float64) {
	some := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(some) > 1 {
		c.at = append(c.at, values)
	}
}

// sentence says who is best at how many places, and how far off others are.
func (c *contest) sentence() string {
	if len(c.at) == 0 {
		return ""
	}
	head, sign := "Lowest ", 1.0
	if c.better != result.Lower {
		head, sign = "Highest ", -1
	}
	wins := make([]int, len(c.names))
	off := make([]float64, len(c.names)) // the largest ratio to the best of a place
	equal := true
	for i := range off {
		off[i] = 1
	}
	for _, values := range c.at {
		best := math.Inf(1)
		for _, v := range values {
			if !math.IsNaN(v) {
				best = min(best, sign*v)
			}
		}
		best *= sign
		for i, v := range values {
			switch {
			case math.IsNaN(v):
			case sheet.Near(v, best):
				wins[i]++
			default:
				equal = false
				if r := v / best; best > 0 && v >= 0 && sign*r > sign*off[i] {
					off[i] = r
				}
			}
		}
	}
	if equal {
		return sheet.Sentence(c.words) + " is the same for all."
	}
	most := slices.Max(wins)
	var first, rest []int
	for i := range c.names {
		if wins[i] == most {
			first = append(first, i)
		} else if off[i] != 1 {
			rest = append(rest, i)
		}
	}
	var names []string
	for _, i := range first {
		names = append(names, c.names[i])
	}
	where := ""
	if len(c.at) > 1 {
		where = " at " + text.Count(most) + " of " + text.Count(len(c.at)) + " places"
		if len(first) > 1 {
			where += " each"
		}
	}
	out := head + c.words + where + ": " + andList(names)
	slices.SortStableFunc(rest, func(a, b int) int { return cmp.Compare(sign*off[a], sign*off[b]) })
	upTo := ""
	if len(c.at) > 1 {
		upTo = "up to "
	}
	switch n := len(rest); {
	case c.shares:
	case n == 1:
		out += "; " + c.names[rest[0]] + " has " + upTo + more(off[rest[0]])
	case n > 1:
		next, last := rest[0], rest[n-1]
		out += "; next is " + c.names[next] + ", " + upTo + more(off[next]) + ", and last " + c.names[last] + ", " + upTo + more(off[last])
	}
	return out + "."
}

// more words a ratio.
func more(r float64) string {
	switch {
	case r > 1e6:
		return "over a million times as much"
	case r >= 2:
		return sheet.Digits(r, 3) + " times as much"
	case r > 1:
		return text.Percent(r-1) + " more"
	}
	return text.Percent(1-r) + " less"
}

// ends says where the values of a chart are least and greatest.
func (v *view) ends(t *table, m *result.Metric) string {
	least, greatest, n := -1, -1, 0
	for i, s := range t.at {
		if s.n == 0 {
			continue
		}
		n++
		if least < 0 || s.mean < t.at[least].mean {
			least = i
		}
		if greatest < 0 || s.mean > t.at[greatest].mean {
			greatest = i
		}
	}
	if n < 2 {
		return ""
	}
	if sheet.Near(t.at[least].mean, t.at[greatest].mean) {
		return sheet.Sentence(m.Words) + " is the same everywhere."
	}
	at := func(i int) string {
		value := t.at[i].mean
		q := v.quantityOf(m.Name, v.spec.YLabel, value, value, true)
		words := strings.TrimSpace(sheet.Digits(value*q.unit.Per, 4) + " " + q.unit.Name)
		var place []string
		for _, of := range []struct {
			f *facet
			i int
		}{{v.panels, i / (t.series * t.width)}, {v.series, i / t.width % t.series}, {v.x, i % t.width}} {
			if name := of.f.category(of.f.categories[of.i]); name != "" {
				place = append(place, name)
			}
		}
		return words + " at " + strings.Join(place, ", ")
	}
	return "Lowest " + m.Words + ": " + at(least) + "; highest: " + at(greatest) + "."
}
