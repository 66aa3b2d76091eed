package scenarios

import (
	"math"
	"testing"

	"sim/scenarios/result"
)

// TestTrafficExplanation checks that the explanations of traffic add up, at all levels and for
// all sources. See checkTraffic.
func TestTrafficExplanation(t *testing.T) {
	small := []string{"fabric.dims=[4,4,4]", "fabric.twist=",
		`policy.routers=["wild-first","multipath","ecmp"]`}
	for _, tt := range []struct {
		what      string
		overrides []string
	}{
		{"packets", []string{"workload.message=4KB"}},
		{"flow", []string{"workload.message=4KB", "fabric.dims=[3,4]", "fabric.twist=",
			"fabric.failed_ocs=[]", `fabric.failed_links=["5 x+"]`, "engine.level=flow",
			`policy.routers=["wild-first"]`}},
		{"static", []string{"workload.message=4KB", "engine.level=static"}},
		{"rings", []string{"workload.kind=ring-all-reduce", "workload.message=256KB"}},
		{"rings as fluid", []string{"workload.kind=ring-all-reduce", "workload.message=256KB",
			"engine.level=flow"}},
		{"hot nodes", []string{"workload.message=4KB", "workload.kind=hotspot"}},
		{"Poisson sources", []string{"workload.source=poisson", "workload.duration=5us"}},
		{"chips down", []string{"workload.message=4KB", "fabric.failed_chips=[3]",
			`policy.routers=["multipath","ecmp"]`}},
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

// checkTraffic checks the explanation of a row's traffic. The loads of links add up to the sum
// of hops. The parts of delays and of the longest chain add up to the mean delay and the
// completion time. The load of a link exceeds its fault-free load by at most its detoured load.
func checkTraffic(t *testing.T, row *result.Row, x *result.Traffic) {
	t.Helper()
	m := row.Metrics
	if x == nil || len(x.Bottlenecks) == 0 {
		t.Fatalf("%s: got no explanation of bottlenecks", row.Policy)
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
		if l.Pairs < 1 || l.Sources < 1 || l.Destinations < 1 ||
			l.TopDestination.Load > l.Load*(1+1e-9) || l.TopSource.Load > l.Load*(1+1e-9) {
			t.Errorf("%s: link %s: got %d pairs of %d sources and %d destinations with maxima "+
				"%+v and %+v, want at least one of each and maxima of at most the link's load",
				row.Policy, l.Name, l.Pairs, l.Sources, l.Destinations, l.TopSource,
				l.TopDestination)
		}
		detoured := 0.0
		for _, d := range l.Detours {
			detoured += d.Load
		}
		if l.FaultFreeLoad != nil && l.Load-*l.FaultFreeLoad > detoured+1e-6 {
			t.Errorf("%s: link %s carries %g, fault-free %g, with %g detoured; want at least the "+
				"difference detoured", row.Policy, l.Name, l.Load, *l.FaultFreeLoad, detoured)
		}
	}

	if d := x.Delay; d != nil {
		checkClose(t, row.Policy+": mean delay", d.SerialS+d.LatencyS+d.WaitS, m["mean_delay_s"])
		waited := 0.0
		for _, g := range x.Groups {
			waited += g.WaitS
		}
		if d.Exact { // sums of the counters of all links
			checkClose(t, row.Policy+": wait", d.WaitS, waited/m["delivered"])
		}
	} else if m["mean_delay_s"] > 0 {
		t.Errorf("%s: got no explanation of the mean delay", row.Policy)
	}

	if c := x.Chain; c != nil {
		sum := 0.0
		for _, p := range c.Parts {
			sum += p.LatencyS + p.UnsharedS + p.SharingS
			if p.LatencyS < 0 || p.UnsharedS < 0 || p.SharingS < 0 || p.Transfers < 1 {
				t.Errorf("%s: got part %+v of the chain, want transfers and no negative time",
					row.Policy, p)
			}
		}

		if math.Abs(sum-m["completion_s"]) > 1e-11*float64(1+len(c.Parts)) {
			t.Errorf("%s: the chain adds up to %g s, want %g s", row.Policy, sum, m["completion_s"])
		}
	}
}

// TestDetourNamesFault checks that the explanation of messages that are routed around a failed
// link names that link.
func TestDetourNamesFault(t *testing.T) {
	o := runScenario(t, "fault", 1, "fabric.dims=[4,4,4]", "fabric.twist=000000",
		"engine.level=static", "fabric.failed_ocs=[]", `fabric.failed_links=["5 x+"]`,
		`policy.routers=["wild-first"]`)
	x := o.Detail.Policies[0].Traffic
	named := map[string]bool{}
	for _, l := range x.Bottlenecks {
		for _, d := range l.Detours {
			named[d.Cause] = true
		}
	}
	if !named["link 5 x+"] {
		t.Errorf("got detours caused by %v, want link 5 x+", named)
	}
}

// TestJobExplanation checks the explanation of each job. The critical path adds up to its
// makespan. The ports used by a job and the ports available to the other add up to the ports of
// each pod.
func TestJobExplanation(t *testing.T) {
	o := runScenario(t, "twojobs", 1, `policy.multi_job_allocators=["even-split"]`, "fabric.ports_per_pod=20",
		"workload.sequence=1024", "job.0.workload.microbatches=8", "job.1.workload.microbatches=16")
	p := o.Detail.Policies[0]
	if len(p.Jobs) != 2 || len(o.Detail.Reference.Jobs) != 2 {
		t.Fatalf("got explanations of %d jobs, and of %d on the ideal fabric; want 2",
			len(p.Jobs), len(o.Detail.Reference.Jobs))
	}
	for i := range p.Jobs {
		job := &p.Jobs[i]
		checkClose(t, job.Policy, job.MakespanS, o.Document.Rows[0].Metrics["job."+job.Policy+".makespan_s"])
		s := job.Shares()
		if s.WaitS != 0 || s.FullRateS <= 0 {
			t.Errorf("%s: got shares %+v of %g s, want no wait and some time at full rate",
				job.Policy, s, job.MakespanS)
		}
		for k, pod := range job.Topology.Pods {
			other := p.Jobs[1-i].Topology.Pods[k]
			if pod.Total+other.Used != 20 || pod.Even+other.Even != 20 {
				t.Errorf("%s of %s: got %+v, and %+v of the other job; want a sum of 20 ports",
					pod.Name, job.Policy, pod, other)
			}
		}
	}
}
