package rounds

import (
	"sim/internal/numbers"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/policies/reconfigure/plan"
)

// roundCost returns the slots of a labelled schedule, chunk by chunk, from the definition.
func roundCost(s *roundSchedule, chunks, label []int32) int64 {
	var sum int64
	for c := int32(0); ; c++ {
		maxHops := make([]int32, len(s.rounds))
		for i := range s.n {
			for j := range s.n {
				if i != j && chunks[int(label[i])*s.n+int(label[j])] > c {
					u := s.classOf(i, j)
					maxHops[s.round[u]] = max(maxHops[s.round[u]], s.hops[u])
				}
			}
		}
		if slices.Max(maxHops) == 0 {
			return sum
		}
		for _, h := range maxHops {
			sum += int64(h)
		}
	}
}

// drawChain draws a contraction chain.
func drawChain(t *rapid.T, n, k int) *contractionChain {
	if k == 1 {
		return newContractionChain(newShiftSequence(n).schedule(), nil)
	}
	if rapid.Bool().Draw(t, "kautz") {
		return newContractionChain(kautzBase(n, k, rapid.Uint64().Draw(t, "seed"), nil), nil)
	}
	return newContractionChain(newRoundSchedule(n, k, toInt32(BaseOffsets(n, k)), nil), nil)
}

// Relabelling ends in a local optimum that takes no more slots than the identity, and its
// incremental slots equal roundCost.
func TestRelabel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 9).Draw(t, "n")
		k := rapid.IntRange(1, min(n-1, 3)).Draw(t, "k")
		p := plan.UniformProblem(n, k, 1)
		largest := rapid.SampledFrom([]int32{1, 9}).Draw(t, "largest")
		for i, c := range p.Chunks {
			if c > 0 {
				p.Chunks[i] = rapid.Int32Range(0, largest).Draw(t, "chunks")
			}
		}
		c := drawChain(t, n, k)
		for range rapid.IntRange(0, 3).Draw(t, "steps") {
			if k > 1 {
				c.addTopology()
			}
		}
		s, g := c.current, c.current.groupFlows()
		if got, want := g.slots(n, p.Chunks, numbers.Below(int32(n))), roundCost(s, p.Chunks, numbers.Below(int32(n))); got != want {
			t.Fatalf("cost %d, want %d", got, want)
		}
		r := newRelabeller(n, p.Chunks)
		r.setGroups(g)
		for range 15 {
			a := rapid.IntRange(0, n-2).Draw(t, "a")
			r.swap(a, rapid.IntRange(a+1, n-1).Draw(t, "b"))
			if got, want := r.groups.slotsOf(r.topChunks), roundCost(s, p.Chunks, r.label); got != want {
				t.Fatalf("cost after a swap %d, want %d", got, want)
			}
		}
		label := r.improve(g, 1<<30)
		sorted := slices.Clone(label)
		slices.Sort(sorted)
		if !slices.Equal(sorted, numbers.Below(int32(n))) {
			t.Fatalf("labels %v", label)
		}
		cost := roundCost(s, p.Chunks, label)
		if plain := roundCost(s, p.Chunks, numbers.Below(int32(n))); cost > plain {
			t.Fatalf("relabelled %d, identity %d", cost, plain)
		}
		for a := range n {
			for b := range a {
				label[a], label[b] = label[b], label[a]
				if c := roundCost(s, p.Chunks, label); c < cost {
					t.Fatalf("swapping %d and %d would lower %d to %d", a, b, cost, c)
				}
				label[a], label[b] = label[b], label[a]
			}
		}
	})
}

// With more chunk counts than levels, the search uses an upper bound of the slots. The
// result is still better than without relabelling.
func TestRelabelLevels(t *testing.T) {
	p := drawUnequal(24, 2, 400, 3)
	r := newRelabeller(24, p.Chunks)
	if len(r.levelChunks) > maxLevels || len(r.levelChunks) < maxLevels/2 {
		t.Fatalf("%d levels", len(r.levelChunks))
	}
	for i, c := range p.Chunks {
		if l := r.level[i]; r.levelChunks[l] < int64(c) || l > 0 && r.levelChunks[l-1] >= int64(c) {
			t.Fatalf("%d chunks are level %d, of %d", c, l, r.levelChunks[l])
		}
	}
	s := newContractionChain(newRoundSchedule(24, 2, toInt32(BaseOffsets(24, 2)), nil), nil).current
	label := r.improve(s.groupFlows(), 5000)
	if got, plain := roundCost(s, p.Chunks, label), roundCost(s, p.Chunks, numbers.Below(int32(24))); got >= plain {
		t.Errorf("relabelled %d, identity %d", got, plain)
	}
}

// Relabelling never costs slots, for each number of topologies and order of chunks.
func TestRelabellingNeverCostsSlots(t *testing.T) {
	for _, k := range []int{1, 2} {
		p := drawUnequal(16, k, 8, 5)
		for _, schedule := range []string{ByRound, ByIndex} {
			with, err := Candidates(p, Options{Schedule: schedule})
			if err != nil {
				t.Fatal(err)
			}
			without, err := Candidates(p, Options{Schedule: schedule, NoRelabelling: true})
			if err != nil {
				t.Fatal(err)
			}
			less := 0
			for _, w := range without {
				best := with[0].Slots
				for _, c := range with {
					if c.Reconfigurations <= w.Reconfigurations {
						best = c.Slots
					}
				}
				if best > w.Slots {
					t.Errorf("k=%d %s d=%d: %d slots relabelled, %d without", k, schedule, w.Reconfigurations, best, w.Slots)
				}
				if best < w.Slots {
					less++
				}
			}
			if less < len(without)/2 {
				t.Errorf("k=%d %s: relabelling helps at %d of %d", k, schedule, less, len(without))
			}
		}
	}
}

// Contraction of a circulant's round saves at least its hops minus one slot. No
// contraction, merge or further topology costs slots.
func TestContraction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 24).Draw(t, "n")
		c := drawChain(t, n, rapid.IntRange(2, min(n-1, 4)).Draw(t, "k"))
		for {
			s := c.current
			longest := slices.MaxFunc(s.rounds, func(a, b roundInfo) int { return int(a.hops - b.hops) }).hops
			one := s.contractLongestRound(0)
			if one == nil {
				if longest > 1 {
					t.Fatalf("rounds of %d hops remain", longest)
				}
				return
			}
			one.normaliseRounds()
			if one.numPhases() != s.numPhases()+1 || one.slots() > s.slots() {
				t.Fatalf("contraction: from %d slots to %d", s.slots(), one.slots())
			}
			if s.isCirculant() && one.slots() > s.slots()-int64(longest-1) {
				t.Fatalf("contraction of a round of %d hops saves %d slots", longest, s.slots()-one.slots())
			}
			before := one.slots()
			one.mergeRounds(nil)
			one.normaliseRounds()
			if one.slots() > before {
				t.Fatalf("merging costs %d slots", one.slots()-before)
			}
			if !c.addTopology() || c.current.slots() > one.slots() {
				t.Fatalf("%d slots, by contraction %d", c.current.slots(), one.slots())
			}
		}
	})
}

// Large domains, where limits on work apply, have plans that pass their check.
func TestLargeDomains(t *testing.T) {
	sizes := [][2]int{{128, 4}}
	if *long {
		sizes = [][2]int{{256, 2}, {256, 3}, {256, 4}, {512, 2}}
	}
	for _, c := range sizes {
		n, k := c[0], c[1]
		list, err := Candidates(plan.UniformProblem(n, k, 1), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range list {
			if i%8 > 0 {
				continue
			}
			builtPlan, err := c.Build(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := builtPlan.Seal(); err != nil || builtPlan.TotalSlots() != c.Slots {
				t.Fatalf("n=%d k=%d %s: %d slots, want %d: %v", n, k, c.Origin, builtPlan.TotalSlots(), c.Slots, err)
			}
		}
	}
}

// loads returns the link crossings of the plan and a lower bound on its slots. For uniform
// demand, its shortcut returns the same.
func TestLoads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 10)
		if p.GPUs == 2 {
			t.Skip()
		}
		s, label := drawChain(t, p.GPUs, p.Degree).current, numbers.Below(int32(p.GPUs))
		crossings, bound := s.loads(p.Chunks, label, 0)
		if c, equal := p.Uniform(); equal {
			if x, y := s.loads(p.Chunks, label, c); x != crossings || y != bound {
				t.Fatalf("%d crossings and %d slots, without the shortcut %d and %d", x, y, crossings, bound)
			}
		}
		for _, indexed := range []bool{false, true} {
			m := candidateSchedule{label: label, rebuild: func() *roundSchedule { return s }, isByIndex: indexed}
			builtPlan, err := m.buildPlan(p, nil)
			if err != nil {
				t.Fatal(err)
			}
			if int64(len(builtPlan.Tx)) != crossings || builtPlan.TotalSlots() < bound {
				t.Fatalf("%d crossings in %d slots; expected %d in at least %d", len(builtPlan.Tx), builtPlan.TotalSlots(), crossings, bound)
			}
		}
	})
}

// TestLevels checks the levels of demands with any number of different flows: each number of chunks
// is a level of its own up to maxLevels, and otherwise the next level that is equally far from the
// maximum. No level is wasted.
func TestLevels(t *testing.T) {
	for _, numValues := range []int{1, 2, maxLevels - 1, maxLevels, maxLevels + 1, 2 * maxLevels, 2*maxLevels + 1, 600} {
		const n = 25
		chunks := make([]int32, n*n)
		for i := range chunks {
			chunks[i] = int32(3 * (i % numValues))
		}
		r := newRelabeller(n, chunks)
		step := (numValues-1)/maxLevels + 1
		if want := (numValues-1)/step + 1; len(r.levelChunks) != want {
			t.Errorf("%d numbers of chunks have %d levels, want %d", numValues, len(r.levelChunks), want)
		}
		for i, c := range chunks {
			if got := r.levelChunks[r.level[i]]; got < int64(c) || got >= int64(c)+int64(3*step) {
				t.Fatalf("%d numbers of chunks: the level of %d is %d, want less than %d more", numValues, c, got, 3*step)
			}
		}
	}
}
