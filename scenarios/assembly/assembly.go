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
	"math"

	"sim/scenarios/assembly/composition"
	"sim/scenarios/result"
	"sim/scenarios/schema"
)

// System is work on hardware, with a decision left open. It is safe for concurrent use.
type System interface {
	// Reference returns the metrics of what policies are compared with.
	Reference() map[string]float64
	// Begin adds to an outcome what does not depend on policies.
	Begin(ctx context.Context, o *Outcome) error
	// Decide lets one policy decide, simulates its decision at the system's level and measures it, but for what
	// Answer.Finish adds. It may return nil if the work provably takes longer than limit seconds.
	Decide(ctx context.Context, policy string, workers int, limit float64) (*Answer, error)
}

// Answer is one row and everything that follows from it. Systems around a system change its fields.
type Answer struct {
	Row     result.Row
	Timings result.PolicyTimings
	// Failed is why the simulation came to no end; nil if it did.
	Failed error
	// Fault returns the fault of an input that the policy cannot serve; nil if it can. Row then has only a label that says
	// why. Where no policy can serve an input it is at fault.
	Fault func() schema.Diagnostic
	// Finish measures what needs further simulations; nil if there is nothing.
	Finish func(ctx context.Context) error
	// Describe adds to an outcome what figures, explanations and exports need, or part of it where ctx ends.
	Describe func(ctx context.Context, o *Outcome)
	// Run is what was simulated, for measures that simulate it again; nil if it is not a job under one decision.
	Run *composition.Run
	// RowFor returns the row of a scenario that differs in nothing but the step that is given; nil if there are none.
	RowFor func(step any) result.Row
	// Load is what the most loaded link carries, in messages, if sources keep to it. DelayAt then simulates the traffic as
	// if that link carried so much, and returns nil if no packet arrives. DelayAt is nil for other sources.
	Load    float64
	DelayAt func(load float64) (*result.Delay, error)
}

// Then adds measures behind those of Finish.
func (a *Answer) Then(more func(ctx context.Context) error) {
	before := a.Finish
	a.Finish = func(ctx context.Context) error {
		if before != nil {
			if err := before(ctx); err != nil {
				return err
			}
		}
		return more(ctx)
	}
}

// Decide lets one policy decide on a system, however long the work takes, and measures all of it.
func Decide(ctx context.Context, s System, policy string, workers int) (*Answer, error) {
	a, err := s.Decide(ctx, policy, workers, math.Inf(1))
	if err == nil && a.Finish != nil {
		err = a.Finish(ctx)
	}
	return a, OrEnded(ctx, err)
}

// NoAnswer is the answer of the policy of that name, which cannot serve the scenario for some reason.
func NoAnswer(name, why string, fault func() schema.Diagnostic) *Answer {
	return &Answer{
		Row:   result.Row{Policy: name, Metrics: map[string]float64{}, Labels: map[string]string{"unserved": why}},
		Fault: fault,
		Describe: func(_ context.Context, o *Outcome) {
			o.Detail.Policies = append(o.Detail.Policies, result.Simulation{Policy: name})
		},
	}
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
