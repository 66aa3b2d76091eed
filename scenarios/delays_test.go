package scenarios

import (
	"context"
	"fmt"
	"math"
	"testing"
)

// TestDelaysAtOneLoad: where routers carry different loads, delays are shown at the least of them too, and each is that of
// a simulation at that pace.
func TestDelaysAtSharedLoad(t *testing.T) {
	const text = `
[workload]
kind = "all-to-all"
message = "4KB"
packet = "1000B"
[fabric]
kind = "torus"
dims = [4, 4, 4]
failed_ocs = ["x0"]
[policy]
routers = ["shortest", "wild-first"]
`
	run := func(set ...string) *Outcome {
		s, err := Parse("delays", []byte(text), set)
		if err != nil {
			t.Fatal(err)
		}
		o, err := Run(context.Background(), s, RunOptions{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	o, atOwnLoad := run(), 0
	for i := range o.Detail.Policies {
		p := &o.Detail.Policies[i]
		if p.DelayShared == nil || !(p.LoadShare > 0 && p.LoadShare <= 1) {
			t.Fatalf("%s: share %g, delay %v", p.Policy, p.LoadShare, p.DelayShared)
		}
		if p.LoadShare == 1 {
			if atOwnLoad++; p.DelayShared != p.Delay {
				t.Errorf("%s is at its own load and has another delay", p.Policy)
			}
			continue
		}
		single := run("policy.routers=["+fmt.Sprintf("%q", p.Policy)+"]", fmt.Sprintf("workload.pace=%.17g", p.LoadShare))
		if got, want := p.DelayShared.MeanS, single.Detail.Policies[0].Delay.MeanS; math.Abs(got-want) > 1e-3*want {
			t.Errorf("%s: mean delay %g s, alone at that pace %g s", p.Policy, got, want)
		}
		if single.Detail.Policies[0].DelayShared != nil {
			t.Error("one policy has nothing to share a load with")
		}
	}
	if atOwnLoad != 1 || len(o.Detail.Policies) != 2 {
		t.Errorf("%d of %d policies are at their own load", atOwnLoad, len(o.Detail.Policies))
	}
}
