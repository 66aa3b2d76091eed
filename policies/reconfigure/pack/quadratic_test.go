package pack

import (
	"testing"

	"pgregory.net/rapid"
)

// exchangeDelta and sum agree with the sum computed from its definition, also for large
// demands and hops.
func TestExchangeDelta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 9).Draw(t, "n")
		draw := func(name string) []int32 {
			largest := int32(1) << rapid.IntRange(1, 20).Draw(t, "bits of "+name)
			m := rapid.SliceOfN(rapid.Int32Range(0, largest), n*n, n*n).Draw(t, name)
			for x := range n {
				m[x*n+x] = 0
			}
			return m
		}
		demand, hops := draw("need"), draw("hops")
		q := newQuadraticAssignment(n, demand, hops, nil, nil)
		sum := totalHops(demand, hops)
		for range 4 {
			if q.sum() != sum {
				t.Fatalf("sum %d, want %d", q.sum(), sum)
			}
			x, y := rapid.IntRange(0, n-1).Draw(t, "x"), rapid.IntRange(0, n-1).Draw(t, "y")
			if x == y {
				continue
			}
			delta := q.exchangeDelta(x, y)
			q.exchange(x, y)
			sum = 0
			for a, u := range q.gpus {
				for b, v := range q.gpus {
					sum += int64(demand[int(u)*n+int(v)]) * int64(hops[a*n+b])
				}
			}
			if got := q.sum(); got != sum || delta != sum-previousSum(q, x, y) {
				t.Fatalf("changes by %d to %d, want %d", delta, got, sum)
			}
		}
	})
}

// previousSum returns the sum before the last exchange.
func previousSum(q *quadraticAssignment, x, y int) int64 {
	c := q.clone()
	c.exchange(x, y)
	return c.sum()
}
