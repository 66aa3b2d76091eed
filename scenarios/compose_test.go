package scenarios

import (
	"context"
	"math"
	"testing"
)

// TestPacketsNearFluid: on pods an iteration takes in packets no more than Slack longer than as fluid, and no less than as
// fluid but for what sharing otherwise may gain; smaller packets bring the two together.
func TestPacketsNearFluid(t *testing.T) {
	for _, c := range []struct {
		base string
		set  []string
	}{
		{"gpt7b", nil},
		{"gpt7b", []string{"workload.gpus=32"}},
		{"gpt7b", []string{"workload.replicas=all"}},
		{"gpt7b", []string{"workload.flows=per-gpu"}},
		{"gpt7b", []string{"workload.gpus=24", "workload.replicas=all", "workload.flows=per-gpu"}},
		{"gpt7b", []string{"workload.schedule=gpipe", "fabric.ports_per_pod=3"}},
		{"gpt7b", []string{"workload.pp=8", "fabric.gpus_per_pod_per_replica=2"}},
		{"gpt7b", []string{"workload.schedule=interleaved-1f1b", "workload.virtual_stages=2"}},
		{"gpt7b", []string{"policy.service=level-priority", "fabric.nic_bandwidth=200Gbps"}},
		{"mixtral8x22b", nil},
		{"all-to-all-ocs", nil},
		{"matrix-ocs", nil},
	} {
		last := math.Inf(1)
		for _, size := range []string{"4MB", "1MB"} {
			s, err := Load(c.base, append([]string{"engine.level=packet", "workload.packet=" + size}, c.set...))
			if err != nil {
				t.Fatalf("%s: %v", c.set, err)
			}
			o, err := Run(context.Background(), s, RunOptions{Workers: 1})
			if err != nil {
				t.Fatalf("%s: %v", c.set, err)
			}
			most := 0.0
			for _, row := range o.Document.Rows {
				m := row.Metrics
				end, bound := m["makespan_s"]+m["completion_s"], m["bound_makespan_s"]+m["bound_completion_s"]
				off, slack := end-m["fluid_s"], m["packet_slack_s"]
				if off > slack || off < -slack || end < bound || end == 0 {
					t.Errorf("%s %s, packets of %s, %s: %g s over the fluid of %g s, slack %g s", c.base, c.set, size, row.Policy, off, m["fluid_s"], slack)
				}
				if m["delivered"] != m["injected"] || m["packet_hops"] != 3*m["injected"] {
					t.Errorf("%s %s: %g of %g packets over %g links", c.base, c.set, m["delivered"], m["injected"], m["packet_hops"])
				}
				most = max(most, slack)
			}
			if most > last/2 {
				t.Errorf("%s %s: a slack of %g s with packets of %s, after %g s", c.base, c.set, most, size, last)
			}
			last = most
		}
	}
}
