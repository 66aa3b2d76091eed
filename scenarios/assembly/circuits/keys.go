package circuits

import (
	"sim/engine"
	"sim/engine/units"
	"sim/policies/topology"
	"sim/scenarios/assembly"
)

// OCSPods is a fabric of kind "ocs-pods": pods of GPUs joined by optical circuit switches.
type OCSPods struct {
	GPUsPerPodPerReplica int        `key:"gpus_per_pod_per_replica" doc:"GPUs that one replica has in a pod" required:"" min:"1" max:"1048576" when:"of-training"`
	GPUsPerPod           int        `key:"gpus_per_pod" doc:"GPUs of a pod" required:"" min:"1" max:"1048576" when:"of-traffic"`
	PortBandwidth        units.Rate `key:"port_bandwidth" doc:"rate of an optical port, in each direction" required:"" above:"0" max:"1e16"`
	PortsPerPod          int        `key:"ports_per_pod" doc:"optical ports for one replica's share of a pod, U_p" else:"gpus_per_pod_per_replica, of traffic gpus_per_pod; of several jobs the sum of theirs" min:"1" max:"1048576"`
	NICBandwidth         units.Rate `key:"nic_bandwidth" doc:"rate of a GPU's network interface, in each direction" else:"port_bandwidth" above:"0" max:"1e16"`
	Reverse              bool       `key:"reverse" doc:"map stages to pods in reverse" default:"false" when:"of-training"`
	Pods                 int        `key:"pods" doc:"number of pods; of several jobs that of a row of replicas" else:"as many as the jobs name; of traffic required" min:"1" max:"1048576" when:"shared-pods"`
}

// Allocation says which allocators of circuits are compared, and their options.
type Allocation struct {
	Allocators      []string         `key:"allocators" doc:"the allocators, in the order of the result's rows" default:"prop-alloc,sqrt-alloc,iter-halve,delta-fast,delta-topo,delta-joint" choices:"@allocators"`
	PortTolerance   float64          `key:"port_tolerance" doc:"fraction by which the makespan may grow when ports are saved" default:"0.0" max:"1000"`
	PortEvaluations int64            `key:"port_evaluations" doc:"topologies that are simulated or bounded, once the makespan is found, to find the fewest ports" default:"10000" min:"1" max:"1000000000000000"`
	Service         string           `key:"service" doc:"how transfers share circuits; \"\" is each allocator's own way" default:"" choices:"max-min|level-priority" unset:""`
	Donor           string           `key:"donor" doc:"the allocator of a second job in the same pods: the same model, with ports of its own, which leaves those it does not need to the scenario's job, whose stages are then mapped to pods in reverse order" default:"none" choices:"@donors" when:"one-job & of-training"`
	DonorTolerance  float64          `key:"donor_tolerance" doc:"fraction by which the donor's makespan may grow when it saves ports" else:"port_tolerance" max:"1000" when:"donor"`
	DonorTies       string           `key:"donor_ties" doc:"which of its topologies within donor_tolerance the donor takes: the one that its allocator finds first, of those with the fewest ports the one that serves the scenario's job best, or of all that take no port in vain, however many, the one that does" default:"recipient" choices:"first|recipient|pareto" when:"donor"`
	Arbiters        []string         `key:"arbiters" doc:"how several jobs share the ports of their pods, in the order of the result's rows" default:"*" choices:"@arbiters" when:"several-jobs"`
	Objective       string           `key:"objective" doc:"what is minimised over the jobs: the mean NCT by weight, or the largest NCT by weight" default:"weighted-sum" choices:"@objectives" when:"several-jobs"`
	Allocator       string           `key:"allocator" doc:"what decides for single jobs, where an arbiter lets it" default:"delta-joint" choices:"delta-joint|delta-topo|delta-fast" when:"several-jobs"`
	Circuits        string           `key:"circuits" doc:"whether each circuit serves one job, or the jobs are also simulated on all circuits of a pod pair together" default:"dedicated" choices:"dedicated|shared" when:"several-jobs"`
	Fixed           FixedOptions     `table:"fixed" doc:"The topology of the allocator 'fixed'." when:"read(fixed)"`
	DeltaFast       DeltaFastOptions `table:"delta-fast" doc:"The genetic search, which the other searches fall back on, then with no more evaluations than they may have themselves." when:"read(delta-fast)"`
	DeltaTopo       SearchOptions    `table:"delta-topo" doc:"The search for the best topology under fair sharing." when:"read(delta-topo)"`
	DeltaJoint      SearchOptions    `table:"delta-joint" doc:"The certified search for topology and rates." when:"read(delta-joint)"`
	MILP            MILPOptions      `table:"milp" doc:"The allocators that hand the paper's model to a MILP solver on the PATH." when:"read(milp|delta-joint-milp)"`
}

// FixedOptions are the options of the allocator "fixed".
type FixedOptions struct {
	// Circuits[p][q] circuits join pods p and q of a replica; Circuits[p][p] join p to its DP peer in each neighbouring
	// replica. Symmetric.
	Circuits [][]int `key:"circuits" doc:"a row for each pod of a replica: circuits to each pod, and on the diagonal to its DP peer in each neighbouring replica" required:"" max:"1048576"`
}

// DeltaFastOptions are the options of the allocator "delta-fast".
type DeltaFastOptions struct {
	Population       int         `key:"population" doc:"topologies in a generation" default:"64" min:"2" max:"1000000"`
	Elites           int         `key:"elites" doc:"best topologies that the next generation keeps" default:"4" max:"1000000"`
	Tournament       int         `key:"tournament" doc:"contestants for each parent" default:"3" min:"1" max:"1000000"`
	Crossover        float64     `key:"crossover" doc:"probability that two parents mix" default:"0.9" max:"1"`
	Mutation         float64     `key:"mutation" doc:"probability that a child changes" default:"0.3" max:"1"`
	StallGenerations int         `key:"stall_generations" doc:"generations without improvement after which the search ends" default:"200" min:"1" max:"1000000000"`
	MaxGenerations   int         `key:"max_generations" doc:"generations after which the search ends in any case" default:"100000" min:"1" max:"1000000000"`
	TimeLimit        engine.Time `key:"time_limit" doc:"wall-clock limit, which marks the result as not repeatable; 0s is none" default:"0s"`
}

// SearchOptions are the options of the allocators "delta-topo" and "delta-joint".
type SearchOptions struct {
	MaxEvaluations int64       `key:"max_evaluations" doc:"topologies that are simulated before the search ends" default:"20000" min:"1" max:"1000000000000000"`
	TimeLimit      engine.Time `key:"time_limit" doc:"wall-clock limit, which marks the result as not repeatable; 0s is none" default:"0s"`
}

// Replica is a data-parallel replica that differs from the rest.
type Replica struct {
	Index         int        `key:"index" doc:"which replica, from 0" required:"" max:"100000000"`
	ComputeScale  float64    `key:"compute_scale" doc:"compute takes this many times as long" default:"1.0" above:"0" max:"1000000"`
	PortBandwidth units.Rate `key:"port_bandwidth" doc:"rate of its optical ports, in each direction" else:"the fabric's" above:"0" max:"1e16"`
	PortsPerPod   int        `key:"ports_per_pod" doc:"its optical ports in a pod" else:"the fabric's" min:"1" max:"1048576"`
	PodMap        []int      `key:"pod_map" doc:"pod of each block of consecutive stages that share one" else:"in order, or in reverse order if fabric.reverse" max:"1048576"`
}

// MILPOptions are the options of the allocators that have a MILP solver decide.
type MILPOptions struct {
	Solver    string      `key:"solver" doc:"which solver; 'none' decides by what is known without one, for 'export'" default:"auto" choices:"@milp-solvers"`
	TimeLimit engine.Time `key:"time_limit" doc:"wall-clock after which the solver is stopped; \"0s\" is none" default:"10min"`
	Gap       float64     `key:"gap" doc:"relative gap between solution and bound at which a solver may stop" default:"0.0001" max:"1"`
	Threads   int         `key:"threads" doc:"of a solver; with one its runs repeat" default:"1" min:"1" max:"1024"`
	Form      string      `key:"form" doc:"whether rows are added that every schedule satisfies" default:"strengthened" choices:"strengthened|paper" when:"model=variable-interval"`
	Model     string      `key:"model" doc:"the paper's own model, or that of its App. A" default:"variable-interval" choices:"variable-interval|fixed-step"`
	Step      engine.Time `key:"step" doc:"length of a slice" default:"1ms" above:"0" when:"model=fixed-step"`
	Intervals int         `key:"intervals" doc:"intervals that time may be cut into; 0 is as many as the schedules of the baseline and of the best topology known have" default:"0" max:"1000000" when:"model=variable-interval"`
	Anchors   bool        `key:"anchors" doc:"prune by the anchors of Alg. 1, which may exclude the optimum" default:"false" when:"model=variable-interval"`
	Export    string      `key:"export" doc:"directory to write each model to as MPS and LP; \"\" is none" default:"" output:""`
}

// FixedStep is the model of App. A.
const FixedStep = "fixed-step"

// Topology returns the options as the allocators take them.
func (o *MILPOptions) Topology() topology.MILPOptions {
	t := topology.MILPOptions{
		Solver: o.Solver, TimeLimit: assembly.Wall(o.TimeLimit), Gap: o.Gap, Threads: o.Threads, Paper: o.Form == "paper",
		Intervals: o.Intervals, Anchors: o.Anchors, Export: o.Export,
	}
	if o.Solver == "auto" {
		t.Solver = ""
	}
	if o.Model == FixedStep {
		t.Step = o.Step
	}
	return t
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
	Joint  SearchOptions `table:"joint" doc:"The joint search over the circuits of all jobs. Its bound is that of every arbiter's gap." when:"several-jobs" with:"max_evaluations=200000"`
	Repeat Repeat        `table:"repeat" doc:"How long jobs that share circuits are simulated." when:"shared-circuits"`
}

// Repeat says how often jobs that share circuits repeat their iterations.
type Repeat struct {
	Iterations int `key:"iterations" doc:"iterations of the longest job; the others repeat theirs for as long" default:"20" min:"2" max:"1000000"`
	Warmup     int `key:"warmup" doc:"first iterations of each job that are not measured" default:"2" max:"1000000"`
}

// Replay says how decided topologies are simulated again under what was not planned for. The zero value replays
// nothing.
type Replay struct {
	Seeds            int     `key:"seeds" doc:"trials, each with a seed of its own that follows from the scenario's" default:"100" min:"1" max:"100000"`
	ComputeJitter    float64 `key:"compute_jitter" doc:"coefficient of variation of every pass's time: a lognormal factor with mean 1" default:"0.0" max:"10"`
	StageJitter      float64 `key:"stage_jitter" doc:"the same of a factor that all passes of a stage of a replica share" default:"0.0" max:"10"`
	SlowReplica      float64 `key:"slow_replica" doc:"compute of one replica takes this many times as long" default:"1.0" min:"1" max:"1000"`
	SlowReplicaIndex int     `key:"slow_replica_index" doc:"which replica is slow, from 0; -1 draws one for each trial" default:"-1" min:"-1" max:"100000000"`
	LostCircuits     int     `key:"lost_circuits" doc:"circuits, drawn among all that are provisioned, that go down and stay so" default:"0" max:"1000000"`
	LostWhen         string  `key:"lost_when" doc:"whether they are down from the start, or from a random time in the iteration on" default:"start" choices:"start|random"`
	Sequence         int     `key:"sequence" doc:"tokens a sample in the replays" else:"workload.sequence" min:"1" max:"1000000000"`
	Priorities       string  `key:"priorities" doc:"where transfers have priorities, whether these follow from the plan or from what each trial will turn out to be" default:"nominal" choices:"nominal|clairvoyant"`
}

// Unlike reports whether replays make replicas differ that the plan need not tell apart: all of them must then be
// simulated.
func (r *Replay) Unlike() bool {
	return r.ComputeJitter > 0 || r.StageJitter > 0 || r.SlowReplica > 1 || r.LostCircuits > 0
}
