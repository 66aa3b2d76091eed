//go:build !amd64 && !arm64

package packet

import "unsafe"

// hasPrefetch reports whether prefetch does anything.
const hasPrefetch = false

func prefetch(unsafe.Pointer) {}

func prefetchForWrite(unsafe.Pointer, uintptr) {}
