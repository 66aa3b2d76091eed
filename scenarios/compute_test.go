package scenarios

import (
	"bytes"
	"testing"
)

// TestComputeWithoutRate checks workloads with compute = "roofline", "operators" or "profile" on each
// fabric. They need no effective_tflops, setting it changes no result, and their TOML is read
// back as the same scenario. Without these models of compute time, effective_tflops is
// required.
func TestComputeWithoutRate(t *testing.T) {
	const model = `[workload.architecture]
name = "x"
layers = 8
hidden = 1024
heads = 8
vocab = 1000
experts = 8
top_k = 2
`

	const work = `[workload]
kind = "training"
sequence = 2048
microbatches = 4
tp = 2
pp = 2
ep = 4
gpus = 16
`

	const roofline = "compute = \"roofline\"\npeak_tflops = 900\nmemory_bandwidth = \"3TB/s\"\n"
	const operators = `[workload.operators]
attention = "100us"
scores = "30us"
network = "200us"
`

	fabrics := map[string]string{
		"pods": `[fabric]
kind = "ocs-pods"
gpus_per_pod_per_replica = 4
port_bandwidth = "400Gbps"
[policy]
allocators = ["prop-alloc"]
`,
		"torus": `[fabric]
kind = "torus"
dims = [4, 4]
[engine]
level = "flow"
[policy]
routers = ["dor"]
`,
		"scaleup": `[fabric]
kind = "scaleup"
switches = 2
link_rate = "800Gbps"
reconfiguration_delay = "10us"
predicted_calls = "all"
[policy]
planners = ["reconfigure-during"]
`,
	}

	for name, fabric := range fabrics {
		for kind, text := range map[string]string{
			"roofline":  work + roofline + model + fabric,
			"profile":   "machine = \"h100-ib\"\n" + work + "compute = \"profile\"\n" + model + fabric,
			"operators": work + "compute = \"operators\"\n" + model + operators + fabric,
		} {
			s := mustParse(t, text)
			again, err := Parse("text.toml", s.TOML(), nil)
			if err != nil || !bytes.Equal(s.TOML(), again.TOML()) {
				t.Errorf("%s on %s: got another scenario when read back (%v), want\n%s",
					kind, name, err, s.TOML())
			}
			got, want := runMetrics(t, text)["makespan_s"],
				runMetrics(t, text, "workload.effective_tflops=1")["makespan_s"]
			if got <= 0 || got != want {
				t.Errorf("%s on %s: a step takes %g s without effective_tflops, want %g s as "+
					"with it", kind, name, got, want)
			}
		}

		_, err := Parse("text.toml", []byte(work+model+fabric), nil)
		checkError(t, err, "effective_tflops", name+" without a compute model")
		_, err = Parse("text.toml", []byte(work+"compute = \"profile\"\n"+model+fabric), nil)
		checkError(t, err, "set machine to a name of sim list machines", name+" without a machine")
		_, err = Parse("text.toml", []byte(work+"compute = \"profile\"\nprecision = \"nvfp4\"\n"+model+fabric), []string{"machine=h100-ib"})
		checkError(t, err, `machine "h100-ib" has no gpu.peak.nvfp4`, name+" with an unknown rate")
	}
}
