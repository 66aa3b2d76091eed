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
	s, err := Parse("written.toml", []byte(text), nil)
	if err != nil {
		t.Fatalf("got error %v, of\n%s", err, text)
	}
	var work *trace.RankGraph
	o, err := Run(context.Background(), s, RunOptions{Workers: 1, VisitWork: func(w *trace.RankGraph) error { work = w; return nil }})
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
		dense = "kind = \"training\"\nmodel = \"gpt-7b\"\nsequence = 4096\nmicrobatches = 4\ntp = 2\npp = 4\ngpus = 16\n"
		moe   = "kind = \"training\"\nmodel = \"mixtral-8x22b\"\nsequence = 1024\nmicrobatches = 2\ntp = 2\npp = 2\nep = 4\ngpus = 16\npreset = \"consistent\"\neffective_tflops = 700\ncollectives = \"graph\"\npieces = 1\n"
		torus = "[fabric]\nkind = \"torus\"\ndims = [4, 4]\nlink_rate = \"400Gbps\"\n"
		flow  = "[engine]\nlevel = \"flow\"\n"
		tree  = "[fabric]\nkind = \"graph\"\ngenerator = \"fat-tree\"\nswitch_ports = 4\nlink_rate = \"400Gbps\"\nlink_latency = \"100ns\"\n"
		pods  = "port_bandwidth = \"400Gbps\"\n[policy]\nallocators = [\"uniform\", \"prop-alloc\", \"iter-halve\", \"delta-joint\"]\n[policy.delta-joint]\nmax_evaluations = 100\n"
		step  = "kind = \"recommendation\"\ngpus = 16\nsamples = 512\ntables = 100\nwidth = 68\ndense_parameters = 21_700_000\neffective_tflops = 80\n"
		inner = "[fabric]\nkind = \"tiers\"\n[[fabric.tier]]\nkind = \"electrical\"\ngpus = 4\nlink_rate = \"3600Gbps\"\n[[fabric.tier]]\nkind = "
		links = inner + "\"torus\"\ndims = [4, 4]\nlink_rate = \"400Gbps\"\n"
		late  = "[fabric]\nkind = \"tiers\"\n[[fabric.tier]]\nkind = \"electrical\"\ngpus = 4\nlink_rate = \"3600Gbps\"\nlink_latency = \"3us\"\n[[fabric.tier]]\nkind = \"ocs-pods\"\n"
		dor   = "[policy]\nrouters = [\"dor\"]\n"
		each  = "[engine]\nlevel = \"packet\"\n"
	)
	jobs := []struct {
		name, workload, fabric, again string // again is the fabric of the trace, "" if its keys are the same
		formats                       string // separated by spaces
	}{
		{"torus", dense, torus + flow + "[policy]\nrouters = [\"dor\", \"ecmp\"]\n", "", "goal binary chakra"},
		{"torus, calls, ranks elsewhere", moe, torus + flow + "[policy]\nrouters = [\"dor\"]\nmapping = \"tp-pp-ep-dp-cp\"\n", torus + flow + "[policy]\nrouters = [\"dor\"]\n", "goal chakra"},
		{"torus, packets", dense + "packet = \"1MB\"\n", torus + "[engine]\nlevel = \"packet\"\n[policy]\nrouters = [\"dor\"]\n", "", "goal binary"},
		{"fat tree", dense, tree + flow + "[policy]\nrouters = [\"shortest\"]\n", "", "goal binary chakra"},
		{"pods", dense + "replicas = \"all\"\n", "[fabric]\nkind = \"ocs-pods\"\ngpus_per_pod_per_replica = 4\n" + pods, "[fabric]\nkind = \"ocs-pods\"\npods = 4\ngpus_per_pod = 4\n" + pods, "goal binary chakra"},
		{"torus, calls, packets", moe + "packet = \"1MB\"\n", torus + each + dor, "", "goal"},
		{"switches in a torus", moe, links + flow + dor, "", "goal"},
		{"switches in pods", dense + "replicas = \"all\"\n", strings.Replace(inner, "gpus = 4", "gpus = 2", 1) + "\"ocs-pods\"\nports_per_pod = 4\ngpus_per_pod_per_replica = 2\n" + pods, "[fabric]\nkind = \"ocs-pods\"\npods = 8\nports_per_pod = 4\ngpus_per_pod = 2\n" + pods, "binary"},
		{"late switches in pods", dense + "collectives = \"graph\"\npieces = 1\n", late + "gpus_per_pod_per_replica = 4\n" + pods, late + "pods = 4\ngpus_per_pod = 4\n" + pods, "goal chakra"},
		{"recommendation", step, torus + flow + dor, "", "goal chakra"},
		{"recommendation, packets", step + "packet = \"1MB\"\n", torus + each + dor, "", "chakra"},
		{"collective, packets", "kind = \"all-reduce\"\nmessage = \"8MB\"\npacket = \"1MB\"\n", tree + each + "[policy]\nrouters = [\"shortest\"]\ncollective = \"swing\"\n", tree + each + "[policy]\nrouters = [\"shortest\"]\n", "goal binary chakra"},
		{"matrix, packets", "kind = \"all-to-all\"\nmessage = \"3MB\"\nsource = \"greedy\"\npacket = \"1MB\"\n", torus + each + dor, "", "goal"},
		{"collective", "kind = \"all-reduce\"\nmessage = \"64MB\"\n", torus + flow + "[policy]\nrouters = [\"dor\"]\ncollective = \"ring\"\n", torus + flow + "[policy]\nrouters = [\"dor\"]\n", "goal binary chakra"},
		{"late packing", "kind = \"all-reduce\"\nmessage = \"3MB\"\n", "[fabric]\nkind = \"torus\"\ndims = [5]\nlink_rate = \"100Gbps\"\nlink_latency = \"300ns\"\n" + flow + dor + "collective = \"tree-packing\"\n",
			"[fabric]\nkind = \"torus\"\ndims = [5]\nlink_rate = \"100Gbps\"\nlink_latency = \"300ns\"\n" + flow + dor, "goal binary chakra"},
		{"matrix", "kind = \"permutation\"\nmessage = \"3MB\"\n", torus + flow + "[policy]\nrouters = [\"dor\"]\n", "", "goal chakra cm"},
		{"all-to-all", "kind = \"all-to-all\"\nmessage = \"64KB\"\n", tree + flow + "[policy]\nrouters = [\"shortest\"]\n", "", "binary cm"},
		{"pods, matrix", "kind = \"permutation\"\nmessage = \"3MB\"\n", "[fabric]\nkind = \"ocs-pods\"\npods = 4\ngpus_per_pod = 4\n" + pods, "", "goal cm"},
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
					return fmt.Sprintf("[workload]\nkind = \"trace\"\nfiles = %q\n%s%s", writeTrace(t, format, w), keys, fabric)
				}
				got, read := completionTimes(t, text(work))
				more, _ := completionTimes(t, text(read)) // the trace, written again
				if len(want) == 0 {
					t.Fatal("got no completion time")
				}
				for policy, end := range want {
					if off := got[policy] - end; off > 1.5e-12 || off < -1.5e-12 {
						t.Errorf("%s %s: completes after %.12f s, want %.12f s", format, policy, got[policy], end)
					}
					if more[policy] != got[policy] {
						t.Errorf("%s %s: completes after %.12f s when written again, want %.12f s", format, policy, more[policy], got[policy])
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
			fabric = "kind = \"tiers\"\n[[fabric.tier]]\nkind = \"electrical\"\ngpus = 4\nlink_rate = \"900Gbps\"\nlink_latency = \"50ns\"\n[[fabric.tier]]\nkind = \"electrical\"\ngpus = 8\n" + fabric
		}
		level := name("flow", "flow", "packet")
		packet := ""
		if level == "packet" {
			packet = "packet = \"64KB\"\n"
		}
		collective := ""
		var work string
		switch pick(0, 1, 2) {
		case 0, 1:
			work = fmt.Sprintf("kind = %q\nmessage = \"%dKB\"\n", name("all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce", "all-to-all"), pick(90, 700, 3000))
			var names []string
			for _, row := range calls.Table {
				names = append(names, row.Name)
			}
			collective = name(names...)
		default:
			sharding := name("none", "optimizer", "gradients", "parameters")
			work = fmt.Sprintf("kind = \"training\"\nsequence = 512\nmicrobatches = 2\ntp = %d\npp = %d\ngpus = %d\neffective_tflops = 100\nsharding = %q\n", pick(1, 2), pick(1, 2), nodes/4*4, sharding)
			if collective = name("", "ring", "direct", "tree"); collective != "" || strings.Contains(fabric, "tiers") {
				work += "collectives = \"graph\"\n"
			} else {
				work += "buckets = \"" + name("0B", "3MB") + "\"\n"
			}
			if nodes < 4 {
				continue
			}
			packet += "[workload.architecture]\nname = \"x\"\nlayers = 4\nhidden = 256\nheads = 4\nvocab = 1000\nffn = 1024\n"
		}
		policy := "[policy]\nrouters = [\"" + router + "\"]\n"
		if pick(0, 1) == 0 && strings.Contains(work, "\"all-reduce\"") && strings.Contains(fabric, "\"torus\"") {
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
		want, written := completionTimes(t, text)
		if len(want) == 0 || written == nil {
			continue
		}
		compared++
		for _, format := range []string{"goal", "binary", "chakra"} {
			packet, _, _ := strings.Cut(packet, "[")
			got, _ := completionTimes(t, fmt.Sprintf("[workload]\nkind = \"trace\"\nfiles = %q\n%s", writeTrace(t, format, written), packet)+rest)
			for policy, e := range want {
				if math.Abs(got[policy]-e) > 1.5e-12 {
					t.Errorf("%s %s: completes after %.12f s, want %.12f s, of\n%s", format, policy, got[policy], e, text)
				}
			}
		}
	}
	if compared < rounds/3 {
		t.Errorf("compared %d of %d draws, want at least a third", compared, rounds)
	}
}
