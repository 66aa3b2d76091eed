package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
// right", leaving out what does not apply.
func (f Fault) String() string {
	var b strings.Builder
	if strings.ContainsFunc(f.File, isControl) {
		b.WriteString(strconv.Quote(f.File))
	} else {
		b.WriteString(f.File)
	}
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d", f.Line)
	}
	if f.Key != "" {
		b.WriteString(": " + f.Key)
	}
	b.WriteString(": " + f.What)
	if f.Want != "" {
		b.WriteString("; " + f.Want)
	}
	return b.String()
}

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

// sort orders by line, faults of overrides last, else as they were found, and
// drops repeats.
func (fs Faults) sort() Faults {
	slices.SortStableFunc(fs, func(a, b Fault) int {
		return cmp.Or(
			cmp.Compare(btoi(a.File == setFile), btoi(b.File == setFile)),
			cmp.Compare(a.Line, b.Line))
	})
	return slices.Compact(fs)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
