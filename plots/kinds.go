package plots

import (
	"image/color"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"sim/scenarios/result"
)

// kind is how spans of a kind look.
type kind struct {
	text     string // in the legend
	color    color.Color
	number   color.Color // of the label on it
	transfer bool        // a thin bar below the lane's work
	row      int         // of the thin bars
}

// kindNames orders the kinds in the legend.
var kindNames = []string{"forward", "backward", "pp-forward", "pp-backward", "dp"}

// kindOf returns how spans of a kind look. Kinds that it does not know are
// work, in grey.
func kindOf(name string) kind {
	switch name {
	case "forward":
		return kind{text: "forward pass", color: skyBlue, number: black}
	case "backward":
		return kind{text: "backward pass", color: vermillion, number: white}
	case "pp-forward":
		return kind{text: "activations to the next stage", color: blue, transfer: true, row: 0}
	case "pp-backward":
		return kind{text: "gradients to the stage before", color: purple, transfer: true, row: 1}
	case "dp":
		return kind{text: "gradient synchronisation", color: green, transfer: true, row: 2}
	}
	return kind{text: name, color: dim, number: white}
}

// thinRows is how many rows of thin bars there are.
const thinRows = 3

// kindsOf lists the kinds that lanes have, the known ones first.
func kindsOf(lanes []result.Lane) []string {
	seen := map[string]bool{}
	var unknown []string
	for _, l := range lanes {
		for _, s := range l.Spans {
			if !seen[s.Kind] && !slices.Contains(kindNames, s.Kind) {
				unknown = append(unknown, s.Kind)
			}
			seen[s.Kind] = true
		}
	}
	var out []string
	for _, k := range kindNames {
		if seen[k] {
			out = append(out, k)
		}
	}
	slices.Sort(unknown)
	return append(out, unknown...)
}

// kindLegend explains the kinds that lanes have. More unknown kinds than a few
// share a look and a line.
func kindLegend(lanes []result.Lane) []entry {
	var legend []entry
	var others []string
	for _, name := range kindsOf(lanes) {
		k := kindOf(name)
		if !slices.Contains(kindNames, name) {
			others = append(others, plain(name))
			continue
		}
		height := vg.Length(1)
		if k.transfer {
			height = 0.5
		}
		legend = append(legend, entry{k.text, box(fill{k.color, height})})
	}
	if len(others) > 0 {
		text := "other work"
		if len(others) <= 3 && strings.TrimSpace(strings.Join(others, "")) != "" {
			text = strings.Join(others, ", ")
		}
		legend = append(legend, entry{text, box(fill{dim, 1})})
	}
	return append(legend, entry{"end of the iteration", stroke(endLine)})
}
