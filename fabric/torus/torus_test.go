package torus

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// patterns returns all 64 twist patterns in increasing order as binary numbers.
func patterns() []string {
	all := make([]string, 64)
	for i := range all {
		all[i] = fmt.Sprintf("%06b", i)
	}
	return all
}

func must(t testing.TB, twist string, dims ...int) *Torus {
	t.Helper()
	o, err := New(dims...)
	if err != nil {
		t.Fatal(err)
	}
	if twist != "" {
		if err := o.Twist(twist); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// TestTable3 is Table III of the twisted-tori paper: the average distances of single twists on 8
// x 4 x 4 over all ordered pairs, including each node with itself. It also contains the regular
// torus and the best double twist.
func TestTable3(t *testing.T) {
	for _, c := range []struct {
		twist   string
		average float64
	}{
		{"001000", 3.625}, {"100000", 3.9375}, {"000100", 3.875}, {"000000", 4}, {"001010", 3.4375},
	} {
		if d := must(t, c.twist, 8, 4, 4).Distances(); d.Average != c.average {
			t.Errorf("%s: %v, the paper has %v", c.twist, d.Average, c.average)
		}
	}
}

// TestBestOf4x4x12: the paper's optimum of Table II has the second-lowest distance.
func TestBestOf4x4x12(t *testing.T) {
	best := slices.MinFunc(patterns(), func(a, b string) int {
		return int(must(t, a, 4, 4, 12).Distances().Sum - must(t, b, 4, 4, 12).Distances().Sum)
	})
	d := must(t, best, 4, 4, 12).Distances()
	if got := fmt.Sprintf("%.4f", d.Average); best != "010111" || got != "3.9245" {
		t.Errorf("%s with %s", best, got)
	}
}

// TestTPUv4Form: the twisted forms equal their definition. For k x k x 2k the form is one of the
// 64 patterns.
func TestTPUv4Form(t *testing.T) {
	o := must(t, TPUv4, 4, 4, 8)
	if want := [][]int{{0, 0, 4}, {0, 0, 4}, {0, 0, 0}}; fmt.Sprint(o.Shift) != fmt.Sprint(want) {
		t.Errorf("4x4x8: %v, want %v", o.Shift, want)
	}
	if same := must(t, "010100", 4, 4, 8); fmt.Sprint(o.Shift) != fmt.Sprint(same.Shift) {
		t.Errorf("%v is not pattern 010100, %v", o.Shift, same.Shift)
	}
	o = must(t, TPUv4, 4, 8, 8)
	if want := [][]int{{0, 4, 4}, {0, 0, 0}, {0, 0, 0}}; fmt.Sprint(o.Shift) != fmt.Sprint(want) {
		t.Errorf("4x8x8: %v, want %v", o.Shift, want)
	}
}

// anyTorus draws a torus with any twist and any open dimensions.
func anyTorus(t *rapid.T, maxNodes int) *Torus {
	dims := rapid.SliceOfN(rapid.IntRange(1, maxNodes), 1, 4).Draw(t, "dims")
	o, err := New(dims...)
	if err != nil {
		t.Fatal(err)
	}
	shift := make([][]int, len(dims))
	for i := range dims {
		shift[i] = make([]int, len(dims))
		if rapid.Bool().Draw(t, "open") {
			if err := o.Mesh(i); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for j := range dims {
			if i != j && rapid.Bool().Draw(t, "twisted") {
				shift[i][j] = rapid.IntRange(-2*maxNodes, 2*maxNodes).Draw(t, "by")
			}
		}
	}
	if err := o.SetShift(shift); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestLinks: node numbers and coordinates are inverses, down reverses up, every node has its
// links, and reverse links are side by side.
func TestLinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := anyTorus(t, 5)
		degree := make([]int, o.Nodes())
		for n := range int32(o.Nodes()) {
			if o.Node(o.At(n)...) != n {
				t.Fatalf("node %d is at %v, which is node %d", n, o.At(n), o.Node(o.At(n)...))
			}
			for d := range o.Dims {
				for _, up := range []bool{true, false} {
					to, ok := o.Next(n, d, up)
					if back, _ := o.Next(to, d, !up); ok && back != n {
						t.Fatalf("%v: from %v along %s to %v, and back to %v", o, o.At(n), DimName(d), o.At(to), o.At(back))
					}
					if ok != (!o.Open[d] || !o.Wraps(n, d, up)) {
						t.Fatalf("%v: a link of %v along %s is %v", o, o.At(n), DimName(d), ok)
					}
				}
			}
		}
		links := o.Links()
		for k := 0; k < len(links); k += 2 {
			a, b := links[k], links[k+1]
			if a.From != b.To || a.To != b.From || a.Dim != b.Dim || !a.Up || b.Up || a.Wrap != b.Wrap {
				t.Fatalf("%+v and %+v are no pair", a, b)
			}
			degree[a.From]++
			degree[b.From]++
		}
		for n, got := range degree {
			want := 0
			for d := range o.Dims {
				for _, up := range []bool{true, false} {
					if !o.Open[d] || !o.Wraps(int32(n), d, up) {
						want++
					}
				}
			}
			if got != want {
				t.Fatalf("node %d has %d links, want %d", n, got, want)
			}
		}
	})
}

// TestDistances compares the sums with Floyd and Warshall's algorithm on the list of links. If
// Symmetric returns true, all nodes have the same distances.
func TestDistances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := anyTorus(t, 3)
		const far = 1 << 20
		n := o.Nodes()
		hops := make([][]int, n)
		for i := range hops {
			hops[i] = slices.Repeat([]int{far}, n)
			hops[i][i] = 0
		}
		for _, l := range o.Links() {
			hops[l.From][l.To] = min(hops[l.From][l.To], 1)
		}
		for k := range n {
			for i := range n {
				for j := range n {
					hops[i][j] = min(hops[i][j], hops[i][k]+hops[k][j])
				}
			}
		}
		sum, numPairs, first := int64(0), int64(0), []int(nil)
		identical := true
		for i := range n {
			for _, h := range hops[i] {
				if h == far {
					numPairs++
				} else {
					sum += int64(h)
				}
			}
			row := slices.Sorted(slices.Values(hops[i]))
			if first == nil {
				first = row
			}
			identical = identical && slices.Equal(row, first)
		}
		d, joined := o.Distances(), int64(0)
		for _, pairs := range d.Count {
			joined += pairs
		}
		if d.Sum != sum || joined != int64(n*n)-numPairs {
			t.Fatalf("%v shift %v open %v: sum %d and %d joined, want %d and %d", o, o.Shift, o.Open, d.Sum, joined, sum, int64(n*n)-numPairs)
		}
		if o.Symmetric() && !identical {
			t.Fatalf("%v shift %v is called symmetric", o, o.Shift)
		}
	})
}

func TestBadShapes(t *testing.T) {
	shape := func(twist string, open int, dims ...int) error {
		o, err := New(dims...)
		if err != nil {
			return err
		}
		if open >= 0 {
			if err := o.Mesh(open); err != nil {
				return err
			}
		}
		return o.Twist(twist)
	}
	for want, err := range map[string]error{
		"no dimension":                            shape("", -1),
		"size 0 of dimension y":                   shape("", -1, 4, 0, 4),
		"nodes at most 1048576":                   shape("", -1, 1024, 1024, 2),
		"is of three dimensions, not of 2":        shape("000000", -1, 4, 4),
		`twist "0010" is neither "tpuv4" nor six`: shape("0010", -1, 4, 4, 4),
		"not 4x4x4":                               shape(TPUv4, -1, 4, 4, 4),
		"not 4x6x8":                               shape(TPUv4, -1, 4, 6, 8),
		"dimension y is open":                     shape("001000", 1, 4, 4, 4),
		"no dimension d3 to open":                 shape("000000", 3, 4, 4, 4),
	} {
		if err == nil || !errors.Is(err, ErrShape) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	o := must(t, "", 4, 4, 4)
	if err := o.SetShift([][]int{{1, 0, 0}, nil, nil}); !errors.Is(err, ErrShape) {
		t.Errorf("shifted along itself: %v", err)
	}
}

func BenchmarkDistances(b *testing.B) {
	for _, c := range []struct {
		twist string
		dims  []int
	}{{"001010", []int{8, 8, 8}}, {"111111", []int{8, 8, 8}}} {
		b.Run(c.twist, func(b *testing.B) {
			o := must(b, c.twist, c.dims...)
			for b.Loop() {
				o.Distances()
			}
		})
	}
}
