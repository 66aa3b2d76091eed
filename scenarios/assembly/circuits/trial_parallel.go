package circuits

import (
	"context"
	"sync"
	"sync/atomic"
)

// maxWorkers bounds the goroutines of a replay: each holds a trial's state.
const maxWorkers = 64

// forEach calls what start returns, one function a goroutine, for 0 to n-1. It ends early with the context's error, or
// with that of the lowest number that fails.
func forEach(ctx context.Context, n, workers int, start func() func(i int) error) error {
	var (
		next   atomic.Int64
		failed atomic.Bool
		errs   = make([]error, n)
		group  sync.WaitGroup
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
			}
		})
	}
	group.Wait()
	for _, err := range errs { // all below one that failed were begun, and ended
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
