package scenarios

import (
	"math"
	"testing"

	"sim/scenarios/result"
)

// checkClose fails where two times or loads differ by more than rounding.
func checkClose(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*max(math.Abs(got), math.Abs(want)) {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// TestTrafficIsExplained: the loads of the links add up to the hops, the parts of delays and chains to what they are
// parts of, and what is detoured to how far a link's load is off the usual.
func TestTrafficExplanation(t *testing.T) {
	small := []string{"fabric.dims=[4,4,4]", "fabric.twist=", `policy.routers=["wild-first","multipath","ecmp"]`}
	for _, tt := range []struct {
		what      string
		overrides []string
	}{
		{"packets", []string{"workload.message=4KB"}},
		{"flow", []string{"workload.message=4KB", "fabric.dims=[3,4]", "fabric.twist=", "fabric.failed_ocs=[]", `fabric.failed_links=["5 x+"]`, "engine.level=flow", `policy.routers=["wild-first"]`}},
		{"static", []string{"workload.message=4KB", "engine.level=static"}},
		{"rings", []string{"workload.kind=ring-all-reduce", "workload.message=256KB"}},
		{"rings as fluid", []string{"workload.kind=ring-all-reduce", "workload.message=256KB", "engine.level=flow"}},
		{"hot nodes", []string{"workload.message=4KB", "workload.kind=hotspot"}},
		{"Poisson sources", []string{"workload.source=poisson", "workload.duration=5us"}},
		{"chips down", []string{"workload.message=4KB", "fabric.failed_chips=[3]", `policy.routers=["multipath","ecmp"]`}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			o := runScenario(t, "fault", 1, append(append([]string{}, small...), tt.overrides...)...)
			for _, row := range o.Document.Rows {
				if row.Labels["unserved"] != "" {
					continue
				}
				checkTraffic(t, &row, o.Detail.Simulation(row.Policy).Traffic)
			}
		})
	}
}

func checkTraffic(t *testing.T, row *result.Row, x *result.Traffic) {
	t.Helper()
	m := row.Metrics
	if x == nil || len(x.Bottlenecks) == 0 {
		t.Fatalf("%s: no traffic is explained", row.Policy)
	}
	hops, maxLoad := 0.0, 0.0
	for _, g := range x.Groups {
		hops += g.Load
		maxLoad = max(maxLoad, g.MaxLoad)
		checkClose(t, g.Name+": links", g.Capacity, float64(g.Links-g.Down-g.Drained))
	}
	checkClose(t, row.Policy+": hops of all links", hops, m["sum_hops"])
	checkClose(t, row.Policy+": most loaded", maxLoad, m["max_link_load"])
	checkClose(t, row.Policy+": first link", x.Bottlenecks[0].Load, m["max_link_load"])
	for _, l := range x.Bottlenecks {
		if l.Pairs < 1 || l.Sources < 1 || l.Destinations < 1 || l.TopDestination.Load > l.Load*(1+1e-9) || l.TopSource.Load > l.Load*(1+1e-9) {
			t.Errorf("%s: link %s is loaded by %d pairs of %d sources and %d destinations, %+v and %+v at most", row.Policy, l.Name, l.Pairs, l.Sources, l.Destinations, l.TopSource, l.TopDestination)
		}
		detoured := 0.0
		for _, d := range l.Detours {
			detoured += d.Load
		}
		if l.FaultFreeLoad != nil && l.Load-*l.FaultFreeLoad > detoured+1e-6 {
			t.Errorf("%s: link %s carries %g, usually %g, but only %g are detoured", row.Policy, l.Name, l.Load, *l.FaultFreeLoad, detoured)
		}
	}
	if d := x.Delay; d != nil {
		checkClose(t, row.Policy+": mean delay", d.SerialS+d.LatencyS+d.WaitS, m["mean_delay_s"])
		waited := 0.0
		for _, g := range x.Groups {
			waited += g.WaitS
		}
		if d.Exact { // by what every link counted
			checkClose(t, row.Policy+": wait", d.WaitS, waited/m["delivered"])
		}
	} else if m["mean_delay_s"] > 0 {
		t.Errorf("%s: no delay is explained", row.Policy)
	}
	if c := x.Chain; c != nil {
		sum := 0.0
		for _, p := range c.Parts {
			sum += p.LatencyS + p.UnsharedS + p.SharingS
			if p.LatencyS < 0 || p.UnsharedS < 0 || p.SharingS < 0 || p.Transfers < 1 {
				t.Errorf("%s: part of the chain %+v", row.Policy, p)
			}
		}
		if math.Abs(sum-m["completion_s"]) > 1e-11*float64(1+len(c.Parts)) {
			t.Errorf("%s: the chain adds up to %g of %g", row.Policy, sum, m["completion_s"])
		}
	}
}

// TestFaultIsNamed: of messages that go round a switch that is down it is said that they do.
func TestDetourNamesFault(t *testing.T) {
	o := runScenario(t, "fault", 1, "fabric.dims=[4,4,4]", "fabric.twist=000000", "engine.level=static", "fabric.failed_ocs=[]", `fabric.failed_links=["5 x+"]`, `policy.routers=["wild-first"]`)
	x := o.Detail.Policies[0].Traffic
	named := map[string]bool{}
	for _, l := range x.Bottlenecks {
		for _, d := range l.Detours {
			named[d.Cause] = true
		}
	}
	if !named["link 5 x+"] {
		t.Errorf("detours are for %v, want link 5 x+", named)
	}
}

// TestJobsAreExplained: each job has a critical path of its own that adds up to its time, and the jobs' ports of a pod
// and those that are free to what it has.
func TestJobExplanation(t *testing.T) {
	o := runScenario(t, "twojobs", 1, `policy.arbiters=["even-split"]`, "fabric.ports_per_pod=20", "workload.sequence=1024", "job.0.workload.microbatches=8", "job.1.workload.microbatches=16")
	p := o.Detail.Policies[0]
	if len(p.Jobs) != 2 || len(o.Detail.Reference.Jobs) != 2 {
		t.Fatalf("%d jobs are explained, %d of the ideal fabric; want 2", len(p.Jobs), len(o.Detail.Reference.Jobs))
	}
	for i := range p.Jobs {
		job := &p.Jobs[i]
		checkClose(t, job.Policy, job.MakespanS, o.Document.Rows[0].Metrics["job."+job.Policy+".makespan_s"])
		s := job.Shares()
		if s.WaitS != 0 || s.FullRateS <= 0 {
			t.Errorf("%s: shares %+v of %g", job.Policy, s, job.MakespanS)
		}
		for k, pod := range job.Topology.Pods {
			other := p.Jobs[1-i].Topology.Pods[k]
			if pod.Total+other.Used != 20 || pod.Even+other.Even != 20 {
				t.Errorf("%s of %s: %+v, of the other job %+v; want 20 ports in all", pod.Name, job.Policy, pod, other)
			}
		}
	}
}
