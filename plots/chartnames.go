package plots

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sim/scenarios/result"
)

// unknownName is the error for a name that is none of those known.
func unknownName(role, name string, known []string) error {
	if name == "" {
		return fmt.Errorf("%s is missing: name %s", role, orList(known))
	}
	hint := ""
	if near := nearestName(name, known); near != "" {
		hint = "; did you mean " + near + "?"
	}
	verb := "are"
	if len(known) < 2 {
		verb = "is only"
	}
	if hint != "" {
		return fmt.Errorf("%s: there is no %q%s There %s %s", role, name, hint, verb, andList(known))
	}
	return fmt.Errorf("%s: there is no %q; there %s %s", role, name, verb, andList(known))
}

// namesListed is how many names an error lists.
const namesListed = 40

func andList(names []string) string { return listed(names, "and") }
func orList(names []string) string  { return listed(names, "or") }

func listed(names []string, word string) string {
	names = slices.Clone(names)
	for i, n := range names {
		if names[i] = plain(n); n == "" {
			names[i] = `""`
		}
	}
	if len(names) > namesListed {
		names = append(names[:namesListed], fmt.Sprintf("%d more", len(names)-namesListed))
		word = "and"
	}
	switch last := len(names) - 1; {
	case last < 0:
		return "nothing"
	case last > 0:
		return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
	}
	return names[0]
}

// nearestName returns the known name, or the one with a known last part, that
// name is most likely a slip of; "" when none is near.
func nearestName(name string, known []string) string {
	best, at := "", len(name)/3+1
	for _, k := range known {
		for _, form := range []string{k, lastPart(k)} {
			if abs := len(form) - len(name); abs < at && -abs < at {
				if d := edits(strings.ToLower(name), strings.ToLower(form)); d < at {
					best, at = k, d
				}
			}
		}
	}
	return best
}

// edits counts the letters to insert, drop, change or swap with their
// neighbour to get from a to b (optimal string alignment).
func edits(a, b string) int {
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		now[0] = i + 1
		for j := range len(b) {
			d := last[j]
			if a[i] != b[j] {
				d++
			}
			now[j+1] = min(d, last[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}

// lastPart is the last part of a dotted key.
func lastPart(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// shortNames words keys by their last part, or whole where that is not clear.
func shortNames(fs []factor) []string {
	count := map[string]int{}
	for _, f := range fs {
		count[result.ShortKey(f.name)]++
	}
	out := make([]string, len(fs))
	for i, f := range fs {
		out[i] = strings.ReplaceAll(result.ShortKey(f.name), "_", " ")
		if count[result.ShortKey(f.name)] > 1 {
			out[i] = f.name
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
