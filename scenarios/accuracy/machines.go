package accuracy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// accelerators maps words of a description of hardware to names of accelerators. The first word
// of the description that is listed decides.
var accelerators = map[string]string{
	"a100": "a100", "ampere": "a100", "h100": "h100", "h200": "h200", "h800": "h800", "h20": "h20", "gh200": "gh200",
	"b200": "b200", "b300": "b300", "gb200": "gb200", "gb300": "gb300",
	"mi300x": "mi300x", "mi325x": "mi325x", "mi355x": "mi355x",
	"v4": "tpuv4", "v5p": "tpuv5p", "v5e": "tpuv5e", "v6e": "tpuv6e",
}

// transports are the words for networks between nodes that have a profile of their own. All
// other networks are InfiniBand or RoCE.
var transports = []string{"efa", "tcpxo", "tcpx"}

// MachineFor returns the name of the machine of a row, such as h100-efa: its accelerator, and its
// network between nodes if that is in transports. The error is a reason why the row cannot be
// posed.
func MachineFor(r *Row) (string, error) {
	words := strings.FieldsFunc(strings.ToLower(r.Hardware), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	name := ""
	for _, word := range words {
		if name = accelerators[word]; name != "" {
			break
		}
	}
	if name == "" {
		return "", fmt.Errorf("the hardware %q names no accelerator that sim has a profile of", r.Hardware)
	}
	for _, transport := range transports {
		if slices.ContainsFunc(words, func(word string) bool { return word == transport || word == transport+"v4" }) {
			return name + "-" + transport, nil
		}
	}
	return name, nil
}
