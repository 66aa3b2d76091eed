package baselines

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/pack"
	"sim/policies/reconfigure/plan"
)

// zipf returns the weights of a Zipf distribution with exponent 0.4, and their sum.
func zipf(pairs int) (weights []float64, sum float64) {
	for r := 1; r <= pairs; r++ {
		w := math.Pow(float64(r), -0.4)
		weights = append(weights, w)
		sum += w
	}
	return weights, sum
}

// hamiltonian reports whether the edges are one cycle of all n GPUs.
func hamiltonian(t scaleup.Topology, n int) bool {
	next := make([]int32, n)
	for _, e := range t {
		next[e.From] = e.To
	}
	u, steps := int32(0), 0
	for {
		u = next[u]
		if steps++; u == 0 || steps > n {
			return steps == n
		}
	}
}

// TestMixNetCycles: greedyCycles has a Hamiltonian cycle on each switch, and a circuit for a flow
// larger than all others. greedyCircuits has the same first cycle and fills almost all ports.
func TestMixNetCycles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 20)
		top, n := greedyCycles(p, p.Degree), p.GPUs
		if err := top.Check(n, p.Degree); err != nil || len(top) != n*p.Degree {
			t.Fatalf("%d edges, %v", len(top), err)
		}
		for i := range p.Degree {
			if !hamiltonian(top[i*n:(i+1)*n], n) {
				t.Fatalf("switch %d holds %v", i, top[i*n:(i+1)*n])
			}
		}
		free := greedyCircuits(p)
		if err := free.Check(n, p.Degree); err != nil || len(free) < n*p.Degree-(p.Degree-1) || !slices.Equal(free[:n], top[:n]) {
			t.Fatalf("%v beside %v, %v", free, top, err)
		}
		// A flow larger than all others has a circuit.
		largest := 0
		for f, c := range p.Chunks {
			if c > p.Chunks[largest] {
				largest = f
			}
		}
		if largest > 0 {
			p.Chunks[largest]++
			if top := greedyCycles(p, 1); !slices.Contains(top, scaleup.Edge{From: int32(largest / n), To: int32(largest % n)}) {
				t.Fatal("the largest flow has no circuit")
			}
		}
	})
}

// TestMixNetByHand: on the first switch, 0->2 (9) comes first, 2->0 (8) would close a cycle of
// two, 2->1 (7) follows, and 1->0 remains. On the second switch 0->2 has lower priority: 2->0
// (8), 0->1 (5), 1->2.
func TestMixNetByHand(t *testing.T) {
	p := &plan.Problem{GPUs: 3, Degree: 2, Chunks: []int32{0, 5, 9, 1, 0, 2, 8, 7, 0}}
	want := scaleup.Topology{{From: 0, To: 2}, {From: 1, To: 0}, {From: 2, To: 1}, {From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 0}}
	if got := greedyCycles(p, 2); !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// TestMixNetDraws: the seed determines the topology.
func TestMixNetDraws(t *testing.T) {
	p := plan.UniformProblem(16, 2, 1)
	one := greedyCycles(p, 2)
	if !slices.Equal(one, greedyCycles(p, 2)) {
		t.Error("the same seed, another topology")
	}
	if p.Seed = 1; slices.Equal(one, greedyCycles(p, 2)) {
		t.Error("another seed, the same topology")
	}
}

// TestRingShifts: shifts are coprime to n and different as long as possible. StaticRing's
// minimise the sum of distances, and TopoOpt's match examples computed by hand.
func TestRingShifts(t *testing.T) {
	for n := 2; n < 40; n++ {
		for k := 1; k < min(n, 7); k++ {
			for _, shifts := range [][]int{ringShifts(n, k), geometricShifts(n, k)} {
				if len(shifts) != k || shifts[0] != 1 {
					t.Fatalf("n = %d, k = %d: %v", n, k, shifts)
				}
				slices.Sort(shifts)
				for _, s := range shifts {
					if s < 1 || s >= n || plan.GCD(s, n) != 1 {
						t.Fatalf("n = %d, k = %d: %v", n, k, shifts)
					}
				}
				if different := len(slices.Compact(shifts)); different < min(k, len(coprimes(n))) {
					t.Fatalf("n = %d, k = %d: %v", n, k, shifts)
				}
			}
		}
	}
	if got := ringShifts(16, 2); !slices.Equal(got, []int{1, 15}) {
		t.Errorf("two rings of 16: %v", got)
	}
	for _, n := range []int{7, 16, 31, 64} {
		got, minSum := ringShifts(n, 3), math.MaxInt
		for _, s := range coprimes(n)[1:] {
			if s != n-1 {
				minSum = min(minSum, hopSum(n, []int{1, n - 1, s}))
			}
		}
		if d := hopSum(n, got); d != minSum {
			t.Errorf("three rings of %d: %v with distances %d, not %d", n, got, d, minSum)
		}
	}
	// 64^(1/2) = 8 lies between 7 and 9; 64^(1/3) = 4, 64^(2/3) = 16.
	if got := geometricShifts(64, 2); !slices.Equal(got, []int{1, 7}) {
		t.Errorf("TopoOpt at n = 64, k = 2: %v", got)
	}
	if got := geometricShifts(64, 3); !slices.Equal(got, []int{1, 3, 15}) {
		t.Errorf("TopoOpt at n = 64, k = 3: %v", got)
	}
}

// TestBidirectionalRing: for odd n and uniform demand, each link of a ring in both directions carries
// (n-1)/2 * (n+1)/2 / 2 chunks.
func TestBidirectionalRing(t *testing.T) {
	for _, n := range []int{5, 9, 17} {
		list, err := StaticRing(plan.UniformProblem(n, 2, 1), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if want := int64((n - 1) / 2 * ((n + 1) / 2) / 2); list[0].Slots != want {
			t.Errorf("n = %d: %d slots, not %d", n, list[0].Slots, want)
		}
	}
}

// TestKautzReachesAll: generalised Kautz graphs of degree at least 2 reach every GPU within
// ceil(log_k n) hops (Imase and Itoh).
func TestKautzReachesAll(t *testing.T) {
	for n := 3; n < 90; n++ {
		for k := 2; k < min(n, 9); k++ {
			s := pack.Shortest(scaleup.GeneralizedKautz(n, k), n, nil)
			limit, reach := 0, 1
			for reach < n {
				reach *= k
				limit++
			}
			for i, h := range s.HopsTo {
				if h < 0 || int(h) > limit {
					t.Fatalf("n = %d, k = %d: %d hops from %d to %d, not 0..%d", n, k, h, i%n, i/n, limit)
				}
			}
		}
	}
}

// TestGreedyCircuits: greedyCircuits equals its definition, applied one circuit at a time.
func TestGreedyCircuits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t, 8)
		n, k := p.GPUs, p.Degree
		want, tie := greedyCycles(p, 1), drawTies(p)
		circuits, out, in := make([]int, n*n), make([]int, n), make([]int, n)
		take := func(f int) {
			circuits[f]++
			out[f/n]++
			in[f%n]++
		}
		for _, e := range want {
			take(int(e.From)*n + int(e.To))
		}
		for {
			best := -1
			for f, c := range p.Chunks {
				if f/n == f%n || out[f/n] == k || in[f%n] == k {
					continue
				}
				if best >= 0 {
					a, b := []int{circuits[f], -int(c), tie[f]}, []int{circuits[best], -int(p.Chunks[best]), tie[best]}
					if slices.Compare(a, b) > 0 {
						continue
					}
				}
				best = f
			}
			if best < 0 {
				break
			}
			take(best)
			want = append(want, scaleup.Edge{From: int32(best / n), To: int32(best % n)})
		}
		if got := greedyCircuits(p); !slices.Equal(got, want) {
			t.Fatalf("%v, not %v", got, want)
		}
	})
}

// TestHopBounds: on a ring of five GPUs in one direction, the farthest GPU is four hops away, and
// each link carries 1 + 2 + 3 + 4 chunks.
func TestHopBounds(t *testing.T) {
	const n = 5
	var ring scaleup.Topology
	p := &plan.Problem{GPUs: n, Degree: 1, Chunks: make([]int32, n*n)}
	for u := range int32(n) {
		ring = append(ring, scaleup.Edge{From: u, To: (u + 1) % n})
		for v := range int32(n) {
			if u != v {
				p.Chunks[u*n+v] = 1
			}
		}
	}
	hops, slots := hopBounds(p, pack.Shortest(ring, n, nil))
	if hops != 4 || slots != 1+2+3+4 {
		t.Errorf("got %d hops and %g slots, want 4 and 10", hops, slots)
	}
}
