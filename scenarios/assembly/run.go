package assembly

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sim/scenarios/result"
	"sim/scenarios/schema"
	"sim/workloads/trace"
)

// Options says how a system is run; none of it changes a result.
type Options struct {
	Workers   int                            // goroutines, at least 1
	VisitWork func(w *trace.RankGraph) error // takes the work of the first policy, before any decides; may be nil
	// TimelineTasks is the number of tasks of result.Simulation.Timeline, besides its critical path. With 0 there
	// are no timelines.
	TimelineTasks  int
	Progress       func(policy string, done, total int) // called as policies are decided and simulated; may be nil; called from one goroutine at a time
	ReportProgress func(share float64)                  // told how far the policy that decides has come, roughly, from 0 to 1; may be nil
}

// Run lets every policy decide on a system and gathers the results in doc, whose title is that of its pictures. It
// returns early with the context's error when ctx is cancelled. A policy whose simulation comes to no end does not keep
// others from theirs: see Outcome.Failed. One that cannot serve the system has a row that says so; where none can, the
// error is of type schema.Diagnostics. Begin is when the run began.
func Run(ctx context.Context, sys System, policies []string, doc result.Document, title string, start time.Time, opt Options) (*Outcome, error) {
	o := &Outcome{
		Document:      doc,
		Timings:       result.Timings{Policies: map[string]result.PolicyTimings{}},
		Detail:        result.Detail{Title: title},
		RateSchedules: map[string][]RateRow{},
		TimelineTasks: opt.TimelineTasks,
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
	adaptive := map[int]*PolicyResult{} // by index of its simulation
	var rejections []func() schema.Diagnostic
	for i, name := range policies {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if opt.Progress != nil {
			opt.Progress(name, i, len(policies))
		}
		a, err := Decide(withProgressFunc(ctx, opt.ReportProgress), sys, name, opt.Workers)
		if err != nil {
			return nil, WrapPolicyError(name, err)
		}
		if a.Err != nil {
			o.PolicyErrors = append(o.PolicyErrors, WrapPolicyError(name, a.Err))
		}
		o.Document.Rows = append(o.Document.Rows, a.Row)
		o.Timings.Policies[name] = a.Timings
		a.Describe(ctx, o)
		if a.DelayAt != nil {
			adaptive[len(o.Detail.Policies)-1] = a
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if a.Rejection != nil {
			rejections = append(rejections, a.Rejection)
		}
	}
	if len(rejections) == len(policies) {
		var diagnostics schema.Diagnostics
		for _, rejection := range rejections {
			if f := rejection(); !slices.Contains(diagnostics, f) {
				diagnostics = append(diagnostics, f)
			}
		}
		return nil, diagnostics
	}
	if err := ContextErrorOr(ctx, compareAtSharedLoad(adaptive, o.Detail.Policies)); err != nil {
		return nil, err
	}
	result.ShareBounds(o.Document.Rows)
	for i := range o.Document.Rows {
		r := &o.Document.Rows[i]
		r.Metrics = result.Derive(r.Metrics, o.Document.Reference)
	}
	if opt.Progress != nil {
		opt.Progress("done", len(policies), len(policies))
	}
	o.Timings.WallS = time.Since(start).Seconds()
	return o, nil
}

// progressKey is the key of a context for Options.Share.
type progressKey struct{}

// withProgressFunc returns a context in which Share tells share, if it is not nil.
func withProgressFunc(ctx context.Context, report func(float64)) context.Context {
	if report == nil {
		return ctx
	}
	return context.WithValue(ctx, progressKey{}, report)
}

// ProgressFunc returns what is told how far the policy that decides in a context has come; nil if nobody is told.
func ProgressFunc(ctx context.Context) func(report float64) {
	report, _ := ctx.Value(progressKey{}).(func(float64))
	return report
}

// WrapPolicyError says which policy failed; a diagnostic of the input says so by itself.
func WrapPolicyError(policy string, err error) error {
	if errors.Is(err, schema.ErrInput) {
		return err
	}
	return fmt.Errorf("%s: %w", policy, err)
}
