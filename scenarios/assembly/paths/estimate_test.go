package paths_test

import (
	"context"
	"testing"

	"sim/scenarios"
	"sim/scenarios/assembly/paths"
)

const smallTorus = `
[workload]
kind = "all-to-all"
message = "8KB"
[fabric]
kind = "torus"
dims = [4, 4, 4]
link_rate = "50GB/s"
[policy]
routers = ["dor"]
`

// TestEstimatedHops: the hops that are foreseen are those that are counted, within what rounding to packets and chance
// leave.
func TestEstimatedHops(t *testing.T) {
	for _, set := range [][]string{
		{}, {"workload.source=greedy", "workload.message=7777B"}, {"workload.source=window"}, {"workload.kind=hotspot"}, {"workload.kind=permutation"},
		{"workload.kind=nearest-neighbour"}, {"workload.kind=uniform-random", "workload.load=0.3"},
		{"workload.source=on-off", "workload.rate=500MB/s", "workload.start=0s", "workload.duration=30us"},
		{"workload.kind=data-tensor", "workload.rate=1GB/s", "workload.start=0s", "workload.phase=20us"}, {`policy.routers=["multipath"]`},
		{"workload.payload=100B", "workload.message=150B"}, {"workload.payload=100B", "workload.message=101B", "workload.kind=hotspot"}, {"workload.message=1B"},
		{"fabric.bit_errors=3e-5"}, {"fabric.bit_errors=1e-4", "workload.source=greedy", "workload.message=64KB"}, {"fabric.bit_errors=3e-5", "workload.pace=0.5"},
		{"fabric.link_latency=2us"},
		{"fabric.queue=2p", "workload.source=on-off", "workload.message=0B", "workload.rate=100GB/s", "workload.start=0s", "workload.duration=10us"},
		{"fabric.queue=2p", "workload.source=poisson", "workload.load=20"},
	} {
		s, err := scenarios.Parse("text.toml", []byte(smallTorus), set)
		if err != nil {
			t.Fatal(err)
		}
		p, err := scenarios.Prepare(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		hops, seconds, stats, err := paths.Foreseen(context.Background(), p.System, s.Policy.Routers[0])
		if err != nil {
			t.Fatal(err)
		}
		if over := hops / float64(stats.Hops); over < 0.95 || over > 1.1 {
			t.Errorf("%v: %g hops foreseen, %d counted", set, hops, stats.Hops)
		}
		if end := stats.End.Seconds(); seconds < end/2 || seconds > end*1.01 {
			t.Errorf("%v: at least %g s foreseen, %g s taken", set, seconds, end)
		}
	}
}
