package accuracy

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"sim/fabric/machine"
	"sim/internal/infile"
	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/schema"
)

// accelerators maps words of a description of hardware to names of accelerators. The first word
// of the description that is listed decides.
var accelerators = map[string]string{
	"a100": "a100", "a800": "a100", "ampere": "a100", "p4d": "a100", "p4de": "a100", "h100": "h100", "h200": "h200", "h800": "h800", "h20": "h20", "gh200": "h200",
	"p5": "h100", "p5e": "h200", "p5en": "h200", "a3": "h100", "a4": "b200",
	"b200": "b200", "b300": "b300", "gb200": "gb200", "gb300": "gb300",
	"mi300x": "mi300x", "mi325x": "mi325x", "mi350x": "mi355x", "mi355x": "mi355x",
	"v4": "tpuv4", "v5p": "tpuv5p", "v5e": "tpuv5e", "v6e": "tpuv6e",
}

// transports maps words of a description to networks between nodes that have profiles of their own.
// All other networks are InfiniBand or RoCE.
var transports = map[string]string{
	"efa": "efa", "efav2": "efa", "efav3": "efa", "efav4": "efa",
	"p4d": "efa", "p4de": "efa", "p5": "efa", "p5e": "efa", "p5en": "efa", "p6": "efa",
	"tcpxo": "tcpxo", "fastrak": "tcpxo", "megagpu": "tcpxo", "tcpx": "tcpx",
}

// MachineFor returns the name of the profile of the machine of a row: its accelerator and, for
// several nodes, its network if that is in transports. If there is no such profile, MachineFor
// returns another profile of the same accelerator, and a note about it. The error is a reason why
// the row cannot be posed.
func MachineFor(r *Row) (name, note string, err error) {
	words := wordsOf(r.Hardware)
	accelerator := named(accelerators, words)
	if accelerator == "" {
		return "", "", fmt.Errorf("the hardware %s names no accelerator that sim has a profile of", schema.Quote(r.Hardware))
	}
	names := []string{accelerator, accelerator + "-ib"}
	if transport := named(transports, append(words, wordsOf(r.Parameters["net"])...)); transport != "" && r.Nodes != 1 {
		names = slices.Insert(names, 0, accelerator+"-"+transport)
	}
	for _, variant := range []string{"pcie", "hbm2e"} {
		if slices.Contains(words, variant) {
			names = slices.Insert(names, 0, accelerator+"-"+variant)
		}
	}
	for i, name := range names {
		if slices.Contains(machine.Names(), name) {
			if i > 0 && names[0] != accelerator {
				note = "sim has no profile of " + names[0]
			}
			return name, note, nil
		}
	}
	return "", "", fmt.Errorf("sim has no profile of %s; name one with --machine", names[0])
}

// wordsOf returns the words of a description in lower case.
func wordsOf(description string) []string {
	return strings.FieldsFunc(strings.ToLower(description), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
}

// counted matches a word with a number of GPUs or a form factor joined to it, such as 8xh100 or
// h100sxm5.
var counted = regexp.MustCompile(`^(?:\d+x)?(.+?)(?:x\d+|sxm\d*|pcie|nvl\d*)?$`)

// named returns the name of the first word that names has, or "".
func named(names map[string]string, words []string) string {
	for _, word := range words {
		if name := cmp.Or(names[word], names[counted.ReplaceAllString(word, "$1")]); name != "" {
			return name
		}
	}
	return ""
}

// RowsOf returns the rows that a profile can predict: for the name of a built-in profile the rows
// of this machine; for a file the rows of the accelerator that its title names, or all rows if it
// names none.
func RowsOf(profile string, rows []*Row) ([]*Row, error) {
	p, err := profileOf(profile)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(profile, ".toml") {
		return slices.DeleteFunc(slices.Clone(rows), func(r *Row) bool {
			name, _, _ := MachineFor(r)
			return name != profile
		}), nil
	}
	accelerator := named(accelerators, wordsOf(p.Title))
	return slices.DeleteFunc(slices.Clone(rows), func(r *Row) bool {
		return accelerator != "" && named(accelerators, wordsOf(r.Hardware)) != accelerator
	}), nil
}

// profile returns the profile of a prediction.
func (o *Options) profile(name string) (*machine.Profile, error) {
	if o.fitted != nil {
		return o.fitted, nil
	}
	return profileOf(name)
}

// profileOf returns a built-in profile, or reads one from a file, whose name ends with .toml.
func profileOf(name string) (*machine.Profile, error) {
	if !strings.HasSuffix(name, ".toml") {
		if p := scenarios.Machine(name); p != nil {
			return p, nil
		}
		return nil, fmt.Errorf("there is no machine %q%s", name,
			text.DidYouMean(name, machine.Names(), "sim list machines lists them; the name of a file ends with .toml"))
	}
	data, err := infile.Read(name, schema.MaxFileBytes)
	if err != nil {
		return nil, err
	}
	return scenarios.ReadMachine(name, data)
}
