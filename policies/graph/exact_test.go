package graph

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// TestCongestionSteps compares loads, bounds, sweeps and sources of MinCongestion on seeded
// graphs with stored values, for several gaps and budgets. It detects changes of a step, of its
// length, and of the end of the search.
func TestCongestionSteps(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the digest is of amd64; other processors may round otherwise")
	}
	rng := rand.New(rand.NewPCG(1, 31))
	digest := fnv.New64a()
	for k := range 40 {
		n := 3 + rng.IntN(9)
		var arcs []Arc
		var capacity []float64
		for a := range int32(n) {
			arcs = append(arcs, Arc{From: a, To: (a + 1) % int32(n)})
			for b := range int32(n) {
				if b != a && b != (a+1)%int32(n) && rng.IntN(3) == 0 {
					arcs = append(arcs, Arc{From: a, To: b})
				}
			}
		}
		for range arcs {
			capacity = append(capacity, float64(1+rng.IntN(3)))
		}
		demand := make([]float64, n*n)
		for i := range demand {
			if i/n != i%n && rng.IntN(4) > 0 {
				demand[i] = float64(rng.IntN(5)) * math.Pow(8, float64(rng.IntN(1+k%3)))
			}
		}
		g := NewDigraph(n, arcs)
		for _, o := range []CongestionOptions{{}, {Gap: 1e-4}, {Gap: 1e-2, Iterations: 7}, {Iterations: 1}} {
			sources := 0
			o.Check = func() { sources++ }
			r, err := MinCongestion(g, capacity, demand, o)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(digest, "%.9g %.9g %d %v %d\n", r.Load, r.Bound, r.Iterations, r.Certified, sources)
		}
	}
	if got, want := digest.Sum64(), uint64(0x46c4496468b11686); got != want {
		t.Errorf("steps: digest %#x, want %#x", got, want)
	}
}

// TestLargeTree compares shortest paths on large graphs, whose heap is deep, with repeated
// relaxation of all arcs. Nodes are reached in order of their distance.
func TestLargeTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 31))
	for _, n := range []int{40, 150, 400} {
		var arcs []Arc
		for a := range int32(n) {
			for range 1 + rng.IntN(9) {
				arcs = append(arcs, Arc{From: a, To: rng.Int32N(int32(n)), Class: int32(len(arcs))})
			}
		}
		for b := range int32(n) { // the first node reaches many at once
			if rng.IntN(3) == 0 {
				arcs = append(arcs, Arc{From: 0, To: b, Class: int32(len(arcs))})
			}
		}
		g := NewDigraph(n, arcs)
		length := make([]float64, len(arcs))
		for i := range length {
			length[i] = float64(rng.IntN(50))
		}
		tree := NewTree(g)
		for root := range int32(3) {
			tree.Clear()
			tree.Grow(root, length)
			want := slices.Repeat([]float64{math.Inf(1)}, n)
			want[root] = 0
			for changed := true; changed; {
				changed = false
				for _, a := range arcs {
					if d := want[a.From] + length[a.Class]; d < want[a.To] {
						want[a.To], changed = d, true
					}
				}
			}
			reached := 0
			for v, d := range tree.Dist {
				if d != want[v] && (d >= 0 || !math.IsInf(want[v], 1)) {
					t.Fatalf("node %d of %d is %g from %d, want %g", v, n, d, root, want[v])
				}
				if d >= 0 {
					reached++
				}
			}
			if len(tree.Order) != reached || !slices.IsSortedFunc(tree.Order, func(a, b int32) int { return int(want[a] - want[b]) }) {
				t.Fatalf("%d nodes in the order %v, want %d by distance", len(tree.Order), tree.Order, reached)
			}
		}
	}
}

// TestLargeMatching compares matchings of up to 130 rows, whose columns take several words, with
// depth-first augmenting paths, while cells are added and removed.
func TestLargeMatching(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 31))
	for _, n := range []int{1, 63, 64, 65, 127, 128, 130} {
		m, admitted := NewMatching(n), make([]bool, n*n)
		for round := range 4 {
			for range n * (1 + round%2) {
				row, column := rng.IntN(n), rng.IntN(n)
				if rng.IntN(5) > 0 {
					m.AddCell(row, column)
					admitted[row*n+column] = true
				} else {
					m.RemoveCell(row, column)
					admitted[row*n+column] = false
				}
			}
			m.AddCell(n-1, n-1)
			admitted[n*n-1] = true
			from := slices.Repeat([]int{-1}, n)
			want := 0
			for row := range n {
				seen := make([]bool, n)
				var augment func(row int) bool
				augment = func(row int) bool {
					for c := range n {
						if admitted[row*n+c] && !seen[c] {
							seen[c] = true
							if from[c] < 0 || augment(from[c]) {
								from[c] = row
								return true
							}
						}
					}
					return false
				}
				if augment(row) {
					want++
				}
			}
			if got := m.Grow(nil); got != (want == n) || m.Pairs != want {
				t.Fatalf("%d pairs of %d rows, want %d; perfect %v", m.Pairs, n, want, got)
			}
			pairs := 0
			for row, c := range m.To {
				if c < 0 {
					continue
				}
				if pairs++; !admitted[row*n+int(c)] || m.From[c] != int32(row) {
					t.Fatalf("row %d of %d has column %d", row, n, c)
				}
			}
			if pairs != want {
				t.Fatalf("%d rows have a column, want %d", pairs, want)
			}
		}
	}
}

// TestExchangesBudget verifies that a run tries exactly as many pairs as its budget.
func TestExchangesBudget(t *testing.T) {
	for n := range 6 {
		for budget := range 20 {
			for _, helps := range []bool{false, true} {
				// After an improvement, all pairs are tried once more, the improving pair last.
				x, asked := Exchanges{N: n}, 0
				x.Run(budget, func(a, b int) bool { asked++; return helps })
				want := min(budget, n*(n-1)/2)
				if helps && n > 1 {
					want = budget
				}
				if asked != want {
					t.Errorf("%d items, budget %d, helps %v: asked for %d pairs, want %d", n, budget, helps, asked, want)
				}
			}
		}
	}
	// After a pair that helps, all pairs are requested once more, and that pair last.
	x, asked := Exchanges{N: 4}, 0
	x.Run(100, func(a, b int) bool { asked++; return asked == 3 })
	if asked != 3+6 {
		t.Errorf("asked for %d pairs, want 9", asked)
	}
}

// TestAssignmentOrder verifies that among several optimal matchings of a seeded matrix the same
// one is always returned, independent of earlier calls.
func TestAssignmentOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 31))
	digest := fnv.New64a()
	var used Assignment
	for range 300 {
		rows := 1 + rng.IntN(7)
		columns := rows + rng.IntN(4)
		weight := make([]int64, rows*columns)
		for i := range weight {
			weight[i] = rng.Int64N(4)
		}
		to, again := make([]int32, rows), make([]int32, rows)
		checks := 0
		used.Solve(rows, columns, weight, to, func() { checks++ })
		new(Assignment).Solve(rows, columns, weight, again, nil)
		if !slices.Equal(to, again) || checks != rows {
			t.Fatalf("columns %v after %d checks, and %v anew of %d rows", to, checks, again, rows)
		}
		fmt.Fprintln(digest, to)
	}
	if got, want := digest.Sum64(), uint64(0x5a2639dde5e568a9); got != want {
		t.Errorf("order: digest %#x, want %#x", got, want)
	}
}
