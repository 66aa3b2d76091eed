package graph

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestHeap verifies that items come out in order under random pushes, changes and removals.
func TestHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type item struct{ value, id int }
		order := func(a, b item) int { return cmp.Or(a.value-b.value, b.id-a.id) }
		h := NewHeap(func(a, b item) bool { return order(a, b) < 0 })
		var have []item
		for id := range rapid.IntRange(1, 60).Draw(t, "steps") {
			value := rapid.IntRange(0, 9).Draw(t, "value")
			switch what := rapid.IntRange(0, 3).Draw(t, "what"); {
			case what < 2 || len(have) == 0:
				h.Push(item{value, id})
				have = append(have, item{value, id})
			case what == 2:
				if first := h.Pop(); first != have[0] {
					t.Fatalf("%v, want %v", first, have[0])
				}
				have = have[1:]
			default:
				h.First().value, have[0].value = value, value
				h.Fix()
			}
			slices.SortFunc(have, order)
			if len(have) > 0 && *h.First() != have[0] {
				t.Fatalf("%v, want %v", *h.First(), have[0])
			}
		}
	})
}

func drawGraph(t *rapid.T) *Digraph {
	n := rapid.Int32Range(1, 12).Draw(t, "nodes")
	to := rapid.SliceOfN(rapid.Int32Range(0, n-1), 0, 5)
	g := new(Digraph)
	for a := range n {
		for _, b := range to.Draw(t, "to") {
			g.Add(a, b, int32(len(g.To)))
		}
		g.Close()
	}
	return g
}

// TestTree compares paths with the algorithm of Bellman and Ford, by lengths and by numbers of
// arcs. Paths lead from the root to the node, and nodes are in order of their distance.
func TestTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		root := rapid.Int32Range(0, int32(g.Nodes()-1)).Draw(t, "root")
		ones := slices.Repeat([]float64{1}, len(g.To))
		length := rapid.SliceOfN(rapid.Float64Range(0, 3), len(g.To), len(g.To)).Draw(t, "length")
		tree := NewTree(g)
		for _, c := range []struct {
			length []float64
			grow   func()
		}{{length, func() { tree.Grow(root, length) }}, {ones, func() { tree.Breadth(root) }}, {ones, func() { tree.Grow(root, ones) }}} {
			c.grow()
			want := slices.Repeat([]float64{math.Inf(1)}, g.Nodes())
			want[root] = 0
			for range want {
				for k := range g.To {
					want[g.To[k]] = min(want[g.To[k]], want[g.From[k]]+c.length[k])
				}
			}
			last := 0.0
			for _, a := range tree.Order {
				at, sum := root, 0.0
				for _, k := range tree.Path(a, nil) {
					if g.From[k] != at {
						t.Fatalf("the path to %d jumps from %d to %d", a, at, g.From[k])
					}
					at, sum = g.To[k], sum+c.length[k]
				}
				if at != a || sum != tree.Dist[a] || math.Abs(sum-want[a]) > 1e-12 || sum < last {
					t.Fatalf("the path to %d is %g, ends at %d; want %g", a, sum, at, want[a])
				}
				last, want[a] = sum, math.Inf(1)
			}
			for a, d := range want {
				if !math.IsInf(d, 1) {
					t.Fatalf("%d was not reached", a)
				}
			}
		}
	})
}

// TestMatching compares the size of matchings with exhaustive search, and verifies that they use
// admitted cells only.
func TestMatching(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "n")
		m, admitted := NewMatching(n), make([]bool, n*n)
		var maxMatching func(row int, used uint) int
		maxMatching = func(row int, used uint) int {
			if row == n {
				return 0
			}
			best := maxMatching(row+1, used)
			for c := range n {
				if admitted[row*n+c] && used>>c&1 == 0 {
					best = max(best, 1+maxMatching(row+1, used|1<<c))
				}
			}
			return best
		}
		for range 3 {
			for cell := range admitted {
				switch rapid.IntRange(0, 3).Draw(t, "cell") {
				case 0:
					m.AddCell(cell/n, cell%n)
					admitted[cell] = true
				case 1:
					m.RemoveCell(cell/n, cell%n)
					admitted[cell] = false
				}
			}
			rows := 0
			if want := maxMatching(0, 0); m.Grow(func() { rows++ }) != (want == n) || m.Pairs != want {
				t.Fatalf("%d pairs, want %d", m.Pairs, want)
			}
			for row, c := range m.To {
				if c >= 0 && (!admitted[row*n+int(c)] || m.From[c] != int32(row)) {
					t.Fatalf("row %d has column %d", row, c)
				}
			}
		}
	})
}

// TestAssignment compares with all matchings of a small number of rows.
func TestAssignment(t *testing.T) {
	var a Assignment
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 5).Draw(t, "rows")
		columns := rows + rapid.IntRange(0, 2).Draw(t, "more columns")
		weight := rapid.SliceOfN(rapid.Int64Range(-5, 15), rows*columns, rows*columns).Draw(t, "weight")
		var best func(row, taken int) int64
		best = func(row, taken int) int64 {
			if row == rows {
				return 0
			}
			maxWeight := int64(math.MinInt64 / 2)
			for c := range columns {
				if taken>>c&1 == 0 {
					maxWeight = max(maxWeight, weight[row*columns+c]+best(row+1, taken|1<<c))
				}
			}
			return maxWeight
		}
		to := make([]int32, rows)
		a.Solve(rows, columns, weight, to, nil)
		sum, taken := int64(0), 0
		for r, c := range to {
			if taken>>c&1 == 1 {
				t.Fatalf("%v has column %d twice", to, c)
			}
			sum, taken = sum+weight[r*columns+int(c)], taken|1<<c
		}
		if want := best(0, 0); sum != want {
			t.Fatalf("weight %d by %v, want %d", sum, to, want)
		}
	})
}

// TestExchanges verifies that a search without a budget ends when no exchange helps, and that
// each run starts after the last pair of the previous run.
func TestExchanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "n")
		weight := rapid.SliceOfN(rapid.IntRange(0, 20), n*n, n*n).Draw(t, "weight")
		at := make([]int, n)
		for i := range at {
			at[i] = i
		}
		sum := func() (sum int) {
			for i, w := range at {
				sum += weight[i*n+w]
			}
			return sum
		}
		x, last := Exchanges{N: n}, [2]int{0, 0}
		try := func(a, b int) bool {
			want := [2]int{last[0], last[1] + 1}
			if want[1] == n {
				want = [2]int{last[0] + 1, last[0] + 2}
			}
			if want[0] >= n-1 {
				want = [2]int{0, 1}
			}
			if last = [2]int{a, b}; last != want {
				t.Fatalf("pair %v, want %v", last, want)
			}
			before := sum()
			at[a], at[b] = at[b], at[a]
			if sum() < before {
				return true
			}
			at[a], at[b] = at[b], at[a]
			return false
		}
		x.Run(rapid.IntRange(0, 9).Draw(t, "budget"), try)
		x.Run(math.MaxInt, try)
		current := sum()
		for a := range n {
			for b := range a {
				at[a], at[b] = at[b], at[a]
				if s := sum(); s < current {
					t.Fatalf("exchanging %d and %d would lower %d to %d", a, b, current, s)
				}
				at[a], at[b] = at[b], at[a]
			}
		}
	})
}
