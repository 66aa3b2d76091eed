package graph

import (
	"fmt"
	"hash/fnv"
	"testing"
)

// TestStoredShapes: shapes of every generator over a grid of its options are as stored, or that it refuses them, by the
// digest of each. Endpoints that are asked for are those that a shape has, or one more.
func TestStoredShapes(t *testing.T) {
	for _, c := range []struct {
		name string
		of   func(a, b, c, d int) Generator
		want uint64
	}{
		{"dragonfly", func(a, b, c, d int) Generator { return Dragonfly{a, b, c, d} }, 0x20704a0631871bdc},
		{"dual-plane", func(a, b, c, d int) Generator { return DualPlane{a, b, c, d} }, 0x61cf501404d835da},
		{"fat-tree", func(a, b, c, d int) Generator { return FatTree{a * 2 / b, 1 + c, d} }, 0x59c8861fc5f0b76e},
		{"full-mesh", func(a, b, c, d int) Generator { return FullMesh{} }, 0x867c8b913e977e65},
		{"rail-optimised", func(a, b, c, d int) Generator { return RailTopology{a, b, c, d} }, 0x9dff08467e4cb925},
		{"ring", func(a, b, c, d int) Generator { return Ring{} }, 0x852558827ec5fb65},
	} {
		digest := fnv.New64a()
		for k := range 4 * 4 * 3 * 4 {
			a, b, x, d := 1+k%4, 1+k/4%4, k/16%3, k/48%4
			g := c.of(a, b, x, d)
			if c.name != "dragonfly" {
				d++
				g = c.of(a, b, x, d)
			}
			endpoints := 0
			if c.name == "full-mesh" || c.name == "ring" {
				endpoints = k % 12
			}
			s, err := g.Shape(endpoints)
			if err != nil {
				fmt.Fprintln(digest, "refused")
				continue
			}
			fmt.Fprintln(digest, *s)
			if again, err := g.Shape(s.Endpoints); err != nil || fmt.Sprint(again) != fmt.Sprint(s) {
				t.Errorf("%s of %d endpoints, which it has: %v", c.name, s.Endpoints, err)
			}
			if _, err := g.Shape(s.Endpoints + 1); err == nil && endpoints == 0 {
				t.Errorf("%+v has %d endpoints, and one more is not refused", g, s.Endpoints)
			}
		}
		if got := digest.Sum64(); got != c.want {
			t.Errorf("%s: digest %#x, want %#x", c.name, got, c.want)
		}
	}
}
