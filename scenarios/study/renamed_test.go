package study

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sim/scenarios/result"
)

// TestDeprecatedRecord: a record of an older version, with deprecated names, is read with current
// names.
func TestDeprecatedRecord(t *testing.T) {
	cell := []byte(`{"key":"k","reference":{"replay_gap_max":1},"metrics":{"walks":2,"nct":3,"donor_nct":5},"labels":{"donor":"a"},"samples":{"replay_nct_mean":[4]},"timings":{"solve_s":1,"play_s":2}}`)
	line, err := json.Marshal(journalLine{checksum(cell), cell})
	if err != nil {
		t.Fatal(err)
	}
	got, err := parseRecord(line)
	want := &Record{Key: "k", Reference: map[string]float64{"trial_gap_max": 1}, Metrics: map[string]float64{"paths": 2, "nct": 3, "lender_nct": 5},
		Labels: map[string]string{"lender": "a"}, Samples: map[string][]float64{"trial_nct_mean": {4}}, Timings: result.PolicyTimings{SolveS: 1, SimulateS: 2}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, -want +got:\n%s", err, diff)
	}
}
