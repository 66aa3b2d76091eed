package scenarios

import (
	"slices"

	"sim/engine"
	"sim/policies/topology"
)

// Job is one of several jobs whose pods share optical ports (docs/jobs.md).
type Job struct {
	Name   string
	Weight float64     // in the objective
	Phase  engine.Time // its first iteration starts that late, where circuits are shared
	Pods   []int       // shared pod of each block of stages
	// Scenario is the job by itself: workload and fabric, with the defaults of
	// all else. Its pods are its blocks of stages, in order, and PortsPerPod
	// all the ports of the shared ones.
	Scenario *Scenario
}

// Arbitration says how several jobs share the ports of their pods.
type Arbitration struct {
	Arbiters  []string      // in the order of the result's rows
	Objective string        // "weighted-sum" or "max-min"
	Allocator string        // decides for single jobs
	Circuits  string        // "dedicated" to a job, or "shared" by all over time
	Joint     SearchOptions // of the joint search
	Repeat    Repeat        // where circuits are shared
}

// Repeat says how often jobs that share circuits repeat their iterations.
type Repeat struct {
	Iterations int // of the longest job; the others repeat theirs for as long
	Warmup     int // iterations of each job that are not measured
}

// severalJobs is the condition of what only a scenario of several jobs uses.
var severalJobs = &condition{
	ok:   func(s *Scenario) bool { return len(s.Jobs) > 0 },
	by:   func(*Scenario) string { return "a single job" },
	want: "describe several jobs in [[job]]",
}

// oneJob is the condition of what only a scenario of one job uses.
var oneJob = &condition{
	ok:   func(s *Scenario) bool { return len(s.Jobs) == 0 },
	by:   func(*Scenario) string { return "several jobs" },
	want: "describe one job, without [[job]]",
}

// oneJobsAllocators is oneJob of the allocators that are compared.
var oneJobsAllocators = &condition{
	ok: oneJob.ok, by: oneJob.by, want: oneJob.want,
	instead: "leave it out: several jobs compare policy.arbiters, with one policy.allocator for single jobs; where it stands in a base, copy what else you need of that instead",
}

// sharedCircuits is the condition of what only jobs that share circuits use.
var sharedCircuits = &condition{
	keys: []string{"policy.circuits"},
	ok:   func(s *Scenario) bool { return len(s.Jobs) > 0 && s.Policy.Circuits == "shared" },
	by:   func(s *Scenario) string { return "jobs with circuits of their own" },
	want: `set policy.circuits = "shared", of several jobs`,
}

// arbiters returns the names that policy.arbiters may list.
func arbiters() []string {
	names := make([]string, len(topology.Arbiters))
	for i, r := range topology.Arbiters {
		names[i] = r.Name
	}
	return names
}

// jobTables describes the tables that only scenarios of several jobs have.
func jobTables() []table {
	return []table{
		{
			path: "policy.joint", doc: "The joint search over the circuits of all jobs. Its bound is that of every arbiter's gap.", when: severalJobs,
			keys: searchKeys(200_000, func(s *Scenario) *SearchOptions { return &s.Policy.Joint }),
		},
		{
			path: "policy.repeat", doc: "How long jobs that share circuits are played.", when: sharedCircuits, keys: repeatKeys(),
		},
		{
			path: "job",
			doc: "One of several jobs that share the pods and their ports. `[job.workload]` and `[job.fabric]` below it give what differs " +
				"from `[workload]` and `[fabric]`: all keys of a workload, and of a fabric gpus_per_pod_per_replica, nic_bandwidth and reverse.",
			keys:  jobKeys(),
			inner: sections,
			count: func(s *Scenario) int { return len(s.Jobs) },
			grow:  func(s *Scenario) { s.Jobs = append(s.Jobs, Job{}) },
		},
	}
}

func jobKeys() []key {
	return []key{
		{
			name: "name", doc: "name of the job in results: letters, digits, - and _", required: true,
			field: func(s *Scenario, i int) any { return &s.Jobs[i].Name },
		},
		defaultsTo(1.0, key{
			name: "weight", doc: "weight in the objective, beside the other jobs'", above: true, max: 1e9,
			field: func(s *Scenario, i int) any { return &s.Jobs[i].Weight },
		}),
		{
			// Filled by checkJob, once the number of blocks is known.
			name: "pods", doc: "shared pod of each block of consecutive stages that share one", max: maxPorts,
			field:   func(s *Scenario, i int) any { return &s.Jobs[i].Pods },
			fillDoc: "in order, or the other way round if reverse",
		},
		defaultsTo(engine.Time(0), key{
			name: "phase", doc: "how much later than at time zero its first iteration starts", when: sharedCircuits,
			field: func(s *Scenario, i int) any { return &s.Jobs[i].Phase },
		}),
	}
}

// arbitrationKeys are the keys of [policy] about several jobs.
func arbitrationKeys() []key {
	several := func(k key) key {
		k.when = severalJobs
		return k
	}
	return []key{
		several(defaultsTo(arbiters(), key{
			name: "arbiters", doc: "how several jobs share the ports of their pods, in the order of the result's rows", choices: arbiters,
			field: func(s *Scenario, _ int) any { return &s.Policy.Arbiters },
		})),
		several(defaultsTo(topology.WeightedSum.String(), key{
			name: "objective", doc: "what is minimised over the jobs: the mean NCT by weight, or the largest NCT by weight", choices: topology.Objectives,
			field: func(s *Scenario, _ int) any { return &s.Policy.Objective },
		})),
		several(defaultsTo("delta-joint", key{
			name: "allocator", doc: "what decides for single jobs, where an arbiter lets it", choices: fixed("delta-joint", "delta-topo", "delta-fast"),
			field: func(s *Scenario, _ int) any { return &s.Policy.Allocator },
		})),
		several(defaultsTo("dedicated", key{
			name: "circuits", doc: "whether each circuit serves one job, or the jobs also play on all circuits of a pod pair together",
			choices: fixed("dedicated", "shared"),
			field:   func(s *Scenario, _ int) any { return &s.Policy.Circuits },
		})),
	}
}

func repeatKeys() []key {
	return []key{
		defaultsTo(20, key{
			name: "iterations", doc: "iterations of the longest job; the others repeat theirs for as long", min: 2, max: 1e6,
			field: func(s *Scenario, _ int) any { return &s.Policy.Repeat.Iterations },
		}),
		defaultsTo(2, key{
			name: "warmup", doc: "first iterations of each job that are not measured", max: 1e6,
			field: func(s *Scenario, _ int) any { return &s.Policy.Repeat.Warmup },
		}),
	}
}

func sharedPodsKey() key {
	return key{
		name: "pods", doc: "pods of a row of replicas that several jobs share", min: 1, max: maxPorts, when: severalJobs,
		field:   func(s *Scenario, _ int) any { return &s.Fabric.Pods },
		fillDoc: "as many as the jobs name",
	}
}

// jobsTables returns the tables at the top of a scenario of several jobs:
// those of a fabric with one job, of which some are not used and some are the
// jobs' own.
func jobsTables() []*table {
	tables := []*table{general()}
	k := ocsPodsKind()
	for i := range k.tables {
		t := &k.tables[i]
		switch t.path {
		case "job", "policy.joint", "policy.repeat":
		case "fabric":
			for j := range t.keys {
				if own := slices.Contains(jobFabric, t.keys[j].name); own || t.keys[j].name == "ports_per_pod" {
					// given here it holds for the jobs that do not give it
					t.keys[j].required, t.keys[j].fill = false, nil
				}
			}
		case "policy":
			t.find("allocators").when = oneJobsAllocators
		case "policy.delta-fast":
			t.when = allocatorForJobs("delta-fast", "delta-topo", "delta-joint")
		case "policy.delta-topo":
			t.when = allocatorForJobs("delta-topo")
		case "policy.delta-joint":
			t.when = allocatorForJobs("delta-joint")
		default:
			t.when = oneJob
		}
		tables = append(tables, t)
	}
	return tables
}

// jobFabric are the keys of [fabric] that a job may have for itself.
var jobFabric = []string{"gpus_per_pod_per_replica", "nic_bandwidth", "reverse"}

// allocatorForJobs is the condition of options of allocators that decide for
// single jobs, the first of them above all.
func allocatorForJobs(names ...string) *condition {
	return &condition{
		keys: []string{"policy.allocator"},
		ok:   func(s *Scenario) bool { return slices.Contains(names, s.Policy.Allocator) },
		by:   func(s *Scenario) string { return "allocator " + quote(s.Policy.Allocator) },
		want: "set policy.allocator = " + quote(names[0]),
	}
}
