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

// switchedTiers has an electrical tier in place of the one that reconfigures.
var switchedTiers = strings.NewReplacer("kind = \"scaleup\"\n", "kind = \"electrical\"\n", "switches = 2\n", "", "reconfiguration_delay = \"10us\"\n", "").Replace(threeTiers)

// TestTierTimes: the calls inside tiers take the time that their bytes over a GPU's link do, and passes are longer by
// it.
func TestTierTimes(t *testing.T) {
	o := runText(t, switchedTiers)
	m := o.Document.Rows[0].Metrics
	s, err := Parse("text.toml", []byte(switchedTiers), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &s.Workload.Spec
	var busy, sent [2]float64
	for _, pass := range []training.Phase{training.Forward, training.Backward, training.CopyScatter, training.CopyGather} {
		for v := range w.PP {
			passTimes := [2]float64{}
			for _, c := range w.Calls(v, pass) {
				n := float64(w.Pieces(v) * w.Microbatches)
				b := float64(c.Bytes)
				switch c.Dim {
				case training.Tensor: // half of the vector to the other of two
					passTimes[0] += n * (8*b/2/3.6e12 + 500e-9)
					sent[0] += n * b * 4 * 2 // of four groups, in two replicas
				case training.Expert: // to one inside, and six outside
					passTimes[0] += n * (8*b/3.6e12 + 500e-9)
					passTimes[1] += n * (8*6*b/800e9 + 0)
					sent[0] += n * b * 8 * 2
					sent[1] += n * b * 8 * 6 * 2
				case training.Sync: // once, by rings of the four copies of each of two tensor-parallel parts
					passTimes[1] += 8 * 3 * b / 4 / 800e9
					sent[1] += 3 * b * 2 * 2
				}
			}
			if v == 0 {
				busy[0], busy[1] = busy[0]+passTimes[0], busy[1]+passTimes[1]
			}
		}
	}
	for i := range 2 {
		if got := m[fmt.Sprintf("tier%d_bytes", i+1)]; math.Abs(got-sent[i]) > 1e-6*sent[i] {
			t.Errorf("tier %d carries %g bytes, want %g", i+1, got, sent[i])
		}
		if got, want := m[fmt.Sprintf("tier%d_busy", i+1)]*m["makespan_s"], busy[i]; math.Abs(got-want) > 1e-3*want {
			t.Errorf("tier %d is busy for %g s, want %g", i+1, got, want)
		}
	}
	bare := runText(t, strings.NewReplacer("kind = \"tiers\"\n", "", "[[fabric.tier]]\n", "").Replace(switchedTiers[:strings.Index(switchedTiers, "[[fabric.tier]]")])+
		switchedTiers[strings.Index(switchedTiers, "kind = \"ocs-pods\""):])
	if m["compute_makespan_s"] != 0 || o.Document.Reference["compute_makespan_s"] <= bare.Document.Reference["compute_makespan_s"] {
		t.Errorf("compute alone takes %g s with calls, %g without", o.Document.Reference["compute_makespan_s"], bare.Document.Reference["compute_makespan_s"])
	}
}

// TestTierMetrics: without a tier's time an iteration is shorter, with links twice as fast it is as long at most; the
// outermost exposes what communication between pods does.
func TestTierMetrics(t *testing.T) {
	for _, text := range []string{threeTiers, switchedTiers} {
		m := runText(t, text).Document.Rows[0].Metrics
		for i := range 3 {
			name := fmt.Sprintf("tier%d_", i+1)
			without := m["makespan_s"] - m[name+"exposed_s"]
			if m[name+"exposed_s"] <= 0 || m[name+"doubled_s"] > m["makespan_s"] || m[name+"doubled_s"] < without-1e-9 || m[name+"bytes"] <= 0 || m[name+"busy"] <= 0 || m[name+"busy"] > 1 {
				t.Errorf("tier %d: %g bytes, busy %g, exposes %g s, doubled %g s of %g s", i+1, m[name+"bytes"], m[name+"busy"], m[name+"exposed_s"], m[name+"doubled_s"], m["makespan_s"])
			}
		}
		if m["tier3_exposed_s"] != m["comm_exposed_s"] {
			t.Errorf("the outermost tier exposes %g s, want %g", m["tier3_exposed_s"], m["comm_exposed_s"])
		}
		fast := runText(t, text, "fabric.tier.0.link_rate=7.2Tbps").Document.Rows[0].Metrics
		if fast["makespan_s"] != m["tier1_doubled_s"] {
			t.Errorf("with tier 1 twice as fast an iteration takes %g s, which was to be %g", fast["makespan_s"], m["tier1_doubled_s"])
		}
	}
}

// TestTierOfPlans: a tier that reconfigures takes for an all-to-all what the same step on that domain by itself does,
// less a reconfiguration of each of those that are known ahead, before which more is computed than that takes. It takes
// for the synchronisation of the copies in a stage what two all-to-alls of their shares do.
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
	s, err := Parse("text.toml", []byte(two), nil)
	if err != nil {
		t.Fatal(err)
	}
	for known, hidden := range map[string]float64{"none": 0, "returns": 3, "all": 4} {
		m := runText(t, two, "fabric.tier.0.known_ahead="+known).Document.Rows[0].Metrics
		each := runText(t, alone, "fabric.known_ahead="+known).Document.Rows[0].Metrics["all_to_all_s"]
		shares := 0.0
		for _, pass := range []training.Phase{training.CopyScatter, training.CopyGather} {
			c := s.Workload.Calls(0, pass)
			shares += runText(t, alone[strings.Index(alone, "[fabric]"):], "workload.kind=all-to-all", "fabric.gpus=8", fmt.Sprintf("workload.message=%dB", (c[0].Bytes+7)/8)).Document.Rows[0].Metrics["completion_s"]
		}
		// 56 layers in 4 stages, two all-to-alls a layer each way
		if got, want := m["tier1_busy"]*m["makespan_s"], 4*14*(4*each-hidden*10e-6)+shares; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s known ahead: busy for %g s, want %g", known, got, want)
		}
	}
}

// TestExpertSizesInTiers: all-to-alls of drawn sizes take tiers as those of even ones do where sizes fall by nothing;
// else as many bytes cross the machine and take longer.
func TestExpertSizesInTiers(t *testing.T) {
	for _, text := range []string{threeTiers, switchedTiers} {
		even := runText(t, text).Document.Rows[0].Metrics
		level := runText(t, text, "workload.expert_sizes=zipf", "workload.expert_exponent=0").Document.Rows[0].Metrics
		drawn := runText(t, text, "workload.expert_sizes=zipf", "workload.expert_exponent=1.2").Document.Rows[0].Metrics
		for name, want := range even {
			if got := level[name]; strings.HasPrefix(name, "tier") && got != want {
				t.Errorf("%s is %g with sizes that fall by nothing, %g with even ones", name, got, want)
			}
		}
		if got, want := drawn["tier1_bytes"]+drawn["tier2_bytes"], even["tier1_bytes"]+even["tier2_bytes"]; math.Abs(got-want) > 1e-9*want {
			t.Errorf("%g bytes of drawn sizes inside pods, %g of even ones", got, want)
		}
		if drawn["tier2_busy"]*drawn["makespan_s"] < 1.2*even["tier2_busy"]*even["makespan_s"] || drawn["makespan_s"] <= even["makespan_s"] {
			t.Errorf("drawn sizes %v, even ones %v", drawn, even)
		}
	}
}

// TestTiersOfLinks: on an outermost tier of links routers are compared, at every level.
func TestTiersOfLinks(t *testing.T) {
	outer := "kind = \"electrical\"\ngpus = 64\nlink_rate = \"400Gbps\"\nlink_latency = \"1us\"\n"
	text := switchedTiers[:strings.Index(switchedTiers, "kind = \"ocs-pods\"")] + outer
	tiered := runText(t, text, "engine.level=flow", "workload.microbatches=2").Document.Rows[0].Metrics
	flat := runText(t, text[:strings.Index(text, "kind = \"tiers\"")]+outer, "engine.level=flow", "workload.microbatches=2").Document.Rows[0].Metrics
	if tiered["makespan_s"] <= flat["makespan_s"] || tiered["tier3_exposed_s"] != tiered["comm_exposed_s"] || tiered["tier3_doubled_s"] >= tiered["makespan_s"] {
		t.Errorf("%v with tiers inside, %v without", tiered, flat)
	}
	packets := runText(t, text, "engine.level=packet", "workload.packet=256KB", "workload.microbatches=2").Document.Rows[0].Metrics
	for _, name := range []string{"makespan_s", "tier1_exposed_s", "tier2_exposed_s"} {
		if p, f := packets[name], tiered[name]; p <= f || p > 1.15*f { // each call waits for a packet more at each switch, of eight or so of a message
			t.Errorf("%s is %g as packets, %g as fluid", name, p, f)
		}
	}
	if _, ok := runText(t, text, "engine.level=static").Document.Rows[0].Metrics["tier1_bytes"]; ok {
		t.Error("loads alone have times")
	}
}

// TestTiersRoundTrip: what is written is read back as the same.
func TestTiersRoundTrip(t *testing.T) {
	for _, text := range []string{threeTiers, strings.Replace(threeTiers, "switches = 2\n", "switches = 2\nknown_ahead = \"all\"\n", 1), switchedTiers, tierTraffic, topologyTier, strings.Replace(threeTiers, "kind = \"electrical\"\ngpus = 2", "kind = \"graph\"\ngenerator = \"ring\"\nnodes = 2", 1)} {
		s, err := Parse("text.toml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("text.toml", s.TOML(), nil)
		if err != nil {
			t.Fatalf("%v of\n%s", err, s.TOML())
		}
		if !bytes.Equal(s.TOML(), again.TOML()) {
			t.Errorf("%s\nis read back as\n%s", s.TOML(), again.TOML())
		}
	}
}

// tierTraffic is work on 16 GPUs in fours, with a network of their own between them.
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

// topologyTier has optical switches that keep a topology in place of an electrical one.
var topologyTier = strings.Replace(tierTraffic, "kind = \"electrical\"\n", "kind = \"scaleup\"\nswitches = 2\ntopology = \"static-ring\"\n", 1)

// TestKeptTier: optical switches inside that keep a topology are links, over which GPUs forward for each other.
func TestTierWithTopology(t *testing.T) {
	row := runText(t, topologyTier, "fabric.tier.0.link_rate=8Gbps").Document.Rows[0]
	// of four GPUs on two rings, one each way, half of what goes to the one opposite is on each link beside its
	// neighbour's
	if got := row.Metrics["completion_s"]; got < 8*64e3*1.5/8e9 || got > 8*64e3*3/8e9+1e-6 || !strings.HasPrefix(row.Labels["tiers"], "scaleup, ") {
		t.Errorf("%v", row)
	}
	together := strings.Replace(threeTiers, "switches = 2\n", "switches = 2\ntopology = \"static-ring\"\n", 1)
	together = strings.Replace(together, "reconfiguration_delay = \"10us\"\n", "", 1)
	graph := runText(t, together, "workload.collectives=graph", "workload.pieces=1", "workload.microbatches=1").Document.Rows[0].Metrics
	long := runText(t, together, "workload.microbatches=1").Document.Rows[0].Metrics
	if graph["tier2_bytes"] <= 0 || long["tier2_busy"] <= 0 {
		t.Errorf("%v in the graph, %v in passes", graph, long)
	}
}

// TestTiersTogether: what GPUs of a domain exchange takes its switch, the rest their links to the tier outside, which
// together end as the bytes over a GPU's link there say, at all levels.
func TestTierTraffic(t *testing.T) {
	want := 8*12*64e3/400e9 + 2e-6
	for _, level := range []string{"flow", "packet", "static"} {
		m := runText(t, tierTraffic, "engine.level="+level).Document.Rows[0].Metrics
		if level == "static" {
			if m["max_load_over_rate"] != 12 || m["bound_max_load_over_rate"] != 12 {
				t.Errorf("at level static loads are %v", m)
			}
			continue
		}
		if got := m["completion_s"]; got < want-1e-9 || got > want+1e-6 {
			t.Errorf("at level %s it takes %g s, want %g", level, got, want)
		}
		if m["tier1_bytes"] != 16*3*64e3 || m["tier2_bytes"] != 16*12*64e3 || m["tier1_exposed_s"] != 0 || m["tier2_doubled_s"] >= m["completion_s"] {
			t.Errorf("by tier at level %s: %v", level, m)
		}
	}
}

// TestTiersLead: on three tiers of different kinds every flow takes links of the innermost tier that joins its ends
// alone, whatever is sent, and packets end about when the fluid does.
func TestTierPaths(t *testing.T) {
	text := strings.Replace(tierTraffic, "kind = \"electrical\"\ngpus = 16\n", "kind = \"torus\"\ndims = [4, 4]\n", 1)
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
			t.Errorf("%s takes %g s as fluid, %g as packets", work, ends[0], ends[1])
		}
	}
}

// TestStepOnTiers: where calls meet no other traffic, a step with its calls on the network of all tiers takes as long as
// one whose passes they lengthen, to a tick a task.
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
	contracted := runText(t, text).Document.Rows[0].Metrics
	graph := runText(t, strings.Replace(text, "collective = \"ring\"\n", "", 1), "workload.collectives=graph").Document.Rows[0].Metrics
	if a, b := contracted["makespan_s"], graph["makespan_s"]; math.Abs(a-b) > 1e-6*a {
		t.Errorf("an iteration takes %g s with passes that calls lengthen, %g s with calls in the graph", a, b)
	}
	packets := runText(t, strings.Replace(text, "collective = \"ring\"\n", "", 1), "workload.collectives=graph", "workload.pieces=1", "workload.microbatches=1", "engine.level=packet", "workload.packet=1MB").Document.Rows[0].Metrics
	fluid := runText(t, strings.Replace(text, "collective = \"ring\"\n", "", 1), "workload.collectives=graph", "workload.pieces=1", "workload.microbatches=1").Document.Rows[0].Metrics
	if a, b := fluid["makespan_s"], packets["makespan_s"]; b < a || b > 1.05*a {
		t.Errorf("an iteration takes %g s as fluid, %g s as packets", a, b)
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
		sharding := name("none", "optimizer", "gradients", "parameters")
		inner := func(gpus int) string {
			return fmt.Sprintf("[[fabric.tier]]\nkind = \"electrical\"\ngpus = %d\nlink_rate = \"%dGbps\"\nlink_latency = \"%dns\"\ncollective = \"ring\"\n", gpus, pick(200, 400, 900), pick(0, 300))
		}
		text := fmt.Sprintf("[workload]\nkind = \"training\"\nsequence = 1536\nmicrobatches = %d\ntp = %d\ncp = %d\npp = %d\n%sgpus = %d\neffective_tflops = 50\nring = \"unidirectional\"\nschedule = %q\nsharding = %q\npreset = %q\n[workload.architecture]\nname = \"x\"\n%s[fabric]\nkind = \"tiers\"\n",
			pick(2, 4), tp, cp, pp, parallel, stage*pp*replicas, name("1f1b", "gpipe"), sharding, name("calibrated", "consistent"), model)
		if tp > 1 && tp < stage && pick(0, 1) == 1 {
			text += inner(tp)
		}
		text += inner(stage)
		if pick(0, 1) == 1 {
			text += fmt.Sprintf("[[fabric.tier]]\nkind = \"ocs-pods\"\ngpus_per_pod_per_replica = %d\nports_per_pod = %d\nport_bandwidth = \"100Gbps\"\n[policy]\nallocators = [\"delta-fast\"]\n", stage, max(4, stage))
		} else {
			text += fmt.Sprintf("[[fabric.tier]]\nkind = \"electrical\"\ngpus = %d\nlink_rate = \"100Gbps\"\n[engine]\nlevel = \"flow\"\n", stage*pp*replicas)
		}
		contracted := runText(t, text).Document.Rows[0].Metrics
		graph := runText(t, strings.ReplaceAll(text, "collective = \"ring\"\n", ""), "workload.collectives=graph").Document.Rows[0].Metrics
		for metric, want := range graph {
			tolerance := 1e-4 // ticks, and bytes that do not divide
			switch {
			case metric == "makespan_s" && (sharding == "gradients" || sharding == "parameters"):
				tolerance = 0.2
			case metric != "makespan_s" && !(strings.HasPrefix(metric, "tier") && strings.HasSuffix(metric, "_bytes")):
				continue
			}
			if got := contracted[metric]; math.Abs(got-want) > tolerance*want {
				t.Errorf("%s is %g contracted, %g in the graph, of\n%s", metric, got, want, text)
			}
		}
	}
}

// TestTiersOnPods: a switch inside pods is an inner tier of one, to which all else is the same; a torus there is slower,
// and so is another tier outside the switch; packets end about when the fluid does.
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
		if m["makespan_s"] != row.Metrics["makespan_s"] || m["tp_exposed_s"] != row.Metrics["tp_exposed_s"] || tiered.Reference["makespan_s"] != switched.Reference["makespan_s"] {
			t.Errorf("%s: %v with a tier, %v with a switch", row.Policy, m, row.Metrics)
		}
		if m["tier1_bytes"] <= 0 || m["tier2_bytes"] <= 0 || m["tier1_doubled_s"] >= m["makespan_s"] || m["tier1_exposed_s"] <= m["makespan_s"]-m["tier1_doubled_s"] {
			t.Errorf("by tier: %v", m)
		}
	}
	for _, inside := range [][]string{
		{`{kind = "torus", dims = [2, 2], link_rate = "300Gbps", link_latency = "1us"}`},
		{`{kind = "electrical", gpus = 2, link_rate = "900Gbps"}`, `{kind = "electrical", gpus = 4, link_rate = "300Gbps"}`},
	} {
		fluid := runText(t, podStep, fabric(inside...), `policy.allocators=["prop-alloc"]`).Document.Rows[0].Metrics
		packets := runText(t, podStep, fabric(inside...), `policy.allocators=["prop-alloc"]`, "engine.level=packet", "workload.packet=8KB").Document.Rows[0].Metrics
		if f, p := fluid["makespan_s"], packets["makespan_s"]; f <= switched.Rows[0].Metrics["makespan_s"] || p < 0.99*f || p > 1.02*f {
			t.Errorf("%s: %g s as fluid, %g as packets, behind a switch %g", inside, f, p, switched.Rows[0].Metrics["makespan_s"])
		}
	}
}

// TestTrafficOnTieredPods: what stays in a pod takes its switch, for which it is faster than circuits, or for which it
// is not.
func TestTrafficOnTieredPods(t *testing.T) {
	text := strings.Replace(tierTraffic, "kind = \"electrical\"\ngpus = 16\nlink_rate = \"400Gbps\"\nlink_latency = \"1us\"\n", "kind = \"ocs-pods\"\npods = 4\ngpus_per_pod = 4\nport_bandwidth = \"400Gbps\"\n", 1)
	for rate, want := range map[string]float64{"3600Gbps": 8 * 16 * 64e3 / 400e9, "8Gbps": 8*3*64e3/8e9 + 500e-9} {
		m := runText(t, text, "fabric.tier.0.link_rate="+rate, `policy.allocators=["delta-fast"]`).Document.Rows[0].Metrics
		if math.Abs(m["completion_s"]-want) > 1e-9*want+1e-10 || m["tier1_bytes"] != 16*3*64e3 || m["tier2_bytes"] != 16*12*64e3 {
			t.Errorf("inside at %s: %v, want %g s", rate, m, want)
		}
	}
}

// TestTiersExplained: an all-reduce over four domains of four GPUs has the bound of the links between these, and links
// and the longest chain are told by tier.
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
	// the vector crosses 2 (4 - 1) times between rows of the torus, of which each of 4 pairs has 4 links each way
	if got, want := o.Document.Rows[0].Metrics["bound_completion_s"], 6*64e6/(4*4*2*50e9); math.Abs(got-want) > 1e-9*want {
		t.Errorf("a bound of %g s, want %g", got, want)
	}
	traffic := o.Detail.Policies[0].Traffic
	var links []int
	for _, g := range traffic.Groups {
		links = append(links, g.Links)
	}
	if got := fmt.Sprintf("%v %s, %s", links, traffic.Groups[0].Name, traffic.Groups[1].Name); got != "[32 64] tier 1 electrical, tier 2 torus" {
		t.Error(got)
	}
	if parts := traffic.Chain.Parts; len(parts) != 2 || parts[0].Over != "tier 1 electrical" || parts[0].Transfers+parts[1].Transfers != 12 {
		t.Errorf("%+v", parts)
	}
}

// TestTierFaults: only parts of the outermost tier may be down.
func TestTierFaults(t *testing.T) {
	text := strings.NewReplacer("kind = \"scaleup\"\ngpus = 8\nswitches = 2\n", "kind = \"torus\"\ndims = [4, 2]\nfailed_links = [\"0 x+\"]\n", "reconfiguration_delay = \"10us\"\n", "").Replace(threeTiers)
	if _, err := Parse("tiers.toml", []byte(strings.Replace(text, "failed_links = [\"0 x+\"]\n", "", 1)), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := Parse("tiers.toml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), "parts of inner tiers are down") {
		t.Errorf("a link of an inner tier is down: got %v, want a refusal", err)
	}
}
