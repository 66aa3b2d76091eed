package collective

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/policies/collective"
	"sim/policies/reconfigure/plan"
)

// TestFolds: every fold passes Check, computes correct sums of random numbers and has the bytes
// that it claims, on graphs of all kinds and with any number of halvings.
func TestFolds(t *testing.T) {
	kinds := map[string]int{}
	for n := 4; n <= 27; n++ {
		for k := 2; k <= 6 && k < n; k++ {
			for _, f := range newFolds(n, k) {
				for _, shard := range []int64{1, 7, 1000} {
					pl := f.newPlan(&Problem{GPUs: n, Degree: k, Op: collective.AllReduce, Bytes: int64(n)*shard + int64(n/3), Rate: 8e11, Latency: us / 2, Delay: us})
					if err := pl.toPlan().Check(); err != nil {
						t.Fatalf("n=%d k=%d %s: %v", n, k, pl.Name, err)
					}
					checkLongest(t, pl)
					simulateNumbers(t, pl)
					if pl.Steps() != f.digits+f.halvings || pl.Reconfigurations() != 1 {
						t.Errorf("n=%d k=%d %s: %d steps, %d topologies", n, k, pl.Name, pl.Steps(), pl.Reconfigurations())
					}
				}
				kinds[fmt.Sprint(f.isKautz, f.halvings > 0, f.last < f.radix)]++
			}
		}
	}
	if len(kinds) != 4 {
		t.Errorf("folds of %d kinds: %v", len(kinds), kinds)
	}
}

// TestUniquePaths: in a de Bruijn graph, exactly one sequence of links with the length of the
// fold leads from any GPU to any other. In a Kautz graph, exactly one has this length or one
// less. Links may repeat in a sequence.
func TestUniquePaths(t *testing.T) {
	for _, c := range [][2]int{{8, 2}, {27, 3}, {16, 4}, {12, 2}, {36, 3}, {20, 4}} {
		for _, f := range newFolds(c[0], c[1]) {
			if f.radix != c[1] {
				continue
			}
			edges := f.graph().topology(false)
			for u := range f.n {
				paths := make([]int, f.n)
				paths[u] = 1
				var before []int
				for range f.digits {
					before = paths
					paths = make([]int, f.n)
					for _, e := range edges {
						paths[e.To] += before[e.From]
					}
				}
				for v := range f.n {
					if f.isKautz {
						paths[v] += before[v]
					}
				}
				if slices.Max(paths) != 1 || slices.Min(paths) != 1 {
					t.Fatalf("%v, from %d: %v walks", c, u, paths)
				}
			}
		}
	}
}

// TestFoldByHand: costs computed by hand for 8 GPUs with two links, 8000 B, 1 ns per byte,
// latency 100 ns and delay 1 us. Without halvings there are three steps of a vector on one
// topology. With one halving the steps are 4000 B, twice 4000 B, and 4000 B; with two 4000, 2000,
// 2000, 2000 and 4000 B.
func TestFoldByHand(t *testing.T) {
	p := problem(8, 2, collective.AllReduce, 8000, 8e9, us/10, us)
	for name, want := range map[string][][]int64{
		"fold de-bruijn 2^3":           {{8000, 8000, 8000}},
		"fold de-bruijn 2^3, 1 halved": {{4000}, {4000, 4000}, {4000}},
		"fold de-bruijn 2^3, 2 halved": {{4000, 2000}, {2000}, {2000, 4000}},
	} {
		pl := planNamed(t, p, name)
		cost := us
		for i, phase := range want {
			if !slices.Equal(pl.Phases[i].MaxMessageBytes, phase) || len(pl.Phases) != len(want) {
				t.Errorf("%s: %v, want %v", name, pl.Phases[i].MaxMessageBytes, want)
			}
			for _, b := range phase {
				cost += us/10 + engine.Time(b)*engine.Nanosecond
			}
		}
		if pl.cost() != cost {
			t.Errorf("%s: %v, want %v", name, pl.cost(), cost)
		}
	}
	// GPU 5 = 101 receives from 010 and 110 in the last step, and these from 001, 101, 011 and 111.
	into := map[int32][]int32{}
	for _, x := range planNamed(t, p, "fold de-bruijn 2^3").messages(0) {
		if x.Step == 2 {
			into[x.To] = append(into[x.To], x.From)
		}
	}
	if !slices.Equal(into[5], []int32{2, 6}) || !slices.Equal(into[2], []int32{1, 5}) || !slices.Equal(into[0], []int32{0, 4}) {
		t.Errorf("messages come from %v", into)
	}
}

// planNamed returns the fold with the given name.
func planNamed(t *testing.T, p *Problem, name string) *Plan {
	t.Helper()
	for _, f := range newFolds(p.GPUs, p.Degree) {
		if pl := f.newPlan(p); pl.Name == name {
			return pl
		}
	}
	t.Fatalf("no fold %q", name)
	return nil
}

// TestFoldLoses: Check rejects a fold without any one message or step, so that no message is
// superfluous. It also rejects an empty step before or after the others.
func TestFoldLoses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom([][2]int{{8, 2}, {8, 4}, {9, 3}, {12, 2}, {16, 4}}).Draw(t, "n, k")
		p := problem(c[0], c[1], collective.AllReduce, int64(c[0])*100, 8e9, us/10, us)
		all := newFolds(c[0], c[1])
		pl := newMutablePlan(all[rapid.IntRange(0, len(all)-1).Draw(t, "fold")].newPlan(p))
		i := slices.IndexFunc(pl.Steps.Phases, func(f plan.Phase) bool { return f.Kind == plan.Fold })
		what := rapid.SampledFrom([]string{"message", "step", "more", "late"}).Draw(t, "what")
		f := &pl.Steps.Phases[i]
		switch what {
		case "message":
			i = rapid.IntRange(0, len(pl.tx)-1).Draw(t, "phase")
			at := rapid.IntRange(0, len(pl.tx[i])-1).Draw(t, "at")
			pl.tx[i] = slices.Delete(slices.Clone(pl.tx[i]), at, at+1)
		case "step":
			step := int32(rapid.IntRange(0, len(f.MaxMessageBytes)-1).Draw(t, "step"))
			pl.tx[i] = slices.DeleteFunc(slices.Clone(pl.tx[i]), func(x plan.Message) bool { return x.Step == step })
		case "more":
			f.MaxMessageBytes = append(f.MaxMessageBytes, 0)
			pl.Slots[i]++
		case "late":
			f.MaxMessageBytes = append([]int64{0}, f.MaxMessageBytes...)
			pl.Slots[i]++
			pl.tx[i] = slices.Clone(pl.tx[i])
			for at := range pl.tx[i] {
				pl.tx[i][at].Step++
			}
		}
		if err := pl.Check(); err == nil {
			t.Fatalf("%s without a %s holds", pl.Name, what)
		}
	})
}
