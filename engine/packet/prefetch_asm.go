//go:build amd64 || arm64

package packet

import "unsafe"

// hasPrefetch reports whether prefetch has an effect.
const hasPrefetch = true

// prefetch loads the cache line of address p. p need not point to memory managed by Go.
//
//go:noescape
func prefetch(p unsafe.Pointer)

// prefetchForWrite loads the cache lines of the given bytes at p in exclusive state.
// Writing to lines that another processor has used last is slow otherwise.
//
//go:noescape
func prefetchForWrite(p unsafe.Pointer, bytes uintptr)
