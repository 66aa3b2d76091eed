package circuits

import (
	"reflect"
	"strings"
	"testing"

	"sim/engine"
	"sim/scenarios/result"
	"sim/workloads/training"
)

// TestTrialMetrics checks the metrics of trials that end, that stall and that have no NCT. In
// each trial the ideal fabric takes 3 s, including 1 s of compute. A makespan of m seconds
// therefore has an NCT of (m - 1) / 2. Without communication the NCT is undefined unless the
// makespan is the ideal one.
func TestTrialMetrics(t *testing.T) {
	const s = engine.Second
	normal, noCommunication := training.ReferenceTimes{Ideal: 3 * s, Compute: s},
		training.ReferenceTimes{Ideal: 3 * s, Compute: 3 * s}
	for _, c := range []struct {
		name    string
		times   []training.ReferenceTimes
		ends    []engine.Time
		metrics map[string]float64
		samples map[string][]float64
		label   string // start of the label trial_nct_mean
	}{
		{"all end", []training.ReferenceTimes{normal, normal, normal}, []engine.Time{3 * s, 7 * s, 5 * s},
			map[string]float64{"trial_count": 3, "trial_stalls": 0, "trial_makespan_mean_s": 5,
				"trial_makespan_p95_s": 7, "trial_nct_mean": 2, "trial_nct_max": 3,
				"trial_nct_p50": 2, "trial_nct_p95": 3, "trial_nct_p99": 3},
			map[string][]float64{"makespan_s": {3, 7, 5}, "nct": {1, 3, 2}}, ""},
		{"one stalls", []training.ReferenceTimes{normal, normal, normal},
			[]engine.Time{3 * s, stalled, 5 * s},
			map[string]float64{"trial_count": 3, "trial_stalls": 1, "trial_makespan_mean_s": 4,
				"trial_makespan_p95_s": 5, "trial_nct_mean": 1.5, "trial_nct_max": 2,
				"trial_nct_p50": 1, "trial_nct_p95": 2, "trial_nct_p99": 2},
			map[string][]float64{"makespan_s": {3, 5}, "nct": {1, 2}, "play": {0, 2}}, ""},
		{"one is undefined", []training.ReferenceTimes{noCommunication, noCommunication, normal},
			[]engine.Time{3 * s, 4 * s, 5 * s},
			map[string]float64{"trial_count": 3, "trial_stalls": 0, "trial_makespan_mean_s": 4,
				"trial_makespan_p95_s": 5, "trial_nct_mean": 1.5, "trial_nct_max": 2,
				"trial_nct_p50": 1, "trial_nct_p95": 2, "trial_nct_p99": 2},
			map[string][]float64{"makespan_s": {3, 4, 5}, "nct": {1, 2}}, "in 1 of 3 plays"},
		{"all are undefined", []training.ReferenceTimes{noCommunication, noCommunication},
			[]engine.Time{4 * s, 4 * s},
			map[string]float64{"trial_count": 2, "trial_stalls": 0, "trial_makespan_mean_s": 4,
				"trial_makespan_p95_s": 4},
			map[string][]float64{"makespan_s": {4, 4}}, "in 2 of 2 plays"},
		{"none ends", []training.ReferenceTimes{normal, normal}, []engine.Time{stalled, stalled},
			map[string]float64{"trial_count": 2, "trial_stalls": 2}, nil, "as no play ends"},
	} {
		row := &result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}
		r := &trials{circuitSystem: &circuitSystem{scenario: &Scenario{}}, times: c.times}
		r.addTrialMetrics(row, c.ends)
		if !reflect.DeepEqual(row.Metrics, c.metrics) || !reflect.DeepEqual(row.Samples, c.samples) {
			t.Errorf("%s: got metrics %v and samples %v, want %v and %v",
				c.name, row.Metrics, row.Samples, c.metrics, c.samples)
		}
		if label := row.Labels["trial_nct_mean"]; (label == "") != (c.label == "") ||
			!strings.HasPrefix(label, c.label) {
			t.Errorf("%s: got label %q, want %q", c.name, label, c.label)
		}
		reacted := &result.Row{Metrics: map[string]float64{}}
		r.addLaterMetrics(reacted, &laterIterations{ends: c.ends, numMoved: 2})
		want := map[string]float64{"trial_redecided": 2}
		if nct, ok := c.metrics["trial_nct_mean"]; ok {
			want["trial_after_nct_mean"] = nct
		}
		if !reflect.DeepEqual(reacted.Metrics, want) {
			t.Errorf("%s: got metrics %v of the iterations after the loss, want %v",
				c.name, reacted.Metrics, want)
		}
	}
}
