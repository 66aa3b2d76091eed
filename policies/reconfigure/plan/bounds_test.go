package plan_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/fabric/scaleup"
	"sim/policies/reconfigure/plan"
	"sim/policies/reconfigure/plan/plantest"
)

func bounds(t rapid.TB, p *plan.Problem, d int) plan.Bounds {
	t.Helper()
	b, err := boundsOf(p, d)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// At k = 1 the bound of the round model is Theorem 1, and the bound with waiting is not
// lower.
func TestTheorem1(t *testing.T) {
	for n := 2; n <= 70; n++ {
		for d := 1; d <= n+2; d++ {
			for c := int64(1); c <= 3; c++ {
				q, u := int64((n-1)/d), int64((n-1)%d)
				want := c * (int64(d)*q*(q+1)/2 + u*(q+1))
				if b := bounds(t, plan.UniformProblem(n, 1, int32(c)), d); b.Round != want || b.Forward != want {
					t.Fatalf("n=%d d=%d c=%d: %+v, want %d", n, d, c, b, want)
				}
			}
		}
	}
}

// Values computed by hand. n=8, k=2: of 7 destinations 2 are at 1 hop, 4 at 2 and 1 at 3,
// so 13 hops on 2 links. In rounds of 2 it takes 4 rounds, 3 of them longer than 1 slot and
// 1 longer than 2. Relaying at d=2, k=1: 2, 3 and 2 of 7 at 1, 2 and 3 hops. n=4, k=2 with
// 2 chunks per pair takes 3 rounds, one of 2 slots: 4, not twice the 3 of one chunk.
// Circulants at n=8, k=2: 2, 3 and 2 at 1, 2 and 3 hops.
func TestBoundsByHand(t *testing.T) {
	for _, c := range []struct {
		n, k, chunks, d int
		want            plan.Bounds
	}{
		{8, 2, 1, 1, plan.Bounds{Round: 8, Forward: 7, Relay: 7, Circulant: 7, CirculantRelay: 7}},
		{8, 1, 1, 2, plan.Bounds{Round: 16, Forward: 16, Relay: 14, Circulant: 16, CirculantRelay: 14}},
		{8, 1, 1, 3, plan.Bounds{Round: 12, Forward: 12, Relay: 11, Circulant: 12, CirculantRelay: 11}},
		{4, 2, 1, 1, plan.Bounds{Round: 3, Forward: 2, Relay: 2, Circulant: 2, CirculantRelay: 2}},
		{4, 2, 2, 1, plan.Bounds{Round: 4, Forward: 4, Relay: 4, Circulant: 4, CirculantRelay: 4}},
		{64, 2, 1, 1, plan.Bounds{Round: 32 + 31 + 29 + 25 + 17 + 1, Forward: 1 + 4 + 12 + 32 + 80 + 3, Relay: 132, Circulant: 0, CirculantRelay: 0}},
	} {
		got := bounds(t, plan.UniformProblem(c.n, c.k, int32(c.chunks)), c.d)
		if c.n == 64 {
			got.Circulant, got.CirculantRelay = 0, 0
		}
		if got != c.want {
			t.Errorf("n=%d k=%d, %d chunks, d=%d: %+v, want %+v", c.n, c.k, c.chunks, c.d, got, c.want)
		}
	}
}

// n = 8, k = 1, one topology: all GPUs send 1 chunk to each of 4 GPUs. A receiver has its 7
// senders at 1 to 7 hops, 28 in total, so 112 hops on 8 links. Counted from the senders
// they would be only 64.
func TestBoundsInto(t *testing.T) {
	p := &plan.Problem{GPUs: 8, Degree: 1, Chunks: make([]int32, 64)}
	for f := range p.Chunks {
		if f%8 < 4 && f/8 != f%8 {
			p.Chunks[f] = 1
		}
	}
	if b := bounds(t, p, 1); b.Forward != 14 || b.Round != 0 {
		t.Errorf("%+v", b)
	}
}

// demand draws a few chunks.
func demand(t *rapid.T, n, k, maxChunks int) *plan.Problem {
	p := &plan.Problem{GPUs: n, Degree: k, Chunks: make([]int32, n*n)}
	if rapid.Bool().Draw(t, "uniform") {
		return plan.UniformProblem(n, k, int32(rapid.IntRange(1, 3).Draw(t, "chunks")))
	}
	for i := range p.Chunks {
		if i/n != i%n {
			p.Chunks[i] = int32(rapid.IntRange(0, maxChunks).Draw(t, "chunks"))
		}
	}
	return p
}

// For any topologies, the shortest paths of all chunks, found by search, take at least as
// many slots on n k links as the bounds.
func TestBoundsAgainstDistances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(t, "n")
		k := rapid.IntRange(1, min(3, n-1)).Draw(t, "k")
		d := rapid.IntRange(1, 4).Draw(t, "d")
		p := demand(t, n, k, 9)
		circulants := rapid.Bool().Draw(t, "circulants")
		tops := make([]scaleup.Topology, d)
		for i := range tops {
			if tops[i] = plantest.DrawRegular(t, n, k); circulants {
				offsets := make([]int, k)
				for j := range offsets {
					offsets[j] = rapid.IntRange(1, n-1).Draw(t, "offset")
				}
				tops[i] = scaleup.Circulant(n, offsets...)
			}
		}
		b := bounds(t, p, d)
		forward, relay := 0, 0
		for s := range n {
			far, near := distances(n, tops, s, false), distances(n, tops, s, true)
			for v := range n {
				if c := int(p.Chunks[s*n+v]); c > 0 {
					if far[v] < 0 {
						t.Skip("not connected")
					}
					forward, relay = forward+c*far[v], relay+c*near[v]
				}
			}
		}
		slots := func(hops int) int64 { return int64((hops + n*k - 1) / (n * k)) }
		volume := int64(0)
		for u := range n {
			out, into := int64(0), int64(0)
			for v := range n {
				out, into = out+int64(p.Chunks[u*n+v]), into+int64(p.Chunks[v*n+u])
			}
			volume = max(volume, (max(out, into)+int64(k)-1)/int64(k))
		}
		if b.Forward > max(volume, slots(forward)) || b.Relay > max(volume, slots(relay)) || min(b.Forward, b.Relay) < volume {
			t.Fatalf("%+v, but %d and %d hops and a volume of %d slots", b, forward, relay, volume)
		}
		if circulants && (b.Circulant > max(volume, slots(forward)) || b.CirculantRelay > max(volume, slots(relay))) {
			t.Fatalf("%+v, but %d and %d hops and a volume of %d slots on circulants", b, forward, relay, volume)
		}
		if b.Circulant < b.Forward || b.CirculantRelay < b.Relay || b.Forward < b.Relay {
			t.Fatalf("%+v are not in order", b)
		}
	})
}

// distances returns the minimum hops from s over one of the topologies, or over all in
// sequence; -1 if there is no path.
func distances(n int, tops []scaleup.Topology, s int, relay bool) []int {
	best := make([]int, n)
	for v := range best {
		best[v] = -1
	}
	start := append([]int(nil), best...)
	start[s] = 0
	for _, top := range tops {
		from := append([]int(nil), start...)
		for again := true; again; { // Bellman and Ford
			again = false
			for _, e := range top {
				if x := from[e.From]; x >= 0 && (from[e.To] < 0 || from[e.To] > x+1) {
					from[e.To], again = x+1, true
				}
			}
		}
		for v, x := range from {
			if x >= 0 && (best[v] < 0 || best[v] > x) {
				best[v] = x
			}
		}
		if relay {
			start = from
		}
	}
	return best
}

// The slots of an optimal schedule of a few chunks, found by exhaustive search, are not
// below the bounds.
func TestBoundsAgainstOptimum(t *testing.T) {
	met := 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 4).Draw(t, "n")
		k := rapid.IntRange(1, min(2, n-1)).Draw(t, "k")
		p := &plan.Problem{GPUs: n, Degree: k, Chunks: make([]int32, n*n)}
		if n <= 3 && rapid.Bool().Draw(t, "uniform") {
			p = plan.UniformProblem(n, k, 1)
		} else {
			for range rapid.IntRange(1, 5).Draw(t, "chunks") {
				u, v := rapid.IntRange(0, n-1).Draw(t, "src"), rapid.IntRange(0, n-1).Draw(t, "dst")
				if u != v {
					p.Chunks[u*n+v]++
				}
			}
		}
		var tops []scaleup.Topology
		for range rapid.IntRange(1, 2).Draw(t, "d") {
			tops = append(tops, plantest.DrawRegular(t, n, k))
		}
		b := bounds(t, p, len(tops))
		forward, relay := optimum(p, tops, false), optimum(p, tops, true)
		if forward >= 0 && int64(forward) < b.Forward || relay >= 0 && int64(relay) < b.Relay || relay > forward && forward >= 0 {
			t.Fatalf("%v: %d and %d slots, bounds %+v", tops, forward, relay, b)
		}
		if forward > 0 && int64(forward) == b.Forward {
			met++
		}
	})
	if met == 0 {
		t.Error("no schedule met its bound")
	}
}

// optimum returns the minimum slots in which chunks can be delivered over topologies in
// sequence, -1 if they cannot. It searches all positions of the chunks.
func optimum(p *plan.Problem, tops []scaleup.Topology, relay bool) int {
	type state = [6]int8
	var first, goal state
	count := 0
	for f, c := range p.Chunks {
		for range c {
			first[count], goal[count] = int8(f/p.GPUs), int8(f%p.GPUs)
			count++
		}
	}
	best := map[state]int{first: 0}
	for _, top := range tops {
		var byCost [][]state
		for s, cost := range best {
			for len(byCost) <= cost {
				byCost = append(byCost, nil)
			}
			byCost[cost] = append(byCost[cost], s)
		}
		seen := map[state]int{}
		for cost := 0; cost < len(byCost); cost++ {
			for _, s := range byCost[cost] {
				if old, ok := seen[s]; ok && old <= cost {
					continue
				}
				seen[s] = cost
				next := map[state]bool{}
				moves(s, s, 0, top, count, next)
				for to := range next {
					if _, ok := seen[to]; !ok {
						for len(byCost) <= cost+1 {
							byCost = append(byCost, nil)
						}
						byCost[cost+1] = append(byCost[cost+1], to)
					}
				}
			}
		}
		best = map[state]int{}
		for s, cost := range seen {
			rests := false
			for i := range count {
				rests = rests || s[i] != first[i] && s[i] != goal[i]
			}
			if relay || !rests {
				best[s] = cost
			}
		}
	}
	if cost, ok := best[goal]; ok {
		return cost
	}
	return -1
}

// moves appends the states that transmissions on links e and above can reach.
func moves(begin, now [6]int8, e int, top scaleup.Topology, count int, to map[[6]int8]bool) {
	if e == len(top) {
		return
	}
	moves(begin, now, e+1, top, count, to)
	for i := range count {
		if begin[i] == now[i] && begin[i] == int8(top[e].From) && top[e].From != top[e].To {
			then := now
			then[i] = int8(top[e].To)
			to[then] = true
			moves(begin, then, e+1, top, count, to)
		}
	}
}

func TestBadBounds(t *testing.T) {
	if _, err := boundsOf(plan.UniformProblem(8, 2, 1), 0); !errors.Is(err, plan.ErrProblem) {
		t.Error(err)
	}
	if _, err := boundsOf(plan.UniformProblem(8, 8, 1), 1); !errors.Is(err, plan.ErrProblem) {
		t.Error(err)
	}
	if b := bounds(t, plan.UniformProblem(8, 2, 1), math.MaxInt); b.Relay != 4 || b.Round != 4 {
		t.Errorf("%+v", b)
	}
}

// boundsOf returns the bounds of a problem for d topologies.
func boundsOf(p *plan.Problem, d int) (plan.Bounds, error) {
	b, err := plan.NewBounder(p, nil)
	if err != nil {
		return plan.Bounds{}, err
	}
	return b.At(d)
}
