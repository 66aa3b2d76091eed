package scenarios

import (
	"sim/engine"
)

// Job is one of several jobs whose pods share optical ports (docs/jobs.md).
type Job struct {
	Name   string      `key:"name" doc:"name of the job in results: letters, digits, - and _" required:""`
	Weight float64     `key:"weight" doc:"weight in the objective, beside the other jobs'" default:"1.0" above:"0" max:"1000000000"`
	Pods   []int       `key:"pods" doc:"shared pod of each block of consecutive stages that share one" else:"in order, or the other way round if reverse" max:"1048576"`
	Phase  engine.Time `key:"phase" doc:"how much later than at time zero its first iteration starts" default:"0s" when:"shared-circuits"`
	// Scenario is the job by itself: workload and fabric, with the defaults of
	// all else. Its pods are its blocks of stages, in order, and PortsPerPod
	// all the ports of the shared ones.
	Scenario *Scenario
}

// JointOptions are the options of several jobs beside those that stand in [policy].
type JointOptions struct {
	Joint  SearchOptions `table:"joint" doc:"The joint search over the circuits of all jobs. Its bound is that of every arbiter's gap." when:"several-jobs" with:"max_evaluations=200000"`
	Repeat Repeat        `table:"repeat" doc:"How long jobs that share circuits are played." when:"shared-circuits"`
}

// Repeat says how often jobs that share circuits repeat their iterations.
type Repeat struct {
	Iterations int `key:"iterations" doc:"iterations of the longest job; the others repeat theirs for as long" default:"20" min:"2" max:"1000000"`
	Warmup     int `key:"warmup" doc:"first iterations of each job that are not measured" default:"2" max:"1000000"`
}

// jobFabric are the keys of [fabric] that a job may have for itself.
var jobFabric = []string{"gpus_per_pod_per_replica", "nic_bandwidth", "reverse"}
