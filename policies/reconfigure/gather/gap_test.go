package gather

import (
	"testing"

	"sim/engine"
	"sim/workloads/collective"
)

// TestGaps: no plan is below the bound of its problem, and the cheapest is never slower than the best static ring, over
// sizes, delays and domains; without -long on a part of them. With -v it prints by delay the mean and largest gap for
// two switches and more.
func TestGaps(t *testing.T) {
	gpus, sizes, most := []int{8, 30, 64}, []int64{1e3, 1e5, 1e7}, 3
	if *long {
		gpus, sizes, most = []int{8, 16, 30, 64, 128, 256}, []int64{1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}, 4
	}
	delays := []engine.Time{0, engine.Microsecond, 10 * engine.Microsecond, 100 * engine.Microsecond, engine.Millisecond, 10 * engine.Millisecond}
	for _, op := range []collective.Op{collective.AllGather, collective.ReduceScatter, collective.AllReduce} {
		sum, largest, count := make([]float64, len(delays)), make([]float64, len(delays)), 0
		for _, n := range gpus {
			for k := 1; k <= most; k++ {
				for _, bytes := range sizes {
					p := &Problem{GPUs: n, Degree: k, Op: op, Bytes: bytes, Rate: 800e9, Latency: 500 * engine.Nanosecond}
					plans, err := Plans(p)
					if err != nil {
						t.Fatal(err)
					}
					static, err := StaticRing(p)
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
						cost, ring := Cheapest(plans, delay).CostAt(delay), static.CostAt(delay)
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
