// Package once computes once what several ask for, unless who computes it is interrupted: then the next one does.
//
// It is used for what the policies of a scenario have in common, such as bounds and plans.
package once

import (
	"context"
	"sync"
)

// Value holds what is computed once. Its zero value holds nothing.
type Value[T any] struct {
	begin sync.Once
	turn  chan struct{} // taken by who computes
	known bool
	value T
	err   error
}

// Get returns what compute returns, or did before. While another computes it waits. It fails with ctx's error where ctx
// ends before the value is known, and then keeps nothing.
func (v *Value[T]) Get(ctx context.Context, compute func() (T, error)) (T, error) {
	var none T
	v.begin.Do(func() { v.turn = make(chan struct{}, 1) })
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
