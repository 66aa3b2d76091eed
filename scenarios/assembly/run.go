// This file runs all policies on a system and collects their results.

package assembly

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sim/engine"
	"sim/scenarios/result"
	"sim/scenarios/schema"
	"sim/workloads/trace"
)

// Options defines how a system is run. No option changes a result.
type Options struct {
	Workers int // goroutines, at least 1
	// VisitWork receives the work under the first policy, before any policy decides; may
	// be nil.
	VisitWork func(w *trace.RankGraph) error
	// Timeline selects the tasks of result.Simulation.Timeline.
	Timeline TimelineOptions
	// Progress is called before each policy and at the end, from one goroutine at a time;
	// may be nil.
	Progress func(policy string, done, total int)
	// ReportProgress receives the progress of the current search or simulation; see
	// engine.WithProgress. It may be nil.
	ReportProgress func(share float64)
}

// Run calls every policy on a system and collects the results in doc. Figures have the
// given title. The run began at start.
//
// If the simulation of a policy does not complete, the other policies are still called;
// see Outcome.PolicyErrors. A policy that cannot serve the system has a row with the
// reason. If no policy can, the error is of type schema.Diagnostics. If ctx is cancelled,
// Run returns early with its error, and with the outcome if some policies are finished. The
// rows of the other policies then have the label failed.
func Run(
	ctx context.Context, sys System, policies []string, doc result.Document, title string,
	start time.Time, opt Options,
) (*Outcome, error) {
	o := &Outcome{
		Document:      doc,
		Timings:       result.Timings{Policies: map[string]result.PolicyTimings{}},
		Detail:        result.Detail{Title: title},
		RateSchedules: map[string][]RateRow{},
		Timeline:      opt.Timeline,
	}
	if err := sys.Begin(ctx, o); err != nil {
		return nil, ContextErrorOr(ctx, err)
	}
	if opt.VisitWork != nil {
		w, err := WorkOf(ctx, sys, doc.Scenario, policies[0])
		if err == nil {
			err = opt.VisitWork(w)
		}
		if err != nil {
			return nil, ContextErrorOr(ctx, err)
		}
	}

	rejections, err := callPolicies(ctx, sys, policies, o, opt)
	if ctx.Err() != nil && len(o.Document.Rows) > 0 {
		o.failRemaining(policies)
		o.Timings.WallS = time.Since(start).Seconds()
		return o, ctx.Err()
	}
	if err != nil {
		return nil, err
	}

	// If no policy can serve the system, the input is invalid.
	if len(rejections) == len(policies) {
		var diagnostics schema.Diagnostics
		for _, rejection := range rejections {
			if f := rejection(); !slices.Contains(diagnostics, f) {
				diagnostics = append(diagnostics, f)
			}
		}
		return nil, diagnostics
	}
	o.deriveMetrics()
	if opt.Progress != nil {
		opt.Progress("done", len(policies), len(policies))
	}
	o.Timings.WallS = time.Since(start).Seconds()
	return o, nil
}

// callPolicies calls the policies one after the other and collects their results in o. If ctx is
// cancelled, o has the results of the policies that are finished. rejections are the reasons of
// policies that cannot serve the system.
func callPolicies(
	ctx context.Context, sys System, policies []string, o *Outcome, opt Options,
) (rejections []func() schema.Diagnostic, err error) {
	// Results whose sources adapt to the load are collected by the index of their simulation in
	// o.Detail.Policies.
	adaptive := map[int]*PolicyResult{}
	for i, name := range policies {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if opt.Progress != nil {
			opt.Progress(name, i, len(policies))
		}
		a, err := Decide(engine.WithProgress(ctx, opt.ReportProgress), sys, name, opt.Workers)
		if err != nil {
			return nil, WrapPolicyError(name, err)
		}

		if a.Err != nil {
			o.PolicyErrors = append(o.PolicyErrors, WrapPolicyError(name, a.Err))
		}
		o.Document.Rows = append(o.Document.Rows, a.Row)
		o.Timings.Policies[name] = a.Timings
		described := len(o.Detail.Policies)
		a.Describe(ctx, o)
		if a.DelayAt != nil {
			adaptive[len(o.Detail.Policies)-1] = a
		}
		if err := ctx.Err(); err != nil {
			o.Document.Rows, o.Detail.Policies = o.Document.Rows[:i], o.Detail.Policies[:described]
			return nil, err
		}
		if a.Rejection != nil {
			rejections = append(rejections, a.Rejection)
		}
	}
	err = compareAtSharedLoad(adaptive, o.Detail.Policies)
	return rejections, ContextErrorOr(ctx, err)
}

// failRemaining adds rows for the policies without one, which an interrupt prevented.
func (o *Outcome) failRemaining(policies []string) {
	o.deriveMetrics()
	for _, name := range policies[len(o.Document.Rows):] {
		delete(o.Timings.Policies, name)
		o.Document.Rows = append(o.Document.Rows, result.Row{
			Policy:  name,
			Metrics: map[string]float64{},
			Labels:  map[string]string{"failed": "the run was interrupted"},
		})
	}
}

// deriveMetrics completes the rows. Bounds of one row may improve the gaps of others. Derived
// metrics come last.
func (o *Outcome) deriveMetrics() {
	result.ShareBounds(o.Document.Rows)
	for i := range o.Document.Rows {
		r := &o.Document.Rows[i]
		r.Metrics = result.Derive(r.Metrics, o.Document.Reference)
	}
}

// WrapPolicyError adds the name of the policy to an error, except to diagnostics of the
// input.
func WrapPolicyError(policy string, err error) error {
	if errors.Is(err, schema.ErrInput) {
		return err
	}
	return fmt.Errorf("%s: %w", policy, err)
}
