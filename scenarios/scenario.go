// Package scenarios turns TOML files into runs: it loads and checks a
// scenario, builds fabric and workload, has every policy decide, plays the
// decisions and gathers the results.
package scenarios

import (
	"sim/engine"
	"sim/engine/units"
	"sim/workloads/training"
)

// Scenario is a checked scenario: defaults and presets are filled in, units
// resolved, and every field lies within the bounds that Reference prints. A
// field that the scenario's kinds do not use holds its default.
type Scenario struct {
	Name     string // by default the file's name without .toml
	Title    string // one line for people; may be empty
	Seed     uint64 // of every random choice
	Workload Workload
	Fabric   Fabric
	Policy   Policy
	Replicas []Replica // those that differ from the rest, ordered by index
	Jobs     []Job     // that share the pods; none where Workload is the only one
	Replay   Replay    // of the decided topologies
	Engine   Engine    // of fabrics of links
}

// Workload says what is computed and moved. Kind tells which embedded part
// applies.
type Workload struct {
	Kind string // "training", "all-to-all" ...
	Training
	Traffic
	Exchange
}

// Training is a workload of kind "training": one training step of a model.
type Training struct {
	Architecture training.Architecture
	Preset       string // names the modelling choices that Choices starts from
	Choices      Choices

	Sequence     int // tokens a sample
	Microbatch   int // samples a micro-batch
	Microbatches int // micro-batches a replica and step
	TP           int // tensor-parallel GPUs
	PP           int // pipeline stages
	EP           int // expert-parallel ranks; 1 in a dense model
	ETP          int // tensor-parallel GPUs within an expert; 1 in a dense model
	GPUs         int // of the whole job

	Schedule      string // "1f1b", "gpipe" or "interleaved-1f1b"
	VirtualStages int    // model chunks a stage; 1 unless Schedule is "interleaved-1f1b"

	ReplicaMode string // key replicas: "auto", "single", "all" or "decomposed"
	Flows       string // "aggregated" or "per-gpu"
}

// Choices are the modelling choices of a training workload. A preset sets them
// all; the scenario may override each.
type Choices struct {
	EffectiveTFLOPS        float64 // what one GPU achieves, in 1e12 operations a second
	BackwardRatio          float64 // backward time of a stage over its forward time
	AttentionFLOPs         string  // "causal" or "full"
	StageSplit             string  // "even" or "layers"
	Embedding              bool    // count embedding and output head in the stages that hold them
	ConcurrentMicrobatches int     // micro-batches that a stage computes at the same time
	ActivationBytes        int     // a number sent between stages
	GradientBytes          int     // a gradient sent between replicas
	ParameterBytes         int     // a parameter sent between replicas
	SequenceParallel       bool    // activations are split over the tensor-parallel GPUs
	Ring                   string  // "bidirectional" or "unidirectional"
	RouterFLOPs            string  // "all-layers" or "moe-layers"
}

// Fabric says what the job runs on. Kind tells which embedded part applies.
type Fabric struct {
	Kind string // "ocs-pods", "torus", "graph" or "scaleup"
	OCSPods
	Links
	ScaleUp ScaleUp
}

// OCSPods is a fabric of kind "ocs-pods": pods of GPUs joined by optical
// circuit switches.
type OCSPods struct {
	GPUsPerPodPerReplica int
	PortBandwidth        units.Rate // of an optical port, each way
	PortsPerPod          int        // U_p, for one replica's share of the pod
	NICBandwidth         units.Rate // of a GPU, each way
	Reverse              bool       // the last stages lie in the first pod
	Pods                 int        // that several jobs share; 0 is as many as the jobs name
}

// Policy says which decisions are compared, and their options.
type Policy struct {
	Allocators    []string // in the order of the result's rows
	PortTolerance float64  // fraction by which the makespan may grow when ports are saved
	// PortEvaluations is the number of topologies that may be played or bounded
	// to save ports.
	PortEvaluations int64
	Donor           string  // allocator of a second job that leaves ports over, or "none"
	DonorTolerance  float64 // fraction by which its makespan may grow when it saves them
	DonorTies       string  // "first", "recipient" or "pareto"
	Service         string  // "max-min" or "level-priority"; "" is each policy's own
	Fixed           FixedOptions
	DeltaFast       DeltaFastOptions
	DeltaTopo       SearchOptions
	DeltaJoint      SearchOptions
	MILP            MILPOptions
	Arbitration     // of several jobs
	Routing         // on fabrics of links
	Planning        // on scale-up domains
}

// FixedOptions are the options of the allocator "fixed".
type FixedOptions struct {
	// Circuits[p][q] circuits join pods p and q of a replica; Circuits[p][p]
	// join p to its twin in each neighbouring replica. Symmetric.
	Circuits [][]int
}

// DeltaFastOptions are the options of the allocator "delta-fast".
type DeltaFastOptions struct {
	Population       int
	Elites           int     // that survive a generation unchanged
	Tournament       int     // contestants for each parent
	Crossover        float64 // probability
	Mutation         float64 // probability
	StallGenerations int     // without improvement, after which the search ends
	MaxGenerations   int
	TimeLimit        engine.Time // wall-clock; 0 is none
}

// SearchOptions are the options of the allocators "delta-topo" and
// "delta-joint".
type SearchOptions struct {
	MaxEvaluations int64       // topologies played before the search ends
	TimeLimit      engine.Time // wall-clock; 0 is none
}

// Replica is a data-parallel replica that differs from the rest.
type Replica struct {
	Index         int     // from 0
	ComputeScale  float64 // compute takes this many times as long
	PortBandwidth units.Rate
	PortsPerPod   int
	PodMap        []int // pod of each block of stages
}

// Replay says how decided topologies are played again under what was not
// planned for. The zero value replays nothing.
type Replay struct {
	Seeds            int     // plays; 0 is no replay, and the rest then holds nothing
	ComputeJitter    float64 // coefficient of variation of every pass's time
	StageJitter      float64 // and of a factor common to a stage of a replica
	SlowReplica      float64 // compute of one replica takes this many times as long
	SlowReplicaIndex int     // -1 draws it
	LostCircuits     int
	LostWhen         string // "start" or "random"
	Sequence         int    // tokens a sample
	Priorities       string // "nominal" or "clairvoyant"
}
