package paths_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sim/scenarios"
	"sim/scenarios/assembly/paths"
)

// smallTorus is all-to-all traffic on a torus of 64 nodes, at level packet.
const smallTorus = `
[workload]
kind = "all-to-all"
message = "8KB"
[fabric]
kind = "torus"
dims = [4, 4, 4]
link_rate = "50GB/s"
[engine]
level = "packet"
[policy]
routers = ["dor"]
`

// TestEstimatedHops compares the estimated hops and seconds with the simulation.
// They may differ by the rounding to packets and by chance.
func TestEstimatedHops(t *testing.T) {
	for _, set := range [][]string{
		{}, {"workload.source=greedy", "workload.message=7777B"}, {"workload.source=window"},
		{"workload.kind=hotspot"}, {"workload.kind=permutation"},
		{"workload.kind=nearest-neighbour"},
		{"workload.kind=uniform-random", "workload.load=0.3"},
		{"workload.source=on-off", "workload.rate=500MB/s", "workload.start=0s",
			"workload.duration=30us"},
		{"workload.kind=data-tensor", "workload.rate=1GB/s", "workload.start=0s", "workload.phase=20us"}, {`policy.routers=["multipath"]`},
		{"workload.payload=100B", "workload.message=150B"},
		{"workload.payload=100B", "workload.message=101B", "workload.kind=hotspot"},
		{"workload.message=1B"},
		{"fabric.bit_errors=3e-5"}, {"fabric.bit_errors=1e-4", "workload.source=greedy",
			"workload.message=64KB"}, {"fabric.bit_errors=3e-5", "workload.pace=0.5"},
		{"fabric.link_latency=2us"},
		{"fabric.queue=2p", "workload.source=on-off", "workload.message=0B",
			"workload.rate=100GB/s", "workload.start=0s", "workload.duration=10us"},
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

		hops, seconds, stats, err := paths.EstimateAndSimulate(context.Background(), p.System,
			s.Policy.Routers[0])
		if err != nil {
			t.Fatal(err)
		}

		if over := hops / float64(stats.Hops); over < 0.95 || over > 1.1 {
			t.Errorf("%v: estimate of %g hops, got %d", set, hops, stats.Hops)
		}
		if end := stats.End.Seconds(); seconds < end/2 || seconds > end*1.01 {
			t.Errorf("%v: estimate of at least %g s, got %g s", set, seconds, end)
		}
	}
}

// update makes TestEstimates write the stored estimates.
var update = flag.Bool("update", false, "write the stored estimates anew")

// smallStep is a training step of small layers, with 4 stages of 2 GPUs in two
// replicas.
const smallStep = `
[workload]
kind = "training"
sequence = 256
microbatches = 4
pp = 4
tp = 2
gpus = 16
architecture = {layers = 8, hidden = 256, heads = 4, ffn = 1024, vocab = 1024, effective_tflops = 10}
[fabric]
kind = "torus"
dims = [4, 4]
[engine]
level = "packet"
[policy]
routers = ["dor"]
`

// TestEstimates compares the estimates of small scenarios with stored ones.
// Estimates decide which scenarios are rejected, and a dry run prints them. The
// estimated bytes of training steps must equal the bytes that the steps send.
// TestEstimatedHops compares the estimates with simulations.
func TestEstimates(t *testing.T) {
	var lines strings.Builder
	for _, text := range []string{smallTorus, smallStep} {
		sets := []string{
			"", "workload.source=greedy workload.message=7777B", "workload.source=window",
			"workload.kind=hotspot", "workload.kind=hotspot workload.hot_nodes=3",
			"workload.kind=permutation",
			"workload.kind=nearest-neighbour",
			"workload.kind=uniform-random workload.load=0.3",
			"workload.kind=uniform-random workload.load=0.3 engine.until=20us",
			"workload.source=on-off workload.rate=500MB/s workload.start=0s workload.duration=30us",
			"workload.kind=data-tensor workload.rate=1GB/s workload.start=0s workload.phase=20us",
			"workload.payload=100B workload.message=150B", "workload.message=1B",
			"fabric.bit_errors=3e-5", "fabric.bit_errors=3e-5 workload.pace=0.5",
			"fabric.link_latency=2us", "engine.until=2us",
			"fabric.queue=credit fabric.buffer=4KB",
			"fabric.queue=2p workload.source=on-off workload.message=0B workload.rate=100GB/s workload.start=0s workload.duration=10us",
			"engine.level=flow", "engine.level=static",
			"engine.level=flow workload.kind=hotspot", "engine.level=flow policy.routers=[\"ecmp\"]",
			"engine.level=flow fabric.failed_chips=[3] policy.routers=[\"wild-first\",\"shortest\"]",
			"fabric.failed_chips=[3,9] policy.routers=[\"shortest\"]", "fabric.dims=[5,3]",
			"fabric.dims=[2,2] fabric.open=[\"x\"]",
			"workload.kind=hotspot workload.message=10TB engine.until=1ms",
			"workload.kind=matrix fabric.dims=[3] workload.matrix=[[0,9000,1],[500,0,3],[0,70000,0]]", "workload.kind=matrix fabric.dims=[3] workload.matrix=[[0,9000,1],[500,0,3],[0,70000,0]] workload.payload=100B",
		}

		if text == smallStep {
			sets = []string{
				"", "engine.level=flow", "workload.microbatches=5 workload.schedule=gpipe",
				"workload.pp=2", "workload.pp=1", "workload.tp=1",
				"workload.tp=1 workload.cp=2", "workload.pp=2 workload.cp=2",
				"workload.schedule=interleaved-1f1b workload.virtual_stages=2",
				"workload.schedule=dualpipe workload.microbatches=8 workload.pp=4",
				"workload.sharding=parameters", "workload.sharding=gradients",
				"workload.buckets=100KB",
				"policy.collective=ring workload.collectives=graph",
				"policy.collective=ring workload.collectives=graph workload.tp=1 workload.cp=2",
				"policy.collective=ring workload.collectives=graph workload.sharding=parameters", "policy.collective=ring workload.collectives=graph workload.schedule=interleaved-1f1b workload.virtual_stages=2",
				"policy.collective=ring workload.collectives=graph workload.ep=4 workload.pp=2 workload.architecture.experts=8 workload.architecture.top_k=2", "workload.ep=4 workload.pp=2 workload.architecture.experts=8 workload.architecture.top_k=2",
				"policy.collective=ring workload.collectives=graph fabric.link_latency=1us",
				"policy.collective=ring workload.collectives=graph workload.pieces=3",
			}
		}
		for _, set := range sets {
			s, err := scenarios.Parse("text.toml", []byte(text), strings.Fields(set))
			if err != nil {
				t.Errorf("%s: %v", set, err)
				continue
			}
			p, err := scenarios.Prepare(t.Context(), s)
			if err != nil {
				t.Errorf("%s: %v", set, err)
				continue
			}

			// Write one line per scenario: the estimates, and the cost in a dry
			// run.
			estimates, err := paths.Estimates(p.System)
			if err != nil {
				t.Errorf("%s: %v", set, err)
			}
			fmt.Fprintf(&lines, "%s:%s", set, estimates)
			cost, err := s.Cost(t.Context())
			fmt.Fprintf(&lines, " cost=%.7g,%.7g,%.7g,%.7g,%v\n", cost.Tasks, cost.Hops,
				cost.Bytes,
				cost.Seconds, err)
		}
	}

	file := filepath.Join("testdata", "estimates.txt")
	if *update {
		if err := os.WriteFile(file, []byte(lines.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"),
		strings.Split(lines.String(), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
