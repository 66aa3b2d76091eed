package once

import (
	"context"
	"sync"
)

// Map holds one lazily computed Value per key. Its zero value is empty and ready to use.
type Map[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]*Value[V]
}

// Get returns the value of key and computes it first if necessary; see Value.Get.
func (m *Map[K, V]) Get(ctx context.Context, key K, compute func() (V, error)) (V, error) {
	m.mu.Lock()
	if m.values == nil {
		m.values = map[K]*Value[V]{}
	}
	v := m.values[key]
	if v == nil {
		v = new(Value[V])
		m.values[key] = v
	}
	m.mu.Unlock()
	return v.Get(ctx, compute)
}
