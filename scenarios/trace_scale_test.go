package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeChakraStep writes the traces of a training step with 2 tensor-parallel ranks, dp replicas and 2
// stages, numbered in this order, and returns the keys of the files. A set of ranks has a group of
// its own name.
func writeChakraStep(t *testing.T, dp int) []string {
	t.Helper()
	dir := t.TempDir()
	const tensor, stages = 2, 2
	rankOf := func(tp, replica, stage int) int { return tp + tensor*(replica+dp*stage) }
	groups := map[string][]string{}
	for stage := range stages {
		for replica := range dp {
			for tp := range tensor {
				rank := fmt.Sprint(rankOf(tp, replica, stage))
				for _, name := range []string{fmt.Sprintf("tensor %d %d", replica, stage), fmt.Sprintf("data %d %d", tp, stage), "all of them"} {
					groups[name] = append(groups[name], rank)
				}
			}
		}
	}
	var list []string
	for name, ranks := range groups {
		list = append(list, fmt.Sprintf("%q: [%s]", name, strings.Join(ranks, ", ")))
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("groups.json", "{"+strings.Join(list, ", ")+"}")

	for stage := range stages {
		for replica := range dp {
			for tp := range tensor {
				var nodes []string
				add := func(format string, args ...any) {
					after := ""
					if id := len(nodes); id > 0 {
						after = fmt.Sprintf(`"data_deps": [%d], `, id-1)
					}
					nodes = append(nodes, fmt.Sprintf(`{"Id": %d, %s"is_cpu_op": false, `, len(nodes), after)+fmt.Sprintf(format, args...)+"}")
				}
				tensorGroup, replicaGroup := fmt.Sprintf("tensor %d %d", replica, stage), fmt.Sprintf("data %d %d", tp, stage)
				const send, receive, allReduce, allGather, reduceScatter, vector = 5, 6, 0, 2, 7, 9_600_000
				message := func(kind, peer int) {
					end := map[int]string{send: "comm_dst", receive: "comm_src"}[kind]
					add(`"Name": "message", "NodeType": %d, "comm_size": 1000000, "comm_tag": 1, %q: %d`, kind, end, peer)
				}
				call := func(kind int, group string, size int) {
					add(`"Name": "call", "NodeType": 7, "comm_type": %d, "comm_size": %d, "pg_name": %q`, kind, size, group)
				}

				// Forward and backward passes, and the exchange of gradients and parameters.
				if stage == 1 {
					message(receive, rankOf(tp, replica, 0))
				}
				add(`"Name": "forward", "NodeType": 4, "runtime": %d`, 100+10*tp+stage)
				call(allReduce, tensorGroup, 4_000_000)
				if stage == 0 {
					message(send, rankOf(tp, replica, 1))
				}
				add(`"Name": "backward", "NodeType": 4, "runtime": %d`, 200+10*tp+stage)
				call(reduceScatter, replicaGroup, vector)
				call(allReduce, "all of them", 8)
				call(allGather, replicaGroup, vector/dp) // the contribution of a rank
				write(fmt.Sprintf("step.%d.json", rankOf(tp, replica, stage)),
					`{"workload_graph": [`+strings.Join(nodes, ", ")+`]}`)
			}
		}
	}
	return []string{fmt.Sprintf("workload.files=%q", filepath.Join(dir, "step.%d.json")),
		fmt.Sprintf("workload.groups=%q", filepath.Join(dir, "groups.json"))}
}

// TestTraceScale scales the trace of a step of 8 ranks to 16 and 24, and back, at levels flow and
// packet. All metrics equal the metrics of a trace that was written with this number of ranks.
func TestTraceScale(t *testing.T) {
	const fabric = `[fabric]
kind = "electrical"
link_rate = "400Gbps"
link_latency = "1us"
[policy]
collective = "ring"
[workload]
kind = "trace"
files = "none"
`
	for i, c := range [][2]int{{2, 4}, {2, 6}, {4, 2}, {2, 4}} {
		gpus, level := fmt.Sprint("fabric.gpus=", 4*c[1]), "engine.level=flow"
		if i == 3 {
			level = "engine.level=packet"
		}
		scale := []string{gpus, level, fmt.Sprint("workload.ranks=", 4*c[1]), `workload.growth_group="data 0 0"`}
		got := runMetrics(t, fabric, append(writeChakraStep(t, c[0]), scale...)...)
		want := runMetrics(t, fabric, append(writeChakraStep(t, c[1]), gpus, level)...)
		if len(got) != len(want) {
			t.Errorf("got %d metrics, want %d", len(got), len(want))
		}
		for name, w := range want {
			if got[name] != w {
				t.Errorf("%d replicas scaled to %d: %s is %v, want %v", c[0], c[1], name, got[name], w)
			}
		}
	}
}
