// This file defines the jobs of a scenario with several jobs. jobs_read.go reads them,
// jobs_check.go checks them against each other, and jobs_write.go writes them.

package scenarios

import "sim/scenarios/assembly/input"

// Job is one of several jobs that share pods (docs/jobs.md).
type Job struct {
	input.JobKeys
	// Scenario is the job on its own: workload and fabric, with defaults for all other
	// keys. Its pods are its blocks of stages in order, and PortsPerPod is the number of
	// ports of the shared pods.
	Scenario *Scenario
}

// jobFabricKeys are the keys of [fabric] that a job can set for itself.
var jobFabricKeys = []string{"gpus_per_pod_per_replica", "nic_bandwidth", "reverse"}
