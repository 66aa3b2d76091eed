package pack

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
)

// Every sequence is valid and reaches all GPUs, every number of topologies has one, and
// sequences and plans repeat exactly, with any number of workers.
func TestSequences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 10)
		relay := rapid.Bool().Draw(t, "relay")
		maxCount := rapid.IntRange(1, p.GPUs).Draw(t, "most")
		base := []Sequence{drawSequence(t, p.GPUs, p.Degree)}
		var counts []int
		for d := range maxCount {
			counts = append(counts, d+1)
		}
		list, err := buildAllSequences(p, base, counts, relay)
		if err != nil {
			t.Fatal(err)
		}
		again, err := buildAllSequences(p, base, counts, relay)
		if err != nil || !reflect.DeepEqual(list, again) {
			t.Fatalf("the sequences of the same problem differ (%v)", err)
		}
		built := make([]int, maxCount+1)
		for _, s := range list {
			if err := checkSequence(p, s); err != nil {
				t.Fatal(err)
			}
			if !canReachAll(p, s, relay) {
				t.Fatalf("%s does not reach all GPUs", s.Origin)
			}
			built[len(s.Topologies)]++
		}
		for d := 1; d <= maxCount; d++ {
			if built[d] == 0 {
				t.Fatalf("no sequence of %d topologies", d)
			}
		}
		a, err := Candidates(p, list, Options{Relay: relay})
		if err != nil {
			t.Fatal(err)
		}
		b, err := Candidates(p, list, Options{Relay: relay, Workers: 3})
		if err != nil {
			t.Fatal(err)
		}
		if len(a) != len(list) || len(b) != len(a) {
			t.Fatalf("%d and %d candidates of %d sequences", len(a), len(b), len(list))
		}
		for i := range a {
			x, err := a[i].Build(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			y, err := b[i].Build(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(x, y) || x.TotalSlots() != a[i].Slots {
				t.Fatalf("candidate %d: the plans of 1 and 3 workers differ", i)
			}
		}
	})
}

// Invalid problems and topologies, and unreachable GPUs, return the documented errors.
func TestInvalidInput(t *testing.T) {
	p := plan.UniformProblem(4, 1, 2)
	ring := scaleup.Circulant(4, 1)
	bad := &plan.Problem{GPUs: 1}
	two := Sequence{Origin: "two", Topologies: []scaleup.Topology{scaleup.Circulant(4, 2)}}
	for name, c := range map[string]struct {
		p    *plan.Problem
		s    Sequence
		want error
	}{
		"problem":     {bad, Sequence{Topologies: []scaleup.Topology{ring}}, plan.ErrProblem},
		"empty":       {p, Sequence{}, plan.ErrProblem},
		"degree":      {p, Sequence{Topologies: []scaleup.Topology{scaleup.Circulant(4, 1, 2)}}, scaleup.ErrTopology},
		"unreachable": {p, two, ErrUnreachable},
	} {
		if _, err := fitSequence(c.p, c.s, Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if _, err := relabelSequence(c.p, c.s, false); !errors.Is(err, c.want) {
			t.Errorf("%s: Relabel: %v, want %v", name, err, c.want)
		}
		if name == "unreachable" {
			continue
		}
		if _, err := Candidates(c.p, []Sequence{c.s}, Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s: Candidates: %v, want %v", name, err, c.want)
		}
		if _, err := buildAllSequences(c.p, []Sequence{c.s}, []int{1, 2}, false); !errors.Is(err, c.want) {
			t.Errorf("%s: Sequences: %v, want %v", name, err, c.want)
		}
	}
	list, err := Candidates(p, []Sequence{two, {Origin: "ring", Topologies: []scaleup.Topology{ring}}}, Options{})
	if err != nil || len(list) != 1 || list[0].Origin != "ring" {
		t.Errorf("%v, %v; want the ring alone", list, err)
	}
}

// The hops of a matrix equal the lengths of shortest paths through the phases. Splitting
// topologies into permutations and joining them again does not change them.
func TestHopMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 13).Draw(t, "n")
		k := rapid.IntRange(1, 3).Draw(t, "k")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "list"), 1))
		list := [][][]int32{}
		for range rapid.IntRange(1, 4).Draw(t, "d") {
			var phase [][]int32
			for range k {
				to := make([]int32, n)
				for u, v := range r.Perm(n) {
					to[u] = int32(v)
				}
				phase = append(phase, to)
			}
			list = append(list, phase)
		}
		var m hopMatrix
		m.reset(n)
		var x pathExtender
		for _, phase := range list {
			x.extend(&m, phase)
		}
		net := newTimeNetwork(joinPermutations(list), n)
		price := make([]float64, len(net.to))
		for i := range price {
			price[i] = 1
		}
		var paths pathTree
		paths.setPrices(net, price)
		for u := range n {
			paths.grow(net, int32(u), true)
			for v := range n {
				want := min(paths.cost[v], noPathHops)
				if x := m.hops(v, u); float64(x) != want {
					t.Fatalf("%v: %d -> %d: %d hops, want %v", list, u, v, x, want)
				}
				if paths.cost[v] < infinite && len(paths.appendPath(nil, v)) != int(want) {
					t.Fatalf("%d -> %d: path %v, want %v hops", u, v, paths.appendPath(nil, v), want)
				}
			}
		}
		back, ok := splitPermutations(joinPermutations(list), n, k)
		if !ok {
			t.Fatal("the topologies are not split")
		}
		var again hopMatrix
		again.reset(n)
		for _, phase := range back {
			x.extend(&again, phase)
		}
		if !slices.Equal(m.rows, again.rows) {
			t.Fatal("after splitting, the hops differ")
		}
	})
}

// No other last offset saves more hops than the selected one.
func TestCirculantSequencesAreGreedy(t *testing.T) {
	for n := 3; n <= 13; n++ {
		for k := 1; k <= 2; k++ {
			for _, relay := range []bool{false, true} {
				sum := func(list []scaleup.Topology) int64 {
					hops, err := Sequence{Topologies: list}.hops(n, relay, nil)
					if err != nil {
						return 1 << 40
					}
					return totalHops(uniform(n, 1), hops)
				}
				for _, s := range circulantSequences(n, k, 4, relay, nil) {
					last := len(s.Topologies) - 1
					got := sum(s.Topologies)
					offsets := make([]int, k)
					for i := range k {
						e := s.Topologies[last][i]
						offsets[i] = (int(e.To-e.From) + n) % n
					}
					for x := 1; x < n; x++ {
						offsets[k-1] = x
						if last+k == 1 {
							break // the first of all is 1
						}
						if other := sum(append(append([]scaleup.Topology(nil), s.Topologies[:last]...), scaleup.Circulant(n, offsets...))); other < got {
							t.Errorf("n %d k %d relay %v, %d topologies: %d hops, %d with offset %d", n, k, relay, last+1, got, other, x)
						}
					}
				}
			}
		}
	}
}

// plan.Relax equals its definition: the minimum over any number of hops by the offset.
func TestRelax(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		n := 2 + r.IntN(12)
		hops := make([]int32, n)
		for i := range hops {
			hops[i] = r.Int32N(20)
		}
		s := 1 + r.IntN(n-1)
		want := make([]int32, n)
		for i := range want {
			want[i] = hops[i]
			for x := range n {
				want[i] = min(want[i], hops[((i-x*s)%n+n)%n]+int32(x))
			}
		}
		got := append([]int32(nil), hops...)
		if plan.Relax(got, s); !reflect.DeepEqual(got, want) {
			t.Fatalf("offset %d after %v: %v, want %v", s, hops, got, want)
		}
	}
}

// If GPU 1 may hold one chunk in transit, a chunk that passes through it excludes others in
// that slot only.
func TestLinkTimetable(t *testing.T) {
	p := linkTimetable{topology: scaleup.Circulant(4, 1), maxTransit: 1, busy: make([][]bool, 4), transit: make([][]int32, 4)}
	p.reserve([]int32{0, 1}, 1)
	for begin, want := range []bool{true, false, true} {
		if got := p.fits([]int32{0}, begin); got != want {
			t.Errorf("start in slot %d and end at GPU 1: %v, want %v", begin, got, want)
		}
	}
	p.transit[1][0] = 1
	for begin, want := range []bool{false, false, true} {
		if got := p.fits([]int32{0, 1}, begin); got != want {
			t.Errorf("start in slot %d and pass through: %v, want %v", begin, got, want)
		}
	}
}
