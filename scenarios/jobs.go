package scenarios

import "sim/scenarios/assembly/input"

// Job is one of several jobs whose pods share optical ports (docs/jobs.md).
type Job struct {
	input.JobKeys
	// Scenario is the job by itself: workload and fabric, with the defaults of all else. Its pods are its blocks of
	// stages, in order, and PortsPerPod all the ports of the shared ones.
	Scenario *Scenario
}

// jobFabricKeys are the keys of [fabric] that a job may have for itself.
var jobFabricKeys = []string{"gpus_per_pod_per_replica", "nic_bandwidth", "reverse"}
