package study

import (
	"testing"

	"sim/scenarios/result"
)

// TestOutdate: a cell that is older than a metric is computed again only if the metric is
// requested.
func TestOutdate(t *testing.T) {
	rows := result.Metrics
	defer func() { result.Metrics = rows }()
	result.Metrics = append(rows[:len(rows):len(rows)],
		result.Metric{Name: "new", Since: 2}, result.Metric{Name: "newer", Since: 3},
		result.Metric{Name: "derived", Since: 3, Formula: func(_, _ map[string]float64) (float64, bool) { return 1, true }})
	for _, c := range []struct {
		asked string
		left  int
	}{
		{"nct", 3}, {"new", 2}, {"newer", 1}, {"reference.newer", 1}, {"nct / newer", 1}, {"derived", 3}, {"unheard_of", 3},
	} {
		s := &Store{records: map[string]*Record{"a": {}, "b": {Table: 2}, "c": {Table: result.TableVersion()}}}
		s.DropOutdated([]MetricRequest{{"flag --metric", c.asked}})
		if len(s.records) != c.left || s.records["c"] == nil {
			t.Errorf("%s: %d records are left, want %d", c.asked, len(s.records), c.left)
		}
	}
}
