package scenarios

import (
	"slices"

	"sim/policies/topology"
)

// allocators returns the names that policy.allocators may list.
func allocators() []string {
	names := make([]string, len(topology.Table))
	for i, r := range topology.Table {
		names[i] = r.Name
	}
	return names
}

// defaultAllocators are those that are compared when none are named.
var defaultAllocators = []string{"prop-alloc", "sqrt-alloc", "iter-halve", "delta-fast", "delta-topo", "delta-joint"}

// maxRate bounds bandwidths, in bits per second.
const maxRate = 1e16

// maxPorts bounds the GPUs and ports of a pod.
const maxPorts = 1 << 20

// ocsPodsKind describes the fabric "ocs-pods", and the policies that allocate its
// circuits.
func ocsPodsKind() *kind {
	return &kind{
		section: "fabric",
		name:    "ocs-pods",
		doc:     "Pods of GPUs joined by optical circuit switches.",
		tables: append([]table{
			{path: "fabric", doc: "The pods and their optical ports.", keys: ocsPodsKeys()},
			{path: "policy", doc: "Which allocators of circuits are compared.", keys: slices.Concat(allocationKeys(), donorKeys(), arbitrationKeys())},
			{
				path: "policy.fixed", doc: "The topology of the allocator `fixed`.", when: allocator("fixed"),
				keys: []key{{
					name: "circuits", required: true, max: maxPorts,
					doc: "a row for each pod of a replica: circuits to each pod, and on the diagonal to its twin in each neighbouring replica",
					field: func(s *Scenario, _ int) any {
						return &s.Policy.Fixed.Circuits
					},
				}},
			},
			{
				path: "policy.delta-fast", doc: "The genetic search, which the other searches fall back on, then with no more evaluations than they may have themselves.", keys: deltaFastKeys(),
				when: allocator(append([]string{"delta-fast", "delta-topo", "delta-joint"}, milpRows...)...),
			},
			{
				path: "policy.delta-topo", doc: "The search for the best topology under fair sharing.", when: allocator("delta-topo"),
				keys: searchKeys(20_000, func(s *Scenario) *SearchOptions { return &s.Policy.DeltaTopo }),
			},
			{
				path: "policy.delta-joint", doc: "The certified search for topology and rates.", when: allocator("delta-joint", "delta-joint-milp", "delta-joint-milp-hotstart"),
				keys: searchKeys(20_000, func(s *Scenario) *SearchOptions { return &s.Policy.DeltaJoint }),
			},
			milpTable(),
			{
				path: "replica", doc: "A replica that differs from the rest.", keys: replicaKeys(),
				count: func(s *Scenario) int { return len(s.Replicas) },
				grow:  func(s *Scenario) { s.Replicas = append(s.Replicas, Replica{}) },
			},
			replayTable(),
			circuitsLevel(),
		}, jobTables()...),
		prepare: prepareReplay,
		check:   func(c *checker) { checkOCSPods(c); checkReplay(c) },
	}
}

// allocator is the condition of options that some allocators have, the first
// of them above all.
func allocator(names ...string) *condition {
	return &condition{
		keys: []string{"policy.allocators", "policy.donor"},
		ok: func(s *Scenario) bool {
			return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(s.Policy.Allocators, n) || s.Policy.Donor == n })
		},
		by:   func(*Scenario) string { return "the allocators that are listed" },
		want: "add " + quote(names[0]) + " to policy.allocators",
	}
}

// circuitsLevel describes how closely what circuits are decided for is simulated. As fluid is not worth a word.
func circuitsLevel() table {
	return table{
		path: "engine", doc: "How closely the work is simulated on the circuits, which are always decided as fluid.",
		silent: func(s *Scenario) bool { return s.Engine.Level == "flow" },
		keys: []key{defaultsTo("flow", key{
			name: "level", doc: "`flow`, as fluid; `packet`, packet by packet over NICs and circuits", choices: fixed("flow", "packet"),
			field: func(s *Scenario, _ int) any { return &s.Engine.Level },
		})},
	}
}

func ocsPodsKeys() []key {
	return []key{
		kindKey("fabric"),
		{
			name: "gpus_per_pod_per_replica", doc: "GPUs that one replica has in a pod", required: true, min: 1, max: maxPorts,
			field: func(s *Scenario, _ int) any { return &s.Fabric.GPUsPerPodPerReplica },
		},
		{
			name: "port_bandwidth", doc: "rate of an optical port, each way", required: true, above: true, max: maxRate,
			field: func(s *Scenario, _ int) any { return &s.Fabric.PortBandwidth },
		},
		{
			name: "ports_per_pod", doc: "optical ports for one replica's share of a pod, U_p", min: 1, max: maxPorts,
			field:   func(s *Scenario, _ int) any { return &s.Fabric.PortsPerPod },
			fillDoc: "gpus_per_pod_per_replica; of several jobs the sum of theirs",
			fill:    func(s *Scenario, _ int) { s.Fabric.PortsPerPod = s.Fabric.GPUsPerPodPerReplica },
		},
		{
			name: "nic_bandwidth", doc: "rate of a GPU's network interface, each way", above: true, max: maxRate,
			field:   func(s *Scenario, _ int) any { return &s.Fabric.NICBandwidth },
			fillDoc: "port_bandwidth",
			fill:    func(s *Scenario, _ int) { s.Fabric.NICBandwidth = s.Fabric.PortBandwidth },
		},
		defaultsTo(false, key{
			name: "reverse", doc: "map stages to pods in reverse",
			field: func(s *Scenario, _ int) any { return &s.Fabric.Reverse },
		}),
		sharedPodsKey(),
	}
}

func allocationKeys() []key {
	return []key{
		defaultsTo(defaultAllocators, key{
			name: "allocators", doc: "the allocators, in the order of the result's rows", choices: allocators,
			field: func(s *Scenario, _ int) any { return &s.Policy.Allocators },
		}),
		defaultsTo(0.0, key{
			name: "port_tolerance", doc: "fraction by which the makespan may grow when ports are saved", max: 1000,
			field: func(s *Scenario, _ int) any { return &s.Policy.PortTolerance },
		}),
		defaultsTo(int64(topology.DefaultPortEvaluations), key{
			name: "port_evaluations", doc: "topologies that are played or bounded, once the makespan is found, to find the fewest ports", min: 1, max: 1e15,
			field: func(s *Scenario, _ int) any { return &s.Policy.PortEvaluations },
		}),
		defaultsTo("", key{
			name: "service", doc: `how transfers share circuits; "" is each allocator's own way`,
			choices: fixed("max-min", "level-priority"), unset: true,
			field: func(s *Scenario, _ int) any { return &s.Policy.Service },
		}),
	}
}

func deltaFastKeys() []key {
	of := func(f func(o *DeltaFastOptions) any) func(*Scenario, int) any {
		return func(s *Scenario, _ int) any { return f(&s.Policy.DeltaFast) }
	}
	return []key{
		defaultsTo(64, key{
			name: "population", doc: "topologies in a generation", min: 2, max: 1e6,
			field: of(func(o *DeltaFastOptions) any { return &o.Population }),
		}),
		defaultsTo(4, key{
			name: "elites", doc: "best topologies that the next generation keeps", max: 1e6,
			field: of(func(o *DeltaFastOptions) any { return &o.Elites }),
		}),
		defaultsTo(3, key{
			name: "tournament", doc: "contestants for each parent", min: 1, max: 1e6,
			field: of(func(o *DeltaFastOptions) any { return &o.Tournament }),
		}),
		defaultsTo(0.9, key{
			name: "crossover", doc: "probability that two parents mix", max: 1,
			field: of(func(o *DeltaFastOptions) any { return &o.Crossover }),
		}),
		defaultsTo(0.3, key{
			name: "mutation", doc: "probability that a child changes", max: 1,
			field: of(func(o *DeltaFastOptions) any { return &o.Mutation }),
		}),
		defaultsTo(200, key{
			name: "stall_generations", doc: "generations without improvement after which the search ends", min: 1, max: 1e9,
			field: of(func(o *DeltaFastOptions) any { return &o.StallGenerations }),
		}),
		defaultsTo(100_000, key{
			name: "max_generations", doc: "generations after which the search ends in any case", min: 1, max: 1e9,
			field: of(func(o *DeltaFastOptions) any { return &o.MaxGenerations }),
		}),
		timeLimit(of(func(o *DeltaFastOptions) any { return &o.TimeLimit })),
	}
}

func searchKeys(evaluations int64, of func(s *Scenario) *SearchOptions) []key {
	return []key{
		defaultsTo(evaluations, key{
			name: "max_evaluations", doc: "topologies that are played before the search ends", min: 1, max: 1e15,
			field: func(s *Scenario, _ int) any { return &of(s).MaxEvaluations },
		}),
		timeLimit(func(s *Scenario, _ int) any { return &of(s).TimeLimit }),
	}
}
