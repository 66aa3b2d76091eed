package scenarios

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSampleTraces simulates workloads of other projects on pods of circuits, a torus and a fat
// tree, at levels flow and packet, if SIM_SAMPLES names their directory. It compares the results
// with the table in testdata/samples.md.
func TestSampleTraces(t *testing.T) {
	root := os.Getenv("SIM_SAMPLES")
	if root == "" || testing.Short() {
		t.Skip("SIM_SAMPLES names no directory of samples, or -short is set")
	}
	table, err := os.ReadFile("testdata/samples.md")
	if err != nil {
		t.Fatal(err)
	}
	const stages = "kind = \"ocs-pods\"\nport_bandwidth = \"400Gbps\"\ninside_bandwidth = \"3600Gbps\"\n"
	for _, c := range []struct{ name, file, keys, pods string }{
		{"GPT-13B, TP 8", "G13B-M1-C01_GPT13B_megatron_tp8_pp1_mbs1_A100", "gpus = 128",
			stages + "gpus_per_pod_per_replica = 8"},
		{"GPT-175B, TP 8", "G175B-M1-C03_GPT175B_megatron_tp8_pp1_mbs1_A100", "gpus = 128",
			stages + "gpus_per_pod_per_replica = 8"},
		{"Llama-7B, TP 2", "L7B-M1-C04_Llama7B_megatron_tp2_pp1_mbs1_A100", "gpus = 128",
			stages + "gpus_per_pod_per_replica = 2"},
		{"Llama-7B, ZeRO-3", "L7B-D1-C02_Llama7B_deepspeed_zero3_A100", "gpus = 128",
			stages + "gpus_per_pod_per_replica = 1\nports_per_pod = 4"},
		{"STG, 8 ranks", "", fmt.Sprintf("groups = %q\nstreams = \"one-at-a-time\"\npeak_tflops = 100.0\nmemory_bandwidth = \"3200GB/s\"", filepath.Join(root, "stg/workload.json")), stages + "pods = 4\ngpus_per_pod = 2"},
	} {
		file := filepath.Join(root, "stg/workload.%d.et")
		if c.file != "" {
			file = filepath.Join(root, "aicb/workload/simAI/model_workload", c.file+".txt")
		}
		for _, f := range []struct{ name, fabric string }{
			{"4x4x8 torus", `kind = "torus"
dims = [4, 4, 8]
link_rate = "400Gbps"
[policy]
routers = ["dor", "ecmp"]`},
			{"fat tree of 128", `kind = "graph"
generator = "fat-tree"
switch_ports = 8
link_rate = "400Gbps"
[policy]
routers = ["ecmp"]`},
			{"pods", c.pods},
		} {
			rows := map[string][]string{} // policies with the same results, indexed by these
			var order, policies []string
			reached := map[string]string{} // results at both levels, indexed by policy
			for _, level := range []string{"flow", "packet"} {
				o := runText(t, fmt.Sprintf(`[workload]
kind = "trace"
files = %q
%s
[fabric]
%s
[engine]
level = %q
`, file, c.keys, f.fabric, level))
				for _, r := range o.Document.Rows {
					if level == "flow" {
						policies = append(policies, r.Policy)
						reached[r.Policy] = fmt.Sprintf("%.4f | %.3f ms | %.2f %%",
							r.Metrics["nct"], 1e3*r.Metrics["makespan_s"], 100*r.Metrics["gap"])
						continue
					}
					reached[r.Policy] += fmt.Sprintf(" | %.3f ms", 1e3*r.Metrics["makespan_s"])
				}
			}

			for _, p := range policies {
				if rows[reached[p]] == nil {
					order = append(order, reached[p])
				}
				rows[reached[p]] = append(rows[reached[p]], p)
			}

			for _, what := range order {
				row := fmt.Sprintf("| %s | %s | %s | %s |", c.name, f.name,
					strings.Join(rows[what], ", "), what)
				if t.Log(row); !bytes.Contains(table, []byte(row+"\n")) {
					t.Errorf("testdata/samples.md lacks the row %s", row)
				}
			}
		}
	}
}
