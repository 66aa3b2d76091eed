// This file names and selects the rows of tables, such as "gpt7b prop-alloc
// workload.sequence=4096".

package result

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sim/internal/alias"
	"sim/internal/text"
)

// NamePart is a part of a row's name: the scenario, the policy or a coordinate of a
// sweep.
type NamePart struct{ Key, Value string }

// Keys of the parts of names. BenchmarkKey is for rows of other programs' benchmarks.
const (
	ScenarioKey  = "scenario"
	PolicyKey    = "policy"
	BenchmarkKey = "benchmark"
)

// LeadingKeys are the keys of the parts that come first in a name, in order.
var LeadingKeys = []string{BenchmarkKey, ScenarioKey, PolicyKey}

// leadingIndex returns the index of a key in LeadingKeys, or their number for other keys.
func leadingIndex(key string) int {
	if index := slices.Index(LeadingKeys, key); index >= 0 {
		return index
	}
	return len(LeadingKeys)
}

// IsCoordinate reports whether a key is a coordinate of a sweep.
func IsCoordinate(key string) bool { return !slices.Contains(LeadingKeys, key) }

// Name identifies a row of a table: its scenario and policy, then its coordinates in the
// order of the sweep.
type Name []NamePart

// Get returns the value of a part, or "" if the name lacks it.
func (n Name) Get(key string) string {
	for _, p := range n {
		if p.Key == key {
			return p.Value
		}
	}
	return ""
}

// Keys returns the keys of the parts.
func (n Name) Keys() (keys []string) {
	for _, p := range n {
		keys = append(keys, p.Key)
	}
	return keys
}

// Without returns the name without the parts with the given keys.
func (n Name) Without(keys []string) Name {
	return slices.DeleteFunc(slices.Clone(n), func(p NamePart) bool { return slices.Contains(keys, p.Key) })
}

// Sorted moves the leading parts to the front and returns the name.
func (n Name) Sorted() Name {
	slices.SortStableFunc(n, func(a, b NamePart) int { return leadingIndex(a.Key) - leadingIndex(b.Key) })
	return n
}

// String returns the name for messages: "gpt7b prop-alloc workload.sequence=4096".
func (n Name) String() string {
	words := make([]string, len(n))
	for i, p := range n {
		words[i] = p.Value
		if IsCoordinate(p.Key) {
			words[i] = p.Key + "=" + p.Value
		}
	}
	return strings.Join(words, " ")
}

// MarshalJSON writes the name as an object of its parts, in order.
func (n Name) MarshalJSON() ([]byte, error) {
	var parts []string
	for _, p := range n {
		parts = append(parts, quoteJSON(p.Key)+":"+quoteJSON(p.Value))
	}
	return []byte("{" + strings.Join(parts, ",") + "}"), nil
}

// ID returns the same text for names with the same parts in any order.
func (n Name) ID() string {
	parts := slices.Clone(n)
	slices.SortStableFunc(parts, func(a, b NamePart) int { return strings.Compare(a.Key, b.Key) })
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + p.Key + "=" + p.Value) // no coordinate holds a slash
	}
	return b.String()
}

// NameOf returns the name of cell c: its policy and coordinates.
func (s *Sweep) NameOf(c *Cell) Name {
	n := Name{{PolicyKey, c.Policy}}
	for a, label := range s.Place(c) {
		n = append(n, NamePart{s.Axes[a].Name, label})
	}
	return n
}

// Project returns the keys of the parts in which names differ: the columns of a table.
// Coordinates are in order of appearance, followed by the policy, which is always
// included. common are the parts that all names share.
func Project(names []Name) (keys []string, common Name) {
	var order []string
	for _, name := range names {
		for _, key := range name.Keys() {
			if !slices.Contains(order, key) {
				order = append(order, key)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return leadingIndex(a) - leadingIndex(b) })
	policy := slices.Contains(order, PolicyKey)
	for _, key := range order {
		value := names[0].Get(key)
		switch {
		case key == PolicyKey: // always the last column
		case slices.ContainsFunc(names, func(n Name) bool { return n.Get(key) != value }):
			keys = append(keys, key)
		default:
			common = append(common, NamePart{key, value})
		}
	}
	if policy {
		keys = append(keys, PolicyKey)
	}
	return keys, common
}

// ColumnHeads shortens keys to their last parts, unless two keys would become equal.
func ColumnHeads(keys []string) []string {
	short := make([]string, len(keys))
	count := map[string]int{}
	for i, key := range keys {
		short[i] = ShortKey(key)
		count[short[i]]++
	}
	for i, key := range keys {
		if count[short[i]] > 1 {
			short[i] = key
		}
	}
	return short
}

// NameFilter selects names. Keyed by part; the value lists the accepted values of the
// part.
type NameFilter map[string][]string

// Matches reports whether a name passes the filter.
func (w NameFilter) Matches(n Name) bool {
	for key, values := range w {
		if !slices.Contains(values, n.Get(key)) {
			return false
		}
	}
	return true
}

// Resolve returns the filter with shortened keys replaced by full ones. It fails on keys
// and values that no name has.
func (w NameFilter) Resolve(names []Name) (NameFilter, error) {
	known := map[string][]string{}
	for _, n := range names {
		for _, p := range n {
			if !slices.Contains(known[p.Key], p.Value) {
				known[p.Key] = append(known[p.Key], p.Value)
			}
		}
	}
	out := NameFilter{}
	for _, key := range slices.Sorted(maps.Keys(w)) {
		full := key
		if known[key] == nil {
			var fits []string
			for k := range known {
				if short := ShortKey(k); short == key || short == alias.LastPart(key) {
					fits = append(fits, k)
				}
			}
			if len(fits) != 1 {
				all := slices.Sorted(maps.Keys(known))
				return nil, fmt.Errorf("no row has a part %q%s", key, text.DidYouMean(key, all, "they have "+strings.Join(all, ", ")))
			}
			full = fits[0]
		}
		for _, v := range w[key] {
			if !slices.Contains(known[full], v) {
				return nil, fmt.Errorf("no row has %s=%s%s", full, v, text.DidYouMean(v, known[full], "there are "+strings.Join(known[full], ", ")))
			}
		}
		out[full] = w[key]
	}
	if len(names) > 0 && !slices.ContainsFunc(names, out.Matches) {
		return nil, errors.New("no row has all of that")
	}
	return out, nil
}
