// Package input has what systems are built from: the keys of a checked scenario, and what follows from its kinds of
// workload and fabric. Circuits, paths and plans take the same type; each adds the methods that its systems need.
//
// Inputs that exist are sound: what keys may be is checked in package scenarios, and in paths and plans.
package input

import (
	"context"
	"slices"

	"sim/engine"
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

// Scenario is work on hardware that leaves one kind of decision open, with the policies that decide. A field that its
// workload, fabric or level does not use holds its default.
type Scenario struct {
	Name, Title string
	Seed        uint64
	Workload    Workload
	Fabric      Fabric
	Policy      Policy
	Mapping     mapping.Keys // of ranks, one that is fixed
	Engine      Engine
	Replicas    []Replica // those that differ from the rest, ordered by index
	Jobs        []Job     // that share the pods; none if Workload is the only one
	Replay      Replay
	// PassExtension is how much longer passes of a training step are by the calls inside inner tiers.
	PassExtension composition.PassExtension
	// BlockGPUs is the number of GPUs of the largest of these tiers, whose ranks stay together in order; 0 without.
	BlockGPUs int
	Stages    *StagePlacement                   // where a mapping has the stages of a training step in pods; nil is in order
	Read      func(file string) ([]byte, error) // reads a file that a key names
}

// Job is one of several jobs that share pods.
type Job struct {
	JobKeys
	// Standalone is the job by itself: workload and fabric, with the defaults of all else. Its pods are its blocks of
	// stages, in order, and PortsPerPod all the ports of the shared ones.
	Standalone *Scenario
}

// Workload is what is computed and moved.
type Workload struct {
	Kind       string
	IsTraining bool // a training step
	WorkloadKeys
	// Work is of ranks that compute, send and call, each on a GPU of its own; nil for other workloads, and for a training
	// step whose stages are placed in pods.
	Work  calls.Work
	Calls calls.Expansion // of the calls of Work and of training steps
	Call  *calls.Call     // the collective call that the workload is; nil for others
	// Graph returns messages or a collective call between the nodes of Pods; nil on other fabrics, and for Work.
	Graph       func(ctx context.Context) (*engine.Graph, error)
	Pods        fabric.UniformPods
	Description string // names Graph
	// HasPoissonSources tells that packets are sent at random times, from each source of Graph to any of its destinations.
	HasPoissonSources bool
}

// WorkloadKeys are the keys of workloads.
type WorkloadKeys struct {
	training.Spec
	Traffic
	Exchange Exchange
	Patterns []collective.Pattern // by row of collective.Patterns; nil if the kind is no traffic
}

// Fabric is the hardware.
type Fabric struct {
	OCSPods
	links.Links
	ScaleUp ScaleUp
}

// Policy says which decisions are compared, and their options.
type Policy struct {
	topology.Allocation
	JointOptions
	routing.Routing  // on fabrics of links
	reconfigure.Keys // on scale-up domains
}

// StagePlacement is where a mapping has the stages of all replicas. Pods are numbered in the order in which stages name them, so
// that what follows does not depend on how the mapping numbers them.
type StagePlacement struct {
	Pods              []int32 // pod of each stage, replica after replica
	PodNumbers        []int   // that the mapping gives the pods
	IdenticalReplicas bool    // replicas are in pods of their own, each in the same way: one may stand for all
	Search            *mapping.GroupingResult
}

// Pattern returns the pattern of collective.Patterns that the kind names, nil if it is none.
func (w *Workload) Pattern() collective.Pattern {
	i := slices.IndexFunc(collective.Patterns, func(p collective.PatternRow) bool { return p.Name == w.Kind })
	if i < 0 || i >= len(w.Patterns) {
		return nil
	}
	return w.Patterns[i]
}

// HotSpots returns the pattern of that sort, nil of others.
func (w *Workload) HotSpots() *collective.HotSpots {
	h, _ := w.Pattern().(*collective.HotSpots)
	return h
}
