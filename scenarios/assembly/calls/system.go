// Package calls assembles collective calls, on any hardware whose systems take them: an algorithm (policies/collective)
// expands the call, and what the hardware leaves open is decided for its transfers as for any others. Either algorithms
// are compared, under one router or allocator, or these are, with one algorithm. What a call reaches is held against a
// lower bound that holds for every algorithm.
package calls

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sim/internal/once"
	"sim/policies/collective"
	"sim/scenarios/assembly"
	"sim/scenarios/result"
	"sim/scenarios/schema"
	"sim/workloads/trace"
)

// Scenario is a call on hardware that leaves something open.
type Scenario struct {
	Name string
	*Call
	Ranks int // of the group
	// Policy decides what the hardware leaves open, where algorithms are compared; else it is empty, and the algorithm
	// is the call's.
	Policy string
	// Build makes the system of the call as an algorithm expands it. It fails with collective.ErrUnserved where that
	// does not serve it.
	Build      func(ctx context.Context, algorithm string) (assembly.System, error)
	LowerBound func(ctx context.Context) (collective.LowerBound, error)
}

// callSystem is a scenario whose bound is known.
type callSystem struct {
	*Scenario
	bound collective.LowerBound
	built once.Map[string, builtSystem] // by algorithm
}

// builtSystem is a call as an algorithm expands it, on its hardware.
type builtSystem struct {
	assembly.System
	buildTime time.Duration
}

// NewSystem makes the system of a scenario.
func NewSystem(ctx context.Context, s *Scenario) (assembly.System, error) {
	z := &callSystem{Scenario: s}
	var err error
	if z.bound, err = s.LowerBound(ctx); err != nil {
		return nil, err
	}
	return z, ctx.Err()
}

// candidates returns those that may serve a row.
func (z *callSystem) candidates(name string) []string {
	if z.Policy == "" {
		name = z.Algorithm
	}
	if name != collective.BestName {
		return []string{name}
	}
	var names []string
	for _, r := range collective.Table {
		names = append(names, r.Name)
	}
	return names
}

// systemFor returns the system of an algorithm. Where algorithms are compared each is kept for one row only.
func (z *callSystem) systemFor(ctx context.Context, algorithm string) (builtSystem, error) {
	expand := func() (builtSystem, error) {
		start := time.Now()
		s, err := z.Build(ctx, algorithm)
		return builtSystem{s, time.Since(start)}, err
	}
	if z.Policy != "" {
		b, err := expand()
		return b, assembly.ContextErrorOr(ctx, err)
	}
	return z.built.Get(ctx, algorithm, expand)
}

// Reference returns the bound on every row.
func (z *callSystem) Reference() map[string]float64 {
	return map[string]float64{"ranks": float64(z.Ranks), "bound_completion_s": z.bound.Seconds}
}

func (z *callSystem) Begin(context.Context, *assembly.Outcome) error { return nil }

// Decide expands the call, has what is left open decided, and measures when it ends; by several algorithms it takes the
// one that ends first.
func (z *callSystem) Decide(ctx context.Context, name string, workers int, limit float64) (*assembly.PolicyResult, error) {
	policy := name
	if z.Policy != "" {
		policy = z.Policy
	}
	var best *assembly.PolicyResult
	var bestAlgorithm string // the algorithm of best
	var reasons []string
	for _, algorithm := range z.candidates(name) {
		built, err := z.systemFor(ctx, algorithm)
		if errors.Is(err, collective.ErrUnserved) {
			reasons = append(reasons, UnservedReason(err))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", algorithm, err)
		}
		a, err := built.System.Decide(ctx, policy, workers, limit)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", algorithm, err)
		case a == nil:
			continue
		case a.Rejection != nil:
			reasons = append(reasons, a.Row.Labels["unserved"])
			continue
		}
		a.Timings.SolveS += built.buildTime.Seconds() // to expand it
		if best == nil || completionTime(a) < completionTime(best) {
			best, bestAlgorithm = a, algorithm
		}
		limit = min(limit, completionTime(best))
	}
	if best == nil {
		if len(reasons) == 0 {
			return nil, nil // all take longer than the limit
		}
		key := "policy.collective"
		if z.Policy != "" {
			key = "policy.collectives"
		}
		reason := strings.TrimPrefix(strings.Join(reasons, "; "), name+": ")
		return assembly.RejectedResult(name, reason, func() schema.Diagnostic { return z.diagnostic(key, reason) }), nil
	}
	best.Row.Policy = name
	best.AddMeasure(func(context.Context) error {
		z.addMetrics(&best.Row, bestAlgorithm)
		return nil
	})
	return best, nil
}

// Work is that of the call as one algorithm expands it.
func (z *callSystem) Work(ctx context.Context, policy string) (*trace.RankGraph, error) {
	algorithms := z.candidates(policy)
	if len(algorithms) != 1 {
		return nil, assembly.ExportError(z.Name, "policy.collective", "which algorithm expands the call is found out by simulating all", "name one")
	}
	built, err := z.systemFor(ctx, algorithms[0])
	if errors.Is(err, collective.ErrUnserved) {
		return nil, schema.Diagnostics{z.diagnostic("policy.collective", UnservedReason(err))}
	}
	if err != nil {
		return nil, err
	}
	return assembly.WorkOf(ctx, built.System, z.Name, policy)
}

// diagnostic says why no algorithm serves the call.
func (z *callSystem) diagnostic(key, reason string) schema.Diagnostic {
	return schema.Diagnostic{File: z.Name, Key: key, Problem: reason, Remedy: "choose another algorithm, or set it to " + schema.Quote(collective.BestName)}
}

// UnservedReason words why an algorithm does not serve a call, without what packages are called.
func UnservedReason(err error) string {
	text := err.Error()
	for _, sentinel := range []error{ErrTooLarge, collective.ErrUnserved} { // whose text begins with that of the second
		text = strings.Replace(text, sentinel.Error()+": ", "", 1)
	}
	return text
}

// boundTolerance is what ticks leave between the end of a call and a bound that it meets, relative: of some thousand transfers
// in a row, of microseconds each.
const boundTolerance = 1e-6

// addMetrics adds to a row the rate of the call, as an algorithm expands it, and the bound on it.
func (z *callSystem) addMetrics(row *result.Row, algorithm string) {
	if z.Algorithm == collective.BestName || row.Policy == collective.BestName {
		row.Labels["algorithm"] = algorithm
	}
	row.Metrics["bound_completion_s"], row.Bounds = z.bound.Seconds, nil // others' are of other transfers
	end, ok := row.Metrics["completion_s"]
	if !ok || end == 0 {
		return
	}
	bytes := float64(z.Bytes)
	if z.Kind == collective.AllToAll {
		bytes *= float64(z.Ranks - 1)
	}
	row.Metrics["algorithm_bytes_per_s"] = bytes / end
	addBound(row, z.bound)
}

// addBound holds the completion time of a row, which it has, against a lower bound that holds for any algorithm on any routes. It
// replaces the row's other bounds, which hold for the transfers of one algorithm.
func addBound(row *result.Row, bound collective.LowerBound) {
	m := row.Metrics
	m["bound_completion_s"], row.Bounds = bound.Seconds, nil
	if bound.Seconds <= 0 {
		return
	}
	model := "any algorithm on any routes: " + bound.Reason
	row.Bounds = &result.Bounds{GapMetric: "completion_s", MultiPath: true, Proofs: []result.ProvedBound{{Metric: "completion_s", Bound: bound.Seconds, Model: model, MultiPath: true}}}
	row.Labels["gap_model"] = model
	if m["gap"] = m["completion_s"]/bound.Seconds - 1; m["gap"] > -boundTolerance {
		m["gap"] = max(0, m["gap"])
	}
}
