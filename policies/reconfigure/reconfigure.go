// Package reconfigure decides when the optical switches of a scale-up domain reconfigure during an all-to-all, to which
// topologies, and which chunk crosses which link when.
//
// It is the table of planners and what they share: each problem is planned once for all reconfiguration delays, and
// "reconfigure-during+" takes from the others what it cannot better. The constructions are in its sub-packages; plans
// are simulated, and made into metrics, in scenarios.
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

// Row is a named planner, and what must be known of it where planners are chosen.
type Row struct {
	Name  string
	Doc   string   // one line
	Reads []string // tables of [policy] that it reads: its own options, and those of planners whose plans it may take
	Usual bool     // it is compared where nothing else is asked for
	// OneTopology keeps one topology, and lists all hops of all chunks on it. Packs does so where demand is not uniform.
	OneTopology, Packs bool
	// Sure has a plan of every problem, of however few topologies; as OneTopology has. Given takes what a file gives, and
	// so may have none of any problem.
	Sure, Given bool
	// Collective plans collectives other than all-to-alls; nil is of planners that do not.
	Collective func(*plan.Collective) ([]plan.Candidate, error)

	// Keeps is the topology that it keeps among so many GPUs of a degree, whatever the demand; nil is of others.
	Keeps func(gpus, degree int) scaleup.Topology

	// Direct plans send every chunk in one hop.
	Direct bool

	plan func(ctx context.Context, s *Planning) ([]plan.Candidate, error)
	// best, where it is not nil, is asked for the best plan where searches says so.
	best func(s *Planning, ctx context.Context, cost plan.Cost) (*plan.Candidate, error)
}

// ByName returns the planner of that name, nil if there is none.
func ByName(name string) *Row {
	if i := slices.IndexFunc(Table, func(r Row) bool { return r.Name == name }); i >= 0 {
		return &Table[i]
	}
	return nil
}

// ErrPlanner says that there is no planner of a name; ErrUnserved that one has no plan for a problem.
var (
	ErrPlanner  = errors.New("reconfigure: no such planner")
	ErrUnserved = errors.New("reconfigure: no plan")
)

// Planning plans one problem under some options, by every planner at most once. It is safe for concurrent use.
type Planning struct {
	Problem *plan.Problem
	Options Options
	table   []Row
	runs    []plannerRun // by row of table

	searchLock chan struct{} // taken by who uses search
	search     *plusSearch   // nil before it is asked, and after it was interrupted
}

type plannerRun struct {
	once.Value[planResult]
	elapsed atomic.Int64 // nanoseconds, until Took asks
}

type planResult struct {
	candidates []plan.Candidate
	frontier   []plan.Candidate // the Frontier of all
}

// NewPlanning plans p, which must pass its Check.
func NewPlanning(p *plan.Problem, o Options) (*Planning, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	return &Planning{Problem: p, Options: o, table: Table, runs: make([]plannerRun, len(Table)), searchLock: make(chan struct{}, 1)}, nil
}

// Candidates returns the best that the planner of that name offers: the Frontier of what it found. They must not be
// changed. Errors: ErrPlanner, ErrUnserved, the planner's own, and ctx's where it ends before the planner does.
func (s *Planning) Candidates(ctx context.Context, name string) ([]plan.Candidate, error) {
	p, err := s.plan(ctx, name)
	if err != nil {
		return nil, err
	}
	return p.frontier, nil
}

// Best returns the candidate of the lowest cost that the planner of that name offers, as plan.Best does of all.
// "reconfigure-during+" may plan only what may be best. Errors: those of Candidates, and plan.ErrNoCandidate where all cost
// plan.Never.
func (s *Planning) Best(ctx context.Context, name string, cost plan.Cost) (*plan.Candidate, error) {
	if i := slices.IndexFunc(s.table, func(r Row) bool { return r.Name == name && r.best != nil }); i >= 0 && s.usesSearch() {
		return s.table[i].best(s, ctx, cost)
	}
	list, err := s.Candidates(ctx, name)
	if err != nil {
		return nil, err
	}
	return plan.Best(list, cost)
}

// Took returns how long the planner of that name took to plan, to whoever asks first, and else 0: plans are made once,
// for whoever needs them first, and their time is to be counted once.
func (s *Planning) Took(name string) time.Duration {
	i := slices.IndexFunc(s.table, func(r Row) bool { return r.Name == name })
	if i < 0 {
		return 0
	}
	return time.Duration(s.runs[i].elapsed.Swap(0))
}

// row is the planner of that name, which there must be.
func (s *Planning) row(name string) *Row {
	return &s.table[slices.IndexFunc(s.table, func(r Row) bool { return r.Name == name })]
}

// plan has the planner of that name plan, unless it has.
func (s *Planning) plan(ctx context.Context, name string) (planResult, error) {
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
			err = fmt.Errorf("%w: %s finds none for %d GPUs of degree %d", ErrUnserved, name, s.Problem.GPUs, s.Problem.Degree)
		}
		o.frontier = plan.Frontier(o.candidates)
		return o, err
	})
}
