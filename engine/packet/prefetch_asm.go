//go:build amd64 || arm64

package packet

import "unsafe"

// hasPrefetch says whether prefetch does anything.
const hasPrefetch = true

// prefetch has the line of memory at p brought into the cache. p need not be what Go knows.
//
//go:noescape
func prefetch(p unsafe.Pointer)

// prefetchForWrite has so many bytes of memory at p brought into the cache to be written, which those that other processors have written
// last, or read, take longer for than others.
//
//go:noescape
func prefetchForWrite(p unsafe.Pointer, bytes uintptr)
