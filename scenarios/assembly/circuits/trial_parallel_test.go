package circuits

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// TestEach checks that each index is processed once, for any number of workers. The error of
// the lowest failing index is returned, and no further indices are started. A cancelled context
// has the same effect.
func TestEach(t *testing.T) {
	const n = 200
	for _, workers := range []int{0, 1, 3, 1000} {
		done := make([]atomic.Int32, n)
		do := func(i int) error { done[i].Add(1); return nil }
		if err := forEach(context.Background(), n, workers, func() func(int) error { return do }); err != nil {
			t.Errorf("%d workers: got error %v, want none", workers, err)
		}
		for i := range done {
			if done[i].Load() != 1 {
				t.Errorf("%d workers: index %d is processed %d times, want once",
					workers, i, done[i].Load())
			}
		}

		bad := errors.New("bad")
		calls := atomic.Int32{}
		err := forEach(context.Background(), 100*n, workers, func() func(int) error {
			return func(i int) error {
				calls.Add(1)
				if i == 7 {
					return bad
				}
				if i > 7 && i < 20 {
					return errors.New("error of a later index")
				}
				return nil
			}
		})

		if err != bad || calls.Load() > 50*n {
			t.Errorf("%d workers: got error %v after %d calls, want that of index 7 after a part "+
				"of the calls", workers, err, calls.Load())
		}
		ctx, cancel := context.WithCancel(context.Background())
		calls.Store(0)
		err = forEach(ctx, n, workers, func() func(int) error {
			return func(int) error { calls.Add(1); cancel(); return nil }
		})
		if err != context.Canceled || int(calls.Load()) > min(max(1, workers), maxWorkers) {
			t.Errorf("%d workers, cancelled: got error %v after %d calls, want context.Canceled "+
				"after at most one call per worker", workers, err, calls.Load())
		}
	}
}
