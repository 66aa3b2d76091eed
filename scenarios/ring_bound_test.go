package scenarios

import (
	"fmt"
	"testing"
)

// TestRingKindsHaveTheBoundOfCalls checks ring collectives as a kind of traffic, on tori with
// and without failed links. They have the lower bound of the same collective call, and its gap
// if both take equally long. The bound also holds for rings along one dimension.
func TestRingKindsHaveTheBoundOfCalls(t *testing.T) {
	for _, fabric := range []string{
		"dims = [4, 4, 2]\n", "dims = [3, 4]\n", "dims = [4, 4]\nfailed_links = [\"0 x+\"]\n",
	} {
		for _, call := range []string{"all-reduce", "reduce-scatter", "all-gather"} {
			text := `[workload]
kind = %q
message = "6MB"
[fabric]
kind = "torus"
` + fabric + `[policy]
routers = ["shortest"]
%s[engine]
level = "flow"
`

			rings := runMetrics(t, fmt.Sprintf(text, "ring-"+call, ""))
			called := runMetrics(t, fmt.Sprintf(text, call, "collectives = [\"bidirectional-ring\"]\n"))
			for _, metric := range []string{"bound_completion_s", "gap"} {
				if rings["completion_s"] == called["completion_s"] || metric != "gap" {
					if a, b := rings[metric], called[metric]; a != b || b < 0 {
						t.Errorf("%s on %q: got %s %g for rings, want %g as for the call",
							call, fabric, metric, a, b)
					}
				}
			}

			m := runMetrics(t, fmt.Sprintf(text, "ring-"+call, ""),
				"workload.rings=per-dimension", "workload.ring_dims=[\"y\"]")
			if m["bound_completion_s"] <= 0 || m["gap"] < 0 {
				t.Errorf("%s along y on %q takes %g s with a bound of %g s, want a bound above 0 "+
					"and at most that time",
					call, fabric, m["completion_s"], m["bound_completion_s"])
			}
		}
	}
}
