package slowdown

import (
	"bytes"
	"context"
	"flag"
	"fmt"
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

// wanted are the slices whose loads are stored: those of the paper's mix, and those that can be twisted.
func wanted(t *testing.T) []Slice {
	t.Helper()
	var list []Slice
	seen := map[Slice]bool{}
	add := func(s fleet.Shape) {
		for d := None; d < 3; d++ {
			x := Slice{s, d}.canonical()
			if _, ok := closed(x); !ok && !seen[x] {
				seen[x] = true
				list = append(list, x)
			}
		}
	}
	for _, s := range fleet.Mixes()["tpuv4-2022"] {
		if s.Shape.Cubes() > 0 && s.Shape.Chips() <= large {
			add(s.Shape)
		}
	}
	return list
}

// TestStored: what is stored is what the optimiser finds; every load is within 1 % of its bound, and at least what the
// links of the planes between cubes must carry whose cuts are through the middle.
func TestStored(t *testing.T) {
	var out bytes.Buffer
	fmt.Fprintln(&out, "slice,down,all_to_all,bound,neighbours")
	have, n := read(stored), 0
	for _, s := range wanted(t) {
		l, kept := have[s]
		if kept {
			n++
		}
		if !kept && !*update {
			t.Errorf("%v is not stored; go test -update", s)
			continue
		}
		if !kept || *long || s.Shape.Chips() <= 64 {
			found, err := find(context.Background(), s)
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
		fmt.Fprintf(&out, "%s,%d,%g,%g,%g\n", s.Shape, s.Down, l.AllToAll, l.Bound, l.Neighbours)
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
		h, err := torus.Health(faults(s))
		if err != nil {
			t.Fatal(err)
		}
		if least := max(cut(s), hops(torus, h)); l.Bound < least-1e-9 || l.Bound > least+1 {
			t.Errorf("%v: load %g, bound %g, at least %g by cuts and hops", s, l.AllToAll, l.Bound, least)
		}
	}
	if rows := strings.Count(string(stored), "\n") - 1; rows != n && !*update {
		t.Errorf("%d rows are stored, of which %d are read and wanted", rows, n)
	}
}
