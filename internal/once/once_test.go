package once_test

import (
	"context"
	"sync"
	"testing"

	"sim/internal/once"
)

// TestInterrupted: a cancelled call stores nothing, and the next call computes the value. All
// later calls get that value, even if their context is cancelled.
func TestInterrupted(t *testing.T) {
	var v once.Value[int]
	ctx, cancel := context.WithCancel(t.Context())
	if n, err := v.Get(ctx, func() (int, error) { cancel(); return 1, nil }); err != context.Canceled || n != 0 {
		t.Fatalf("%d, %v; want 0, %v", n, err, context.Canceled)
	}
	calls := 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if n, err := v.Get(t.Context(), func() (int, error) { calls++; return 2, nil }); n != 2 || err != nil {
				t.Errorf("%d, %v; want 2", n, err)
			}
		})
	}
	all.Wait()
	if n, err := v.Get(ctx, func() (int, error) { return 3, nil }); n != 2 || err != nil || calls != 1 {
		t.Errorf("%d, %v after %d calls; want 2 after 1", n, err, calls)
	}
}

// TestWaitersLeave: a call that waits for the computation of another goroutine returns when
// its context is cancelled.
func TestWaitersLeave(t *testing.T) {
	var v once.Value[int]
	begun, end := make(chan struct{}), make(chan struct{})
	var other sync.WaitGroup
	other.Go(func() {
		_, _ = v.Get(t.Context(), func() (int, error) { close(begun); <-end; return 1, nil })
	})
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Get(ctx, func() (int, error) { return 2, nil }); err != context.Canceled {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	close(end)
	other.Wait()
}
