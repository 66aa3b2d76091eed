package once

import (
	"context"
	"sync"
)

// Map holds a Value for each key. Its zero value holds none.
type Map[K comparable, V any] struct {
	mu sync.Mutex
	of map[K]*Value[V]
}

// Get is Value.Get of the value of a key.
func (m *Map[K, V]) Get(ctx context.Context, key K, compute func() (V, error)) (V, error) {
	m.mu.Lock()
	if m.of == nil {
		m.of = map[K]*Value[V]{}
	}
	v := m.of[key]
	if v == nil {
		v = new(Value[V])
		m.of[key] = v
	}
	m.mu.Unlock()
	return v.Get(ctx, compute)
}
