// This file runs scenarios: it builds the system of a scenario and lets policies decide.

package scenarios

import (
	"context"
	"time"

	"sim/policies/mapping"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
)

// TimelineOptions selects the tasks of timelines.
type TimelineOptions = assembly.TimelineOptions

// DefaultTimelineTasks is the usual value of TimelineOptions.Tasks.
const DefaultTimelineTasks = assembly.DefaultTimelineTasks

// RunOptions, Outcome, RateRow, Cost and Budget are types of package assembly that callers of
// Run need.
type (
	RunOptions = assembly.Options
	Outcome    = assembly.Outcome
	RateRow    = assembly.RateRow
	Cost       = assembly.Cost
	Budget     = assembly.Budget
)

// DefaultBudget is the budget of a simulation without SetBudget.
var DefaultBudget = assembly.DefaultBudget

// SetBudget replaces the memory and time that a simulation may take. It must be called before
// scenarios are loaded.
func SetBudget(b Budget) { assembly.SetBudget(b) }

// PreparedScenario is a scenario whose system is built and whose reference simulations are
// done. The decisions of all its policies share it. It is safe for concurrent use.
type PreparedScenario struct {
	s *Scenario
	assembly.System
}

// Prepare builds the system of s and simulates its references. It does not run the
// policies; each searches for further things that it needs when it decides. Prepare returns
// the context's error if ctx is cancelled.
func Prepare(ctx context.Context, s *Scenario) (*PreparedScenario, error) {
	return prepareScenario(ctx, s, oneOfManyCells)
}

// oneOfManyCells is the number of workers of a scenario that is a cell of a sweep. The
// topology of a port-lending job then uses one goroutine. Plans use all processors, since
// cells wait for them together.
const oneOfManyCells = 0

// prepareScenario is Prepare with a number of goroutines for decisions that are made there:
// the topology of a port-lending job, and plans of a collective.
func prepareScenario(ctx context.Context, s *Scenario, workers int) (_ *PreparedScenario, err error) {
	defer func() { err = assembly.ContextErrorOr(ctx, err) }()

	// A collective call is always built by buildCallSystem, even if it names its algorithm
	// and compares the policies of the fabric.
	build := s.decision().build
	if s.isCall() {
		build = buildCallSystem
	}
	sys, err := build(ctx, s, workers)
	return &PreparedScenario{s, sys}, err
}

// document returns the result without rows.
func (p *PreparedScenario) document() result.Document {
	return result.Document{
		Schema:    result.Schema,
		Scenario:  p.s.Name,
		Digest:    p.s.Digest(),
		Seed:      p.s.Seed,
		Version:   result.Version,
		Reference: p.Reference(),
	}
}

// Decide lets one policy decide, simulates its decision and measures it. The result is a
// row of Run's document; the row of a policy that cannot serve the scenario holds the
// reason. Decide returns the context's error if ctx is cancelled. It fails if the
// simulation does not terminate, while Run records a row for that case.
func (p *PreparedScenario) Decide(
	ctx context.Context, policy string, workers int,
) (result.Row, result.PolicyTimings, error) {
	rows, timings, err := p.DecideFor(ctx, policy, workers, p.s)
	if err != nil {
		return result.Row{}, result.PolicyTimings{}, err
	}
	return rows[0], timings, nil
}

// DecideFor is Decide for scenarios with the same DecisionKey as the prepared one. The
// policy decides and is simulated once, and each scenario gets a row.
func (p *PreparedScenario) DecideFor(
	ctx context.Context, policy string, workers int, scenarios ...*Scenario,
) ([]result.Row, result.PolicyTimings, error) {
	// Each scenario needs the solvers of its policy.
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

	// The rows differ only in the measures that [workload.step] determines.
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

	// Report progress from the first reference simulation on.
	names := s.PolicyNames()
	if opt.Progress != nil {
		const done = 0 // policies
		opt.Progress("reference", done, len(names))
	}
	p, err := prepareScenario(ctx, s, opt.Workers)
	if err != nil {
		return nil, err
	}
	o, err := assembly.Run(ctx, p.System, names, p.document(), s.Description(), begin, opt)
	if o != nil && s.canMapRanks() && !s.hasSeveralJobs() && s.Policy.Mapping.IsSet() {
		o.Detail.ReferenceNote = "the ideal fabric has the ranks in the default order, " + mapping.Default
	}
	return o, err
}
