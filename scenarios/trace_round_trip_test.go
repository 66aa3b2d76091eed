package scenarios

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	calls "sim/policies/collective"
	"sim/workloads/trace"
)

// writeTrace writes a task graph in a trace format and returns the value of workload.files that
// reads it.
func writeTrace(t *testing.T, format string, w *trace.RankGraph) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), format)
	create := func(name string) *os.File {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}

	jobOf := (*trace.RankGraph).Job
	if format == "goal" || format == "binary" {
		jobOf = (*trace.RankGraph).GOALJob
	}
	j, err := jobOf(w)
	if err != nil {
		t.Fatal(err)
	}
	switch format {
	case "goal":
		err = j.WriteGOAL(create(name))
	case "binary":
		err = j.WriteBinaryGOAL(create(name))
	case "cm":
		err = w.WriteCM(create(name))
	default:
		for rank := 0; rank < j.Ranks && err == nil; rank++ {
			err = j.WriteChakra(create(fmt.Sprintf("%s.%d.et", name, rank)), rank)
		}
		name += ".%d.et"
	}

	if err != nil {
		t.Fatal(err)
	}
	return name
}

// completionTimes runs a scenario. It returns its makespans or completion times in seconds,
// indexed by policy, and its task graph.
func completionTimes(t *testing.T, text string) (map[string]float64, *trace.RankGraph) {
	t.Helper()
	s := mustParse(t, text)
	var work *trace.RankGraph
	o, err := Run(context.Background(), s,
		RunOptions{Workers: 1, VisitWork: func(w *trace.RankGraph) error { work = w; return nil }})
	if err != nil {
		t.Fatalf("got error %v, of\n%s", err, text)
	}
	all := map[string]float64{}
	for _, r := range o.Document.Rows {
		for _, m := range []string{"makespan_s", "completion_s"} {
			if v, ok := r.Metrics[m]; ok {
				all[r.Policy] = v
			}
		}
	}

	return all, work
}

// TestTraceRoundTrip checks that the task graph of a scenario, written as a trace and simulated
// on the same fabric, takes as long, within a tick. A trace that is written again takes exactly
// as long.
func TestTraceRoundTrip(t *testing.T) {
	const (
		dense = `kind = "training"
model = "gpt-7b"
sequence = 4096
microbatches = 4
tp = 2
pp = 4
gpus = 16
`
		moe = `kind = "training"
model = "mixtral-8x22b"
sequence = 1024
microbatches = 2
tp = 2
pp = 2
ep = 4
gpus = 16
preset = "consistent"
effective_tflops = 700
collectives = "graph"
pieces = 1
`
		torus = `[fabric]
kind = "torus"
dims = [4, 4]
link_rate = "400Gbps"
`
		flow = "[engine]\nlevel = \"flow\"\n"
		tree = `[fabric]
kind = "graph"
generator = "fat-tree"
switch_ports = 4
link_rate = "400Gbps"
link_latency = "100ns"
`
		pods = `port_bandwidth = "400Gbps"
[policy]
allocators = ["uniform", "prop-alloc", "iter-halve", "delta-joint"]
[policy.delta-joint]
max_evaluations = 100
`
		step = `kind = "recommendation"
gpus = 16
samples = 512
tables = 100
width = 68
dense_parameters = 21_700_000
effective_tflops = 80
`
		inner = `[fabric]
kind = "tiers"
[[fabric.tier]]
kind = "electrical"
gpus = 4
link_rate = "3600Gbps"
[[fabric.tier]]
kind = `
		links = inner + "\"torus\"\ndims = [4, 4]\nlink_rate = \"400Gbps\"\n"
		late  = `[fabric]
kind = "tiers"
[[fabric.tier]]
kind = "electrical"
gpus = 4
link_rate = "3600Gbps"
link_latency = "3us"
[[fabric.tier]]
kind = "ocs-pods"
`
		dor  = "[policy]\nrouters = [\"dor\"]\n"
		each = "[engine]\nlevel = \"packet\"\n"
	)

	jobs := []struct {
		// again is the fabric of the trace, "" if its keys are the same.
		name, workload, fabric, again string
		formats                       string // separated by spaces
	}{
		{"torus", dense, torus + flow + "[policy]\nrouters = [\"dor\", \"ecmp\"]\n", "",
			"goal binary chakra"},
		{"torus, calls, ranks elsewhere", moe,
			torus + flow + "[policy]\nrouters = [\"dor\"]\nmapping = \"tp-pp-ep-dp-cp\"\n",
			torus + flow + "[policy]\nrouters = [\"dor\"]\n", "goal chakra"},
		{"torus, packets", dense + "packet = \"1MB\"\n", torus + `[engine]
level = "packet"
[policy]
routers = ["dor"]
`, "", "goal binary"},
		{"fat tree", dense, tree + flow + "[policy]\nrouters = [\"shortest\"]\n", "", "goal binary chakra"},
		{"pods", dense + "replicas = \"all\"\n", "[fabric]\nkind = \"ocs-pods\"\ngpus_per_pod_per_replica = 4\n" + pods, `[fabric]
kind = "ocs-pods"
pods = 4
gpus_per_pod = 4
` + pods, "goal binary chakra"},
		{"torus, calls, packets", moe + "packet = \"1MB\"\n", torus + each + dor, "", "goal"},
		{"switches in a torus", moe, links + flow + dor, "", "goal"},
		{"switches in pods", dense + "replicas = \"all\"\n", strings.Replace(inner, "gpus = 4", "gpus = 2", 1) + "\"ocs-pods\"\nports_per_pod = 4\ngpus_per_pod_per_replica = 2\n" + pods, `[fabric]
kind = "ocs-pods"
pods = 8
ports_per_pod = 4
gpus_per_pod = 2
` + pods, "binary"},
		{"late switches in pods", dense + "collectives = \"graph\"\npieces = 1\n",
			late + "gpus_per_pod_per_replica = 4\n" + pods,
			late + "pods = 4\ngpus_per_pod = 4\n" + pods, "goal chakra"},
		{"recommendation", step, torus + flow + dor, "", "goal chakra"},
		{"recommendation, packets", step + "packet = \"1MB\"\n", torus + each + dor, "", "chakra"},
		{"collective, packets", "kind = \"all-reduce\"\nmessage = \"8MB\"\npacket = \"1MB\"\n",
			tree + each + "[policy]\nrouters = [\"shortest\"]\ncollective = \"swing\"\n",
			tree + each + "[policy]\nrouters = [\"shortest\"]\n", "goal binary chakra"},
		{"matrix, packets", `kind = "all-to-all"
message = "3MB"
source = "greedy"
packet = "1MB"
`, torus + each + dor, "", "goal"},
		{"collective", "kind = \"all-reduce\"\nmessage = \"64MB\"\n",
			torus + flow + "[policy]\nrouters = [\"dor\"]\ncollective = \"ring\"\n",
			torus + flow + "[policy]\nrouters = [\"dor\"]\n", "goal binary chakra"},
		{"late packing", "kind = \"all-reduce\"\nmessage = \"3MB\"\n", `[fabric]
kind = "torus"
dims = [5]
link_rate = "100Gbps"
link_latency = "300ns"
` + flow + dor + "collective = \"tree-packing\"\n",
			`[fabric]
kind = "torus"
dims = [5]
link_rate = "100Gbps"
link_latency = "300ns"
` + flow + dor, "goal binary chakra"},
		{"matrix", "kind = \"permutation\"\nmessage = \"3MB\"\n",
			torus + flow + "[policy]\nrouters = [\"dor\"]\n", "", "goal chakra cm"},
		{"all-to-all", "kind = \"all-to-all\"\nmessage = \"64KB\"\n",
			tree + flow + "[policy]\nrouters = [\"shortest\"]\n", "", "binary cm"},
		{"pods, matrix", "kind = \"permutation\"\nmessage = \"3MB\"\n", `[fabric]
kind = "ocs-pods"
pods = 4
gpus_per_pod = 4
` + pods, "", "goal cm"},
	}

	for _, c := range jobs {
		t.Run(c.name, func(t *testing.T) {
			want, work := completionTimes(t, "[workload]\n"+c.workload+c.fabric)
			fabric := c.again
			if fabric == "" {
				fabric = c.fabric
			}
			for format := range strings.FieldsSeq(c.formats) {
				keys := ""
				if strings.Contains(c.workload, "packet =") {
					keys = "packet = \"1MB\"\n"
				}
				text := func(w *trace.RankGraph) string {
					return fmt.Sprintf("[workload]\nkind = \"trace\"\nfiles = %q\n%s%s",
						writeTrace(t, format, w), keys, fabric)
				}
				got, read := completionTimes(t, text(work))
				rewritten, _ := completionTimes(t, text(read)) // the trace, written again
				if len(want) == 0 {
					t.Fatal("got no completion time")
				}
				for policy, end := range want {
					if off := got[policy] - end; off > 1.5e-12 || off < -1.5e-12 {
						t.Errorf("%s %s: completes after %.12f s, want %.12f s",
							format, policy, got[policy], end)
					}
					if rewritten[policy] != got[policy] {
						t.Errorf("%s %s: completes after %.12f s when written again, want %.12f s",
							format, policy, rewritten[policy], got[policy])
					}
				}
			}
		})
	}
}

// TestTraceRoundTripWithLatency draws collective calls and training steps on links with
// latency. Written as a trace and read back they take as long, within a tick, for every
// algorithm and format, at levels flow and packet.
func TestTraceRoundTripWithLatency(t *testing.T) {
	draw := rand.New(rand.NewPCG(35, 7))
	pick := func(choices ...int) int { return choices[draw.IntN(len(choices))] }
	name := func(choices ...string) string { return choices[draw.IntN(len(choices))] }
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	compared := 0
	for range rounds {
		// Draw a fabric.
		nodes := 0
		latency := fmt.Sprintf("link_latency = \"%dns\"\n", pick(100, 300, 2000))
		fabric := "link_rate = \"" + name("100Gbps", "400Gbps") + "\"\n" + latency
		router := "dor"
		switch pick(0, 1, 2, 3, 4) {
		case 0:
			nodes = pick(3, 5, 8)
			fabric = fmt.Sprintf("kind = \"torus\"\ndims = [%d]\n", nodes) + fabric
		case 1:
			nodes = 12
			fabric = "kind = \"torus\"\ndims = [4, 3]\n" + fabric
		case 2:
			nodes = 27
			fabric = "kind = \"torus\"\ndims = [3, 3, 3]\n" + fabric
		case 3:
			nodes, router = 16, name("ecmp", "shortest")
			fabric = "kind = \"graph\"\ngenerator = \"fat-tree\"\nswitch_ports = 4\n" + fabric
		case 4:
			nodes, router = 8, "ecmp"
			fabric = `kind = "tiers"
[[fabric.tier]]
kind = "electrical"
gpus = 4
link_rate = "900Gbps"
link_latency = "50ns"
[[fabric.tier]]
kind = "electrical"
gpus = 8
` + fabric
		}

		// Draw a level and a workload.
		level := name("flow", "flow", "packet")
		packet := ""
		if level == "packet" {
			packet = "packet = \"64KB\"\n"
		}
		collective := ""
		var work string
		switch pick(0, 1, 2) {
		case 0, 1:
			work = fmt.Sprintf("kind = %q\nmessage = \"%dKB\"\n",
				name("all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce",
					"all-to-all"), pick(90, 700, 3000))
			var names []string
			for _, row := range calls.Table {
				names = append(names, row.Name)
			}
			collective = name(names...)
		default:
			sharding := name("none", "optimizer", "gradients", "parameters")
			work = fmt.Sprintf(`kind = "training"
sequence = 512
microbatches = 2
tp = %d
pp = %d
gpus = %d
effective_tflops = 100
sharding = %q
`, pick(1, 2), pick(1, 2), nodes/4*4, sharding)
			if collective = name("", "ring", "direct", "tree"); collective != "" ||
				strings.Contains(fabric, "tiers") {
				work += "collectives = \"graph\"\n"
			} else {
				work += "buckets = \"" + name("0B", "3MB") + "\"\n"
			}
			if nodes < 4 {
				continue
			}
			packet += `[workload.architecture]
name = "x"
layers = 4
hidden = 256
heads = 4
vocab = 1000
ffn = 1024
`
		}

		// Some all-reduces use the deprecated kind of traffic.
		policy := "[policy]\nrouters = [\"" + router + "\"]\n"
		if pick(0, 1) == 0 && strings.Contains(work, "\"all-reduce\"") &&
			strings.Contains(fabric, "\"torus\"") {
			work, collective = strings.Replace(work, "\"all-reduce\"", "\"ring-all-reduce\"", 1), ""
		}
		rest := "[fabric]\n" + fabric + "[engine]\nlevel = \"" + level + "\"\n" + policy
		first := rest
		if collective != "" {
			first += "collective = \"" + collective + "\"\n"
		}
		text := "[workload]\n" + work + packet + first
		s, err := Parse("written.toml", []byte(text), nil)
		if err == nil {
			_, err = Run(context.Background(), s, RunOptions{Workers: 1})
		}
		if err != nil {
			continue // the algorithm does not serve the call on this fabric
		}

		// Compare with the written traces.
		want, written := completionTimes(t, text)
		if len(want) == 0 || written == nil {
			continue
		}
		compared++
		for _, format := range []string{"goal", "binary", "chakra"} {
			packet, _, _ := strings.Cut(packet, "[")
			got, _ := completionTimes(t,
				fmt.Sprintf("[workload]\nkind = \"trace\"\nfiles = %q\n%s",
					writeTrace(t, format, written), packet)+rest)
			for policy, e := range want {
				if math.Abs(got[policy]-e) > 1.5e-12 {
					t.Errorf("%s %s: completes after %.12f s, want %.12f s, of\n%s",
						format, policy, got[policy], e, text)
				}
			}
		}
	}

	if compared < rounds/3 {
		t.Errorf("compared %d of %d draws, want at least a third", compared, rounds)
	}
}
