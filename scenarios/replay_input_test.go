package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sim/scenarios/assembly/input"
	"sim/scenarios/schema"

	"pgregory.net/rapid"
)

// TestReplayDiagnostics checks the diagnostics of the [trials] table. Each of these tables has
// one error, and its diagnostic states the accepted values.
func TestReplayDiagnostics(t *testing.T) {
	for _, tt := range []struct{ sets, want string }{ // sets are separated by spaces
		{"trials.count=10", `trials: perturbs nothing; give at least one of "compute_jitter", "stage_jitter", "slow_replica", "lost_circuits" or "sequence", or leave the table out`},
		{"trials.priorities=nominal", `trials: perturbs nothing; give at least one of`},
		{"trials.compute_jitter=-0.05",
			"trials.compute_jitter: -0.05 is out of bounds; write a number from 0 to 10"},
		{"trials.compute_jitter=5%",
			"trials.compute_jitter: is the text \"5%\"; write a number from 0 to 10"},
		{"trials.compute_jiter=0.05", "trials.compute_jiter: unknown key; did you mean compute_jitter?"},
		{"trials.stage_jitter=11", "trials.stage_jitter: 11 is out of bounds; write a number from 0 to 10"},
		{"trials.compute_jitter=0.1 trials.count=0",
			"trials.count: 0 is out of bounds; write a whole number from 1 to 100000"},
		{"trials.slow_replica=0.9",
			"trials.slow_replica: 0.9 is out of bounds; write a number from 1 to 1000"},
		{"trials.slow_replica=1.2 trials.slow_replica_index=2",
			"trials.slow_replica_index: there is no replica 2; choose one from 0 to 1, or -1 to have one drawn"},
		{"trials.slow_replica=1.2 trials.slow_replica_index=-2",
			"trials.slow_replica_index: -2 is out of bounds; write a whole number from -1 to 100000000"},
		{"trials.compute_jitter=0.1 trials.slow_replica_index=1",
			"trials.slow_replica_index: is not used without slow_replica; give slow_replica too, or leave it out"},
		{"trials.compute_jitter=0.1 trials.loss_time=random",
			"trials.loss_time: is not used without lost_circuits; give lost_circuits too, or leave it out"},
		{"trials.lost_circuits=1 trials.loss_time=never",
			`trials.loss_time: "never" is not known; choose "start" or "random"`},
		{"trials.lost_circuits=9", "trials.lost_circuits: 9 circuits are more than the 8 that 16 ports can form; lose fewer"},
		{"trials.lost_circuits=12 replica.1.ports_per_pod=7",
			"trials.lost_circuits: 12 circuits are more than the 11 that 22 ports can form"},
		{"trials.sequence=0", "trials.sequence: 0 is out of bounds; write a whole number from 1 to 1000000000"},
		{"trials.sequence=1000000000 workload.microbatch=2",
			"trials.sequence: with 1000000000 tokens a sample, a micro-batch of 2e+09 tokens"},
		{"trials.sequence=900000000",
			"trials.sequence: with 900000000 tokens a sample, an iteration may take"},
		{"trials.compute_jitter=0.1 trials.priorities=best",
			`trials.priorities: "best" is not known; choose "nominal" or "clairvoyant"`},
		{"trials.compute_jitter=0.1 workload.microbatches=150000 workload.gpus=32",
			"trials: simulates all 4 replicas, because the perturbations make them differ: passes of stages and transfers between pods take about"},
		{"trials=3", "trials: is the number 3; write it as a table: [trials]"},
	} {
		_, err := Load("gpt7b", strings.Fields(tt.sets))
		var fs Diagnostics
		if !errors.As(err, &fs) {
			t.Errorf("%s: got no diagnostic", tt.sets)
			continue
		}
		if len(fs) != 1 || !strings.HasPrefix(fs[0].String(), "--set: "+tt.want) {
			t.Errorf("%s: got %q, want one diagnostic that starts with %q",
				tt.sets, fs.Error(), tt.want)
		}
	}

	for _, sets := range []string{
		"trials.lost_circuits=11 replica.1.ports_per_pod=7",
		"trials.sequence=2048 workload.microbatches=150000 workload.gpus=32", // one replica stands for all
	} {
		if _, err := Load("gpt7b", strings.Fields(sets)); err != nil {
			t.Errorf("%s: got %v, want no error", sets, err)
		}
	}

	_, err := Parse("x.toml", []byte("base = \"gpt7b\"\n\n[trials]\n"), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "x.toml:3: trials: perturbs nothing; ") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("an empty table: got %v, want one diagnostic for x.toml:3", err)
	}
}

// TestReplayWithoutPerturbation checks that a value that perturbs nothing is accepted if it is
// given explicitly. The axis of a study may start with it.
func TestReplayWithoutPerturbation(t *testing.T) {
	for _, set := range []string{
		"trials.compute_jitter=0", "trials.stage_jitter=0.0", "trials.slow_replica=1",
		"trials.lost_circuits=0", "trials.sequence=4096",
	} {
		s, err := Load("gpt7b", []string{set})
		if err != nil {
			t.Errorf("%s: got error %v, want none", set, err)
			continue
		}
		want := input.Trials{Count: 100, SlowReplica: 1, SlowReplicaIndex: -1, LossTime: "start",
			Reaction: "keep", Sequence: 4096, Priorities: "nominal"}
		if s.Trials != want {
			t.Errorf("%s: got %+v, want %+v", set, s.Trials, want)
		}
	}
}

// TestReplayRoundTrip checks that scenarios with random [trials] tables are read back from
// their own TOML.
func TestReplayRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sets := []string{"trials.compute_jitter=" +
			schema.Literal(rapid.Float64Range(0, 10).Draw(t, "jitter"))}
		maybe := func(format string, v any) {
			if rapid.Bool().Draw(t, "give") {
				sets = append(sets, fmt.Sprintf(format, v))
			}
		}

		maybe("trials.count=%d", rapid.IntRange(1, 100_000).Draw(t, "seeds"))
		maybe("trials.stage_jitter=%v", schema.Literal(rapid.Float64Range(0, 10).Draw(t, "stage")))
		maybe("trials.sequence=%d", rapid.IntRange(1, 1<<20).Draw(t, "sequence"))
		maybe("workload.sequence=%d", rapid.IntRange(1, 1<<20).Draw(t, "nominal sequence"))
		maybe("trials.priorities=%s",
			rapid.SampledFrom([]string{"nominal", "clairvoyant"}).Draw(t, "priorities"))
		if rapid.Bool().Draw(t, "slow") {
			sets = append(sets, "trials.slow_replica="+schema.Literal(rapid.Float64Range(1,
				1000).Draw(t, "scale")))
			maybe("trials.slow_replica_index=%d", rapid.IntRange(-1, 1).Draw(t, "index"))
		}

		if rapid.Bool().Draw(t, "lose circuits") {
			sets = append(sets, fmt.Sprintf("trials.lost_circuits=%d", rapid.IntRange(0, 8).Draw(t, "lost")))
			maybe("trials.loss_time=%s", rapid.SampledFrom([]string{"start", "random"}).Draw(t, "when"))
		}
		s, err := Load("gpt7b", sets)
		if err != nil {
			t.Fatalf("%v: %v", sets, err)
		}
		if !slices.Contains(sets, "trials.sequence="+fmt.Sprint(s.Trials.Sequence)) &&
			s.Trials.Sequence != s.Workload.Sequence {
			t.Fatalf("%v: trials of sequence %d have sequence %d, want the same",
				sets, s.Workload.Sequence, s.Trials.Sequence)
		}

		checkRoundTrip(t, s)
	})
}
