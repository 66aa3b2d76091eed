// This file declares the diagnostics of invalid inputs, and limits how many are printed.

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

// ErrInput matches, with errors.Is, every error about invalid input: an unreadable file,
// broken TOML, or a diagnostic of a scenario.
var ErrInput = errors.New("unusable input")

// Diagnostic is a single error in an input.
type Diagnostic struct {
	File    string // file name, or SetFile for an override
	Line    int    // from 1; 0 if the error has no line
	Key     string // dotted path; empty if the error has no key
	Problem string // description of the error
	Remedy  string // correction, or the accepted values
}

// SetFile replaces the file name in diagnostics of overrides.
const SetFile = "--set"

// String formats d as one line: "FILE:LINE: key: problem; remedy". Empty parts are
// omitted. The line is printable and its length is limited, whatever the input contains.
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
		b.WriteString(": " + Clip(d.Key, maxLineBytes*2/5))
	}
	b.WriteString(": " + Clip(d.Problem, maxLineBytes*3/5))
	if d.Remedy != "" {
		b.WriteString("; " + d.Remedy)
	}
	return text.Line(b.String(), maxLineBytes)
}

// Clip shortens a text to maxBytes. Names of keys and contents of files may have any
// length.
func Clip(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxBytes], "") + "..."
}

// IsControl reports whether r must not be part of a line of text: a control character, or one
// of the separators of lines and paragraphs in Unicode.
func IsControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 }

// Limits of printed diagnostics.
const (
	maxLineBytes   = 500 // bytes of a line, for inputs with very long names
	maxSimilar     = 3   // diagnostics of one place that differ only in numbers and names
	maxDiagnostics = 100 // all diagnostics, because nobody corrects more at once
)

// Diagnostics is an error with all problems of an input.
type Diagnostics []Diagnostic

// Error returns one line per diagnostic.
func (ds Diagnostics) Error() string {
	lines := make([]string, len(ds))
	for i, d := range ds {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// Is reports whether target is ErrInput.
func (ds Diagnostics) Is(target error) bool { return target == ErrInput }

// variableText matches the parts in which similar diagnostics differ: quoted names and
// numbers.
var variableText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[0-9]+`)

// limitSimilar retains maxSimilar of similar diagnostics of the same place and counts the
// others.
func (ds Diagnostics) limitSimilar() Diagnostics {
	// template returns a diagnostic without its variable parts.
	template := func(d Diagnostic) Diagnostic {
		d.Problem = variableText.ReplaceAllString(d.Problem, "")
		return d
	}
	// Count similar diagnostics, then retain the first ones of each template.
	count := map[Diagnostic]int{}
	for _, d := range ds {
		count[template(d)]++
	}
	reported := map[Diagnostic]int{}
	var retained Diagnostics
	for _, d := range ds {
		pattern := template(d)
		switch reported[pattern]++; {
		case reported[pattern] <= maxSimilar:
			retained = append(retained, d)
		case reported[pattern] == maxSimilar+1:
			retained = append(retained, Diagnostic{File: d.File, Line: d.Line, Key: d.Key, Problem: fmt.Sprintf("and %d more like these", count[pattern]-maxSimilar)})
		}
	}
	return retained
}

// Sorted returns the diagnostics by line, without duplicates and with similar ones
// limited. Diagnostics of overrides come last. If there are more than maxDiagnostics, the
// last one states how many are missing.
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
