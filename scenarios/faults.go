package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sim/scenarios/result"
)

// ErrInput is what errors.Is finds in every error that an unusable input
// causes: a file that cannot be read, broken TOML, or a fault in a scenario.
var ErrInput = errors.New("unusable input")

// Fault is one thing that is wrong with an input.
type Fault struct {
	File string // "--set" if an override is at fault
	Line int    // from 1; 0 if no line is at fault
	Key  string // dotted; empty if no key is at fault
	What string // what is wrong
	Want string // what would be right
}

// String formats f as one line, "FILE:LINE: key: what is wrong; what would be
// right", leaving out what does not apply. It is printable and of bounded length,
// whatever the input holds.
func (f Fault) String() string {
	var b strings.Builder
	if f.File == "" || strings.ContainsFunc(f.File, isControl) {
		b.WriteString(strconv.Quote(f.File))
	} else {
		b.WriteString(f.File)
	}
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	if f.Key != "" {
		b.WriteString(": " + clipped(f.Key, 200))
	}
	b.WriteString(": " + clipped(f.What, 300))
	if f.Want != "" {
		b.WriteString("; " + f.Want)
	}
	return result.Line(b.String(), mostFault)
}

// clipped shortens a text of more than so many bytes: names of keys and of what files
// hold may be of any length.
func clipped(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// mostFault bounds the line of a fault, in bytes.
const mostFault = 500

// Faults are all faults of an input, those of the file first, by line.
type Faults []Fault

// Error returns one line a fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Is reports whether target is ErrInput.
func (fs Faults) Is(target error) bool { return target == ErrInput }

// mostAlike is how many faults of one place that differ in numbers and names alone
// are told.
const mostAlike = 3

// specific is what differs in what is wrong at several places of a list or file.
var specific = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[0-9]+`)

// capped leaves out faults that are like others of the same place, and says how many.
func (fs Faults) capped() Faults {
	alike := func(f Fault) Fault {
		f.What = specific.ReplaceAllString(f.What, "")
		return f
	}
	count := map[Fault]int{}
	for _, f := range fs {
		count[alike(f)]++
	}
	told := map[Fault]int{}
	var kept Faults
	for _, f := range fs {
		like := alike(f)
		switch told[like]++; {
		case told[like] <= mostAlike:
			kept = append(kept, f)
		case told[like] == mostAlike+1:
			kept = append(kept, Fault{File: f.File, Line: f.Line, Key: f.Key, What: fmt.Sprintf("and %d more like these", count[like]-mostAlike)})
		}
	}
	return kept
}

// mostFaults is how many faults of an input are told. Nobody mends more at a time.
const mostFaults = 100

// sort orders by line, faults of overrides last, else as they were found, and
// drops repeats and what is like many others. Of too many it keeps the first and says how many there are.
func (fs Faults) sort() Faults {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(
			cmp.Compare(btoi(a.File == setFile), btoi(b.File == setFile)),
			cmp.Compare(a.Line, b.Line))
	})
	fs = slices.Compact(fs).capped()
	if more := len(fs) - mostFaults; more > 0 {
		fs = append(fs[:mostFaults:mostFaults], Fault{File: fs[mostFaults].File, What: fmt.Sprintf("and %d more", more), Want: "mend these first"})
	}
	return fs
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
