// This file runs trials on several goroutines, with results that do not depend on their
// number.

package circuits

import (
	"context"
	"sync"
	"sync/atomic"

	"sim/engine"
)

// maxWorkers bounds the number of goroutines that simulate trials, whatever -j requests.
// Each one holds the state of a simulation in memory, and more goroutines than processors
// are not faster.
const maxWorkers = 64

// forEach calls a function for 0 to n-1, on several goroutines. Each goroutine calls
// start once to get its function. forEach ends early with the error of ctx, or with the
// error of the smallest number whose call fails.
func forEach(ctx context.Context, n, workers int, start func() func(i int) error) error {
	var (
		next   atomic.Int64
		failed atomic.Bool
		errs   = make([]error, n)
		group  sync.WaitGroup
		parts  = engine.SplitProgress(ctx, n)
	)
	for range min(max(1, workers), maxWorkers, n) {
		group.Go(func() {
			run := start()
			for !failed.Load() && ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[i] = run(i); errs[i] != nil {
					failed.Store(true)
				}
				if report := engine.Progress(parts[i]); report != nil {
					report(1)
				}
			}
		})
	}

	// Numbers are started in order. All numbers below one that failed were therefore
	// completed, and the first error does not depend on the number of goroutines.
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
