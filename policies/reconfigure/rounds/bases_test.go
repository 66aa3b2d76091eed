package rounds

import (
	"slices"
	"testing"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
)

// The listing contains each path with the given hops once, uses no link twice in a step of
// a round, and connects all pairs.
func TestListKautzPaths(t *testing.T) {
	sizes := [][2]int{{100, 9}} // more than 64 rounds
	for n := 3; n <= 20; n++ {
		for k := 2; k < min(n, 5); k++ {
			sizes = append(sizes, [2]int{n, k})
		}
	}
	for _, size := range sizes {
		n, k := size[0], size[1]
		rounds, err := GenKautzRounds(n, k)
		if err != nil {
			t.Fatal(err)
		}
		listed, joined := map[string]int{}, map[[2]int32]bool{}
		maxHops := 0
		for i, r := range rounds {
			used := map[[3]int32]bool{}
			for _, p := range r.Paths {
				if len(p) != r.Hops+1 {
					t.Fatalf("n=%d k=%d: %v in a round of %d hops", n, k, p, r.Hops)
				}
				listed[pathText(p)]++
				joined[[2]int32{p[0], p[r.Hops]}] = true
				for step := range r.Hops {
					link := [3]int32{int32(step), p[step], p[step+1]}
					if used[link] {
						t.Fatalf("n=%d k=%d round %d: link %v twice in a step", n, k, i, link)
					}
					used[link] = true
				}
			}
			maxHops = r.Hops
		}
		want, layer := 0, n
		for range maxHops {
			layer *= k
			want += layer
		}
		if len(listed) != want {
			t.Errorf("n=%d k=%d: %d paths, want %d", n, k, len(listed), want)
		}
		for u := range int32(n) {
			for v := range int32(n) {
				if u != v && !joined[[2]int32{u, v}] {
					t.Errorf("n=%d k=%d: %d does not reach %d", n, k, u, v)
				}
			}
		}
	}
}

// The circulant base exists and is connected for all n and k, and is the paper's at k = 2.
func TestBaseOffsets(t *testing.T) {
	for n := 2; n <= 80; n++ {
		for k := 1; k < n; k++ {
			o := BaseOffsets(n, k)
			if o[0] < 1 || o[k-1] >= n || len(o) != k {
				t.Fatalf("n=%d k=%d: %v", n, k, o)
			}
			at := newRoundPacker(n, toInt32(o), nil, nil)
			if slices.Contains(at.hopsTo(0), plan.Far) {
				t.Fatalf("n=%d k=%d: %v is not connected", n, k, o)
			}
			if m := o[0]; k == 2 && (2*m*m+2*m+1 < n || m > 1 && 2*m*(m-1)+1 >= n) {
				t.Fatalf("n=%d: %v", n, o)
			}
		}
	}
	if err := scaleup.Circulant(9, BaseOffsets(9, 3)...).Check(9, 3); err != nil {
		t.Error(err)
	}
}

// toInt32 converts offsets.
func toInt32(o []int) []int32 {
	var s []int32
	for _, x := range o {
		s = append(s, int32(x))
	}
	return s
}

// A shortest path of each flow is selected from the listing, and the selection depends on
// the seed.
func TestKautzBase(t *testing.T) {
	differ := false
	for n := 5; n <= 24; n++ {
		s, other := kautzBase(n, 3, 1, nil), kautzBase(n, 3, 2, nil)
		p := newRoundPacker(n, nil, s.edges[0], nil)
		for u := range s.src {
			if int(s.hops[u]) != int(p.hopsTo(s.dst[u])[s.src[u]]) {
				t.Fatalf("n=%d: %d->%d takes %d hops", n, s.src[u], s.dst[u], s.hops[u])
			}
			differ = differ || !slices.Equal(s.path(u), other.path(u))
		}
	}
	if !differ {
		t.Error("the seed has no effect")
	}
}
