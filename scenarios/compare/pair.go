// This file pairs rows whose names differ: pairs of policies that the user names, and the best
// rows of sets without a common row, such as runs of different fabrics.

package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sim/internal/text"
	"sim/scenarios/result"
)

// Pair states that rows of the old set are compared with rows of the new set under another name.
// Old and New are policies, or values of another part of names.
type Pair struct{ Old, New string }

// joined returns the value of a part of paired rows.
func (p Pair) joined() string {
	if p.Old == p.New {
		return p.Old
	}
	return p.Old + " -> " + p.New
}

// clone returns a copy of a set whose rows can be renamed.
func (s *Set) clone() *Set {
	out := *s
	out.rows = nil
	for _, r := range s.rows {
		row := *r
		out.rows = append(out.rows, &row)
	}
	return &out
}

// setRows replaces the rows of a set. It returns an InputError if two of them have the same name.
func (s *Set) setRows(rows []*setRow) error {
	s.rows, s.byKey = rows, map[string]*setRow{}
	for _, r := range rows {
		if s.byKey[r.name.ID()] != nil {
			return inputf("several rows of %s are paired as %s; select one of them with --where", s.Name, r.name)
		}
		s.byKey[r.name.ID()] = r
	}
	return nil
}

// pairRows returns copies of both sets with the rows that pairs name, under common names. The
// parts of names that differ between the sets, but not within one, are joined.
func pairRows(previous, current *Set, pairs []Pair) (old, now *Set, err error) {
	old, now = previous.clone(), current.clone()
	for _, side := range []struct {
		set  *Set
		part func(Pair) string
	}{{old, func(p Pair) string { return p.Old }}, {now, func(p Pair) string { return p.New }}} {
		var rows []*setRow
		for _, p := range pairs {
			found := false
			for _, r := range side.set.rows {
				if name, ok := replacePart(r.name, side.part(p), p.joined()); ok {
					row := *r
					row.name = name
					rows, found = append(rows, &row), true
				}
			}
			if !found {
				var known []string
				for _, r := range side.set.rows {
					if policy := r.name.Get(result.PolicyKey); !slices.Contains(known, policy) {
						known = append(known, policy)
					}
				}
				return nil, nil, inputf("%s has no row %q to pair%s", side.set.Name, side.part(p),
					text.DidYouMean(side.part(p), known, "it has "+strings.Join(known, ", ")))
			}
		}
		side.set.rows = rows
	}
	joinConstantParts(old, now)
	if err := cmp.Or(old.setRows(old.rows), now.setRows(now.rows)); err != nil {
		return nil, nil, err
	}
	return old, now, nil
}

// replacePart replaces the value of the policy, or else of another part of a name. ok is false if
// no part has the value.
func replacePart(name result.Name, value, by string) (replaced result.Name, ok bool) {
	at := slices.Index(name, result.NamePart{Key: result.PolicyKey, Value: value})
	if at < 0 {
		at = slices.IndexFunc(name, func(p result.NamePart) bool { return p.Value == value })
	}
	if at < 0 {
		return nil, false
	}
	replaced = slices.Clone(name)
	replaced[at].Value = by
	return replaced, true
}

// joinConstantParts gives both sets the same value of each part that is the same in all rows of a
// set and differs between the sets, such as the scenario.
func joinConstantParts(old, now *Set) {
	constant := func(s *Set, key string) (value string, ok bool) {
		for i, r := range s.rows {
			if v := r.name.Get(key); i == 0 {
				value = v
			} else if v != value {
				return "", false
			}
		}
		return value, len(s.rows) > 0
	}
	keys := slices.Concat(old.keys, now.keys)
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		a, isConstant := constant(old, key)
		b, alsoConstant := constant(now, key)
		if !isConstant || !alsoConstant || a == b {
			continue
		}
		value := Pair{cmp.Or(a, "none"), cmp.Or(b, "none")}.joined()
		for _, s := range []*Set{old, now} {
			for _, r := range s.rows {
				name := r.name.Without([]string{key})
				r.name = append(name, result.NamePart{Key: key, Value: value}).Sorted()
			}
		}
	}
}

// bestRows returns copies of sets without a common policy that hold the best rows of both, one per
// variant, under common names. note states the choice. ok is false if the sets have no main metric
// or no variant in common.
func bestRows(previous, current *Set) (old, now *Set, note string, ok bool) {
	hasPolicy := func(r *setRow) bool {
		return slices.ContainsFunc(current.rows, func(other *setRow) bool {
			return other.name.Get(result.PolicyKey) == r.name.Get(result.PolicyKey)
		})
	}
	metric := commonMainMetric(previous, current)
	if metric == "" || slices.ContainsFunc(previous.rows, hasPolicy) {
		return nil, nil, "", false
	}

	variant := func(r *setRow) string {
		return r.name.Without([]string{result.PolicyKey, result.ScenarioKey}).ID()
	}
	bestOf := func(s *Set) (rows []*setRow) {
		best := map[string]int{}
		for _, r := range s.rows {
			values := r.values[metric]
			if len(values) == 0 {
				continue
			}
			i, known := best[variant(r)]
			switch {
			case !known:
				best[variant(r)] = len(rows)
				rows = append(rows, r)
			case s.units[metric].better == result.Higher && values[0] > rows[i].values[metric][0],
				s.units[metric].better != result.Higher && values[0] < rows[i].values[metric][0]:
				rows[i] = r
			}
		}
		return rows
	}

	// Pair the best rows of equal variants, or of two single ones.
	a, b := bestOf(previous), bestOf(current)
	old, now = previous.clone(), current.clone()
	old.rows, now.rows = nil, nil
	var pairs []string
	for _, x := range a {
		for _, y := range b {
			if variant(x) != variant(y) && len(a)+len(b) > 2 {
				continue
			}
			p := Pair{x.name.Get(result.PolicyKey), y.name.Get(result.PolicyKey)}
			left, right := *x, *y
			left.name, _ = replacePart(x.name, p.Old, p.joined())
			right.name, _ = replacePart(y.name, p.New, p.joined())
			old.rows, now.rows = append(old.rows, &left), append(now.rows, &right)
			if words := p.Old + " with " + p.New; !slices.Contains(pairs, words) {
				pairs = append(pairs, words)
			}
		}
	}
	if len(old.rows) == 0 {
		return nil, nil, "", false
	}
	joinConstantParts(old, now)
	if old.setRows(old.rows) != nil || now.setRows(now.rows) != nil {
		return nil, nil, "", false
	}
	const maxPairs = 4 // more would hide the rest of the message
	if len(pairs) > maxPairs {
		pairs = append(pairs[:maxPairs], "...")
	}
	return old, now, fmt.Sprintf("no row is in both, so the best rows by %s are compared: %s; --pair OLD=NEW pairs others",
		metric, strings.Join(pairs, ", ")), true
}

// commonMainMetric returns the first main metric that rows of both sets have, or "". Metrics that
// are relative to a reference are not candidates, because references of fabrics differ.
func commonMainMetric(previous, current *Set) string {
	name, rank := "", 0
	for i := range result.Metrics {
		m := &result.Metrics[i]
		_, had := previous.units[m.Name]
		_, has := current.units[m.Name]
		if m.WinPhrase != "" && m.Main > 0 && m.Relative == "" && had && has && (rank == 0 || m.Main < rank) {
			name, rank = m.Name, m.Main
		}
	}
	return name
}

// advice returns arguments of sim compare under which the sets have a common row, or "".
func advice(previous, current *Set) string {
	// Leave out a part of the names that does not identify rows.
	common := func(key string) bool {
		without := func(s *Set) (ids []string, unique bool) {
			for _, r := range s.rows {
				ids = append(ids, r.name.Without([]string{key}).ID())
			}
			return ids, len(slices.Compact(slices.Sorted(slices.Values(ids)))) == len(ids)
		}
		a, isUnique := without(previous)
		b, alsoUnique := without(current)
		return isUnique && alsoUnique && slices.ContainsFunc(a, func(id string) bool { return slices.Contains(b, id) })
	}
	keys := append([]string{differingKey(previous, current)}, append(previous.Keys(), current.Keys()...)...)
	for _, key := range keys {
		if common(key) {
			return "--ignore " + key
		}
	}

	// Pair the first policies.
	p := Pair{previous.rows[0].name.Get(result.PolicyKey), current.rows[0].name.Get(result.PolicyKey)}
	if commonMainMetric(previous, current) == "" || p.Old == "" || p.New == "" || strings.ContainsAny(p.Old+p.New, " ,=") {
		return ""
	}
	old, now, err := pairRows(previous, current, []Pair{p})
	if err != nil || !slices.ContainsFunc(old.rows, func(r *setRow) bool { return now.byKey[r.name.ID()] != nil }) {
		return ""
	}
	return "--pair " + p.Old + "=" + p.New
}
