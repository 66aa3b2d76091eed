package graph

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/fabric/scaleup"
)

// initialAssignment returns the initial state of the sweeps for a demand on a topology.
func initialAssignment(t scaleup.Topology, n int, demand []float64) (b *bushAssignment, total float64) {
	for _, d := range demand {
		total += d
	}
	if total == 0 {
		return nil, 0
	}
	g, links := network(t, n)
	b, err := newBushAssignment(g, links, demand, total)
	if err != nil {
		panic(err)
	}
	return b, total
}

// checkFlows verifies that flows are not negative and meet the demand, and returns the maximum
// load of a link.
func checkFlows(b *bushAssignment, flow []float64) (float64, error) {
	n, m := b.Nodes(), len(b.To)
	load := make([]float64, m)
	for i, s := range b.source {
		stay, through := make([]float64, n), make([]float64, n)
		for e, x := range flow[i*m : (i+1)*m] {
			if !(x >= 0) {
				return 0, fmt.Errorf("%v from %d over %d->%d", x, s, b.From[e], b.To[e])
			}
			stay[b.From[e]] -= x
			stay[b.To[e]] += x
			through[b.To[e]] += x
			load[e] += x
		}
		want := make([]float64, n)
		for v, d := range b.demand[i*n : (i+1)*n] {
			want[v] += d
			want[s] -= d
		}
		for v := range n {
			if math.Abs(stay[v]-want[v]) > 1e-12*(through[v]-min(0, want[v])) {
				return 0, fmt.Errorf("%v from %d stays at %d, want %v", stay[v], s, v, want[v])
			}
		}
	}
	worst := 0.0
	for e, x := range load {
		worst = max(worst, x/b.capacity[e])
	}
	return worst, nil
}

// checkMembers verifies that members of bushes follow the order, that only they have flow, and
// that some member enters every GPU.
func checkMembers(b *bushAssignment) error {
	n, m := b.Nodes(), len(b.To)
	for i, s := range b.source {
		order := b.order[i*n : i*n+b.numReached[i]]
		rank := make([]int, n)
		for v := range rank {
			rank[v] = -1
		}
		for k, v := range order {
			rank[v] = k
		}
		entered := make([]int, n)
		for e := range m {
			u, v := b.From[e], b.To[e]
			if b.member[i*m+e] {
				if entered[v]++; rank[u] < 0 || rank[u] >= rank[v] {
					return fmt.Errorf("from %d: %d->%d leads from place %d to %d", s, u, v, rank[u], rank[v])
				}
			} else if b.flow[i*m+e] != 0 {
				return fmt.Errorf("from %d: %v over %d->%d beside the bush", s, b.flow[i*m+e], u, v)
			}
		}
		for _, v := range order {
			if v != s && entered[v] == 0 || v == s && entered[v] > 0 {
				return fmt.Errorf("from %d: %d ways to %d", s, entered[v], v)
			}
		}
	}
	return nil
}

// TestSweeps verifies the state after any number of sweeps. Flows meet the demand and have the
// reported loads. Prices prove the bound, with distances by the algorithm of Floyd and Warshall.
// Bushes have no cycles.
func TestSweeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topology, n, demand := drawProblem(t, 12, 3)
		b, total := initialAssignment(topology, n, demand)
		if b == nil {
			return
		}
		gap := rapid.SampledFrom([]float64{1e-2, 1e-3, 1e-4}).Draw(t, "gap")
		r := b.solve(CongestionOptions{Gap: gap, Iterations: 2 * rapid.IntRange(1, 200).Draw(t, "sweeps")})
		if err := checkMembers(b); err != nil {
			t.Fatal(err)
		}
		if _, err := checkFlows(b, b.flow); err != nil {
			t.Fatal(err)
		}
		worst, err := checkFlows(b, b.bestFlow)
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(worst-r.Load) <= 1e-12*worst) {
			t.Fatalf("the routing loads %v, claimed %v", worst, r.Load)
		}
		if bound := provedBound(b.Digraph, b.capacity, b.bestPrice, demand) / total; !(math.Abs(bound-r.Bound) <= 1e-12*bound) {
			t.Fatalf("the prices prove %v, claimed %v", bound, r.Bound)
		}
		if r.Certified != (r.Load-r.Bound <= gap*r.Bound) {
			t.Fatalf("%+v of gap %v", *r, gap)
		}
	})
}

// TestSweepsSuffice verifies that brackets of 1e-3 need far less than the default budget on
// typical graphs.
func TestSweepsSuffice(t *testing.T) {
	for _, n := range []int{16, 24, 33} {
		for _, graph := range []string{"kautz", "circulant", "rings", "greedy"} {
			for _, demand := range []string{"uniform", "random", "zipf"} {
				d := demands(n, demand)
				if r := bracket(t, graphs(n, graph, d), n, d, CongestionOptions{}); r.Iterations > 120 {
					t.Errorf("n = %d, %s, %s: %d sweeps", n, graph, demand, r.Iterations)
				}
			}
		}
	}
}

// TestEqualise verifies an example by hand: 0 sends one unit to 1, half over 0->1 and half over
// 0->2->1, for any prices.
func TestEqualise(t *testing.T) {
	g := scaleup.Topology{{From: 0, To: 1}, {From: 0, To: 2}, {From: 2, To: 1}}
	b, _ := initialAssignment(g, 3, []float64{0, 1, 0, 0, 0, 0, 0, 0, 0})
	if want := []float64{1, 0, 0}; fmt.Sprint(b.flow) != fmt.Sprint(want) { // paths of the minimum number of hops first
		t.Fatalf("%v first, want %v", b.flow, want)
	}
	r := b.solve(CongestionOptions{Gap: 1e-4, Iterations: 400})
	if !r.Certified || r.Load < 0.5 || r.Bound > 0.5 {
		t.Fatalf("%+v, want 0.5", *r)
	}
}
