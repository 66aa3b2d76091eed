// Package contexttest provides contexts that end after a given number of checks.
package contexttest

import (
	"context"
	"sync"
	"sync/atomic"
)

// Context is a context that ends when Err has been called a given number of times.
type Context struct {
	context.Context
	calls, limit atomic.Int64 // number of calls of Err, and the call at which c ends; 0 means never
	once         sync.Once
	done         chan struct{}
}

// After returns a context that is cancelled at the n-th call of Err. If n is 0, it is not
// cancelled.
func After(parent context.Context, n int64) *Context {
	c := &Context{Context: parent, done: make(chan struct{})}
	c.limit.Store(n)
	return c
}

// Err counts the call and returns context.Canceled from the n-th call on.
func (c *Context) Err() error {
	if n := c.calls.Add(1); c.limit.Load() == 0 || n < c.limit.Load() {
		return c.Context.Err()
	}
	c.once.Do(func() { close(c.done) })
	return context.Canceled
}

// Done returns a channel that is closed when Err first returns context.Canceled.
func (c *Context) Done() <-chan struct{} { return c.done }

// Asked returns the number of calls of Err.
func (c *Context) Asked() int64 { return c.calls.Load() }
