package chart

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/internal/text"
	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/gonum/floats"
)

var gainKind = kind{
	name: "gain", draw: (*view).gain, roles: (*view).gainRoles, check: (*view).checkGain, beside: true,
	takes: []string{"x", "over", "series", "log_y", "mark"},
	needs: map[string]string{"y": "a metric, such as completion_s"},
}

// gainChart is a chart of bars by policy, in groups by setting, each at the value of one axis at which a policy gains
// most over the best of the others. It is the form of Figs. 11 and 12 of the paper on reconfiguring during a
// collective.
type gainChart struct {
	v       *view
	policy  int   // place of the policy among the series
	against []int // places of those that it is compared with
	width   int   // settings of a panel
	groups  []gainGroup
}

// gainGroup is a setting: where on the axis its gain is largest, and that gain.
type gainGroup struct {
	at   int // place among the categories of the axis, -1 without any gain
	gain float64
}

func (v *view) gain() (*sheet.Sheet, error) {
	m, err := v.measure(v.spec.Y)
	if err != nil {
		return nil, err
	}
	g := v.newGain()
	tab, err := g.choose(m)
	if err != nil {
		return nil, err
	}
	b := &barChart{table: tab, v: v, digits: true, low: 120, caps: g.caps(tab), under: g.under}
	what := ", and the gain of " + sheet.Plain(v.spec.Policy)
	if len(v.over.categories) > 1 {
		what = " at the " + v.over.words + " where " + sheet.Plain(v.spec.Policy) + " gains most"
	}
	s := b.sheet(m, what)
	if n := b.truncated(); n > 0 {
		bars, where := fmt.Sprintf("%d bars are", n), ""
		if n == 1 {
			bars = "1 bar is"
		}
		if b.apart {
			where = " of the panel"
		}
		s.Notes = append(s.Notes, fmt.Sprintf("%s cut off at %s times the highest of %s%s.", bars, sheet.Digits(g.times(), 3), sheet.Plain(v.spec.Policy), where))
	}
	s.Subtitle = strings.TrimPrefix(s.Subtitle+"; "+g.average(), "; ")
	s.Notes = append([]string{g.reading()}, s.Notes...)
	return s, nil
}

// newGain finds the policy and those that it is compared with among the series.
func (v *view) newGain() *gainChart {
	g := &gainChart{v: v, width: len(v.x.categories)}
	for i, l := range v.series.categories {
		switch name := v.series.labels[l]; {
		case name == v.spec.Policy:
			g.policy = i
		case v.spec.Against == nil || slices.Contains(v.spec.Against, name):
			g.against = append(g.against, i)
		}
	}
	return g
}

// choose finds for each setting where the policy gains most, and returns the values there. Where some of the others
// have no value a gain would be too high, so that only places count at which as many have one as anywhere in the
// setting. Of equal gains the first place counts.
func (g *gainChart) choose(m measure) (*table, error) {
	v := g.v
	series, places := len(v.series.categories), len(v.over.categories)
	all := make([]spread, len(v.panels.categories)*g.width*series*places)
	of := func(group, s, o int) *spread { return &all[(group*series+s)*places+o] }
	tab := &table{series: series, width: g.width, at: make([]spread, len(v.panels.categories)*g.width*series)}
	err := v.each(m, func(c *result.Cell, y float64) {
		of(v.panels.at(c)*g.width+v.x.at(c), v.series.at(c), v.over.at(c)).add(y)
	})
	if err != nil {
		return nil, err
	}
	some := false
	for group := range len(v.panels.categories) * g.width {
		best := gainGroup{at: -1}
		most := 0
		for o := range places {
			own := of(group, g.policy, o)
			least, n := math.Inf(1), 0
			for _, s := range g.against {
				if other := of(group, s, o); other.n > 0 && other.mean > 0 {
					least, n = min(least, other.mean), n+1
				}
			}
			if own.n == 0 || n == 0 || n < most || !(own.mean > 0) {
				continue
			}
			gain := 1 - own.mean/least
			if !drawable(gain) {
				return nil, fmt.Errorf("the gain of %s is %g where %s is %g and the least of the others %g, which no figure can show", v.spec.Policy, gain, m.name, own.mean, least)
			}
			if n > most || gain > best.gain {
				best, most = gainGroup{o, gain}, n
			}
		}
		g.groups = append(g.groups, best)
		if best.at < 0 {
			continue
		}
		some = true
		for s := range series {
			put := tab.cell(group/g.width, s, group%g.width)
			*put = *of(group, s, best.at)
			tab.most = max(tab.most, put.n)
		}
	}
	if !some {
		return nil, fmt.Errorf("in no setting do %s and another have a value of %s above 0", v.spec.Policy, m.name)
	}
	return tab, nil
}

// times is the multiple of the policy's highest bar at which others are cut off; 0 is never. On a logarithmic axis tall
// bars leave room for others.
func (g *gainChart) times() float64 {
	if g.v.spec.Truncate == 0 && !g.v.spec.LogY {
		return 3
	}
	return g.v.spec.Truncate
}

// caps are the highest values that are drawn in full, by panel; nil without any.
func (g *gainChart) caps(tab *table) []float64 {
	if g.times() == 0 {
		return nil
	}
	caps := make([]float64, len(g.v.panels.categories))
	for p := range caps {
		for x := range g.width {
			caps[p] = max(caps[p], g.times()*tab.cell(p, g.policy, x).max)
		}
	}
	return caps
}

// average words the mean gain over all settings.
func (g *gainChart) average() string {
	var gains []float64
	for _, group := range g.groups {
		if group.at >= 0 {
			gains = append(gains, group.gain)
		}
	}
	mean := gainText(floats.Sum(gains) / float64(len(gains)))
	said := "gain " + mean
	if n := len(gains); n > 1 {
		said = fmt.Sprintf("average gain %s over %d settings, from %s to %s", mean, n, gainText(slices.Min(gains)), gainText(slices.Max(gains)))
	}
	if left := len(g.groups) - len(gains); left > 0 {
		said += fmt.Sprintf("; %s without values to compare", text.Plural(left, "setting"))
	}
	return said
}

func gainText(gain float64) string {
	return strings.Replace(sheet.Digits(100*gain, 3), "-", "−", 1) + " %"
}

// reading says what stands below the groups.
func (g *gainChart) reading() string {
	v := g.v
	var names []string
	for _, s := range g.against {
		names = append(names, sheet.Plain(v.series.labels[v.series.categories[s]]))
	}
	others := "the best of " + andList(names)
	switch {
	case len(names) == 1:
		others = names[0]
	case v.spec.Against == nil:
		others = "the best of the others"
	}
	where := "the " + v.over.words + " at which the gain is largest, and "
	switch {
	case v.over == &none:
		where = ""
	case len(v.over.categories) == 1:
		where = "the " + v.over.words + ", and "
	}
	return "Below each group: " + where + "the gain of " + sheet.Plain(v.spec.Policy) + ", 1 − its value / that of " + others + "."
}

// under is what stands below the label of a group: what was chosen, and the gain.
func (g *gainChart) under(group int) string {
	chosen := g.groups[group]
	if chosen.at < 0 {
		return ""
	}
	text := "\n" + gainText(chosen.gain)
	if f := g.v.over; f != &none {
		category := f.categories[chosen.at]
		name := f.category(category)
		if f.times() {
			name = sheet.Duration(f.numbers[category], 4)
		}
		text = "\n" + sheet.Fit(sheet.Sans(sheet.TickSize, sheet.Ink), name, 110) + text
	}
	return text
}

// gainRoles looks up the axis that a gain takes one value of, what goes across and what the panels are: where the plot
// does not say, all other axes that vary but the seed, so that nothing else is averaged over.
func (v *view) gainRoles() (err error) {
	policies := v.policies()
	v.series = policies
	if v.spec.Over != "" {
		if v.over, err = v.find("over", v.spec.Over); err != nil {
			return err
		}
	}
	x, err := v.findAll("x", v.spec.X)
	if err != nil {
		return err
	}
	panels, err := v.findAll("panels", v.spec.Panels)
	if err != nil {
		return err
	}
	var free []*facet
	for i := range v.sweep.Axes {
		f := v.facets[i]
		if len(f.categories) > 1 && f != v.over && !slices.Contains(x, f) && !slices.Contains(panels, f) && !slices.Equal(v.sweep.Axes[i].Keys, []string{"seed"}) {
			free = append(free, f)
		}
	}
	if v.spec.X == "" && v.spec.Panels != "" {
		x, free = free, nil
	}
	if v.spec.X == "" && len(free) > 0 { // names stand side by side, numbers make panels
		at := max(slices.IndexFunc(free, func(f *facet) bool { return f.numbers == nil }), 0)
		x, free = free[at:at+1:at+1], slices.Delete(slices.Clone(free), at, at+1)
	}
	if v.spec.Panels == "" {
		panels = free
	}
	v.x, v.panels = combination(x), combination(panels)
	return nil
}

// findAll looks up the names in a list with commas.
func (v *view) findAll(role, list string) ([]*facet, error) {
	if list == "" {
		return nil, nil
	}
	var out []*facet
	for _, name := range strings.Split(list, ",") {
		f, err := v.find(role, strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// combination is the facet of all combinations of the drawn categories of others, the last varying fastest.
func combination(parts []*facet) *facet {
	switch len(parts) {
	case 0:
		return &none
	case 1:
		return parts[0]
	}
	f := &facet{index: math.MaxInt, parts: parts, at: func(c *result.Cell) int {
		at := 0
		for _, p := range parts {
			at = at*len(p.categories) + p.at(c)
		}
		return at
	}}
	const most = mostBars + 1 // refused, and none need be listed
	var names, words []string
	n := 1
	for _, p := range parts {
		names, words, n = append(names, p.name), append(words, p.words), min(n*len(p.categories), most)
	}
	f.name, f.words = strings.Join(names, ","), strings.Join(words, ", ")
	for i := range n {
		f.categories, f.slot = append(f.categories, i), append(f.slot, i)
		f.labels = append(f.labels, f.joined(i, func(p *facet, l int) string { return sheet.Plain(p.labels[l]) }))
	}
	return f
}

// joined words a combination by its parts.
func (f *facet) joined(i int, word func(p *facet, i int) string) string {
	texts := make([]string, len(f.parts))
	for k := len(f.parts) - 1; k >= 0; k-- {
		p := f.parts[k]
		texts[k] = word(p, p.categories[i%len(p.categories)])
		i /= len(p.categories)
	}
	return strings.Join(texts, ", ")
}

// checkGain fails on options that do not go together in a gain.
func (v *view) checkGain() error {
	spec, policies := v.spec, v.series
	all := slices.Concat([]*facet{v.over}, partsOf(v.x), partsOf(v.panels))
	for i, f := range all {
		if f == policies {
			return errors.New("a gain has a bar for each policy in every group: policy can be neither x nor panels nor over")
		}
		if f != &none && slices.Contains(all[:i], f) {
			return fmt.Errorf("%s is named twice: give x, panels and over different axes", f.name)
		}
	}
	switch m, _ := result.Find(spec.Y); {
	case spec.Series != "" && spec.Series != policyName:
		return errors.New("the bars of a gain are policies, so it has no series")
	case m.Better == result.Higher:
		return fmt.Errorf("y: of %s more is better; a gain is for metrics of which less is, such as completion_s", spec.Y)
	case spec.Offset != 0 || spec.Scale < 0:
		return errors.New("a gain is a ratio, which offset and scales below 0 would change")
	case spec.Truncate != 0 && !(spec.Truncate >= 1 && drawable(spec.Truncate)):
		return fmt.Errorf("truncate is %g; it is a multiple of the policy's highest bar, 1 or more", spec.Truncate)
	case len(policies.labels) == 0:
		return nil
	}
	if err := v.known("policy", spec.Policy); err != nil {
		return err
	}
	for _, a := range spec.Against {
		if err := v.known("against", a); err != nil {
			return err
		}
		if a == spec.Policy {
			return fmt.Errorf("against: %s cannot be compared with itself", a)
		}
	}
	if len(policies.categories) < 2 {
		return fmt.Errorf("policy: there is nothing to compare %s with", spec.Policy)
	}
	return nil
}

// known fails on a policy that the sweep lacks or where leaves out.
func (v *view) known(role, policy string) error {
	at := slices.Index(v.series.labels, policy)
	if at < 0 {
		return unknownName(role, policy, v.series.labels)
	}
	if v.series.slot[at] < 0 {
		return fmt.Errorf("%s: where leaves %s out", role, policy)
	}
	return nil
}

func partsOf(f *facet) []*facet {
	if f.parts != nil {
		return f.parts
	}
	return []*facet{f}
}
