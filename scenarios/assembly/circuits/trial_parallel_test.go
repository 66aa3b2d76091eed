package circuits

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// TestEach: every number is done once; the lowest that fails names the error and ends what has not begun; an interrupt
// does so too.
func TestEach(t *testing.T) {
	const n = 200
	for _, workers := range []int{0, 1, 3, 1000} {
		done := make([]atomic.Int32, n)
		do := func(i int) error { done[i].Add(1); return nil }
		if err := each(context.Background(), n, workers, func() func(int) error { return do }); err != nil {
			t.Error(err)
		}
		for i := range done {
			if done[i].Load() != 1 {
				t.Errorf("%d workers: number %d is done %d times", workers, i, done[i].Load())
			}
		}
		bad := errors.New("bad")
		calls := atomic.Int32{}
		err := each(context.Background(), 100*n, workers, func() func(int) error {
			return func(i int) error {
				calls.Add(1)
				if i == 7 {
					return bad
				}
				if i > 7 && i < 20 {
					return errors.New("a later one")
				}
				return nil
			}
		})
		if err != bad || calls.Load() > 50*n {
			t.Errorf("%d workers: %v after %d calls", workers, err, calls.Load())
		}
		ctx, cancel := context.WithCancel(context.Background())
		calls.Store(0)
		err = each(ctx, n, workers, func() func(int) error {
			return func(int) error { calls.Add(1); cancel(); return nil }
		})
		if err != context.Canceled || int(calls.Load()) > min(max(1, workers), mostWorkers) {
			t.Errorf("%d workers, interrupted: %v after %d calls", workers, err, calls.Load())
		}
	}
}
