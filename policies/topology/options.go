package topology

import (
	"runtime"
	"time"

	"sim/engine"
	"sim/engine/flow"
)

// Allocation says which allocators are compared, or of several jobs which multi-job allocators, and their options: the
// keys of [policy] on pods.
type Allocation struct {
	Allocators []string `key:"allocators" doc:"allocators to compare, one row each" else:"prop-alloc, sqrt-alloc, iter-halve, delta-fast, delta-topo and delta-joint; where algorithms of collectives are compared delta-fast" choices:"@allocators"`
	Settings
	Donor          string   `key:"donor" doc:"allocator of a second job in the same pods (same model, as many ports of its own), which lends its unused ports to the scenario's job; stages of the scenario's job are then mapped to pods in reverse order" default:"none" choices:"@donors" when:"one-job & of-training"`
	DonorTolerance float64  `key:"donor_tolerance" doc:"fraction by which the port-lending job's makespan may grow when it releases ports" else:"port_tolerance" max:"1000" when:"donor"`
	DonorTies      string   `key:"donor_ties" doc:"topology of the port-lending job within donor_tolerance: 'first', the one that its allocator finds; 'recipient', the one with minimum ports that serves the scenario's job best; 'pareto', the best among all that need each of their ports" default:"recipient" choices:"first|recipient|pareto" when:"donor"`
	Arbiters       []string `key:"arbiters" doc:"multi-job allocators to compare, one row each; they divide the ports of shared pods among jobs" default:"*" choices:"@arbiters" when:"several-jobs"`
	Objective      string   `key:"objective" doc:"objective over the jobs' NCT: weighted mean, or weighted maximum" default:"weighted-sum" choices:"@objectives" when:"several-jobs"`
	Allocator      string   `key:"allocator" doc:"allocator for single jobs, under multi-job allocators that use one" default:"delta-joint" choices:"delta-joint|delta-topo|delta-fast" when:"several-jobs"`
	Circuits       string   `key:"circuits" doc:"whether each circuit serves one job ('dedicated'), or all jobs also share the circuits of a pod pair ('shared')" default:"dedicated" choices:"dedicated|shared" when:"several-jobs"`
}

// Settings are the options of allocators that are keys, and a table of each that has its own.
type Settings struct {
	// PortTolerance is over the best makespan found (DELTA, Eq. 4, has 0).
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

// Options says how allocators decide. Everything but Workers may change what they decide.
type Options struct {
	Settings
	Seed    uint64
	Workers int // goroutines, at least 1
	// KeepPorts leaves in place the circuits that the makespan does not need.
	KeepPorts bool
	// Tails lets delta-joint serve by other tails than the graph's own, which the caller then simulates with.
	Tails bool

	limitStart time.Time // when time limits began, where they hold for several decisions; see Together
}

// FixedOptions are the options of the allocator "fixed".
type FixedOptions struct {
	// Circuits[p][q] circuits join pods p and q of a replica; Circuits[p][p] join p to its DP peer in each neighbouring
	// replica. Symmetric.
	Circuits [][]int `key:"circuits" doc:"one row per pod of a replica: circuits to each pod and, on the diagonal, to its DP peer in each neighbouring replica" required:"" max:"1048576"`
}

// FastOptions are the parameters of delta-fast (DELTA, Alg. 3).
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

// SearchOptions bounds a search.
type SearchOptions struct {
	// MaxEvaluations counts topologies that are simulated or bounded, for a graph of up to 10,000 dependencies; an
	// evaluation of a larger graph counts as several, in proportion.
	MaxEvaluations int64       `key:"max_evaluations" doc:"maximum number of topologies that the search simulates" default:"20000" min:"1" max:"1000000000000000"`
	TimeLimit      engine.Time `key:"time_limit" doc:"wall-clock limit; a result that it cuts short is marked as not repeatable; 0s means none" default:"0s"`
}

// searchBudget is what a search may spend. 0 is no bound.
type searchBudget struct {
	SearchOptions
	maxWork  int64     // of the engine, as flow.Evaluator.Work counts it
	deadline time.Time // which the decision tells of
}

// newBudget returns what a search by such options may spend from now on, or since Together.
func (o *Options) newBudget(s SearchOptions) searchBudget {
	a := searchBudget{SearchOptions: s}
	if s.TimeLimit > 0 {
		begun := o.limitStart
		if begun.IsZero() {
			begun = time.Now()
		}
		a.deadline = begun.Add(wallClock(s.TimeLimit))
	}
	return a
}

// expired reports whether the time is over.
func (a *searchBudget) expired() bool { return !a.deadline.IsZero() && time.Now().After(a.deadline) }

// Together returns the options such that what is decided with them from now on, however often, has one time limit in
// all.
func (o Options) Together() Options {
	o.limitStart = time.Now()
	return o
}

// briefEvaluations and briefGenerations are what Brief leaves of the budgets of searches.
const (
	briefEvaluations = 500
	briefGenerations = 10
)

// Brief returns the options for one of many problems that are compared: a search looks at few topologies and saves no
// ports. Problem.Brief goes with it.
func (o Options) Brief() Options {
	o.PortTolerance, o.KeepPorts = 0, true
	o.Fast.StallGenerations, o.Fast.MaxGenerations = min(o.Fast.StallGenerations, briefGenerations), min(o.Fast.MaxGenerations, 3*briefGenerations)
	o.Topo.MaxEvaluations, o.Joint.MaxEvaluations = min(o.Topo.MaxEvaluations, briefEvaluations), min(o.Joint.MaxEvaluations, briefEvaluations)
	return o
}

// wallClock converts a span to wall-clock time: less than a nanosecond is one.
func wallClock(t engine.Time) time.Duration {
	return time.Duration((t + engine.Nanosecond - 1) / engine.Nanosecond)
}

// serviceOr returns what to simulate with.
func (s *Settings) serviceOr(fallback flow.Service) flow.Service {
	if requested, err := flow.ParseService(s.Service); err == nil {
		return requested
	}
	return fallback
}

// maxWorkers bounds the goroutines of a search: each holds a simulation's state.
const maxWorkers = 64

func (o *Options) workers() int {
	if o.Workers < 1 {
		return runtime.GOMAXPROCS(0)
	}
	return min(o.Workers, maxWorkers)
}
