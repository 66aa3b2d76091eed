// This file holds the keys of pods that optical circuits join, of single replicas, of
// jobs that share pods, and of trials.

package input

import (
	"sim/engine"
	"sim/engine/units"
	"sim/policies/topology"
)

// OCSPods is a fabric of kind "ocs-pods": pods of GPUs joined by optical circuit
// switches.
type OCSPods struct {
	GPUsPerPodPerReplica int         `key:"gpus_per_pod_per_replica" doc:"GPUs of one replica in each of its pods" required:"" min:"1" max:"1048576" when:"of-training"`
	GPUsPerPod           int         `key:"gpus_per_pod" doc:"GPUs per pod" required:"" min:"1" max:"1048576" when:"of-traffic"`
	PortBandwidth        units.Rate  `key:"port_bandwidth" doc:"rate of an optical port in each direction" required:"" above:"0" max:"1e16"`
	PortsPerPod          int         `key:"ports_per_pod" doc:"optical ports per pod for one replica's share of the pod, U_p" else:"gpus_per_pod_per_replica, of traffic gpus_per_pod; of several jobs the sum of theirs" min:"1" max:"1048576"`
	NICBandwidth         units.Rate  `key:"nic_bandwidth" doc:"rate of a GPU's network interface in each direction" else:"port_bandwidth" above:"0" max:"1e16"`
	InsideBandwidth      units.Rate  `key:"inside_bandwidth" doc:"rate of a GPU's link to the network inside its pod, in each direction; all traffic inside a pod uses it" else:"nic_bandwidth" above:"0" max:"1e16" when:"calls-in-graph & no-tiers"`
	Reference            string      `key:"reference" doc:"traffic of the ideal fabric, to which NCTs are relative, that uses network interfaces: 'pods', traffic between pods; or 'interfaces', all traffic, as on fabrics of links" default:"pods" choices:"pods|interfaces" implicit:"" when:"of-training & no-tiers"`
	Reverse              bool        `key:"reverse" doc:"whether stages are mapped to pods in reverse order" default:"false" when:"of-training"`
	Delay                engine.Time `key:"reconfiguration_delay" doc:"time for which a moving circuit carries nothing, from its release at both ends" default:"10ms" when:"switches"`
	Switching            string      `key:"switching" doc:"circuits that are down during a reconfiguration: the moving ones, or all circuits of the switch" default:"per-circuit" choices:"per-circuit|per-switch" when:"switches"`
	HostGPUs             int         // GPUs of a host, whose pods have switches inside hosts only, with links of InsideBandwidth; 0 if these join a pod
	Pods                 int         `key:"pods" doc:"number of pods; with several jobs, of a row of replicas" else:"as many as the jobs name; of traffic required" min:"1" max:"1048576" when:"shared-pods"`
}

// Replica is a data-parallel replica that differs from the others.
type Replica struct {
	Index         int        `key:"index" doc:"index of the replica, from 0" required:"" max:"100000000"`
	ComputeScale  float64    `key:"compute_scale" doc:"factor by which compute takes longer" default:"1.0" above:"0" max:"1000000"`
	PortBandwidth units.Rate `key:"port_bandwidth" doc:"rate of the replica's optical ports in each direction" else:"the fabric's" above:"0" max:"1e16"`
	PortsPerPod   int        `key:"ports_per_pod" doc:"optical ports of the replica per pod" else:"the fabric's" min:"1" max:"1048576"`
	PodMap        []int      `key:"pod_map" doc:"pod of each block of consecutive stages that share one" else:"in order, or in reverse order if fabric.reverse" max:"1048576"`
}

// JobKeys holds the keys of one of several jobs in pods with shared optical ports
// (docs/jobs.md).
type JobKeys struct {
	Name   string      `key:"name" doc:"name of the job in results: letters, digits, - and _" required:""`
	Weight float64     `key:"weight" doc:"weight of the job in the objective" default:"1.0" above:"0" max:"1000000000"`
	Pods   []int       `key:"pods" doc:"shared pod of each block of consecutive stages that share one" else:"in order, or in reverse order if reverse" max:"1048576"`
	Phase  engine.Time `key:"phase" doc:"start time of the first iteration" default:"0s" when:"shared-circuits"`
}

// JointOptions holds the options of several jobs that have tables of their own within
// [policy].
type JointOptions struct {
	Joint  topology.SearchOptions `table:"joint" doc:"The joint search over the circuits of all jobs. Its bound is that of every arbiter's gap." when:"several-jobs" with:"max_evaluations=200000"`
	Repeat Repeat                 `table:"repeat" doc:"How long jobs that share circuits are simulated." when:"shared-circuits"`
}

// Repeat defines how often jobs that share circuits repeat their iterations.
type Repeat struct {
	Iterations int `key:"iterations" doc:"number of iterations of the longest job; other jobs repeat theirs for the same time" default:"20" min:"2" max:"1000000"`
	Warmup     int `key:"warmup" doc:"number of first iterations of each job that are not measured" default:"2" max:"1000000"`
}

// Trials defines trials: simulations of decided topologies under conditions that the plan
// does not cover (docs/trials.md). The zero value defines no trials.
type Trials struct {
	Count            int         `key:"count" doc:"number of trials; each has its own seed, derived from the scenario's" default:"100" min:"1" max:"100000"`
	ComputeJitter    float64     `key:"compute_jitter" doc:"coefficient of variation of a lognormal factor with mean 1 for the time of every pass" default:"0.0" max:"10"`
	StageJitter      float64     `key:"stage_jitter" doc:"coefficient of variation of a lognormal factor with mean 1 that all passes of a stage of a replica share" default:"0.0" max:"10"`
	SlowReplica      float64     `key:"slow_replica" doc:"factor by which compute of one replica takes longer" default:"1.0" min:"1" max:"1000"`
	SlowReplicaIndex int         `key:"slow_replica_index" doc:"index of the slow replica, from 0; -1 draws one per trial" default:"-1" min:"-1" max:"100000000"`
	LostCircuits     int         `key:"lost_circuits" doc:"number of random circuits that go down and stay down" default:"0" max:"1000000"`
	LossTime         string      `key:"loss_time" doc:"whether lost circuits are down from the start or from a random time in the iteration" default:"start" choices:"start|random"`
	Reaction         string      `key:"reaction" doc:"reaction to lost circuits: keep the topology, or decide again on the remaining ports after the last loss" default:"keep" choices:"keep|redecide" implicit:""`
	DecisionTime     engine.Time `key:"decision_time" doc:"time of a new decision, before circuits start to move" default:"0s" implicit:"" when:"reaction=redecide"`
	Sequence         int         `key:"sequence" doc:"tokens per sample in the trials" else:"workload.sequence" min:"1" max:"1000000000"`
	Priorities       string      `key:"priorities" doc:"whether priorities of transfers follow from the plan ('nominal') or from each trial's own times ('clairvoyant')" default:"nominal" choices:"nominal|clairvoyant"`
}

// MakesReplicasDiffer reports whether trials make replicas differ that the plan may
// represent by one. All replicas must then be simulated.
func (r *Trials) MakesReplicasDiffer() bool {
	return r.ComputeJitter > 0 || r.StageJitter > 0 ||
		r.SlowReplica > 1 || r.LostCircuits > 0
}

// SwitchingModel returns how circuits change during an iteration: the reconfiguration
// delay, and whether a switch stops all its circuits.
func (f *OCSPods) SwitchingModel() topology.SwitchTiming {
	return topology.SwitchTiming{Delay: f.Delay, StopsAll: f.Switching == "per-switch"}
}
