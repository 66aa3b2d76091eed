package pack

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/scaleup"
)

// uniform returns a matrix with c chunks per pair.
func uniform(n int, c int32) []int32 {
	m := make([]int32, n*n)
	for i := range m {
		if i/n != i%n {
			m[i] = c
		}
	}
	return m
}

// drawTopology draws the union of k random permutations. It may have loops and parallel
// edges.
func drawTopology(t *rapid.T, n, k int) scaleup.Topology {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "topology"), 1))
	var e scaleup.Topology
	for range k {
		for u, v := range r.Perm(n) {
			e = append(e, scaleup.Edge{From: int32(u), To: int32(v)})
		}
	}
	return e
}

// Distances are compared with the algorithm of Floyd and Warshall. Paths connect their ends
// with as many hops, and without balancing equal the paths of Append.
func TestShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(t, "n")
		k := rapid.IntRange(1, 3).Draw(t, "k")
		top := drawTopology(t, n, k)
		// The algorithm of Floyd and Warshall as an independent reference.
		const far = 1 << 20
		d := make([]int, n*n)
		for i := range d {
			if d[i] = far; i/n == i%n {
				d[i] = 0
			}
		}
		for _, e := range top {
			if e.From != e.To {
				d[int(e.From)*n+int(e.To)] = 1
			}
		}
		for m := range n {
			for i := range d {
				d[i] = min(d[i], d[i/n*n+m]+d[m*n+i%n])
			}
		}
		s := Shortest(top, n, nil)
		chunks := make([]int32, n*n)
		reachable := true
		for i := range d {
			want := d[i]
			if want == far {
				want = -1
			}
			if got := s.Hops(i/n, i%n); got != want {
				t.Fatalf("%v: %d -> %d: %d hops, want %d", top, i/n, i%n, got, want)
			}
			if i/n != i%n {
				chunks[i] = rapid.Int32Range(0, 3).Draw(t, "chunks")
				reachable = reachable && (chunks[i] == 0 || want >= 0)
			}
		}
		for _, balanced := range []bool{false, true} {
			w, err := s.Paths(chunks, balanced)
			if (err == nil) != reachable {
				t.Fatalf("balanced %v: %v", balanced, err)
			}
			if err != nil {
				if !errors.Is(err, ErrUnreachable) {
					t.Fatal(err)
				}
				continue
			}
			i := 0
			for f, c := range chunks {
				for range c {
					path := w.Link[w.Start[i]:w.Start[i+1]]
					gpu := int32(f / n)
					for _, e := range path {
						if top[e].From != gpu {
							t.Fatalf("path %d, %v: edge %d does not leave GPU %d", i, path, e, gpu)
						}
						gpu = top[e].To
					}
					if gpu != int32(f%n) || len(path) != d[f] {
						t.Fatalf("path %d of flow %d: %v has the wrong end or length", i, f, path)
					}
					if !balanced && !slices.Equal(path, s.Append(nil, f/n, f%n)) {
						t.Fatalf("path %d of flow %d: %v is not the path of Append", i, f, path)
					}
					i++
				}
			}
			if i != w.Len() {
				t.Fatalf("%d paths, want %d", w.Len(), i)
			}
		}
	})
}

// On three random permutations, many pairs have several shortest paths. Balancing must
// reduce the largest load by at least a quarter of its excess over the mean.
func TestBalancedLoadsAreNearTheirMean(t *testing.T) {
	const n, k = 64, 3
	r := rand.New(rand.NewPCG(1, 2))
	var top scaleup.Topology
	for range k {
		for u, v := range r.Perm(n) {
			top = append(top, scaleup.Edge{From: int32(u), To: int32(v)})
		}
	}
	s := Shortest(top, n, nil)
	first, err := s.Paths(uniform(n, 4), false)
	if err != nil {
		t.Fatal(err)
	}
	even, err := s.Paths(uniform(n, 4), true)
	if err != nil {
		t.Fatal(err)
	}
	a, b, mean := first.Bound(n*k), even.Bound(n*k), len(first.Link)/(n*k)
	t.Logf("largest load %d of the first paths, %d balanced, mean %d", a, b, mean)
	if 4*(b-mean) > 3*(a-mean) {
		t.Errorf("balancing leaves %d of %d above the mean", b-mean, a-mean)
	}
}
