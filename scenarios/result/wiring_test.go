package result

import (
	"slices"
	"testing"
)

// TestWiring: rows for each replica if only neighbours are joined, an ellipse for few
// pods, else a matrix.
func TestWiring(t *testing.T) {
	pods := func(n, replicas int) (out []PodPorts) {
		for r := range replicas {
			for range n {
				out = append(out, PodPorts{Replica: r})
			}
		}
		return out
	}
	for _, c := range []struct {
		topology      Topology
		form          int
		columns, rows int
	}{
		{Topology{Pods: pods(4, 2), Pairs: []Pair{{A: 0, B: 1}, {A: 1, B: 5}, {A: 2, B: 2, DP: true}}}, RowForm, 4, 2},
		{Topology{Pods: pods(4, 2), Pairs: []Pair{{A: 0, B: 2}}}, RingForm, 4, 2},
		{Topology{Pods: pods(16, 1)}, RowForm, 16, 1},
		{Topology{Pods: pods(8, 1), Pairs: []Pair{{A: 0, B: 2}}}, RingForm, 8, 1},
		{Topology{Pods: pods(8, 1), Pairs: slices.Repeat([]Pair{{A: 0, B: 2}}, 16)}, MatrixForm, 8, 1},
		{Topology{Pods: pods(9, 1), Pairs: []Pair{{A: 0, B: 2}}}, MatrixForm, 9, 1},
		{Topology{Pods: pods(17, 1)}, MatrixForm, 17, 1},
	} {
		if w := c.topology.Wiring(); w.Form != c.form || w.Columns != c.columns || w.Rows != c.rows {
			t.Errorf("%d pods, %v: %+v, want form %d", len(c.topology.Pods), c.topology.Pairs, w, c.form)
		}
	}
}
