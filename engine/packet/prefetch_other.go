//go:build !amd64 && !arm64

package packet

import "unsafe"

// prefetches says whether prefetch does anything.
const prefetches = false

func prefetch(unsafe.Pointer) {}

func own(unsafe.Pointer, uintptr) {}
