package scenarios

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"sim/workloads/training"
)

// threeTiers is a training step of 64 GPUs: pairs behind a switch, in scale-up domains of 8
// that reconfigure, in pods joined by circuits.
const threeTiers = `
[workload]
kind = "training"
model = "mixtral-8x22b"
sequence = 2048
microbatches = 4
tp = 2
pp = 4
ep = 8
gpus = 64
[fabric]
kind = "tiers"
[[fabric.tier]]
kind = "electrical"
gpus = 2
link_rate = "3.6Tbps"
link_latency = "250ns"
[[fabric.tier]]
kind = "scaleup"
gpus = 8
switches = 2
link_rate = "800Gbps"
reconfiguration_delay = "10us"
[[fabric.tier]]
kind = "ocs-pods"
gpus_per_pod_per_replica = 8
port_bandwidth = "400Gbps"
[policy]
allocators = ["prop-alloc"]
`

// switchedTiers is threeTiers with a switch instead of the tier that reconfigures.
var switchedTiers = strings.NewReplacer("kind = \"scaleup\"\n", "kind = \"electrical\"\n",
	"switches = 2\n", "", "reconfiguration_delay = \"10us\"\n", "").Replace(threeTiers)

// TestTierTimes compares the bytes and busy times of calls inside tiers with a closed form: the
// bytes of a GPU divided by the rate of its link, plus the latency. The calls lengthen the
// passes.
func TestTierTimes(t *testing.T) {
	o := runText(t, switchedTiers)
	m := o.Document.Rows[0].Metrics
	s := mustParse(t, switchedTiers)
	w := &s.Workload.Spec

	// Sum the busy time of the first stage's calls and the bytes of all calls, for each inner tier.
	var busy, sent [2]float64
	for _, pass := range []training.Phase{
		training.Forward, training.Backward, training.StageCopyScatter, training.StageCopyGather,
	} {
		for stage := range w.PP {
			passTimes := [2]float64{}
			for _, c := range w.Calls(stage, pass) {
				n := float64(w.Pieces(stage) * w.Microbatches)
				b := float64(c.Bytes)
				switch c.Dim {
				case training.Tensor: // half of the vector to the other GPU
					passTimes[0] += n * (8*b/2/3.6e12 + 500e-9)
					sent[0] += n * b * 4 * 2 // four groups in each of two replicas
				case training.Expert: // to one GPU inside the inner tier and six outside
					passTimes[0] += n * (8*b/3.6e12 + 500e-9)
					passTimes[1] += n * (8*6*b/800e9 + 0)
					sent[0] += n * b * 8 * 2
					sent[1] += n * b * 8 * 6 * 2
				case training.Sync:
					// once, by rings of four copies, for each of two tensor-parallel parts
					passTimes[1] += 8 * 3 * b / 4 / 800e9
					sent[1] += 3 * b * 2 * 2
				}
			}

			if stage == 0 {
				busy[0], busy[1] = busy[0]+passTimes[0], busy[1]+passTimes[1]
			}
		}
	}

	for i := range 2 {
		if got := m[fmt.Sprintf("tier%d_bytes", i+1)]; math.Abs(got-sent[i]) > 1e-6*sent[i] {
			t.Errorf("tier %d carries %g B, want %g B", i+1, got, sent[i])
		}
		if got, want := m[fmt.Sprintf("tier%d_busy", i+1)]*m["makespan_s"], busy[i]; math.Abs(got-want) > 1e-3*want {
			t.Errorf("tier %d is busy for %g s, want %g s", i+1, got, want)
		}
	}

	// Without inner tiers compute takes less time, because no calls lengthen passes.
	head := switchedTiers[:strings.Index(switchedTiers, "[[fabric.tier]]")]
	pods := switchedTiers[strings.Index(switchedTiers, "kind = \"ocs-pods\""):]
	bare := runText(t, strings.Replace(head, "kind = \"tiers\"\n", "", 1)+pods)
	if m["compute_makespan_s"] != 0 ||
		o.Document.Reference["compute_makespan_s"] <= bare.Document.Reference["compute_makespan_s"] {
		t.Errorf("the compute makespan is %g s with calls in tiers, want more than %g s without "+
			"tiers",
			o.Document.Reference["compute_makespan_s"],
			bare.Document.Reference["compute_makespan_s"])
	}
}

// TestTierMetrics checks the metrics of tiers. Without the time of a tier an iteration is
// shorter. With twice the rate of a tier it takes as long as a run with that rate, between the
// two. The outermost tier exposes all communication between pods.
func TestTierMetrics(t *testing.T) {
	for _, text := range []string{threeTiers, switchedTiers} {
		m := runMetrics(t, text)
		for i := range 3 {
			name := fmt.Sprintf("tier%d_", i+1)
			without := m["makespan_s"] - m[name+"exposed_s"]
			if m[name+"exposed_s"] <= 0 || m[name+"doubled_s"] > m["makespan_s"] ||
				m[name+"doubled_s"] < without-1e-9 || m[name+"bytes"] <= 0 || m[name+"busy"] <= 0 ||
				m[name+"busy"] > 1 {
				t.Errorf("tier %d: got %g B, busy %g, %g s exposed and %g s with twice the rate, "+
					"of %g s; want positive values, and to save at most the exposed time",
					i+1, m[name+"bytes"], m[name+"busy"], m[name+"exposed_s"], m[name+"doubled_s"],
					m["makespan_s"])
			}
		}

		if m["tier3_exposed_s"] != m["comm_exposed_s"] {
			t.Errorf("the outermost tier exposes %g s, want %g s",
				m["tier3_exposed_s"], m["comm_exposed_s"])
		}
		fast := runMetrics(t, text, "fabric.tier.0.link_rate=7.2Tbps")
		if fast["makespan_s"] != m["tier1_doubled_s"] {
			t.Errorf("with twice the rate of tier 1 an iteration takes %g s, want the reported "+
				"%g s", fast["makespan_s"], m["tier1_doubled_s"])
		}
	}
}

// TestTierOfPlans checks an inner tier that reconfigures. Its busy time is the sum of its
// all-to-alls, each as long as on that domain by itself. Reconfigurations for sizes that are
// known ahead are hidden behind compute and do not count. The synchronisation of the copies in
// a stage takes as long as two all-to-alls of their shares.
func TestTierOfPlans(t *testing.T) {
	two := threeTiers[:strings.Index(threeTiers, "[[fabric.tier]]")] + threeTiers[strings.Index(threeTiers, "[[fabric.tier]]\nkind = \"scaleup\""):]
	two = strings.Replace(two, "tp = 2", "tp = 1", 1)
	alone := strings.Replace(two[:strings.Index(two, "[fabric]")], "tp = 2", "tp = 1", 1) + `
[fabric]
kind = "scaleup"
switches = 2
link_rate = "800Gbps"
reconfiguration_delay = "10us"
[policy]
planners = ["reconfigure-during"]
`

	s := mustParse(t, two)
	for known, hidden := range map[string]float64{"none": 0, "returns": 3, "all": 4} {
		m := runMetrics(t, two, "fabric.tier.0.predicted_calls="+known)
		each := runMetrics(t, alone, "fabric.predicted_calls="+known)["all_to_all_s"]
		shares := 0.0
		for _, pass := range []training.Phase{training.StageCopyScatter, training.StageCopyGather} {
			c := s.Workload.Calls(0, pass)
			shares += runMetrics(t, alone[strings.Index(alone, "[fabric]"):],
				"workload.kind=all-to-all", "fabric.gpus=8",
				fmt.Sprintf("workload.message=%dB", (c[0].Bytes+7)/8))["completion_s"]
		}

		// 56 layers in 4 stages; two all-to-alls per layer, forward and backward
		got, want := m["tier1_busy"]*m["makespan_s"], 4*14*(4*each-hidden*10e-6)+shares
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s known ahead: busy for %g s, want %g s", known, got, want)
		}
	}
}

// TestExpertSizesInTiers checks all-to-alls of drawn expert sizes on tiers. With exponent 0
// they equal even sizes. With unequal sizes the same number of bytes takes longer.
func TestExpertSizesInTiers(t *testing.T) {
	for _, text := range []string{threeTiers, switchedTiers} {
		even := runMetrics(t, text)
		level := runMetrics(t, text, "workload.expert_sizes=zipf", "workload.expert_exponent=0")
		drawn := runMetrics(t, text, "workload.expert_sizes=zipf", "workload.expert_exponent=1.2")
		for name, want := range even {
			if got := level[name]; strings.HasPrefix(name, "tier") && got != want {
				t.Errorf("%s is %g with exponent 0, want %g as with even sizes", name, got, want)
			}
		}
		if got, want := drawn["tier1_bytes"]+drawn["tier2_bytes"], even["tier1_bytes"]+even["tier2_bytes"]; math.Abs(got-want) > 1e-9*want {
			t.Errorf("got %g B inside pods with drawn sizes, want %g B as with even ones", got, want)
		}
		if drawn["tier2_busy"]*drawn["makespan_s"] < 1.2*even["tier2_busy"]*even["makespan_s"] ||
			drawn["makespan_s"] <= even["makespan_s"] {
			t.Errorf("got %v with drawn sizes, want longer times than with even ones, %v", drawn, even)
		}
	}
}

// TestTiersOfLinks checks an outermost tier of links, on which routers are compared. With inner
// tiers a step takes longer than without. Level packet takes up to 15 % longer than level flow.
func TestTiersOfLinks(t *testing.T) {
	outer := `kind = "electrical"
gpus = 64
link_rate = "400Gbps"
link_latency = "1us"
`

	text := switchedTiers[:strings.Index(switchedTiers, "kind = \"ocs-pods\"")] + outer
	tiered := runMetrics(t, text, "engine.level=flow", "workload.microbatches=2")
	flat := runMetrics(t, text[:strings.Index(text, "kind = \"tiers\"")]+outer, "engine.level=flow",
		"workload.microbatches=2")
	if tiered["makespan_s"] <= flat["makespan_s"] ||
		tiered["tier3_exposed_s"] != tiered["comm_exposed_s"] ||
		tiered["tier3_doubled_s"] >= tiered["makespan_s"] {
		t.Errorf("got %v with inner tiers, want a longer makespan than without, %v", tiered, flat)
	}

	packets := runMetrics(t, text, "engine.level=packet", "workload.packet=256KB", "workload.microbatches=2")
	for _, name := range []string{"makespan_s", "tier1_exposed_s", "tier2_exposed_s"} {
		// A call stores one packet at each switch, about an eighth of a message.
		if p, f := packets[name], tiered[name]; p <= f || p > 1.15*f {
			t.Errorf("%s is %g s at level packet, want more than %g s at level flow, by up to 15 "+
				"%%", name, p, f)
		}
	}

	if _, ok := runMetrics(t, text, "engine.level=static")["tier1_bytes"]; ok {
		t.Error("got metrics of tiers at level static, want none")
	}
}

// TestTiersRoundTrip checks that scenarios with tiers are read back from their own TOML.
func TestTiersRoundTrip(t *testing.T) {
	for _, text := range []string{
		threeTiers,
		strings.Replace(threeTiers, "switches = 2\n", "switches = 2\npredicted_calls = \"all\"\n", 1),
		switchedTiers, tierTraffic, topologyTier,
		strings.Replace(threeTiers, "kind = \"electrical\"\ngpus = 2", "kind = \"graph\"\ngenerator = \"ring\"\nnodes = 2", 1),
	} {
		s := mustParse(t, text)
		again, err := Parse("text.toml", s.TOML(), nil)
		if err != nil {
			t.Fatalf("not read back: %v, of\n%s", err, s.TOML())
		}
		if !bytes.Equal(s.TOML(), again.TOML()) {
			t.Errorf("want\n%s\ngot, when read back,\n%s", s.TOML(), again.TOML())
		}
	}
}

// tierTraffic is an all-to-all of 16 GPUs: domains of four behind switches, joined by another
// switch.
const tierTraffic = `
[workload]
kind = "all-to-all"
message = "64KB"
[fabric]
kind = "tiers"
[[fabric.tier]]
kind = "electrical"
gpus = 4
link_rate = "3.6Tbps"
link_latency = "250ns"
[[fabric.tier]]
kind = "electrical"
gpus = 16
link_rate = "400Gbps"
link_latency = "1us"
[engine]
level = "flow"
`

// topologyTier is tierTraffic with inner tiers of optical switches that keep a topology.
var topologyTier = strings.Replace(tierTraffic, "kind = \"electrical\"\n",
	"kind = \"scaleup\"\nswitches = 2\ntopology = \"static-ring\"\n", 1)

// TestTierWithTopology checks inner tiers of optical switches that keep a topology. They are
// links over which GPUs forward for each other.
func TestTierWithTopology(t *testing.T) {
	row := runText(t, topologyTier, "fabric.tier.0.link_rate=8Gbps").Document.Rows[0]
	// Four GPUs form two rings, one per direction. Each link carries the message to the
	// neighbour and half of the message to the opposite GPU.
	if got := row.Metrics["completion_s"]; got < 8*64e3*1.5/8e9 || got > 8*64e3*3/8e9+1e-6 ||
		!strings.HasPrefix(row.Labels["tiers"], "scaleup, ") {
		t.Errorf("got %v, want a completion time of 1.5 to 3 messages per link", row)
	}
	together := strings.Replace(threeTiers, "switches = 2\n", "switches = 2\ntopology = \"static-ring\"\n", 1)
	together = strings.Replace(together, "reconfiguration_delay = \"10us\"\n", "", 1)
	graph := runMetrics(t, together, "workload.collectives=graph", "workload.pieces=1",
		"workload.microbatches=1")
	long := runMetrics(t, together, "workload.microbatches=1")
	if graph["tier2_bytes"] <= 0 || long["tier2_busy"] <= 0 {
		t.Errorf("got %v with calls in the graph and %v with calls that lengthen passes, want "+
			"traffic on tier 2 in both", graph, long)
	}
}

// TestTierTraffic checks an all-to-all on two tiers at all levels. GPUs of a domain use its
// switch, all others the outer tier. The completion time follows from the bytes on a GPU's
// link to the outer tier.
func TestTierTraffic(t *testing.T) {
	want := 8*12*64e3/400e9 + 2e-6
	for _, level := range []string{"flow", "packet", "static"} {
		m := runMetrics(t, tierTraffic, "engine.level="+level)
		if level == "static" {
			if m["max_load_over_rate"] != 12 || m["bound_max_load_over_rate"] != 12 {
				t.Errorf("level static: got %v, want a load and a bound of 12", m)
			}
			continue
		}
		if got := m["completion_s"]; got < want-1e-9 || got > want+1e-6 {
			t.Errorf("level %s: got %g s, want %g s", level, got, want)
		}
		if m["tier1_bytes"] != 16*3*64e3 || m["tier2_bytes"] != 16*12*64e3 ||
			m["tier1_exposed_s"] != 0 || m["tier2_doubled_s"] >= m["completion_s"] {
			t.Errorf("level %s: got %v, want the bytes of each tier and a bottleneck on tier 2",
				level, m)
		}
	}
}

// TestTierPaths checks three tiers of different kinds. Flows use only links of the innermost
// tier that contains both ends, which each run verifies. Level packet takes about as long as
// level flow.
func TestTierPaths(t *testing.T) {
	text := strings.Replace(tierTraffic, "kind = \"electrical\"\ngpus = 16\n",
		"kind = \"torus\"\ndims = [4, 4]\n", 1)
	text = strings.Replace(text, "[engine]", `[[fabric.tier]]
kind = "graph"
generator = "fat-tree"
levels = 2
switch_ports = 8
link_latency = "1us"
[engine]`, 1)

	for _, work := range []string{"all-to-all", "permutation", "broadcast"} {
		var ends [2]float64
		for k, level := range []string{"flow", "packet"} {
			o := runText(t, text, "workload.kind="+work, "engine.level="+level)
			for _, row := range o.Document.Rows {
				if row.Metrics["completion_s"] > 0 {
					ends[k] += row.Metrics["completion_s"]
				}
			}
		}

		if ends[0] <= 0 || ends[1] < 0.9*ends[0] || ends[1] > 1.3*ends[0] {
			t.Errorf("%s takes %g s at level flow and %g s at level packet, want about equal times",
				work, ends[0], ends[1])
		}
	}
}

// TestStepOnTiers compares two forms of calls without contention: as transfers on the network
// of all tiers, and as calls that lengthen passes. Makespans agree up to one tick per task.
// Level packet takes up to 5 % longer.
func TestStepOnTiers(t *testing.T) {
	text := switchedTiers[:strings.Index(switchedTiers, "[[fabric.tier]]")] + `
[[fabric.tier]]
kind = "electrical"
gpus = 8
link_rate = "3.6Tbps"
link_latency = "250ns"
collective = "ring"
[[fabric.tier]]
kind = "electrical"
gpus = 32
link_rate = "400Gbps"
[engine]
level = "flow"
`

	text = strings.Replace(text, "gpus = 64", "gpus = 32", 1)
	contracted := runMetrics(t, text)
	graph := runMetrics(t, strings.Replace(text, "collective = \"ring\"\n", "", 1),
		"workload.collectives=graph")
	if a, b := contracted["makespan_s"], graph["makespan_s"]; math.Abs(a-b) > 1e-6*a {
		t.Errorf("an iteration takes %g s if calls lengthen passes, %g s with calls in the "+
			"graph; want equal times", a, b)
	}
	packets := runMetrics(t, strings.Replace(text, "collective = \"ring\"\n", "", 1),
		"workload.collectives=graph", "workload.pieces=1", "workload.microbatches=1",
		"engine.level=packet", "workload.packet=1MB")
	fluid := runMetrics(t, strings.Replace(text, "collective = \"ring\"\n", "", 1),
		"workload.collectives=graph", "workload.pieces=1", "workload.microbatches=1")
	if a, b := fluid["makespan_s"], packets["makespan_s"]; b < a || b > 1.05*a {
		t.Errorf("an iteration takes %g s at level flow and %g s at level packet, want up to 5 "+
			"%% more at level packet", a, b)
	}
}

// TestContractedStep: the contracted form of a random training job takes as long as the same job
// with its calls as transfers on the network of all tiers, and each tier carries the same bytes. Rings
// have one direction and the outermost tier no latency, and both forms have the same algorithm on
// inner tiers. If passes scatter gradients, these meet the calls of later passes in the graph alone,
// so that times differ.
func TestContractedStep(t *testing.T) {
	draw := rand.New(rand.NewPCG(35, 6))
	pick := func(choices ...int) int { return choices[draw.IntN(len(choices))] }
	name := func(choices ...string) string { return choices[draw.IntN(len(choices))] }
	jobs := 30
	if testing.Short() {
		jobs = 8
	}
	for range jobs {
		// Draw the dimensions of parallelism.
		tp, cp, pp, replicas := pick(1, 2, 4), pick(1, 2, 3), pick(1, 2, 3), pick(1, 2, 2, 3)
		stage, model := tp*cp, "layers = 6\nhidden = 256\nheads = 8\nvocab = 1000\nffn = 1024\n"
		parallel := ""
		if pick(0, 1) == 1 {
			groups := pick(1, 2)
			stage *= groups
			model += fmt.Sprintf("experts = %d\ntop_k = 2\nexpert_ffn = 512\n", 2*stage)
			parallel = fmt.Sprintf("ep = %d\n", stage)
		}

		if stage == 1 || pp*replicas == 1 {
			continue
		}

		// One or two inner tiers, and an outermost tier of circuits or of a switch.
		sharding := name("none", "optimizer", "gradients", "parameters")
		inner := func(gpus int) string {
			return fmt.Sprintf(`[[fabric.tier]]
kind = "electrical"
gpus = %d
link_rate = "%dGbps"
link_latency = "%dns"
collective = "ring"
`, gpus, pick(200, 400, 900), pick(0, 300))
		}

		text := fmt.Sprintf(`[workload]
kind = "training"
sequence = 1536
microbatches = %d
tp = %d
cp = %d
pp = %d
%sgpus = %d
effective_tflops = 50
ring = "unidirectional"
schedule = %q
sharding = %q
preset = %q
[workload.architecture]
name = "x"
%s[fabric]
kind = "tiers"
`,
			pick(2, 4), tp, cp, pp, parallel, stage*pp*replicas, name("1f1b", "gpipe"), sharding,
			name("calibrated", "consistent"), model)

		if tp > 1 && tp < stage && pick(0, 1) == 1 {
			text += inner(tp)
		}
		text += inner(stage)
		if pick(0, 1) == 1 {
			text += fmt.Sprintf(`[[fabric.tier]]
kind = "ocs-pods"
gpus_per_pod_per_replica = %d
ports_per_pod = %d
port_bandwidth = "100Gbps"
[policy]
allocators = ["delta-fast"]
`, stage, max(4, stage))
		} else {
			text += fmt.Sprintf(`[[fabric.tier]]
kind = "electrical"
gpus = %d
link_rate = "100Gbps"
[engine]
level = "flow"
`, stage*pp*replicas)
		}

		contracted := runMetrics(t, text)
		graph := runMetrics(t, strings.ReplaceAll(text, "collective = \"ring\"\n", ""),
			"workload.collectives=graph")
		for metric, want := range graph {
			tolerance := 1e-4 // rounding to ticks and to bytes
			switch {
			case metric == "makespan_s" && (sharding == "gradients" || sharding == "parameters"):
				tolerance = 0.2
			case metric != "makespan_s" && !(strings.HasPrefix(metric, "tier") && strings.HasSuffix(metric, "_bytes")):
				continue
			}

			if got := contracted[metric]; math.Abs(got-want) > tolerance*want {
				t.Errorf("%s is %g in the contracted form, want %g as with calls in the graph, "+
					"of\n%s", metric, got, want, text)
			}
		}
	}
}

// TestTiersOnPods compares an inner tier with a switch inside pods. An inner tier of one switch
// has the same times. An inner torus and two inner tiers are slower. Levels flow and packet
// take about equally long.
func TestTiersOnPods(t *testing.T) {
	const outer = `{kind = "ocs-pods", gpus_per_pod_per_replica = 4, port_bandwidth = "100Gbps", ports_per_pod = 2}`
	fabric := func(inside ...string) string {
		return `fabric={kind = "tiers", tier = [` + strings.Join(append(inside, outer), ", ") + "]}"
	}
	const behind = `{kind = "electrical", gpus = 4, link_rate = "900Gbps"}`
	switched := runText(t, podStep, `policy.allocators=["prop-alloc", "delta-topo"]`).Document
	tiered := runText(t, podStep, fabric(behind), `policy.allocators=["prop-alloc", "delta-topo"]`).Document
	for i, row := range switched.Rows {
		m := tiered.Rows[i].Metrics
		if m["makespan_s"] != row.Metrics["makespan_s"] ||
			m["tp_exposed_s"] != row.Metrics["tp_exposed_s"] ||
			tiered.Reference["makespan_s"] != switched.Reference["makespan_s"] {
			t.Errorf("%s: got %v with an inner tier, want the times with a switch inside pods, %v",
				row.Policy, m, row.Metrics)
		}

		if m["tier1_bytes"] <= 0 || m["tier2_bytes"] <= 0 ||
			m["tier1_doubled_s"] >= m["makespan_s"] ||
			m["tier1_exposed_s"] <= m["makespan_s"]-m["tier1_doubled_s"] {
			t.Errorf("got %v, want bytes on both tiers, and twice the rate of tier 1 to save "+
				"less than it exposes", m)
		}
	}

	for _, inside := range [][]string{
		{`{kind = "torus", dims = [2, 2], link_rate = "300Gbps", link_latency = "1us"}`},
		{`{kind = "electrical", gpus = 2, link_rate = "900Gbps"}`,
			`{kind = "electrical", gpus = 4, link_rate = "300Gbps"}`},
	} {
		fluid := runMetrics(t, podStep, fabric(inside...), `policy.allocators=["prop-alloc"]`)
		packets := runMetrics(t, podStep, fabric(inside...), `policy.allocators=["prop-alloc"]`,
			"engine.level=packet", "workload.packet=8KB")
		f, p := fluid["makespan_s"], packets["makespan_s"]
		if f <= switched.Rows[0].Metrics["makespan_s"] || p < 0.99*f || p > 1.02*f {
			t.Errorf("%s: got %g s at level flow and %g s at level packet, want about equal "+
				"times above %g s with a switch",
				inside, f, p, switched.Rows[0].Metrics["makespan_s"])
		}
	}
}

// TestTrafficOnTieredPods checks that traffic inside a pod uses the switch of the pod, whether
// it is faster or slower than the circuits.
func TestTrafficOnTieredPods(t *testing.T) {
	text := strings.Replace(tierTraffic, `kind = "electrical"
gpus = 16
link_rate = "400Gbps"
link_latency = "1us"
`, `kind = "ocs-pods"
pods = 4
gpus_per_pod = 4
port_bandwidth = "400Gbps"
`, 1)
	for rate, want := range map[string]float64{
		"3600Gbps": 8 * 16 * 64e3 / 400e9,
		"8Gbps":    8*3*64e3/8e9 + 500e-9,
	} {
		m := runMetrics(t, text, "fabric.tier.0.link_rate="+rate, `policy.allocators=["delta-fast"]`)
		if math.Abs(m["completion_s"]-want) > 1e-9*want+1e-10 || m["tier1_bytes"] != 16*3*64e3 ||
			m["tier2_bytes"] != 16*12*64e3 {
			t.Errorf("inner rate %s: got %v, want %g s", rate, m, want)
		}
	}
}

// TestTiersExplained checks an all-reduce over four domains of four GPUs. Its bound follows
// from the links between domains. Explanations group links, and parts of the longest chain, by tier.
func TestTiersExplained(t *testing.T) {
	o := runText(t, `
[workload]
kind = "all-reduce"
message = "64MB"
[fabric]
kind = "tiers"
tier = [{kind = "electrical", gpus = 4, link_rate = "3.6Tbps"}, {kind = "torus", dims = [4, 4], link_rate = "400Gbps"}]
[engine]
level = "flow"
[policy]
collectives = ["hierarchical"]
`)

	// The vector crosses 2 (4 - 1) times between the 4 rows of the torus. Each of 4 pairs of
	// adjacent rows has 4 links in each direction.
	if got, want := o.Document.Rows[0].Metrics["bound_completion_s"], 6*64e6/(4*4*2*50e9); math.Abs(got-want) > 1e-9*want {
		t.Errorf("got a bound of %g s, want %g s", got, want)
	}
	traffic := o.Detail.Policies[0].Traffic
	var links []int
	for _, g := range traffic.Groups {
		links = append(links, g.Links)
	}
	if got := fmt.Sprintf("%v %s, %s", links, traffic.Groups[0].Name,
		traffic.Groups[1].Name); got != "[32 64] tier 1 electrical, tier 2 torus" {
		t.Errorf("got groups %s, want [32 64] tier 1 electrical, tier 2 torus", got)
	}
	if parts := traffic.Chain.Parts; len(parts) != 2 || parts[0].Over != "tier 1 electrical" ||
		parts[0].Transfers+parts[1].Transfers != 12 {
		t.Errorf("got chain %+v, want 12 transfers on two tiers", parts)
	}
}

// TestTierFaults checks that failed links of inner tiers are rejected. Only the outermost tier
// may have faults.
func TestTierFaults(t *testing.T) {
	text := strings.NewReplacer("kind = \"scaleup\"\ngpus = 8\nswitches = 2\n",
		"kind = \"torus\"\ndims = [4, 2]\nfailed_links = [\"0 x+\"]\n",
		"reconfiguration_delay = \"10us\"\n", "").Replace(threeTiers)
	if _, err := Parse("tiers.toml", []byte(strings.Replace(text, "failed_links = [\"0 x+\"]\n", "", 1)), nil); err != nil {
		t.Fatal(err)
	}
	_, err := Parse("tiers.toml", []byte(text), nil)
	checkError(t, err, "parts of inner tiers are down", "a failed link of an inner tier")
}
