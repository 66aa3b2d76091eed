package cli

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/scenarios/result"
)

// TestPartsAddUp: as printed, parts add up to their sum, each within one of the last digit.
func TestPartsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.Float64Range(-0.5, 4), 1, 6).Draw(t, "parts")
		total, most := 0.0, 0.0
		for _, v := range parts {
			total, most = total+v, max(most, math.Abs(v))
		}
		u := unitFor(most)
		last := math.Pow10(-u.digits) / u.second
		rounded := u.addUp(parts...)
		for i, v := range rounded {
			if math.Abs(v-parts[i]) > last*(1+1e-6) {
				t.Errorf("%v became %v", parts[i], v)
			}
		}
		if off := math.Abs(sum(rounded) - total); off > last/2*(1+1e-6) {
			t.Errorf("%v add up to %v, %v off", rounded, sum(rounded), off)
		}
	})
}

// TestUnexplained: a run that keeps nothing to explain says so in a line, and what would help.
func TestUnexplained(t *testing.T) {
	for _, tt := range []struct {
		metric, want string
	}{
		{"max_link_load", "run it again with sim run old/scenario.toml"},
		{objective, "run it again with sim run old/scenario.toml"},
		{"completion_s", "its run holds neither a critical path nor a plan"},
	} {
		run := &result.Run{
			Dir:      "old",
			Document: result.Document{Scenario: "fault", Rows: []result.Row{{Policy: "dor", Metrics: map[string]float64{tt.metric: 1}}}},
			Detail:   result.Detail{Policies: []result.Play{{Policy: "dor", MakespanS: 1}}},
		}
		if got := explanation(run, &run.Detail.Policies[0], painter(false)); !strings.Contains(strings.ReplaceAll(got, "\n", " "), tt.want) {
			t.Errorf("with %s: %q, want %q", tt.metric, got, tt.want)
		}
	}
}

// TestExplainedLinks is of odd details: nothing is divided by zero, and what is not known is not said.
func TestExplainedLinks(t *testing.T) {
	run := &result.Run{
		Document: result.Document{Scenario: "fault", Rows: []result.Row{{Policy: "dor", Metrics: map[string]float64{"max_link_load": 1, "completion_s": 2}}}},
		Detail:   result.Detail{Policies: []result.Play{{Policy: "dor", Traffic: &result.Traffic{Groups: []result.LinkGroup{{Name: "x"}}, Delay: &result.DelayParts{}, Chain: &result.Chain{}}}}},
	}
	got := explanation(run, &run.Detail.Policies[0], painter(false))
	if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
		t.Error(got)
	}
	narrow(t, got)
}
