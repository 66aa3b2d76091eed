package study

import (
	"context"
	"maps"
	"testing"

	"sim/scenarios"
)

// TestCellsShareBounds: each variant of a sweep has the bounds of a run of the same
// scenario; the store keeps only the bounds that a cell proves itself.
func TestCellsShareBounds(t *testing.T) {
	const text = `
[workload]
kind = "hotspot"
message = "8KB"
hot_nodes = 1
[fabric]
kind = "torus"
dims = [4, 4]
[policy]
routers = ["dor", "route-optimised", "multipath"]
[engine]
level = "static"
[sweep]
"workload.hot_share" = [0.2, 1.0]
`
	st, err := scenarios.ParseStudy("s.toml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := NewPlan(context.Background(), st)
	if err != nil {
		t.Fatal(err)
	}
	store := &Store{records: map[string]*Record{}, failures: map[string]string{}}
	all := make([]int, len(plan.Sweep.Cells))
	for i := range all {
		all[i] = i
	}
	if err := LocalRunner(2)(context.Background(), plan, all, func(_ int, r *Record) error {
		store.records[r.Key] = r
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	doc, _ := plan.Fill(store)
	moved := 0
	for v := range st.Variants() {
		s, err := st.Variant(v)
		if err != nil {
			t.Fatal(err)
		}
		o, err := scenarios.Run(context.Background(), s, scenarios.RunOptions{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		for k, row := range o.Document.Rows {
			cell := doc.Cells[v*len(o.Document.Rows)+k]
			if !maps.Equal(cell.Metrics, row.Metrics) || !maps.Equal(cell.Labels, row.Labels) {
				t.Errorf("variant %d, %s: cell %v %v, run %v %v", v, row.Policy, cell.Metrics, cell.Labels, row.Metrics, row.Labels)
			}
			if store.records[cell.Key].Metrics["gap"] != cell.Metrics["gap"] {
				moved++
			}
		}
	}
	if moved == 0 {
		t.Error("no cell took a bound of another")
	}
}
