package scenarios

import (
	"fmt"
	"math"
	"testing"
)

// bertStep is a data-parallel step of BERT-large on 4x4x4 chips with a failed optical switch.
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

// TestStepSlowdown compares the slowdown of a step by a fault with a closed form. The compute
// time follows from 24 layers with 12 h^2 parameters and attention to all tokens. The gradients
// and parameters, 4 + 2 bytes per parameter, are sent around three rings in both directions, of
// which a fault leaves two.
func TestStepSlowdown(t *testing.T) {
	t.Parallel()
	const tokens, parameters = 32 * 512., 24 * 12 * 1024. * 1024
	forward := tokens * (2*parameters + 24*4*512*1024) / 127e12
	for _, c := range []struct {
		set       []string
		bytes     float64 // bytes per parameter
		samples   float64 // compute time relative to the first case
		exposures float64 // exposed share of the synchronisation
	}{
		{nil, 6, 1, 1},
		{[]string{"workload.gradient_bytes=2"}, 4, 1, 1},
		{[]string{"workload.microbatch=64"}, 6, 2, 1},
		{[]string{"workload.pieces=4", "workload.overlap_sync=true"}, 6, 1, 0.25},
		{[]string{"workload.effective_tflops=254"}, 6, 0.5, 1},
	} {
		m := runMetrics(t, bertStep, c.set...)
		sync := c.bytes * parameters * 63 / 64 / 300e9 * c.exposures
		want := 0.5 * sync / (3*forward*c.samples + sync)
		if got := m["step_slowdown"]; math.Abs(got-want) > 1e-6 ||
			math.Abs(m["fault_ratio"]*(1+got)-1) > 1e-12 {
			t.Errorf("%v: got slowdown %v, want %v; got fault ratio %v, want 1 / (1 + slowdown)",
				c.set, got, want, m["fault_ratio"])
		}
	}
}

// recommendationStep is a step of a recommendation model on a torus; %d is the number of chips,
// followed by dims, twist, failed switches and the router.
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

// TestEmbeddingExchange compares an exchange of embeddings without contention with the busy
// time of the busiest link. Reference: the maximum link load of the all-to-all in the same
// scenario. Level packet takes about as long. route-optimised uses the paths of that
// all-to-all, regardless of other traffic of the step.
func TestEmbeddingExchange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gpus              int
		dims, twist, down string
		router            string
		load              float64 // maximum link load, in messages; 0 takes it from the all-to-all
	}{
		{16, "[4, 2, 2]", "", `[]`, "route-optimised", 8}, // 256 hops along x on 32 links
		{64, "[4, 4, 4]", "", `["x3"]`, "route-optimised", 34},
		{64, "[4, 4, 4]", "", `["z0"]`, "wild-first", 0},
	} {
		if c.gpus == 64 && !*longTests {
			continue // these cases take up to half a minute
		}
		text := fmt.Sprintf(recommendationStep, c.gpus, c.dims, c.twist, c.down, c.router)
		if c.router != "route-optimised" {
			text = text[:len(text)-len("[policy.route-optimised]\npattern = \"all-to-all\"\n")]
		}
		o := runText(t, text)
		m := o.Document.Rows[0].Metrics
		if c.load == 0 {
			a := runText(t, fmt.Sprintf(`[workload]
kind = "all-to-all"
[fabric]
kind = "torus"
dims = %s
failed_ocs = %s
[engine]
level = "static"
[policy]
routers = [%q]
`, c.dims, c.down, c.router))

			c.load = a.Document.Rows[0].Metrics["max_link_load"]
		}

		message := math.Ceil(512 * 100 * 64 * 2 / float64(c.gpus))
		forward := message * c.load / 50e9
		got := m["ep_exposed_s"]
		if math.Abs(got/(2*forward)-1) > 0.001 { // dense gradients have few bytes
			t.Errorf("%+v: exchanges expose %v s, want 2 x %v s", c, got, forward)
		}
		if c.gpus == 64 && c.router == "wild-first" {
			p := runMetrics(t, text, "engine.level=packet", "workload.packet=32KB")
			if d := p["makespan_s"]/m["makespan_s"] - 1; math.Abs(d) > 0.05 {
				t.Errorf("%+v: got %v s at level packet, want within 5 %% of %v s at level flow",
					c, p["makespan_s"], m["makespan_s"])
			}
		}
	}
}
