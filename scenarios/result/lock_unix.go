//go:build unix

package result

import (
	"errors"
	"os"
	"syscall"
)

// Lock takes f for this process until it is closed, and reports false when another process has it. A file system
// without locks locks nothing.
func Lock(f *os.File) bool {
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// lockedSurely is Lock, and false where the file system has no locks.
func lockedSurely(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
