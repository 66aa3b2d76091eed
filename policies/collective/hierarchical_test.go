package collective

import (
	"testing"

	"sim/engine"
)

// TestHierarchicalDefaults: without named inner and outer algorithms, "hierarchical" serves every
// call of more than two ranks in domains of one size, and Schedule.Check accepts the schedules.
func TestHierarchicalDefaults(t *testing.T) {
	hierarchical, err := ByName("hierarchical")
	if err != nil {
		t.Fatal(err)
	}
	n := &engine.Network{Nodes: 13}
	for g := range int32(12) {
		n.Links = append(n.Links, engine.Link{From: g, To: 12, Rate: 1e9}, engine.Link{From: 12, To: g, Rate: 1e9})
	}
	for _, kind := range []Kind{AllReduce, ReduceScatter, AllGather, AllToAll, Broadcast, Reduce} {
		for _, domain := range []int{1, 3, 4, 12} {
			p := &Problem{Call: Call{Kind: kind, Bytes: 1001, Root: 5}, Network: n}
			for g := range int32(12) {
				p.Group = append(p.Group, g)
			}
			s, err := hierarchical.Expand(t.Context(), p, Options{Hierarchical: Hierarchical{Domain: domain}})
			if err != nil {
				t.Errorf("%v in domains of %d: %v", kind, domain, err)
				continue
			}
			if err := s.Check(); err != nil {
				t.Errorf("%v in domains of %d: %v", kind, domain, err)
			}
		}
	}
}
