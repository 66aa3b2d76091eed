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
	Build func(ctx context.Context, algorithm string) (assembly.System, error)
	Limit func(ctx context.Context) (collective.LowerBound, error)
}

// system is a scenario whose bound is known.
type system struct {
	*Scenario
	limit collective.LowerBound
	built once.Map[string, built] // by algorithm
}

// built is a call as an algorithm expands it, on its hardware.
type built struct {
	assembly.System
	taken time.Duration
}

// NewSystem makes the system of a scenario.
func NewSystem(ctx context.Context, s *Scenario) (assembly.System, error) {
	z := &system{Scenario: s}
	var err error
	if z.limit, err = s.Limit(ctx); err != nil {
		return nil, err
	}
	return z, ctx.Err()
}

// algorithms returns those that may serve a row.
func (z *system) algorithms(name string) []string {
	if z.Policy == "" {
		name = z.Algorithm
	}
	if name != collective.BestName {
		return []string{name}
	}
	var all []string
	for _, r := range collective.Table {
		all = append(all, r.Name)
	}
	return all
}

// expanded returns the system of an algorithm. Where algorithms are compared each is kept for one row only.
func (z *system) expanded(ctx context.Context, algorithm string) (built, error) {
	expand := func() (built, error) {
		begin := time.Now()
		s, err := z.Build(ctx, algorithm)
		return built{s, time.Since(begin)}, err
	}
	if z.Policy != "" {
		b, err := expand()
		return b, assembly.OrEnded(ctx, err)
	}
	return z.built.Get(ctx, algorithm, expand)
}

// Reference returns the bound on every row.
func (z *system) Reference() map[string]float64 {
	return map[string]float64{"ranks": float64(z.Ranks), "bound_completion_s": z.limit.Seconds}
}

func (z *system) Begin(context.Context, *assembly.Outcome) error { return nil }

// Decide expands the call, has what is left open decided, and measures when it ends; by several algorithms it takes the
// one that ends first.
func (z *system) Decide(ctx context.Context, name string, workers int, limit float64) (*assembly.Answer, error) {
	policy := name
	if z.Policy != "" {
		policy = z.Policy
	}
	var best *assembly.Answer
	var by string // the algorithm of best
	var refused []string
	for _, algorithm := range z.algorithms(name) {
		b, err := z.expanded(ctx, algorithm)
		if errors.Is(err, collective.ErrUnserved) {
			refused = append(refused, Refusal(err))
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", algorithm, err)
		}
		a, err := b.System.Decide(ctx, policy, workers, limit)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", algorithm, err)
		case a == nil:
			continue
		case a.Fault != nil:
			refused = append(refused, a.Row.Labels["unserved"])
			continue
		}
		a.Timings.SolveS += b.taken.Seconds() // to expand it
		if best == nil || end(a) < end(best) {
			best, by = a, algorithm
		}
		limit = min(limit, end(best))
	}
	if best == nil {
		if len(refused) == 0 {
			return nil, nil // all take longer than the limit
		}
		key := "policy.collective"
		if z.Policy != "" {
			key = "policy.collectives"
		}
		why := strings.TrimPrefix(strings.Join(refused, "; "), name+": ")
		return assembly.NoAnswer(name, why, func() schema.Diagnostic { return z.diagnostic(key, why) }), nil
	}
	best.Row.Policy = name
	best.Then(func(context.Context) error {
		z.measure(&best.Row, by)
		return nil
	})
	return best, nil
}

// Work is that of the call as one algorithm expands it.
func (z *system) Work(ctx context.Context, policy string) (*trace.RankGraph, error) {
	by := z.algorithms(policy)
	if len(by) != 1 {
		return nil, assembly.Unwritten(z.Name, "policy.collective", "which algorithm expands the call is found out by simulating all", "name one")
	}
	b, err := z.expanded(ctx, by[0])
	if errors.Is(err, collective.ErrUnserved) {
		return nil, schema.Diagnostics{z.diagnostic("policy.collective", Refusal(err))}
	}
	if err != nil {
		return nil, err
	}
	return assembly.WorkOf(ctx, b.System, z.Name, policy)
}

// diagnostic says why no algorithm serves the call.
func (z *system) diagnostic(key, why string) schema.Diagnostic {
	return schema.Diagnostic{File: z.Name, Key: key, Problem: why, Remedy: "choose another algorithm, or set it to " + schema.Quote(collective.BestName)}
}

// Refusal words why an algorithm does not serve a call, without what packages are called.
func Refusal(err error) string {
	text := err.Error()
	for _, sentinel := range []error{ErrTooLarge, collective.ErrUnserved} { // whose text begins with that of the second
		text = strings.Replace(text, sentinel.Error()+": ", "", 1)
	}
	return text
}

// rounding is what ticks leave between the end of a call and a bound that it meets, relative: of some thousand transfers
// in a row, of microseconds each.
const rounding = 1e-6

// measure adds to a row the rate of the call, as an algorithm expands it, and the bound on it.
func (z *system) measure(row *result.Row, algorithm string) {
	if z.Algorithm == collective.BestName || row.Policy == collective.BestName {
		row.Labels["algorithm"] = algorithm
	}
	row.Metrics["bound_completion_s"], row.Bounds = z.limit.Seconds, nil // others' are of other transfers
	end, ok := row.Metrics["completion_s"]
	if !ok || end == 0 {
		return
	}
	bytes := float64(z.Bytes)
	if z.Kind == collective.AllToAll {
		bytes *= float64(z.Ranks - 1)
	}
	row.Metrics["algorithm_bytes_per_s"] = bytes / end
	bind(row, z.limit)
}

// bind holds the completion time of a row, which it has, against a lower bound that holds for any algorithm on any routes. It
// replaces the row's other bounds, which hold for the transfers of one algorithm.
func bind(row *result.Row, limit collective.LowerBound) {
	m := row.Metrics
	m["bound_completion_s"], row.Bounds = limit.Seconds, nil
	if limit.Seconds <= 0 {
		return
	}
	model := "any algorithm on any routes: " + limit.Reason
	row.Bounds = &result.Bounds{GapMetric: "completion_s", MultiPath: true, Proofs: []result.ProvedBound{{Metric: "completion_s", Bound: limit.Seconds, Model: model, MultiPath: true}}}
	row.Labels["gap_model"] = model
	if m["gap"] = m["completion_s"]/limit.Seconds - 1; m["gap"] > -rounding {
		m["gap"] = max(0, m["gap"])
	}
}
