// Package input has the checked inputs from which systems are built: the keys of a
// scenario, and the values that follow from its kinds of workload and fabric.
//
// All systems take a Scenario. Packages circuits, paths and plans convert it to a type of
// their own, to which they add methods. Inputs are valid: package scenarios checks most
// keys, and these three packages check the rest beforehand. Start reading with Scenario.
package input

import (
	"context"
	"slices"

	"sim/engine"
	"sim/engine/packet"
	"sim/fabric"
	"sim/fabric/links"
	"sim/policies/mapping"
	"sim/policies/reconfigure"
	"sim/policies/routing"
	"sim/policies/topology"
	"sim/scenarios/assembly/calls"
	"sim/scenarios/assembly/composition"
	"sim/workloads/collective"
	"sim/workloads/training"
)

// Scenario is work on hardware with one kind of open decision, and the policies that make
// it. Fields that the workload, the fabric or the level does not use hold their defaults.
type Scenario struct {
	Name, Title string
	Seed        uint64
	Workload    Workload
	Fabric      Fabric
	Policy      Policy
	Mapping     mapping.Keys // the single mapping of ranks
	Engine      Engine
	Transport   packet.Transport
	Replicas    []Replica // replicas that differ from the others, ordered by index
	Jobs        []Job     // jobs that share the pods; nil if Workload is the only one
	Trials      Trials
	// PassExtension returns by how much calls inside inner tiers lengthen the passes of a
	// training step.
	PassExtension composition.PassExtension
	// BlockGPUs is the number of GPUs of the largest inner tier; 0 without inner tiers.
	// Ranks of such a block stay together, in order.
	BlockGPUs int
	// Stages is the placement of the stages of a training step in pods, by a mapping; nil
	// means in order.
	Stages *StagePlacement
	Read   func(file string) ([]byte, error) // reads a file that a key names
}

// Job is one of several jobs that share pods.
type Job struct {
	JobKeys
	// Standalone is the job as a scenario of its own, with its workload and fabric and
	// the defaults of all other keys. It has one pod per block of stages, with all ports
	// of a shared pod.
	Standalone *Scenario
}

// Workload is the computes and transfers of a scenario.
type Workload struct {
	Kind       string
	IsTraining bool // a training step
	WorkloadKeys
	// Work is the work of ranks that compute, send messages and make collective calls,
	// each on its own GPU. It is nil for other workloads, and for training steps whose
	// stages are placed in pods.
	Work  calls.Work
	Calls calls.Expansion // expansion of the calls of Work and of training steps
	Fold  bool            // Work is folded even if it is small
	Call  *calls.Call     // nil if the workload is not a single collective call
	// Graph returns messages or a collective call between the nodes of Pods. It is nil on
	// other fabrics, and if Work is set.
	Graph       func(ctx context.Context) (*engine.Graph, error)
	Pods        fabric.UniformPods
	Description string // describes Graph in a few words
	// HasPoissonSources is set if each source of Graph sends packets at random times,
	// each packet to a random one of its destinations.
	HasPoissonSources bool
}

// WorkloadKeys holds the keys of all workloads.
type WorkloadKeys struct {
	training.Spec
	Traffic
	Exchange Exchange
	// Patterns is indexed by row of collective.Patterns. It is nil unless the kind is
	// traffic.
	Patterns []collective.Pattern
}

// Fabric is the hardware, with the keys of all kinds of fabrics.
type Fabric struct {
	Cluster links.Cluster
	OCSPods
	links.Links
	ScaleUp ScaleUp
}

// Policy holds the compared policies and their options.
type Policy struct {
	topology.Allocation
	JointOptions
	routing.Routing  // on fabrics of links
	reconfigure.Keys // on scale-up domains
}

// StagePlacement is the placement of the stages of all replicas in pods. Pods are
// numbered in the order in which stages name them, so that results do not depend on the
// numbers in the mapping.
type StagePlacement struct {
	Pods       []int32 // pod of each stage, replica after replica
	PodNumbers []int   // number of each pod in the mapping
	// IdenticalReplicas is set if replicas have pods of their own and equal placements,
	// so that one replica can stand for all.
	IdenticalReplicas bool
	Search            *mapping.GroupingResult // search for the placement; nil if it was given
}

// Pattern returns the pattern of collective.Patterns that the kind names; nil if it names
// none.
func (w *Workload) Pattern() collective.Pattern {
	hasKind := func(p collective.PatternRow) bool { return p.Name == w.Kind }
	i := slices.IndexFunc(collective.Patterns, hasKind)
	if i < 0 || i >= len(w.Patterns) {
		return nil
	}
	return w.Patterns[i]
}

// HotSpots returns the pattern as hot-spot traffic; nil if it is another pattern.
func (w *Workload) HotSpots() *collective.HotSpots {
	h, _ := w.Pattern().(*collective.HotSpots)
	return h
}
