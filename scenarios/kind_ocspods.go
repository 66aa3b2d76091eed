package scenarios

import (
	"sim/engine"
	"sim/engine/units"
	"sim/scenarios/schema"
)

// OCSPods is a fabric of kind "ocs-pods": pods of GPUs joined by optical
// circuit switches.
type OCSPods struct {
	GPUsPerPodPerReplica int        `key:"gpus_per_pod_per_replica" doc:"GPUs that one replica has in a pod" required:"" min:"1" max:"1048576" when:"of-training"`
	GPUsPerPod           int        `key:"gpus_per_pod" doc:"GPUs of a pod" required:"" min:"1" max:"1048576" when:"of-traffic"`
	PortBandwidth        units.Rate `key:"port_bandwidth" doc:"rate of an optical port, each way" required:"" above:"0" max:"1e16"`
	PortsPerPod          int        `key:"ports_per_pod" doc:"optical ports for one replica's share of a pod, U_p" else:"gpus_per_pod_per_replica, of traffic gpus_per_pod; of several jobs the sum of theirs" min:"1" max:"1048576"`
	NICBandwidth         units.Rate `key:"nic_bandwidth" doc:"rate of a GPU's network interface, each way" else:"port_bandwidth" above:"0" max:"1e16"`
	Reverse              bool       `key:"reverse" doc:"map stages to pods in reverse" default:"false" when:"of-training"`
	Pods                 int        `key:"pods" doc:"number of pods; of several jobs that of a row of replicas" else:"as many as the jobs name; of traffic required" min:"1" max:"1048576" when:"shared-pods"`
}

// Allocation says which allocators of circuits are compared, and their options.
type Allocation struct {
	Allocators      []string         `key:"allocators" doc:"the allocators, in the order of the result's rows" default:"prop-alloc,sqrt-alloc,iter-halve,delta-fast,delta-topo,delta-joint" choices:"@allocators"`
	PortTolerance   float64          `key:"port_tolerance" doc:"fraction by which the makespan may grow when ports are saved" default:"0.0" max:"1000"`
	PortEvaluations int64            `key:"port_evaluations" doc:"topologies that are played or bounded, once the makespan is found, to find the fewest ports" default:"10000" min:"1" max:"1000000000000000"`
	Service         string           `key:"service" doc:"how transfers share circuits; \"\" is each allocator's own way" default:"" choices:"max-min|level-priority" unset:""`
	Donor           string           `key:"donor" doc:"the allocator of a second job in the same pods: the same model, with ports of its own, which leaves those it does not need to the scenario's job, whose stages are then mapped to pods the other way round" default:"none" choices:"@donors" when:"one-job & of-training"`
	DonorTolerance  float64          `key:"donor_tolerance" doc:"fraction by which the donor's makespan may grow when it saves ports" else:"port_tolerance" max:"1000" when:"donor"`
	DonorTies       string           `key:"donor_ties" doc:"which of its topologies within donor_tolerance the donor takes: the one that its allocator finds first, of those with the fewest ports the one that serves the scenario's job best, or of all that take no port in vain, however many, the one that does" default:"recipient" choices:"first|recipient|pareto" when:"donor"`
	Arbiters        []string         `key:"arbiters" doc:"how several jobs share the ports of their pods, in the order of the result's rows" default:"*" choices:"@arbiters" when:"several-jobs"`
	Objective       string           `key:"objective" doc:"what is minimised over the jobs: the mean NCT by weight, or the largest NCT by weight" default:"weighted-sum" choices:"@objectives" when:"several-jobs"`
	Allocator       string           `key:"allocator" doc:"what decides for single jobs, where an arbiter lets it" default:"delta-joint" choices:"delta-joint|delta-topo|delta-fast" when:"several-jobs"`
	Circuits        string           `key:"circuits" doc:"whether each circuit serves one job, or the jobs also play on all circuits of a pod pair together" default:"dedicated" choices:"dedicated|shared" when:"several-jobs"`
	Fixed           FixedOptions     `table:"fixed" doc:"The topology of the allocator 'fixed'." when:"allocator(fixed)"`
	DeltaFast       DeltaFastOptions `table:"delta-fast" doc:"The genetic search, which the other searches fall back on, then with no more evaluations than they may have themselves." when:"allocator(delta-fast|delta-topo|delta-joint|delta-joint-milp|delta-joint-milp-hotstart|delta-topo-milp|delta-topo-milp-hotstart)"`
	DeltaTopo       SearchOptions    `table:"delta-topo" doc:"The search for the best topology under fair sharing." when:"allocator(delta-topo)"`
	DeltaJoint      SearchOptions    `table:"delta-joint" doc:"The certified search for topology and rates." when:"allocator(delta-joint|delta-joint-milp|delta-joint-milp-hotstart)"`
	MILP            MILPOptions      `table:"milp" doc:"The allocators that hand the paper's model to a MILP solver on the PATH." when:"allocator(delta-joint-milp|delta-joint-milp-hotstart|delta-topo-milp|delta-topo-milp-hotstart)"`
}

// FixedOptions are the options of the allocator "fixed".
type FixedOptions struct {
	// Circuits[p][q] circuits join pods p and q of a replica; Circuits[p][p]
	// join p to its twin in each neighbouring replica. Symmetric.
	Circuits [][]int `key:"circuits" doc:"a row for each pod of a replica: circuits to each pod, and on the diagonal to its twin in each neighbouring replica" required:"" max:"1048576"`
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

// SearchOptions are the options of the allocators "delta-topo" and
// "delta-joint".
type SearchOptions struct {
	MaxEvaluations int64       `key:"max_evaluations" doc:"topologies that are played before the search ends" default:"20000" min:"1" max:"1000000000000000"`
	TimeLimit      engine.Time `key:"time_limit" doc:"wall-clock limit, which marks the result as not repeatable; 0s is none" default:"0s"`
}

// Replica is a data-parallel replica that differs from the rest.
type Replica struct {
	Index         int        `key:"index" doc:"which replica, from 0" required:"" max:"100000000"`
	ComputeScale  float64    `key:"compute_scale" doc:"compute takes this many times as long" default:"1.0" above:"0" max:"1000000"`
	PortBandwidth units.Rate `key:"port_bandwidth" doc:"rate of its optical ports, each way" else:"the fabric's" above:"0" max:"1e16"`
	PortsPerPod   int        `key:"ports_per_pod" doc:"its optical ports in a pod" else:"the fabric's" min:"1" max:"1048576"`
	PodMap        []int      `key:"pod_map" doc:"pod of each block of consecutive stages that share one" else:"in order, or the other way round if fabric.reverse" max:"1048576"`
}

// maxPorts bounds the GPUs and ports of a pod.
const maxPorts = 1 << 20

// circuitsLevel is Engine of circuits.
type circuitsLevel struct {
	Level              string `key:"level" doc:"'flow', as fluid; 'packet', packet by packet over NICs and circuits" default:"flow" choices:"flow|packet"`
	Until, SampleEvery engine.Time
}

// ocsPodsParts are the tables of the fabric "ocs-pods", and of the policies that allocate its
// circuits.
func ocsPodsParts(s *Scenario) []schema.Part {
	return []schema.Part{
		{
			Path: "fabric", Doc: "The pods and their optical ports.", Specs: []any{&s.Fabric.FabricKind, &s.Fabric.OCSPods}, Defaults: func(int) []any {
				d := s.Fabric.OCSPods
				d.PortsPerPod, d.NICBandwidth = max(d.GPUsPerPodPerReplica, d.GPUsPerPod), d.PortBandwidth
				return []any{&d}
			},
		},
		{
			Path: "policy", Doc: "Which allocators of circuits are compared.", Specs: []any{&s.Policy.Allocation}, Defaults: func(int) []any {
				d := s.Policy.Allocation
				d.DonorTolerance = d.PortTolerance
				return []any{&d}
			},
		},
		{
			Path: "replica", When: "of-training", Doc: "A replica that differs from the rest.", Specs: []any{&s.Replicas}, Defaults: func(i int) []any {
				d := s.Replicas[i]
				d.PortBandwidth, d.PortsPerPod = s.Fabric.PortBandwidth, s.Fabric.PortsPerPod
				return []any{&d}
			},
		},
		{
			Path: "replay", When: "of-training & replayed", Doc: "Topologies decided for the plan, played many times under what was not planned for. Give at least one of " +
				schema.QuotedList(perturbed) + ".",
			Specs: []any{&s.Replay}, Defaults: func(int) []any {
				d := s.Replay
				d.Sequence = s.Workload.Sequence
				return []any{&d}
			},
		},
		{
			Path: "engine", Doc: "How closely the work is simulated on the circuits, which are always decided as fluid.",
			Specs: []any{(*circuitsLevel)(&s.Engine)}, Silent: func() bool { return s.Engine.Level == "flow" }, // is not worth a word
		},
		{Path: "policy", Specs: []any{&s.Policy.JointOptions}},
		{
			Path: "job", Specs: []any{&s.Jobs}, Inner: sections,
			Doc: "One of several jobs that share the pods and their ports. `[job.workload]` and `[job.fabric]` below it give what differs " +
				"from `[workload]` and `[fabric]`: all keys of a workload, and of a fabric gpus_per_pod_per_replica, nic_bandwidth and reverse.",
		},
	}
}
