package topology

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"sim/engine/flow"
)

// drawRelation draws a partial order of n elements, ascending.
func drawRelation(t *rapid.T, n int) *relation {
	r := &relation{row: make([][]uint64, n)}
	before := make([][]bool, n)
	for j := range n {
		r.row[j] = make([]uint64, (n-j+62)/64)
		before[j] = make([]bool, n)
		for i := range j {
			if !before[j][i] && rapid.IntRange(0, 3).Draw(t, "related") == 0 {
				before[j][i] = true
				for k := range i {
					before[j][k] = before[j][k] || before[i][k]
				}
			}
		}
	}
	for j := range n {
		for i := range j {
			if before[j][i] {
				r.row[i][(j-i-1)>>6] |= 1 << ((j - i - 1) & 63)
			}
		}
	}
	return r
}

// heaviestSubset tries every subset.
func heaviestSubset(set []int32, excludes func(i, j int32) bool, weight func(int32) float64) float64 {
	best := 0.0
	for mask := range 1 << len(set) {
		sum, ok := 0.0, true
		for a, i := range set {
			if mask>>a&1 == 0 {
				continue
			}
			sum += weight(i)
			for b := range a {
				ok = ok && (mask>>b&1 == 0 || !excludes(set[b], i))
			}
		}
		if ok {
			best = max(best, sum)
		}
	}
	return best
}

// TestHeaviestAntichain holds the maximum flow to brute force over subsets.
func TestHeaviestAntichain(t *testing.T) {
	var f antichain // reused, as by the scan
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "n")
		r := drawRelation(t, n)
		w := rapid.SliceOfN(rapid.IntRange(1, 9), n, n).Draw(t, "weights")
		weight := func(i int32) float64 { return float64(w[i]) }
		var set []int32
		for i := range int32(n) {
			if rapid.Bool().Draw(t, "active") {
				set = append(set, i)
			}
		}
		want := heaviestSubset(set, r.precedes, weight)
		if got := f.heaviest(set, r, weight); got != want {
			t.Fatalf("flow finds %v, subsets %v", got, want)
		}
		if got := greedyAntichain(set, r, weight); got > want {
			t.Fatalf("greedy finds %v of %v", got, want)
		}
	})
}

// reaches is the transitive closure by the book.
func reaches(p *Problem) [][]bool {
	n := len(p.Graph.Tasks)
	to := make([][]bool, n)
	order := p.Graph.Order()
	for k := n - 1; k >= 0; k-- {
		v := order[k]
		to[v] = make([]bool, n)
		for _, e := range p.Graph.Out(v) {
			to[v][e.To] = true
			for w := range n {
				to[v][w] = to[v][w] || to[e.To][w]
			}
		}
	}
	return to
}

// TestConcurrencyByHand holds Alg. 2 to its text on small DAGs: every interval between window bounds, every subset of
// what is active in it.
func TestConcurrencyByHand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		_, upper := p.incumbent(context.Background(), flow.MaxMin)
		c := newConcurrency(context.Background(), p, upper)
		related := reaches(p)
		got, capped := p.concurrency(context.Background(), upper, nil), p.mostUseful(context.Background(), upper)
		for e := range p.Fabric.Bundles {
			b := &p.Fabric.Bundles[e]
			peak := 0.0
			for _, l := range b.Links {
				for _, id := range c.onLink[l] {
					// what is active at a start holds all intervals' maxima
					var active []int32
					for _, o := range c.onLink[l] {
						if c.start[o] <= c.start[id] && c.start[id] < c.end[o] {
							active = append(active, o)
						}
					}
					peak = max(peak, heaviestSubset(active,
						func(i, j int32) bool { return related[i][j] || related[j][i] },
						func(i int32) float64 { return c.spans.Full[i] }))
				}
			}
			if want := peak / float64(b.Rate); float64(got[e]) < want-1e-6 || float64(got[e]) > max(1, want)+1-1e-6 {
				t.Fatalf("bundle %d: %d circuits for %g", e, got[e], want)
			}
			if want := max(1, min(got[e], p.Useful[e])); capped[e] != want {
				t.Fatalf("bundle %d: %d circuits with a limit of %d, want %d", e, capped[e], p.Useful[e], want)
			}
		}
	})
}

// TestMoreThanUsefulIsIdle: where a topology's makespan is within the upper bound, its circuits beyond Alg. 2's bound
// can go without a change.
func TestMoreThanUsefulIsIdle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		x := drawCircuits(t, p)
		w := p.player(context.Background(), flow.MaxMin)
		defer p.done(w)
		c, _ := w.play(x, never)
		y := append([]int(nil), x...)
		for e, most := range p.mostUseful(context.Background(), c) {
			y[e] = min(y[e], most)
		}
		if got, _ := w.play(y, never); got > c+10 {
			t.Fatalf("%v ends at %v, %v at %v", x, c, y, got)
		}
	})
}

// TestRelateLongChains covers rows of more than a word: transfer i precedes transfer j where j is a multiple of i's
// step after it.
func TestRelateLongChains(t *testing.T) {
	p := gridProblem(t, 5, 60)
	c := newConcurrency(context.Background(), p, never/4)
	for _, tasks := range c.onLink {
		if len(tasks) != 300 {
			t.Fatalf("%d transfers", len(tasks))
		}
		rows, _ := c.overlaps(tasks)
		r := c.relate(tasks, rows)
		for j, b := range tasks {
			for i, a := range tasks[:j] {
				if got, want := r.precedes(int32(i), int32(j)), a%5 == b%5; got != want {
					t.Fatalf("%d before %d: %v, want %v", a, b, got, want)
				}
			}
		}
		if got := p.concurrency(context.Background(), never/4, nil); got[0] != 5 {
			t.Errorf("%d chains can be under way together, want 5", got[0])
		}
	}
}
