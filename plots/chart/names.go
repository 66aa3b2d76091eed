// This file suggests known names in messages about unknown ones, and joins names to
// lists.

package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sim/internal/text"
	"sim/plots/sheet"
)

// unknownName returns the error for an unknown name, with a suggestion and a list of the known
// names.
func unknownName(role, name string, known []string) error {
	if name == "" {
		return fmt.Errorf("%s is missing: name %s", role, orList(known))
	}
	verb := "are"
	if len(known) < 2 {
		verb = "is only"
	}
	if near := nearestName(name, known); near != "" {
		return fmt.Errorf("%s: there is no %q; did you mean %s? There %s %s", role,
			name, near, verb, andList(known))
	}
	return fmt.Errorf("%s: there is no %q; there %s %s", role, name, verb,
		andList(known))
}

// maxListedNames limits the number of names in an error message to a few lines.
const maxListedNames = 40

// andList joins names with commas and "and".
func andList(names []string) string { return listed(names, "and") }

// orList joins names with commas and "or".
func orList(names []string) string { return listed(names, "or") }

// listed joins names with commas and a word before the last one, at most maxListedNames of them.
func listed(names []string, word string) string {
	names = slices.Clone(names)
	for i, n := range names {
		if names[i] = sheet.Plain(n); n == "" {
			names[i] = `""`
		}
	}

	if len(names) > maxListedNames {
		names = append(names[:maxListedNames],
			fmt.Sprintf("%d more", len(names)-maxListedNames))
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

// nearestName returns the known name that name most likely misspells, or "". It compares name
// with whole names and with their last parts.
func nearestName(name string, known []string) string {
	forms := slices.Clone(known)
	for _, k := range known {
		forms = append(forms, lastPart(k))
	}
	if at := slices.Index(forms, text.Nearest(name, forms)); at >= 0 {
		return known[at%len(known)] // forms has two entries per known name
	}
	return ""
}

// lastPart returns the last part of a dotted key.
func lastPart(key string) string {
	return key[strings.LastIndexByte(key, '.')+1:]
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
