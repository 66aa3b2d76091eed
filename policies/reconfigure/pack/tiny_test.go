package pack

import (
	"math/rand/v2"
	"testing"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
)

// allPaths returns all paths from u to v that visit no GPU twice, as links of the network.
func allPaths(net *timeNetwork, u, v int32, relay bool) (list [][]int32) {
	var extend func(at int32, phase int, path []int32, visited uint)
	extend = func(at int32, phase int, path []int32, visited uint) {
		if at == v {
			list = append(list, append([]int32(nil), path...))
			return
		}
		for l := range int32(len(net.to)) {
			i, to := int(net.phase[l]), net.to[l]
			if net.source(l) == at && visited>>to&1 == 0 && (i == phase || i > phase && (relay || len(path) == 0)) {
				extend(to, i, append(path, l), visited|1<<to)
			}
		}
	}
	extend(u, 0, nil, 1<<u)
	return list
}

// minSlotSum returns the minimum over all assignments of the sum over phases of the larger
// of the largest load and the longest path. It tries all assignments.
func minSlotSum(p *plan.Problem, net *timeNetwork, relay bool, limit int64) int64 {
	type chunk struct{ list [][]int32 }
	var chunks []chunk
	for f, c := range p.Chunks {
		for range c {
			chunks = append(chunks, chunk{allPaths(net, int32(f/p.GPUs), int32(f%p.GPUs), relay)})
		}
	}
	load := make([]int64, len(net.to))
	best := limit
	total := func(longest []int64) (sum int64) {
		for i := range net.phases {
			largest := longest[i]
			for _, x := range load[net.base[i]:net.base[i+1]] {
				largest = max(largest, x)
			}
			sum += largest
		}
		return sum
	}
	var try func(i int, longest []int64)
	try = func(i int, longest []int64) {
		now := total(longest)
		if now >= best {
			return
		}
		if i == len(chunks) {
			best = now
			return
		}
		for _, path := range chunks[i].list {
			next := append([]int64(nil), longest...)
			hops := make([]int64, net.phases)
			for _, l := range path {
				load[l]++
				hops[net.phase[l]]++
			}
			for j, h := range hops {
				next[j] = max(next[j], h)
			}
			try(i+1, next)
			for _, l := range path {
				load[l]--
			}
		}
	}
	try(0, make([]int64, net.phases))
	return best
}

// On tiny problems, schedules are compared with the minimum over all assignments: never
// below it, and equal to it for at least 60 % of the problems.
func TestTinyProblemsByBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	optimal, excess := 0, int64(0)
	const draws = 150
	for range draws {
		n := 3 + r.IntN(2)
		p := &plan.Problem{GPUs: n, Degree: 1 + r.IntN(2), Chunks: make([]int32, n*n)}
		for range 3 + r.IntN(4) {
			if u, v := r.IntN(n), r.IntN(n); u != v {
				p.Chunks[u*n+v]++
			}
		}
		s := Sequence{Topologies: []scaleup.Topology{scaleup.Circulant(n, 1)}}
		for range 1 + r.IntN(2) {
			var e scaleup.Topology
			for range p.Degree {
				for u, v := range r.Perm(n) {
					e = append(e, scaleup.Edge{From: int32(u), To: int32(v)})
				}
			}
			s.Topologies = append(s.Topologies, e)
		}
		relay := r.IntN(2) == 0
		q, err := fitSequence(p, s, Options{Relay: relay})
		if err != nil {
			t.Fatal(err)
		}
		want := minSlotSum(p, newTimeNetwork(s.Topologies, n), relay, 1<<40)
		if q.Total < want {
			t.Fatalf("%+v: %d slots, below the minimum %d", p, q.Total, want)
		}
		if q.Bound > want {
			t.Fatalf("%+v: the bound %d is above the minimum %d", p, q.Bound, want)
		}
		if q.Total == want {
			optimal++
		}
		excess += q.Total - want
	}
	t.Logf("%d of %d optimal, %d slots above the minimum in total", optimal, draws, excess)
	if optimal < draws*6/10 {
		t.Errorf("only %d of %d optimal", optimal, draws)
	}
}

// The paper's ring of 8 takes 28 slots. Two shifts with relaying take 14, two fewer than
// Theorem 1 allows without relaying.
func TestKnownSchedules(t *testing.T) {
	p := plan.UniformProblem(8, 1, 1)
	for _, c := range []struct {
		shifts []int
		relay  bool
		want   int64
	}{{[]int{1}, false, 28}, {[]int{1}, true, 28}, {[]int{1, 3}, true, 14}, {[]int{1, 2, 3, 4, 5, 6, 7}, false, 7}} {
		var s Sequence
		for _, x := range c.shifts {
			s.Topologies = append(s.Topologies, scaleup.Circulant(8, x))
		}
		q, err := fitSequence(p, s, Options{Relay: c.relay})
		if err != nil {
			t.Fatal(err)
		}
		if q.Total != c.want {
			t.Errorf("shifts %v, relay %v: %d slots, want %d", c.shifts, c.relay, q.Total, c.want)
		}
	}
}

// forEachPermutation calls do with each permutation of 0..n-1.
func forEachPermutation(n int, do func(to []int32)) {
	to := make([]int32, n)
	for i := range to {
		to[i] = int32(i)
	}
	var at func(i int)
	at = func(i int) {
		if i == n {
			do(to)
		}
		for j := i; j < n; j++ {
			to[i], to[j] = to[j], to[i]
			at(i + 1)
			to[i], to[j] = to[j], to[i]
		}
	}
	at(0)
}

// Relabelling is compared with all permutations of up to 6 GPUs: never better, and equal
// for at least 90 % of the problems.
func TestRelabelByBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	optimal := 0
	const draws = 100
	for range draws {
		n := 3 + r.IntN(4)
		p := &plan.Problem{GPUs: n, Degree: 1, Chunks: make([]int32, n*n)}
		for i := range p.Chunks {
			if i/n != i%n {
				p.Chunks[i] = r.Int32N(10)
			}
		}
		s := Sequence{Topologies: []scaleup.Topology{scaleup.Circulant(n, 1), scaleup.Circulant(n, n-1)}}
		relay := r.IntN(2) == 0
		hops, err := s.hops(n, relay, nil)
		if err != nil {
			t.Fatal(err)
		}
		best := int64(1 << 40)
		forEachPermutation(n, func(at []int32) {
			sum := int64(0)
			for x := range n {
				for y := range n {
					sum += int64(hops[x*n+y]) * int64(p.Chunks[int(at[x])*n+int(at[y])])
				}
			}
			best = min(best, sum)
		})
		q, sum, err := s.relabel(p, relay, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := q.hops(n, relay, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := totalHops(p.Chunks, again); got != sum || sum < best || sum > totalHops(p.Chunks, hops) {
			t.Fatalf("%d hops, returned %d; minimum %d, before %d", got, sum, best, totalHops(p.Chunks, hops))
		}
		if sum == best {
			optimal++
		}
	}
	t.Logf("%d of %d optimal", optimal, draws)
	if optimal < draws*9/10 {
		t.Errorf("only %d of %d optimal", optimal, draws)
	}
}

// On a ring, the score of the quadratic assignment is n x the slots of the schedule, and
// relabelling reduces them.
func TestRelabelledRing(t *testing.T) {
	p := drawDemand(16, 1, "zipf", 8, 3)
	for _, shift := range []int{1, 5} {
		s := Sequence{Topologies: []scaleup.Topology{scaleup.Circulant(16, shift)}}
		before, err := fitSequence(p, s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		hops, err := s.hops(16, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := newQuadraticAssignment(16, p.Chunks, hops, s.cycle(16), nil).score(); got != 16*before.Total {
			t.Errorf("shift %d: score %d, want 16 x %d", shift, got, before.Total)
		}
		r, err := relabelSequence(p, s, false)
		if err != nil {
			t.Fatal(err)
		}
		after, err := fitSequence(p, r, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("shift %d: %d slots before, %d after", shift, before.Total, after.Total)
		if after.Total*100 > before.Total*95 {
			t.Errorf("shift %d: %d slots before, %d after", shift, before.Total, after.Total)
		}
	}
}
