// Package contexttest makes contexts that end at places that tests choose.
package contexttest

import (
	"context"
	"sync"
	"sync/atomic"
)

// Context ends when it is asked often enough.
type Context struct {
	context.Context
	calls, limit atomic.Int64
	once         sync.Once
	done         chan struct{}
}

// After returns a context that ends, cancelled, when its Err is called for the n-th time; 0 is never.
func After(parent context.Context, n int64) *Context {
	c := &Context{Context: parent, done: make(chan struct{})}
	c.limit.Store(n)
	return c
}

// Err counts a call.
func (c *Context) Err() error {
	if n := c.calls.Add(1); c.limit.Load() == 0 || n < c.limit.Load() {
		return c.Context.Err()
	}
	c.once.Do(func() { close(c.done) })
	return context.Canceled
}

// Done is closed once Err has said that c has ended.
func (c *Context) Done() <-chan struct{} { return c.done }

// Asked returns how often Err was called.
func (c *Context) Asked() int64 { return c.calls.Load() }
