package topology

import (
	"runtime"
	"time"

	"sim/engine"
	"sim/engine/flow"
)

// Allocation holds the keys of the table [policy] for fabrics of pods: the allocators or
// multi-job allocators to compare, and their options.
type Allocation struct {
	Allocators []string `key:"allocators" all:"" doc:"allocators, or 'all', to compare, one row each" else:"prop-alloc, sqrt-alloc, iter-halve, delta-fast, delta-topo and delta-joint; where algorithms of collectives are compared delta-fast" choices:"@allocators"`
	Settings
	LenderAllocator    string   `key:"lender_allocator" doc:"allocator of a second job in the same pods (same model, as many ports of its own), which lends its unused ports to the scenario's job; stages of the scenario's job are then mapped to pods in reverse order" default:"none" choices:"@lender-allocators" when:"one-job & of-training"`
	LenderTolerance    float64  `key:"lender_tolerance" doc:"fraction by which the port-lending job's makespan may grow when it releases ports" else:"port_tolerance" max:"1000" when:"port-lender"`
	LenderTies         string   `key:"lender_ties" doc:"topology of the port-lending job within lender_tolerance: 'first', the one that its allocator finds; 'recipient', the one with minimum ports that serves the scenario's job best; 'pareto', the best among all that need each of their ports" default:"recipient" choices:"first|recipient|pareto" when:"port-lender"`
	MultiJobAllocators []string `key:"multi_job_allocators" all:"" doc:"multi-job allocators, or 'all', to compare, one row each; they divide the ports of shared pods among jobs" default:"*" choices:"@multi_job_allocators" when:"several-jobs"`
	Objective          string   `key:"objective" doc:"objective over the jobs' NCT: weighted mean, or weighted maximum" default:"weighted-sum" choices:"@objectives" when:"several-jobs"`
	Allocator          string   `key:"allocator" doc:"allocator for single jobs, under multi-job allocators that use one" default:"delta-joint" choices:"delta-joint|delta-topo|delta-fast" when:"several-jobs"`
	Circuits           string   `key:"circuits" doc:"whether each circuit serves one job ('dedicated'), or all jobs also share the circuits of a pod pair ('shared')" default:"dedicated" choices:"dedicated|shared" when:"several-jobs"`
}

// Settings holds the options that all allocators share, and one table of options per
// allocator that has its own.
type Settings struct {
	// PortTolerance is relative to the best makespan found. Eq. 4 of DELTA has tolerance
	// 0.
	PortTolerance   float64 `key:"port_tolerance" doc:"fraction by which the makespan may grow when ports are released" default:"0.0" max:"1000"`
	PortEvaluations int64   `key:"port_evaluations" doc:"maximum number of topologies simulated or bounded to minimise ports" default:"10000" min:"1" max:"1000000000000000"`
	Service         string  `key:"service" doc:"sharing of circuits; \"\" means each allocator's own" default:"" choices:"max-min|level-priority" unset:""`

	Fixed  FixedOptions  `table:"fixed" doc:"The topology of the allocator 'fixed'." when:"read(fixed)"`
	Fast   FastOptions   `table:"delta-fast" doc:"The genetic search, which the other searches fall back on, then with no more evaluations than they may have themselves." when:"read(delta-fast)"`
	Topo   SearchOptions `table:"delta-topo" doc:"The search for the best topology under fair sharing." when:"read(delta-topo)"`
	Joint  SearchOptions `table:"delta-joint" doc:"The certified search for topology and rates." when:"read(delta-joint)"`
	Moving DuringOptions `table:"delta-during" doc:"The search for topologies that follow each other in an iteration." when:"read(delta-during)"`
	MixNet MixNetOptions `table:"mixnet-during" doc:"The policy that gives circuits to layer after layer." when:"read(mixnet-during)"`
	Rotor  RotorOptions  `table:"rotor" doc:"The policy that rotates matchings." when:"read(rotor)"`
	MILP   MILPOptions   `table:"milp" doc:"The allocators that hand the paper's model to a MILP solver on the PATH." when:"read(milp|delta-joint-milp)"`
}

// Options controls how allocators decide. All fields except Workers can change the
// decision.
type Options struct {
	Settings
	Seed    uint64
	Workers int // number of goroutines; below 1 means one per processor
	// KeepPorts disables the removal of circuits that the makespan does not need.
	KeepPorts bool
	// Tails permits delta-joint to return tails other than the graph's; see
	// Decision.Tails. The caller must then simulate with these.
	Tails bool

	// limitStart is the start of time limits that cover several decisions. It is zero if
	// each decision has its own limit. See WithSharedTimeLimit.
	limitStart time.Time
}

// FixedOptions holds the options of the allocator "fixed".
type FixedOptions struct {
	// Circuits[p][q] is the number of circuits between pods p and q of a replica.
	// Circuits[p][p] is the number of circuits from pod p to its DP peer pod in each
	// neighbouring replica. The matrix is symmetric.
	Circuits [][]int `key:"circuits" doc:"one row per pod of a replica: circuits to each pod and, on the diagonal, to its DP peer in each neighbouring replica" required:"" max:"1048576"`
}

// FastOptions holds the parameters of the genetic search of delta-fast (DELTA, Alg. 3).
type FastOptions struct {
	Population       int         `key:"population" doc:"number of topologies per generation" default:"64" min:"2" max:"1000000"`
	Elites           int         `key:"elites" doc:"number of best topologies kept for the next generation" default:"4" max:"1000000"`
	Tournament       int         `key:"tournament" doc:"number of contestants per parent" default:"3" min:"1" max:"1000000"`
	Crossover        float64     `key:"crossover" doc:"probability that two parents mix" default:"0.9" max:"1"`
	Mutation         float64     `key:"mutation" doc:"probability that a child changes" default:"0.3" max:"1"`
	StallGenerations int         `key:"stall_generations" doc:"number of generations without improvement after which the search ends" default:"200" min:"1" max:"1000000000"`
	MaxGenerations   int         `key:"max_generations" doc:"maximum number of generations" default:"100000" min:"1" max:"1000000000"`
	TimeLimit        engine.Time `key:"time_limit" doc:"wall-clock limit; a result that it cuts short is marked as not repeatable; 0s means none" default:"0s"`
}

// SearchOptions limits a search.
type SearchOptions struct {
	// MaxEvaluations is the maximum number of topologies that are simulated or bounded. A
	// topology of a graph with 10,000 dependencies or more counts as several; see
	// Problem.evaluationCost.
	MaxEvaluations int64       `key:"max_evaluations" doc:"maximum number of topologies that the search simulates" default:"20000" min:"1" max:"1000000000000000"`
	TimeLimit      engine.Time `key:"time_limit" doc:"wall-clock limit; a result that it cuts short is marked as not repeatable; 0s means none" default:"0s"`
}

// searchBudget is the effort that a search may use. Zero values mean no limit.
type searchBudget struct {
	SearchOptions
	maxWork  int64     // work of the simulation engine, in the units of flow.Evaluator.Work
	deadline time.Time // end of the time limit; decisions state that it was reached
}

// newBudget returns the budget of a search with options s. Its time limit starts now, or
// at the call of WithSharedTimeLimit.
func (o *Options) newBudget(s SearchOptions) searchBudget {
	a := searchBudget{SearchOptions: s}
	if s.TimeLimit > 0 {
		start := o.limitStart
		if start.IsZero() {
			start = time.Now()
		}
		a.deadline = start.Add(wallClock(s.TimeLimit))
	}
	return a
}

// expired reports whether the deadline has passed.
func (a *searchBudget) expired() bool { return !a.deadline.IsZero() && time.Now().After(a.deadline) }

// WithSharedTimeLimit returns a copy of o whose time limits start now and cover all decisions made
// with the copy together.
func (o Options) WithSharedTimeLimit() Options {
	o.limitStart = time.Now()
	return o
}

// briefEvaluations and briefGenerations are the limits of searches under Options.Brief.
// Comparing many problems needs a decision of similar quality for each rather than the
// best one.
const (
	briefEvaluations = 500
	briefGenerations = 10
)

// Brief returns the options for one of many problems to be compared: searches evaluate
// few topologies and do not minimise ports. The caller sets Problem.Brief also.
func (o Options) Brief() Options {
	o.PortTolerance, o.KeepPorts = 0, true
	o.Fast.StallGenerations, o.Fast.MaxGenerations = min(o.Fast.StallGenerations, briefGenerations),
		min(o.Fast.MaxGenerations, 3*briefGenerations)
	o.Topo.MaxEvaluations, o.Joint.MaxEvaluations = min(o.Topo.MaxEvaluations, briefEvaluations),
		min(o.Joint.MaxEvaluations, briefEvaluations)
	return o
}

// wallClock converts a simulated duration to a wall-clock duration, rounded up to
// nanoseconds.
func wallClock(t engine.Time) time.Duration {
	return time.Duration((t + engine.Nanosecond - 1) / engine.Nanosecond)
}

// serviceOr returns the service of the key "service", or fallback if the key is not set.
func (s *Settings) serviceOr(fallback flow.Service) flow.Service {
	if requested, err := flow.ParseService(s.Service); err == nil {
		return requested
	}
	return fallback
}

// maxWorkers limits the goroutines of a search, because each of them holds the state of a
// simulation.
const maxWorkers = 64

// workers returns the number of goroutines that a search may use.
func (o *Options) workers() int {
	if o.Workers < 1 {
		return runtime.GOMAXPROCS(0)
	}
	return min(o.Workers, maxWorkers)
}
