package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sim/scenarios/result"
)

// TestStalledPlays: plays in which a bundle loses its last circuit are counted
// and left out, and the others say which plays they are.
func TestStalledPlays(t *testing.T) {
	const plays = 60
	in := replayed(t, "gpt7b", fmt.Sprintf("replay.seeds=%d", plays), "replay.lost_circuits=2")
	d := in.decided(t, "delta-joint")
	x, err := in.replay.spread(d.Circuits)
	if err != nil {
		t.Fatal(err)
	}
	var ended []float64
	for i := range plays {
		left, dark := slices.Clone(x), false
		for _, c := range lose(x, 2, in.replay.seeds[i]) {
			left[c.bundle]--
			dark = dark || left[c.bundle] == 0
		}
		if !dark {
			ended = append(ended, float64(i))
		}
	}
	if m := d.row.Metrics; m["replay_plays"] != plays || m["replay_stalled"] != float64(plays-len(ended)) || len(ended) == plays || len(ended) == 0 {
		t.Errorf("%v of %v plays stall, want %d", m["replay_stalled"], m["replay_plays"], plays-len(ended))
	}
	if s := d.row.Samples; !slices.Equal(s["play"], ended) || len(s["nct"]) != len(ended) || len(s["makespan_s"]) != len(ended) {
		t.Errorf("plays %v, %d NCTs and %d makespans, want plays %v", s["play"], len(s["nct"]), len(s["makespan_s"]), ended)
	}
	lit := litIn(x)
	all := replayed(t, "gpt7b", "replay.seeds=3", fmt.Sprintf("replay.lost_circuits=%d", lit)).decided(t, "delta-joint").row
	if all.Metrics["replay_stalled"] != 3 || all.Samples != nil || all.Labels["replay_nct_mean"] == "" {
		t.Errorf("without circuits: %v, samples %v, labels %v", all.Metrics, all.Samples, all.Labels)
	}
}

// TestLostMoreThanLit: a policy that lights fewer circuits than are to be lost
// is an input's fault, of one line.
func TestLostMoreThanLit(t *testing.T) {
	s, err := Load("gpt7b", []string{`policy.allocators=["fixed"]`, "policy.fixed.circuits=[[1,1],[1,1]]", "replay.lost_circuits=5"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(context.Background(), s, RunOptions{Workers: 2})
	const want = "gpt7b: replay.lost_circuits: 5 circuits are more than the 4 that are lit; lose at most 4"
	if !errors.Is(err, ErrInput) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestUnlitBesideOthers: beside others such a policy has a row that says so, and
// the others go on.
func TestUnlitBesideOthers(t *testing.T) {
	o := runScenario(t, "gpt7b", 2, `policy.allocators=["fixed", "delta-fast"]`, "policy.fixed.circuits=[[1,1],[1,1]]", "replay.lost_circuits=5", "replay.seeds=2")
	rows := o.Document.Rows
	if len(rows) != 2 || len(rows[0].Metrics) != 0 || rows[0].Labels["unserved"] != "replay.lost_circuits: 5 circuits are more than the 4 that are lit" {
		t.Fatalf("%+v", rows)
	}
	if rows[1].Metrics["replay_plays"] != 2 || rows[1].Labels["unserved"] != "" || len(o.Detail.Policies) != 2 {
		t.Errorf("%+v", rows[1])
	}
}

// TestReplayInterrupted: an interrupt ends a replay, and leaves nothing half
// done.
func TestReplayInterrupted(t *testing.T) {
	in := replayed(t, "gpt7b", "replay.seeds=20", "replay.compute_jitter=0.1")
	plain := replayed(t, "gpt7b")
	d := plain.decided(t, "iter-halve")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	row := result.Row{Metrics: map[string]float64{}, Labels: map[string]string{}}
	if err := in.replay.measure(ctx, d.Decision, &row, 2); err != context.Canceled || len(row.Metrics) > 0 {
		t.Errorf("got %v and %v, want %v", err, row.Metrics, context.Canceled)
	}
	if err := in.replay.measure(context.Background(), d.Decision, &row, 2); err != nil || len(row.Samples["nct"]) != 20 {
		t.Errorf("afterwards %v, %d plays", err, len(row.Samples["nct"]))
	}
}

// TestNoReplay: without the table a scenario's text, digest and rows know
// nothing of replays.
func TestNoReplay(t *testing.T) {
	in := replayed(t, "gpt7b")
	row := in.decided(t, "iter-halve").row
	if strings.Contains(string(in.s.TOML()), "replay") || in.s.Replay != (Replay{}) || in.replay != nil || row.Samples != nil {
		t.Errorf("%+v, samples %v in\n%s", in.s.Replay, row.Samples, in.s.TOML())
	}
	for name := range row.Metrics {
		if strings.HasPrefix(name, "replay") {
			t.Errorf("metric %s", name)
		}
	}
}

// TestQuantile: the nearest rank.
func TestQuantile(t *testing.T) {
	v := make([]float64, 100)
	for i := range v {
		v[i] = float64(100 - i)
	}
	for p, want := range map[float64]float64{0.5: 50, 0.95: 95, 0.99: 99, 0.001: 1, 1: 100, 0.951: 96} {
		if got := quantile(v, p); got != want {
			t.Errorf("%v of 1 to 100 is %v, want %v", p, got, want)
		}
	}
	if got := quantile([]float64{3}, 0.5); got != 3 {
		t.Errorf("of one value: %v", got)
	}
}
