package scenarios

import (
	"math"
	"strings"
	"testing"
)

// TestTitle checks that the description of a run names the unusual parts of its fabric, and
// abbreviates long lists.
func TestTitle(t *testing.T) {
	for _, tt := range []struct {
		name      string
		overrides []string
		want      string
		not       string // must not appear, unless it is ""
	}{
		{"fault", nil, "on a 4x4x8 torus twisted tpuv4 without switch x3, links of", ""},
		{"fault", []string{`fabric.failed_ocs=["x3","x4"]`}, " without switches x3, x4, links", ""},
		{"fault", []string{"fabric.failed_ocs=[]", `fabric.failed_links=["17 x+"]`},
			" without link 17 x+, links", ""},
		{"fault", []string{"fabric.failed_ocs=[]", `fabric.failed_chips=[1,2,3,4,5,6]`},
			" without chips 1, 2, 3 and 3 more, links", ""},
		{"fault", []string{"fabric.failed_machines=[2]"}, " without switch x3 and machine 2, links", ""},
		{"fault", []string{`fabric.drained_links=["5 y+","9 y+"]`, "fabric.failure_time=5us"},
			" without switch x3 with drained links 5 y+, 9 y+ from 5us on, links", ""},
		{"fault", []string{"fabric.failed_ocs=[]", "fabric.twist=000000"},
			"on a 4x4x8 torus, links", "without"},
		{"fault", []string{"fabric.failed_ocs=[]", "fabric.twist=", `fabric.open=["y","x","z"]`},
			"on a 4x4x8 mesh, links", "torus"},
		{"fault", []string{"fabric.failed_ocs=[]", "fabric.twist=", `fabric.open=["z","x"]`},
			"on a 4x4x8 torus open in x, z, links", "mesh"},
		{"fault", []string{"fabric.failed_ocs=[]", "fabric.twist=",
			"fabric.shift=[[0,0,4],[0,0,0],[0,0,0]]"},
			"torus twisted by [[0,0,4],[0,0,0],[0,0,0]], links", ""},
		{"gpt7b", nil, "with 4 optical ports of 400Gbps", "replica 1"},
		{"gpt7b", []string{"replica.1.port_bandwidth=100Gbps"},
			"with 4 optical ports of 400Gbps, but replica 1 with 4 of 100Gbps", ""},
		{"gpt7b", []string{"replica.1.compute_scale=2"}, "with 4 optical ports of 400Gbps", "but"},
		{"gpt7b", []string{"workload.gpus=64", "replica.1.port_bandwidth=100Gbps",
			"replica.2.port_bandwidth=200Gbps", "replica.3.port_bandwidth=300Gbps",
			"replica.4.port_bandwidth=100Gbps", "replica.5.ports_per_pod=8"},
			"with 4 optical ports of 400Gbps, but 5 replicas with others (4 to 8 ports, 100Gbps to 400Gbps)", ""},
	} {
		s, err := Load(tt.name, tt.overrides)
		if err != nil {
			t.Errorf("%s %v: %v", tt.name, tt.overrides, err)
			continue
		}
		if got := s.Description(); !strings.Contains(got, tt.want) ||
			tt.not != "" && strings.Contains(got, tt.not) {
			t.Errorf("%s %v: got %q, want one with %q and without %q",
				tt.name, tt.overrides, got, tt.want, tt.not)
		}
	}
}

// TestImpossibleShare checks the share of communication that a measured slowdown implies. A
// share above 1 is reported with a label that calls it impossible. A share of at most 1 has no
// label. An undefined share has a label with the reason.
func TestImpossibleShare(t *testing.T) {
	for _, tt := range []struct {
		router, twist, slowdown, label string
		defined                        bool
	}{
		{"wild-first", "", "0.01", "", true},
		{"wild-first", "", "0.5", "impossible, as ", true},
		{"route-optimised", "tpuv4", "0.5", "undefined: ", false},
	} {
		o := runScenario(t, "fault", 1, "engine.level=static", "fabric.twist="+tt.twist,
			`policy.routers=["`+tt.router+`"]`, "workload.step.slowdown="+tt.slowdown)
		r := o.Document.Rows[0]
		share, ok := r.Metrics["implied_share"]
		label := r.Labels["implied_share"]
		if ok != tt.defined || (share > 1) != strings.HasPrefix(label, "impossible") ||
			(label == "") != (tt.label == "") || !strings.HasPrefix(label, tt.label) {
			t.Errorf("%s, slowdown %s: got share %v (defined: %v) and label %q, want defined: %v "+
				"and a label that starts with %q",
				tt.router, tt.slowdown, share, ok, label, tt.defined, tt.label)
		}
	}
}

// TestPerHop checks router multipath with the maximum number of paths per pair. Reference: the
// exact link loads of splitting evenly at each hop (docs/reproduction-tori.md, Fig. 10).
func TestPerHop(t *testing.T) {
	for twist, want := range map[string]float64{"010100": 73.3333, "010111": 94.3395} {
		o := runScenario(t, "twisted", 1, "fabric.dims=[4,4,8]", "engine.level=static",
			`policy.routers=["multipath"]`, "policy.multipath.split=per-hop",
			"policy.multipath.max_paths=1024", "fabric.twist="+twist)
		if got := o.Document.Rows[0].Metrics["max_link_load"]; math.Abs(got-want) > 1e-4 {
			t.Errorf("twist %s: got a maximum load of %g, want %g", twist, got, want)
		}
	}
}

// TestRingDims compares the time of rings along z with closed forms, for rings on lines and on
// the groups of nodes that a twist joins (docs/reproduction-tori.md).
func TestRingDims(t *testing.T) {
	for _, tt := range []struct {
		twist, form, both string
		want              float64
	}{
		{"", "links", "false", 576e-6},
		{"000010", "links", "false", 672e-6},
		{"000010", "line", "false", 576e-6},
		{"", "links", "true", 288e-6},
		{"000010", "folded", "true", 576e-6},
	} {
		o := runScenario(t, "fault", 1, "workload.kind=ring-all-reduce", "workload.message=384KB",
			"workload.rings=per-dimension", `workload.ring_dims=["z"]`,
			"fabric.dims=[8,4,4]", "fabric.failed_ocs=[]", "fabric.link_rate=1GB/s",
			"fabric.link_latency=0ns", "engine.level=flow", `policy.routers=["shortest"]`,
			"fabric.twist="+tt.twist, "workload.ring_form="+tt.form, "workload.bidirectional="+tt.both)

		if got := o.Document.Rows[0].Metrics["completion_s"]; math.Abs(got-tt.want) > 1e-11 {
			t.Errorf("%+v: got %g s, want %g s", tt, got, tt.want)
		}
	}
}
