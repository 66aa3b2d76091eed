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
	long   = flag.Bool("long", false, "compute all stored loads again, which takes minutes")
	update = flag.Bool("update", false, "store the missing loads")
)

// storedSlices returns the slices whose loads are stored: the small slices of the
// paper's mix, unless their loads have a closed form.
func storedSlices(t *testing.T) []Slice {
	t.Helper()
	var list []Slice
	listed := map[Slice]bool{}
	add := func(s fleet.Shape) {
		for d := NoFailure; d < 3; d++ {
			x := Slice{s, d}.canonical()
			if _, ok := closedForm(x); !ok && !listed[x] {
				listed[x] = true
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

// TestStoredLoads compares the stored loads with the result of the optimiser.
// Every load must be within 1 % of its lower bound. The bound must be at least the
// bounds by cuts and by hops.
func TestStoredLoads(t *testing.T) {
	var out bytes.Buffer
	fmt.Fprintln(&out, "slice,down,all_to_all,bound,neighbours")
	stored, n := parseLoads(storedCSV), 0
	for _, s := range storedSlices(t) {
		l, isStored := stored[s]
		if isStored {
			n++
		}
		if !isStored && !*update {
			t.Errorf("%v is not stored; go test -update", s)
			continue
		}
		if !isStored || *long || s.Shape.Chips() <= 64 {
			found, err := computeLoads(context.Background(), s)
			if err != nil {
				t.Fatal(err)
			}
			if isStored && found != l {
				t.Errorf("%v: stored loads %v, computed %v", s, l, found)
			}
			l = found
			t.Logf("%v: %v", s, l)
		}
		if l.AllToAll > 1.01*l.Bound || l.AllToAll < l.Bound {
			t.Errorf("%v: load %g, want within 1 %% above the bound of %g", s, l.AllToAll, l.Bound)
		}
		fmt.Fprintf(&out, "%s,%d,%g,%g,%g\n", s.Shape, s.FailedDim, l.AllToAll, l.Bound,
			l.Neighbours)
		if *update {
			if err := os.WriteFile("loads.csv", out.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}

	for s, l := range stored {
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
		minLoad := max(cutBound(s), hopBound(torus, h))
		if l.Bound < minLoad-1e-9 || l.Bound > minLoad+1 {
			t.Errorf("%v: load %g, bound %g, want at least %g by cuts and hops",
				s, l.AllToAll, l.Bound, minLoad)
		}
	}

	if rows := strings.Count(string(storedCSV), "\n") - 1; rows != n && !*update {
		t.Errorf("%d rows are stored, %d of them are valid and needed", rows, n)
	}
}

// TestTwistedBound compares the load of large twisted slices with the mean over
// links of shortest paths, computed on coordinates. A wrap-around link of a short
// dimension moves by half of every long dimension.
func TestTwistedBound(t *testing.T) {
	for _, dims := range [][3]int{{8, 8, 16}, {8, 16, 16}} {
		distance := map[[3]int]int{{}: 0}
		sum := 0
		for list := [][3]int{{}}; len(list) > 0; list = list[1:] {
			node := list[0]
			sum += distance[node]
			for d := range dims {
				for _, step := range []int{-1, 1} {
					to := node
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
					if _, isVisited := distance[to]; !isVisited {
						distance[to] = distance[node] + 1
						list = append(list, to)
					}
				}
			}
		}
		got, err := computeLoads(context.Background(),
			Slice{fleet.Shape{Dims: dims, Twisted: true}, NoFailure})
		want := float64(sum) / 6
		if err != nil || len(distance) != dims[0]*dims[1]*dims[2] ||
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
