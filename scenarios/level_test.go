package scenarios

import (
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
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
	const cluster = `kind = "cluster", hosts = 8, gpus_per_host = 2, hosts_per_pod = 4`
	const step = `kind = "training", model = "gpt-7b", sequence = 4096, microbatches = 2, tp = 2, pp = 2, gpus = 8`
	const remedy = `is not used by level "flow"; leave it out, or set engine.level = "packet"`
	for _, c := range []struct{ workload, fabric, set, want string }{
		{`kind = "all-to-all"`, torus, "", "flow"},
		{`kind = "all-to-all"`, graph, "", "flow"},
		{`kind = "all-to-all"`, `kind = "electrical", gpus = 4`, "", "flow"},
		{`kind = "all-to-all"`, domain, "", "flow"},
		{`kind = "all-to-all"`, tiers, "", "flow"},
		{`kind = "all-to-all"`, pods, "", "flow"},
		{`kind = "all-to-all"`, cluster, "", "flow"},
		{`kind = "all-to-all"`, cluster, "fabric.spine=circuits", "flow"},
		{`kind = "all-to-all", source = "greedy"`, cluster, "", "packet"},
		{`kind = "all-to-all"`, cluster, "fabric.queue=credit", "fabric.queue: " + remedy},
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
			if strings.HasPrefix(f.Name, "links-") {
				hops += floats.Sum(csvColumn(t, f.Data, "packets"))
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

// TestLinkFiles compares the bytes per link at level flow with the bytes of packets on the same
// paths. The busiest link of a fluid all-to-all is busy until the end.
func TestLinkFiles(t *testing.T) {
	const trainingTable = `{kind = "training", model = "gpt-7b", sequence = 4096, microbatches = 4, tp = 2, pp = 4, gpus = 64}`
	bytes := func(text string, set ...string) (columns [][]float64) {
		for _, f := range runText(t, text, set...).Files {
			if strings.HasPrefix(f.Name, "links-") {
				columns = append(columns, csvColumn(t, f.Data, "bytes"), csvColumn(t, f.Data, "utilisation"))
			}
		}
		return columns
	}
	for _, set := range [][]string{
		{"workload.kind=all-to-all"}, {"workload.kind=hotspot"}, {`fabric.failed_links=["0 x+"]`, `policy.routers=["shortest"]`},
		{"workload.kind=all-reduce", "policy.collective=ring"},
		{"workload=" + trainingTable, "policy.routers=[\"dor\"]"},
	} {
		packets := bytes(smallTorus, set...)
		fluid := bytes(smallTorus, append(set, "engine.level=flow")...)
		if len(packets) != 2 || len(fluid) != 2 || !floats.EqualApprox(fluid[0], packets[0], 1e-6) || floats.Sum(fluid[0]) == 0 {
			t.Fatalf("%v: got bytes %v at level flow, want %v as at level packet", set, fluid, packets)
		}
		if busiest := slices.Max(fluid[1]); busiest > 1+1e-9 || set[0] == "workload.kind=all-to-all" && busiest < 1-1e-9 {
			t.Errorf("%v: got a maximum utilisation of %g, want at most 1, and 1 for an all-to-all", set, busiest)
		}
	}
}

// csvColumn returns the numbers of a column of a CSV file with a header.
func csvColumn(t *testing.T, data []byte, name string) (values []float64) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := slices.Index(rows[0], name)
	for _, row := range rows[1:] {
		v, err := strconv.ParseFloat(row[column], 64)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	return values
}
