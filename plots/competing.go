package plots

import (
	"cmp"
	"slices"

	"sim/scenarios/result"
)

// mostCompeting returns the group with the most series that carry something at
// once; of equals the one that is busy last, then the first by name.
func mostCompeting(p *result.Play) (string, bool) {
	type rank struct {
		name    string
		at      int
		lastEnd float64
	}
	byName := map[string][]*result.Series{}
	for i := range p.Rates {
		s := &p.Rates[i]
		if _, _, ok := active(s); ok {
			byName[s.Group] = append(byName[s.Group], s)
		}
	}
	var all []rank
	for name, series := range byName { // sorted below
		r := rank{name: name, at: competing(series)}
		for _, s := range series {
			_, to, _ := active(s)
			r.lastEnd = max(r.lastEnd, to)
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return "", false
	}
	best := slices.MinFunc(all, func(a, b rank) int {
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.lastEnd, a.lastEnd), cmp.Compare(a.name, b.name))
	})
	return best.name, true
}

// competing is the greatest number of series that carry something at once.
func competing(series []*result.Series) int {
	type change struct {
		t float64
		d int
	}
	var changes []change
	for _, s := range series {
		on := false
		for i, v := range s.Value {
			if now := v > 0; now != on {
				on = now
				d := -1
				if now {
					d = 1
				}
				changes = append(changes, change{s.TimeS[i], d})
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.d, b.d)) })
	n, most := 0, 0
	for _, c := range changes {
		n += c.d
		most = max(most, n)
	}
	return most
}

// seriesNames lists the names of a group's series in order of appearance.
func seriesNames(plays []*result.Play, group string) []string {
	var names []string
	for _, p := range plays {
		for i := range p.Rates {
			s := &p.Rates[i]
			if _, _, ok := active(s); ok && s.Group == group && !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

// extents is when a group is busy in any of the plays, and its greatest rate.
func extents(plays []*result.Play, group string) (from, to, top float64) {
	first := true
	for _, p := range plays {
		for i := range p.Rates {
			s := &p.Rates[i]
			a, b, ok := active(s)
			if !ok || s.Group != group {
				continue
			}
			if first {
				from, to, first = a, b, false
			}
			_, v := peak(s)
			from, to, top = min(from, a), max(to, b), max(top, v)
		}
	}
	return from, to, top
}

// sliver is the part of the time shown, one in so many, below which a step is
// left out: less than a pixel, it would stand there as a spike.
const sliver = 2000

// steady is s without steps shorter than least seconds; the step before takes
// their place.
func steady(s *result.Series, least float64) *result.Series {
	out := &result.Series{Name: s.Name, Group: s.Group}
	for i, t := range s.TimeS {
		if i+1 < len(s.TimeS) && s.TimeS[i+1]-t < least {
			continue
		}
		out.TimeS, out.Value = append(out.TimeS, t), append(out.Value, s.Value[i])
	}
	return out
}
