package scenarios

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sim/scenarios/assembly/input"
)

// TestLostMoreThanLit: a policy that lights fewer circuits than are to be lost is an input's fault, of one line.
func TestLostMoreThanProvisioned(t *testing.T) {
	s, err := Load("gpt7b", []string{`policy.allocators=["fixed"]`, "policy.fixed.circuits=[[1,1],[1,1]]", "replay.lost_circuits=5"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(context.Background(), s, RunOptions{Workers: 2})
	const want = "gpt7b: replay.lost_circuits: 5 circuits are more than the 4 that are provisioned; lose at most 4"
	if !errors.Is(err, ErrInput) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestUnlitBesideOthers: beside others such a policy has a row that says so, and the others go on.
func TestUnservedAmongOthers(t *testing.T) {
	o := runScenario(t, "gpt7b", 2, `policy.allocators=["fixed", "delta-fast"]`, "policy.fixed.circuits=[[1,1],[1,1]]", "replay.lost_circuits=5", "replay.seeds=2")
	rows := o.Document.Rows
	if len(rows) != 2 || len(rows[0].Metrics) != 0 || rows[0].Labels["unserved"] != "replay.lost_circuits: 5 circuits are more than the 4 that are provisioned" {
		t.Fatalf("%+v", rows)
	}
	if rows[1].Metrics["replay_plays"] != 2 || rows[1].Labels["unserved"] != "" || len(o.Detail.Policies) != 2 {
		t.Errorf("%+v", rows[1])
	}
}

// TestNoReplay: without the table a scenario's text, digest and rows know nothing of replays.
func TestNoReplay(t *testing.T) {
	s, err := Load("gpt7b", []string{`policy.allocators=["iter-halve"]`})
	if err != nil {
		t.Fatal(err)
	}
	row := runParsed(t, s, 1).Document.Rows[0]
	if strings.Contains(string(s.TOML()), "replay") || s.Replay != (input.Replay{}) || row.Samples != nil {
		t.Errorf("%+v, samples %v in\n%s", s.Replay, row.Samples, s.TOML())
	}
	for name := range row.Metrics {
		if strings.HasPrefix(name, "replay") {
			t.Errorf("metric %s", name)
		}
	}
}
