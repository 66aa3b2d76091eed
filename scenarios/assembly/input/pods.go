package input

import (
	"sim/engine"
	"sim/engine/units"
	"sim/policies/topology"
)

// OCSPods is a fabric of kind "ocs-pods": pods of GPUs joined by optical circuit switches.
type OCSPods struct {
	GPUsPerPodPerReplica int         `key:"gpus_per_pod_per_replica" doc:"GPUs that one replica has in a pod" required:"" min:"1" max:"1048576" when:"of-training"`
	GPUsPerPod           int         `key:"gpus_per_pod" doc:"GPUs of a pod" required:"" min:"1" max:"1048576" when:"of-traffic"`
	PortBandwidth        units.Rate  `key:"port_bandwidth" doc:"rate of an optical port, in each direction" required:"" above:"0" max:"1e16"`
	PortsPerPod          int         `key:"ports_per_pod" doc:"optical ports for one replica's share of a pod, U_p" else:"gpus_per_pod_per_replica, of traffic gpus_per_pod; of several jobs the sum of theirs" min:"1" max:"1048576"`
	NICBandwidth         units.Rate  `key:"nic_bandwidth" doc:"rate of a GPU's network interface, in each direction" else:"port_bandwidth" above:"0" max:"1e16"`
	InsideBandwidth      units.Rate  `key:"inside_bandwidth" doc:"rate of a GPU's link to the network inside its pod, in each direction, beside its network interface; collective calls and all else inside a pod take it" else:"nic_bandwidth" above:"0" max:"1e16" when:"calls-in-graph & no-tiers"`
	Reverse              bool        `key:"reverse" doc:"map stages to pods in reverse" default:"false" when:"of-training"`
	Delay                engine.Time `key:"reconfiguration_delay" doc:"time for which a circuit that moves in an iteration carries nothing, from its release at both ends" default:"10ms" when:"switches"`
	Switching            string      `key:"switching" doc:"whether the circuits that move are down meanwhile, or all of them, as the switch holds them" default:"per-circuit" choices:"per-circuit|per-switch" when:"switches"`
	Pods                 int         `key:"pods" doc:"number of pods; of several jobs that of a row of replicas" else:"as many as the jobs name; of traffic required" min:"1" max:"1048576" when:"shared-pods"`
}

// Replica is a data-parallel replica that differs from the rest.
type Replica struct {
	Index         int        `key:"index" doc:"which replica, from 0" required:"" max:"100000000"`
	ComputeScale  float64    `key:"compute_scale" doc:"compute takes this many times as long" default:"1.0" above:"0" max:"1000000"`
	PortBandwidth units.Rate `key:"port_bandwidth" doc:"rate of its optical ports, in each direction" else:"the fabric's" above:"0" max:"1e16"`
	PortsPerPod   int        `key:"ports_per_pod" doc:"its optical ports in a pod" else:"the fabric's" min:"1" max:"1048576"`
	PodMap        []int      `key:"pod_map" doc:"pod of each block of consecutive stages that share one" else:"in order, or in reverse order if fabric.reverse" max:"1048576"`
}

// JobKeys are what a scenario says of one of several jobs whose pods share optical ports (docs/jobs.md).
type JobKeys struct {
	Name   string      `key:"name" doc:"name of the job in results: letters, digits, - and _" required:""`
	Weight float64     `key:"weight" doc:"weight in the objective, beside the other jobs'" default:"1.0" above:"0" max:"1000000000"`
	Pods   []int       `key:"pods" doc:"shared pod of each block of consecutive stages that share one" else:"in order, or in reverse order if reverse" max:"1048576"`
	Phase  engine.Time `key:"phase" doc:"how much later than at time zero its first iteration starts" default:"0s" when:"shared-circuits"`
}

// JointOptions are the options of several jobs beside those that stand in [policy].
type JointOptions struct {
	Joint  topology.SearchOptions `table:"joint" doc:"The joint search over the circuits of all jobs. Its bound is that of every arbiter's gap." when:"several-jobs" with:"max_evaluations=200000"`
	Repeat Repeat                 `table:"repeat" doc:"How long jobs that share circuits are simulated." when:"shared-circuits"`
}

// Repeat says how often jobs that share circuits repeat their iterations.
type Repeat struct {
	Iterations int `key:"iterations" doc:"iterations of the longest job; the others repeat theirs for as long" default:"20" min:"2" max:"1000000"`
	Warmup     int `key:"warmup" doc:"first iterations of each job that are not measured" default:"2" max:"1000000"`
}

// Replay says how decided topologies are simulated again under what was not planned for. The zero value replays
// nothing.
type Replay struct {
	Seeds            int         `key:"seeds" doc:"trials, each with a seed of its own that follows from the scenario's" default:"100" min:"1" max:"100000"`
	ComputeJitter    float64     `key:"compute_jitter" doc:"coefficient of variation of every pass's time: a lognormal factor with mean 1" default:"0.0" max:"10"`
	StageJitter      float64     `key:"stage_jitter" doc:"the same of a factor that all passes of a stage of a replica share" default:"0.0" max:"10"`
	SlowReplica      float64     `key:"slow_replica" doc:"compute of one replica takes this many times as long" default:"1.0" min:"1" max:"1000"`
	SlowReplicaIndex int         `key:"slow_replica_index" doc:"which replica is slow, from 0; -1 draws one for each trial" default:"-1" min:"-1" max:"100000000"`
	LostCircuits     int         `key:"lost_circuits" doc:"circuits, drawn among all that are provisioned, that go down and stay so" default:"0" max:"1000000"`
	LostWhen         string      `key:"lost_when" doc:"whether they are down from the start, or from a random time in the iteration on" default:"start" choices:"start|random"`
	React            string      `key:"react" doc:"whether the topology stays when circuits are lost, or its policy decides anew on the ports that are left, after the last of them" default:"keep" choices:"keep|redecide" implicit:""`
	DecisionTime     engine.Time `key:"decision_time" doc:"how long that takes, before circuits begin to move" default:"0s" implicit:"" when:"react=redecide"`
	Sequence         int         `key:"sequence" doc:"tokens a sample in the replays" else:"workload.sequence" min:"1" max:"1000000000"`
	Priorities       string      `key:"priorities" doc:"where transfers have priorities, whether these follow from the plan or from what each trial will turn out to be" default:"nominal" choices:"nominal|clairvoyant"`
}

// Unlike reports whether replays make replicas differ that the plan need not tell apart: all of them must then be
// simulated.
func (r *Replay) Unlike() bool {
	return r.ComputeJitter > 0 || r.StageJitter > 0 || r.SlowReplica > 1 || r.LostCircuits > 0
}

// Moving says how circuits change in an iteration.
func (f *OCSPods) Moving() topology.Switching {
	return topology.Switching{Delay: f.Delay, Whole: f.Switching == "per-switch"}
}
