// Package report words results for people: what every policy of a run reached, the cells of a sweep, and explanations
// of what sets a time and where it goes. It knows results alone; package scenarios/result reads them, and the command
// prints what comes out.
package report

import (
	"fmt"
	"math"
	"strings"

	"sim/internal/text"
)

// maxPolicyWidth is the longest policy name that a table prints whole.
const maxPolicyWidth = 28

// provedGap is the relative gap to the bound from which a result counts as optimal: what rounding to picoseconds can
// leave is far below it.
const provedGap = 1e-6

// writer is what a report is written on.
type writer struct {
	strings.Builder
	bold          func(string) string // nil where there is none
	span          string              // what takes the time that is explained: "iteration" or "completion"
	hasInnerCalls bool                // whether calls of inner tiers lengthen computing
	noWrap        bool                // paragraphs are lines of their own, however long, for who breaks lines himself
}

// emphasize is s in bold, where there is such.
func (p *writer) emphasize(s string) string {
	if p.bold == nil {
		return s
	}
	return p.bold(s)
}

// line writes a line as it is.
func (p *writer) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// paragraph writes a paragraph.
func (p *writer) paragraph(format string, args ...any) {
	p.line("%s", text.Wrap(fmt.Sprintf(format, args...), p.width(), 0))
}

// indented writes a paragraph that is indented.
func (p *writer) indented(format string, args ...any) {
	p.line("%s", text.Indent(text.Wrap(fmt.Sprintf(format, args...), p.width()-2, 0), 2))
}

// wrapCell breaks a text for a cell of a table into lines.
func (p *writer) wrapCell(s string, width int) string {
	if p.noWrap {
		return s
	}
	return text.Wrap(s, width, 0)
}

// width is where lines of paragraphs end.
func (p *writer) width() int {
	if p.noWrap {
		return math.MaxInt
	}
	return text.Width
}

// table writes a table below an empty line.
func (p *writer) table(t *text.Table) {
	bold := p.bold
	if p.noWrap {
		bold = nil
	}
	fmt.Fprintf(p, "\n%s", t.String(bold))
}

// title begins a report.
func (p *writer) title(name, title string) {
	p.WriteString(p.emphasize(name))
	if title != "" {
		p.WriteString(strings.TrimPrefix(text.Wrap(name+": "+title, text.Width, 0), name))
	}
	p.WriteString("\n\n")
}

// printShare writes what of a total of times one part is.
func (p *writer) printShare(u text.Unit, v, total float64, what string) {
	share := "-"
	if total > 0 {
		share = text.Percent(v / total)
	}
	p.line("  %*s  %8s  %s", len(u.Of(total)), u.Of(v), share, what)
}

// printOmitted says how many things of a list are left out, if any are.
func (p *writer) printOmitted(left int, one string, many ...string) {
	if left > 0 {
		p.line("and %s", text.Plural(left, one, many...))
	}
}

// sum adds up.
func sum(parts []float64) float64 {
	total := 0.0
	for _, v := range parts {
		total += v
	}
	return total
}
