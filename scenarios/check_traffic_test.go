package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "sim/internal/testseed"
)

// TestTrafficDiagnostics checks the diagnostics of traffic that a fabric cannot carry. They
// appear before the run, as one line that names the key. Traffic at the accepted limits has no
// diagnostic.
func TestTrafficDiagnostics(t *testing.T) {
	const rings = "workload.kind=ring-all-reduce"
	for _, c := range []struct {
		want string // start of the diagnostic; "" if accepted
		set  []string
	}{
		{"workload.permutation: transpose of 4x2; choose sizes that are the same backwards",
			[]string{"workload.kind=permutation", "fabric.dims=[4, 2]",
				"workload.permutation=transpose"}},
		{"", []string{"workload.kind=permutation", "fabric.dims=[4, 4]", "workload.permutation=transpose"}},
		{"workload.permutation: bit-reverse of 12 nodes; choose a power of 2",
			[]string{"workload.kind=permutation", "fabric.dims=[4, 3]",
				"workload.permutation=bit-reverse"}},
		{"workload.permutation: shuffle of 12 nodes",
			[]string{"workload.kind=permutation", "fabric.dims=[4, 3]",
				"workload.permutation=shuffle"}},
		{"", []string{rings, "workload.message=1B"}},
		{"workload.message: all-reduce of 9000000000000000000 B",
			[]string{rings, "workload.message=9000PB", "engine.level=static"}},
		{"workload.kind: bucket: all-reduce among 63 ranks; choose a box",
			[]string{rings, "workload.rings=per-dimension", "fabric.failed_chips=[3]"}},
		{"workload.kind: bidirectional-ring: all-reduce among 16384 ranks is more than 5,726,622 transfers", []string{rings, "fabric.dims=[128, 128]", "workload.message=1MB"}},
		{`workload.rings: is the text "all"; write "one" or "per-dimension"`,
			[]string{rings, "workload.rings=all"}},
		{`workload.ring_dims: element 1: "w" is not known`,
			[]string{rings, "workload.rings=per-dimension", `workload.ring_dims=["w"]`}},
		{"workload.grouping: \"links\" follows the links of one dimension, and workload.call_dims names 2", []string{"workload.kind=all-reduce", `workload.call_dims=["x", "y"]`, "workload.grouping=links", "policy.collective=ring"}},
		{"workload.grouping: the links along z close into no rings",
			[]string{"workload.kind=all-reduce", `workload.call_dims=["z"]`, "workload.grouping=links",
				"policy.collective=ring", `fabric.open=["z"]`}},
		{"workload.call_dims: conflicts with workload.group",
			[]string{"workload.kind=all-reduce", `workload.call_dims=["z"]`, "workload.group=[0, 1]",
				"policy.collective=ring"}},
		{"workload.call_dims: 4x4 has no dimension z; name existing dimensions",
			[]string{"workload.kind=all-reduce", "fabric.dims=[4, 4]", `workload.call_dims=["z", "x"]`}},
		{"workload.tensor_dims: 4x4 has no dimension z; name existing dimensions",
			[]string{"workload.kind=data-tensor", "workload.rate=1GB/s", "fabric.dims=[4, 4]",
				`workload.tensor_dims=["z"]`, `workload.data_dims=["x", "y"]`}},
		{"workload.data_dims: 4x4 has no dimension z; name existing dimensions",
			[]string{"workload.kind=data-tensor", "workload.rate=1GB/s", "fabric.dims=[4, 4]",
				`workload.tensor_dims=["x"]`, `workload.data_dims=["y", "z"]`}},
		{"policy.order: 4x4 has no dimension z; name existing dimensions",
			[]string{"fabric.dims=[4, 4]", `policy.routers=["dor"]`, `policy.order=["z", "x"]`}},
		{"fabric.dims: traffic needs at least 2 nodes that are up and no switches, of 1 there are 1", []string{"fabric.dims=[1]"}},
		{"fabric.failed_chips: traffic needs at least 2 nodes that are up and no switches, of 2 there are 1", []string{"fabric.dims=[2]", "fabric.failed_chips=[1]"}},
		{"workload.message: 4032 messages of 9000000000000000000 B are more bytes than can be counted", []string{"workload.message=9000PB", "engine.level=static"}},
		{"workload.hot_nodes: 3 hot nodes of 2 that are up",
			[]string{"workload.kind=hotspot", "fabric.dims=[4]", "fabric.failed_chips=[0, 1]",
				"workload.hot_nodes=3"}},
		{"workload.matrix: ", []string{"workload.kind=matrix", "fabric.dims=[3]",
			"workload.matrix=[[0, 1, 0], [1, 0, 0], [0, 0, 0]]", "fabric.failed_chips=[1]"}},
		{"fabric.dims: neither slices nor rings have two nodes",
			[]string{"workload.kind=data-tensor", "workload.rate=1GB/s",
				"fabric.dims=[1, 1, 1, 2]"}},
		{"fabric.dims: the flows in slices take about 25.77 GB of memory to simulate",
			[]string{"workload.kind=data-tensor", "workload.rate=1GB/s",
				"fabric.dims=[128, 128, 1]"}},
		{"workload.ring_rate: 1bps of 1000 B packets send none",
			[]string{"workload.kind=data-tensor", "workload.rate=1GB/s",
				"workload.ring_rate=1bps"}},
		{"workload.phase: packets are injected for up to 2.16e+07 s",
			[]string{"workload.kind=data-tensor", "workload.rate=1GB/s", "workload.phase=1000h"}},
		{"fabric.link_rate: 7.999kbps is too slow for packets; write at least 8kbps",
			[]string{"fabric.link_rate=7999bps"}},
		{"", []string{"fabric.link_rate=7999bps", "engine.level=static"}},
		{"fabric.link_latency: 3600000s a hop is more", []string{"fabric.link_latency=1000h"}},
		{"fabric.buffer: a buffer of 999B has no room for a packet of 1KB",
			[]string{"fabric.queue=credit", "fabric.buffer=999B"}},
		{"", []string{"fabric.queue=credit", "fabric.buffer=1000B"}},
		{"workload.packet: packets of 300MB; write at most 268435456 B", []string{"workload.packet=300MB"}},
		{"fabric.bit_errors: a packet of 1KB arrives wrong with probability 1.0",
			[]string{"fabric.bit_errors=0.1"}},
		{"workload.duration: packets are injected for up to 3.6e+06 s",
			[]string{"workload.source=on-off", "workload.rate=1GB/s", "workload.duration=1000h"}},
		{"workload.start: packets are injected for up to 3.6e+06 s",
			[]string{"workload.source=on-off", "workload.rate=1GB/s", "workload.start=1000h"}},
		{"workload.warmup: packets are injected",
			[]string{"workload.source=poisson", "workload.warmup=1000h"}},
		{"workload.duration: no packets are measured",
			[]string{"workload.source=poisson", "workload.duration=0s"}},
		{"workload.load: a node injects a packet every",
			[]string{"workload.source=poisson", "workload.load=1e-300"}},
		{"fabric.reroute_delay: packets are rerouted",
			[]string{`fabric.failed_links=["0 x+"]`, "fabric.failure_time=1us",
				"fabric.reroute_delay=1000h"}},
		{"workload.message: 4e+12 packets of the traffic take about 1.23e+13 hops of packets",
			[]string{"workload.message=1TB"}},
		{"", []string{"workload.message=1TB", "engine.level=flow"}},
		{"workload.message: 4032 messages of 10000000000000000 B are more bytes than can be counted", []string{"workload.message=10000TB", "workload.source=on-off", "workload.rate=1Gbps", "workload.duration=10us"}},
		{`workload.message: "9EB" is no size`, []string{"workload.message=9EB"}},
		{"", []string{"workload.message=1TB", "engine.until=1us"}},
		{"workload.injection: \"\" is not known", []string{"workload.injection="}},
	} {
		_, err := Parse("tori.toml", []byte(smallTorus), c.set)
		checkError(t, err, c.want, c.set)
		if err == nil {
			continue
		}
		text := strings.TrimPrefix(err.Error(), "--set: ")
		if !strings.HasPrefix(text, c.want) || strings.Contains(text, "\n") {
			t.Errorf("%v: got %v, want one line that starts with %q", c.set, err, c.want)
		}
	}

	graph := func(set ...string) []string {
		return append([]string{"fabric.kind=graph", "fabric.dims=", `policy.routers=["shortest"]`}, set...)
	}
	text := strings.Replace(smallTorus, "dims = [4, 4, 4]", "", 1)
	for _, c := range []struct{ want, edges string }{
		{"", "[[0, 1, 8000, 0], [1, 0]]"},
		{"fabric.edges: link 1 has 7999 b/s and a latency of 0 ps; for packets write at least 8000 b/s", "[[0, 1, 7999, 0], [1, 0]]"},
		{"fabric.edges: link 2 has 0 b/s and a latency of 1152921504606846976 ps",
			"[[0, 1], [1, 0, 0, 1152921504606846976]]"},
	} {
		_, err := Parse("graph.toml", []byte(text),
			append(graph()[:1], "fabric.edges="+c.edges, `policy.routers=["shortest"]`))
		checkError(t, err, c.want, c.edges)
	}
}

// TestTrafficLimits checks the limits that depend on the paths. Traffic that exceeds a limit,
// or that no path serves, is rejected before the run. Traffic at the limits of level packet is
// simulated.
func TestTrafficLimits(t *testing.T) {
	for _, c := range []struct {
		want string // start of the diagnostic; "" if the scenario runs
		set  []string
	}{
		{"workload.packet: 6.3e+11 packets of the traffic take ",
			[]string{"workload.message=156MB", "workload.packet=1B"}},
		{"workload.rate: 7.3e+13 packets of the traffic take ",
			[]string{"workload.source=on-off", "workload.message=0B", "workload.rate=500MB/s",
				"workload.duration=10h"}},
		{"workload.duration: 4.3e+11 packets of the traffic take about 1.32e+12 hops",
			[]string{"workload.source=poisson", "workload.load=0.9", "workload.duration=150s"}},
		{"workload.pace: dor takes 5.12e+294 s of simulated time", []string{"workload.pace=1e-300"}},
		{"workload.message: the traffic takes 2.56e+16 s",
			[]string{"workload.message=100TB", "fabric.link_rate=1bps", "engine.level=flow"}},
		{"engine.sample_every: dor has 2.5e+11 lengths of queues to keep, of 384 links over some 0.00064 s; choose at least 15ns, for 16777216", []string{"engine.sample_every=1ps", "workload.message=1MB"}},
		{"fabric.link_latency: dor takes 2.16e+07 s of simulated time; choose less latency",
			[]string{"fabric.link_latency=1000h", "engine.level=flow"}},
		{`fabric.failed_ocs: dor: no path from node 3 to 48`, []string{`fabric.failed_ocs=["x3"]`}},
		{"", []string{"engine.sample_every=15ns", "workload.message=1MB", "engine.until=1us"}},
		{"", []string{"engine.sample_every=100ps", "workload.message=1MB", "engine.until=1us"}},
		{`fabric.failed_ocs: dor: after the fault: no path from node 3 to 48`,
			[]string{`fabric.failed_ocs=["x3"]`, "fabric.failure_time=1us"}},
		{"", []string{"fabric.link_rate=8kbps", "fabric.dims=[3]", "workload.message=1KB"}},
		{"", []string{"workload.packet=268435456B", "fabric.dims=[3]"}},
		{"", []string{"fabric.queue=credit", "fabric.buffer=1000B"}},
		{"", []string{"workload.message=1TB", "engine.until=1us"}},
	} {
		s, err := Parse("text.toml", []byte(smallTorus), c.set)
		if err != nil {
			if c.want == "" || !errors.Is(err, ErrInput) ||
				!strings.HasPrefix(err.Error(), "--set: "+c.want) {
				t.Errorf("%v: got %v, want %q", c.set, err, c.want)
			}
			continue
		}

		// A scenario that should be rejected could run for days.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		_, err = Run(ctx, s, RunOptions{Workers: 1})
		cancel()
		if c.want != "" || err != nil {
			t.Errorf("%v: got %v, want %q", c.set, err, c.want)
		}
	}
}

// TestUnservedAdvice checks the remedy that the diagnostic proposes if the only router cannot
// serve the traffic. It must be a change that lets some router serve it.
func TestUnservedAdvice(t *testing.T) {
	graph := `[workload]
kind = "all-to-all"
message = "8KB"
[fabric]
kind = "graph"
edges = [[0, 1], [1, 2], [2, 0]]
[policy]
routers = ["shortest"]
`

	for _, c := range []struct {
		want, text string
		set        []string
	}{
		{"; add links: no router can join these", graph, []string{"fabric.edges=[[0, 1], [1, 2]]"}},
		{"; let fewer fail: no router can join these", smallTorus,
			[]string{"fabric.dims=[3]", `fabric.failed_links=["0 x+", "0 x-"]`}},
		{`; choose another router, such as "ecmp", or add others, which then go on`, smallTorus,
			[]string{`fabric.failed_ocs=["x3"]`}},
	} {
		if _, err := Parse("text.toml", []byte(c.text), c.set); err == nil ||
			!errors.Is(err, ErrInput) || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.set, err, c.want)
		}
	}
}

// TestStepWithoutFaults checks that the keys of workload.step are rejected if no link is down
// for the whole run. They are accepted if an override or a study sets the keys that differ.
func TestStepWithoutFaults(t *testing.T) {
	const down = `fabric.failed_links=["0 x+"]`
	with := smallTorus + "[workload.step]\nshare = 0.2\n"
	for _, c := range []struct {
		want string
		text string
		set  []string
	}{
		{"workload.step.share: is not used where no link is down", smallTorus,
			[]string{"workload.step.share=0.2"}},
		{"workload.step.slowdown: is not used where no link is down", smallTorus,
			[]string{"workload.step.slowdown=0.2"}},
		{"workload.step.overlap: is not used without share", smallTorus,
			[]string{"workload.step.overlap=0.2", down}},
		{"workload.step.share: is not used where links fail in mid-run", smallTorus,
			[]string{"workload.step.share=0.2", down, "fabric.failure_time=1us"}},
		{"workload.step.share: is not used where links fail in mid-run, or nodes do", smallTorus,
			[]string{"workload.step.share=0.2", "fabric.failed_chips=[1]"}},
		{"", smallTorus, []string{"workload.step.share=0.2", "workload.step.overlap=0.2", down,
			`policy.routers=["wild-first"]`}},
		{"", smallTorus, []string{"workload.step.share=0.0", "workload.step.overlap=0.0",
			"workload.step.slowdown=0.0"}},
		{"step.share: is not used where no link is down", with, nil},
		{"", with, []string{"fabric.failed_links=[]"}},
	} {
		_, err := Parse("tori.toml", []byte(c.text), c.set)
		checkError(t, err, c.want, c.set)
	}
}

// TestByteOrderMark checks that a matrix file and a link file that start with the byte order
// mark of UTF-8 are read as the same files without it.
func TestByteOrderMark(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	read := func(mark string) string {
		var csv strings.Builder
		csv.WriteString(mark + "# bytes\n")
		for i := range 4 {
			for j := range 4 {
				csv.WriteString(map[bool]string{true: ",", false: ""}[j > 0] +
					fmt.Sprint((i*4+j)*1000*min(1, (i-j)*(i-j))))
			}
			csv.WriteString("\n")
		}

		name := filepath.Join(dir, fmt.Sprintf("%d.csv", rng.Uint64()))
		edges := name + ".txt"
		for file, text := range map[string]string{
			name:  csv.String(),
			edges: mark + "0 1\n1 2\n2 3\n3 0\n",
		} {
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}

		s, err := Parse("text.toml", []byte(`[workload]
kind = "matrix"
[fabric]
kind = "graph"
undirected = true
[policy]
routers = ["shortest"]
`),
			[]string{"workload.matrix_file=" + name, "fabric.file=" + edges})

		if err != nil {
			t.Fatal(err)
		}
		return string(s.TOML())
	}

	if unmarked, marked := read(""), read("\uFEFF"); unmarked != marked {
		t.Errorf("with a byte order mark, got\n%s\nwant\n%s", marked, unmarked)
	}
}
