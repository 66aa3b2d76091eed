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
	Workers int                            // goroutines, at least 1
	Work    func(w *trace.RankGraph) error // takes the work of the first policy, before any decides; may be nil
	// TimelineTasks is the number of tasks of result.Simulation.Timeline, besides its critical path. With 0 there
	// are no timelines.
	TimelineTasks int
	Progress      func(policy string, done, total int) // called as policies are decided and simulated; may be nil; called from one goroutine at a time
	Share         func(share float64)                  // told how far the policy that decides has come, roughly, from 0 to 1; may be nil
}

// Run lets every policy decide on a system and gathers the results in doc, whose title is that of its pictures. It
// returns early with the context's error when ctx is cancelled. A policy whose simulation comes to no end does not keep
// others from theirs: see Outcome.Failed. One that cannot serve the system has a row that says so; where none can, the
// error is of type schema.Diagnostics. Begin is when the run began.
func Run(ctx context.Context, sys System, policies []string, doc result.Document, title string, begin time.Time, opt Options) (*Outcome, error) {
	o := &Outcome{
		Document:      doc,
		Timings:       result.Timings{Policies: map[string]result.PolicyTimings{}},
		Detail:        result.Detail{Title: title},
		Plans:         map[string][]PlanRow{},
		TimelineTasks: opt.TimelineTasks,
	}
	if err := sys.Begin(ctx, o); err != nil {
		return nil, OrEnded(ctx, err)
	}
	if opt.Work != nil {
		w, err := WorkOf(ctx, sys, doc.Scenario, policies[0])
		if err == nil {
			err = opt.Work(w)
		}
		if err != nil {
			return nil, OrEnded(ctx, err)
		}
	}
	loaded := map[int]*Answer{} // by index of its simulation
	var none []func() schema.Diagnostic
	for i, name := range policies {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if opt.Progress != nil {
			opt.Progress(name, i, len(policies))
		}
		a, err := Decide(withShare(ctx, opt.Share), sys, name, opt.Workers)
		if err != nil {
			return nil, OfPolicy(name, err)
		}
		if a.Failed != nil {
			o.Failed = append(o.Failed, OfPolicy(name, a.Failed))
		}
		o.Document.Rows = append(o.Document.Rows, a.Row)
		o.Timings.Policies[name] = a.Timings
		a.Describe(ctx, o)
		if a.DelayAt != nil {
			loaded[len(o.Detail.Policies)-1] = a
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if a.Fault != nil {
			none = append(none, a.Fault)
		}
	}
	if len(none) == len(policies) {
		var faults schema.Diagnostics
		for _, of := range none {
			if f := of(); !slices.Contains(faults, f) {
				faults = append(faults, f)
			}
		}
		return nil, faults
	}
	if err := OrEnded(ctx, atOneLoad(loaded, o.Detail.Policies)); err != nil {
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
	o.Timings.WallS = time.Since(begin).Seconds()
	return o, nil
}

// shareKey is the key of a context for Options.Share.
type shareKey struct{}

// withShare returns a context in which Share tells share, if it is not nil.
func withShare(ctx context.Context, share func(float64)) context.Context {
	if share == nil {
		return ctx
	}
	return context.WithValue(ctx, shareKey{}, share)
}

// Share returns what is told how far the policy that decides in a context has come; nil if nobody is told.
func Share(ctx context.Context) func(share float64) {
	share, _ := ctx.Value(shareKey{}).(func(float64))
	return share
}

// OfPolicy says which policy failed; a diagnostic of the input says so by itself.
func OfPolicy(policy string, err error) error {
	if errors.Is(err, schema.ErrInput) {
		return err
	}
	return fmt.Errorf("%s: %w", policy, err)
}
