package plan_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
	"sim/policies/reconfigure/plan/plantest"
)

// The gap of each kind of candidate, and the name of its model.
func TestGap(t *testing.T) {
	even, err := plan.NewBounder(plan.UniformProblem(8, 2, 1), nil) // d = 1: 8, 7 and 7; d = 2: 6 in rounds, 10 hops on 2 links else
	if err != nil {
		t.Fatal(err)
	}
	odd := plan.UniformProblem(8, 2, 1)
	odd.Chunks[1] = 3 // GPU 0 sends 9: 15 hops of 107 in all at least, 7 slots
	uneven, err := plan.NewBounder(odd, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		b     *plan.Bounder
		c     plan.Candidate
		gap   float64
		model string
	}{
		{even, plan.Candidate{Reconfigurations: 1, Slots: 10}, 2. / 8, plan.RoundModel},
		{even, plan.Candidate{Reconfigurations: 1, Slots: 7, Waits: true}, 0, plan.ForwardModel},
		{even, plan.Candidate{Reconfigurations: 2, Slots: 10, Relay: true, Waits: true}, 1, plan.RelayModel},
		{even, plan.Candidate{Reconfigurations: 1, Fluid: 13}, 1, plan.FluidModel},
		{uneven, plan.Candidate{Reconfigurations: 1, Slots: 14}, 1, plan.ForwardModel},
		// Two switches of one permutation: 2 destinations at 1 hop, 4 at 2, 1 at 3, 6.5 slots on average.
		{even, plan.Candidate{Switches: []plan.SwitchLoad{{Reconfigurations: 1, Slots: 6}, {Reconfigurations: 1, Slots: 7}}}, 0, plan.RelayModel},
		// Of 7 permutations in all every destination can be 1 hop away: 3.5 slots.
		{even, plan.Candidate{Switches: []plan.SwitchLoad{{Reconfigurations: 3, Slots: 7}, {Reconfigurations: 4, Slots: 7}}}, 1, plan.RelayModel},
	} {
		gap, model, err := c.b.Gap(&c.c)
		if err != nil || math.Abs(gap-c.gap) > 1e-12 || model != c.model {
			t.Errorf("%+v: %g in the model %s (%v), want %g in %s", c.c, gap, model, err, c.gap, c.model)
		}
	}
	if _, _, err := even.Gap(&plan.Candidate{Slots: 3}); !errors.Is(err, plan.ErrProblem) {
		t.Error(err)
	}
	none, err := plan.NewBounder(&plan.Problem{GPUs: 3, Degree: 1, Chunks: make([]int32, 9)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if gap, _, err := none.Gap(&plan.Candidate{Reconfigurations: 1}); err != nil || gap != 0 {
		t.Error(gap, err)
	}
}

// The shortest paths over independent switches, found by search over their permutations,
// are not shorter than the bound assumes.
func TestSwitchLevels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(t, "n")
		k := rapid.IntRange(1, min(3, n-1)).Draw(t, "k")
		p := demand(t, n, k, 3)
		loads := make([]plan.SwitchLoad, k)
		tops := make([][]scaleup.Topology, k)
		for j := range loads {
			loads[j].Reconfigurations = rapid.IntRange(1, 3).Draw(t, "d")
			for range loads[j].Reconfigurations {
				tops[j] = append(tops[j], plantest.DrawRegular(t, n, 1))
			}
		}
		hops, volume := int64(0), int64(0)
		for s := range n {
			far := ownDistances(n, tops, s)
			out := int64(0)
			for v := range n {
				c := int64(p.Chunks[s*n+v])
				if out += c; c > 0 && far[v] < 0 {
					t.Skip("not connected")
				}
				hops += c * int64(max(0, far[v]))
			}
			volume = max(volume, out)
		}
		// The mean of slots that would just do for the hops, or for the chunks that a GPU sends.
		loads[0].Slots = max((hops+int64(n)-1)/int64(n), volume)
		for v := range n {
			into := int64(0)
			for u := range n {
				into += int64(p.Chunks[u*n+v])
			}
			loads[0].Slots = max(loads[0].Slots, into)
		}
		b, err := plan.NewBounder(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		gap, _, err := b.Gap(&plan.Candidate{Switches: loads})
		if err != nil || gap < -1e-12 {
			t.Fatalf("gap %g (%v) for %v with %d hops", gap, err, loads, hops)
		}
	})
}

// ownDistances returns the minimum hops from s over independent switches, each in the order
// of its permutations.
func ownDistances(n int, tops [][]scaleup.Topology, s int) []int {
	type place struct {
		at int32
		of [3]int
	}
	far := make([]int, n)
	for v := range far {
		far[v] = -1
	}
	far[s] = 0
	seen := map[place]bool{{at: int32(s)}: true}
	layer := []place{{at: int32(s)}}
	for h := 1; len(layer) > 0; h++ {
		var next []place
		for _, x := range layer {
			for j := range tops {
				for i := x.of[j]; i < len(tops[j]); i++ {
					for _, e := range tops[j][i] {
						y := x
						if y.of[j] = i; e.From != x.at {
							continue
						}
						if y.at = e.To; !seen[y] {
							seen[y] = true
							next = append(next, y)
							if far[y.at] < 0 {
								far[y.at] = h
							}
						}
					}
				}
			}
		}
		layer = next
	}
	return far
}
