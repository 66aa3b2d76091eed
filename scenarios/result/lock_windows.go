package result

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile asks for the one byte at the end of what a file could hold: locks of Windows keep others from reading what
// they cover, and journals are read while they are written.
func lockFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0,
		&windows.Overlapped{Offset: 1<<32 - 1, OffsetHigh: 1<<31 - 1})
}

// Lock takes f for this process until it is closed, and reports false when another process has it. A file system
// without locks locks nothing.
func Lock(f *os.File) bool { return !errors.Is(lockFile(f), windows.ERROR_LOCK_VIOLATION) }

// lockedSurely is Lock, and false where the file system has no locks.
func lockedSurely(f *os.File) bool { return lockFile(f) == nil }
