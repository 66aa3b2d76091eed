// Package reconfigure plans when the optical switches of a scale-up domain reconfigure
// during an all-to-all, which topologies they form, and which chunk crosses which link at
// which time.
//
// A plan is a sequence of topologies and a schedule of the chunks on their links. The package
// has the table of planners, the algorithms that make plans. A PlannerSet runs them on one
// problem, each once for all reconfiguration delays. The planner "reconfigure-during+" also
// uses plans of other planners if they are better than its own. The constructions are in
// sub-packages. Package scenarios simulates plans and computes metrics.
//
// Begin reading at Table, PlannerSet and planPlus.
package reconfigure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"sim/fabric/scaleup"
	"sim/internal/once"
	"sim/policies/reconfigure/plan"
)

// Planner is a named algorithm that plans all-to-alls, with the properties by which callers
// select planners.
type Planner struct {
	Name string
	Doc  string // one line
	// OptionTables names the tables of [policy] that the planner reads: its own options, and
	// the options of other planners whose plans it may use.
	OptionTables []string
	IsDefault    bool // compared if the scenario lists no planners

	// HasOneTopology: plans of this planner use a single topology and list every hop of every
	// chunk.
	HasOneTopology bool
	// FixedTopology returns the topology of a planner with HasOneTopology if the topology does
	// not depend on the demand. Otherwise FixedTopology is nil.
	FixedTopology func(gpus, degree int) scaleup.Topology
	// ListsHopsIfUnequal: for unequal demand, the planner lists every hop of every chunk.
	ListsHopsIfUnequal bool
	// AlwaysHasPlan: the planner has a plan for every problem and for every limit of the number
	// of topologies. This also holds for planners with HasOneTopology.
	AlwaysHasPlan bool
	// IsImported: plans come from a file, which may contain none for a problem.
	IsImported bool
	// IsDirect: plans send each chunk over one hop.
	IsDirect bool

	// Collective plans collectives other than all-to-alls. It is nil if the planner does
	// not support them.
	Collective func(*plan.Collective) ([]plan.Candidate, error)

	// plan returns candidates for the problem of s.
	plan func(ctx context.Context, s *PlannerSet) ([]plan.Candidate, error)
	// searchBest returns the candidate with the lowest cost without computing all candidates.
	// It is used if PlannerSet.usesSearch returns true. It is nil for planners without such a
	// search.
	searchBest func(s *PlannerSet, ctx context.Context, cost plan.Cost) (*plan.Candidate, error)
}

// ByName returns the planner with the name, or nil if the name is unknown.
func ByName(name string) *Planner {
	if i := indexOf(Table, name); i >= 0 {
		return &Table[i]
	}
	return nil
}

// indexOf returns the index of the planner with the name in table, or -1 if it is not there.
func indexOf(table []Planner, name string) int {
	return slices.IndexFunc(table, func(p Planner) bool { return p.Name == name })
}

// ErrPlanner is returned for an unknown planner, ErrUnserved if a planner has no plan for a
// problem.
var (
	ErrPlanner  = errors.New("reconfigure: no such planner")
	ErrUnserved = errors.New("reconfigure: no plan")
)

// PlannerSet runs planners on one problem with given options. Each planner runs at most once. It
// is safe for concurrent use.
type PlannerSet struct {
	Problem *plan.Problem
	Options Options
	table   []Planner
	runs    []plannerRun // indexed as table

	// search holds the state of the search for the best plan of "reconfigure-during+". It is
	// nil before its first use, and after an interrupt. searchLock is a lock that a context can
	// interrupt: the channel holds an element while search is in use.
	search     *plusSearch
	searchLock chan struct{}
}

// plannerRun is the run of one planner, with its result.
type plannerRun struct {
	once.Value[planResult]              // its method Get computes the result at the first request
	elapsed                atomic.Int64 // duration of the run in nanoseconds; set to 0 by Took
}

// planResult is the result of a planner.
type planResult struct {
	candidates []plan.Candidate // all candidates, in the order of the planner
	frontier   []plan.Candidate // plan.Frontier of candidates, which drops dominated ones
}

// NewPlannerSet returns a PlannerSet for p. It returns the error of p.Check.
func NewPlannerSet(p *plan.Problem, o Options) (*PlannerSet, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	return &PlannerSet{Problem: p, Options: o, table: Table, runs: make([]plannerRun, len(Table)),
		searchLock: make(chan struct{}, 1)}, nil
}

// Candidates returns the plan.Frontier of the candidates of a planner, without the candidates that
// another one beats in both slots and topologies. The caller must not change them. The error is
// ErrPlanner, ErrUnserved, an error of the planner, or the error of ctx if ctx ends first.
func (s *PlannerSet) Candidates(ctx context.Context, name string) ([]plan.Candidate, error) {
	p, err := s.plan(ctx, name)
	if err != nil {
		return nil, err
	}
	return p.frontier, nil
}

// Best returns the candidate of a planner with the lowest cost. The result equals plan.Best
// of all candidates. "reconfigure-during+" does not always compute all of them: it may skip
// candidates whose lower bound exceeds the cost of another. Best returns the same errors as
// Candidates, and plan.ErrNoCandidate if all candidates cost plan.Never.
func (s *PlannerSet) Best(ctx context.Context, name string, cost plan.Cost) (*plan.Candidate, error) {
	i := indexOf(s.table, name)
	if i >= 0 && s.table[i].searchBest != nil && s.usesSearch() {
		return s.table[i].searchBest(s, ctx, cost)
	}
	list, err := s.Candidates(ctx, name)
	if err != nil {
		return nil, err
	}
	return plan.Best(list, cost)
}

// Took returns the duration of the planner's run. Later calls return 0: all callers share one
// run, so the sum over all callers counts it once.
func (s *PlannerSet) Took(name string) time.Duration {
	i := indexOf(s.table, name)
	if i < 0 {
		return 0
	}
	return time.Duration(s.runs[i].elapsed.Swap(0))
}

// planner returns the planner with the name, which must exist.
func (s *PlannerSet) planner(name string) *Planner {
	return &s.table[indexOf(s.table, name)]
}

// plan returns the result of a planner. The first call runs the planner; calls that arrive
// during the run wait for it.
func (s *PlannerSet) plan(ctx context.Context, name string) (planResult, error) {
	i := indexOf(s.table, name)
	if i < 0 {
		return planResult{}, fmt.Errorf("%w: %q", ErrPlanner, name)
	}
	run := &s.runs[i]
	return run.Get(ctx, func() (result planResult, err error) {
		begin := time.Now()
		defer func() { run.elapsed.Store(int64(time.Since(begin))) }()
		result.candidates, err = s.table[i].plan(ctx, s)
		if err == nil && len(result.candidates) == 0 {
			err = fmt.Errorf("%w: %s has no plan for %d GPUs of degree %d", ErrUnserved, name,
				s.Problem.GPUs, s.Problem.Degree)
		}
		result.frontier = plan.Frontier(result.candidates)
		return result, err
	})
}
