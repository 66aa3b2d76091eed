package scenarios

import (
	"fmt"
	"math"
	"testing"
)

// TestDelaysAtSharedLoad checks the delays that figures compare if routers cause different
// maximum loads. All routers are then also measured at the smallest of their loads. Reference:
// a run of each router at that pace.
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
[engine]
level = "packet"
[policy]
routers = ["shortest", "wild-first"]
`

	run := func(set ...string) *Outcome {
		return runParsed(t, mustParse(t, text, set...), 1)
	}

	o, atOwnLoad := run(), 0
	for i := range o.Detail.Policies {
		p := &o.Detail.Policies[i]
		if p.DelayShared == nil || !(p.LoadShare > 0 && p.LoadShare <= 1) {
			t.Fatalf("%s: got share %g of its load and delay %v, want a share in (0, 1] and a "+
				"delay", p.Policy, p.LoadShare, p.DelayShared)
		}
		if p.LoadShare == 1 {
			if atOwnLoad++; p.DelayShared != p.Delay {
				t.Errorf("%s: the shared load is its full load, got another delay, want the same",
					p.Policy)
			}
			continue
		}

		single := run("policy.routers=["+fmt.Sprintf("%q", p.Policy)+"]",
			fmt.Sprintf("workload.pace=%.17g", p.LoadShare))
		got, want := p.DelayShared.MeanS, single.Detail.Policies[0].Delay.MeanS
		if math.Abs(got-want) > 1e-3*want {
			t.Errorf("%s: got a mean delay of %g s, want %g s as in a run of this router at that "+
				"pace", p.Policy, got, want)
		}
		if single.Detail.Policies[0].DelayShared != nil {
			t.Error("a run with one policy has delays at a shared load, want none")
		}
	}

	if atOwnLoad != 1 || len(o.Detail.Policies) != 2 {
		t.Errorf("got %d of %d policies at their full load, want 1 of 2",
			atOwnLoad, len(o.Detail.Policies))
	}
}
