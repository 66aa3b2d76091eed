package slowdown

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"sim/fabric/torus"
	"sim/workloads/fleet"
)

var (
	long   = flag.Bool("long", false, "find all loads that are stored, which takes minutes")
	update = flag.Bool("update", false, "store those that are not")
)

// storedSlices are the slices whose loads are stored: those of the paper's mix, and
// those that can be twisted.
func storedSlices(t *testing.T) []Slice {
	t.Helper()
	var list []Slice
	seen := map[Slice]bool{}
	add := func(s fleet.Shape) {
		for d := NoFailure; d < 3; d++ {
			x := Slice{s, d}.canonical()
			if _, ok := closedForm(x); !ok && !seen[x] {
				seen[x] = true
				list = append(list, x)
			}
		}
	}

	for _, s := range fleet.Mixes()["tpuv4-2022"] {
		if s.Shape.Cubes() > 0 && s.Shape.Chips() <= maxOptimisedChips {
			add(s.Shape)
		}
	}

	return list
}

// TestStored: what is stored is what the optimiser finds; every load is within 1 %
// of its bound, and at least what the links of the planes between cubes must carry
// whose cuts are through the middle.
func TestStoredLoads(t *testing.T) {
	var out bytes.Buffer
	fmt.Fprintln(&out, "slice,down,all_to_all,bound,neighbours")
	have, n := parseLoads(storedCSV), 0
	for _, s := range storedSlices(t) {
		l, kept := have[s]
		if kept {
			n++
		}
		if !kept && !*update {
			t.Errorf("%v is not stored; go test -update", s)
			continue
		}
		if !kept || *long || s.Shape.Chips() <= 64 {
			found, err := computeLoads(context.Background(), s)
			if err != nil {
				t.Fatal(err)
			}
			if kept && found != l {
				t.Errorf("%v: %v is stored, %v found", s, l, found)
			}
			l = found
			t.Logf("%v: %v", s, l)
		}
		if l.AllToAll > 1.01*l.Bound || l.AllToAll < l.Bound {
			t.Errorf("%v: load %g, bound %g", s, l.AllToAll, l.Bound)
		}
		fmt.Fprintf(&out, "%s,%d,%g,%g,%g\n", s.Shape, s.FailedDim, l.AllToAll, l.Bound,
			l.Neighbours)
		if *update {
			if err := os.WriteFile("loads.csv", out.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}

	for s, l := range have {
		torus, err := torus.New(s.Shape.Dims[:]...)
		if err == nil && s.Shape.Twisted {
			err = torus.Twist("tpuv4")
		}
		if err != nil {
			t.Fatal(err)
		}
		h, err := torus.Health(sliceFaults(s))
		if err != nil {
			t.Fatal(err)
		}
		if least := max(cutBound(s), hopBound(torus, h)); l.Bound < least-1e-9 ||
			l.Bound > least+1 {
			t.Errorf("%v: load %g, bound %g, at least %g by cuts and hops", s,
				l.AllToAll, l.Bound, least)
		}
	}

	if rows := strings.Count(string(storedCSV), "\n") - 1; rows != n && !*update {
		t.Errorf("%d rows are stored, of which %d are read and wanted", rows, n)
	}
}

// TestTwistedBound: the load of large twisted slices is the mean over links of
// shortest paths, found here on coordinates: a wrap-around link of a short
// dimension lands half-way along every long one.
func TestTwistedBound(t *testing.T) {
	for _, dims := range [][3]int{{8, 8, 16}, {8, 16, 16}} {
		far := map[[3]int]int{{}: 0}
		sum := 0
		for list := [][3]int{{}}; len(list) > 0; list = list[1:] {
			at := list[0]
			sum += far[at]
			for d := range dims {
				for _, step := range []int{-1, 1} {
					to := at
					to[d] += step
					if wraps := to[d] < 0 || to[d] == dims[d]; wraps && dims[d] == dims[0] {
						for e := range dims {
							if dims[e] > dims[0] {
								to[e] += dims[0]
							}
						}
					}
					for e := range dims {
						to[e] = (to[e] + dims[e]) % dims[e]
					}
					if _, seen := far[to]; !seen {
						far[to] = far[at] + 1
						list = append(list, to)
					}
				}
			}
		}
		got, err := computeLoads(context.Background(),
			Slice{fleet.Shape{Dims: dims, Twisted: true}, NoFailure})
		want := float64(sum) / 6
		if err != nil || len(far) != dims[0]*dims[1]*dims[2] ||
			got != (Loads{math.Ceil(want), want, 1}) {
			t.Errorf("%v: loads %v, %v; want a bound of %g", dims, got, err, want)
		}
		regular, err := computeLoads(context.Background(),
			Slice{fleet.Shape{Dims: dims}, NoFailure})
		if err != nil || regular.AllToAll <= got.AllToAll {
			t.Errorf("%v: %v regular, %v; want more than the %v of a twisted one", dims,
				regular,
				err, got)
		}
	}
}
