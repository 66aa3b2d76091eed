package scenarios

import (
	"math"

	"testing"
)

// TestPodLevelsAgree checks that, on pods, an iteration takes as long at level packet as at
// level flow, within the slack that the row reports. It takes at least the lower bound. If
// packets are a quarter as large, the slack falls to at most half.
func TestPodLevelsAgree(t *testing.T) {
	t.Parallel()
	large, small := []string{"16MB", "4MB"}, []string{"4MB", "1MB"}
	for _, c := range []struct {
		base  string
		set   []string
		sizes []string
	}{
		{"gpt7b", nil, small},
		{"gpt7b", []string{"workload.gpus=32"}, large},
		{"gpt7b", []string{"workload.replicas=all"}, large},
		{"gpt7b", []string{"workload.flows=per-gpu"}, large},
		{"gpt7b", []string{"workload.gpus=24", "workload.replicas=all", "workload.flows=per-gpu"}, large},
		{"gpt7b", []string{"workload.schedule=gpipe", "fabric.ports_per_pod=3"}, large},
		{"gpt7b", []string{"workload.pp=8", "fabric.gpus_per_pod_per_replica=2"}, large},
		{"gpt7b", []string{"workload.schedule=interleaved-1f1b", "workload.virtual_stages=2"}, large},
		{"gpt7b", []string{"policy.service=level-priority", "fabric.nic_bandwidth=200Gbps"}, large},
		{"mixtral8x22b", nil, large},
		{"all-to-all-ocs", nil, small},
		{"matrix-ocs", nil, small},
	} {
		previousSlack := math.Inf(1)
		for _, size := range c.sizes {
			set := append([]string{"engine.level=packet", "workload.packet=" + size,
				`policy.allocators=["prop-alloc", "iter-halve", "delta-joint"]`}, c.set...)
			o := runScenario(t, c.base, 1, set...)
			maxSlack := 0.0
			for _, row := range o.Document.Rows {
				m := row.Metrics
				end, bound := m["makespan_s"]+m["completion_s"], m["bound_makespan_s"]+m["bound_completion_s"]
				difference, slack := end-m["fluid_s"], m["packet_slack_s"]
				if difference > slack || difference < -slack || end < bound || end == 0 {
					t.Errorf("%s %s, packets of %s, %s: got %+g s compared with the %g s of "+
						"level flow, want within %g s",
						c.base, c.set, size, row.Policy, difference, m["fluid_s"], slack)
				}
				if m["delivered"] != m["injected"] || m["packet_hops"] != 3*m["injected"] {
					t.Errorf("%s %s: delivered %g of %g packets over %g links, want all of them "+
						"over 3 links each",
						c.base, c.set, m["delivered"], m["injected"], m["packet_hops"])
				}
				maxSlack = max(maxSlack, slack)
			}

			if maxSlack > previousSlack/2 {
				t.Errorf("%s %s: got a slack of %g s with packets of %s, want at most half of "+
					"%g s, the slack of the larger packets",
					c.base, c.set, maxSlack, size, previousSlack)
			}
			previousSlack = maxSlack
		}
	}
}

// TestTrainingLevelsAgree checks that, on a torus and on a graph with one path per flow, a
// training step takes at most 3 % longer at level packet than at level flow. It takes at least
// as long as on the ideal fabric, and at least the lower bound. The second part checks the
// diagnostics of training on a torus.
func TestTrainingLevelsAgree(t *testing.T) {
	t.Parallel()
	run := func(base string, set ...string) map[string]map[string]float64 {
		o := runScenario(t, base, 1, set...)
		rows := map[string]map[string]float64{"": o.Document.Reference}
		for _, row := range o.Document.Rows {
			rows[row.Policy] = row.Metrics
		}
		return rows
	}

	for _, c := range []struct {
		base string
		set  []string
	}{
		{"training-torus", nil},
		{"training-torus", []string{"workload.gpus=8"}},
		{"training-torus", []string{"fabric.dims=[3,3,3]", "fabric.failed_chips=[4]",
			`policy.routers=["shortest","route-optimised"]`,
			"policy.route-optimised.budget=20000"}},
		{"training-graph", []string{"workload.schedule=gpipe", `policy.routers=["shortest","ecmp"]`}},
	} {
		fluid := run(c.base, append(c.set, "engine.level=flow")...)
		for _, size := range []string{"4MB", "500KB"} {
			got := run(c.base, append(c.set, "engine.level=packet", "workload.packet="+size)...)
			for policy, m := range got {
				f := fluid[policy]
				if policy == "multipath" || policy == "" { // random paths of packets cause queues
					continue
				}
				if end := m["makespan_s"]; end < f["bound_makespan_s"] ||
					end > 1.03*f["makespan_s"] || end < fluid[""]["makespan_s"] {
					t.Errorf("%s %s, %s, packets of %s: got %g s, want at most 3 %% more than "+
						"%g s at level flow and at least %g s, ideal",
						c.base, c.set, policy, size, end, f["makespan_s"], fluid[""]["makespan_s"])
				}
				if m["nct"] < 1 || m["comm_exposed_s"] <= 0 || m["delivered"] != m["injected"] {
					t.Errorf("%s %s, %s: got NCT %g and %g s exposed, want at least 1 and more "+
						"than 0, with all packets delivered",
						c.base, c.set, policy, m["nct"], m["comm_exposed_s"])
				}
			}
		}
	}

	for set, want := range map[string]string{
		"workload.gpus=24":                   "24 GPUs do not fit 16 nodes; choose a larger fabric, or fewer GPUs",
		"workload.flows=per-gpu":             `workload.flows: is not used by fabric "torus"`,
		`policy.planners=["fast"]`:           `fabric "torus", which has no switches that reconfigure during a collective`,
		`policy.allocators=["delta-joint"]`:  `policy.routers: element 1: "delta-joint" is not known`,
		`fabric.failed_chips=[1]`:            "16 GPUs do not fit 15 nodes",
		"workload.experts.sizes=zipf":        "workload.experts: is not used by",
		"workload.microbatches=1000000":      "passes of stages and transfers between GPUs take about 1.6e+07 tasks, 16 GB of memory",
		"fabric.gpus_per_pod_per_replica=32": "fabric.gpus_per_pod_per_replica: is not used by",
	} {
		_, err := Load("training-torus", []string{set})
		checkError(t, err, want, set)
	}
}
