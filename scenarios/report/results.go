// This file returns the table of a run and the explanations for web pages, which break
// lines themselves.

package report

import (
	"sim/internal/text"
	"sim/scenarios/result"
)

// Results is the table of a run's results with one row per policy, in the order of the
// document.
type Results struct {
	// Heads are the heads of the columns, with line breaks. The first column has the policies.
	Heads []string `json:"heads"`
	// Metrics are the metrics of the columns after the first. The last one is the time to decide,
	// result.WallMetrics[0].
	Metrics []string `json:"metrics"`
	// Rows are the formatted cells. A secondary value, such as a gap, follows a tab.
	Rows [][]string `json:"rows"`
	// Best is the index of the best row; -1 without a best row.
	Best int `json:"best"`
}

// ResultsOf returns the table that Run prints.
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
		// The last column has the wall-clock time of the decision.
		decide := "-"
		if took, ok := run.Timings.Policies[row.Policy]; ok {
			decide = text.Roughly(took.SolveS)
		}
		r.Rows = append(r.Rows, append(rowCells(doc, row, shown), decide))
	}
	return r
}

// newUnwrappedWriter returns a writer with one line per paragraph. Highlighted text is
// between the control characters STX and ETX.
func newUnwrappedWriter() *writer {
	return &writer{noWrap: true, style: text.Style{Bold: func(s string) string {
		return "\x02" + s + "\x03"
	}}}
}

// Notes returns the text that Run prints below its table, one line per paragraph.
func Notes(run *result.Run) string {
	p := newUnwrappedWriter()
	best, why := run.Document.Winner()
	p.printBelowTable(run, best, why)
	return p.String()
}

// Explanation returns the text of Explain without its title, one line per paragraph, with
// highlighted text between STX and ETX. It returns "" if the run has no data to explain.
func Explanation(run *result.Run, policy string) string {
	if !explainable(&run.Detail, policy) {
		return ""
	}
	p := newUnwrappedWriter()
	p.explain(run, run.Detail.Simulation(policy))
	return p.String()
}
