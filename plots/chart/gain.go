package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// gainChart is a chart of bars by policy, in groups by setting, each at the value
// of one axis at which a policy gains most over the best of the others. It is the
// form of Figs. 11 and 12 of the paper on reconfiguring during a collective.
type gainChart struct {
	v       *view
	policy  int   // place of the policy among the series
	against []int // places of those that it is compared with
	width   int   // settings of a panel
	groups  []gainGroup
	under   draw.TextStyle
}

// gainGroup is a setting: where on the axis its gain is largest, and that gain.
type gainGroup struct {
	at   int // place among the levels of the axis, -1 without any gain
	gain float64
}

func (v *view) gain(t *result.SweepTimings) (*lattice, error) {
	m, err := v.measure(v.spec.Y, t)
	if err != nil {
		return nil, err
	}
	g := v.newGain()
	tab, err := g.choose(m)
	if err != nil {
		return nil, err
	}
	b := &barChart{table: tab, v: v, digits: true, low: 120}
	b.caps = g.caps(tab)
	l := v.barLattice(b, m, g.what())
	if n := b.truncated(); n > 0 {
		bars, where := fmt.Sprintf("%d bars are", n), ""
		if n == 1 {
			bars = "1 bar is"
		}
		if l.apart {
			where = " of the panel"
		}
		l.Notes = append(l.Notes, fmt.Sprintf("%s cut off at %s times the highest of %s%s.", bars, sheet.Digits(g.times(), 3), sheet.Plain(v.spec.Policy), where))
	}
	l.Subtitle = strings.TrimPrefix(l.Subtitle+"; "+g.average(), "; ")
	if g.label(l) {
		l.Notes = append([]string{g.reading()}, l.Notes...)
	}
	return l, nil
}

// newGain finds the policy and those that it is compared with among the series.
func (v *view) newGain() *gainChart {
	g := &gainChart{v: v, width: len(v.x.levels)}
	for i, l := range v.series.levels {
		switch name := v.series.labels[l]; {
		case name == v.spec.Policy:
			g.policy = i
		case v.spec.Against == nil || slices.Contains(v.spec.Against, name):
			g.against = append(g.against, i)
		}
	}
	return g
}

// choose finds for each setting where the policy gains most, and returns the
// values there. Where some of the others have no value a gain would be too high,
// so that only places count at which as many have one as anywhere in the setting.
// Of equal gains the first place counts.
func (g *gainChart) choose(m measure) (*table, error) {
	v := g.v
	series, places := len(v.series.levels), len(v.over.levels)
	all := make([]spread, len(v.panels.levels)*g.width*series*places)
	of := func(group, s, o int) *spread { return &all[(group*series+s)*places+o] }
	tab := &table{series: series, width: g.width, at: make([]spread, len(v.panels.levels)*g.width*series)}
	err := v.each(m, func(c *result.Cell, y float64) {
		of(v.place(v.panels, c)*g.width+v.place(v.x, c), v.place(v.series, c), v.place(v.over, c)).add(y)
	})
	if err != nil {
		return nil, err
	}
	some := false
	for group := range len(v.panels.levels) * g.width {
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
			if !(math.Abs(gain) <= sheet.DrawableLimit) {
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

// what ends the title.
func (g *gainChart) what() string {
	if len(g.v.over.levels) > 1 {
		return " at the " + g.v.over.words + " where " + sheet.Plain(g.v.spec.Policy) + " gains most"
	}
	return ", and the gain of " + sheet.Plain(g.v.spec.Policy)
}

// times is the multiple of the policy's highest bar at which others are cut off;
// 0 is never. On a logarithmic axis tall bars leave room for others.
func (g *gainChart) times() float64 {
	if g.v.spec.Truncate == 0 && !g.v.spec.LogY {
		return 3
	}
	return g.v.spec.Truncate
}

// truncated is how many bars are cut off.
func (b *barChart) truncated() int {
	n := 0
	for i, s := range b.at {
		if s.n > 0 && s.mean > b.cut(i/(b.series*b.width)) {
			n++
		}
	}
	return n
}

// caps are the highest values that are drawn in full, by panel; nil without any.
func (g *gainChart) caps(tab *table) []float64 {
	times := g.times()
	if times == 0 {
		return nil
	}
	caps, most := make([]float64, len(g.v.panels.levels)), 0.0
	for p := range caps {
		for x := range g.width {
			if s := tab.cell(p, g.policy, x); s.n > 0 {
				caps[p] = max(caps[p], times*s.max)
			}
		}
		most = max(most, caps[p])
	}
	for p := range caps {
		if caps[p] == 0 { // a panel without bars
			caps[p] = most
		}
	}
	return caps
}

// average words the mean gain over all settings.
func (g *gainChart) average() string {
	sum, n, least, most := 0.0, 0, math.Inf(1), math.Inf(-1)
	for _, group := range g.groups {
		if group.at >= 0 {
			sum, n = sum+group.gain, n+1
			least, most = min(least, group.gain), max(most, group.gain)
		}
	}
	text := "gain " + gainText(sum/float64(n))
	if n > 1 {
		text = fmt.Sprintf("average gain %s over %d settings, from %s to %s", gainText(sum/float64(n)), n, gainText(least), gainText(most))
	}
	if left := len(g.groups) - n; left > 0 {
		text += fmt.Sprintf("; %s without values to compare", sheet.Plural(left, "setting"))
	}
	return text
}

func gainText(gain float64) string {
	return strings.Replace(sheet.Digits(100*gain, 3), "-", "−", 1) + " %"
}

// placeText words a value of the axis of which one is taken.
func (g *gainChart) placeText(at int) string {
	f := g.v.over
	level := f.levels[at]
	if f.times() {
		return sheet.Duration(f.numbers[level])
	}
	return f.level(level)
}

// reading says what stands below the groups.
func (g *gainChart) reading() string {
	others := "the best of the others"
	if len(g.against) == 1 {
		others = sheet.Plain(g.v.series.labels[g.v.series.levels[g.against[0]]])
	} else if g.v.spec.Against != nil {
		var names []string
		for _, s := range g.against {
			names = append(names, g.v.series.labels[g.v.series.levels[s]])
		}
		others = "the best of " + andList(names)
	}
	gain := "the gain of " + sheet.Plain(g.v.spec.Policy) + ", 1 − its value / that of " + others
	if g.v.over == &none {
		return "Below each group: " + gain + "."
	}
	if len(g.v.over.levels) == 1 {
		return "Below each group: the " + g.v.over.words + ", and " + gain + "."
	}
	return "Below each group: the " + g.v.over.words + " at which the gain is largest, and " + gain + "."
}

// label writes below each group what was chosen, level where there is room, else
// upright. It reports false where there is no room.
func (g *gainChart) label(l *lattice) bool {
	rows := make([][2]string, len(g.groups))
	widest, strong := vg.Length(0), sheet.Bold(sheet.SmallSize, sheet.Ink)
	g.under = sheet.Aligned(sheet.Sans(sheet.SmallSize, sheet.Ink), draw.XCenter, draw.YTop)
	for i, group := range g.groups {
		if group.at < 0 {
			continue
		}
		rows[i][1] = gainText(group.gain)
		if g.v.over != &none {
			rows[i][0] = sheet.Fit(g.under, g.placeText(group.at), labelLength)
		}
		widest = max(widest, g.under.Width(rows[i][0]), strong.Width(rows[i][1]))
	}
	slot := l.width / vg.Length(g.width)
	const line = sheet.SmallSize * sheet.LineSpacing
	upright := widest+4 > slot
	lines := vg.Length(2)
	if g.v.over == &none {
		lines = 1
	}
	l.across.under = lines * line
	if upright {
		if slot < lines*line {
			return false
		}
		g.under = sheet.Aligned(g.under, draw.XRight, draw.YCenter)
		g.under.Rotation = math.Pi / 2
		l.across.under = widest + 2
	}
	for p := range l.panes {
		bars := l.panes[p].draw
		l.panes[p].draw = func(c draw.Canvas, x, y func(float64) vg.Length) {
			bars(c, x, y)
			top := c.Min.Y - l.across.depth + l.across.under - 5
			for i := range g.width {
				at := sheet.Point(x(float64(i)), top)
				own := rows[p*g.width+i]
				if upright {
					at.X += line / 2 * (1 - lines)
				}
				for k := 2 - int(lines); k < 2; k++ {
					style := g.under
					if k == 1 {
						style.Font.Weight = strong.Font.Weight
					}
					c.FillText(style, at, own[k])
					if upright {
						at.X += line
					} else {
						at.Y -= line
					}
				}
			}
		}
	}
	return true
}
