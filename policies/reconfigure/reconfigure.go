// Package reconfigure plans when the optical switches of a scale-up domain reconfigure
// during an all-to-all, which topologies they form, and which chunk crosses which link at
// which time.
//
// It has the table of planners. A PlannerSet plans one problem by any of them, once for all
// reconfiguration delays. The planner "reconfigure-during+" also uses plans of other
// planners if they are better than its own. The constructions are in sub-packages. Package
// scenarios simulates plans and computes metrics.
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

// Row is a named planner with the properties that the selection of planners needs.
type Row struct {
	Name string
	Doc  string // one line
	// Tables of [policy] that it reads: its own options, and the options of planners whose
	// plans it may use.
	Reads []string
	Usual bool // compared by default
	// OneTopology: it keeps one topology, and lists all hops of all chunks on it. Packs: it
	// lists them for unequal demand.
	OneTopology, Packs bool
	// Sure: it has a plan for every problem and each maximum number of topologies; so has
	// OneTopology. Given: it takes plans from a file, so it may have none for a problem.
	Sure, Given bool
	// Collective plans collectives other than all-to-alls. It is nil if the planner does
	// not support them.
	Collective func(*plan.Collective) ([]plan.Candidate, error)

	// Keeps returns the topology of a planner with OneTopology if it does not depend on the
	// demand, else it is nil.
	Keeps func(gpus, degree int) scaleup.Topology

	// Direct: its plans send each chunk in one hop.
	Direct bool

	plan func(ctx context.Context, s *PlannerSet) ([]plan.Candidate, error)
	// best returns the best plan for a cost if PlannerSet.usesSearch. It is nil for planners
	// that compute all candidates.
	best func(s *PlannerSet, ctx context.Context, cost plan.Cost) (*plan.Candidate, error)
}

// ByName returns the planner with the name, or nil if the name is unknown.
func ByName(name string) *Row {
	if i := slices.IndexFunc(Table, func(r Row) bool { return r.Name == name }); i >= 0 {
		return &Table[i]
	}
	return nil
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
	table   []Row
	runs    []plannerRun // indexed as table

	searchLock chan struct{} // holds an element while search is in use
	// search is nil before its first use, and after an interrupt.
	search *plusSearch
}

// plannerRun is the run of one planner, with its result.
type plannerRun struct {
	once.Value[planResult]
	elapsed atomic.Int64 // nanoseconds; set to 0 by Took
}

// planResult has all candidates of a planner, and their plan.Frontier.
type planResult struct {
	candidates []plan.Candidate
	frontier   []plan.Candidate
}

// NewPlannerSet returns a PlannerSet for p. It returns the error of p.Check.
func NewPlannerSet(p *plan.Problem, o Options) (*PlannerSet, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	return &PlannerSet{Problem: p, Options: o, table: Table, runs: make([]plannerRun, len(Table)),
		searchLock: make(chan struct{}, 1)}, nil
}

// Candidates returns the plan.Frontier of the candidates of a planner. They must not be
// changed. The error is ErrPlanner, ErrUnserved, an error of the planner, or the error of
// ctx if it ends first.
func (s *PlannerSet) Candidates(ctx context.Context, name string) ([]plan.Candidate, error) {
	p, err := s.plan(ctx, name)
	if err != nil {
		return nil, err
	}
	return p.frontier, nil
}

// Best returns the candidate of a planner with the lowest cost, as plan.Best of all
// candidates does. "reconfigure-during+" may plan only candidates that can be best. It
// returns the same errors as Candidates, and plan.ErrNoCandidate if all candidates cost
// plan.Never.
func (s *PlannerSet) Best(ctx context.Context, name string, cost plan.Cost) (*plan.Candidate, error) {
	if i := slices.IndexFunc(s.table, func(r Row) bool { return r.Name == name && r.best != nil }); i >= 0 && s.usesSearch() {
		return s.table[i].best(s, ctx, cost)
	}
	list, err := s.Candidates(ctx, name)
	if err != nil {
		return nil, err
	}
	return plan.Best(list, cost)
}

// Took returns the time that the planner took in its run, and 0 in later calls. Plans are
// computed once for all callers, so their time must be counted once.
func (s *PlannerSet) Took(name string) time.Duration {
	i := slices.IndexFunc(s.table, func(r Row) bool { return r.Name == name })
	if i < 0 {
		return 0
	}
	return time.Duration(s.runs[i].elapsed.Swap(0))
}

// row returns the planner with the name, which must exist.
func (s *PlannerSet) row(name string) *Row {
	return &s.table[slices.IndexFunc(s.table, func(r Row) bool { return r.Name == name })]
}

// plan returns the result of a planner, which it runs on the first call.
func (s *PlannerSet) plan(ctx context.Context, name string) (planResult, error) {
	i := slices.IndexFunc(s.table, func(r Row) bool { return r.Name == name })
	if i < 0 {
		return planResult{}, fmt.Errorf("%w: %q", ErrPlanner, name)
	}
	p := &s.runs[i]
	return p.Get(ctx, func() (o planResult, err error) {
		begin := time.Now()
		defer func() { p.elapsed.Store(int64(time.Since(begin))) }()
		o.candidates, err = s.table[i].plan(ctx, s)
		if err == nil && len(o.candidates) == 0 {
			err = fmt.Errorf("%w: %s has no plan for %d GPUs of degree %d", ErrUnserved, name,
				s.Problem.GPUs, s.Problem.Degree)
		}
		o.frontier = plan.Frontier(o.candidates)
		return o, err
	})
}
