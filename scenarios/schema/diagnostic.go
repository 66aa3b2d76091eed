package schema

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sim/internal/text"
)

// ErrInput is what errors.Is finds in every error that an unusable input causes: a file that cannot be read, broken
// TOML, or a diagnostic of a scenario.
var ErrInput = errors.New("unusable input")

// Diagnostic is one thing that is wrong with an input.
type Diagnostic struct {
	File    string // SetFile if an override is at fault
	Line    int    // from 1; 0 if no line is at fault
	Key     string // dotted; empty if no key is at fault
	Problem string // what is wrong
	Remedy  string // what would be right
}

// SetFile stands for the file in diagnostics of overrides.
const SetFile = "--set"

// String formats d as one line, "FILE:LINE: key: what is wrong; what would be right", leaving out what does not apply.
// It is printable and of bounded length, whatever the input holds.
func (d Diagnostic) String() string {
	var b strings.Builder
	if d.File == "" || strings.ContainsFunc(d.File, IsControl) {
		b.WriteString(strconv.Quote(d.File))
	} else {
		b.WriteString(d.File)
	}
	if d.Line > 0 {
		fmt.Fprintf(&b, ":%d", d.Line)
	}
	if d.Key != "" {
		b.WriteString(": " + Clip(d.Key, 200))
	}
	b.WriteString(": " + Clip(d.Problem, 300))
	if d.Remedy != "" {
		b.WriteString("; " + d.Remedy)
	}
	return text.Line(b.String(), maxLineBytes)
}

// Clip shortens a text of more than so many bytes: names of keys and of what files hold may be of any length.
func Clip(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxBytes], "") + "..."
}

// IsControl reports whether a line of text may not hold r.
func IsControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 }

// Bounds of what is told of an input: bytes of a line; diagnostics of one place that differ in numbers and names alone;
// and all diagnostics, as nobody mends more at a time.
const (
	maxLineBytes   = 500
	maxSimilar     = 3
	maxDiagnostics = 100
)

// Diagnostics are all that is wrong with an input, an error.
type Diagnostics []Diagnostic

// Error returns one line a diagnostic.
func (ds Diagnostics) Error() string {
	lines := make([]string, len(ds))
	for i, d := range ds {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// Is reports whether target is ErrInput.
func (ds Diagnostics) Is(target error) bool { return target == ErrInput }

// variableText is what differs in what is wrong at several places of a list or file.
var variableText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[0-9]+`)

// limitSimilar leaves out diagnostics that are like others of the same place, and says how many.
func (ds Diagnostics) limitSimilar() Diagnostics {
	template := func(d Diagnostic) Diagnostic {
		d.Problem = variableText.ReplaceAllString(d.Problem, "")
		return d
	}
	count := map[Diagnostic]int{}
	for _, d := range ds {
		count[template(d)]++
	}
	reported := map[Diagnostic]int{}
	var kept Diagnostics
	for _, d := range ds {
		pattern := template(d)
		switch reported[pattern]++; {
		case reported[pattern] <= maxSimilar:
			kept = append(kept, d)
		case reported[pattern] == maxSimilar+1:
			kept = append(kept, Diagnostic{File: d.File, Line: d.Line, Key: d.Key, Problem: fmt.Sprintf("and %d more like these", count[pattern]-maxSimilar)})
		}
	}
	return kept
}

// Sorted returns them by line, those of overrides last, else as they were found, without repeats and what is like many
// others. Of too many it keeps the first and says how many there are.
func (ds Diagnostics) Sorted() Diagnostics {
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		switch {
		case a.File != SetFile && b.File == SetFile:
			return -1
		case a.File == SetFile && b.File != SetFile:
			return 1
		}
		return cmp.Compare(a.Line, b.Line)
	})
	ds = slices.Compact(ds).limitSimilar()
	if more := len(ds) - maxDiagnostics; more > 0 {
		ds = append(ds[:maxDiagnostics:maxDiagnostics], Diagnostic{File: ds[maxDiagnostics].File, Problem: fmt.Sprintf("and %d more", more), Remedy: "mend these first"})
	}
	return ds
}
