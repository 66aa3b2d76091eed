package topology

import (
	"context"
	"fmt"

	"sim/engine"
	"sim/engine/flow"
)

// Policy is an allocator.
type Policy interface {
	// Choose decides on p. It ends early, with ctx's error, when ctx does.
	Choose(ctx context.Context, p *Problem, o Options) (*Decision, error)
}

// Decision is what an allocator chose.
type Decision struct {
	Circuits []int        // by bundle
	Service  flow.Service // to simulate the workload with
	// Tails is what its levels go by, in ticks by task, where Options.Tails allows; nil is the graph's own tails.
	Tails    []float64
	Makespan engine.Time // of the problem's graph
	// Bound is a lower bound on the makespan in BoundModel, computed independently of the choice; 0 where the allocator
	// seeks none.
	Bound      engine.Time
	BoundModel string
	// Limit is the makespan within which ports were saved, 0 where none were; PortsBound the ports that every topology
	// needs which keeps it, 0 where not known: in simulation under Service, or however capacity is shared if FreeRates,
	// as rates are the allocator's to choose then.
	Limit       engine.Time
	PortsBound  int
	FreeRates   bool
	Evaluations int64         // topologies simulated or bounded
	Searched    bool          // circuits were chosen by simulating, and those not needed given back
	Solver      *SolverReport // of a decision that a MILP solver made; else nil
	Stopped     string        // why the search ended before its own end; "" if it did not
	Moves       *Moves        // of circuits that may change in the iteration; else nil
}

// Gap returns (makespan - bound) / bound, and false where there is no bound.
func (d *Decision) Gap() (float64, bool) {
	if d.Bound <= 0 {
		return 0, false
	}
	return float64(d.Makespan-d.Bound) / float64(d.Bound), true
}

// Row is a named allocator.
type Row struct {
	Name   string
	Doc    string // one line
	Policy Policy
	Reads  []string // tables of [policy] that it reads: its own options, and those of what it falls back on
	// Single allocators give back circuits that the makespan does not need: they may decide for single jobs among
	// several, and leave ports to another job.
	Single bool
	Moves  bool // circuits may move in the iteration
	// Clocked are those whose circuits move at times, not after transfers.
	Clocked      bool
	Given        bool                          // circuits are the scenario's
	choosesRates bool                          // it decides on rates too, which others leave to fair sharing
	needsSolver  bool                          // it needs a MILP solver
	timeLimit    func(s *Settings) engine.Time // of its search; nil of none
}

// Searches reports whether it simulates or bounds topologies to choose one, which takes longer the more bundles there
// are.
func (r *Row) Searches() bool { return r.Single || r.needsSolver }

// Timed reports whether it has a time limit, within which it looks for what allocators share, too.
func (r *Row) Timed(s *Settings) bool { return r.timeLimit != nil && r.timeLimit(s) > 0 }

// Rates reports whether it may decide on rates too, which its decision then comes with.
func (r *Row) Rates(s *Settings) bool {
	return s.serviceOr(flow.MaxMin) != flow.MaxMin || s.Service == "" && r.choosesRates
}

// Available fails, with an error that says how to help, where it needs a program that is not there.
func (r *Row) Available(s *Settings) error {
	if !r.needsSolver {
		return nil
	}
	return s.MILP.available()
}

// Table is the allocators by name, in the order in which they are listed.
var Table = []Row{
	{Name: "uniform", Doc: "as many circuits as fit, the same for every pod pair", Policy: uniformAllocator{}},
	{Name: "fixed", Doc: "the circuits that the scenario gives", Policy: fixedAllocator{}, Reads: []string{"fixed"}, Given: true},
	{Name: "prop-alloc", Doc: "proportional to traffic volume (SiP-ML)", Policy: baselineAllocator{proportional}},
	{Name: "sqrt-alloc", Doc: "proportional to the square root of traffic volume", Policy: baselineAllocator{squareRoot}},
	{Name: "iter-halve", Doc: "one by one to the pair of highest weight, which is then halved (TopoOpt)", Policy: baselineAllocator{iterativeHalving}},
	{Name: "delta-fast", Doc: "genetic search over topologies, each one simulated (DELTA, Algs. 3..6)", Policy: fastAllocator{}, Reads: []string{"delta-fast"}, Single: true, timeLimit: func(s *Settings) engine.Time { return s.Fast.TimeLimit }},
	{Name: "delta-topo", Doc: "best topology under fair sharing, by bounded search", Policy: topoAllocator{}, Reads: []string{"delta-fast", "delta-topo"}, Single: true, timeLimit: func(s *Settings) engine.Time { return s.Topo.TimeLimit }},
	{Name: "delta-joint", Doc: "best topology and rates together, with proof", Policy: jointAllocator{}, Reads: []string{"delta-fast", "delta-joint"}, Single: true, choosesRates: true, timeLimit: func(s *Settings) engine.Time { return s.Joint.TimeLimit }},
	{Name: "delta-during", Doc: "topologies that follow each other in an iteration, with when each circuit moves", Policy: duringAllocator{}, Reads: []string{"delta-during", "delta-fast", "delta-joint", "delta-topo", "switching"}, choosesRates: true, Moves: true},
	{Name: "demand-matched", Doc: "whenever a pod pair has carried its last transfer, circuits by the traffic that is left, greedily", Policy: ruleAllocator{demandMatched}, Reads: []string{"switching"}, Moves: true},
	{Name: "mixnet-during", Doc: "for layer after layer circuits by its traffic matrix, greedily (after MixNet)", Policy: ruleAllocator{mixnet}, Reads: []string{"mixnet-during", "switching"}, Moves: true},
	{Name: "rotor", Doc: "a fixed rotation of matchings of pods, for whose circuits transfers wait (after RotorNet and Opera)", Policy: ruleAllocator{rotor}, Reads: []string{"rotor", "switching"}, Moves: true, Clocked: true},
	{Name: "delta-topo-milp", Doc: "delta-topo's model, solved by HiGHS or CBC (DELTA, Sec. III-B with Eq. 17)", Policy: milpAllocator{"delta-topo-milp", true, false}, Reads: []string{"delta-fast", "milp"}, needsSolver: true},
	{Name: "delta-topo-milp-hotstart", Doc: "the same, started from delta-fast's topology", Policy: milpAllocator{"delta-topo-milp-hotstart", true, true}, Reads: []string{"delta-fast", "milp"}, needsSolver: true},
	{Name: "delta-joint-milp", Doc: "delta-joint's model, solved by HiGHS or CBC (DELTA, Sec. III-B)", Policy: milpAllocator{"delta-joint-milp", false, false}, Reads: []string{"delta-fast", "delta-joint", "milp"}, choosesRates: true, needsSolver: true},
	{Name: "delta-joint-milp-hotstart", Doc: "the same, started from delta-joint's schedule", Policy: milpAllocator{"delta-joint-milp-hotstart", false, true}, Reads: []string{"delta-fast", "delta-joint", "milp"}, choosesRates: true, needsSolver: true},
}

// Usual returns the allocators that are compared unless others are named, or the one under which other decisions are.
func Usual(one bool) []string {
	if one {
		return []string{"delta-fast"}
	}
	return []string{"prop-alloc", "sqrt-alloc", "iter-halve", "delta-fast", "delta-topo", "delta-joint"}
}

// Find returns the allocator of that name.
func Find(name string) (*Row, error) {
	for i := range Table {
		if Table[i].Name == name {
			return &Table[i], nil
		}
	}
	return nil, fmt.Errorf("topology: unknown allocator %q", name)
}

// AnyService names the model of bounds that hold however capacity is shared.
const AnyService = "any way of sharing, all topologies"

// FairService names the model of bounds that hold under max-min fair sharing.
const FairService = "max-min fair sharing, all topologies"
