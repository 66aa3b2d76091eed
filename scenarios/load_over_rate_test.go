package scenarios

import (
	"strings"
	"testing"
)

// TestLoadOverRate: where rates differ, loads, bounds and gaps are over rates. Into node 0 of this ring lead two links
// of rate 1, which three units share: 2 is the least, which one router proves for both.
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
	const minLoad = 16 / 12.0 // hops, over links of rate 1
	if got := o.Document.Reference["bound_max_load_over_rate"]; got != minLoad {
		t.Errorf("bound %g, want %g", got, minLoad)
	}
	for i, want := range []struct{ over, bound float64 }{{3, 2}, {2, 2}} {
		m, labels := o.Document.Rows[i].Metrics, o.Document.Rows[i].Labels
		if m["max_load_over_rate"] != want.over || m["bound_max_load_over_rate"] != want.bound || m["gap"] != want.over/want.bound-1 {
			t.Errorf("%s: load over rate %g, bound %g, gap %g, want %+v", o.Document.Rows[i].Policy, m["max_load_over_rate"], m["bound_max_load_over_rate"], m["gap"], want)
		}
		if _, has := m["bound_max_link_load"]; has || !strings.HasSuffix(labels["gap_model"], "of load over rate") {
			t.Errorf("%s: a bound on loads that are not over rates: %v, %v", o.Document.Rows[i].Policy, m, labels)
		}
		if took := want.over * 1e6 * 8 / 100e9; m["completion_s"] < took*(1-1e-9) {
			t.Errorf("%s: %g s, below the %g s of its busiest link", o.Document.Rows[i].Policy, m["completion_s"], took)
		}
	}
}
