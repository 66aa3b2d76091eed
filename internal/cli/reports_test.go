package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"sim/internal/text"
	"sim/scenarios"
	"sim/scenarios/report"
	"sim/scenarios/result"
)

// TestReports compares the printed results of small runs of every kind of fabric, and the
// explanation of each policy, with stored files. Wall-clock times are omitted.
func TestReports(t *testing.T) {
	cases := func(name string) string { return filepath.Join("testdata", "cases", filepath.FromSlash(name)+".toml") }
	for _, c := range []struct {
		name, scenario string
		set            []string
	}{
		{"ring", cases("traffic/parallel-links"), nil},
		{"packets", cases("traffic/padded-packets"), nil},
		{"latency", cases("traffic/parallel-links"), []string{"engine.level=packet", "fabric.link_latency=1us", "workload.message=1MB"}},
		{"static", cases("traffic/dor-parallel-links"), nil},
		{"faults", cases("traffic/dor-parallel-links"), []string{"fabric.dims=[3,4]", `fabric.failed_links=["0 x+"]`, "engine.level=flow", `policy.routers=["wild-first", "shortest"]`}},
		{"graph", "training-graph", nil},
		{"trace", cases("traces/multishot"), nil},
		{"tiers", cases("tiers/tiers-copies"), nil},
		{"fleet", cases("fleet/easy"), nil},
		{"training", "gpt7b", nil},
		{"during", cases("during/replay-gpt7b"), nil},
		{"moves", cases("during/packet-stall"), []string{`policy.allocators=["uniform", "demand-matched", "rotor"]`}},
		{"jobs", "twojobs", []string{"job.0.workload.microbatches=4", "job.1.workload.microbatches=4", `policy.multi_job_allocators=["even-split", "aggregate"]`}},
		{"matrix", "matrix-ocs", nil},
		{"circuits", "matrix-ocs", []string{"engine.level=static"}},
		{"rings", cases("traffic/ring-kind"), nil},
		{"plans", "worked-example", nil},
		{"flows", cases("plans/plan-one-large-flow"), nil},
		{"gather", "all-reduce", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, err := scenarios.Load(c.scenario, c.set)
			if err != nil {
				t.Fatal(err)
			}
			o, err := scenarios.Run(t.Context(), s, scenarios.RunOptions{Workers: 1, Timeline: scenarios.TimelineOptions{Tasks: 2000}})
			if err != nil {
				t.Fatal(err)
			}
			run := &result.Run{Document: o.Document, Detail: o.Detail}
			var out strings.Builder
			out.WriteString(report.Run(run, "runs/"+c.name, text.Style{}))
			for i := range run.Detail.Policies {
				p := &run.Detail.Policies[i]
				fmt.Fprintf(&out, "\n==== %s\n%s", p.Policy, report.Explain(run, p, text.Style{}))
				if p.Timeline != nil {
					out.WriteString(timelineStart(p.Timeline))
				}
			}
			compareGolden(t, "report-"+c.name+".txt", out.String())
		})
	}
}

// timelineStart returns the first tasks of a timeline and its most loaded links, as text.
func timelineStart(l *result.Timeline) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n%d tasks on %d tracks %s\n", len(l.Tasks), len(l.Nodes), l.Omitted)
	for _, k := range l.Tasks[:min(12, len(l.Tasks))] {
		fmt.Fprintf(&out, "%d-%d ps on %s: %q, %s, %d B to %d, waited for %d, critical %v\n", k.Start, k.End, l.Nodes[k.Node], k.Name, k.Kind, k.Bytes, k.Dst, k.WaitedFor, k.Critical)
	}
	for _, s := range l.Links[:min(3, len(l.Links))] {
		fmt.Fprintf(&out, "%s: %.6g at %.6g\n", s.Name, s.Value[:min(6, len(s.Value))], s.TimeS[:min(6, len(s.TimeS))])
	}
	return out.String()
}
