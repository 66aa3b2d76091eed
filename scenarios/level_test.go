package scenarios

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
)

// TestDefaultLevel checks the level of scenarios that name none: flow, on every fabric of links
// and pods. It is packet for packets at a rate, and for a source of packets that the scenario
// names; a key of packets alone has a diagnostic with the remedy. A level that the scenario names
// has precedence, and a resolved scenario keeps its level.
func TestDefaultLevel(t *testing.T) {
	const torus, graph = `kind = "torus", dims = [4, 4, 4]`, `kind = "graph", generator = "full-mesh", nodes = 4`
	const pods = `kind = "ocs-pods", pods = 3, gpus_per_pod = 2, port_bandwidth = "100Gbps"`
	const tiers = `kind = "tiers", tier = [{kind = "electrical", gpus = 4}, {kind = "torus", dims = [4, 4]}]`
	const domain = `kind = "scaleup", topology = "static-ring"`
	const step = `kind = "training", model = "gpt-7b", sequence = 4096, microbatches = 2, tp = 2, pp = 2, gpus = 8`
	const remedy = `is not used by level "flow"; leave it out, or set engine.level = "packet"`
	for _, c := range []struct{ workload, fabric, set, want string }{
		{`kind = "all-to-all"`, torus, "", "flow"},
		{`kind = "all-to-all"`, graph, "", "flow"},
		{`kind = "all-to-all"`, `kind = "electrical", gpus = 4`, "", "flow"},
		{`kind = "all-to-all"`, domain, "", "flow"},
		{`kind = "all-to-all"`, tiers, "", "flow"},
		{`kind = "all-to-all"`, pods, "", "flow"},
		{`kind = "all-to-all"`, `kind = "scaleup"`, "", "plan"},
		{`kind = "all-reduce"`, torus, "", "flow"},
		{`kind = "ring-all-reduce"`, torus, "", "flow"},
		{step, torus, "", "flow"},
		{`kind = "uniform-random"`, torus, "", "packet"},
		{`kind = "uniform-random"`, pods, "", "packet"},
		{`kind = "uniform-random"`, tiers, "", "packet"},
		{`kind = "data-tensor", rate = "1Gbps"`, torus, "", "packet"},
		{`kind = "all-to-all", source = "greedy"`, torus, "", "packet"},
		{`kind = "all-to-all", source = "greedy"`, torus, "engine.level=flow", "flow"},
		{`kind = "all-to-all", source = "greedy"`, torus, "engine.level=static", "static"},
		{`kind = "all-to-all", source = "greedy"`, torus, "policy.collective=direct", "flow"},
		{`kind = "all-to-all", source = "on-off", rate = "1Gbps"`, tiers, "", "packet"},
		{`kind = "all-to-all"`, torus, "workload.source=window", "packet"},
		{`kind = "all-to-all"`, torus, "fabric.queue=credit", "fabric.queue: " + remedy},
		{`kind = "all-to-all"`, torus, "fabric.bit_errors=1e-6", "fabric.bit_errors: " + remedy},
		{`kind = "all-to-all"`, torus, "workload.packet=1KB", "workload.packet: " + remedy},
		{`kind = "all-to-all"`, torus, "workload.pace=0.5", "workload.pace: " + remedy},
		{`kind = "all-to-all"`, torus, "engine.until=1ms", "engine.until: " + remedy},
		{step, torus, "workload.packet=1KB", "workload.packet: " + remedy},
		{`kind = "uniform-random"`, pods, "engine.level=flow", `engine.level: level "flow" simulates messages`},
	} {
		text := fmt.Sprintf("workload = {%s}\nfabric = {%s}\n", c.workload, c.fabric)
		var set []string
		if c.set != "" {
			set = []string{c.set}
		}
		s, err := Parse("text.toml", []byte(text), set)
		if err != nil {
			if got := strings.TrimPrefix(err.Error(), "--set: "); !strings.HasPrefix(got, c.want) {
				t.Errorf("%s%s: got %v, want %s", text, c.set, err, c.want)
			}
			continue
		}
		again, err := Parse("text.toml", s.TOML(), nil)
		if err != nil || s.Engine.Level != c.want || again.Engine.Level != c.want {
			t.Errorf("%s%s: got level %q and of the resolved scenario %v (%v), want %q",
				text, c.set, s.Engine.Level, again, err, c.want)
		}
	}
}

// TestCallCost compares the estimated packet hops of collective calls with the hops of their
// simulation, which the packets of all links sum up to. At level flow, the tasks are the
// transfers: n(n-1) blocks of a ring among n ranks.
func TestCallCost(t *testing.T) {
	const text = `
[workload]
kind = "all-reduce"
message = "1600KB"
packet = "1KB"
[fabric]
kind = "torus"
dims = [4, 4]
[engine]
level = "packet"
`
	for _, c := range []struct{ kind, algorithm string }{
		{"all-reduce", "ring"}, {"all-reduce", "bidirectional-ring"}, {"all-reduce", "direct"},
		{"all-reduce", "bucket"}, {"all-reduce", "halving-doubling"}, {"reduce-scatter", "ring"},
		{"all-to-all", "direct"}, {"broadcast", "ring"}, {"send-receive", "direct"},
	} {
		set := []string{"workload.kind=" + c.kind, "policy.collective=" + c.algorithm}
		s := mustParse(t, text, set...)
		cost, err := s.Cost(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		hops := 0.0
		for _, f := range runText(t, text, set...).Files {
			if !strings.HasPrefix(f.Name, "links-") {
				continue
			}
			for i, line := range strings.Split(strings.TrimSpace(string(f.Data)), "\n") {
				if i > 0 {
					packets, _ := strconv.ParseFloat(strings.Split(line, ",")[3], 64)
					hops += packets
				}
			}
		}
		if hops == 0 || math.Abs(cost.Hops/hops-1) > 0.15 {
			t.Errorf("%v: got an estimate of %g hops, want %g within 15 %%", set, cost.Hops, hops)
		}
	}

	s := mustParse(t, text, "engine.level=flow", "policy.collective=ring")
	if cost, err := s.Cost(t.Context()); err != nil || cost.Tasks != 2*16*15 || cost.Hops != 0 {
		t.Errorf("got %+v (%v) at level flow, want %d tasks and no hops", cost, err, 2*16*15)
	}
}
