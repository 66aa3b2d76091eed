package scenarios

import (
	"math"
	"strings"
	"testing"
)

// twoChips is a step of GPT-7B on two chips that share every layer, joined by one link in each
// direction.
const twoChips = `
[workload]
kind = "training"
model = "gpt-7b"
sequence = 4096
microbatches = 2
tp = 2
pp = 1
gpus = 2
collectives = "graph"
[fabric]
kind = "graph"
edges = [[0, 1], [1, 0]]
link_rate = "400Gbps"
[engine]
level = "flow"
`

// TestStepCalls compares the exposed time of calls on one link with a closed form. Nothing
// overlaps and nothing contends, so that a step takes its compute time plus the time of its
// calls. There are 4 calls per layer and pass; in each a GPU sends half of 4096 x 4096 x 2
// bytes. Level packet takes up to one packet longer per ring step.
func TestStepCalls(t *testing.T) {
	calls := 2 * 2 * 32 * 4 * (4096 * 4096 * 2 / 2) * 8 / 400e9
	for _, c := range []struct {
		set  []string
		want float64 // seconds without latency
		late float64 // latency of all calls, in seconds
	}{
		{nil, calls, 0},
		{[]string{"workload.pieces=1"}, calls, 0},
		{[]string{"workload.sequence_parallel=false"}, calls, 0},
		{[]string{"policy.collective=direct"}, calls, 0},
		{[]string{"policy.collective=halving-doubling"}, calls, 0},
		{[]string{"fabric.link_latency=10us"}, calls, 2 * 2 * 32 * 4 * 10e-6},
		{[]string{"fabric.link_latency=10us", "workload.pieces=1"}, calls, 2 * 2 * 4 * 10e-6},
	} {
		o := runText(t, twoChips, c.set...)
		m := o.Document.Rows[0].Metrics
		if got, want := m["tp_exposed_s"], c.want+c.late; math.Abs(got-want) > 1e-9 ||
			math.Abs(m["makespan_s"]-m["compute_makespan_s"]-o.Document.Reference["compute_makespan_s"]-got) > 1e-9 {
			t.Errorf("%v: got %v s exposed of %v s, want %v s of %v s",
				c.set, got, m["makespan_s"], want, o.Document.Reference["compute_makespan_s"]+want)
		}

		_, cp := m["cp_exposed_s"]
		_, dp := m["dp_exposed_s"]
		if cp || dp {
			t.Errorf("%v: got exposed times of dimensions with one rank, want none: %v", c.set, m)
		}
		p := runMetrics(t, twoChips,
			append(c.set, "engine.level=packet", "workload.packet=1MB", "workload.pieces=1")...)
		f := runMetrics(t, twoChips, append(c.set, "workload.pieces=1")...)
		if d := p["tp_exposed_s"] - f["tp_exposed_s"]; math.Abs(d) > 2*2*4*1e6*8/400e9 {
			t.Errorf("%v: got %v s exposed at level packet and %v s at level flow, want a "+
				"difference of at most one packet per ring step",
				c.set, p["tp_exposed_s"], f["tp_exposed_s"])
		}
	}
}

// smallExperts is a training step with all dimensions of parallelism.
const smallExperts = `
[workload]
kind = "training"
sequence = 2048
microbatches = 2
tp = 2
cp = 2
pp = 2
ep = 4
gpus = 16
collectives = "graph"
effective_tflops = 100
[workload.architecture]
layers = 4
hidden = 1024
vocab = 32000
heads = 8
experts = 8
top_k = 2
expert_ffn = 2048
`

// TestStepCallsOnFabrics checks a step with its collective calls in the task graph on several
// fabrics. Levels flow and packet take about equally long, at least the lower bound and the
// time on the ideal fabric. Each dimension of parallelism exposes some time.
func TestStepCallsOnFabrics(t *testing.T) {
	for _, fabric := range []string{
		"[fabric]\nkind = \"torus\"\ndims = [4, 2, 2]\n",
		`[fabric]
kind = "torus"
dims = [4, 4, 2]
failed_links = ["0 x+"]
[policy]
routers = ["shortest"]
`,
		"[fabric]\nkind = \"electrical\"\ngpus = 16\n",
	} {
		flow := runText(t, smallExperts+fabric, "engine.level=flow").Document
		packet := runText(t, smallExperts+fabric, "engine.level=packet", "workload.packet=64KB").Document
		runText(t, smallExperts+fabric, "engine.level=static")
		even := runMetrics(t, smallExperts+fabric, "engine.level=flow",
			"workload.expert_sizes=zipf", "workload.expert_exponent=0")
		uneven := runMetrics(t, smallExperts+fabric, "engine.level=flow",
			"workload.expert_sizes=zipf", "workload.expert_exponent=1")
		if e := flow.Rows[0].Metrics; even["makespan_s"] != e["makespan_s"] ||
			uneven["ep_exposed_s"] <= e["ep_exposed_s"] {
			t.Errorf("%s: got %v s exposed with even expert sizes, %v s with exponent 0 and %v s "+
				"with exponent 1; want the first two equal and the last larger",
				fabric, e["ep_exposed_s"], even["ep_exposed_s"], uneven["ep_exposed_s"])
		}
		f, p := flow.Rows[0].Metrics, packet.Rows[0].Metrics
		for _, dim := range []string{"tp", "cp", "ep", "dp"} {
			if f[dim+"_exposed_s"] <= 0 || p[dim+"_exposed_s"] <= 0 {
				t.Errorf("%s: %s exposes %v s at level flow and %v s at level packet, want more "+
					"than 0", fabric, dim, f[dim+"_exposed_s"], p[dim+"_exposed_s"])
			}
		}

		for _, m := range []map[string]float64{f, p} {
			if m["makespan_s"] < f["bound_makespan_s"] ||
				m["makespan_s"] < flow.Reference["makespan_s"] || m["nct"] < 1 {
				t.Errorf("%s: got %v s, want at least the bound %v s and the ideal %v s",
					fabric, m["makespan_s"], f["bound_makespan_s"], flow.Reference["makespan_s"])
			}
		}

		r := p["makespan_s"] / f["makespan_s"]
		if r < 0.98 || r > 1.05 || p["delivered"] != p["injected"] {
			t.Errorf("%s: got %v s at level packet, want -2 %% to 5 %% of %v s at level flow",
				fabric, p["makespan_s"], f["makespan_s"])
		}
	}
}

// TestStepCallDiagnostics checks that invalid calls are rejected with the keys to change.
func TestStepCallDiagnostics(t *testing.T) {
	for set, want := range map[string]string{
		"workload.pieces=65536 workload.microbatches=64":                                         "workload.pieces: passes of stages and transfers between GPUs take about 6.71e+07 tasks",
		"workload.collectives=none workload.pieces=2":                                            "workload.pieces: is not used by",
		"workload.tp=1 workload.gpus=1":                                                          "nothing is sent",
		"workload.expert_sizes=zipf":                                                             "workload.expert_sizes: is not used by",
		"policy.collective=tree-packing":                                                         "",
		"workload.collectives=none policy.collective=ring":                                       "policy.collective: is not used by collectives \"none\"",
		"workload.tp=3 workload.gpus=3 fabric.edges=[[0,1],[1,2],[2,0]] policy.collective=swing": "policy.collective: swing does not serve the tp calls of the step: all-gather among 3 ranks",
		"workload.collectives=all":                                                               "workload.collectives: \"all\" is not known",
		"workload.collectives=none workload.microbatches=1":                                      "nothing is sent: there is one stage and one replica",
	} {
		if _, err := Parse("text.toml", []byte(twoChips),
			strings.Fields(set)); want == "" != (err == nil) ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", set, err, want)
		}
	}

	if _, err := Load("moe-scaleup", []string{"workload.collectives=graph"}); err == nil ||
		!strings.Contains(err.Error(),
			"workload.collectives: is not used by fabric \"scaleup\" without a topology that it keeps") {
		t.Errorf("got %v, want a rejection of collectives without a topology", err)
	}
}

// TestStepCallsBestAlgorithm checks that each dimension of parallelism may have its own
// algorithm. "best" is at least as good as rings, and as its choice with the algorithm of one
// dimension changed.
func TestStepCallsBestAlgorithm(t *testing.T) {
	const torus = `
[fabric]
kind = "torus"
dims = [4, 2, 2]
[engine]
level = "flow"
[policy]
routers = ["dor"]
`

	run := func(algorithm string) (float64, string) {
		t.Helper()
		row := runText(t, smallExperts+torus, "policy.collective="+algorithm).Document.Rows[0]
		return row.Metrics["makespan_s"], row.Labels["algorithm"]
	}

	rings, _ := run("ring")
	if same, _ := run(`{ tp = "ring", cp = "ring", ep = "direct", dp = "ring" }`); same != rings {
		t.Errorf("got %v s with rings per dimension, want %v s as with rings", same, rings)
	}
	best, algorithm := run("best")
	if again, choice := run(algorithm); again != best || choice != "" {
		t.Errorf("best takes %v s with %s, which takes %v s if given explicitly; want equal "+
			"times and no choice", best, algorithm, again)
	}
	for _, change := range []string{
		"dp=bucket", "dp=direct", "dp=halving-doubling", "tp=bidirectional-ring", "cp=swing",
	} {
		if other, _ := run(change); other < best {
			t.Errorf("best takes %v s with %s, want at most the time with %s, %v s",
				best, algorithm, change, other)
		}
	}

	if best >= rings {
		t.Errorf("best takes %v s with %s, want less than rings, %v s", best, algorithm, rings)
	}
	if dpOnly, algorithm := run("dp=best"); dpOnly < best || dpOnly > rings ||
		!strings.HasPrefix(algorithm, "tp=ring,cp=ring,ep=ring,dp=") {
		t.Errorf("best for dp only takes %v s with %s, want at least best for all, %v s, and at "+
			"most rings, %v s", dpOnly, algorithm, best, rings)
	}
	m := runText(t, podStep, "policy.collective=best", "workload.gpus=16", "fabric.ports_per_pod=6",
		`policy.allocators=["iter-halve"]`, "workload.microbatches=1").Document.Rows[0]
	if m.Labels["algorithm"] == "" || m.Metrics["nct"] <= 0 {
		t.Errorf("on pods: got %v, want an algorithm and an NCT above 0", m)
	}
}

// TestExpertCopiesOnFabrics checks a step on hosts of 4 GPUs with its calls in the graph, and on
// tiers whose inner one lengthens passes. Fewer copies and bytes per number never expose more time,
// and each number of copies has its own time.
func TestExpertCopiesOnFabrics(t *testing.T) {
	step := strings.NewReplacer("tp = 2\ncp = 2", "tp = 1", "ep = 4", "ep = 8", "experts = 8", "experts = 16").Replace(smallExperts)
	contracted := strings.Replace(step, "collectives = \"graph\"\n", "", 1)
	for name, text := range map[string]string{
		"cluster": step + "[fabric]\nkind = \"cluster\"\nhosts = 4\ngpus_per_host = 4\nhosts_per_pod = 4\nhost_bandwidth = \"1.6Tbps\"\nnic_bandwidth = \"200Gbps\"\n",
		"tiers": contracted + `[fabric]
kind = "tiers"
[[fabric.tier]]
kind = "electrical"
gpus = 4
link_rate = "1.6Tbps"
[[fabric.tier]]
kind = "electrical"
gpus = 8
link_rate = "200Gbps"
[[fabric.tier]]
kind = "ocs-pods"
gpus_per_pod_per_replica = 8
port_bandwidth = "200Gbps"
nic_bandwidth = "200Gbps"
[policy]
allocators = ["prop-alloc"]
`,
	} {
		last, first := math.Inf(1), 0.0
		for _, set := range [][]string{
			{},
			{"workload.dispatch_bytes=1"},
			{"workload.dispatch_bytes=1", "workload.expert_copies=gpu", "workload.node_gpus=4"},
			{"workload.dispatch_bytes=1", "workload.expert_copies=node", "workload.node_gpus=4"},
			{"workload.dispatch_bytes=1", "workload.expert_copies=node", "workload.node_gpus=4", "workload.expert_nodes=1"},
		} {
			got := runMetrics(t, text, set...)["makespan_s"]
			if got >= last {
				t.Errorf("%s, %v: got %v s, want less than the %v s with more bytes", name, set, got, last)
			}
			if last = got; first == 0 {
				first = got
			}
		}
		alone := runMetrics(t, text)["makespan_s"]
		for overlap, schedule := range map[string]string{"halves": "1f1b", "pairs": "eager-1f1b"} {
			got := runMetrics(t, text, "workload.overlap_passes="+overlap, "workload.schedule="+schedule)["makespan_s"]
			if got >= alone {
				t.Errorf("%s, %s: got %v s, want less than the %v s without overlap", name, overlap, got, alone)
			}
		}
		all := runMetrics(t, text, "workload.dispatch_bytes=1", "workload.expert_copies=node", "workload.node_gpus=4", "workload.expert_nodes=2")
		unlimited := runMetrics(t, text, "workload.dispatch_bytes=1", "workload.expert_copies=node", "workload.node_gpus=4")
		if all["makespan_s"] != unlimited["makespan_s"] {
			t.Errorf("%s: got %v s with a limit of all nodes, want %v s", name, all["makespan_s"], unlimited["makespan_s"])
		}
	}
}
