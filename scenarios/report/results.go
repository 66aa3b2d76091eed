package report

import (
	"sim/internal/text"
	"sim/scenarios/result"
)

// Results is the table of a run's results: a row a policy, in the order of the document.
type Results struct {
	Heads   []string   `json:"heads"`   // in lines; the first is that of the policies
	Metrics []string   `json:"metrics"` // that the columns after the first are of, result.WallMetrics[0] of the last
	Rows    [][]string `json:"rows"`    // as they are printed; after a tab what stands beside a value, such as a gap
	Best    int        `json:"best"`    // the row that is best, -1 where none can be
}

// ResultsOf is the table that Run prints.
func ResultsOf(run *result.Run) Results {
	doc := &run.Document
	shown := doc.Columns()
	r := Results{Heads: append(columnHeads("policy", shown), "time to\ndecide")}
	r.Best, _ = doc.Winner()
	for _, m := range shown {
		r.Metrics = append(r.Metrics, m.Name)
	}
	r.Metrics = append(r.Metrics, result.WallMetrics[0])
	for i := range doc.Rows {
		row := &doc.Rows[i]
		decide := "-"
		if took, ok := run.Timings.Policies[row.Policy]; ok {
			decide = text.Roughly(took.SolveS)
		}
		r.Rows = append(r.Rows, append(rowCells(doc, row, shown), decide))
	}
	return r
}

// newUnwrappedWriter is a page whose paragraphs are lines, with what stands out between two control characters, STX and ETX.
func newUnwrappedWriter() *writer {
	return &writer{noWrap: true, bold: func(s string) string { return "\x02" + s + "\x03" }}
}

// Notes is what Run prints below its table, a paragraph a line.
func Notes(run *result.Run) string {
	p := newUnwrappedWriter()
	best, why := run.Document.Winner()
	p.printBelowTable(run, best, why)
	return p.String()
}

// Explanation is what Explain says, a paragraph a line, without its title, what stands out between STX and ETX; "" where
// nothing is kept that could be explained.
func Explanation(run *result.Run, policy string) string {
	if !explainable(&run.Detail, policy) {
		return ""
	}
	p := newUnwrappedWriter()
	p.explain(run, run.Detail.Simulation(policy))
	return p.String()
}
