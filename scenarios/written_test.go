package scenarios

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sim/workloads/trace"
)

// writeWork writes work in a format, and returns what workload.files names.
func writeWork(t *testing.T, format string, w *trace.Work) string {
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
	jobOf := (*trace.Work).Job
	if format == "goal" || format == "binary" {
		jobOf = (*trace.Work).GOALJob
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

// ends runs a scenario and returns by policy when its work ends, and the work.
func ends(t *testing.T, text string) (map[string]float64, *trace.Work) {
	t.Helper()
	s, err := Parse("written.toml", []byte(text), nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var work *trace.Work
	o, err := Run(context.Background(), s, RunOptions{Workers: 1, Work: func(w *trace.Work) error { work = w; return nil }})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
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

// What is written of a scenario takes as long, to a tick, when it is read and simulated on the same fabric.
func TestWrittenAgain(t *testing.T) {
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
		dor   = "[policy]\nrouters = [\"dor\"]\n"
		each  = "[engine]\nlevel = \"packet\"\n"
	)
	jobs := []struct {
		name, workload, fabric, again string // again is the fabric of the trace, where its keys differ
		formats                       string
	}{
		{"torus", dense, torus + flow + "[policy]\nrouters = [\"dor\", \"ecmp\"]\n", "", "goal binary chakra"},
		{"torus, calls, ranks elsewhere", moe, torus + flow + "[policy]\nrouters = [\"dor\"]\nmapping = \"tp-pp-ep-dp-cp\"\n", torus + flow + "[policy]\nrouters = [\"dor\"]\n", "goal chakra"},
		{"torus, packets", dense + "packet = \"1MB\"\n", torus + "[engine]\nlevel = \"packet\"\n[policy]\nrouters = [\"dor\"]\n", "", "goal binary"},
		{"fat tree", dense, tree + flow + "[policy]\nrouters = [\"shortest\"]\n", "", "goal binary chakra"},
		{"pods", dense + "replicas = \"all\"\n", "[fabric]\nkind = \"ocs-pods\"\ngpus_per_pod_per_replica = 4\n" + pods, "[fabric]\nkind = \"ocs-pods\"\npods = 4\ngpus_per_pod = 4\n" + pods, "goal binary chakra"},
		{"torus, calls, packets", moe + "packet = \"1MB\"\n", torus + each + dor, "", "goal"},
		{"switches in a torus", moe, links + flow + dor, "", "goal"},
		{"switches in pods", dense + "replicas = \"all\"\n", strings.Replace(inner, "gpus = 4", "gpus = 2", 1) + "\"ocs-pods\"\nports_per_pod = 4\ngpus_per_pod_per_replica = 2\n" + pods, "[fabric]\nkind = \"ocs-pods\"\npods = 8\nports_per_pod = 4\ngpus_per_pod = 2\n" + pods, "binary"},
		{"recommendation", step, torus + flow + dor, "", "goal chakra"},
		{"recommendation, packets", step + "packet = \"1MB\"\n", torus + each + dor, "", "chakra"},
		{"collective, packets", "kind = \"all-reduce\"\nmessage = \"8MB\"\npacket = \"1MB\"\n", tree + each + "[policy]\nrouters = [\"shortest\"]\ncollective = \"swing\"\n", tree + each + "[policy]\nrouters = [\"shortest\"]\n", "goal binary chakra"},
		{"matrix, packets", "kind = \"all-to-all\"\nmessage = \"3MB\"\nsource = \"greedy\"\npacket = \"1MB\"\n", torus + each + dor, "", "goal"},
		{"collective", "kind = \"all-reduce\"\nmessage = \"64MB\"\n", torus + flow + "[policy]\nrouters = [\"dor\"]\ncollective = \"ring\"\n", torus + flow + "[policy]\nrouters = [\"dor\"]\n", "goal binary chakra"},
		{"matrix", "kind = \"permutation\"\nmessage = \"3MB\"\n", torus + flow + "[policy]\nrouters = [\"dor\"]\n", "", "goal chakra cm"},
		{"all-to-all", "kind = \"all-to-all\"\nmessage = \"64KB\"\n", tree + flow + "[policy]\nrouters = [\"shortest\"]\n", "", "binary cm"},
		{"pods, matrix", "kind = \"permutation\"\nmessage = \"3MB\"\n", "[fabric]\nkind = \"ocs-pods\"\npods = 4\ngpus_per_pod = 4\n" + pods, "", "goal cm"},
	}
	for _, c := range jobs {
		t.Run(c.name, func(t *testing.T) {
			want, work := ends(t, "[workload]\n"+c.workload+c.fabric)
			fabric := c.again
			if fabric == "" {
				fabric = c.fabric
			}
			for format := range strings.FieldsSeq(c.formats) {
				keys := ""
				if strings.Contains(c.workload, "packet =") {
					keys = "packet = \"1MB\"\n"
				}
				text := func(w *trace.Work) string {
					return fmt.Sprintf("[workload]\nkind = \"trace\"\nfiles = %q\n%s%s", writeWork(t, format, w), keys, fabric)
				}
				got, read := ends(t, text(work))
				more, _ := ends(t, text(read)) // a trace, written again
				if len(want) == 0 {
					t.Fatal("nothing ends")
				}
				for policy, end := range want {
					if off := got[policy] - end; off > 1.5e-12 || off < -1.5e-12 {
						t.Errorf("%s %s: ends after %.12f s, want %.12f s", format, policy, got[policy], end)
					}
					if more[policy] != got[policy] {
						t.Errorf("%s %s: ends after %.12f s when written again, want %.12f s", format, policy, more[policy], got[policy])
					}
				}
			}
		})
	}
}
