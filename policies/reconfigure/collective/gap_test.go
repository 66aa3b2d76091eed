package collective

import (
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/policies/collective"
)

// TestGaps: no plan costs less than the bound, and the cheapest is never slower than the best
// static ring, over sizes, delays and domains (fewer without -long). With -v the test prints the
// mean and maximum gap by delay for two or more switches.
func TestGaps(t *testing.T) {
	gpus, sizes, maxDegree := []int{8, 30, 64}, []int64{1e3, 1e6}, 3
	if *long {
		gpus, sizes, maxDegree = []int{8, 16, 30, 64, 128, 256}, []int64{1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}, 4
	}
	delays := []engine.Time{0, engine.Microsecond, 10 * engine.Microsecond, 100 * engine.Microsecond, engine.Millisecond, 10 * engine.Millisecond}
	for _, op := range []collective.Kind{collective.AllGather, collective.ReduceScatter, collective.AllReduce} {
		sum, largest, count := make([]float64, len(delays)), make([]float64, len(delays)), 0
		for _, n := range gpus {
			for k := 1; k <= maxDegree; k++ {
				for _, bytes := range sizes {
					p := &Problem{GPUs: n, Degree: k, Op: op, Bytes: bytes, Rate: 800e9, Latency: 500 * engine.Nanosecond}
					plans, err := frontierPlans(p)
					if err != nil {
						t.Fatal(err)
					}
					static, err := staticRing(p)
					if err != nil {
						t.Fatal(err)
					}
					if k > 1 {
						count++
					}
					for i, delay := range delays {
						p.Delay = delay
						bound, err := Bound(p)
						if err != nil {
							t.Fatal(err)
						}
						cost, ring := cheapest(plans, delay).costAt(delay), static.costAt(delay)
						if cost < bound || cost > ring {
							t.Errorf("%v, n=%d, k=%d, %d B, delay %v: %v, bound %v, rings %v", op, n, k, bytes, delay, cost, bound, ring)
						}
						if gap := float64(cost-bound) / float64(bound); k > 1 {
							sum[i] += gap
							largest[i] = max(largest[i], gap)
						}
					}
				}
			}
		}
		for i, delay := range delays {
			t.Logf("%v, delay %v: gap %.4f on average, at most %.3f", op, delay, sum[i]/float64(count), largest[i])
		}
	}
}

// TestConverse: the best reduce-scatter takes as long as the best all-gather.
func TestConverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 70).Draw(t, "n")
		p := &Problem{
			GPUs: n, Degree: rapid.IntRange(1, min(n-1, 12)).Draw(t, "k"), Rate: 800e9, Latency: 500 * engine.Nanosecond,
			Bytes: int64(n) * rapid.Int64Range(1, 1e5).Draw(t, "shard"), // all shards have the same size
			Delay: engine.Time(rapid.Int64Range(0, 1e8).Draw(t, "delay")),
		}
		var costs []engine.Time
		for _, op := range []collective.Kind{collective.AllGather, collective.ReduceScatter} {
			p.Op = op
			best, err := best(p)
			if err != nil {
				t.Fatal(err)
			}
			costs = append(costs, best.cost())
		}
		if costs[0] != costs[1] {
			t.Errorf("all-gather %v, reduce-scatter %v", costs[0], costs[1])
		}
	})
}

// TestMoreLinks: more links than trees can use, or than a fold can share evenly, do not increase
// the cost.
func TestMoreLinks(t *testing.T) {
	for _, c := range []struct {
		op    collective.Kind
		gpus  int
		bytes int64
		links []int // rising
	}{
		{collective.AllGather, 64, 64e3, []int{8, 9, 12}},
		{collective.AllReduce, 256, 1e6, []int{8, 9}},
		{collective.AllReduce, 12, 60e3, []int{6, 7}},
	} {
		last := engine.Never
		for _, k := range c.links {
			best, err := best(&Problem{GPUs: c.gpus, Degree: k, Op: c.op, Bytes: c.bytes, Rate: 800e9, Latency: 500 * engine.Nanosecond, Delay: engine.Microsecond})
			if err != nil {
				t.Fatal(err)
			}
			if best.cost() > last {
				t.Errorf("%v of %d B on %d GPUs: %v with %d links, %v with fewer", c.op, c.bytes, c.gpus, best.cost(), k, last)
			}
			last = best.cost()
		}
	}
}
