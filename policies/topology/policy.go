package topology

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"sim/engine"
	"sim/engine/flow"
)

// Policy is an allocator.
type Policy interface {
	// Choose decides on p. It ends early, with ctx's error, when ctx does.
	Choose(ctx context.Context, p *Problem, o Options) (*Decision, error)
}

// Options says how allocators decide. Everything but Workers may change what they decide.
type Options struct {
	Seed    uint64
	Workers int // goroutines, at least 1
	// PortTolerance is the fraction by which the makespan may grow over the best found when circuits are saved (DELTA,
	// Eq. 4, has 0).
	PortTolerance float64
	// KeepPorts leaves in place the circuits that the makespan does not need.
	KeepPorts bool
	// PortEvaluations bounds the search for fewer ports, as MaxEvaluations does that for a shorter makespan; 0 is
	// DefaultPortEvaluations.
	PortEvaluations int64
	// Service is how the workload will be simulated, where the scenario overrides the allocator's own; nil is the
	// allocator's own.
	Service *flow.Service
	// Tails lets delta-joint serve by other tails than the graph's own, which the caller then simulates with.
	Tails bool
	Fast  FastOptions
	Topo  SearchOptions
	Joint SearchOptions
	MILP  MILPOptions
	Fixed [][]int // circuits by pod and pod; the diagonal is to the twin pods
}

// SearchOptions bounds a search.
type SearchOptions struct {
	// MaxEvaluations is the number of topologies that may be simulated or bounded, for a graph of up to 10,000
	// dependencies; an evaluation of a larger graph counts as several, in proportion. 0 is no bound.
	MaxEvaluations int64
	Limit

	work int64 // where positive, the engine's work that may be done, as flow.Evaluator.Work counts it
}

// Limit ends a search at a time.
type Limit struct {
	// TimeLimit, where positive, makes the result depend on the machine; the decision says so.
	TimeLimit time.Duration

	deadline time.Time // set by started
}

// started returns the limit with its time running.
func (l Limit) started() Limit {
	if l.TimeLimit > 0 && l.deadline.IsZero() {
		l.deadline = time.Now().Add(l.TimeLimit)
	}
	return l
}

// late reports whether the time is over.
func (l *Limit) late() bool { return !l.deadline.IsZero() && time.Now().After(l.deadline) }

// within returns the one of two limits that ends first, m being started.
func (l Limit) within(m Limit) Limit {
	if l = l.started(); m.deadline.IsZero() || !l.deadline.IsZero() && l.deadline.Before(m.deadline) {
		return l
	}
	return m
}

// Started returns the options with all time limits running: what is decided with them from then on, however often, has
// one span in all.
func (o Options) Started() Options {
	o.Topo.Limit, o.Joint.Limit, o.Fast.Limit = o.Topo.started(), o.Joint.started(), o.Fast.started()
	return o
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
	Single bool     // it may decide for single jobs, where an arbiter of several lets it
}

// Table is the allocators by name, in the order in which they are listed.
var Table = []Row{
	{Name: "uniform", Doc: "as many circuits as fit, the same for every pod pair", Policy: uniform{}},
	{Name: "fixed", Doc: "the circuits that the scenario gives", Policy: fixed{}, Reads: []string{"fixed"}},
	{Name: "prop-alloc", Doc: "proportional to traffic volume (SiP-ML)", Policy: baseline{proportional}},
	{Name: "sqrt-alloc", Doc: "proportional to the square root of traffic volume", Policy: baseline{squareRoot}},
	{Name: "iter-halve", Doc: "one by one to the pair of highest weight, which is then halved (TopoOpt)", Policy: baseline{halving}},
	{Name: "delta-fast", Doc: "genetic search over topologies, each one simulated (DELTA, Algs. 3..6)", Policy: fast{}, Reads: []string{"delta-fast"}, Single: true},
	{Name: "delta-topo", Doc: "best topology under fair sharing, by bounded search", Policy: topo{}, Reads: []string{"delta-fast", "delta-topo"}, Single: true},
	{Name: "delta-joint", Doc: "best topology and rates together, with proof", Policy: joint{}, Reads: []string{"delta-fast", "delta-joint"}, Single: true},
	{Name: "delta-topo-milp", Doc: "delta-topo's model, solved by HiGHS or CBC (DELTA, Sec. III-B with Eq. 17)", Policy: milpPolicy{"delta-topo-milp", true, false}, Reads: []string{"delta-fast", "milp"}},
	{Name: "delta-topo-milp-hotstart", Doc: "the same, started from delta-fast's topology", Policy: milpPolicy{"delta-topo-milp-hotstart", true, true}, Reads: []string{"delta-fast", "milp"}},
	{Name: "delta-joint-milp", Doc: "delta-joint's model, solved by HiGHS or CBC (DELTA, Sec. III-B)", Policy: milpPolicy{"delta-joint-milp", false, false}, Reads: []string{"delta-fast", "delta-joint", "milp"}},
	{Name: "delta-joint-milp-hotstart", Doc: "the same, started from delta-joint's schedule", Policy: milpPolicy{"delta-joint-milp-hotstart", false, true}, Reads: []string{"delta-fast", "delta-joint", "milp"}},
}

// ByName returns the allocator of that name.
func ByName(name string) (Policy, error) {
	for _, r := range Table {
		if r.Name == name {
			return r.Policy, nil
		}
	}
	return nil, fmt.Errorf("topology: unknown allocator %q", name)
}

// service returns what to simulate with.
func (o *Options) service(own flow.Service) flow.Service {
	if o.Service != nil {
		return *o.Service
	}
	return own
}

// mostWorkers bounds the goroutines of a search: each holds a simulation's state.
const mostWorkers = 64

func (o *Options) workers() int {
	if o.Workers < 1 {
		return runtime.GOMAXPROCS(0)
	}
	return min(o.Workers, mostWorkers)
}

// AnyService names the model of bounds that hold however capacity is shared.
const AnyService = "any way of sharing, all topologies"

// FairService names the model of bounds that hold under max-min fair sharing.
const FairService = "max-min fair sharing, all topologies"
