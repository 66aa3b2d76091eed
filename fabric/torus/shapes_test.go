package torus

import (
	"fmt"
	"testing"
)

// TestShapesOfNodes compares the shapes of up to 600 nodes with all ascending triples of sizes.
func TestShapesOfNodes(t *testing.T) {
	want := map[int][][]int{}
	const maxNodes = 600
	for x := 2; x <= maxNodes; x++ {
		for y := x; x*y <= maxNodes; y++ {
			for z := y; x*y*z <= maxNodes; z++ {
				want[x*y*z] = append(want[x*y*z], []int{x, y, z})
			}
		}
	}
	for n := range maxNodes + 1 {
		if got := Shapes(n); fmt.Sprint(got) != fmt.Sprint(want[n]) {
			t.Errorf("%d nodes: %v, want %v", n, got, want[n])
		}
	}
}

// TestTwistPatterns: the patterns are the 64 different texts of six bits, and a torus accepts each.
func TestTwistPatterns(t *testing.T) {
	seen := map[string]bool{}
	for _, pattern := range TwistPatterns() {
		torus, err := New(4, 4, 8)
		if err == nil {
			err = torus.Twist(pattern)
		}
		if err != nil || seen[pattern] || len(pattern) != 6 {
			t.Errorf("pattern %s: %v", pattern, err)
		}
		seen[pattern] = true
	}
	if len(seen) != 64 {
		t.Errorf("%d patterns, want 64", len(seen))
	}
}
