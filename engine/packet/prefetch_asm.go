//go:build amd64 || arm64

package packet

import "unsafe"

// prefetches says whether prefetch does anything.
const prefetches = true

// prefetch has the line of memory at p brought into the cache. p need not be what Go knows.
//
//go:noescape
func prefetch(p unsafe.Pointer)
