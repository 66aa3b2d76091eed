//go:build !amd64 && !arm64

package packet

import "unsafe"

// hasPrefetch reports whether prefetch has an effect.
const hasPrefetch = false

// prefetch does nothing on this architecture.
func prefetch(unsafe.Pointer) {}

// prefetchForWrite does nothing on this architecture.
func prefetchForWrite(unsafe.Pointer, uintptr) {}
