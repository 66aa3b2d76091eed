package scenarios

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// switchedDomain is an all-to-all of 8 GPUs behind a non-blocking switch.
const switchedDomain = `
[workload]
kind = "all-to-all"
message = "64KB"
[fabric]
kind = "electrical"
gpus = 8
link_rate = "400Gbps"
link_latency = "500ns"
`

// TestElectrical compares completion times behind a non-blocking switch with a closed form. The
// time is the maximum over GPUs of the bytes sent or received, divided by the link rate, plus
// the latency of two links. Level packet may take longer by the time of 100 packets.
func TestElectrical(t *testing.T) {
	const rate, latency = 400e9 / 8, 1e-6
	matrix := `workload.matrix=[[0,1000000,0,7],[0,0,5000000,0],[0,3000000,0,1],[0,0,0,0]]`
	for _, c := range []struct {
		set  []string
		want float64
	}{
		{nil, 7*64e3/rate + latency},
		{[]string{"fabric.gpus=72"}, 71*64e3/rate + latency},
		{[]string{"workload.kind=permutation"}, 64e3/rate + latency},
		// GPU 1 sends the maximum, GPU 2 receives it.
		{[]string{"workload.kind=matrix", "fabric.gpus=4", matrix}, 5e6/rate + latency},
	} {
		set := c.set
		text := switchedDomain
		if len(set) > 0 && set[0] == "workload.kind=matrix" {
			text = strings.Replace(text, `message = "64KB"`, "", 1)
		}
		fluid := runMetrics(t, text, append(set, "engine.level=flow")...)
		if got := fluid["completion_s"]; math.Abs(got-c.want) > 1e-11 {
			t.Errorf("%v: got %g s at level flow, want %g s", set, got, c.want)
		}
		if fluid["diameter"] != 2 {
			t.Errorf("%v: got a diameter of %g hops, want 2", set, fluid["diameter"])
		}
		packets := runMetrics(t, text, append(set, "engine.level=packet")...)
		if got, tolerance := packets["completion_s"], 100*1000/rate; got < c.want-1e-11 || got > c.want+tolerance {
			t.Errorf("%v: got %g s at level packet, want %g s to %g s", set, got, c.want, c.want+tolerance)
		}
	}
}

// TestElectricalEqualsStar checks that a switched domain has the metrics of a graph with the
// same links, for traffic and for a training step.
func TestElectricalEqualsStar(t *testing.T) {
	t.Parallel()
	var star strings.Builder
	for g := range 16 {
		fmt.Fprintf(&star, "[%d, 16], [16, %d], ", g, g)
	}
	training := strings.Replace(smallTraining, "kind = \"torus\"\ndims = [4, 4]",
		"%s\nlink_latency = \"1us\"", 1)
	for _, text := range []string{
		training, strings.Replace(switchedDomain, "kind = \"electrical\"\ngpus = 8", "%s", 1),
	} {
		for _, level := range []string{"static", "flow", "packet"} {
			set := []string{"engine.level=" + level}
			domain := runText(t, fmt.Sprintf(text, "kind = \"electrical\"\ngpus = 16"),
				set...).Document.Rows[0]
			graph := runText(t, fmt.Sprintf(text,
				"kind = \"graph\"\nedges = ["+star.String()+"]\nswitches.first_node = 16"),
				set...).Document.Rows[0]
			if a, b := fmt.Sprint(domain.Metrics), fmt.Sprint(graph.Metrics); a != b {
				t.Errorf("level %s: got %s, want the metrics of the graph, %s", level, a, b)
			}
		}
	}
}
