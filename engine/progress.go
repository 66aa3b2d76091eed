// This file passes the progress of long work to its caller.

package engine

import (
	"context"
	"sync"
)

// progressKey is the context key of WithProgress.
type progressKey struct{}

// WithProgress returns a context with a function that receives the completed share of a search
// or a simulation, from 0 to 1. A smaller share than before begins a further one. The function
// must be safe for concurrent use. If it is nil, WithProgress returns ctx.
func WithProgress(ctx context.Context, report func(share float64)) context.Context {
	if report == nil {
		return ctx
	}
	return context.WithValue(ctx, progressKey{}, report)
}

// Progress returns the function of WithProgress, or nil if ctx has none.
func Progress(ctx context.Context) func(share float64) {
	report, _ := ctx.Value(progressKey{}).(func(float64))
	return report
}

// SplitProgress returns a context for each of n equal parts of the work of ctx, which may be done
// concurrently. It reports the mean of their shares.
func SplitProgress(ctx context.Context, n int) []context.Context {
	parts := make([]context.Context, n)
	report := Progress(ctx)
	var mu sync.Mutex
	shares, sum := make([]float64, n), 0.0
	for i := range parts {
		if parts[i] = ctx; report == nil {
			continue
		}
		parts[i] = WithProgress(ctx, func(share float64) {
			mu.Lock()
			defer mu.Unlock()
			if share > shares[i] {
				sum += share - shares[i]
				shares[i] = share
				report(min(sum/float64(n), 1))
			}
		})
	}
	return parts
}
