package scenarios

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sim/scenarios/assembly/input"
)

// TestLostMoreThanProvisioned checks that a run rejects trials that lose more circuits than the
// only policy provisions, in one line.
func TestLostMoreThanProvisioned(t *testing.T) {
	s, err := Load("gpt7b", []string{`policy.allocators=["fixed"]`,
		"policy.fixed.circuits=[[1,1],[1,1]]", "trials.lost_circuits=5"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(context.Background(), s, RunOptions{Workers: 2})
	const want = "gpt7b: trials.lost_circuits: 5 circuits are more than the 4 that are provisioned; lose at most 4"
	if !errors.Is(err, ErrInput) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestUnservedAmongOthers checks such a policy in a comparison. Its row has no metrics and a
// label with the reason. The other policies run.
func TestUnservedAmongOthers(t *testing.T) {
	o := runScenario(t, "gpt7b", 2, `policy.allocators=["fixed", "delta-fast"]`,
		"policy.fixed.circuits=[[1,1],[1,1]]", "trials.lost_circuits=5", "trials.count=2")
	rows := o.Document.Rows
	if len(rows) != 2 || len(rows[0].Metrics) != 0 ||
		rows[0].Labels["unserved"] != "trials.lost_circuits: 5 circuits are more than the 4 that are provisioned" {
		t.Fatalf("got rows %+v, want an unserved row and another one", rows)
	}
	if rows[1].Metrics["trial_count"] != 2 || rows[1].Labels["unserved"] != "" ||
		len(o.Detail.Policies) != 2 {
		t.Errorf("got row %+v, want 2 trials", rows[1])
	}
}

// TestNoReplay checks that a scenario without the [trials] table has no trace of it in its
// TOML, metrics and samples.
func TestNoReplay(t *testing.T) {
	s, err := Load("gpt7b", []string{`policy.allocators=["iter-halve"]`})
	if err != nil {
		t.Fatal(err)
	}
	row := runParsed(t, s, 1).Document.Rows[0]
	if strings.Contains(string(s.TOML()), "trials") || s.Trials != (input.Trials{}) || row.Samples != nil {
		t.Errorf("got %+v and samples %v, want none, in\n%s", s.Trials, row.Samples, s.TOML())
	}
	for name := range row.Metrics {
		if strings.HasPrefix(name, "trial") {
			t.Errorf("got metric %s in a run without trials", name)
		}
	}
}
