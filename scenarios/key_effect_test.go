package scenarios

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sim/engine"
	"sim/engine/units"
	"sim/scenarios/schema"

	"github.com/google/go-cmp/cmp"
)

// alternatives returns values of a key that are likely to differ in effect. It returns nil for
// types of keys that the test does not vary.
func alternatives(k *schema.Key) (list []string) {
	switch reflect.New(k.Type).Interface().(type) {
	case *bool:
		return []string{"true", "false"}
	case *int, *int64, *uint64:
		for _, n := range []int64{int64(k.Min), int64(k.Min) + 1, 2, 3, 4, 8, 16} {
			if (k.Max == 0 || n <= int64(k.Max)) && !slices.Contains(list, fmt.Sprint(n)) {
				list = append(list, fmt.Sprint(n))
			}
		}
		return list
	case *float64:
		for _, f := range []float64{k.Min, 0.25, 0.5, 2, 3, 100} {
			if k.Max == 0 || f <= k.Max {
				list = append(list, fmt.Sprintf("%.2f", f))
			}
		}
		return list
	case *units.Rate:
		return []string{`"3Gbps"`, `"77Gbps"`, `"900Gbps"`}
	case *units.Bytes:
		return []string{`"0B"`, `"1KB"`, `"9KB"`, `"3MB"`}
	case *engine.Time:
		return []string{`"0s"`, `"200ns"`, `"50us"`, `"2ms"`, `"3h"`, `"90h"`}
	case *string:
		for _, c := range k.Choices() {
			list = append(list, fmt.Sprintf("%q", c))
		}
		return list
	}

	return nil
}

// outcomeOf runs a scenario with overrides and returns its rows and details as JSON, without
// the decision times. It returns "" if an override is rejected.
func outcomeOf(text string, set ...string) string {
	s, err := Parse("effect.toml", []byte(text), set)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	o, err := Run(ctx, s, RunOptions{Workers: 1})
	if err != nil {
		return "error: " + err.Error()
	}
	for _, r := range o.Document.Rows {
		delete(r.Metrics, "runtime_s")
	}
	found, err := json.Marshal([]any{o.Document.Rows, o.Detail})
	if err != nil {
		return "error: " + err.Error()
	}
	return string(found)
}

// TestEveryKeyHasAnEffect checks that no key is accepted and ignored. For each key of a
// scenario, some accepted value changes the result, or at most one value is accepted.
// keysWithoutEffect lists the exceptions. The results are compared with digests in
// testdata/effects, which -update writes.
func TestEveryKeyHasAnEffect(t *testing.T) {
	t.Parallel()
	for _, c := range effectScenarios {
		t.Run(c.name, func(t *testing.T) {
			s := mustParse(t, c.text)
			unchanged := outcomeOf(c.text)
			if unchanged == "" || strings.HasPrefix(unchanged, "error") || outcomeOf(c.text) != unchanged {
				t.Fatalf("got an error or two different results of one scenario: %.300s", unchanged)
			}
			results := fmt.Sprintf("as it is: %x\n", sha256.Sum256([]byte(unchanged)))
			for _, table := range s.schema().Tables[1:] {
				if table.IsArray() || table.Path == "policy.milp" || table.Path == "trials" {
					continue
				}
				for _, k := range table.Keys {
					key := strings.ReplaceAll(schema.JoinPath(table.Path, k.Name), `"`, "")
					if k.Name == "kind" || keysWithoutEffect[key] != "" ||
						slices.Contains(c.excluded, key) ||
						c.only != nil && !slices.Contains(c.only, key) {
						continue
					}
					accepted := 0
					for _, v := range alternatives(k) {
						got := outcomeOf(c.text, key+"="+v)
						if got != "" && got != unchanged {
							results += fmt.Sprintf("%s=%s: %x\n", key, v, sha256.Sum256([]byte(got)))
							accepted = 0
							break
						}
						if got != "" {
							accepted++
						}
					}
					if accepted > 1 {
						t.Errorf("%s has no effect: got the same result with all of %v, want "+
							"another result or a rejection", key, alternatives(k))
					}
				}
			}

			compareText(t, filepath.Join("testdata", "effects",
				strings.ReplaceAll(c.name, " ", "-")+".txt"), results)
		})
	}
}

// compareText compares got with a stored file, or writes the file with -update.
func compareText(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// keysWithoutEffect are the keys that change no result of small scenarios, with the reason.
var keysWithoutEffect = map[string]string{
	"workload.hidden_calls":       "needs overlap_calls",
	"engine.sample_every":         "adds queues.csv and does not change the run",
	"policy.port_evaluations":     "limits a search that ends earlier",
	"policy.delta-fast.elites":    "guides a search that finds the same optimum",
	"policy.delta-fast.crossover": "guides a search that finds the same optimum",
	"policy.delta-fast.mutation":  "guides a search that finds the same optimum",

	"policy.delta-fast.population":        "guides a search that finds the same optimum",
	"policy.delta-fast.tournament":        "guides a search that finds the same optimum",
	"policy.delta-fast.stall_generations": "limits a search",
	"policy.delta-fast.max_generations":   "limits a search",

	"policy.hierarchical.domain":        "belongs to an algorithm that best tries but does not choose",
	"policy.hierarchical.outer":         "belongs to an algorithm that best tries but does not choose",
	"policy.reconfigure-during+.buffer": "limits a search",
	"policy.reconfigure-during+.others": "adds plans to a search that finds the same optimum",
	"policy.reconfigure-during+.relay":  "adds plans to a search that finds the same optimum",

	"fabric.reference": "counts transfers inside pods, of which the pods have none; see TestReferences",

	"workload.store_scores": "changes only the memory that a check computes",

	"fabric.nodes": "is accepted only if it equals the number of nodes of the links",
}

// failingFleet are keys of a fleet whose machines, links and switches fail often and wait for
// repair.
const failingFleet = "[workload.faults]\nmachine=\"0.02/day\"\nhost_availability=0.95\nlink=\"0.001/day\"\nocs=\"0.05/day\"\nocs_maintenance=\"0.05/day\"\nsilent=0.5\n[policy.fault]\nmachine=\"cheapest\"\nrepair_crews=3\n"

// effectScenarios are small scenarios of all kinds of workloads and fabrics.
var effectScenarios = []struct {
	name, text string
	excluded   []string // keys whose effect cannot show in this scenario
	only       []string // the keys to vary; nil for all except excluded ones
}{
	{"torus all-to-all flow", `seed=3
[fabric]
kind="torus"
dims=[2,3]
[workload]
kind="all-to-all"
message="64KB"
[engine]
level="flow"
`, []string{"workload.source"}, nil}, // has an effect at level packet; accepted so that the level can be changed
	{"transport dctcp", `seed=3
[fabric]
kind="graph"
generator="fat-tree"
levels=2
switch_ports=4
link_rate="100Gbps"
link_latency="1us"
queue="8p"
[workload]
kind="matrix"
packet="1KB"
sends=[[0, 7, 900000], [1, 7, 900000], [2, 7, 700000], [4, 7, 500000], [5, 3, 800000], [6, 2, 800000]]
[policy]
routers=["spray"]
[transport]
kind="dctcp"
mark_min="2KB"
mark_max="6KB"
`, nil, []string{"transport.header", "transport.recovery", "transport.acks", "transport.ack_bytes", "transport.window", "transport.min_timeout", "transport.balance", "transport.entropies", "transport.overflow", "transport.mark_min", "transport.mark_max", "transport.mark_share", "transport.shared_buffer", "transport.dctcp.gain", "transport.dctcp.first_alpha"}},
	{"transport dcqcn", `seed=3
[fabric]
kind="graph"
generator="fat-tree"
levels=2
switch_ports=4
link_rate="100Gbps"
link_latency="1us"
queue="unbounded"
[workload]
kind="matrix"
packet="1KB"
sends=[[0, 7, 900000], [1, 7, 900000], [2, 7, 700000], [4, 7, 500000], [5, 3, 800000], [6, 2, 800000]]
[policy]
routers=["spray"]
[transport]
kind="dcqcn"
overflow="pause"
pause_at="9KB"
mark_min="4KB"
mark_max="9KB"
[transport.dcqcn]
timer_period="4us"
cut_period="3us"
`, nil, []string{"transport.pause_at", "transport.resume_at", "transport.mark_share", "transport.dcqcn.gain", "transport.dcqcn.alpha_period", "transport.dcqcn.cut_period", "transport.dcqcn.timer_period", "transport.dcqcn.byte_counter", "transport.dcqcn.fast_stages", "transport.dcqcn.additive", "transport.dcqcn.hyper", "transport.dcqcn.min_rate"}},
	{"transport nscc", `seed=3
[fabric]
kind="graph"
generator="fat-tree"
levels=2
switch_ports=4
link_rate="100Gbps"
link_latency="1us"
queue="8p"
[workload]
kind="matrix"
packet="1KB"
sends=[[0, 7, 900000], [1, 7, 900000], [2, 7, 700000], [4, 7, 500000], [5, 3, 800000], [6, 2, 800000]]
[policy]
routers=["spray"]
[transport]
kind="nscc"
overflow="trim"
balance="reps"
mark_min="1KB"
mark_max="4KB"
[transport.nscc]
target="300ns"
`, nil, []string{"transport.ack_bytes", "transport.recovery", "transport.acks", "transport.window", "transport.entropies", "transport.nscc.target", "transport.nscc.decay"}},
	{"transport rccc", `seed=3
[fabric]
kind="graph"
generator="fat-tree"
levels=2
switch_ports=4
link_rate="100Gbps"
link_latency="1us"
queue="8p"
[workload]
kind="matrix"
packet="1KB"
sends=[[0, 7, 900000], [1, 7, 900000], [2, 7, 700000], [4, 7, 500000], [5, 3, 800000], [6, 2, 800000]]
[policy]
routers=["spray"]
[transport]
kind="rccc"
overflow="trim"
`, nil, []string{"transport.window", "transport.rccc.pull_packets", "transport.rccc.rate_share"}},
	{"transport hpcc", `seed=3
[fabric]
kind="graph"
generator="fat-tree"
levels=2
switch_ports=4
link_rate="100Gbps"
link_latency="1us"
queue="unbounded"
[workload]
kind="matrix"
packet="1KB"
sends=[[0, 7, 900000], [1, 7, 900000], [2, 7, 700000], [4, 7, 500000], [5, 3, 800000], [6, 2, 800000]]
[policy]
routers=["spray"]
[transport]
kind="hpcc"
overflow="pause"
shared_buffer="60KB"
`, nil, []string{"transport.buffer_share", "transport.shared_buffer", "transport.hpcc.target_use", "transport.hpcc.max_stages", "transport.hpcc.senders"}},
	{"cluster of packets", `seed=3
[fabric]
kind="cluster"
hosts=4
gpus_per_host=2
hosts_per_pod=2
[workload]
kind="all-reduce"
message="64KB"
[engine]
level="packet"
`, nil, []string{
		"fabric.hosts", "fabric.gpus_per_host", "fabric.hosts_per_pod", "fabric.host_bandwidth", "fabric.nic_bandwidth",
		"fabric.uplink_bandwidth", "fabric.oversubscription", "fabric.rails", "fabric.spine", "fabric.link_latency",
		"fabric.queue",
	}},
	{"dispatch to experts", `seed=3
[fabric]
kind="cluster"
hosts=4
gpus_per_host=2
hosts_per_pod=4
[workload]
kind="experts"
message="7KB"
experts=16
top_k=4
expert_copies="node"
node_gpus=2
`, nil, []string{
		"workload.tokens", "workload.experts", "workload.top_k", "workload.expert_copies", "workload.node_gpus",
		"workload.expert_nodes", "workload.message",
	}},
	{"copies of tokens", `seed=3
[fabric]
kind="cluster"
hosts=4
gpus_per_host=2
hosts_per_pod=4
[workload]
kind="training"
sequence=256
microbatches=2
tp=1
pp=1
ep=8
gpus=8
collectives="graph"
expert_copies="node"
node_gpus=2
overlap_passes="halves"
[workload.architecture]
layers=2
hidden=256
heads=4
vocab=1024
experts=16
top_k=4
expert_ffn=256
effective_tflops=10
`, nil, []string{
		"workload.expert_copies", "workload.expert_nodes", "workload.dispatch_bytes", "workload.combine_bytes", "workload.overlap_passes",
		"workload.call_share",
	}},
	{"loads of experts", `seed=3
[fabric]
kind="electrical"
gpus=4
[workload]
kind="training"
sequence=256
microbatches=2
tp=1
pp=1
ep=4
gpus=4
collectives="graph"
expert_sizes="loads"
expert_loads=[[1,2,3,4,5,6,7,20]]
expert_drift=0.1
[workload.architecture]
layers=1
hidden=256
heads=4
vocab=1024
experts=8
top_k=2
expert_ffn=256
effective_tflops=10
`, nil, []string{
		"workload.redundant_experts", "workload.expert_drift", "workload.expert_age",
	}},
	{"cluster of circuits", `seed=3
[fabric]
kind="cluster"
spine="circuits"
hosts=4
gpus_per_host=2
hosts_per_pod=2
[workload]
kind="training"
sequence=256
microbatches=2
tp=2
pp=2
gpus=8
collectives="graph"
[workload.architecture]
layers=4
hidden=256
heads=4
ffn=1024
vocab=1024
effective_tflops=10
[policy]
allocators=["prop-alloc", "delta-during"]
`, nil, []string{
		"fabric.hosts", "fabric.gpus_per_host", "fabric.hosts_per_pod", "fabric.host_bandwidth", "fabric.nic_bandwidth",
		"fabric.uplink_bandwidth", "fabric.oversubscription", "fabric.spine", "policy.mapping", "workload.pieces",
		"workload.overlap_calls",
	}},
	{"calls by the library of a machine", `machine="h100-ib"
[fabric]
kind="cluster"
hosts=2
hosts_per_pod=2
[workload]
kind="all-reduce"
message="100MB"
[policy]
collective="nccl"
`, nil, []string{"machine", "policy.nccl_algorithm"}},
	{"kernels of a machine", `seed=3
machine="b200"
[fabric]
kind="cluster"
hosts=2
hosts_per_pod=1
[workload]
kind="training"
compute="profile"
precision="fp8"
sequence=8192
microbatches=2
tp=2
pp=2
cp=2
ep=4
gpus=16
embedding=true
[workload.architecture]
layers=4
hidden=1024
heads=8
ffn=4096
vocab=8192
experts=16
top_k=2
dense_layers=1
[policy]
routers=["ecmp"]
`, nil, []string{
		"workload.compute", "workload.precision", "workload.projection_precision", "workload.expert_precision",
		"workload.head_precision", "workload.context_split", "workload.optimizer_time", "workload.sequence", "workload.tp",
		"workload.attention_flops", "workload.recompute", "workload.sequence_parallel",
	}},
	{"torus all-to-all packet", `seed=3
[fabric]
kind="torus"
dims=[2,3]
[workload]
kind="all-to-all"
message="16KB"
packet="2KB"
[engine]
level="packet"
`, nil, nil},
	{"torus all-reduce call packet", `seed=3
[fabric]
kind="torus"
dims=[2,3]
[workload]
kind="all-reduce"
message="60KB"
[policy]
collective="ring"
[engine]
level="packet"
`, nil, nil},
	{"graph broadcast call", `seed=3
[fabric]
kind="graph"
edges=[[0,1],[1,2],[2,3],[3,0],[0,2]]
[workload]
kind="broadcast"
message="60KB"
[policy]
collectives=["best"]
[engine]
level="flow"
`, nil, nil},
	{"graph uniform-random", `seed=3
[fabric]
kind="graph"
edges=[[0,1],[1,2],[2,3],[3,0]]
[workload]
kind="uniform-random"
load=0.8
duration="100us"
warmup="10us"
`, nil, nil},
	{"torus data-tensor", `seed=3
[fabric]
kind="torus"
dims=[2,3]
[workload]
kind="data-tensor"
tensor_dims=["x"]
data_dims=["y"]
phase="20us"
start="0s"
rate="1Gbps"
`, nil, nil},
	{"electrical matrix", `seed=3
[fabric]
kind="electrical"
gpus=4
[workload]
kind="matrix"
source="greedy"
packet="1KB"
matrix=[[0,70000,20000,9000],[0,0,50000,20000],[9,9000,0,9000],[1000,20000,3000,0]]
[engine]
level="packet"
`, nil, nil},
	{"scaleup matrix", `seed=3
[fabric]
kind="scaleup"
gpus=6
switches=2
[workload]
kind="matrix"
matrix=[[0,7000000,20000,900000,5000000,1],[0,0,50000,20000,1,4000000],[9000000,9000,0,9000,1,1],[1000,2000000,3000,0,1,3000000],[1,1,6000000,1,0,1],[1,2000000,1,5000000,1,0]]
`, nil, nil},
	{"pods matrix", `seed=3
[fabric]
kind="ocs-pods"
pods=3
gpus_per_pod=2
port_bandwidth="100Gbps"
ports_per_pod=7
[workload]
kind="matrix"
matrix=[[0,0,70000,1,0,100],[0,0,0,50000,1,1],[9,0,0,0,5,5000],[1000,2,3,0,5,5],[1,1,1,1,0,1],[1,1,1,1,50000,0]]
[policy]
allocators=["delta-fast"]
`, nil, nil},
	{"pods all-reduce call packet", `seed=3
[fabric]
kind="ocs-pods"
pods=3
gpus_per_pod=2
port_bandwidth="400Gbps"
ports_per_pod=5
[workload]
kind="all-reduce"
message="300KB"
[policy]
allocators=["uniform"]
collective="ring"
[engine]
level="packet"
`, nil, nil},
	{"fleet", `seed=3
[fabric]
kind="pods-of-cubes"
[workload]
kind="fleet"
days=8
warm_up=1
load=1.5
estimates=5
[policy]
placements=["reconfigurable"]
[policy.queue]
discipline="easy"
`, nil, []string{"workload.estimates", "policy.queue.discipline"}}, // the next scenario covers the other keys
	{"fleet preemption", `seed=3
[fabric]
kind="pods-of-cubes"
[workload]
kind="fleet"
days=30
warm_up=1
load=1.5
measured_cubes=8
[policy]
placements=["reconfigurable"]
[policy.queue]
preemption=true
` + failingFleet, []string{"workload.estimates"}, nil}, // requires discipline = "easy"
	{"training torus", `seed=3
[fabric]
kind="torus"
dims=[3,4]
link_rate="400Gbps"
[workload]
kind="training"
model="gpt-7b"
microbatches=3
sequence=4096
tp=2
pp=3
gpus=12
[engine]
level="flow"
`, []string{"workload.ring"}, nil}, // two replicas have a single ring
	{"training pods", `seed=3
[fabric]
kind="ocs-pods"
gpus_per_pod_per_replica=8
port_bandwidth="100Gbps"
[workload]
kind="training"
model="mixtral-8x22b"
sequence=4096
microbatches=4
tp=2
pp=2
ep=8
gpus=32
[policy]
allocators=["iter-halve"]
`, []string{
		// All layers have experts, all stages as many layers, and two replicas a single ring.
		"workload.router_flops", "workload.stage_split", "workload.ring",
	}, nil},
	{"trace torus", `seed=3
[fabric]
kind="torus"
dims=[4,4]
[workload]
kind="trace"
files="compose/trace.txt"
[engine]
level="flow"
`, []string{
		// These keys are accepted only if they agree with the file, or absent from it.
		"workload.format", "workload.gpus", "workload.rank_order",
	}, nil},
	{"recommendation pods", `seed=3
[fabric]
kind="ocs-pods"
pods=2
gpus_per_pod=4
port_bandwidth="400Gbps"
inside_bandwidth="3.6Tbps"
[workload]
kind="recommendation"
gpus=8
samples=256
tables=16
width=64
dense_parameters=1000000
effective_tflops=200
[policy]
allocators=["iter-halve"]
`, nil, nil},
}

// TestMultiRingDiagnostic checks that algorithm multi-ring is rejected before the run if the
// links do not join the ranks into a ring that it can use.
func TestMultiRingDiagnostic(t *testing.T) {
	const text = `[fabric]
kind="graph"
edges=[[0,1],[1,2],[2,0],[0,2],[0,2],[1,2],[0,1],[2,0]]
[workload]
kind="all-reduce"
[policy]
collectives=["multi-ring"]
`
	_, err := Parse("ring.toml", []byte(text), nil)
	checkError(t, err, "join into a ring", "multi-ring")
}
