package scenarios

import (
	"bytes"
	"strings"
	"testing"
)

// TestComputeWithoutRate checks workloads with compute = "roofline" or "operators" on each
// fabric. They need no effective_tflops, setting it changes no result, and their TOML is read
// back as the same scenario. Without these models of compute time, effective_tflops is
// required.
func TestComputeWithoutRate(t *testing.T) {
	const model = "[workload.architecture]\nname = \"x\"\nlayers = 8\nhidden = 1024\nheads = 8\nvocab = 1000\nexperts = 8\ntop_k = 2\n"
	const work = "[workload]\nkind = \"training\"\nsequence = 2048\nmicrobatches = 4\ntp = 2\npp = 2\nep = 4\ngpus = 16\n"
	const roofline = "compute = \"roofline\"\npeak_tflops = 900\nmemory_bandwidth = \"3TB/s\"\n"
	const operators = "[workload.operators]\nattention = \"100us\"\nscores = \"30us\"\nnetwork = \"200us\"\n"
	fabrics := map[string]string{
		"pods":    "[fabric]\nkind = \"ocs-pods\"\ngpus_per_pod_per_replica = 4\nport_bandwidth = \"400Gbps\"\n[policy]\nallocators = [\"prop-alloc\"]\n",
		"torus":   "[fabric]\nkind = \"torus\"\ndims = [4, 4]\n[engine]\nlevel = \"flow\"\n[policy]\nrouters = [\"dor\"]\n",
		"scaleup": "[fabric]\nkind = \"scaleup\"\nswitches = 2\nlink_rate = \"800Gbps\"\nreconfiguration_delay = \"10us\"\nknown_ahead = \"all\"\n[policy]\nplanners = [\"reconfigure-during\"]\n",
	}
	for name, fabric := range fabrics {
		for kind, text := range map[string]string{
			"roofline":  work + roofline + model + fabric,
			"operators": work + "compute = \"operators\"\n" + model + operators + fabric,
		} {
			s, err := Parse("text.toml", []byte(text), nil)
			if err != nil {
				t.Fatalf("%s on %s: %v", kind, name, err)
			}
			again, err := Parse("text.toml", s.TOML(), nil)
			if err != nil || !bytes.Equal(s.TOML(), again.TOML()) {
				t.Errorf("%s on %s: got another scenario when read back (%v), want\n%s", kind, name, err, s.TOML())
			}
			got, want := runText(t, text).Document.Rows[0].Metrics["makespan_s"], runText(t, text, "workload.effective_tflops=1").Document.Rows[0].Metrics["makespan_s"]
			if got <= 0 || got != want {
				t.Errorf("%s on %s: a step takes %g s without effective_tflops, want %g s as with it", kind, name, got, want)
			}
		}
		if _, err := Parse("text.toml", []byte(work+model+fabric), nil); err == nil || !strings.Contains(err.Error(), "effective_tflops") {
			t.Errorf("on %s without a compute model: got %v, want an error that names effective_tflops", name, err)
		}
	}
}
