//go:build amd64 || arm64

package packet

import "unsafe"

// prefetches says whether prefetch does anything.
const prefetches = true

// prefetch has the line of memory at p brought into the cache. p need not be what Go knows.
//
//go:noescape
func prefetch(p unsafe.Pointer)

// own has so many bytes of memory at p brought into the cache to be written, which those that other processors have written
// last, or read, take longer for than others.
//
//go:noescape
func own(p unsafe.Pointer, bytes uintptr)
