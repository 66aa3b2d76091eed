package links

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sim/engine/units"
)

// maxNamed is the maximum number of parts of a kind that a description lists by name, so that it
// fits into a line.
const maxNamed = 4

// plural returns a number with its noun: "1 node", "2 nodes".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Description describes the fabric for people: its shape, its twist, and the parts that are down
// or drained.
func (l *Links) Description() string {
	if l.Summary != "" {
		return l.Summary
	}
	if len(l.InnerTiers) > 0 {
		var all []string
		for _, t := range l.InnerTiers {
			all = append(all, t.Description())
		}
		outer := *l
		outer.InnerTiers = nil
		return strings.Join(append(all, outer.Description()), " inside ")
	}

	// Fabrics that are not tori.
	switch {
	case l.Domain.GPUs > 0:
		return fmt.Sprintf("switched domain of %d GPUs", l.Domain.GPUs)
	case len(l.Dims) == 0:
		if switches := l.Nodes - l.Endpoints(); switches > 0 {
			return fmt.Sprintf("graph of %s behind switches (%d)",
				plural(l.Endpoints(), "endpoint"), switches)
		}
		return "graph of " + plural(l.Nodes, "node")
	}

	sizes := make([]string, len(l.Dims))
	for i, n := range l.Dims {
		sizes[i] = strconv.Itoa(n)
	}
	text := strings.Join(sizes, "x") // such as 4x4x8

	// Open dimensions and twists.
	open := slices.Clone(l.Open)
	slices.Sort(open)
	switch open = slices.Compact(open); {
	case len(open) > 0 && len(open) == len(l.Dims):
		text += " mesh"
	case len(open) > 0:
		const noKind = ""
		text += " torus open in " + nameList(noKind, open)
	default:
		text += " torus"
	}

	if l.Twist != "" && strings.Trim(l.Twist, "0") != "" {
		text += " twisted " + l.Twist
	}
	if slices.ContainsFunc(l.Shift, func(v []int) bool {
		return slices.ContainsFunc(v, func(n int) bool { return n != 0 })
	}) {
		text += " twisted by " + strings.ReplaceAll(fmt.Sprint(l.Shift), " ", ",")
	}

	// Parts that are down or drained.
	var down []string
	for _, one := range []struct {
		what  string
		names []string
	}{
		{"switch", l.FailedOCS}, {"link", l.FailedLinks},
		{"machine", decimals(l.FailedMachines)}, {"chip", decimals(l.FailedChips)},
	} {
		if len(one.names) > 0 {
			down = append(down, nameList(one.what, one.names))
		}
	}
	if len(down) > 0 {
		text += " without " + strings.Join(down, " and ")
	}
	if len(l.DrainedLinks) > 0 {
		text += " with drained " + nameList("link", l.DrainedLinks)
	}
	if l.Preset != "" && !l.Cubic() {
		text += ", not made of cubes"
	}
	if l.FailAt > 0 {
		text += " from " + units.ShortTime(l.FailAt) + " on"
	}
	return text
}

// decimals formats numbers.
func decimals(numbers []int) []string {
	names := make([]string, len(numbers))
	for i, n := range numbers {
		names[i] = strconv.Itoa(n)
	}
	return names
}

// nameList lists parts of a kind by name. Of more than maxNamed parts it lists the first ones
// and the number of the others: "switches x3, x4". An empty kind is not printed.
func nameList(kind string, names []string) string {
	list, more := names, ""
	if len(names) > maxNamed {
		list, more = names[:maxNamed-1], fmt.Sprintf(" and %d more", len(names)-maxNamed+1)
	}
	text := strings.Join(list, ", ") + more
	switch {
	case kind == "":
		return text
	case len(names) == 1:
		return kind + " " + text
	case kind == "switch":
		return "switches " + text
	}
	return kind + "s " + text
}
