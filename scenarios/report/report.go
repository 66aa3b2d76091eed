// Package report describes results as text for people: the results of a run, the cells of
// a sweep, and explanations of times. It works on stored results only; package
// scenarios/result reads them, and the command prints the text. Run, Sweep and Explain
// are the main functions.
package report

import (
	"fmt"
	"math"
	"strings"

	"sim/internal/text"
)

// maxPolicyWidth is the length to which names of policies are shortened in tables.
const maxPolicyWidth = 28

// provedGap is the relative gap to the bound up to which a result counts as optimal. It
// is far above rounding errors of picoseconds.
const provedGap = 1e-6

// writer collects the text of a report.
type writer struct {
	strings.Builder
	bold          func(string) string // formats highlighted text; nil without highlighting
	span          string              // the explained time: "iteration" or "completion"
	hasInnerCalls bool                // calls of inner tiers are part of the compute time
	noWrap        bool                // paragraphs are single lines, for readers that break lines themselves
}

// emphasize highlights s if the writer has highlighting.
func (p *writer) emphasize(s string) string {
	if p.bold == nil {
		return s
	}
	return p.bold(s)
}

// line writes a line without wrapping.
func (p *writer) line(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...)
}

// paragraph writes a wrapped paragraph.
func (p *writer) paragraph(format string, args ...any) {
	p.line("%s", text.Wrap(fmt.Sprintf(format, args...), p.width(), 0))
}

// indented writes an indented paragraph.
func (p *writer) indented(format string, args ...any) {
	p.line("%s", text.Indent(text.Wrap(fmt.Sprintf(format, args...), p.width()-2, 0), 2))
}

// wrapCell wraps text in a cell of a table.
func (p *writer) wrapCell(s string, width int) string {
	if p.noWrap {
		return s
	}
	return text.Wrap(s, width, 0)
}

// width returns the width of paragraphs.
func (p *writer) width() int {
	if p.noWrap {
		return math.MaxInt
	}
	return text.Width
}

// table writes a table after an empty line.
func (p *writer) table(t *text.Table) {
	bold := p.bold
	if p.noWrap {
		bold = nil
	}
	fmt.Fprintf(p, "\n%s", t.String(bold))
}

// title writes the title of a report.
func (p *writer) title(name, title string) {
	p.WriteString(p.emphasize(name))
	if title != "" {
		p.WriteString(strings.TrimPrefix(text.Wrap(name+": "+title, text.Width, 0), name))
	}
	p.WriteString("\n\n")
}

// printShare writes a part of a total time.
func (p *writer) printShare(u text.Unit, v, total float64, what string) {
	share := "-"
	if total > 0 {
		share = text.Percent(v / total)
	}
	p.line("  %*s  %8s  %s", len(u.Of(total)), u.Of(v), share, what)
}

// printOmitted writes how many elements of a list are omitted, if any.
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
