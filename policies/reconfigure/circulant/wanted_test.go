package circulant

import (
	"fmt"
	"testing"

	"sim/policies/reconfigure/plan"
)

// Plans of small numbers of topologies do not depend on whether larger numbers are wanted.
func TestWanted(t *testing.T) {
	for _, c := range []struct{ n, k, maxTopologies int }{{34, 1, 7}, {23, 2, 5}, {33, 2, 6}} {
		if c.n == 33 && !*long { // the slowest case
			continue
		}
		p := plan.UniformProblem(c.n, c.k, 1)
		text := func(o Options, maxTopologies int) (list []string) {
			all, err := Candidates(p, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range all {
				if x.Reconfigurations <= maxTopologies {
					built, err := x.Build(0, nil)
					if err != nil {
						t.Fatal(err)
					}
					list = append(list, fmt.Sprint(x.Origin, x.Reconfigurations, x.Slots, x.Proved, built.Topologies, built.Tx))
				}
			}
			for _, s := range Sequences(c.n, c.k, o) {
				if len(s) <= maxTopologies {
					list = append(list, fmt.Sprint(s))
				}
			}
			return list
		}
		subset, all := text(Options{Relay: true, Wanted: func(d int) bool { return d <= c.maxTopologies }}, c.maxTopologies), text(Options{Relay: true}, c.maxTopologies)
		if len(subset) != len(all) {
			t.Fatalf("%+v: %d plans if fewer are wanted, want %d", c, len(subset), len(all))
		}
		for i := range all {
			if subset[i] != all[i] {
				t.Fatalf("%+v: plan %d differs", c, i)
			}
		}
	}
}
