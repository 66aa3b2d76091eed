// Package report describes results as text for people: the results of a run, the cells of a
// sweep, and explanations of times. It works on stored results only; package scenarios/result
// reads them, and the command prints the text.
//
// Run describes a run (run.go) and Sweep a sweep (sweep.go). Explain explains the time of a
// policy. The explanation depends on the kind of the simulation:
//
//   - a critical path: explain.go, with comparisons in compare.go and circuits.go
//   - a plan of a collective: plan.go
//   - traffic on links: traffic.go
//   - several jobs: jobs.go
//   - a fleet: fleet.go
//
// All of them write to a writer. The tables themselves are laid out by package internal/text.
package report

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"sim/internal/text"
)

// maxPolicyWidth is the length to which names of policies are shortened in tables.
const maxPolicyWidth = 28

// indentation is the number of spaces before the lines of an explanation.
const indentation = 2

// noHang is the argument of text.Wrap for paragraphs whose lines all begin at the same column.
const noHang = 0

// provedGap is the relative gap to the bound up to which a result counts as optimal. It is far
// above the rounding errors of times, which are in picoseconds.
const provedGap = 1e-6

// writer collects the text of a report. Its methods print paragraphs, tables and the parts of
// explanations; they do not return errors.
type writer struct {
	strings.Builder
	style text.Style // highlighting, and the width of lines
	// span is the name of the explained time: "iteration" or "completion".
	span string
	// hasInnerCalls reports whether calls of inner tiers are part of the compute time.
	hasInnerCalls bool
	// noWrap reports whether paragraphs are single lines, for readers that break lines themselves.
	noWrap bool
}

// emphasize highlights s if the writer has highlighting.
func (p *writer) emphasize(s string) string { return p.style.Emphasize(s) }

// line writes a line without wrapping.
func (p *writer) line(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...)
}

// paragraph writes a wrapped paragraph.
func (p *writer) paragraph(format string, args ...any) {
	p.line("%s", text.Wrap(fmt.Sprintf(format, args...), p.width(), noHang))
}

// indented writes an indented paragraph.
func (p *writer) indented(format string, args ...any) {
	p.line("%s", text.Indent(text.Wrap(fmt.Sprintf(format, args...), p.width()-indentation, noHang), indentation))
}

// wrapCell wraps text to a width, for a cell of a table.
func (p *writer) wrapCell(s string, width int) string {
	if p.noWrap {
		return s
	}
	return text.Wrap(s, width, noHang)
}

// width returns the maximum length of a line in paragraphs.
func (p *writer) width() int {
	if p.noWrap {
		return math.MaxInt
	}
	return p.style.ParagraphWidth()
}

// table writes a table after an empty line. Without wrapping it contains no highlighted text,
// whose markers would change the widths of columns.
func (p *writer) table(t *text.Table) {
	style := p.style
	if p.noWrap {
		style.Bold = nil
	}
	fmt.Fprintf(p, "\n%s", t.String(style))
}

// title writes the title of a report: the name of the scenario, highlighted, and its title.
func (p *writer) title(name, title string) {
	p.WriteString(p.emphasize(name))
	if title != "" {
		p.WriteString(strings.TrimPrefix(text.Wrap(name+": "+title, p.width(), noHang), name))
	}
	p.WriteString("\n\n")
}

// minShareWidth is the minimum width of the description of a share.
const minShareWidth = 30

// printShare writes a line for the part v of a total time: the time, its share of the total, and
// its description.
func (p *writer) printShare(u text.Unit, v, total float64, what string) {
	share := "-"
	if total > 0 {
		share = text.Percent(v / total)
	}
	line := fmt.Sprintf("  %*s  %8s  ", len(u.Of(total)), u.Of(v), share)
	indentation := utf8.RuneCountInString(line)
	what = p.wrapCell(what, max(p.width()-indentation, minShareWidth))
	p.line("%s%s", line, strings.ReplaceAll(what, "\n", "\n"+strings.Repeat(" ", indentation)))
}

// printOmitted writes the number of omitted elements of a list, if there are any. one and many
// are their singular and plural, as in text.Plural.
func (p *writer) printOmitted(left int, one string, many ...string) {
	if left > 0 {
		p.line("and %s", text.Plural(left, one, many...))
	}
}

// sum returns the sum of parts.
func sum(parts []float64) float64 {
	total := 0.0
	for _, v := range parts {
		total += v
	}
	return total
}
