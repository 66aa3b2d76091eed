package scenarios

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"sim/scenarios/result"
)

// smallTorus is a scenario of an all-to-all on a 4x4x4 torus, at level packet.
const smallTorus = `
[workload]
kind = "all-to-all"
message = "8KB"
[fabric]
kind = "torus"
dims = [4, 4, 4]
link_rate = "50GB/s"
[engine]
level = "packet"
[policy]
routers = ["dor"]
`

// checkConservation fails unless each injected packet is delivered, dropped or in flight.
func checkConservation(t testing.TB, what any, r *result.Row) {
	t.Helper()
	m := r.Metrics
	if m["injected"] == 0 || m["injected"] != m["delivered"]+m["dropped"]+m["in_flight"] {
		t.Errorf("%v: got %g packets injected, %g delivered, %g dropped and %g in flight, want a "+
			"sum of the last three equal to the first",
			what, m["injected"], m["delivered"], m["dropped"], m["in_flight"])
	}
}

// TestRoutingLevels checks that every kind of traffic runs at every level. Paced traffic takes
// about as long at level packet as at level flow, and at least as long as its busiest link.
// Combinations of sources, queues and faults conserve packets.
func TestRoutingLevels(t *testing.T) {
	for _, kind := range []string{
		"all-to-all", "nearest-neighbour", "permutation", "hotspot", "ring-all-reduce",
		"ring-reduce-scatter", "ring-all-gather",
	} {
		static := runMetrics(t, smallTorus, "workload.kind="+kind, "engine.level=static",
			"workload.message=256KB")
		fluid := runMetrics(t, smallTorus, "workload.kind="+kind, "engine.level=flow",
			"workload.message=256KB")
		row := &runText(t, smallTorus, "workload.kind="+kind, "workload.message=256KB").Document.Rows[0]
		packets := row.Metrics
		checkConservation(t, kind, row)
		if static["max_link_load"] <= 0 ||
			fluid["completion_s"] < static["fluid_s"]*(1-1e-9) &&
				!strings.HasPrefix(kind, "ring-") {
			t.Errorf("%s: got a maximum load of %g and %g s at level flow, want at least %g s as "+
				"the busiest link",
				kind, static["max_link_load"], fluid["completion_s"], static["fluid_s"])
		}

		if ratio := packets["completion_s"] / fluid["completion_s"]; ratio < 0.999 || ratio > 1.05 {
			t.Errorf("%s: got %g s at level packet, want at most 5 %% more than %g s at level flow",
				kind, packets["completion_s"], fluid["completion_s"])
		}
	}

	for _, set := range [][]string{
		{"fabric.dims=[8]"}, {"fabric.dims=[4, 6]", `fabric.open=["y"]`,
			`policy.routers=["dor", "route-optimised"]`}, {"fabric.dims=[3, 3, 3, 3]"},
		{"workload.kind=uniform-random", "workload.load=0.3"},
		{"workload.kind=data-tensor", "workload.rate=1GB/s", "workload.start=0s", "workload.phase=20us"},
		{"workload.source=greedy"}, {"workload.source=greedy", "workload.injection=random"},
		{"workload.source=greedy", "workload.injection=sequential"},
		{"workload.source=window", "workload.window=2"},
		{"workload.source=on-off", "workload.rate=500MB/s", "workload.start=0s", "workload.duration=30us"},
		{"fabric.queue=credit"}, {"fabric.queue=20p", "workload.source=greedy"},
		{"fabric.bit_errors=1e-6"}, {"fabric.link_latency=1us", "fabric.queue=credit"},
		{"fabric.failed_ocs=[\"x3\"]", "policy.routers=[\"wild-first\"]", "fabric.queue=credit"},
		{"fabric.failed_ocs=[\"x3\"]", "policy.routers=[\"shortest\"]", "fabric.failure_time=20us",
			"fabric.reroute_delay=5us"},
	} {
		row := &runText(t, smallTorus, set...).Document.Rows[0]
		checkConservation(t, set, row)
		if d := row.Metrics["dropped"]; d > 0 && !strings.Contains(fmt.Sprint(set), "20p") &&
			!strings.Contains(fmt.Sprint(set), "failure_time") {
			t.Errorf("%v: got %g packets dropped, want 0", set, d)
		}
	}
}

// TestTwistedToriScenario checks the results of the built-in scenario "twisted" for one twist.
// Reference: packet counts and delays of other simulators for the same work, in
// policies/routing.TestPeers.
func TestTwistedToriScenario(t *testing.T) {
	o := runScenario(t, "twisted", 1, "engine.until=10s", "fabric.twist=001000")
	m := o.Document.Rows[0].Metrics
	if m["delivered"] != 160582 || m["injected"] != 162560 || math.Abs(m["mean_delay_s"]/2.802738-1) > 1e-4 {
		t.Errorf("got %g of %g packets delivered after %g s on average, want 160582 of 162560 "+
			"after 2.802738 s", m["delivered"], m["injected"], m["mean_delay_s"])
	}
	if m["average_hops"] != 3.625 || o.Document.Reference["average_hops"] != 3.625 {
		t.Errorf("got %g hops on average and a minimum of %g, want 3.625 for both",
			m["average_hops"], o.Document.Reference["average_hops"])
	}
}

// TestRoutingIsDeterministic checks that documents and files are the same for any number of
// workers.
func TestRoutingIsDeterministic(t *testing.T) {
	var first *Outcome
	for _, workers := range []int{1, 2, 1} {
		s, err := Parse("tori.toml", []byte(smallTorus), []string{
			`policy.routers=["dor", "shortest", "ecmp", "random-shortest", "wild-first", "multipath"]`, "engine.sample_every=5us", "workload.injection=random",
		})
		if err != nil {
			t.Fatal(err)
		}
		o, err := Run(context.Background(), s, RunOptions{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = o
			continue
		}
		a, err := first.Document.JSON()
		if err != nil {
			t.Fatal(err)
		}
		b, err := o.Document.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%d workers: got another document than with 1 worker", workers)
		}
		for i, f := range o.Files {
			if !bytes.Equal(f.Data, first.Files[i].Data) || f.Name != first.Files[i].Name {
				t.Errorf("%d workers: got another file %s than with 1 worker", workers, f.Name)
			}
		}
	}
}

// TestRoutingDiagnostics checks the diagnostics of invalid tori and traffic on them. They state
// the accepted values, in at most two lines.
func TestRoutingDiagnostics(t *testing.T) {
	for _, c := range []struct {
		set  []string
		want string
	}{
		{[]string{"fabric.dims=[4, 4]", `fabric.twist="001000"`},
			"fabric.twist: a twist pattern is of three dimensions"},
		{[]string{"fabric.dims=[4, 4, 6]", `fabric.failed_ocs=["x3"]`}, "multiples of 4"},
		{[]string{`fabric.failed_ocs=["x16"]`}, "names no switch"},
		{[]string{`fabric.failed_links=["64 x+"]`}, "fabric.failed_links: link 64 x+ of 4x4x4"},
		{[]string{"fabric.failed_chips=[64]"}, "fabric.failed_chips: chip 64; 4x4x4 has 0 to 63"},
		{[]string{"fabric.link_rate=0Gbps"}, "fabric.link_rate"},
		{[]string{"fabric.link_latency=-1ns"}, "fabric.link_latency"},
		{[]string{"fabric.queue=10"}, "fabric.queue"},
		{[]string{"fabric.dims=[64, 64, 64]"}, "the flows between nodes take about"},
		{[]string{"fabric.dims=[16, 16, 16]", "fabric.busy_cubes=[0]"}, "64 cubes"},
		{[]string{"fabric.dims=[16, 16, 36]", "fabric.pod_cubes=64"},
			"fabric.pod_cubes: 16x16x36 takes 144 cubes of 4x4x4, and 64 of the pod's 64 are free"},
		{[]string{"fabric.dims=[16, 16, 36]", "fabric.pod_cubes=144", "fabric.busy_cubes=[143]"},
			"143 of the pod's 144 are free"},
		{[]string{"fabric.cubes=[64]"}, "there are 0 to 63"},
		{[]string{"fabric.cubes=[0, 1]"}, "takes 1 cubes, not 2"},
		{[]string{"fabric.cubes=[0]", "fabric.busy_cubes=[0]"}, "belongs to another job"},
		{[]string{"workload.kind=matrix"}, "workload.matrix: is missing"},
		{[]string{"workload.kind=matrix", "workload.matrix=[[0, 1], [1]]"}, "row 2 has 1 numbers"},
		{[]string{"workload.kind=matrix", "workload.matrix=[[0, 1], [1, 0]]"}, "2 rows for 64 nodes"},
		{[]string{"workload.kind=matrix", "workload.matrix=[[0, -1], [1, 0]]"}, "-1"},
		{[]string{"workload.payload=2KB"}, "packets of 1KB carry a payload of 2KB"},
		{[]string{"fabric.failure_time=1us"}, "nothing fails then"},
		{[]string{`policy.order=["x", "y"]`}, "names 2 of 3 dimensions"},
		{[]string{"engine.level=flow", "workload.source=poisson"}, "simulates messages"},
		{[]string{"workload.source=on-off"}, "workload.rate: is missing"},
	} {
		_, err := Parse("tori.toml", []byte(smallTorus), c.set)
		checkError(t, err, c.want, c.set)
		if err == nil {
			continue
		}
		if lines := strings.Count(err.Error(), "\n") + 1; lines > 2 {
			t.Errorf("%v: got %d lines, want at most 2: %v", c.set, lines, err)
		}
	}

	for _, c := range []struct{ set, want string }{
		{`fabric.failed_links=["0 x+", "0 x-", "0 y+", "0 y-", "0 z+", "0 z-"]`, "no path from node 0 to 1"},
		{`fabric.failed_ocs=["x3"]`, "dor"},
	} {
		_, err := Parse("tori.toml", []byte(smallTorus), []string{c.set})
		checkError(t, err, c.want, c.set)
	}
}

// TestSliceSwitches checks the numbers of optical connections of a slice and of switch commands
// that configure it. A slice has 48 connections per cube. Commands are not needed for
// connections that are configured already, nor possible on failed switches.
func TestSliceSwitches(t *testing.T) {
	for _, c := range []struct {
		set               []string
		joined, commanded float64
	}{
		{[]string{"fabric.dims=[8, 8, 8]"}, 384, 384},
		{[]string{"fabric.dims=[8, 8, 8]", "fabric.previous_configuration="}, 384, 0},
		{[]string{"fabric.dims=[4, 4, 8]", "fabric.previous_configuration=", "fabric.twist=tpuv4"}, 96, 64},
		{[]string{"fabric.pod_cubes=144", "fabric.cubes=[143]"}, 48, 48},
		// pods of more than 64 cubes, as of TPU Ironwood
		{[]string{"fabric.dims=[16, 16, 36]", "workload={kind = \"permutation\"}"}, 48 * 144, 48 * 144},
		{[]string{"fabric.dims=[20, 16, 16]", "workload={kind = \"permutation\"}"}, 48 * 80, 48 * 80},
		{[]string{"fabric.dims=[8, 8, 8]", `fabric.failed_ocs=["x3"]`,
			"policy.routers=[\"shortest\"]"}, 384, 376},
	} {
		o := runText(t, smallTorus, append(c.set, "engine.level=static")...)
		if m := o.Document.Reference; m["optical_connections"] != c.joined ||
			m["switch_commands"] != c.commanded {
			t.Errorf("%v: got %g connections and %g commands, want %g and %g",
				c.set, m["optical_connections"], m["switch_commands"], c.joined, c.commanded)
		}
	}
}

// TestSwitchedNetworks compares all-to-all traffic over all shortest paths with closed forms.
// On non-blocking fat trees and dual planes, it takes the time of a host's messages on one
// port. With an oversubscription of 3 a leaf takes three times as long for its messages to
// other leaves. Level packet may take 25 % longer. Switches send nothing.
func TestSwitchedNetworks(t *testing.T) {
	const message, port = 64e3, 400e9 / 8
	for _, c := range []struct {
		fabric  string
		seconds float64 // closed form; 0 if the test has no closed form
	}{
		{`generator = "fat-tree", switch_ports = 6`, 53 * message / port},
		{`generator = "fat-tree", levels = 2, switch_ports = 8`, 31 * message / port},
		{`generator = "fat-tree", levels = 2, switch_ports = 4, oversubscription = 3`,
			3 * 9 * message / port},
		{`generator = "dual-plane"`, 31 * message / port / 2},
		{`generator = "rail-optimised", rail_spines = 2, servers = 2, rails = 4, server_times = 100`, 0},
	} {
		for _, level := range []string{"flow", "packet"} {
			o := runText(t, `[workload]
kind = "all-to-all"
message = "64KB"
[policy]
routers = ["multipath"]
[policy.multipath]
max_paths = 64
`,
				`fabric={kind = "graph", `+c.fabric+`}`, "engine.level="+level)

			m := o.Document.Rows[0].Metrics
			took, maxTime := m["completion_s"], c.seconds*1.001
			if level == "packet" {
				maxTime = c.seconds * 1.25
			}
			if c.seconds > 0 && (took < c.seconds*0.999 || took > maxTime) || m["max_link_load"] == 0 {
				t.Errorf("%s, level %s: got %g s, want %g s", c.fabric, level, took, c.seconds)
			}
		}
	}

	// A traffic matrix has a row for each host, and none for switches.
	o := runText(t, "[workload]\nkind = \"matrix\"\nmatrix = [[0, 9, 0, 0], [0, 0, 0, 0], [0, 0, 0, 5], [1, 0, 0, 0]]\n",
		`fabric={kind = "graph", edges = [[0, 4], [4, 0], [1, 4], [4, 1], [2, 4], [4, 2], [3, 4], [4, 3]], switches = {from = 4}}`, "engine.level=flow")
	if m := o.Document.Rows[0].Metrics; m["diameter"] != 2 {
		t.Errorf("matrix of hosts: got %+v, want a diameter of 2", m)
	}
}

// TestUnserved checks that a router that cannot serve the fabric has a row with the reason,
// while other routers run. Bounds of served rows are at most their loads.
func TestUnserved(t *testing.T) {
	if testing.Short() {
		t.Skip("route-optimised takes long; other tests cover it under the race detector")
	}
	o := runText(t, smallTorus, `fabric.failed_ocs=["x3"]`,
		`policy.routers=["dor", "shortest", "multipath", "route-optimised"]`, "engine.level=static")
	rows := o.Document.Rows
	if len(rows) != 4 || len(rows[0].Metrics) != 0 ||
		!strings.Contains(rows[0].Labels["unserved"], "no path") {
		t.Fatalf("got rows %+v, want 4 with dor unserved", rows)
	}
	for _, kind := range []string{"all-to-all", "nearest-neighbour"} {
		for _, r := range runText(t, smallTorus, `fabric.failed_links=["22 y+"]`, `policy.routers=["shortest", "multipath", "route-optimised"]`,
			"engine.level=static", "workload.kind="+kind, `policy.multipath.paths="wild-first"`).Document.Rows {
			if r.Metrics["gap"] < -1e-9 {
				t.Errorf("%s, %s: got load %g, want at least the bound %g",
					kind, r.Policy, r.Metrics["max_link_load"], r.Metrics["bound_max_link_load"])
			}
		}
	}
}
