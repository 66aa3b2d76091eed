package alias

import (
	"strings"
	"testing"
)

// TestKey: deprecated parts of a path are replaced, in arrays of tables, jobs and tiers, too. Other
// paths remain.
func TestKey(t *testing.T) {
	for old, want := range map[string]string{
		"policy.arbiters":                    "policy.multi_job_allocators",
		"replay":                             "trials",
		"replay.seeds":                       "trials.count",
		"replay.compute_jitter":              "trials.compute_jitter",
		"trials.seeds":                       "trials.count",
		"plot.3.below_of":                    "plot.3.lower_series",
		"fabric.tier.0.known_ahead":          "fabric.tier.0.predicted_calls",
		"job.1.workload.along":               "job.1.workload.call_dims",
		`policy."multipath".ways`:            `policy."multipath".max_paths`,
		`policy."reconfigure-during+".relay`: `policy."reconfigure-during+".relay`,
		"fabric.switches":                    "fabric.switches",
		"ways":                               "ways",
		"":                                   "",
	} {
		if got := Key(old); got != want {
			t.Errorf("Key(%q) = %q, want %q", old, got, want)
		}
		if got := Key(want); got != want {
			t.Errorf("Key(%q) = %q, want no change", want, got)
		}
	}
}

// TestMetric: deprecated metrics are replaced with their prefixes and in quotients. Other names
// remain.
func TestMetric(t *testing.T) {
	for old, want := range map[string]string{
		"play_s":                   "simulation_s",
		"walks":                    "paths",
		"replay_plays":             "trial_count",
		"replay_nct_p95":           "trial_nct_p95",
		"reference.replay_gap_max": "reference.trial_gap_max",
		"job.first.nct_before":     "job.first.baseline_nct",
		"solve_s / play_s":         "solve_s/simulation_s",
		"nct / makespan_s":         "nct / makespan_s",
		"job.a/b.donor_ports":      "job.a/b.lender_ports",
		"donor":                    "donor",
		"nct":                      "nct",
		"":                         "",
	} {
		if got := Metric(old); got != want {
			t.Errorf("Metric(%q) = %q, want %q", old, got, want)
		}
	}
	for old, want := range map[string]string{"donor": "lender", "donor_limit": "lender_limit", "replay": "trials", "gap": "gap"} {
		if got := Label(old); got != want {
			t.Errorf("Label(%q) = %q, want %q", old, got, want)
		}
	}
}

// TestTables: no current name is deprecated itself, and no name is listed twice.
func TestTables(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Keys {
		if parent := strings.TrimSuffix(r.Old, lastPart(r.Old)); seen[r.Old] || Key(parent+r.New) != parent+r.New || Key(r.Old) != parent+r.New {
			t.Errorf("%s is listed twice, or its current name is deprecated", r.Old)
		}
		seen[r.Old] = true
	}
	for _, r := range Metrics {
		if name := strings.TrimSuffix(r.New, "*"); seen[r.Old] || Metric(name) != name {
			t.Errorf("%s is listed twice, or its current name is deprecated", r.Old)
		}
		seen[r.Old] = true
	}
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
