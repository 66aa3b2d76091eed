package pack

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/fabric/scaleup"
	"sim/policies/reconfigure/cancellation"
	"sim/policies/reconfigure/plan"
)

// A search finds the best candidate of Plan, for each order of requests and number of
// workers.
func TestSearchFindsTheBestOfAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 8)
		base := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Sequence { return drawSequence(t, p.GPUs, p.Degree) }), 1, 3).Draw(t, "base")
		counts := func(name string) (list []int) {
			step := rapid.IntRange(1, 3).Draw(t, name)
			for d := 1; d <= p.GPUs; d += step {
				list = append(list, d)
			}
			return list
		}
		within, across := counts("within"), counts("across")
		if rapid.Bool().Draw(t, "none within") {
			within = nil
		}
		all, err := Plan(p, SequenceSpec{Base: base, Counts: within}, SequenceSpec{Base: base, Counts: across}, Options{Relay: true})
		if err != nil {
			t.Fatal(err)
		}
		var costs []func(*plan.Candidate) engine.Time
		for range 3 {
			delay := rapid.OneOf(rapid.Int64Range(0, 30), rapid.Int64Range(0, 1000)).Draw(t, "delay")
			maxCount := rapid.OneOf(rapid.Just(p.GPUs), rapid.IntRange(0, p.GPUs)).Draw(t, "most")
			costs = append(costs, func(c *plan.Candidate) engine.Time {
				if c.Reconfigurations > maxCount {
					return plan.Never
				}
				return c.Cost(engine.Time(delay), 10)
			})
		}
		first := make([]string, len(costs))
		orders := [][]int{{0, 1, 2}, {2, 1, 0}}
		if *long {
			orders = append(orders, []int{1, 2, 0})
		}
		for _, order := range orders {
			upTo := func(maxCount int, _ cancellation.Condition) []Sequence {
				return slices.DeleteFunc(slices.Clone(base), func(s Sequence) bool { return len(s.Topologies) > maxCount })
			}
			s, err := NewSearch(p, bounder(t, p), SearchSpec{upTo, within}, SearchSpec{upTo, across}, Options{Relay: true, Workers: order[0]})
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range order {
				got, err := s.Best(costs[i], nil)
				if err != nil {
					t.Fatal(err)
				}
				want, err := plan.Best(all, costs[i])
				if errors.Is(err, plan.ErrNoCandidate) {
					if got != nil {
						t.Fatalf("cost %d: %+v, want no candidate, because all cost too much", i, got)
					}
					continue
				}
				if got == nil || got.Reconfigurations != want.Reconfigurations || got.Slots != want.Slots {
					t.Fatalf("cost %d of %v: %+v, want %+v", i, order, got, want)
				}
				if text := fmt.Sprint(planTexts(t, []plan.Candidate{*got})); first[i] == "" {
					first[i] = text
				} else if text != first[i] {
					t.Fatalf("cost %d of %v: the plan differs from the plan of another order of requests", i, order)
				}
			}
		}
	})
}

// savedHopsFast equals savedHops, the sum lane by lane.
func TestSavedHopsFast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 7, 8, 9, 127, 130}).Draw(t, "n")
		var m hopMatrix
		m.reset(n)
		longest := rapid.OneOf(rapid.SampledFrom([]int64{128, 300}), rapid.Int64Range(1, 300)).Draw(t, "longest")
		maxDemand := rapid.OneOf(rapid.Just(int32(100)), rapid.Int32Range(0, 200)).Draw(t, "most")
		demand := rapid.SliceOfN(rapid.OneOf(rapid.Just(maxDemand), rapid.Int32Range(0, maxDemand)), n*n, n*n).Draw(t, "demand")
		w := newWeights(n, demand)
		row := func(name string) []uint64 {
			list := slices.Clone(m.row(0))
			for u := range n {
				h := m.noPath // sometimes there is no path
				if rapid.IntRange(0, 9).Draw(t, name+" none") > 0 || longest < m.noPath {
					h = rapid.OneOf(rapid.Just(min(longest, m.noPath-1)), rapid.Int64Range(0, min(longest, m.noPath-1))).Draw(t, name)
				}
				word, shift := m.lane(u)
				list[word] = list[word]&^(m.laneMask()<<shift) | uint64(h)<<shift
			}
			return list
		}
		hops, rest := row("hops"), row("rest")
		if rapid.Bool().Draw(t, "near") {
			for u := range n {
				word, shift := m.lane(u)
				rest[word] &^= m.laneMask() << shift
			}
		}
		longestRow := int64(0)
		for u := range n {
			word, shift := m.lane(u)
			longestRow = max(longestRow, int64(hops[word]>>shift&m.laneMask()))
		}
		v := rapid.IntRange(0, n-1).Draw(t, "row")
		want := m.savedHops(hops, rest, demand[v*n:(v+1)*n])
		whole, halved := w.fits(longestRow)
		if whole && longestRow < m.noPath {
			if got := m.savedHopsFast(hops, rest, w.row(v), false); got != want {
				t.Fatalf("%d hops saved, want %d", got, want)
			}
		}
		if halved && m.logLaneBits == 4 {
			if got := m.savedHopsFast(hops, rest, w.row(v), true); got != want {
				t.Fatalf("%d hops saved by halves, want %d", got, want)
			}
		}
	})
}

// Numbers of topologies that cost too much are rejected, and scheduled again if they may be
// best at another cost. The reference is the best candidate of Plan.
func TestSearchRejectsAndRetries(t *testing.T) {
	again := 0
	for _, c := range []struct {
		n, k, maxCount int
		kind           string
		chunks         int
	}{{24, 2, 11, "zipf", 8}, {12, 1, 11, "random", 1}, {12, 2, 6, "random", 2}, {9, 1, 8, "zipf", 2}, {13, 3, 4, "random", 1}} {
		if c.n > 16 && !*long {
			continue
		}
		p := drawDemand(c.n, c.k, c.kind, float64(c.chunks), 1)
		var counts []int
		for d := 1; d <= c.maxCount; d++ {
			counts = append(counts, d)
		}
		all, err := Plan(p, SequenceSpec{Counts: counts}, SequenceSpec{Counts: counts}, Options{Relay: true})
		if err != nil {
			t.Fatal(err)
		}
		none := func(int, cancellation.Condition) []Sequence { return nil }
		s, err := NewSearch(p, bounder(t, p), SearchSpec{none, counts}, SearchSpec{none, counts}, Options{Relay: true})
		if err != nil {
			t.Fatal(err)
		}
		given := map[topologyCount]bool{}
		for _, delay := range []engine.Time{100, 80, 60, 50, 40, 30, 20, 10, 5, 2, 1, 0, 200, 400, 1000} {
			cost := func(c *plan.Candidate) engine.Time { return c.Cost(delay, 10) }
			got, err := s.Best(cost, nil)
			if err != nil {
				t.Fatal(err)
			}
			want, err := plan.Best(all, cost)
			if err != nil || got.Reconfigurations != want.Reconfigurations || got.Slots != want.Slots || got.Relay != want.Relay {
				t.Errorf("%+v, delay %d: %+v, want %+v", c, delay, got, want)
			}
			for i := range s.variants {
				for _, d := range counts {
					switch x := (topologyCount{i, d}); {
					case s.variants[i].isTried[d] && !s.variants[i].isDone[d]:
						given[x] = true
					case given[x]:
						again++
						delete(given, x)
					}
				}
			}
		}
	}
	if again == 0 {
		t.Error("no rejected number of topologies was scheduled again")
	}
}

// Numbers of topologies above the limit of growth, which have relabelled sequences only,
// give the candidates of Plan in each order of requests.
func TestSearchBeyondGrowth(t *testing.T) {
	defer func(was float64) { maxGrowWork = was }(maxGrowWork)
	beyond := 0
	for _, c := range []struct {
		n, k, maxCount int
		kind           string
	}{{12, 1, 11, "random"}, {12, 2, 6, "zipf"}, {9, 1, 8, "zipf"}} {
		p := drawDemand(c.n, c.k, c.kind, 4, 1)
		maxGrowWork = 3 * float64(c.k) * choiceWork(c.n) // up to two topologies
		var counts []int
		for d := 1; d <= c.maxCount; d++ {
			counts = append(counts, d)
		}
		base := circulantLadder(c.n, c.k, c.maxCount)
		all, err := Plan(p, SequenceSpec{}, SequenceSpec{Base: base, Counts: counts}, Options{Relay: true})
		if err != nil {
			t.Fatal(err)
		}
		upTo := func(maxCount int, _ cancellation.Condition) []Sequence {
			return slices.DeleteFunc(slices.Clone(base), func(s Sequence) bool { return len(s.Topologies) > maxCount })
		}
		for _, delays := range [][]engine.Time{{0, 1, 5, 20, 100}, {100, 20, 5, 1, 0}} {
			s, err := NewSearch(p, bounder(t, p), SearchSpec{}, SearchSpec{upTo, counts}, Options{Relay: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, delay := range delays {
				cost := func(c *plan.Candidate) engine.Time { return c.Cost(delay, 10) }
				got, err := s.Best(cost, nil)
				if err != nil {
					t.Fatal(err)
				}
				want, err := plan.Best(all, cost)
				if err != nil || got.Reconfigurations != want.Reconfigurations || got.Slots != want.Slots || got.Origin != want.Origin {
					t.Errorf("%+v, delay %d: %+v, want %+v", c, delay, got, want)
				}
				if got != nil && !s.variants[1].builder.canGrow(got.Reconfigurations) {
					beyond++
				}
			}
		}
	}
	if beyond == 0 {
		t.Error("no plan has more topologies than growth can reach")
	}
}

// circulantLadder returns one sequence of circulants per number of topologies, with
// consecutive offsets.
func circulantLadder(n, k, maxCount int) (list []Sequence) {
	s := Sequence{Origin: "circulants"}
	for d := 1; d <= maxCount; d++ {
		var offsets []int
		for j := range k {
			offsets = append(offsets, (k*(d-1)+j)%(n-1)+1)
		}
		s.Topologies = append(s.Topologies, scaleup.Circulant(n, offsets...))
		list = append(list, Sequence{s.Origin, slices.Clone(s.Topologies)})
	}
	return list
}

// Of candidates with equal cost, the one with fewer topologies is preferred, then the one
// without relaying.
func TestSearchGoal(t *testing.T) {
	cost := func(c *plan.Candidate) engine.Time { return engine.Time(c.Reconfigurations)*5 + engine.Time(c.Slots) }
	g := searchGoal{cost: cost, best: &plan.Candidate{Reconfigurations: 3, Slots: 10}, variant: 1}
	for _, c := range []struct {
		side, d int
		slots   int64
		want    bool
	}{{1, 3, 9, true}, {1, 3, 10, false}, {0, 3, 10, true}, {0, 3, 11, false}, {1, 2, 15, true}, {0, 4, 5, false}, {0, 4, 4, true}, {1, 1, 21, false}} {
		if got := g.admits(c.side, c.d, c.slots); got != c.want {
			t.Errorf("%+v: admits %v", c, got)
		}
	}
	g = searchGoal{cost: cost}
	if !g.admits(1, 9, 9) {
		t.Error("a candidate is rejected although there is no incumbent")
	}
}
