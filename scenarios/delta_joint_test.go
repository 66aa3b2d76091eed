package scenarios

import (
	"strconv"
	"strings"
	"testing"
)

// TestSmallJobsAreOptimal checks that delta-joint proves its optimum for small jobs of
// different replicas, drawn at random. Transfers queue on several resources in sequence, so
// that a bound that considers each queue separately is loose. The field loose is the gap of
// that bound.
func TestSmallJobsAreOptimal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ loose, job string }{
		{"10.1 %", `
			workload.microbatches=3 workload.tp=4 workload.gpus=16 workload.schedule=gpipe
			workload.effective_tflops=450 workload.architecture.layers=2
			workload.architecture.hidden=1024 fabric.gpus_per_pod_per_replica=4
			fabric.ports_per_pod=2 fabric.port_bandwidth=100Gbps replica.0.compute_scale=2.0
			replica.1.compute_scale=0.5 replica.1.pod_map=[0,1]`},
		{"2.4 %", `
			workload.microbatches=3 workload.schedule=gpipe workload.effective_tflops=450
			workload.architecture.layers=2 fabric.ports_per_pod=2 fabric.port_bandwidth=100Gbps
			fabric.nic_bandwidth=150Gbps`},
		{"1.1 %", `
			workload.microbatches=1 workload.effective_tflops=150 workload.flows=per-gpu
			workload.architecture.hidden=4096 fabric.ports_per_pod=2 fabric.port_bandwidth=400Gbps
			replica.0.port_bandwidth=200Gbps replica.0.pod_map=[1,0]`},
		{"8.8 %", `
			workload.sequence=1024 workload.microbatches=4 workload.schedule=gpipe
			workload.architecture.layers=2 workload.architecture.hidden=1024 fabric.ports_per_pod=2
			fabric.port_bandwidth=400Gbps fabric.nic_bandwidth=600Gbps replica.0.compute_scale=1.3
			replica.0.ports_per_pod=2 replica.1.compute_scale=0.5 replica.1.port_bandwidth=100Gbps`},
		{"3.3 %", `
			workload.microbatches=1 workload.tp=4 workload.gpus=24 workload.schedule=gpipe
			workload.flows=per-gpu workload.architecture.layers=8 fabric.gpus_per_pod_per_replica=4
			fabric.nic_bandwidth=300Gbps replica.0.port_bandwidth=400Gbps
			replica.1.compute_scale=2.0 replica.1.port_bandwidth=150Gbps`},
		{"17.8 %", `
			workload.microbatches=3 workload.tp=4 workload.pp=3 workload.gpus=36
			workload.effective_tflops=450 workload.flows=per-gpu workload.architecture.layers=6
			workload.architecture.hidden=1024 fabric.gpus_per_pod_per_replica=4
			fabric.ports_per_pod=5 fabric.port_bandwidth=100Gbps fabric.nic_bandwidth=200Gbps
			replica.0.compute_scale=2.0 replica.0.ports_per_pod=5 replica.1.pod_map=[0,2,1]
			replica.2.port_bandwidth=400Gbps`},
		{"14.4 %", `
			workload.schedule=interleaved-1f1b workload.effective_tflops=600
			workload.virtual_stages=2 workload.flows=per-gpu workload.architecture.hidden=1024
			fabric.ports_per_pod=2 fabric.port_bandwidth=400Gbps replica.1.compute_scale=1.3`},
		{"37.6 %", `
			workload.microbatches=3 workload.tp=4 workload.pp=3 workload.gpus=36
			workload.effective_tflops=600 workload.flows=per-gpu workload.architecture.layers=3
			fabric.gpus_per_pod_per_replica=4 fabric.ports_per_pod=4 replica.0.pod_map=[2,0,1]
			replica.1.ports_per_pod=5 replica.1.pod_map=[1,2,0]`},
		{"0.3 %", `
			workload.microbatches=3 workload.pp=4 workload.gpus=16 workload.effective_tflops=150
			workload.architecture.hidden=1024 fabric.port_bandwidth=100Gbps
			replica.0.compute_scale=0.5 replica.1.ports_per_pod=4`},
		{"9.0 %", `
			workload.sequence=16384 workload.microbatches=4 workload.flows=per-gpu
			workload.architecture.layers=2 workload.architecture.hidden=1024
			fabric.port_bandwidth=100Gbps fabric.nic_bandwidth=200Gbps`},
		{"42.8 %", `
			workload.tp=4 workload.pp=4 workload.gpus=48 workload.flows=per-gpu
			workload.architecture.hidden=1024 fabric.gpus_per_pod_per_replica=4
			fabric.ports_per_pod=5 replica.0.ports_per_pod=5 replica.0.pod_map=[3,1,0,2]
			replica.2.port_bandwidth=100Gbps replica.2.pod_map=[0,2,3,1]`},
		{"10.9 %", `
			workload.sequence=16384 workload.microbatches=4 workload.tp=4 workload.gpus=16
			workload.schedule=gpipe workload.effective_tflops=600 workload.flows=per-gpu
			workload.architecture.layers=2 fabric.gpus_per_pod_per_replica=4 fabric.ports_per_pod=5
			fabric.port_bandwidth=100Gbps`},
		{"1.2 %", `
			workload.microbatches=4 workload.tp=4 workload.pp=4 workload.gpus=32
			workload.schedule=interleaved-1f1b workload.virtual_stages=2 workload.flows=per-gpu
			workload.architecture.layers=8 workload.architecture.hidden=4096
			fabric.gpus_per_pod_per_replica=8 fabric.ports_per_pod=8 fabric.port_bandwidth=100Gbps
			replica.0.compute_scale=1.3 replica.0.port_bandwidth=150Gbps replica.1.compute_scale=1.7
			replica.1.port_bandwidth=200Gbps`},
		{"4.5 %", `
			workload.microbatches=4 workload.tp=4 workload.pp=4 workload.gpus=32
			workload.effective_tflops=600 workload.flows=per-gpu workload.architecture.layers=8
			workload.architecture.hidden=4096 fabric.gpus_per_pod_per_replica=8
			fabric.ports_per_pod=9 fabric.port_bandwidth=100Gbps replica.1.port_bandwidth=200Gbps
			replica.1.ports_per_pod=9 replica.1.pod_map=[1,0]`},
		{"24.2 %", `
			workload.microbatches=4 workload.tp=4 workload.pp=3 workload.gpus=36
			workload.effective_tflops=600 workload.flows=per-gpu workload.architecture.layers=6
			fabric.gpus_per_pod_per_replica=4 fabric.ports_per_pod=4 fabric.port_bandwidth=400Gbps
			fabric.nic_bandwidth=800Gbps replica.0.port_bandwidth=200Gbps
			replica.2.compute_scale=0.8 replica.2.port_bandwidth=200Gbps replica.2.ports_per_pod=4`},
	} {
		t.Run(c.loose, func(t *testing.T) {
			if gap := runSmallJob(t, c.job).Document.Rows[0].Metrics["gap"]; gap > 1e-6 {
				t.Errorf("got a gap of %.4f %%, want 0", 100*gap)
			}
		})
	}
}

// runSmallJob runs smallJob with overrides, separated by spaces.
func runSmallJob(t *testing.T, job string) *Outcome {
	t.Helper()
	return runParsed(t, mustParse(t, smallJob, strings.Fields(job)...), 1)
}

// TestSearchedTails runs small jobs for which the tails of the task graph give no optimal
// schedule under any priority rule of delta-joint. delta-joint then searches other tails and
// proves its optimum. Topologies with trials keep the tails of the graph.
func TestSearchedTails(t *testing.T) {
	for i, job := range []string{
		`
			workload.sequence=1024 workload.microbatches=3 workload.tp=1 workload.pp=3
			workload.gpus=6 workload.schedule=interleaved-1f1b workload.virtual_stages=2
			workload.flows=per-gpu workload.architecture.layers=12 fabric.gpus_per_pod_per_replica=1
			replica.0.port_bandwidth=100Gbps replica.1.compute_scale=1.3`,
		`
			workload.microbatches=3 workload.tp=1 workload.pp=3 workload.gpus=9
			workload.schedule=interleaved-1f1b workload.effective_tflops=450
			workload.virtual_stages=2 workload.architecture.layers=12
			fabric.gpus_per_pod_per_replica=1 fabric.ports_per_pod=4 fabric.port_bandwidth=100Gbps
			replica.0.compute_scale=0.8`,
		`
			workload.sequence=1024 workload.gpus=12 workload.schedule=interleaved-1f1b
			workload.effective_tflops=150 workload.virtual_stages=2 workload.architecture.layers=8
			workload.architecture.hidden=1024 fabric.port_bandwidth=400Gbps
			fabric.nic_bandwidth=200Gbps replica.0.compute_scale=0.5 replica.0.pod_map=[0,1]
			replica.1.compute_scale=2.0 replica.1.port_bandwidth=150Gbps replica.2.ports_per_pod=5`,
		`
			workload.schedule=interleaved-1f1b workload.virtual_stages=2 fabric.ports_per_pod=2
			fabric.port_bandwidth=400Gbps fabric.nic_bandwidth=200Gbps
			replica.1.port_bandwidth=150Gbps`,
		`
			workload.tp=1 workload.gpus=4 workload.schedule=interleaved-1f1b
			workload.effective_tflops=600 workload.virtual_stages=2
			workload.architecture.hidden=4096 fabric.gpus_per_pod_per_replica=1
			replica.1.compute_scale=1.1 replica.1.port_bandwidth=150Gbps replica.1.ports_per_pod=5`,
		`
			workload.sequence=1024 workload.microbatches=4 workload.pp=4 workload.gpus=16
			workload.schedule=interleaved-1f1b workload.effective_tflops=150
			workload.virtual_stages=2 workload.architecture.layers=16
			workload.architecture.hidden=1024 fabric.gpus_per_pod_per_replica=4
			fabric.ports_per_pod=4 fabric.port_bandwidth=100Gbps replica.0.compute_scale=0.5
			replica.0.port_bandwidth=150Gbps replica.0.ports_per_pod=4 replica.1.compute_scale=1.1
			replica.1.port_bandwidth=200Gbps`,
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			row := runSmallJob(t, job).Document.Rows[0]
			if gap := row.Metrics["gap"]; gap > 1e-6 {
				t.Errorf("got a gap of %.4f %%, want 0", 100*gap)
			}
			if nct := row.Metrics["nct"]; nct < 1-1e-9 {
				t.Errorf("got NCT %v, want at least 1, the ideal fabric", nct)
			}
			if row.Labels["levels"] == "" {
				t.Error("got the tails of the graph, want searched ones")
			}
			withTrials := runSmallJob(t, job+" trials.compute_jitter=0.01 trials.count=2").Document.Rows[0]
			if withTrials.Labels["levels"] != "" ||
				!(withTrials.Metrics["makespan_s"] > row.Metrics["makespan_s"]) ||
				withTrials.Metrics["bound_makespan_s"] != row.Metrics["bound_makespan_s"] {
				t.Errorf("with trials: got %v %v, want no searched tails, a longer makespan and "+
					"the same bound as %v", withTrials.Labels, withTrials.Metrics, row.Metrics)
			}
		})
	}
}

// smallJob is a training job of two replicas with two stages each, one stage per pod.
const smallJob = `
[workload]
kind="training"
preset="calibrated"
sequence=4096
microbatches=2
tp=2
pp=2
gpus=8
replicas="all"
schedule="1f1b"
effective_tflops=300
[workload.architecture]
layers=4
hidden=2048
vocab=32000
heads=16
[fabric]
kind="ocs-pods"
gpus_per_pod_per_replica=2
ports_per_pod=3
port_bandwidth="200Gbps"
[policy]
allocators=["delta-joint"]
port_evaluations=100
`
