//go:build unix

// This file locks files, so that no two processes write the same result.

package result

import (
	"errors"
	"os"
	"syscall"
)

// Lock locks f for this process until it is closed. It returns false if another process
// holds the lock. It returns true if the file system has no locks.
func Lock(f *os.File) bool {
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// lockIfSupported is Lock, but returns false if the file system has no locks.
func lockIfSupported(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
