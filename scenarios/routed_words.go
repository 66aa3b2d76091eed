package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sim/engine/units"
	"sim/scenarios/assembly"
)

// routedWords is Words of traffic on links.
func (s *Scenario) routedWords() string {
	l, w := &s.Fabric.Links, &s.Workload.Traffic
	what := fmt.Sprintf("graph of %s", assembly.Plural(l.Nodes, "node"))
	if s.Fabric.Kind == "torus" {
		what = l.torusWords()
	}
	work := s.Workload.Kind
	if work == "training" {
		work = s.Workload.Spec.Words(s.Title)
	}
	text := fmt.Sprintf("%s on a %s, links of %v", work, what, l.LinkRate)
	if s.Title != "" && s.Workload.Kind != "training" { // whose name it takes
		text = s.Title + ": " + text
	}
	switch {
	case s.Engine.Level != "packet":
		text += ", level " + s.Engine.Level
	case s.Workload.Kind == "training":
		text += fmt.Sprintf(", packets of %v", w.Packet)
	case slices.Contains(ringKinds, s.Workload.Kind):
		text += fmt.Sprintf(", %v in packets of %v", w.Message, w.Packet)
	case w.Source == "on-off":
		text += fmt.Sprintf(", flows of %v in packets of %v", w.Rate, w.Packet)
	case w.Source == "poisson":
		text += fmt.Sprintf(", Poisson sources at load %g", w.Load)
	default:
		text += fmt.Sprintf(", %s sources, %v in packets of %v", w.Source, w.Message, w.Packet)
	}
	return text
}

// torusWords names the torus or mesh, its twist, and what of it cannot be used.
func (l *Links) torusWords() string {
	sizes := make([]string, len(l.Dims))
	for i, n := range l.Dims {
		sizes[i] = strconv.Itoa(n)
	}
	text := strings.Join(sizes, "x")
	open := slices.Clone(l.Open)
	slices.Sort(open)
	switch open = slices.Compact(open); {
	case len(open) > 0 && len(open) == len(l.Dims):
		text += " mesh"
	case len(open) > 0:
		text += " torus open in " + fewWords("", open)
	default:
		text += " torus"
	}
	if l.Twist != "" && strings.Trim(l.Twist, "0") != "" {
		text += " twisted " + l.Twist
	}
	if slices.ContainsFunc(l.Shift, func(v []int) bool { return slices.ContainsFunc(v, func(n int) bool { return n != 0 }) }) {
		text += " twisted by " + strings.ReplaceAll(fmt.Sprint(l.Shift), " ", ",")
	}
	var down []string
	for _, one := range []struct {
		what  string
		names []string
	}{
		{"switch", l.FailedOCS}, {"link", l.FailedLinks}, {"machine", numbered(l.FailedMachines)}, {"chip", numbered(l.FailedChips)},
	} {
		if len(one.names) > 0 {
			down = append(down, fewWords(one.what, one.names))
		}
	}
	if len(down) > 0 {
		text += " without " + strings.Join(down, " and ")
	}
	if len(l.DrainedLinks) > 0 {
		text += " with drained " + fewWords("link", l.DrainedLinks)
	}
	if l.FailAt > 0 {
		text += " from " + units.ShortTime(l.FailAt) + " on"
	}
	return text
}

func numbered(of []int) []string {
	names := make([]string, len(of))
	for i, n := range of {
		names[i] = strconv.Itoa(n)
	}
	return names
}

// fewWords lists things of a kind, of many the first few and how many more: "switches x3, x4".
func fewWords(kind string, names []string) string {
	list, more := names, ""
	if len(names) > assembly.MostNamed {
		list, more = names[:assembly.MostNamed-1], fmt.Sprintf(" and %d more", len(names)-assembly.MostNamed+1)
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
