package scenarios

import (
	"math"
	"strings"
	"testing"

	"sim/scenarios/assembly/paths"
)

// incast is a scenario on a 4x4x4 torus in which all nodes send to node 0, over its six links.
func incast() string {
	row := "[1000" + strings.Repeat(", 0", 63) + "],\n"
	first := strings.Replace(row, "1000", "0", 1)
	text := strings.Replace(smallTorus, `kind = "all-to-all"`+"\nmessage = \"8KB\"",
		"kind = \"matrix\"\nmatrix = [\n"+first+strings.Repeat(row, 63)+"]", 1)
	text = strings.Replace(text, `["dor"]`, `["dor", "route-optimised", "multipath", "shortest"]`, 1)
	return strings.Replace(text, `level = "packet"`, `level = "static"`, 1)
}

// TestSharedBound checks that the best bound that one router proves applies to all rows for
// which it is valid. A bound on splittable flows applies to all rows. A bound on one path per
// pair applies to all routers except multipath, which splits flows.
func TestSharedBound(t *testing.T) {
	rows := runText(t, incast()).Document.Rows
	for _, r := range rows {
		m := r.Metrics
		want := 11.0 // ceil(63/6), with one path per pair
		if r.Policy == "multipath" {
			want = 63.0 / 6
		}
		if math.Abs(m["bound_max_link_load"]-want) > 1e-9 ||
			math.Abs(m["gap"]-(m["max_link_load"]/want-1)) > 1e-9 ||
			r.Labels["gap_model"] == paths.AllLinks {
			t.Errorf("%s: got load %g, bound %g, gap %g (%s), want the bound of the incast and "+
				"its gap",
				r.Policy, m["max_link_load"], m["bound_max_link_load"], m["gap"],
				r.Labels["gap_model"])
		}
	}
	alone := runMetrics(t, incast(), `policy.routers=["dor"]`)
	if alone["bound_max_link_load"] != 0.5 {
		t.Errorf("a run of dor alone: got bound %g, want 0.5", alone["bound_max_link_load"])
	}
}

// TestBoundBeforeFault checks the bound of link loads if links fail during the run. Loads and
// bounds refer to the network before the fault.
func TestBoundBeforeFault(t *testing.T) {
	down := `fabric.failed_links=["0 x+", "1 x+", "2 x+", "3 x+", "5 y+", "6 y+", "20 z+", "40 x+"]`
	r := runText(t, smallTorus, down, "fabric.failure_time=1us", "engine.level=packet",
		`policy.routers=["route-optimised"]`).Document.Rows[0]
	if m := r.Metrics; m["gap"] < 0 || m["bound_max_link_load"] > m["max_link_load"] {
		t.Errorf("got load %g and bound %g (%s), want a bound of at most the load",
			m["max_link_load"], m["bound_max_link_load"], r.Labels["gap_model"])
	}
}
