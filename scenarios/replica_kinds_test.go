package scenarios

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// withReplicas returns overrides that simulate 24 replicas separately, followed by the given
// ones. With that number of replicas allocators decide per kind of replica.
func withReplicas(more ...string) []string {
	return append([]string{"workload.gpus=192", "workload.microbatches=8", "workload.replicas=all"}, more...)
}

// TestIdenticalReplicasEqualOne checks that identical replicas, simulated separately, take as
// long and use as many ports as one representative replica.
func TestIdenticalReplicasEqualOne(t *testing.T) {
	search := `policy.allocators=["delta-fast", "delta-topo", "delta-joint"]`
	single := runScenario(t, "gpt7b", 2, withReplicas(search, "workload.replicas=single")...)
	all := runScenario(t, "gpt7b", 2, withReplicas(search)...)
	for _, m := range []string{"makespan_s", "ports"} {
		want, got := metricByPolicy(t, single, m), metricByPolicy(t, all, m)
		for name := range want {
			if math.Abs(got[name]-want[name]) > 1e-9*want[name] {
				t.Errorf("%s, %s: got %v with all replicas, want %v as with one representative "+
					"replica", name, m, got[name], want[name])
			}
		}
	}
}

// TestOptimalWithAllReplicas checks that delta-topo proves its topology optimal under fair
// sharing, for replicas that are simulated together and for a replica with eight pods.
func TestOptimalWithAllReplicas(t *testing.T) {
	limits := []string{`policy.allocators=["delta-topo"]`, "policy.port_evaluations=1",
		"policy.delta-topo.max_evaluations=3000"}
	for base, set := range map[string][]string{
		"megatron177b": {"workload.replicas=all", "workload.microbatches=16"},
		"deepseek671b": {"fabric.gpus_per_pod_per_replica=8", "workload.microbatches=16"},
	} {
		got := runScenario(t, base, 2, append(set, limits...)...)
		if gap := metricByPolicy(t, got, "gap")["delta-topo"]; gap > 1e-9 {
			t.Errorf("%s: got gap %g, want 0", base, gap)
		}
	}
}

// TestDifferentReplicasWithinBounds draws replicas that differ in speed, bandwidth or ports. No
// makespan is below its lower bound. delta-joint is at least as good as the allocators that
// consider the traffic alone.
func TestDifferentReplicasWithinBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	draws := 4
	if *longTests {
		draws = 8
	}
	for range draws {
		var draw []string
		for range 1 + random.IntN(6) {
			r := random.IntN(24)
			draw = append(draw, fmt.Sprintf("replica.%d.compute_scale=%.2f", r, 0.8+0.4*random.Float64()))
			if random.IntN(3) == 0 {
				draw = append(draw,
					fmt.Sprintf("replica.%d.port_bandwidth=%dGbps", r, 200+100*random.IntN(4)))
			}
			if random.IntN(3) == 0 {
				draw = append(draw, fmt.Sprintf("replica.%d.ports_per_pod=%d", r, 4+random.IntN(5)))
			}
		}

		got := runScenario(t, "gpt7b", 2, withReplicas(draw...)...)
		gap, end := metricByPolicy(t, got, "gap"), metricByPolicy(t, got, "makespan_s")
		for name, g := range gap {
			if g < -1e-9 {
				t.Errorf("%v: %s has gap %g, want at least 0", draw, name, g)
			}
		}

		best := min(end["prop-alloc"], end["sqrt-alloc"], end["iter-halve"])
		if end["delta-joint"] > best*(1+1e-9) {
			t.Errorf("%v: delta-joint takes %v s, want at most %v s as the best baseline",
				draw, end["delta-joint"], best)
		}
	}
}

// BenchmarkManyReplicas runs 8,192 GPUs whose replicas are simulated separately. One replica is
// slow, or all are different.
func BenchmarkManyReplicas(b *testing.B) {
	for _, kinds := range []int{2, 64} {
		b.Run(fmt.Sprintf("kinds=%d", kinds), func(b *testing.B) {
			set := []string{"workload.gpus=8192", "workload.replicas=all"}
			for r := 1; r < kinds; r++ {
				set = append(set, fmt.Sprintf("replica.%d.compute_scale=%g", r, 1+0.002*float64(r*37%64)))
			}
			benchmarkRun(b, "deepseek671b", set...)
		})
	}
}

// BenchmarkIdenticalReplicas runs 65,536 GPUs with one representative replica.
func BenchmarkIdenticalReplicas(b *testing.B) {
	for _, name := range []string{"deepseek671b", "compose/tiers"} {
		b.Run(name, func(b *testing.B) { benchmarkRun(b, name, "workload.gpus=65536") })
	}
}

// benchmarkRun measures the loading and the run of a scenario with one goroutine.
func benchmarkRun(b *testing.B, name string, set ...string) {
	for b.Loop() {
		s, err := Load(name, set)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := Run(b.Context(), s, RunOptions{Workers: 1}); err != nil {
			b.Fatal(err)
		}
	}
}
