package plots

import (
	"image/color"
	"slices"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot/vg"
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
		return kind{text: "forward pass", color: sheet.SkyBlue, number: sheet.Black}
	case "backward":
		return kind{text: "backward pass", color: sheet.Vermillion, number: sheet.White}
	case "pp-forward":
		return kind{text: "activations to the next stage", color: sheet.Blue, transfer: true, row: 0}
	case "pp-backward":
		return kind{text: "gradients to the stage before", color: sheet.Purple, transfer: true, row: 1}
	case "dp":
		return kind{text: "gradient synchronisation", color: sheet.Green, transfer: true, row: 2}
	}
	return kind{text: name, color: sheet.Dim, number: sheet.White}
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
func kindLegend(lanes []result.Lane) []sheet.Entry {
	var legend []sheet.Entry
	var others []string
	for _, name := range kindsOf(lanes) {
		k := kindOf(name)
		if !slices.Contains(kindNames, name) {
			others = append(others, sheet.Plain(name))
			continue
		}
		height := vg.Length(1)
		if k.transfer {
			height = 0.5
		}
		legend = append(legend, sheet.Entry{Text: k.text, Sample: sheet.Box(sheet.Fill{Color: k.color, Height: height})})
	}
	if len(others) > 0 {
		text := "other work"
		if len(others) <= 3 && strings.TrimSpace(strings.Join(others, "")) != "" {
			text = strings.Join(others, ", ")
		}
		legend = append(legend, sheet.Entry{Text: text, Sample: sheet.Box(sheet.Fill{Color: sheet.Dim, Height: 1})})
	}
	return append(legend, sheet.Entry{Text: "end of the iteration", Sample: sheet.Stroke(endLine)})
}
