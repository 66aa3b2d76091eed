// Package calls builds systems of collective calls, and expands the calls of training
// steps and traces.
//
// An algorithm (package policies/collective) expands a call into a schedule of transfers.
// The policy of the fabric then decides about these transfers as about any others. A run
// compares either algorithms, with one router or allocator, or it compares routers or
// allocators, with one algorithm. Results are compared with a lower bound that holds for
// every algorithm.
//
// A callSystem performs a single call. An Expander expands the calls of larger workloads,
// and an algorithmSearch finds the best algorithms of a training step. Start reading with
// NewSystem and Expander.
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

// Scenario is a collective call on a fabric with an open decision.
type Scenario struct {
	Name string
	*Call
	Ranks int // number of ranks of the group
	// Policy decides about the transfers if algorithms are compared. It is empty if
	// policies are compared; the algorithm is then Call.Algorithm.
	Policy string
	// Build returns the system of the call with the given algorithm. Its error wraps
	// collective.ErrUnserved if the algorithm does not serve the call.
	Build func(ctx context.Context, algorithm string) (assembly.System, error)
	// LowerBound returns a lower bound on the time of the call that holds for every
	// algorithm.
	LowerBound func(ctx context.Context) (collective.LowerBound, error)
}

// callSystem is a scenario with its lower bound. It implements assembly.System.
type callSystem struct {
	*Scenario
	bound collective.LowerBound
	built once.Map[string, builtSystem] // cache by algorithm
}

// builtSystem is the system of a call with one algorithm.
type builtSystem struct {
	assembly.System
	buildTime time.Duration
}

// NewSystem returns the system of a scenario.
func NewSystem(ctx context.Context, s *Scenario) (assembly.System, error) {
	z := &callSystem{Scenario: s}
	var err error
	if z.bound, err = s.LowerBound(ctx); err != nil {
		return nil, err
	}
	return z, ctx.Err()
}

// candidates returns the algorithms among which the row with the given name chooses.
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

// systemFor returns the system with an algorithm. If algorithms are compared, each row
// needs its system only once, so that nothing is cached.
func (z *callSystem) systemFor(ctx context.Context, algorithm string) (builtSystem, error) {
	build := func() (builtSystem, error) {
		start := time.Now()
		s, err := z.Build(ctx, algorithm)
		return builtSystem{s, time.Since(start)}, err
	}
	if z.Policy != "" {
		b, err := build()
		return b, assembly.ContextErrorOr(ctx, err)
	}
	return z.built.Get(ctx, algorithm, build)
}

// Reference returns the number of ranks and the lower bound, which holds for all rows.
func (z *callSystem) Reference() map[string]float64 {
	return map[string]float64{"ranks": float64(z.Ranks), "bound_completion_s": z.bound.Seconds}
}

// Begin adds nothing to an outcome.
func (z *callSystem) Begin(context.Context, *assembly.Outcome) error { return nil }

// Decide expands the call, calls the policy for the transfers and measures when they end.
// With several candidate algorithms it returns the result that ends first.
func (z *callSystem) Decide(
	ctx context.Context, name string, workers int, limit float64,
) (*assembly.PolicyResult, error) {
	policy := name
	if z.Policy != "" {
		policy = z.Policy
	}

	var best *assembly.PolicyResult
	var bestAlgorithm string
	var reasons []string // why algorithms do not serve the call
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
		case a == nil: // provably slower than limit
			continue
		case a.Rejection != nil:
			reasons = append(reasons, a.Row.Labels["unserved"])
			continue
		}
		a.Timings.SolveS += built.buildTime.Seconds()
		if best == nil || completionTime(a) < completionTime(best) {
			best, bestAlgorithm = a, algorithm
		}
		limit = min(limit, completionTime(best))
	}

	if best == nil {
		if len(reasons) == 0 {
			return nil, nil // all candidates exceed the limit
		}
		key := "policy.collective"
		if z.Policy != "" {
			key = "policy.collectives"
		}
		reason := strings.TrimPrefix(strings.Join(reasons, "; "), name+": ")
		diagnostic := func() schema.Diagnostic { return z.diagnostic(key, reason) }
		return assembly.RejectedResult(name, reason, diagnostic), nil
	}
	best.Row.Policy = name
	best.AddMeasure(func(context.Context) error {
		z.addMetrics(&best.Row, bestAlgorithm)
		return nil
	})
	return best, nil
}

// Work returns the transfers of the call with its single algorithm. It implements
// assembly.WorkExporter.
func (z *callSystem) Work(ctx context.Context, policy string) (*trace.RankGraph, error) {
	algorithms := z.candidates(policy)
	if len(algorithms) != 1 {
		return nil, assembly.ExportError(z.Name, "policy.collective",
			"the algorithm is selected by simulating all algorithms", "name one")
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

// diagnostic returns the diagnostic of a call that no algorithm serves.
func (z *callSystem) diagnostic(key, reason string) schema.Diagnostic {
	return schema.Diagnostic{
		File:    z.Name,
		Key:     key,
		Problem: reason,
		Remedy:  "choose another algorithm, or set it to " + schema.Quote(collective.BestName),
	}
}

// UnservedReason returns why an algorithm does not serve a call: the text of an error
// without its sentinel errors.
func UnservedReason(err error) string {
	text := err.Error()
	// The text of ErrTooLarge starts with the text of ErrUnserved.
	for _, sentinel := range []error{ErrTooLarge, collective.ErrUnserved} {
		text = strings.Replace(text, sentinel.Error()+": ", "", 1)
	}
	return text
}

// boundTolerance is the relative distance within which the end of a call counts as equal
// to its lower bound. It covers the rounding to ticks of some thousand consecutive
// transfers of microseconds each.
const boundTolerance = 1e-6

// addMetrics adds the rate of the call and its lower bound to a row. The given algorithm
// is shown if it was selected from several.
func (z *callSystem) addMetrics(row *result.Row, algorithm string) {
	if z.Algorithm == collective.BestName || row.Policy == collective.BestName {
		row.Labels["algorithm"] = algorithm
	}
	// Other bounds of the row hold only for the transfers of one algorithm.
	row.Metrics["bound_completion_s"], row.Bounds = z.bound.Seconds, nil
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

// addBound adds a lower bound on the completion time of a row, and the gap to it. The
// bound holds for every algorithm on any routes. It replaces the row's other bounds,
// which hold for the transfers of one algorithm.
func addBound(row *result.Row, bound collective.LowerBound) {
	m := row.Metrics
	m["bound_completion_s"], row.Bounds = bound.Seconds, nil
	if bound.Seconds <= 0 {
		return
	}

	model := "any algorithm on any routes: " + bound.Reason
	row.Labels["gap_model"] = model
	row.Bounds = &result.Bounds{
		GapMetric: "completion_s",
		MultiPath: true,
		Proofs: []result.ProvedBound{{
			Metric:    "completion_s",
			Bound:     bound.Seconds,
			Model:     model,
			MultiPath: true,
		}},
	}
	if m["gap"] = m["completion_s"]/bound.Seconds - 1; m["gap"] > -boundTolerance {
		m["gap"] = max(0, m["gap"])
	}
}
