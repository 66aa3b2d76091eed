package scenarios

import (
	"math"
	"strings"
	"testing"

	"sim/scenarios/assembly/paths"
)

// incast is a matrix of 64 nodes of which all send to node 0, over six links.
func incast() string {
	row := "[1000" + strings.Repeat(", 0", 63) + "],\n"
	first := strings.Replace(row, "1000", "0", 1)
	text := strings.Replace(smallTorus, `kind = "all-to-all"`+"\nmessage = \"8KB\"", "kind = \"matrix\"\nmatrix = [\n"+first+strings.Repeat(row, 63)+"]", 1)
	return strings.Replace(text, `["dor"]`, `["dor", "route-optimised", "multipath", "shortest"]`, 1) + "\n[engine]\nlevel = \"static\"\n"
}

// TestBestBound: the best bound that some row proves serves all rows that it holds for: those that split what pairs
// send, of as much as it proves without one route a pair.
func TestSharedBound(t *testing.T) {
	rows := runText(t, incast()).Document.Rows
	for _, r := range rows {
		m := r.Metrics
		want := 11.0 // ceil(63/6)
		if r.Policy == "multipath" {
			want = 63.0 / 6
		}
		if math.Abs(m["bound_max_link_load"]-want) > 1e-9 || math.Abs(m["gap"]-(m["max_link_load"]/want-1)) > 1e-9 || r.Labels["gap_model"] == paths.AllLinks {
			t.Errorf("%s: load %g, bound %g, gap %g (%s)", r.Policy, m["max_link_load"], m["bound_max_link_load"], m["gap"], r.Labels["gap_model"])
		}
	}
	alone := runText(t, incast(), `policy.routers=["dor"]`).Document.Rows[0].Metrics
	if alone["bound_max_link_load"] != 0.5 {
		t.Errorf("dor alone proves %g", alone["bound_max_link_load"])
	}
}

// TestBoundBeforeFault: what fails in mid-run is there for the routes that the loads are of, and for what bounds them.
func TestBoundBeforeFault(t *testing.T) {
	down := `fabric.failed_links=["0 x+", "1 x+", "2 x+", "3 x+", "5 y+", "6 y+", "20 z+", "40 x+"]`
	r := runText(t, smallTorus, down, "fabric.fail_at=1us", "engine.level=packet", `policy.routers=["route-optimised"]`).Document.Rows[0]
	if m := r.Metrics; m["gap"] < 0 || m["bound_max_link_load"] > m["max_link_load"] {
		t.Errorf("load %g, bound %g (%s)", m["max_link_load"], m["bound_max_link_load"], r.Labels["gap_model"])
	}
}
