package scenarios

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/scenarios/result"
)

// drawClusterJob draws a small training step that fills a cluster of several pods, without fabric.spine.
func drawClusterJob(t *rapid.T) string {
	tp, pp, dp := rapid.IntRange(1, 2).Draw(t, "tp"), rapid.IntRange(1, 3).Draw(t, "pp"), rapid.IntRange(2, 4).Draw(t, "dp")
	perHost := rapid.SampledFrom([]int{1, 2}).Draw(t, "GPUs per host")
	hosts := (tp*pp*dp + perHost - 1) / perHost
	perPod := rapid.IntRange(1, max(1, hosts/2)).Draw(t, "hosts per pod")
	for hosts%perPod != 0 || hosts == perPod {
		hosts++
	}
	calls := rapid.SampledFrom([]string{"none", "graph"}).Draw(t, "calls")
	mapping := rapid.SampledFrom([]string{"tp-cp-ep-pp-dp", "tp-cp-ep-dp-pp", "pp-tp-dp-cp-ep"}).Draw(t, "mapping")
	return fmt.Sprintf(`
workload = {kind = "training", sequence = 128, microbatches = 2, tp = %d, pp = %d, gpus = %d, collectives = %q, architecture = {layers = 6, hidden = 64, heads = 2, ffn = 128, vocab = 128, effective_tflops = 1}}
fabric = {kind = "cluster", hosts = %d, gpus_per_host = %d, hosts_per_pod = %d, nic_bandwidth = "10Gbps", host_bandwidth = "100Gbps", oversubscription = %g}
policy.mapping = %q
engine.level = "flow"
`, tp, pp, tp*pp*dp, calls, hosts, perHost, perPod, rapid.SampledFrom([]float64{0.2, 1, 2}).Draw(t, "oversubscription"), mapping)
}

// TestClusterReference: a training step on a cluster has the same reference with a spine of packets
// and of circuits, so that NCTs of both can be compared. Its lower bound holds for both with ranks
// in the default order.
func TestClusterReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawClusterJob(t)
		var reference [2]map[string]float64
		for i, spine := range []string{"packets", "circuits"} {
			s, err := Parse("text.toml", []byte(text), []string{"fabric.spine=" + spine})
			if err != nil {
				t.Skip(err) // for example, too few ports
			}
			s = s.WithPolicy(s.PolicyNames()[0])
			o, err := Run(context.Background(), s, RunOptions{})
			if err != nil {
				t.Fatalf("%s: %v, for\n%s", spine, err, text)
			}
			reference[i] = o.Document.Reference

			// The bound of the reference holds for ranks in the default order.
			m, bound := o.Document.Rows[0].Metrics, reference[i]["bound_makespan_s"]*(1-1e-9)
			if !s.Policy.Mapping.IsSet() && min(m["makespan_s"], m["bound_makespan_s"]) < bound {
				t.Fatalf("%s: %g s and bound %g s, with a bound of %g s of the reference, for\n%s",
					spine, m["makespan_s"], m["bound_makespan_s"], bound, text)
			}
		}
		a, b := reference[0], reference[1]
		if !result.SameReference(a, b) || a[result.FreeBytes] != b[result.FreeBytes] || a[result.InterfaceRate] != b[result.InterfaceRate] {
			t.Fatalf("references %v and %v differ for\n%s", a, b, text)
		}
	})
}

// TestVariedSpine: a study that varies the spine of a cluster drops the keys that a spine does not
// use. A file with one spine, and an override, must not have such keys.
func TestVariedSpine(t *testing.T) {
	const text = `
workload = {kind = "all-to-all", message = "1MB"}
fabric = {kind = "cluster", hosts = 4, hosts_per_pod = 2, gpus_per_host = 2, link_latency = "1us"}
policy = {routers = ["ecmp"], allocators = ["prop-alloc"]}
`
	st, err := ParseStudy("text.toml", []byte(text+"\n[sweep]\n\"fabric.spine\" = [\"packets\", \"circuits\"]"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"ecmp", "prop-alloc"} {
		s, err := st.Variant(i)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.PolicyNames(); !slices.Equal(got, []string{want}) {
			t.Errorf("variant %d compares %v, want %s", i, got, want)
		}
	}
	for _, set := range [][]string{nil, {"fabric.spine=circuits,packets", "fabric.link_latency=1us"}} {
		if _, err := ParseStudy("text.toml", []byte(text), set); err == nil {
			t.Errorf("overrides %q: no error about keys that a spine does not use", set)
		}
	}
}

// TestPodOfOneHost: a cluster of circuits with one host per pod equals pods whose GPUs a switch joins,
// for rank work at levels flow and packet.
func TestPodOfOneHost(t *testing.T) {
	const work = `
workload = {kind = "recommendation", gpus = 8, samples = 256, tables = 16, width = 32, dense_parameters = 100000, effective_tflops = 1}
policy.allocators = ["prop-alloc", "delta-joint"]
`
	for _, level := range []string{"flow", "packet"} {
		cluster := runText(t, work+`
fabric = {kind = "cluster", spine = "circuits", hosts = 4, gpus_per_host = 2, hosts_per_pod = 1, nic_bandwidth = "20Gbps", uplink_bandwidth = "10Gbps", host_bandwidth = "80Gbps", oversubscription = 0.5}
`, "engine.level="+level).Document
		pods := runText(t, work+`
fabric = {kind = "ocs-pods", pods = 4, gpus_per_pod = 2, ports_per_pod = 4, nic_bandwidth = "20Gbps", port_bandwidth = "10Gbps", inside_bandwidth = "80Gbps"}
`, "engine.level="+level).Document
		for i := range pods.Rows {
			a, b := cluster.Rows[i].Metrics["makespan_s"], pods.Rows[i].Metrics["makespan_s"]
			if math.Abs(a-b) > 1e-12 {
				t.Errorf("%s, %s: %g s on hosts, %g s in pods", level, pods.Rows[i].Policy, a, b)
			}
		}
	}
}

// TestClusterNames: names that people try for a cluster lead to it.
func TestClusterNames(t *testing.T) {
	for _, name := range clusterNames {
		text := `
workload = {kind = "all-to-all", message = "1MB"}
fabric = {kind = "` + name + `", hosts = 4, hosts_per_pod = 2}`
		_, err := Parse("text.toml", []byte(text), nil)
		if err == nil || !strings.Contains(err.Error(), `write kind = "cluster"`) {
			t.Errorf("fabric.kind = %q: %v", name, err)
		}
	}
}

// TestPresetOfOtherTori: a torus that is not made of cubes has the link rate of its preset, too, so that
// a study of all twists compares equal links.
func TestPresetOfOtherTori(t *testing.T) {
	const work = "workload = {kind = \"all-to-all\", message = \"64KB\"}\nengine.level = \"flow\"\n"
	for _, torus := range []string{`dims = [2, 4, 8]`, `dims = [4, 8, 16], twist = "001010"`} {
		s := mustParse(t, work+`fabric = {kind = "torus", preset = "tpuv5p", `+torus+`}`)
		if s.Fabric.Cubic() || s.Fabric.LinkRate != 800e9 || !strings.Contains(s.Description(), "not made of cubes") {
			t.Errorf("%s: %v a link, %q; want 800Gbps and no cubes", torus, s.Fabric.LinkRate, s.Description())
		}
	}
	_, err := Parse("text.toml", []byte(work+`fabric = {kind = "torus", preset = "ironwood", dims = [8, 8, 8], cube = [8, 8, 8]}`), nil)
	if err == nil || !strings.Contains(err.Error(), "cubes of 8x8x8, and ironwood has cubes of 4x4x4") {
		t.Errorf("cubes of another shape than the preset's: %v", err)
	}
}
