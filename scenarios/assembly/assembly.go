// Package assembly is what all compositions have in common: work on hardware is a System that leaves one decision open,
// policies close it one after another, and what each decides is simulated and measured. It knows no workload, fabric or
// policy by name; systems are made in the packages below it, one for each decision that hardware leaves open:
//
//   - circuits, between pods (allocators, and arbiters of several jobs);
//   - paths, over links (routers);
//   - plans, of topologies and what is sent over them (planners).
//
// Package scenarios makes systems of what files say, and runs them.
package assembly

import (
	"context"

	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
)

// System is work on hardware, with a decision left open. It is safe for concurrent use.
type System interface {
	// Reference returns the metrics of what policies are compared with.
	Reference() map[string]float64
	// Begin adds to an outcome what does not depend on policies.
	Begin(ctx context.Context, o *Outcome) error
	// Decide lets one policy decide, simulates its decision at the system's level and measures it.
	Decide(ctx context.Context, policy string, workers int) (Answer, error)
}

// Answer is a decision that was simulated and measured.
type Answer interface {
	Measured() (result.Row, result.PolicyTimings)
	// Describe adds to an outcome what figures, explanations and exports need, or part of it where ctx ends.
	Describe(ctx context.Context, o *Outcome)
}

// Composed is an answer whose job can be simulated again under its decision.
type Composed interface {
	Run() *composition.Run
}

// Failing is an answer whose simulation may have come to no end.
type Failing interface {
	Failure() error // nil where it ended
}

// Failure returns why the simulation of an answer came to no end, nil where it did.
func Failure(a Answer) error {
	if f, ok := a.(Failing); ok {
		return f.Failure()
	}
	return nil
}

// OrEnded returns ctx's error in place of err where ctx has ended: what is wrong then, or seems right, may be its
// doing.
func OrEnded(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	return err
}

// Ended asks whether ctx has, once in so many steps of a loop.
func Ended(ctx context.Context, step int) bool { return step&(1<<10-1) == 0 && ctx.Err() != nil }

// TickSeconds is what rounding to ticks may add to a transfer.
const TickSeconds = 2e-12
