// This file locks files, so that no two processes write the same result.

package result

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile locks the last byte of the maximum file size, at offset 2^63 - 1. On Windows a
// lock prevents reads of its range, and journals are read while they are written.
func lockFile(f *os.File) error {
	const (
		flags           = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
		reserved        = 0
		bytes, bytesTop = 1, 0 // size of the range: low and high 32 bits
	)
	last := &windows.Overlapped{Offset: 1<<32 - 1, OffsetHigh: 1<<31 - 1}
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, reserved, bytes, bytesTop, last)
}

// Lock locks f for this process until it is closed. It returns false if another process
// holds the lock. It returns true if the file system has no locks.
func Lock(f *os.File) bool { return !errors.Is(lockFile(f), windows.ERROR_LOCK_VIOLATION) }

// lockIfSupported is Lock, but returns false if the file system has no locks.
func lockIfSupported(f *os.File) bool { return lockFile(f) == nil }
