// This file describes the fabric "ocs-pods": pods of GPUs joined by optical circuit
// switches, whose circuits allocators choose.
//
// A kind (kinds.go) is a value of workload.kind or fabric.kind. Each of its forms has the
// keys for certain fabrics (parts), and functions that prepare and check them.

package scenarios

import (
	"context"

	"sim/policies/topology"
	"sim/scenarios/assembly"
	"sim/scenarios/assembly/circuits"
	"sim/scenarios/assembly/input"
	"sim/scenarios/schema"
)

// maxPodPorts limits the GPUs and ports of a pod. It is the maximum of the keys
// gpus_per_pod and ports_per_pod.
const maxPodPorts = 1 << 20

// circuitsLevelTags are the tags of Engine for circuits.
var circuitsLevelTags = schema.Tags{
	"Level":           `key:"level" doc:"level of the simulation: 'flow', fluid rates; 'packet', packets over NICs and circuits; 'static', loads of circuits only" else:"flow; packet for uniform-random traffic" choices:"flow|packet|static"`,
	"MessageOverhead": "",
}

// ocsPodsKind describes the fabric "ocs-pods".
func ocsPodsKind() *kind {
	return &kind{name: "ocs-pods", sizeKey: "gpus", canBeOuter: true, canBeShared: true, forms: []*form{{
		doc:               "Pods of GPUs joined by optical circuit switches.",
		carrier:           circuitCarrier,
		policyKey:         "allocators",
		hardware:          podHardware(),
		unsupportedFormat: `workload %s; set workload.kind = "training", "all-to-all", "matrix" or a collective such as "all-reduce", or fabric.kind = "torus"`,
		parts:             ocsPodsParts,
		prepare:           prepareTrials,
		check:             func(c *checker) { checkOCSPods(c); checkTrialKeys(c) },
	}}}
}

// podHardware builds systems of pods joined by optical circuits.
func podHardware() *hardware {
	return &hardware{
		build: buildWithTiers(func(ctx context.Context, in *input.Scenario, workers int) (assembly.System, error) {
			return circuits.New(ctx, (*circuits.Scenario)(in), workers)
		}),
		describe:     func(s *Scenario) string { return s.circuitsView().Summary() },
		cost:         func(_ context.Context, s *Scenario) (Cost, error) { return s.podCost(), nil },
		noPlanReason: func(s *Scenario) (string, error) { return s.circuitsView().WhyNoSchedule() },
		hasTimelines: true,
		callProblem:  podCallProblem,
		callBound:    podCallBound,
		hasDomains:   true, // pods
	}
}

// ocsPodsParts are the tables of fabric "ocs-pods" and of the policies that allocate its
// circuits.
func ocsPodsParts(s *Scenario) []schema.Part {
	return []schema.Part{
		// Hardware and decision.
		{
			Path:  "fabric",
			Doc:   "The pods and their optical ports.",
			Specs: []any{&s.Fabric.OCSPods},
			Defaults: func(int) []any {
				d := s.Fabric.OCSPods
				d.PortsPerPod = max(d.GPUsPerPodPerReplica, d.GPUsPerPod) // one port per GPU
				d.InsideBandwidth = d.NICBandwidth
				d.NICBandwidth = d.PortBandwidth
				return []any{&d}
			},
		},
		allocatorPart(s),

		// Training of a single job: replicas that differ, and trials.
		{
			Path:  "replica",
			When:  "one-job & of-training",
			Doc:   "A replica that differs from the others.",
			Specs: []any{&s.Replicas},
			Defaults: func(i int) []any {
				d := s.Replicas[i]

				// By default, a replica has the same ports as the others.
				d.PortBandwidth, d.PortsPerPod = s.Fabric.PortBandwidth, s.Fabric.PortsPerPod
				return []any{&d}
			},
		},
		{
			Path: "trials",
			When: "one-job & of-training & replayed",
			Doc: "Trials: each policy's decision is simulated many times under perturbations. Set at least one of " +
				schema.QuotedList(perturbationKeys) + ".",
			Specs: []any{&s.Trials},
			Defaults: func(int) []any {
				d := s.Trials
				d.Sequence = s.Workload.Sequence
				return []any{&d}
			},
		},

		// Other work of a single job.
		circuitLevelPart(s),

		// Several jobs.
		{Path: "policy", Specs: []any{&s.Policy.JointOptions}},
		{
			Path: "job", Specs: []any{&s.Jobs}, NestedTables: sections,
			Doc: "One of several jobs that share the pods and their ports. `[job.workload]` and `[job.fabric]` below it set the differences " +
				"from `[workload]` and `[fabric]`: all keys of a workload, and of a fabric gpus_per_pod_per_replica, nic_bandwidth and reverse.",
		},
	}
}

// allocatorPart is the table [policy] of allocators.
func allocatorPart(s *Scenario) schema.Part {
	return schema.Part{
		Path:  "policy",
		Doc:   "The allocators of circuits to compare.",
		Specs: []any{&s.Policy.Allocation, &s.Policy.Calls, &s.Policy.Mapping},
		Defaults: func(int) []any {
			d := s.Policy.Allocation
			d.LenderTolerance = d.PortTolerance

			// If algorithms or mappings are compared, one allocator serves all of them.
			d.Allocators = topology.DefaultAllocators(
				s.comparesAlgorithms() || s.Policy.Mapping.ComparesMappings(),
			)
			return []any{&d, s.callDefaults()}
		},
	}
}

// circuitLevelPart is the table [engine] of circuits.
func circuitLevelPart(s *Scenario) schema.Part {
	return schema.Part{
		Path:     "engine",
		When:     "one-job",
		Doc:      "The level of the simulation on the circuits, which are always decided at level flow.",
		Specs:    []any{schema.RetaggedSpec{Spec: &s.Engine, Tags: circuitsLevelTags}},
		Defaults: func(int) []any { return []any{&s.Engine} },     // peekLevel has set the level
		Omit:     func() bool { return s.Engine.Level == "flow" }, // the usual default is not written
	}
}
