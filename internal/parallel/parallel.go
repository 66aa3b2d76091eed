// Package parallel calls a function for many indices from several goroutines.
package parallel

import (
	"context"
	"sync"
	"sync/atomic"
)

// Do calls f for 0 to n-1 from at most workers goroutines. It fails only if ctx ends; some
// indices are then left out. A single worker is the calling goroutine, which can recover from
// panics of f.
func Do(ctx context.Context, workers, n int, f func(i int)) error {
	var wg sync.WaitGroup
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
			f(i)
		}
	}
	for range min(workers, n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return ctx.Err()
}
