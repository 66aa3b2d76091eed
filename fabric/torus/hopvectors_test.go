package torus

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestFig9 is Fig. 9 of Zu et al.: a 3 x 6 torus whose x wrap-around links are shifted by three
// along y. Two minimal vectors lead to (2, 1) and four to (0, 3).
func TestFig9(t *testing.T) {
	o := must(t, "", 3, 6)
	if err := o.SetShift([][]int{{0, 3}, nil}); err != nil {
		t.Fatal(err)
	}
	all, err := o.Vectors()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		x, y int
		want string
	}{{2, 1, "[[-1 -2] [2 1]]"}, {0, 3, "[[-3 0] [0 -3] [0 3] [3 0]]"}} {
		if got := fmt.Sprint(all[o.Node(c.x, c.y)]); got != c.want {
			t.Errorf("(%d, %d): %s, want %s", c.x, c.y, got, c.want)
		}
	}
}

// TestVectors: followed hop by hop from any node, in any order of dimensions, a vector leads to
// its destination and is as long as the distance. Every destination has a vector.
func TestVectors(t *testing.T) {
	for _, c := range []struct {
		twist string
		dims  []int
		shift [][]int
	}{
		{"000000", []int{4, 3, 2}, nil}, {"001010", []int{4, 2, 2}, nil}, {TPUv4, []int{2, 2, 4}, nil}, {TPUv4, []int{2, 4, 4}, nil},
		{"001000", []int{1, 3, 4}, nil}, {"", []int{3, 5, 7}, [][]int{{0, 1, 3}, nil, nil}}, {"", []int{4, 3, 5}, [][]int{nil, {0, 0, 2}, nil}},
	} {
		o := must(t, c.twist, c.dims...)
		if c.shift != nil {
			if err := o.SetShift(c.shift); err != nil {
				t.Fatal(err)
			}
		}
		all, err := o.Vectors()
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for n, vectors := range all {
			if len(vectors) == 0 {
				t.Fatalf("%s %s: no vector leads to %d", o, c.twist, n)
			}
			sum += int64(l1Norm(vectors[0]))
		}
		if want := o.Distances().Sum; sum*int64(o.Nodes()) != want {
			t.Errorf("%s %s: vectors make a sum of %d, want %d", o, c.twist, sum*int64(o.Nodes()), want)
		}
		rapid.Check(t, func(t *rapid.T) {
			dst := rapid.IntRange(0, o.Nodes()-1).Draw(t, "dst")
			v := rapid.SampledFrom(all[dst]).Draw(t, "vector")
			order := rapid.Permutation([]int{0, 1, 2}).Draw(t, "order")
			src := int32(rapid.IntRange(0, o.Nodes()-1).Draw(t, "src"))
			node, back := src, int32(dst)
			for _, d := range order {
				for range max(v[d], -v[d]) {
					node, _ = o.Next(node, d, v[d] > 0)
				}
			}
			// the sum with src is the same as the path from src
			far := make([]int, 3)
			for d := range far {
				far[d] = v[d] + o.Coord(src, d)
			}
			if node != o.VectorEnd(far) || o.VectorEnd(v) != back {
				t.Fatalf("%s %s: %v from %v ends at %v, not at %v", o, c.twist, v, o.At(src), o.At(node), o.At(o.VectorEnd(far)))
			}
		})
	}
	if _, err := must(t, "111111", 4, 4, 4).Vectors(); err == nil {
		t.Error("mutual twists have hop vectors")
	}
}
