package cli

import (
	"strings"
	"testing"

	"sim/internal/text"
	"sim/scenarios/report"
	"sim/scenarios/result"
)

// TestUnexplained: for a run without timelines, sim explain prints one line with the reason
// and an alternative.
func TestUnexplained(t *testing.T) {
	for _, tt := range []struct {
		metric, want string
	}{
		{"max_link_load", "run it again with sim run old/scenario.toml"},
		{"objective", "run it again with sim run old/scenario.toml"},
		{"completion_s", "its run holds neither a critical path nor a plan"},
	} {
		run := &result.Run{
			Dir:      "old",
			Document: result.Document{Scenario: "fault", Rows: []result.Row{{Policy: "dor", Metrics: map[string]float64{tt.metric: 1}}}},
			Detail:   result.Detail{Policies: []result.Simulation{{Policy: "dor", MakespanS: 1}}},
		}
		if got := report.Explain(run, &run.Detail.Policies[0], text.Style{}); !strings.Contains(strings.ReplaceAll(got, "\n", " "), tt.want) {
			t.Errorf("with %s: %q, want %q", tt.metric, got, tt.want)
		}
	}
}

// TestExplainedLinks explains unusual details: no division by zero occurs, and unknown values
// are not printed.
func TestExplainedLinks(t *testing.T) {
	run := &result.Run{
		Document: result.Document{Scenario: "fault", Rows: []result.Row{{Policy: "dor", Metrics: map[string]float64{"max_link_load": 1, "completion_s": 2}}}},
		Detail:   result.Detail{Policies: []result.Simulation{{Policy: "dor", Traffic: &result.Traffic{Groups: []result.LinkGroup{{Name: "x"}}, Delay: &result.DelayParts{}, Chain: &result.Chain{}}}}},
	}
	got := report.Explain(run, &run.Detail.Policies[0], text.Style{})
	if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
		t.Error(got)
	}
	checkLineWidths(t, got)
}
