package collective

import (
	"fmt"
	"sim/internal/numbers"
	"testing"

	"sim/engine"
	"sim/fabric/torus"
)

// BenchmarkExpand expands an all-reduce of 64 MB on tori.
func BenchmarkExpand(b *testing.B) {
	for _, dims := range [][]int{{4, 4, 8}, {8, 8, 8}} {
		o, err := torus.New(dims...)
		if err != nil {
			b.Fatal(err)
		}
		p := &Problem{Network: o.Network(nil, engine.Link{Rate: 400e9}), Torus: o}
		p.Group, p.Bytes = numbers.Below(int32(o.Nodes())), 64e6
		for _, r := range Table {
			b.Run(fmt.Sprintf("%s/%s", o, r.Name), func(b *testing.B) {
				for b.Loop() {
					if _, err := r.Expand(b.Context(), p, Options{Hierarchical: Hierarchical{Domain: 8, Inner: "ring", Outer: "ring"}}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
