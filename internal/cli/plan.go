package cli

import (
	"encoding/csv"
	"io"

	"sim/internal/csvfield"
	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/result"
)

// writePlans writes rate schedules as CSV: task, from_s, to_s, rate_bits_per_s. With the schedules of several policies,
// in the order of the document's rows, the policy comes first.
func writePlans(w io.Writer, doc *result.Document, plans map[string][]scenarios.PlanRow) error {
	out := csv.NewWriter(w)
	var policy []string // the first column, when there is one
	if len(plans) > 1 {
		policy = []string{"policy"}
	}
	out.Write(append(policy, "task", "from_s", "to_s", "rate_bits_per_s"))
	for _, r := range doc.Rows {
		if len(plans) > 1 {
			policy = []string{r.Policy}
		}
		for _, p := range plans[r.Policy] {
			out.Write(csvfield.Safe(append(policy[:len(policy):len(policy)], p.Task, text.Exact(p.FromS), text.Exact(p.ToS), text.Exact(p.Rate))...))
		}
	}
	out.Flush()
	return out.Error()
}
