package scenarios

import (
	"strings"
	"testing"
)

// TestLoadOverRate checks loads, bounds and gaps on links of different rates, which are divided
// by the rate. Two links of rate 1 lead to node 0 of this ring, and three messages share them.
// A single path per message therefore has a load of at least 2. route-optimised proves this
// bound for both rows.
func TestLoadOverRate(t *testing.T) {
	const text = `
name = "rates"
[fabric]
kind = "graph"
nodes = 4
link_rate = "100Gbps"
edges = [[0,1,100000000000,0],[1,2,200000000000,0],[2,3,100000000000,0],[3,0,100000000000,0],[1,0,100000000000,0],[2,1,100000000000,0],[3,2,100000000000,0],[0,3,400000000000,0]]
[workload]
kind = "all-to-all"
message = "1MB"
[policy]
routers = ["shortest", "route-optimised"]
[engine]
level = "flow"
`

	o := runText(t, text)
	const minLoad = 16 / 12.0 // sum of hops / sum of rates
	if got := o.Document.Reference["bound_max_load_over_rate"]; got != minLoad {
		t.Errorf("got bound %g, want %g", got, minLoad)
	}
	for i, want := range []struct{ over, bound float64 }{{3, 2}, {2, 2}} {
		m, labels := o.Document.Rows[i].Metrics, o.Document.Rows[i].Labels
		if m["max_load_over_rate"] != want.over || m["bound_max_load_over_rate"] != want.bound ||
			m["gap"] != want.over/want.bound-1 {
			t.Errorf("%s: got load over rate %g, bound %g and gap %g, want %+v",
				o.Document.Rows[i].Policy, m["max_load_over_rate"], m["bound_max_load_over_rate"],
				m["gap"], want)
		}

		if _, has := m["bound_max_link_load"]; has ||
			!strings.HasSuffix(labels["gap_model"], "of load over rate") {
			t.Errorf("%s: got metrics %v and labels %v, want a bound of load over rate only",
				o.Document.Rows[i].Policy, m, labels)
		}

		if took := want.over * 1e6 * 8 / 100e9; m["completion_s"] < took*(1-1e-9) {
			t.Errorf("%s completes after %g s, want at least the %g s of its busiest link",
				o.Document.Rows[i].Policy, m["completion_s"], took)
		}
	}
}
