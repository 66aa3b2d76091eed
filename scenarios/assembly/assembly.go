// Package assembly has the types that the systems of all workloads and fabrics share.
//
// A System is work on hardware with one open decision. Policies make this decision one
// after another. Each decision is simulated and measured, which yields a PolicyResult.
// Run collects the results of all policies in an Outcome.
//
// The package names no workload, fabric or policy. The packages below it build systems,
// one package per kind of decision:
//
//   - circuits: circuits between pods, by allocators and multi-job allocators;
//   - paths: paths over links, by routers;
//   - plans: plans of topologies and transmissions, by planners;
//   - calls: algorithms of collective calls, on top of the other systems.
//
// Package scenarios builds systems from scenario files and runs them. Start reading with
// System, PolicyResult and Run.
package assembly

import (
	"context"
	"math"

	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
	"sim/scenarios/schema"
)

// System is work on hardware with one open decision. It is safe for concurrent use.
type System interface {
	// Reference returns the metrics of the reference that policies are compared with.
	Reference() map[string]float64
	// Begin adds the data that does not depend on policies to an outcome.
	Begin(ctx context.Context, o *Outcome) error
	// Decide calls one policy, simulates its decision at the system's level and measures
	// it, except for the metrics that PolicyResult.Finish adds. It may return nil if the
	// work provably takes longer than limit seconds.
	Decide(ctx context.Context, policy string, workers int, limit float64) (*PolicyResult, error)
}

// PolicyResult is the row of one policy, with functions that measure and describe its
// decision further. A system that wraps another one may change the fields.
type PolicyResult struct {
	Row     result.Row
	Timings result.PolicyTimings
	// Err is the reason why the simulation did not complete; nil if it did.
	Err error
	// Rejection returns the diagnostic of an input that the policy cannot serve; nil if
	// it serves it. Row then has only a label with the reason. The input is invalid if no
	// policy can serve it.
	Rejection func() schema.Diagnostic
	// Finish adds the metrics that need further simulations; nil if there are no such
	// metrics.
	Finish func(ctx context.Context) error
	// Describe adds the data of figures, explanations and exports to an outcome, or part
	// of it if ctx is cancelled.
	Describe func(ctx context.Context, o *Outcome)
	// Run is the simulated job with its decision, for measures that simulate it again;
	// nil if there is no single run.
	Run *composition.Run
	// RowFor returns the row of a scenario that differs only in the given step (an
	// *input.Step, the training step that a collective call is part of). It is nil if the
	// row does not depend on such a step.
	RowFor func(step any) result.Row
	// MaxLoad is the maximum number of messages on a link, if sources adapt their rates to
	// it; else 0. DelayAt then simulates the sources at the rates of another maximum, and
	// returns nil if no packet arrives. DelayAt is nil for other sources.
	MaxLoad float64
	DelayAt func(load float64) (*result.Delay, error)
}

// AddMeasure appends a measure to Finish.
func (a *PolicyResult) AddMeasure(measure func(ctx context.Context) error) {
	previous := a.Finish
	a.Finish = func(ctx context.Context) error {
		if previous != nil {
			if err := previous(ctx); err != nil {
				return err
			}
		}
		return measure(ctx)
	}
}

// Decide calls one policy on a system without a time limit, and adds all metrics.
func Decide(ctx context.Context, s System, policy string, workers int) (*PolicyResult, error) {
	a, err := s.Decide(ctx, policy, workers, math.Inf(1))
	if err == nil && a.Finish != nil {
		err = a.Finish(ctx)
	}
	return a, ContextErrorOr(ctx, err)
}

// RejectedResult returns the result of a policy that cannot serve the scenario, with the
// reason.
func RejectedResult(name, reason string, diagnostic func() schema.Diagnostic) *PolicyResult {
	return &PolicyResult{
		Row: result.Row{
			Policy:  name,
			Metrics: map[string]float64{},
			Labels:  map[string]string{"unserved": reason},
		},
		Rejection: diagnostic,
		Describe: func(_ context.Context, o *Outcome) {
			o.Detail.Policies = append(o.Detail.Policies, result.Simulation{Policy: name})
		},
	}
}

// ContextErrorOr returns the error of ctx if ctx is cancelled, and err otherwise. After a
// cancellation, err may be only a consequence of it.
func ContextErrorOr(ctx context.Context, err error) error {
	if cancelled := ctx.Err(); cancelled != nil {
		return cancelled
	}
	return err
}

// Cancelled reports whether ctx is cancelled. To save time, it checks ctx only in every
// 1024th step of a loop.
func Cancelled(ctx context.Context, step int) bool { return step%1024 == 0 && ctx.Err() != nil }

// TickSeconds is the maximum time in seconds that rounding to ticks adds to a transfer:
// two ticks of a picosecond, one at its start and one at its end.
const TickSeconds = 2e-12
