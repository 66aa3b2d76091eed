package scenarios

import (
	"math"
	"strings"
	"testing"
)

// TestGains: every change of a fleet is one that can be made, and gives what two runs differ by.
func TestGains(t *testing.T) {
	t.Parallel()
	s, err := Load("fleet", []string{"workload.days=2", "workload.warm_up=1"})
	if err != nil {
		t.Fatal(err)
	}
	one := s.PolicyNames()[len(s.PolicyNames())-1]
	gains, seeds, err := s.Gains(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	if seeds != gainSeeds || len(gains) < 15 {
		t.Errorf("%d gains over %d seeds", len(gains), seeds)
	}
	text := s.Only(one).TOML()
	for _, g := range gains {
		if g.Failed != "" || g.SE < 0 || math.IsNaN(g.Mean) {
			t.Errorf("%+v", g)
		}
		if g.Change != "a checkpoint every hour" {
			continue
		}
		want := 0.0
		for _, seed := range []string{"seed=1", "seed=2", "seed=3", "seed=4", "seed=5"} {
			with, err1 := goodputOf(t.Context(), text, []string{seed, "policy.times.checkpoint_interval=1h"})
			without, err2 := goodputOf(t.Context(), text, []string{seed})
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			want += (with - without) / 5
		}
		if math.Abs(g.Mean-want) > 1e-12 {
			t.Errorf("%s: %g, want %g", g.Change, g.Mean, want)
		}
	}
	other, err := Load("gpt7b", nil)
	if err != nil {
		t.Fatal(err)
	}
	if gains, _, err := other.Gains(t.Context(), strings.Join(other.PolicyNames(), "")); len(gains) > 0 || err != nil {
		t.Errorf("%v, %v of what is no fleet", gains, err)
	}
}
