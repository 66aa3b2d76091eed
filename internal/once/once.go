// Package once computes a shared value at most once, as sync.Once does, but with cancellation:
// if the caller that computes the value is cancelled, the next caller computes it.
//
// The policies of a scenario share values such as bounds and plans through this package. Value
// holds one value, and Map one per key.
package once

import (
	"context"
	"sync"
)

// Value is a value that is computed on first use. Its zero value is ready to use.
type Value[T any] struct {
	begin sync.Once     // creates turn
	turn  chan struct{} // semaphore of capacity 1, held by the caller that computes
	known bool          // value and err are set
	value T
	err   error
}

// Get returns the result of compute, or the result that an earlier call stored. If another
// goroutine is computing, Get waits for it. If ctx is cancelled first, Get returns the error
// of ctx and stores nothing.
func (v *Value[T]) Get(ctx context.Context, compute func() (T, error)) (T, error) {
	var none T
	v.begin.Do(func() { v.turn = make(chan struct{}, 1) })

	// Take the turn if it is free, even if ctx is cancelled: a known value is returned anyway.
	select {
	case v.turn <- struct{}{}:
	default:
		select {
		case v.turn <- struct{}{}:
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
	defer func() { <-v.turn }()
	if !v.known {
		value, failed := compute()
		if err := ctx.Err(); err != nil {
			return none, err
		}
		v.value, v.err, v.known = value, failed, true
	}
	return v.value, v.err
}
