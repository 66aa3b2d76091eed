package scenarios

import (
	"fmt"
	"math"
	"testing"
)

const bertStep = `[workload]
kind = "training"
model = "bert-large"
sequence = 512
microbatch = 32
microbatches = 1
tp = 1
pp = 1
gpus = 64
collectives = "graph"
pieces = 1
attention_flops = "full"
[fabric]
kind = "torus"
dims = [4, 4, 4]
link_rate = "50GB/s"
failed_ocs = ["y2"]
[engine]
level = "flow"
[policy]
routers = ["wild-first"]
collective = "multi-ring"
`

// TestStepSlowdown: BERT-large on 4x4x4 chips is compute, of 24 layers of 12 h^2 parameters with attention to all
// tokens, and 4 + 2 bytes a parameter that go round three rings both ways, of which a fault leaves two.
func TestStepSlowdown(t *testing.T) {
	t.Parallel()
	const tokens, parameters = 32 * 512., 24 * 12 * 1024. * 1024
	forward := tokens * (2*parameters + 24*4*512*1024) / 127e12
	for _, c := range []struct {
		set       []string
		bytes     float64
		samples   float64
		exposures float64
	}{
		{nil, 6, 1, 1},
		{[]string{"workload.gradient_bytes=2"}, 4, 1, 1},
		{[]string{"workload.microbatch=64"}, 6, 2, 1},
		{[]string{"workload.pieces=4", "workload.overlap_sync=true"}, 6, 1, 0.25},
		{[]string{"workload.effective_tflops=254"}, 6, 0.5, 1},
	} {
		m := runText(t, bertStep, c.set...).Document.Rows[0].Metrics
		sync := c.bytes * parameters * 63 / 64 / 300e9 * c.exposures
		want := 0.5 * sync / (3*forward*c.samples + sync)
		if got := m["step_slowdown"]; math.Abs(got-want) > 1e-6 || math.Abs(m["fault_ratio"]*(1+got)-1) > 1e-12 {
			t.Errorf("%v: slowdown %v, want %v; ratio %v", c.set, got, want, m["fault_ratio"])
		}
	}
}

const recommendationStep = `[workload]
kind = "recommendation"
gpus = %d
samples = 512
tables = 100
width = 64
dense_parameters = 1000
effective_tflops = 80
[fabric]
kind = "torus"
dims = %s
twist = "%s"
link_rate = "50GB/s"
failed_ocs = %s
[engine]
level = "flow"
[policy]
routers = ["%s"]
collective = "bucket"
[policy.route-optimised]
pattern = "all-to-all"
`

// TestExchanges: an exchange of embeddings that meets nothing else takes as long as the most loaded link does, whose
// load the all-to-all of the same scenario has; tables are programmed for it, whatever else a step sends. A step takes
// in packets about as long.
func TestEmbeddingExchange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gpus              int
		dims, twist, down string
		router            string
		load              float64 // 0: as the all-to-all has it
	}{
		{16, "[4, 2, 2]", "", `[]`, "route-optimised", 8}, // 256 hops along x over 32 links
		{64, "[4, 4, 4]", "", `["x3"]`, "route-optimised", 34},
		{64, "[4, 4, 4]", "", `["z0"]`, "wild-first", 0},
	} {
		if c.gpus == 64 && !*longTests {
			continue // seconds, and half a minute
		}
		text := fmt.Sprintf(recommendationStep, c.gpus, c.dims, c.twist, c.down, c.router)
		if c.router != "route-optimised" {
			text = text[:len(text)-len("[policy.route-optimised]\npattern = \"all-to-all\"\n")]
		}
		o := runText(t, text)
		m := o.Document.Rows[0].Metrics
		if c.load == 0 {
			a := runText(t, fmt.Sprintf("[workload]\nkind = \"all-to-all\"\n[fabric]\nkind = \"torus\"\ndims = %s\nfailed_ocs = %s\n[engine]\nlevel = \"static\"\n[policy]\nrouters = [%q]\n", c.dims, c.down, c.router))
			c.load = a.Document.Rows[0].Metrics["max_link_load"]
		}
		message := math.Ceil(512 * 100 * 64 * 2 / float64(c.gpus))
		forward := message * c.load / 50e9
		if got := m["ep_exposed_s"]; math.Abs(got/(2*forward)-1) > 0.001 { // but for the few bytes of dense gradients
			t.Errorf("%v: exchanges expose %v, want 2 x %v", c, got, forward)
		}
		if c.gpus == 64 && c.router == "wild-first" {
			p := runText(t, text, "engine.level=packet", "workload.packet=32KB").Document.Rows[0].Metrics
			if d := p["makespan_s"]/m["makespan_s"] - 1; math.Abs(d) > 0.05 {
				t.Errorf("%v: %v as packets, %v as fluid", c, p["makespan_s"], m["makespan_s"])
			}
		}
	}
}
