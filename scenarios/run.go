package scenarios

import (
	"context"
	"time"

	"sim/scenarios/assembly"
	"sim/scenarios/result"
)

// DefaultTimelineTasks is a number of tasks for RunOptions.TimelineTasks.
const DefaultTimelineTasks = assembly.DefaultTimelineTasks

// The options, the outcome and the cost of a run are those of package assembly.
type (
	RunOptions = assembly.Options
	Outcome    = assembly.Outcome
	PlanRow    = assembly.RateRow
	Cost       = assembly.Cost
)

// PreparedScenario is a scenario built, with its references simulated: what the decisions of all its policies have in common.
// It is safe for concurrent use.
type PreparedScenario struct {
	s *Scenario
	assembly.System
}

// Prepare builds s and simulates its references. It does not look at the policies. What a policy needs beside is looked
// for when it decides. It returns the context's error when ctx is cancelled.
func Prepare(ctx context.Context, s *Scenario) (*PreparedScenario, error) {
	return prepareScenario(ctx, s, 0)
}

// prepareScenario is Prepare with the context and the goroutines of what is decided there: a donor's topology, and plans of a
// collective. 0 is for one of many cells: one for a donor, and for plans, which cells wait for together, all
// processors.
func prepareScenario(ctx context.Context, s *Scenario, workers int) (_ *PreparedScenario, err error) {
	defer func() { err = assembly.ContextErrorOr(ctx, err) }()
	build := s.decision().build
	if s.isCall() {
		build = buildCallSystem
	}
	sys, err := build(ctx, s, workers)
	return &PreparedScenario{s, sys}, err
}

// document is the result of no policy.
func (p *PreparedScenario) document() result.Document {
	return result.Document{
		Schema: result.Schema, Scenario: p.s.Name, Digest: p.s.Digest(), Seed: p.s.Seed, Version: result.Version,
		Reference: p.Reference(),
	}
}

// Decide lets one policy decide, simulates its decision and measures it, as a row of Run's document: a policy that
// cannot serve the scenario has one that says so. It returns the context's error when ctx is cancelled, and fails where
// the simulation comes to no end, of which Run keeps a row.
func (p *PreparedScenario) Decide(ctx context.Context, policy string, workers int) (result.Row, result.PolicyTimings, error) {
	rows, timings, err := p.DecideFor(ctx, policy, workers, p.s)
	if err != nil {
		return result.Row{}, result.PolicyTimings{}, err
	}
	return rows[0], timings, nil
}

// DecideFor is Decide for scenarios of the same DecisionKey as that which was prepared: the policy decides and is
// simulated once, and each has a row.
func (p *PreparedScenario) DecideFor(ctx context.Context, policy string, workers int, scenarios ...*Scenario) ([]result.Row, result.PolicyTimings, error) {
	for _, s := range scenarios {
		if err := s.WithPolicy(policy).CheckSolvers(); err != nil {
			return nil, result.PolicyTimings{}, err
		}
	}
	a, err := assembly.Decide(ctx, p.System, policy, workers)
	if err == nil {
		err = a.Err
	}
	if err != nil {
		return nil, result.PolicyTimings{}, assembly.WrapPolicyError(policy, err)
	}
	rows := make([]result.Row, len(scenarios))
	for i, s := range scenarios {
		rows[i] = a.Row
		if a.RowFor != nil {
			rows[i] = a.RowFor(&s.Workload.Step)
		}
	}
	return rows, a.Timings, nil
}

// Run lets every policy of s decide and gathers the results, as assembly.Run does.
func Run(ctx context.Context, s *Scenario, opt RunOptions) (*Outcome, error) {
	begin := time.Now()
	if err := s.CheckSolvers(); err != nil {
		return nil, err
	}
	names := s.PolicyNames()
	if opt.Progress != nil {
		opt.Progress("reference", 0, len(names))
	}
	p, err := prepareScenario(ctx, s, opt.Workers)
	if err != nil {
		return nil, err
	}
	return assembly.Run(ctx, p.System, names, p.document(), s.Description(), begin, opt)
}
