package routing

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"sim/engine"
	"sim/fabric/torus"
)

// TestOptimisedCache verifies that a cached choice equals the original, that damaged files are
// replaced, and that another problem or option has another file.
func TestOptimisedCache(t *testing.T) {
	dir := t.TempDir()
	files := func() []string {
		all, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	o := OptimisedRouter{Cache: dir, Budget: 10_000, Rounds: 1}
	fault := func(node int32) *Problem {
		return torusProblem(t, torus.Faults{Links: []torus.Hop{{Node: node, Dim: 1, Up: true}}}, "", 4, 4)
	}
	d, _ := route(t, o, fault(0), Options{Seed: 1})
	if len(files()) != 1 {
		t.Fatalf("%v", files())
	}
	same := func(e *Decision) {
		t.Helper()
		if !reflect.DeepEqual(d, e) {
			t.Error("another decision")
		}
	}
	path := files()[0]
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := route(t, o, fault(0), Options{Seed: 1})
	same(again)
	route(t, o, fault(8), Options{Seed: 1}) // translated from the same entry
	if len(files()) != 1 {
		t.Errorf("%d entries for two faults of a dimension", len(files()))
	}
	all := [][]byte{nil, whole[:len(whole)/2]}
	for k := 1; k < 8; k += 3 { // one bit of the paths
		bit := slices.Clone(whole)
		bit[k*len(bit)/8] ^= 1
		all = append(all, bit)
	}
	for _, broken := range all {
		if err := os.WriteFile(path, broken, 0o644); err != nil {
			t.Fatal(err)
		}
		again, _ := route(t, o, fault(0), Options{Seed: 1})
		same(again)
		if mended, err := os.ReadFile(path); err != nil || len(mended) != len(whole) {
			t.Errorf("the entry is not mended: %v", err)
		}
	}
	route(t, o, fault(0), Options{Seed: 2})
	o.NeighbourCap = -1
	route(t, o, fault(0), Options{Seed: 1})
	o.NeighbourCap = 0
	p := fault(0)
	p.Demand = make([]float64, len(p.Flows))
	for i := range p.Demand {
		p.Demand[i] = 1 + float64(i%3)
	}
	w, _ := route(t, o, p, Options{Seed: 1})
	if len(files()) != 4 {
		t.Errorf("%d entries, want 4", len(files()))
	}
	v, _ := route(t, o, p, Options{Seed: 1})
	if !reflect.DeepEqual(w, v) {
		t.Error("another decision for weighed flows")
	}
	q := &Problem{Network: &engine.Network{Nodes: 3, Links: []engine.Link{{From: 0, To: 1, Rate: 1}, {From: 1, To: 2, Rate: 1}}}, Flows: []engine.Flow{{Src: 0, Dst: 1}, {Src: 0, Dst: 2}}}
	a, _ := route(t, o, q, Options{})
	b, _ := route(t, o, q, Options{})
	if !reflect.DeepEqual(a, b) {
		t.Error("another decision on a graph")
	}
	o.Cache = filepath.Join(path, "no")
	if _, err := o.Route(t.Context(), q, Options{}); err == nil {
		t.Error("a cache that cannot be written")
	}
}
