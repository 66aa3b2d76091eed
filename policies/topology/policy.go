package topology

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/engine/flow"
)

// Policy is an allocator.
type Policy interface {
	// Choose returns a decision for p. It returns the error of ctx if ctx is cancelled.
	Choose(ctx context.Context, p *Problem, o Options) (*Decision, error)
}

// Decision is the result of an allocator.
type Decision struct {
	Circuits []int        // indexed by bundle; the first topology of a sequence if circuits move
	Service  flow.Service // with which the workload must be simulated
	// Tails defines the levels of transfers, in ticks, indexed by task. nil means the
	// tails of the graph. It is set only if Options.Tails permits it.
	Tails    []float64
	Makespan engine.Time // of the task graph of the problem
	// Bound is a lower bound on the makespan for the decisions described by BoundModel.
	// It does not depend on the chosen topology. 0 means the allocator computes no bound.
	Bound      engine.Time
	BoundModel string
	// Limit is the maximum makespan permitted while ports were minimised; 0 if they were
	// not.
	//
	// PortsBound is a lower bound on the ports of every topology whose makespan is at
	// most Limit; 0 if unknown. If FreeRates is false, the makespan is the one simulated
	// under Service. If FreeRates is true, the allocator also chooses rates, and
	// PortsBound holds for any sharing of capacity.
	Limit       engine.Time
	PortsBound  int
	FreeRates   bool
	Evaluations int64         // number of topologies simulated or bounded
	Searched    bool          // the allocator simulated topologies and minimised ports
	Solver      *SolverReport // report of the MILP solver; nil for other allocators
	Stopped     string        // reason why the search ended early; "" if it completed
	Moves       *Moves        // changes of circuits during the iteration; nil if the allocator makes none
}

// Gap returns (makespan - bound) / bound. It returns false if there is no bound.
func (d *Decision) Gap() (float64, bool) {
	if d.Bound <= 0 {
		return 0, false
	}
	return float64(d.Makespan-d.Bound) / float64(d.Bound), true
}

// Row is an entry of Table: a named allocator and its properties.
type Row struct {
	Name   string
	Doc    string // description of one line
	Policy Policy
	// Reads lists the tables of [policy] whose keys affect the allocator, including keys
	// of allocators that it calls.
	Reads []string
	// Single is true for searching allocators that minimise ports. They can decide for
	// single jobs under multi-job allocators, and lend ports to another job.
	Single bool
	Moves  bool // circuits can move during the iteration
	// Clocked is true if circuits move at fixed times rather than after transfers.
	Clocked      bool
	Given        bool                          // the scenario gives the circuits
	choosesRates bool                          // it chooses rates by default; other allocators use fair sharing
	needsSolver  bool                          // it calls a MILP solver
	timeLimit    func(s *Settings) engine.Time // time limit of its search; nil if it has none
}

// Searches reports whether the allocator simulates or bounds topologies. Its running time
// then grows with the number of bundles.
func (r *Row) Searches() bool { return r.Single || r.needsSolver }

// HasTimeLimit reports whether a time limit is set for the allocator. The limit also covers the
// shared bound.
func (r *Row) HasTimeLimit(s *Settings) bool { return r.timeLimit != nil && r.timeLimit(s) > 0 }

// ChoosesRates reports whether the allocator also chooses rates, that is, a service other than
// max-min.
func (r *Row) ChoosesRates(s *Settings) bool {
	return s.serviceOr(flow.MaxMin) != flow.MaxMin || s.Service == "" && r.choosesRates
}

// Available returns an error that explains what to install if the allocator needs a
// program that is not on the PATH.
func (r *Row) Available(s *Settings) error {
	if !r.needsSolver {
		return nil
	}
	return s.MILP.available()
}

// Table lists the allocators in the order of the documentation.
var Table = []Row{
	{Name: "uniform", Doc: "equally many circuits for every pod pair, as many as fit",
		Policy: uniformAllocator{}},
	{Name: "fixed", Doc: "the circuits in the scenario", Policy: fixedAllocator{},
		Reads: []string{"fixed"}, Given: true},
	{Name: "prop-alloc", Doc: "proportional to traffic volume (SiP-ML)",
		Policy: baselineAllocator{proportional}},
	{Name: "sqrt-alloc", Doc: "proportional to the square root of traffic volume",
		Policy: baselineAllocator{squareRoot}},
	{Name: "iter-halve", Doc: "one by one to the pair with the highest weight, which is then halved (TopoOpt)", Policy: baselineAllocator{iterativeHalving}},
	{Name: "delta-fast", Doc: "genetic search over topologies, each one simulated (DELTA, Algs. 3..6)",
		Policy: fastAllocator{}, Reads: []string{"delta-fast"}, Single: true,
		timeLimit: func(s *Settings) engine.Time { return s.Fast.TimeLimit }},
	{Name: "delta-topo", Doc: "best topology under fair sharing, by bounded search",
		Policy: topoAllocator{}, Reads: []string{"delta-fast", "delta-topo"}, Single: true,
		timeLimit: func(s *Settings) engine.Time { return s.Topo.TimeLimit }},
	{Name: "delta-joint", Doc: "best topology and rates together, with proof", Policy: jointAllocator{},
		Reads: []string{"delta-fast", "delta-joint"}, Single: true, choosesRates: true,
		timeLimit: func(s *Settings) engine.Time { return s.Joint.TimeLimit }},
	{Name: "delta-during", Doc: "a sequence of topologies in an iteration, with the event at which each circuit moves", Policy: duringAllocator{}, Reads: []string{"delta-during", "delta-fast", "delta-joint", "delta-topo", "switching"}, choosesRates: true, Moves: true},
	{Name: "demand-matched", Doc: "greedy circuits for the remaining traffic, whenever a pod pair has carried its last transfer", Policy: ruleAllocator{demandMatched}, Reads: []string{"switching"}, Moves: true},
	{Name: "mixnet-during", Doc: "greedy circuits for the traffic matrix of one layer after another (after MixNet)", Policy: ruleAllocator{mixnet}, Reads: []string{"mixnet-during", "switching"}, Moves: true},
	{Name: "rotor", Doc: "a fixed rotation of matchings of pods; transfers wait for a circuit (after RotorNet and Opera)", Policy: ruleAllocator{rotor}, Reads: []string{"rotor", "switching"}, Moves: true, Clocked: true},
	{Name: "delta-topo-milp", Doc: "delta-topo's model, solved by HiGHS or CBC (DELTA, Sec. III-B with Eq. 17)", Policy: milpAllocator{name: "delta-topo-milp", isFair: true, hotStart: false}, Reads: []string{"delta-fast", "milp"}, needsSolver: true},
	{Name: "delta-topo-milp-hotstart", Doc: "the same, started from delta-fast's topology",
		Policy: milpAllocator{name: "delta-topo-milp-hotstart", isFair: true, hotStart: true},
		Reads:  []string{"delta-fast", "milp"}, needsSolver: true},
	{Name: "delta-joint-milp", Doc: "delta-joint's model, solved by HiGHS or CBC (DELTA, Sec. III-B)",
		Policy: milpAllocator{name: "delta-joint-milp", isFair: false, hotStart: false},
		Reads:  []string{"delta-fast", "delta-joint", "milp"}, choosesRates: true, needsSolver: true},
	{Name: "delta-joint-milp-hotstart", Doc: "the same, started from delta-joint's schedule",
		Policy: milpAllocator{name: "delta-joint-milp-hotstart", isFair: false, hotStart: true},
		Reads:  []string{"delta-fast", "delta-joint", "milp"}, choosesRates: true, needsSolver: true},
}

// DefaultAllocators returns the allocators that are compared by default. If one is true, it returns
// the single allocator used when other decisions are compared.
func DefaultAllocators(one bool) []string {
	if one {
		return []string{"delta-fast"}
	}
	return []string{"prop-alloc", "sqrt-alloc", "iter-halve", "delta-fast", "delta-topo", "delta-joint"}
}

// Find returns the allocator with the given name.
func Find(name string) (*Row, error) {
	for i := range Table {
		if Table[i].Name == name {
			return &Table[i], nil
		}
	}
	return nil, fmt.Errorf("topology: unknown allocator %q", name)
}

// AnyService is the BoundModel of bounds that hold for any sharing of capacity.
const AnyService = "any way of sharing, all topologies"

// FairService is the BoundModel of bounds that hold for max-min fair sharing.
const FairService = "max-min fair sharing, all topologies"
